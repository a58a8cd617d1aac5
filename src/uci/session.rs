//! One UCI session: the position, the options and the running search.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::command::{Command, Go, Start};
use super::describe;
use super::options::{Effect, Options};
use super::output::{Output, best_move_line, info_line, unsearched_line};
use crate::engine::{
    Clock, Engine, EngineOptions, Evaluator, Limits, Pool, Search, SearchResult, bench,
};
use crate::rules::{Game, Position};

/// How often a search that outlives its input checks whether its lines are still read.
const READER_CHECK: Duration = Duration::from_millis(100);

/// Whether the session continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Line,
    Quit,
}

/// The state of a session.
pub(super) struct Session<W> {
    output: Output<W>,
    options: Options,
    engine: Engine,
    game: Game,
    /// Whether the last `position` was refused: the game is not the one that is asked about.
    is_refused: bool,
    running: Option<Running>,
    /// Whether `bestmove (none)` follows at `stop` or `ponderhit`: such a search has no answer before.
    owes_no_move: bool,
}

/// A search whose `bestmove` may not be written yet.
struct Running {
    search: Search,
    /// Closed once `bestmove` is written.
    answered: mpsc::Receiver<()>,
    is_pondering: bool,
    is_endless: bool,
    /// Whether a line could not be written: no one reads them any more.
    is_unread: Arc<AtomicBool>,
}

