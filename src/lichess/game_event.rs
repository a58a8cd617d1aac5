//! The stream of one game: its events.
//!
//! Moves stay text: this module does not know the rules. The move list is always complete, it can shrink, and
//! a state need not contain a new move.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer};

use super::enums::{BySide, Room, Side, Speed, Status, Variant};
use super::ids::GameId;
use super::lenient_json::{
    JsonMismatch, Lenient, WireCount, epoch_ms, or_default, read, required, seconds,
};
use super::player::Player;

/// The remaining milliseconds that the server sends for a game without a clock.
const UNLIMITED_MS: u64 = 2_147_483_647;

/// One line of a game's stream.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GameEvent {
    /// The whole game: the first line of every stream.
    #[serde(rename = "gameFull")]
    Full(Box<GameFull>),
    /// The current state of the game.
    #[serde(rename = "gameState")]
    State(Box<GameState>),
    #[serde(rename = "chatLine")]
    Chat(ChatLine),
    /// The opponent left or came back.
    OpponentGone(OpponentGone),
    /// Something this program does not know.
    Unknown {
        /// What the server calls it.
        #[serde(rename = "type")]
        kind: String,
    },
}

impl GameEvent {
    /// Reads one line.
    ///
    /// # Errors
    /// When the line is no object, or lacks what its kind cannot be understood without.
    pub fn from_line(line: &str) -> Result<Lenient<Self>, JsonMismatch> {
        read(line)
    }
}

/// A game with its terms and its current state.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GameFull {
    pub id: Option<GameId>,
    #[serde(rename = "variant.key|variant")]
    pub variant: Variant,
    pub speed: Speed,
    pub rated: bool,
    #[serde(deserialize_with = "epoch_ms")]
    pub created_at: Option<SystemTime>,
    #[serde(deserialize_with = "or_default")]
    pub white: Player,
    #[serde(deserialize_with = "or_default")]
    pub black: Player,
    /// The start position; `"startpos"` for the standard one.
    pub initial_fen: Option<String>,
    /// The clock; none in correspondence and unlimited games.
    pub clock: Option<ClockSetting>,
    /// Days a move, in correspondence games.
    pub days_per_turn: Option<u32>,
    /// The arena it belongs to.
    #[serde(rename = "tournamentId")]
    pub tournament: Option<String>,
    pub state: GameState,
}

impl GameFull {
    pub fn player(&self, side: Side) -> &Player {
        match side {
            Side::White => &self.white,
            Side::Black => &self.black,
        }
    }

    /// Whether the game begins from the standard position.
    pub fn starts_as_usual(&self) -> bool {
        matches!(self.initial_fen.as_deref(), None | Some("startpos"))
    }
}

/// The clock a game is played with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct ClockSetting {
    /// Time at the start.
    #[serde(deserialize_with = "exact_ms")]
    pub initial: Duration,
    /// Time added after each move.
    #[serde(deserialize_with = "exact_ms")]
    pub increment: Duration,
}

/// Milliseconds that must be a whole number and not negative.
fn exact_ms<'de, D: Deserializer<'de>>(value: D) -> Result<Duration, D::Error> {
    u64::deserialize(value).map(Duration::from_millis)
}

/// The current state of a game.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct GameState {
    /// All moves from the start, in UCI with single spaces, castling as king takes rook.
    pub moves: String,
    /// Remaining time when the line was written; none when unlimited or absent.
    #[serde(rename = "wtime,btime", deserialize_with = "remaining")]
    pub time: BySide<Option<Duration>>,
    /// Time added after each move.
    #[serde(rename = "winc,binc", deserialize_with = "increments")]
    pub increment: BySide<Duration>,
    #[serde(
        rename = "status.name|status.id|status",
        deserialize_with = "status_or_started"
    )]
    pub status: Status,
    pub winner: Option<Side>,
    /// Which side offers a draw. Not reliable for our own offer.
    #[serde(rename = "wdraw,bdraw")]
    pub draw_offer: BySide<bool>,
    /// Which side proposes a takeback.
    #[serde(rename = "wtakeback,btakeback")]
    pub takeback: BySide<bool>,
    /// The time limit of the first move, if there is one.
    pub expiration: Option<Expiration>,
    pub rematch: Option<GameId>,
}

impl GameState {
    pub fn move_list(&self) -> impl Iterator<Item = &str> {
        self.moves.split_ascii_whitespace()
    }

    /// The number of moves so far.
    pub fn ply(&self) -> usize {
        self.move_list().count()
    }

    pub fn time(&self, side: Side) -> Option<Duration> {
        *self.time.of(side)
    }

    pub fn increment(&self, side: Side) -> Duration {
        *self.increment.of(side)
    }

    pub fn offers_draw(&self, side: Side) -> bool {
        *self.draw_offer.of(side)
    }

    pub fn proposes_takeback(&self, side: Side) -> bool {
        *self.takeback.of(side)
    }
}

