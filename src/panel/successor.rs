//! The program that an upgrade starts, tried before the bot stops for it.
//!
//! Knows only what the program says of itself and of the config; whether it plays, no trial can tell.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use std::{env, thread};

/// Time for each trial.
const TIME: Duration = Duration::from_secs(10);
/// Between two looks whether it has ended.
const LOOK: Duration = Duration::from_millis(20);
/// The most that is read of what it says.
const MOST_READ: u64 = 4096;

/// The program at the place that this one was started from, which may have been replaced since. The first call
/// must come at the start: later the system follows a file that was renamed.
pub fn installed_program() -> Option<PathBuf> {
    static PLACE: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
        let program = env::current_exe().ok()?;
        // So Linux marks a file that was replaced.
        let replaced = program.as_os_str().as_bytes().strip_suffix(b" (deleted)");
        let place = replaced.map(|place| PathBuf::from(OsStr::from_bytes(place)));
        Some(place.unwrap_or(program))
    });
    PLACE.clone()
}

/// Checks that the installed program starts, is this one and can use this config.
///
/// # Errors
/// Why the bot should not hand over to it.
pub(super) async fn check(config: Option<PathBuf>) -> Result<(), String> {
    let Some(program) = installed_program() else {
        return Ok(());
    };
    let checked = tokio::task::spawn_blocking(move || try_out(&program, config.as_deref()));
    match tokio::time::timeout(TIME * 2, checked).await {
        Ok(outcome) => outcome.map_err(|error| error.to_string())?,
        Err(_) => Err("the trial of the installed program hangs".to_owned()),
    }
}

fn try_out(program: &Path, config: Option<&Path>) -> Result<(), String> {
    let failed = |why: String| format!("{} {why}", program.display());
    let version = run(Command::new(program).arg("--version"), Stdio::piped()).map_err(failed)?;
    if !version.starts_with("megaton ") {
        return Err(failed("is another program".to_owned()));
    }
    let mut check = Command::new(program);
    check.args(["check", "--offline"]);
    if let Some(config) = config {
        check.arg("--config").arg(config);
    }
    let unfit = |why| failed(format!("{why} at `check --offline`"));
    // It may say more than a pipe holds, and would wait for a reader.
    run(&mut check, Stdio::null()).map(drop).map_err(unfit)
}

/// What a program says that ends well and in time, if `stdout` is a pipe.
fn run(command: &mut Command, stdout: Stdio) -> Result<String, String> {
    let command = command.stdin(Stdio::null()).stderr(Stdio::null());
    let started = command.stdout(stdout).spawn();
    let mut child = started.map_err(|error| format!("cannot be started ({error})"))?;
    let begun = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begun.elapsed() < TIME => thread::sleep(LOOK),
            Ok(None) | Err(_) => {
                // It may have ended meanwhile.
                let _ = child.kill();
                let _ = child.wait();
                return Err("does not end in time".to_owned());
            }
        }
    };
    if !status.success() {
        return Err(format!("fails ({status})"));
    }
    let mut text = String::new();
    if let Some(output) = child.stdout.take() {
        let read = output.take(MOST_READ).read_to_string(&mut text);
        read.map_err(|error| format!("prints invalid UTF-8 ({error})"))?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program of a shell's commands. A shell writes it: while this process has it open, a child of
    /// another test would too, and it could not be started.
    fn program(folder: &Path, commands: &str) -> PathBuf {
        let path = folder.join("megaton");
        let write = r#"printf '#!/bin/sh\n%s\n' "$2" > "$1" && chmod +x "$1""#;
        let mut shell = Command::new("sh");
        shell.args(["-c", write, "sh"]).arg(&path).arg(commands);
        assert!(shell.status().expect("a shell").success());
        path
    }

    #[test]
    fn a_successor_is_judged_by_what_it_says_and_how_it_ends_however_much_it_says() {
        let folder = tempfile::tempdir().expect("a folder");
        let outcome = |commands: &str| try_out(&program(folder.path(), commands), None);
        let version = r#"[ "$1" = --version ] && echo megaton 1 && exit"#;
        let flood = "head -c 1000000 /dev/zero";
        assert_eq!(outcome(&format!("{version}\n{flood}")), Ok(()));
        let unfit = outcome(&format!("{version}\nexit 3")).expect_err("a failed check");
        assert!(
            unfit.ends_with("fails (exit status: 3) at `check --offline`"),
            "{unfit}"
        );
        let other = outcome("echo another").expect_err("another program");
        assert!(other.ends_with("is another program"), "{other}");
    }
}
