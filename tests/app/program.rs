//! The program as a user starts it: help, exit status, errors.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a program may take to end.
const GUARD: Duration = Duration::from_secs(60);

/// What came of one start of the program.
pub(super) struct Ran {
    pub(super) status: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// The program with an environment that holds no settings of ours: the one built with the tests, or
/// another build of it that `MEGATON_PROGRAM` names.
pub(super) fn command(arguments: &[&str]) -> Command {
    command_of(&program(), arguments)
}

/// The file of that program.
pub(super) fn program() -> PathBuf {
    let named = env::var_os("MEGATON_PROGRAM").map(PathBuf::from);
    named.unwrap_or_else(|| env!("CARGO_BIN_EXE_megaton").into())
}

/// The same for another file of the program.
pub(super) fn command_of(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    for name in [
        "LICHESS_BOT_TOKEN",
        "MEGATON_HEARTBEAT",
        "MEGATON_LOG",
        "MEGATON_WEBHOOK",
        "NOTIFY_SOCKET",
        "RUST_LOG",
        "WATCHDOG_USEC",
    ] {
        command.env_remove(name);
    }
    command.env("RUST_BACKTRACE", "1");
    command
}

/// Runs the program to its end.
pub(super) fn megaton(arguments: &[&str]) -> Ran {
    ran(&mut command(arguments))
}

pub(super) fn ran(command: &mut Command) -> Ran {
    let output = command.output().expect("the program starts");
    Ran {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("stdout is text"),
        stderr: String::from_utf8(output.stderr).expect("stderr is text"),
    }
}

/// Waits for a started program to end; one that hangs is killed and failed.
pub(super) fn finish(child: &mut Child, guard: Duration) -> Option<i32> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            return status.code();
        }
        if begun.elapsed() > guard {
            let _ = child.kill();
            panic!("the program does not end");
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Runs `check --offline` on a config of this text.
fn check_config(text: &str) -> Ran {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.toml");
    fs::write(&path, text).expect("a config");
    megaton(&[
        "check",
        "--offline",
        "--config",
        &path.display().to_string(),
    ])
}

#[test]
fn bare_megaton_prints_its_help() {
    let bare = megaton(&[]);
    assert_eq!(bare.status, Some(0));
    for command in [
        "run",
        "practice",
        "check",
        "upgrade-account",
        "uci",
        "bench",
        "perft",
    ] {
        assert!(
            bare.stdout.contains(&format!("  {command} ")),
            "{}",
            bare.stdout
        );
    }
    assert_eq!(bare.stderr, "");
}

#[test]
fn a_wrong_command_line_ends_with_two() {
    for arguments in [&["fly"][..], &["perft", "deep"], &["run", "--fast"]] {
        let ran = megaton(arguments);
        assert_eq!(ran.status, Some(2), "{arguments:?}");
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
}

#[test]
fn a_wrong_config_ends_every_command_with_one_clear_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.toml");
    fs::write(&path, "[engine]\nhsah = 64\n").expect("a config");
    let config = path.display().to_string();
    for command in ["run", "check", "upgrade-account"] {
        let ran = megaton(&[command, "--config", &config]);
        assert_eq!(ran.status, Some(2), "{command}: {}", ran.stderr);
        let expected =
            format!("megaton: {config}:2: [engine] hsah: unknown key; did you mean `hash`?\n");
        assert_eq!(ran.stderr, expected);
    }
}

#[test]
fn check_looks_at_every_file_that_the_config_names() {
    let ran = check_config("[panel]\ntoken_file = \"no.txt\"\n");
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let warning = "WARNING: http://127.0.0.1:8650, closed without its password: [panel] token_file: cannot read";
    assert!(ran.stdout.contains(warning), "{}", ran.stdout);
    let ran = check_config("[engine]\nsyzygy_path = [\"no\"]\n");
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let warning = "/no: No such file or directory";
    assert!(ran.stdout.contains(warning), "{}", ran.stdout);
    for (text, key) in [
        ("[engine]\neval_file = \"no.net\"\n", "[engine] eval_file: "),
        (
            "[alerts]\nwebhook_file = \"no.txt\"\n",
            "[alerts] webhook_file: ",
        ),
    ] {
        let ran = check_config(text);
        assert_eq!(ran.status, Some(2), "{text}: {}", ran.stdout);
        assert!(ran.stderr.contains(key), "{}", ran.stderr);
    }
}

#[test]
fn a_config_that_is_named_must_exist() {
    let ran = megaton(&["check", "--offline", "--config", "no/such.toml"]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("no/such.toml"), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("os error").count(), 1, "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}

#[test]
fn a_token_in_the_config_is_not_repeated() {
    let ran = check_config("[lichess]\ntoken = \"lip_Sesame0pen\"\n");
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("token_file"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("Sesame"), "{}", ran.stderr);
}

#[test]
fn a_hash_size_beyond_memory_is_rejected() {
    let ran = check_config("[engine]\nhash = 65536\n");
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = memory
        .split_whitespace()
        .nth(1)
        .and_then(|kb| kb.parse::<usize>().ok());
    if total.is_none_or(|kb| kb / 1024 >= 65536) {
        let name = "a_hash_size_beyond_memory_is_rejected";
        let _ = writeln!(io::stderr(), "SKIPPED {name}: this machine could hold it");
        return;
    }
    assert_eq!(ran.status, Some(2), "{}", ran.stdout);
    assert!(
        ran.stderr
            .contains("[engine] hash: 65536 MB exceeds this machine's"),
        "{}",
        ran.stderr
    );
}

#[test]
fn check_prints_every_setting_in_effect_and_its_source() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("my.toml");
    fs::write(&path, "[engine]\nhash = 64\n[log]\nlevel = \"warn\"\n").expect("a config");
    let config = path.display().to_string();
    let arguments = ["check", "--print", "--config", &config];
    let printed = ran(command(&arguments)
        .env("LICHESS_BOT_TOKEN", "lip_Sesame0pen")
        .env("MEGATON_HEARTBEAT", "https://example.org/Sesame")
        .env("MEGATON_WEBHOOK", "https://example.org/Sesame")
        .env("MEGATON_LOG", "debug"));
    assert_eq!(printed.status, Some(0), "{}", printed.stderr);
    assert!(!printed.stdout.contains("Sesame"), "{}", printed.stdout);
    for line in [
        "hash = 64  # my.toml:2",
        "threads = 0  # default",
        "token_file = \"\"  # default; the variable LICHESS_BOT_TOKEN takes precedence",
        "webhook_file = \"\"  # default; the variable MEGATON_WEBHOOK takes precedence",
        "heartbeat_file = \"\"  # default; the variable MEGATON_HEARTBEAT takes precedence",
        "level = \"warn\"  # my.toml:4; the variable MEGATON_LOG takes precedence",
    ] {
        let found = printed.stdout.lines().any(|printed| printed == line);
        assert!(found, "{line}\n{}", printed.stdout);
    }
    let blank = ran(command(&arguments)
        .env("LICHESS_BOT_TOKEN", " ")
        .env("MEGATON_WEBHOOK", "")
        .env("MEGATON_LOG", "\t"));
    assert!(!blank.stdout.contains("precedence"), "{}", blank.stdout);
    // What was printed is a config, with the same settings.
    let copy = folder.path().join("copy.toml");
    fs::write(&copy, &printed.stdout).expect("a config");
    let again = megaton(&["check", "--print", "--config", &copy.display().to_string()]);
    let values = |text: &str| {
        let value = |line: &str| line.split("  # ").next().map(str::to_owned);
        text.lines().skip(1).filter_map(value).collect::<Vec<_>>()
    };
    assert_eq!(values(&again.stdout), values(&printed.stdout));
    let both = megaton(&["check", "--print", "--schema"]);
    assert_eq!(both.status, Some(2), "{}", both.stdout);
}

#[test]
fn the_example_config_passes_the_check() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("config.example.toml");
    let ran = megaton(&[
        "check",
        "--offline",
        "--config",
        &example.display().to_string(),
    ]);
    assert_eq!(ran.status, Some(0), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_closed_pipe_is_no_failure() {
    for arguments in [
        &["--help"][..],
        &["check", "--offline"],
        &["perft", "2", "--divide"],
    ] {
        let mut child = command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the program ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    }
}

#[test]
fn uci_answers_on_the_standard_streams() {
    let mut child = command(&["uci"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("its input");
    stdin
        .write_all(b"uci\nposition startpos moves g1f3 a7a6 f3g5 a6a5\ngo nodes 500\n")
        .expect("typed");
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        said.contains("uciok") && said.contains("\nbestmove g5f7"),
        "{said}"
    );
}

#[test]
fn an_old_processor_is_refused_before_anything_else() {
    let name = "an_old_processor_is_refused_before_anything_else";
    let emulated = |processor: &str| {
        Command::new("qemu-x86_64")
            .args([
                "-cpu",
                processor,
                env!("CARGO_BIN_EXE_megaton"),
                "perft",
                "1",
            ])
            .output()
    };
    let built_for_new = cfg!(all(target_arch = "x86_64", target_feature = "avx2"));
    let Some(old) = built_for_new.then(|| emulated("Nehalem").ok()).flatten() else {
        let _ = writeln!(
            io::stderr(),
            "SKIPPED {name}: no qemu-x86_64, or a build for any CPU"
        );
        return;
    };
    let said = String::from_utf8_lossy(&old.stderr);
    assert_eq!(old.status.code(), Some(2), "{said}");
    assert!(said.contains("lacks AVX, which this build uses"), "{said}");
    assert!(said.contains("target-cpu=x86-64\" cargo build"), "{said}");
    let new = emulated("Haswell").expect("as before");
    assert_eq!(
        new.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&new.stderr)
    );
}

#[test]
fn a_config_that_leads_nowhere_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink("nowhere.toml", folder.path().join("config.toml")).expect("a link");
    let checked = ran(command(&["check", "--offline"]).current_dir(folder.path()));
    assert_eq!(checked.status, Some(2), "{}", checked.stdout);
    assert!(checked.stderr.contains("config.toml"), "{}", checked.stderr);
}

#[test]
fn a_headless_practice_without_games_says_what_is_missing() {
    let refused = megaton(&[
        "practice",
        "--no-sparring",
        "--headless",
        "--guest",
        "Mine=lip_mine",
    ]);
    assert_eq!(refused.status, Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("--headless"), "{}", refused.stderr);
}

#[test]
fn a_guest_of_the_practice_gets_no_account_of_another() {
    for guests in [
        ["Megaton", "Other"],
        ["A1=lip_q", "B1=lip_q"],
        ["A1", "a1"],
        // Names that the server gives later.
        ["Other", "expert"],
        ["Visitor-3", "Other"],
        ["RandomPartner", "Other"],
    ] {
        let mut args = vec!["practice", "--port", "0"];
        args.extend(guests.iter().flat_map(|guest| ["--guest", guest]));
        let refused = megaton(&args);
        assert_eq!(refused.status, Some(2), "{guests:?}: {}", refused.stdout);
        assert!(
            refused.stderr.contains("another account"),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn a_practice_ends_when_no_one_reads_its_games_any_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut practice = command(&["practice", "--port", "0"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut first = String::new();
    let stdout = practice.stdout.take().expect("a pipe");
    let read = BufReader::new(stdout).read_line(&mut first);
    read.expect("a line");
    assert!(first.starts_with("Play Megaton at "), "{first}");
    assert_eq!(finish(&mut practice, GUARD), Some(0));
}

#[test]
fn a_recording_to_replay_is_read_from_stdin_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("game.jsonl");
    fs::write(&path, "not a recording\n").expect("a file");
    let file = fs::File::open(&path).expect("a file");
    let refused = ran(command(&["practice", "--replay", "-"])
        .current_dir(folder.path())
        .stdin(file));
    assert_eq!(refused.status, Some(2), "{}", refused.stdout);
    let what = "stdin: line 1: not as `megaton game ID --wire` prints it";
    assert!(refused.stderr.contains(what), "{}", refused.stderr);
}
