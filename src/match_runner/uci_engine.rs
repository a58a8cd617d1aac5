//! A UCI program as a player: a child process, a thread that reads its output, and a watchdog.
//!
//! The program is not trusted: it may end, fall silent, or write nonsense without end. Every wait has a
//! limit, and a program that exceeds one is killed and restarted for its next game.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child as Process, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::limit::MoveLimit;
use super::player::{PlayedMove, Player, PlayerFault, TurnTime};
use super::spec::PlayerKind;
use super::uci_output::{InfoFields, UciLine, read};
use crate::rules::{Color, Game};

/// The number of buffered lines, beyond which the program has to wait.
const MOST_WAITING: usize = 4096;
/// The maximum length of a line; the rest is another line.
const LONGEST_LINE: u64 = 64 << 10;
/// The time limit for a program to start and to get ready.
const START: Duration = Duration::from_secs(30);
/// The time limit for a program to quit.
const LEAVE: Duration = Duration::from_millis(500);
/// The interval of checks on a quitting program.
const LOOK: Duration = Duration::from_millis(5);

/// A running program that plays atomic.
pub(super) struct UciEngine {
    process: Process,
    input: ChildStdin,
    lines: Receiver<String>,
    watchdog: Duration,
}

impl UciEngine {
    /// Starts and configures the program; the error says why that failed.
    pub(super) fn start(
        kind: &PlayerKind,
        options: &[(String, String)],
        watchdog: Duration,
    ) -> Result<Self, String> {
        let PlayerKind::Child { program, arguments } = kind else {
            return Err("no program".to_owned());
        };
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("no pipes to it".to_owned());
        };
        let (sender, lines) = sync_channel(MOST_WAITING);
        thread::Builder::new()
            .name("uci".to_owned())
            .spawn(move || listen(output, &sender))
            .map_err(|error| error.to_string())?;
        let mut engine = Self {
            process,
            input,
            lines,
            watchdog,
        };
        engine.set_up(options)?;
        Ok(engine)
    }

    fn set_up(&mut self, options: &[(String, String)]) -> Result<(), String> {
        let words = |fault: PlayerFault| fault.to_string();
        self.say("uci").map_err(words)?;
        let mut known = Vec::new();
        let until = Instant::now() + START;
        loop {
            match self.hear(until, START).map_err(words)? {
                UciLine::Option(name) => known.push(name),
                UciLine::UciOk => break,
                _ => {}
            }
        }
        let find = |wanted: &str| known.iter().find(|name| name.eq_ignore_ascii_case(wanted));
        // An engine that only plays atomic has no such option; one without atomic will lose by its
        // first illegal move.
        if let Some(name) = find("UCI_Variant") {
            self.set(name, "atomic").map_err(words)?;
        }
        for (name, value) in options {
            let name = find(name).ok_or_else(|| {
                let known = known.join(", ");
                format!("it has no option {name:?}; its options are {known}")
            })?;
            self.set(name, value).map_err(words)?;
        }
        self.synchronise().map_err(words)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), PlayerFault> {
        self.say(&format!("setoption name {name} value {value}"))
    }

    /// Waits until the program has processed all commands.
    fn synchronise(&mut self) -> Result<(), PlayerFault> {
        self.say("isready")?;
        let until = Instant::now() + START;
        while self.hear(until, START)? != UciLine::ReadyOk {}
        Ok(())
    }

    fn say(&mut self, line: &str) -> Result<(), PlayerFault> {
        let sent = writeln!(self.input, "{line}").and_then(|()| self.input.flush());
        sent.map_err(|_| self.gone())
    }

    /// The next parsed line; the error names `patience`.
    fn hear(&mut self, until: Instant, patience: Duration) -> Result<UciLine, PlayerFault> {
        let left = until.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            // There is always another line of a program that writes faster than this reads.
            Ok(_) if left.is_zero() => Err(PlayerFault::Hang(patience)),
            Ok(line) => Ok(read(&line)),
            Err(RecvTimeoutError::Timeout) => Err(PlayerFault::Hang(patience)),
            Err(RecvTimeoutError::Disconnected) => Err(self.gone()),
        }
    }

    /// The error for a program that has ended.
    fn gone(&mut self) -> PlayerFault {
        let until = Instant::now() + LEAVE;
        PlayerFault::Crash(match self.ended(until) {
            Some(status) => format!("the program ended ({status})"),
            None => "the program closed its output".to_owned(),
        })
    }

    /// The exit status of the program, once it has ended.
    fn ended(&mut self, until: Instant) -> Option<std::process::ExitStatus> {
        loop {
            match self.process.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => thread::sleep(LOOK),
                _ => return None,
            }
        }
    }
}

