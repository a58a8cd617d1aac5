//! One game on the test server: the board, the opponent, and its streams.

use std::collections::VecDeque;

use megaton::engine::{Engine, EngineOptions, Evaluator, Limits, Pool};
use megaton::rules::{Color, Draw, Game, Outcome, RepetitionRule, Win};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::harness::ME;
use crate::test_server::Piece;

pub(crate) struct Round {
    pub(crate) game: Game,
    pub(crate) bot_is_white: bool,
    pub(crate) status: &'static str,
    pub(crate) winner: Option<&'static str>,
    /// The opponent resigns at this length.
    pub(crate) length: usize,
    pub(crate) streams: Vec<mpsc::UnboundedSender<Piece>>,
    pub(crate) openings: usize,
    /// Days per move instead of a clock.
    pub(crate) slow: bool,
    pub(crate) rated: bool,
    /// The move first sent for a list, until a refusal.
    pub(crate) first_sent: Option<(usize, String)>,
    /// The opponent falls asleep at this length.
    pub(crate) asleep_at: Option<usize>,
    /// Streams are cut when the list reaches this length, before the line goes out.
    pub(crate) cut_at: VecDeque<(usize, Piece)>,
    pub(crate) opponent: Engine,
}

impl Round {
    pub(crate) fn new(bot_is_white: bool, length: usize) -> Self {
        let pool = Pool::new(&EngineOptions {
            hash_mb: 1,
            // A better built-in net must not shorten the games.
            evaluator: Evaluator::classical(),
            ..EngineOptions::default()
        });
        Self {
            game: Game::new(),
            bot_is_white,
            status: "started",
            winner: None,
            length,
            streams: Vec::new(),
            openings: 0,
            slow: false,
            rated: false,
            first_sent: None,
            asleep_at: None,
            cut_at: VecDeque::new(),
            opponent: pool.lease(),
        }
    }

    /// The first line of its stream.
    pub(crate) fn full(&self, id: &str, left: u64) -> Value {
        let player = |bot: bool| {
            if bot {
                json!({ "id": ME, "name": "Megaton", "title": "BOT", "rating": 1991 })
            } else {
                json!({ "id": "blastcap", "name": "blastcap", "title": null, "rating": 1874 })
            }
        };
        let mut full = json!({
            "id": id, "type": "gameFull", "variant": { "key": "atomic", "name": "Atomic" },
            "speed": "blitz", "perf": { "name": "Atomic" }, "rated": self.rated,
            "createdAt": 1_787_400_000_000_u64, "initialFen": "startpos",
            "white": player(self.bot_is_white), "black": player(!self.bot_is_white),
            "clock": { "initial": 60_000, "increment": 0 }, "state": self.state(left),
        });
        if self.slow {
            full["clock"] = Value::Null;
            full["speed"] = "correspondence".into();
            full["daysPerTurn"] = 2.into();
        }
        full
    }

    pub(crate) fn is_bots_turn(&self) -> bool {
        self.game.ply().is_multiple_of(2) == self.bot_is_white
    }

    pub(crate) fn state(&self, left: u64) -> Value {
        let moves: Vec<_> = self.game.moves().iter().map(ToString::to_string).collect();
        let mut state = json!({
            "type": "gameState", "moves": moves.join(" "), "wtime": left, "btime": left,
            "winc": 0, "binc": 0, "status": self.status,
        });
        if let Some(winner) = self.winner {
            state["winner"] = winner.into();
        }
        state
    }

    /// Whether it is the opponent's turn and no stream is open.
    pub(crate) fn is_left(&self) -> bool {
        !self.is_bots_turn() && self.streams.iter().all(mpsc::UnboundedSender::is_closed)
    }

    pub(crate) fn tell(&mut self, piece: &Piece) {
        self.streams
            .retain(|stream| stream.send(piece.clone()).is_ok());
        if matches!(
            piece,
            Piece::End | Piece::Cut | Piece::Garbage | Piece::Silence
        ) {
            self.streams.clear();
        }
    }

    /// Sends the state, unless the stream is to fail at this length.
    pub(crate) fn show(&mut self, left: u64) {
        let ply = self.game.ply();
        let is_due = self.cut_at.front().is_some_and(|(at, _)| *at <= ply);
        if is_due && let Some((_, piece)) = self.cut_at.pop_front() {
            self.tell(&piece);
        }
        let state = self.state(left).to_string();
        self.tell(&Piece::Line(state));
    }

    /// The opponent's move: by an engine as good as the bot's, so that games last.
    pub(crate) fn reply(&mut self, left: u64) {
        let asleep = self.asleep_at.is_some_and(|at| self.game.ply() >= at);
        if self.status != "started" || asleep {
            return;
        }
        if self.game.ply() >= self.length {
            self.status = "resign";
            self.winner = Some(if self.bot_is_white { "white" } else { "black" });
            return self.show(left);
        }
        let result = self.opponent.think(&self.game, Limits::nodes(300)).wait();
        if let Some(best) = result.best {
            self.game.push(best);
        }
        self.judge();
        self.show(left);
    }

    pub(crate) fn judge(&mut self) {
        let Some(outcome) = self.game.outcome(RepetitionRule::Threefold) else {
            return;
        };
        self.status = match outcome {
            Outcome::Win { by: Win::Mate, .. } => "mate",
            Outcome::Win { .. } => "variantEnd",
            Outcome::Draw(Draw::Stalemate) => "stalemate",
            Outcome::Draw(_) => "draw",
        };
        self.winner = outcome.winner().map(|color| match color {
            Color::White => "white",
            Color::Black => "black",
        });
    }
}