fn remaining<'de, D: Deserializer<'de>>(value: D) -> Result<BySide<Option<Duration>>, D::Error> {
    let ms: BySide<Option<WireCount>> = BySide::deserialize(value)?;
    let limited = |WireCount(ms)| (ms < UNLIMITED_MS).then(|| Duration::from_millis(ms));
    Ok(ms.map(|ms| ms.and_then(limited)))
}

fn increments<'de, D: Deserializer<'de>>(value: D) -> Result<BySide<Duration>, D::Error> {
    let ms: BySide<Option<WireCount>> = BySide::deserialize(value)?;
    Ok(ms.map(|ms| Duration::from_millis(ms.map_or(0, |WireCount(ms)| ms))))
}

fn status_or_started<'de, D: Deserializer<'de>>(value: D) -> Result<Status, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or(Status::Started))
}

/// The time limit of a first move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Expiration {
    /// Time already gone by.
    #[serde(rename = "idleMillis", deserialize_with = "ms_or_zero")]
    pub idle: Duration,
    #[serde(rename = "millisToMove", deserialize_with = "ms")]
    pub to_move: Duration,
}

impl Expiration {
    /// The time left from the arrival of the line on.
    pub fn left(&self) -> Duration {
        self.to_move.saturating_sub(self.idle)
    }
}

fn ms<'de, D: Deserializer<'de>>(value: D) -> Result<Duration, D::Error> {
    WireCount::deserialize(value).map(|WireCount(ms)| Duration::from_millis(ms))
}

fn ms_or_zero<'de, D: Deserializer<'de>>(value: D) -> Result<Duration, D::Error> {
    let ms: Option<WireCount> = Option::deserialize(value)?;
    Ok(Duration::from_millis(ms.map_or(0, |WireCount(ms)| ms)))
}

/// A line of chat. Untrusted text: never pass it unescaped to a shell, a format string or a log.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ChatLine {
    #[serde(deserialize_with = "or_default")]
    pub room: Room,
    /// The author; `lichess` for the server's own notes.
    #[serde(rename = "username|user", deserialize_with = "or_default")]
    pub username: String,
    pub text: String,
}

/// Whether the opponent is present. Outdated after about twelve seconds without a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct OpponentGone {
    /// Away, or back again.
    #[serde(deserialize_with = "required")]
    pub gone: bool,
    /// When the game may be claimed; zero means now.
    #[serde(rename = "claimWinInSeconds", deserialize_with = "seconds")]
    pub claim_win_in: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(fields: &str) -> GameState {
        let line = format!(r#"{{"type":"gameState","moves":""{fields}}}"#);
        match GameEvent::from_line(&line).unwrap().value {
            GameEvent::State(state) => *state,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn no_moves_is_an_empty_list() {
        assert_eq!(state("").ply(), 0);
    }

    #[test]
    fn an_unlimited_clock_is_no_clock() {
        let unlimited = state(r#","wtime":2147483647,"btime":2147483647"#);
        assert_eq!(unlimited.time(Side::White), None);
        let fortnight = state(r#","wtime":1209600000,"btime":-5"#);
        assert_eq!(fortnight.time(Side::White).unwrap().as_secs(), 1_209_600);
        assert_eq!(fortnight.time(Side::Black), Some(Duration::ZERO));
    }

    #[test]
    fn a_bad_clock_or_rating_does_not_lose_the_game() {
        let line = r#"{"type":"gameFull","clock":{"initial":"soon"},"white":{"id":"a",
            "rating":"high"},"black":7,"createdAt":"today","state":{"moves":"e2e4","wtime":[],
            "btime":9,"status":"started","wdraw":"yes"}}"#;
        let read = GameEvent::from_line(line).unwrap();
        let GameEvent::Full(full) = read.value else {
            panic!("no game");
        };
        assert_eq!((full.clock, full.white.rating), (None, None));
        assert_eq!(full.state.ply(), 1);
        assert_eq!(full.state.time(Side::Black), Some(Duration::from_millis(9)));
        let mut paths: Vec<_> = read.dropped.iter().map(|m| m.path.as_str()).collect();
        paths.sort_unstable();
        let expected = [
            "black",
            "clock.initial",
            "createdAt",
            "state.wdraw",
            "state.wtime",
            "white.rating",
        ];
        assert_eq!(paths, expected);
    }

    #[test]
    fn without_its_moves_a_game_is_not_understood() {
        let mismatch = GameEvent::from_line(r#"{"type":"gameFull","state":{"wtime":1}}"#);
        assert_eq!(mismatch.unwrap_err().path, "state.moves");
    }

    #[test]
    fn perf_is_ignored_in_whatever_shape() {
        for perf in ["\"atomic\"", "{\"name\":\"Atomic\"}", "null", "3"] {
            let line = format!(r#"{{"type":"gameFull","perf":{perf},"state":{{"moves":""}}}}"#);
            assert!(GameEvent::from_line(&line).unwrap().dropped.is_empty());
        }
    }
}
