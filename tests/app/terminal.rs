//! The program on a terminal: its questions, the effect of the answers, and what it never shows.
//!
//! The test drives a pseudo terminal: it reads until a prompt appears, then types.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use megaton::config::Config;
use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::process::Signal;
use rustix::pty::OpenptFlags;
use rustix::termios::LocalModes;

use super::control::{BOT, Opponent, Running, server, until};
use super::program::{command, finish};
use super::records::Ground;

/// Longer than any answer takes; a hang ends there.
const GUARD: Duration = Duration::from_secs(60);

/// A terminal with the program on it, killed when it is dropped.
struct Terminal {
    child: Child,
    keys: File,
    screen: Receiver<Vec<u8>>,
    /// Everything that has stood there.
    shown: Vec<u8>,
    /// How much of it has been waited for.
    passed: usize,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Where it has ended already there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Terminal {
    fn start(command: &mut Command) -> Self {
        let (person, program) = open().expect("a pseudo terminal");
        let copy = || Stdio::from(program.try_clone().expect("a descriptor"));
        let child = command
            .stdin(copy())
            .stdout(copy())
            .stderr(copy())
            .spawn()
            .expect("the program starts");
        // With a copy left here, its end would not be seen.
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        drop(program);
        let mut reader = File::from(person.try_clone().expect("a descriptor"));
        let (sender, screen) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // The end is an error on some systems and nothing more to read on others.
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            child,
            keys: File::from(person),
            screen,
            shown: Vec::new(),
            passed: 0,
        }
    }

    /// Reads until this stands there, and gives what came before it.
    fn wait_for(&mut self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            let fresh = &self.shown[self.passed..];
            let mut places = fresh.windows(text.len());
            if let Some(at) = places.position(|place| place == text.as_bytes()) {
                let before = String::from_utf8_lossy(&fresh[..at]).into_owned();
                self.passed += at + text.len();
                return before;
            }
            let left = GUARD.saturating_sub(begun.elapsed());
            let Ok(more) = self.screen.recv_timeout(left) else {
                panic!("no {text:?} in {}", self.text());
            };
            self.shown.extend(more);
        }
    }

    /// Types a line; Enter is a carriage return, as on a keyboard.
    fn type_line(&mut self, text: &str) {
        let typed = self.keys.write_all(format!("{text}\r").as_bytes());
        typed.expect("the terminal takes it");
    }

    /// Waits for the prompt, and answers.
    fn answer(&mut self, prompt: &str, text: &str) {
        self.wait_for(prompt);
        self.type_line(text);
    }

    /// Whether it shows what is typed.
    fn echoes(&self) -> bool {
        let modes = rustix::termios::tcgetattr(&self.keys).expect("a terminal");
        modes.local_modes.contains(LocalModes::ECHO)
    }

    /// Reads to the end: the status, and everything that has stood there.
    fn end(mut self) -> (Option<i32>, String) {
        let begun = Instant::now();
        loop {
            let left = GUARD.saturating_sub(begun.elapsed());
            match self.screen.recv_timeout(left) {
                Ok(more) => self.shown.extend(more),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end: {}", self.text()),
            }
        }
        (finish(&mut self.child, GUARD), self.text())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown).into_owned()
    }
}

/// A pseudo terminal: the side of a person, and that of a program.
fn open() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let person = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    rustix::io::fcntl_setfd(&person, FdFlags::CLOEXEC)?;
    rustix::pty::grantpt(&person)?;
    rustix::pty::unlockpt(&person)?;
    let name = rustix::pty::ptsname(&person, Vec::<u8>::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let program = rustix::fs::open(&name, flags, Mode::empty())?;
    Ok((person, program))
}

/// Gives this answer to a command that asks this: status, and everything that was shown.
fn answered(command: &mut Command, question: &str, answer: &str) -> (Option<i32>, String) {
    let mut terminal = Terminal::start(command);
    terminal.wait_for(question);
    terminal.answer(" [y/N] ", answer);
    terminal.end()
}

