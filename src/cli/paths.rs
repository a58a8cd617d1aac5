//! The data folder and the socket that a config names: whether the bot could use them. Changes
//! nothing.

use std::path::Path;

use megaton::config::Config;

use super::failure::Failure;

/// Where it keeps what it must remember, and where it can be told things.
pub(super) fn keeps(config: &Config) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    match config.data.home(&config.lichess) {
        None => lines.push(
            "nothing: without [data] folder every start begins with empty state and quota"
                .to_owned(),
        ),
        Some(home) => lines.push(memory(&home)?),
    }
    lines.push(socket(config));
    Ok(lines)
}

fn memory(folder: &Path) -> Result<String, Failure> {
    let shown = folder.display();
    let there = folder.is_dir();
    // What does not exist yet is made within the first folder above that does.
    let ground = folder.ancestors().find(|place| place.exists());
    let ground = ground.filter(|place| !place.as_os_str().is_empty());
    let ground = ground.unwrap_or(Path::new("."));
    if !ground.is_dir() {
        return Err(Failure::setup(format!(
            "[data] folder: {} is not a folder",
            ground.display()
        )));
    }
    if !may_write(ground) {
        return Err(Failure::setup(format!(
            "[data] folder: {shown} is not writable: this user cannot write to {}",
            ground.display()
        )));
    }
    Ok(if there {
        format!("state in {shown}")
    } else {
        format!("state in {shown}, created at the first run")
    })
}

#[cfg(unix)]
fn may_write(folder: &Path) -> bool {
    use rustix::fs::{Access, access};

    access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
const fn may_write(_: &Path) -> bool {
    true
}

#[cfg(unix)]
fn socket(config: &Config) -> String {
    use megaton::panel::{Panel, PanelError};

    let Some(path) = config.data.socket_path(&config.lichess) else {
        return "no control socket: `megaton status` and other control commands cannot reach the bot".to_owned();
    };
    match Panel::check(&path) {
        Ok(()) => format!("the control socket {}", path.display()),
        Err(PanelError::InUse(_)) => {
            "a bot runs with this config already: see `megaton status`".to_owned()
        }
        Err(error) => format!("WARNING: the bot could not be controlled: {error}"),
    }
}

#[cfg(not(unix))]
fn socket(_: &Config) -> String {
    "no control socket on this system".to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_folder_that_can_be_made_is_as_good_as_one() {
        let ground = tempfile::tempdir().unwrap();
        let keeping_in = |folder: Option<&str>| {
            let mut config = Config::default();
            config.data.folder = folder.map(|folder| ground.path().join(folder));
            keeps(&config)
        };
        let said = keeping_in(Some("a/b")).unwrap();
        assert!(said[0].ends_with("created at the first run"), "{said:?}");
        assert!(said[1].ends_with("control.sock"), "{said:?}");
        fs::write(ground.path().join("file"), "").unwrap();
        let error = keeping_in(Some("file/x")).unwrap_err();
        let Failure::Setup(error) = error else {
            panic!("a setup that cannot work");
        };
        assert!(error.to_string().ends_with("is not a folder"), "{error}");
        assert!(keeping_in(None).unwrap()[0].starts_with("nothing"));
    }
}
