//! What the configs of several accounts that one process plays for have to agree on, and what each needs
//! for itself.

use std::path::Path;

use megaton::config::Config;
use megaton::lichess::TOKEN_VARIABLE;

use super::failure::Failure;
use super::setup::LoadedConfig;

/// Fails where these configs cannot share a process. A single one always can.
pub(super) fn check(configs: &[LoadedConfig]) -> Result<(), Failure> {
    if configs.len() > 1 && std::env::var_os(TOKEN_VARIABLE).is_some() {
        return Err(Failure::setup(format!(
            "{TOKEN_VARIABLE} is the token of one account, and there are {} configs: unset it, and \
             name a [lichess] token_file in each",
            configs.len()
        )));
    }
    for (number, (config, path)) in configs.iter().enumerate() {
        let path = path.as_deref().unwrap_or(Path::new("defaults")).display();
        for (earlier, earlier_path) in &configs[..number] {
            let other = earlier_path.as_deref().unwrap_or(Path::new("defaults"));
            if let Some(problem) = conflict(config, earlier) {
                return Err(Failure::setup(format!(
                    "{path}: {problem} {}",
                    other.display()
                )));
            }
        }
    }
    Ok(())
}

/// What keeps two configs from one process; the name of the other's file is to follow.
fn conflict(config: &Config, other: &Config) -> Option<&'static str> {
    let home = |config: &Config| config.data.home(&config.lichess);
    let shares = |mine: Option<_>, theirs| mine.is_some() && mine == theirs;
    let token = &config.lichess.token_file;
    if config.engine != other.engine {
        Some("[engine] has to be the same in all configs of one process, and differs from that of")
    } else if config.log != other.log {
        Some("[log] has to be the same in all configs of one process, and differs from that of")
    } else if token.is_none() || *token == other.lichess.token_file {
        Some("[lichess] token_file has to name the token of another account than that of")
    } else if shares(home(config), home(other)) {
        Some("[data] folder has to be another one than that of")
    } else if config.panel.listen.is_some() && config.panel.listen == other.panel.listen {
        Some("[panel] listen has to be another address, or \"\" for no page, than that of")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    type Change = fn(&mut Config);

    /// A config of its own in every respect.
    fn config(name: &str, port: u16) -> Config {
        let mut config = Config::default();
        config.lichess.token_file = Some(PathBuf::from(name).join("token"));
        config.data.folder = Some(PathBuf::from(name));
        config.panel.listen = Some(([127, 0, 0, 1], port).into());
        config
    }

    #[test]
    fn accounts_share_the_engine_and_the_log_and_nothing_else() {
        let one = config("one", 8650);
        let two = || config("two", 8651);
        assert_eq!(conflict(&two(), &one), None);
        let cases: [(&str, Change); 6] = [
            ("[engine]", |config| config.engine.hash += 1),
            ("[log]", |config| {
                config.log.format = megaton::config::Format::Json;
            }),
            ("token_file", |config| config.lichess.token_file = None),
            ("token_file", |config| {
                config.lichess.token_file = Some("one/token".into());
            }),
            ("[data] folder", |config| {
                config.data.folder = Some("one".into());
            }),
            ("[panel] listen", |config| {
                config.panel.listen = Some(([127, 0, 0, 1], 8650).into());
            }),
        ];
        for (key, change) in cases {
            let mut two = two();
            change(&mut two);
            let problem = conflict(&two, &one).unwrap_or_default();
            assert!(problem.contains(key), "{key}: {problem}");
        }
        // Without a page or data there is nothing to share.
        let bare = |name| {
            let mut bare = config(name, 8650);
            (bare.panel.listen, bare.data.folder) = (None, None);
            bare
        };
        assert_eq!(conflict(&bare("two"), &bare("one")), None);
    }
}