/// The same with a command for a running bot.
fn told(bot: &Running, arguments: &[&str], question: &str, answer: &str) -> (Option<i32>, String) {
    tokio::task::block_in_place(|| {
        let mut command = command(arguments);
        answered(command.arg("--config").arg(bot.config()), question, answer)
    })
}

#[track_caller]
fn assert_declined((status, shown): (Option<i32>, String)) {
    assert_eq!(status, Some(1), "{shown}");
    assert!(shown.contains("megaton: nothing done"), "{shown}");
}

#[track_caller]
fn assert_done((status, shown): (Option<i32>, String), said: &str) {
    assert_eq!(status, Some(0), "{shown}");
    assert!(shown.contains(said), "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_run_asks_and_never_shows_the_token() {
    let server = server().await;
    let token = server.open_bot(BOT).expect("a good name");
    let folder = tempfile::tempdir().expect("a folder");
    let (status, shown) = tokio::task::block_in_place(|| {
        let mut terminal = Terminal::start(command(&["init"]).current_dir(folder.path()));
        for (question, wrong, problem, right) in [
            (
                "Server [https://lichess.org]: ",
                "lichess.org",
                "\n[lichess] url: \"lichess.org\" is not a URL",
                server.url(),
            ),
            (
                "email address or link [none]: ",
                "Jürgen (me@example.org)",
                "\n[lichess] contact: goes into a header",
                "me@example.org",
            ),
        ] {
            terminal.answer(question, wrong);
            terminal.wait_for(problem);
            terminal.answer(question, right);
        }
        let echoed = terminal.wait_for("Play all, humans or bots [all]: ");
        assert!(echoed.contains("me@example.org"), "typed in the open");
        terminal.type_line("cats");
        terminal.wait_for("Expected one of all, humans, bots.");
        terminal.answer("Play all, humans or bots [all]: ", "bots");
        terminal.answer("casual or both [both]: ", "casual");
        terminal.answer("Concurrent games [8]: ", "3");
        terminal.answer("yes or no [no]: ", "yes");
        let prompt = "Token (hidden) [later]: ";
        terminal.answer(prompt, "two words");
        terminal.wait_for("what was typed holds no token");
        terminal.answer(prompt, &token);
        terminal.wait_for("wrote    ./token.txt");
        assert!(terminal.echoes(), "what is typed is shown again");
        terminal.end()
    });
    assert_eq!(status, Some(0), "{shown}");
    assert!(shown.contains("plays as Megaton"), "{shown}");
    for secret in [token.as_str(), "two words"] {
        assert!(!shown.contains(secret), "{shown}");
    }

    let file = folder.path().join("token.txt");
    let kept = fs::read_to_string(&file).expect("a token");
    assert_eq!(kept, format!("{token}\n"));
    let rights = fs::metadata(&file).expect("a token").permissions();
    assert_eq!(rights.mode() & 0o777, 0o600);
    let config = Config::read(&folder.path().join("config.toml")).expect("a config");
    assert_eq!(config.lichess.url, server.url());
    assert_eq!(config.lichess.contact.as_deref(), Some("me@example.org"));
    assert_eq!(config.lichess.token_file, Some(file));
    assert_eq!(config.challenge.concurrency, 3);
    assert!(!config.challenge.humans.accept);
    let bots = &config.challenge.bots;
    assert!(bots.accept && bots.casual && !bots.rated);
    assert!(config.matchmaking.enabled);
}

#[test]
fn leaving_the_hidden_prompt_restores_the_terminal_echo() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut terminal = Terminal::start(command(&["init"]).current_dir(folder.path()));
    for prompt in [
        "lichess.org]: ",
        "link [none]: ",
        "[all]: ",
        "[both]: ",
        "[8]: ",
    ] {
        terminal.answer(prompt, "");
    }
    terminal.answer("yes or no [no]: ", "");
    terminal.wait_for("Token (hidden) [later]: ");
    assert!(!terminal.echoes(), "nobody reads along");
    terminal
        .keys
        .write_all(b"half a tok\x03")
        .expect("it is typed");
    finish(&mut terminal.child, GUARD);
    let status = terminal.child.wait().expect("it has ended");
    // Where the signal was ignored before its start, as in the background of a script, it says so.
    let interrupted = status.signal() == Some(Signal::INT.as_raw());
    assert!(interrupted || status.code() == Some(1), "{status}");
    assert!(terminal.echoes(), "what is typed is shown again");
    let (_, shown) = terminal.end();
    assert!(!shown.contains("half"), "{shown}");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
}