impl<W: Write + Send + 'static> Session<W> {
    pub(super) fn new(output: W, evaluator: Evaluator) -> Session<W> {
        let options = Options::new(evaluator);
        Session {
            output: Output::new(output),
            engine: engine(&options),
            options,
            game: Game::new(),
            is_refused: false,
            running: None,
            owes_no_move: false,
        }
    }

    pub(super) fn obey(&mut self, command: Command) -> io::Result<Next> {
        match command {
            Command::Uci => self.introduce()?,
            Command::IsReady => {
                // No search is to wait for memory.
                self.engine.pool().commit_hash();
                self.output.write_line("readyok")?;
            }
            Command::NewGame => {
                self.settle();
                self.engine.pool().clear_hash();
                self.engine.new_game();
            }
            Command::SetOption { name, value } => self.set_option(&name, &value)?,
            Command::Position { start, moves } => {
                let game = read_game(&start, &moves);
                self.is_refused = game.is_err();
                match game {
                    Ok(game) => self.game = game,
                    Err(error) => self.complain(&error)?,
                }
            }
            Command::Go(go) => self.go(&go)?,
            Command::Perft(depth) => {
                self.settle();
                let text = describe::perft(self.game.position(), depth, self.options.style);
                self.output.write_line(&text)?;
            }
            Command::Stop => self.halt(),
            Command::PonderHit => {
                self.answer_no_move();
                if let Some(running) = &mut self.running {
                    running.search.ponderhit();
                    running.is_pondering = false;
                }
            }
            Command::Quit => return Ok(Next::Quit),
            Command::Display => {
                self.output
                    .write_line(&describe::position(&self.game, self.options.style))?;
            }
            Command::Eval => {
                let text = describe::evaluation(self.game.position(), &self.options.evaluator);
                self.output.write_line(&text)?;
            }
            Command::Bench(depth) => self.bench(depth)?,
            Command::Nothing => {}
            Command::Unknown(line) => self.complain(&format!("unknown command {line:?}"))?,
        }
        Ok(Next::Line)
    }

    /// Waits for a search that ends by itself, while its lines are read, and stops any other: so a
    /// list of commands from a file gets whole answers.
    pub(super) fn settle(&mut self) {
        self.answer_no_move();
        if let Some(running) = self.running.take() {
            if running.is_endless || running.is_pondering {
                running.search.stop();
            }
            while running.answered.recv_timeout(READER_CHECK) == Err(RecvTimeoutError::Timeout) {
                if running.is_unread.load(Relaxed) {
                    running.search.stop();
                }
            }
        }
    }

    pub(super) fn quit(mut self) {
        self.halt();
    }

    /// Stops the search, if there is one, and waits for its `bestmove`.
    fn halt(&mut self) {
        self.answer_no_move();
        if let Some(running) = self.running.take() {
            running.search.stop();
            // Dropping the sender, once `bestmove` is written, ends the wait with an error.
            let _ = running.answered.recv();
        }
    }

    fn answer_no_move(&mut self) {
        if std::mem::take(&mut self.owes_no_move) {
            // If the reader is gone, the closed input ends the program.
            let _ = self.output.write_line("bestmove (none)");
        }
    }

    fn introduce(&self) -> io::Result<()> {
        self.output.write(|writer| {
            writeln!(writer, "id name Megaton {}", env!("CARGO_PKG_VERSION"))?;
            writeln!(writer, "id author the Megaton developers")?;
            Options::list(writer)?;
            writeln!(writer, "uciok")
        })
    }

    fn complain(&self, text: &str) -> io::Result<()> {
        self.output
            .write_line(&format!("info string error: {text}"))
    }

    fn set_option(&mut self, name: &str, value: &str) -> io::Result<()> {
        match self.options.set(name, value) {
            Ok(Effect::None) => Ok(()),
            Ok(Effect::ClearHash) => {
                self.settle();
                self.engine.pool().clear_hash();
                Ok(())
            }
            Ok(Effect::NewEngine) => self.renew_engine(),
            Ok(Effect::NewTables(found)) => {
                self.renew_engine()?;
                self.output
                    .write_line(&format!("info string tables: {found}"))
            }
            Err(error) => self.complain(&error),
        }
    }

    /// Makes an engine by the present options.
    fn renew_engine(&mut self) -> io::Result<()> {
        self.settle();
        self.engine = engine(&self.options);
        match self.engine.pool().hash_mb() {
            got if got < self.options.hash_mb => self
                .output
                .write_line(&format!("info string Hash: the system has {got} MB only")),
            _ => Ok(()),
        }
    }

    fn go(&mut self, go: &Go) -> io::Result<()> {
        self.settle();
        if self.is_refused {
            self.complain("no position to search: the last one was refused")?;
            self.owes_no_move = true;
            if !go.infinite && !go.ponder {
                self.answer_no_move();
            }
            return Ok(());
        }
        let plays = !go.ponder && !go.infinite && go.mate.is_none() && go.searchmoves.is_empty();
        let mut random = fastrand::Rng::new();
        if let Some(mv) = plays
            .then(|| self.options.book.choose(&self.game, &mut random))
            .flatten()
        {
            let mv = mv.uci(self.options.style);
            return self.output.write_line(&format!("bestmove {mv}"));
        }
        let limits = self.limits(go)?;
        let is_pondering = limits.ponder;
        let is_endless = limits.infinite || is_boundless(&limits);
        let style = self.options.style;
        let reports = self.output.clone();
        let has_reported = Arc::new(AtomicBool::new(false));
        let reported = Arc::clone(&has_reported);
        let is_unread = Arc::new(AtomicBool::new(false));
        let unread = Arc::clone(&is_unread);
        let search = self.engine.think_with(&self.game, limits, move |info| {
            reported.store(true, Relaxed);
            // If the reader is gone, the closed input ends the program, and the search with it.
            if reports.write_line(&info_line(info, style)).is_err() {
                unread.store(true, Relaxed);
            }
        });
        let (sender, answered) = mpsc::channel::<()>();
        let output = self.output.clone();
        search.on_done(Box::new(move |result: SearchResult| {
            if !has_reported.load(Relaxed) {
                let _ = output.write_line(&unsearched_line(&result, style));
            }
            let _ = output.write_line(&best_move_line(&result, style));
            drop(sender);
        }));
        self.running = Some(Running {
            search,
            answered,
            is_pondering,
            is_endless,
            is_unread,
        });
        Ok(())
    }

    fn limits(&self, go: &Go) -> io::Result<Limits> {
        let position = self.game.position();
        let us = position.turn().index();
        let mut searchmoves = Vec::new();
        for text in &go.searchmoves {
            match position.parse_uci(text) {
                Ok(mv) => searchmoves.push(mv),
                Err(error) => self.complain(&error.to_string())?,
            }
        }
        // A draw is worth the same to both sides in an analysis.
        let time = go.time[us].filter(|_| !go.infinite);
        Ok(Limits {
            depth: go.depth,
            nodes: go.nodes,
            soft_nodes: None,
            nodes_per_ms: None,
            movetime: go.movetime,
            clock: time.map(|time| Clock {
                time,
                increment: go.increment[us],
                moves_to_go: go.moves_left,
                overhead: self.options.overhead,
            }),
            hard_deadline: None,
            searchmoves,
            multipv: self.options.lines,
            contempt: time.map_or(0, |_| self.options.contempt),
            mate: go.mate,
            infinite: go.infinite,
            ponder: go.ponder,
            background: false,
        })
    }

    fn bench(&mut self, depth: Option<u32>) -> io::Result<()> {
        self.settle();
        let report = bench(&self.options.evaluator, &self.options.params, depth);
        let (nodes, millis, speed) = (report.nodes, report.time.as_millis(), report.speed());
        self.output.write_line(&format!(
            "Total time (ms) : {millis}\nNodes searched  : {nodes}\nNodes/second    : {speed}"
        ))
    }
}

fn read_game(start: &Start, moves: &[String]) -> Result<Game, String> {
    let position = match start {
        Start::Startpos => Position::default(),
        Start::Fen(fen) => Position::from_fen(fen).map_err(|error| error.to_string())?,
    };
    let mut game = Game::from_position(position);
    for mv in moves {
        game.push_uci(mv).map_err(|error| error.to_string())?;
    }
    Ok(game)
}

fn engine(options: &Options) -> Engine {
    Pool::new(&EngineOptions {
        hash_mb: options.hash_mb,
        threads: options.threads,
        evaluator: options.evaluator.clone(),
        params: options.params.clone(),
        tables: options.tables(),
    })
    .lease()
}

/// Without any limit a search ends only at the maximum depth.
fn is_boundless(limits: &Limits) -> bool {
    let Limits {
        depth,
        nodes,
        movetime,
        clock,
        mate,
        ..
    } = limits;
    depth.is_none() && nodes.is_none() && movetime.is_none() && clock.is_none() && mate.is_none()
}