/// The time limit of an answer, without the tolerance of the watchdog.
fn due(turn: &TurnTime, color: Color) -> Duration {
    match turn.allowance {
        MoveLimit::Nodes { .. } | MoveLimit::Depth(_) => Duration::ZERO,
        MoveLimit::Movetime(time) => time,
        MoveLimit::Clock { .. } => turn.clocks[color],
    }
}

fn go(turn: &TurnTime) -> String {
    match turn.allowance {
        MoveLimit::Nodes { hard, .. } => format!("go nodes {hard}"),
        MoveLimit::Depth(plies) => format!("go depth {plies}"),
        MoveLimit::Movetime(time) => format!("go movetime {}", time.as_millis().max(1)),
        MoveLimit::Clock { increment, .. } => {
            let millis = |time: Duration| time.as_millis().max(1);
            format!(
                "go wtime {} btime {} winc {increment} binc {increment}",
                millis(turn.clocks.white),
                millis(turn.clocks.black),
                increment = increment.as_millis(),
            )
        }
    }
}

fn position(game: &Game) -> String {
    let mut line = format!("position fen {}", game.positions()[0].fen());
    for (index, mv) in game.moves().iter().enumerate() {
        line.push_str(if index == 0 { " moves " } else { " " });
        line.push_str(&mv.to_string());
    }
    line
}

impl Player for UciEngine {
    fn new_game(&mut self) -> Result<(), PlayerFault> {
        self.say("ucinewgame")?;
        self.synchronise()
    }

    fn choose(&mut self, game: &Game, turn: &TurnTime) -> Result<PlayedMove, PlayerFault> {
        self.say(&position(game))?;
        self.say(&go(turn))?;
        let patience = due(turn, game.position().turn()) + self.watchdog;
        let until = Instant::now() + patience;
        let mut info = InfoFields::default();
        let text = loop {
            match self.hear(until, patience)? {
                UciLine::Info(later) => info.update(later),
                UciLine::BestMove(text) => break text,
                _ => {}
            }
        };
        let mv = game
            .position()
            .parse_uci(&text)
            .map_err(|error| PlayerFault::Illegal(error.to_string()))?;
        Ok(PlayedMove {
            mv,
            score: info.score,
            depth: info.depth,
            nodes: info.nodes.unwrap_or(0),
        })
    }
}

impl Drop for UciEngine {
    fn drop(&mut self) {
        let _ = self.say("quit");
        if self.ended(Instant::now() + LEAVE).is_none() {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

/// The loop of the reader thread, until the program ends or the receiver is gone.
fn listen(output: ChildStdout, sender: &SyncSender<String>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        match output
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)
        {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        if sender.send(text.trim_end().to_owned()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::ByColor;

    #[test]
    fn a_position_is_sent_with_its_moves() {
        let mut game = Game::new();
        let fen = game.position().fen();
        assert_eq!(position(&game), format!("position fen {fen}"));
        game.push_uci_moves("e2e4 e7e5").unwrap();
        assert_eq!(
            position(&game),
            format!("position fen {fen} moves e2e4 e7e5")
        );
    }

    #[test]
    fn each_limit_becomes_its_go_command() {
        let turn = |allowance| TurnTime {
            allowance,
            clocks: ByColor {
                white: Duration::from_micros(1_234_567),
                black: Duration::ZERO,
            },
        };
        let nodes = MoveLimit::Nodes {
            soft: None,
            hard: 2000,
        };
        assert_eq!(go(&turn(nodes)), "go nodes 2000");
        assert_eq!(go(&turn(MoveLimit::Depth(7))), "go depth 7");
        let time = MoveLimit::parse_movetime("0.05").unwrap();
        assert_eq!(go(&turn(time)), "go movetime 50");
        let clock = MoveLimit::parse_clock("2+0.02").unwrap();
        assert_eq!(go(&turn(clock)), "go wtime 1234 btime 1 winc 20 binc 20");
        assert_eq!(
            due(&turn(clock), Color::White),
            Duration::from_micros(1_234_567)
        );
    }
}