#[test]
fn a_folder_that_cannot_be_written_is_reported_before_any_question() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("file"), "").expect("a file");
    let mut init = command(&["init", "--folder", "file/bot"]);
    let (status, shown) = Terminal::start(init.current_dir(folder.path())).end();
    assert_eq!(status, Some(2), "{shown}");
    assert!(
        shown.contains("cannot write file/bot/config.toml"),
        "{shown}"
    );
    assert!(!shown.contains("Server ["), "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_run_with_a_token_there_asks_for_none() {
    let server = server().await;
    let token = server.open_bot(BOT).expect("a good name");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token.txt");
    // Without the line's end that would be written.
    fs::write(&file, &token).expect("a file");
    let (status, shown) = tokio::task::block_in_place(|| {
        let mut init = command(&["init", "--url", server.url()]);
        let mut terminal = Terminal::start(init.current_dir(folder.path()));
        terminal.wait_for("using the existing ./token.txt");
        for usual in ["[none]: ", "[all]: ", "[both]: ", "[8]: ", "[no]: "] {
            terminal.answer(usual, "");
        }
        terminal.end()
    });
    assert_eq!(status, Some(0), "{shown}");
    assert!(shown.contains("plays as Megaton"), "{shown}");
    for unwanted in [token.as_str(), "Token (hidden)"] {
        assert!(!shown.contains(unwanted), "{shown}");
    }
    assert_eq!(fs::read_to_string(&file).expect("it is there"), token);
    let config = Config::read(&folder.path().join("config.toml")).expect("a config");
    assert_eq!(config.lichess.token_file, Some(file));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_ends_only_after_a_yes() {
    let server = server().await;
    let mut bot = Running::start(&server, "").await;
    let question = "Shut the bot down after its games?";
    for no in ["n", ""] {
        assert_declined(told(&bot, &["drain"], question, no));
        assert_eq!(bot.status()["state"], "playing");
    }
    assert_done(told(&bot, &["drain"], question, "y"), "shutting down: ");
    assert_eq!(bot.end().0, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_is_aborted_or_resigned_only_after_a_yes() {
    let server = server().await;
    let bot = Running::start(&server, "").await;
    let other = Opponent::new(&server);
    let fresh = other.begin().await;
    until("the game is shown", async || {
        bot.status()["games"][0]["id"] == fresh.as_str()
    })
    .await;
    let abort = ["abort", fresh.as_str()];
    let question = format!("Abort game {fresh}?");
    assert_declined(told(&bot, &abort, &question, "n"));
    assert!(other.plays(&fresh).await);
    let done = told(&bot, &abort, &question, "y");
    assert_done(done, &format!("{fresh} is aborted"));
    until("it is over", async || !other.plays(&fresh).await).await;

    let old = other.begin().await;
    other.move_and_wait(&old, "e2e4").await;
    let resign = ["resign", old.as_str()];
    let question = format!("Resign game {old}? This loses it.");
    assert_declined(told(&bot, &resign, &question, "n"));
    assert!(other.plays(&old).await);
    let done = told(&bot, &resign, &question, "yes");
    assert_done(done, &format!("{old} is resigned"));
    until("it is over", async || !other.plays(&old).await).await;
}

#[test]
fn old_games_are_pruned_only_after_a_yes() {
    let ground = Ground::with_games();
    let config = ground.file("config.toml");
    let prune = |answer| {
        let arguments = ["prune", "--config", &config, "--older-than", "2026-11-22"];
        let question = "Delete 1 games from before 2026-11-22 00:00";
        answered(&mut command(&arguments), question, answer)
    };
    assert_declined(prune("n"));
    assert!(ground.told(&["games"]).contains("won00001"));
    assert_done(prune("y"), "1 games, 0 challenges");
    assert!(!ground.told(&["games"]).contains("won00001"));
}
