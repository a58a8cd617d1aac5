//! The stream of one game: its events.
//!
//! Moves stay text: this module does not know the rules. The move list is always whole, it can shrink, and a
//! state need not contain a new move.

use std::time::{Duration, SystemTime};

use super::challenge::variant;
use super::enums::{BySide, Room, Side, Speed, Status, Variant};
use super::event::status;
use super::ids::GameId;
use super::lenient_json::{FromObject, JsonMismatch, Lenient, Object, read};
use super::player::{Player, from_epoch_ms};

/// What the server writes for the clock of a game without one, in milliseconds.
const UNLIMITED_MS: u64 = 2_147_483_647;

/// One line of a game's stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GameEvent {
    /// The whole game: the first line of every opening.
    Full(Box<GameFull>),
    /// The game as it stands now.
    State(Box<GameState>),
    Chat(ChatLine),
    /// The opponent left or came back.
    OpponentGone(OpponentGone),
    /// Something this program does not know.
    Unknown {
        /// What the server calls it.
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

impl FromObject for GameEvent {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        let kind: String = object.required("type")?;
        Ok(match kind.as_str() {
            "gameFull" => Self::Full(Box::new(GameFull::from_object(object)?)),
            "gameState" => Self::State(Box::new(GameState::from_object(object)?)),
            "chatLine" => Self::Chat(ChatLine::from_object(object)?),
            "opponentGone" => Self::OpponentGone(OpponentGone::from_object(object)?),
            _ => Self::Unknown { kind },
        })
    }
}

/// A game from its first line on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameFull {
    /// The game's id, where it is told.
    pub id: Option<GameId>,
    pub variant: Variant,
    pub speed: Speed,
    /// Whether ratings are at stake.
    pub rated: bool,
    pub created_at: Option<SystemTime>,
    /// The player of the white men.
    pub white: Player,
    /// The player of the black men.
    pub black: Player,
    /// The start position; `"startpos"` for the usual one.
    pub initial_fen: Option<String>,
    /// The clock; none in correspondence and unlimited games.
    pub clock: Option<ClockSetting>,
    /// Days a move, in correspondence games.
    pub days_per_turn: Option<u32>,
    /// The arena it belongs to.
    pub tournament: Option<String>,
    pub state: GameState,
}

impl GameFull {
    /// The player of one side.
    pub fn player(&self, side: Side) -> &Player {
        match side {
            Side::White => &self.white,
            Side::Black => &self.black,
        }
    }

    /// Whether the game begins from the usual position.
    pub fn starts_as_usual(&self) -> bool {
        matches!(self.initial_fen.as_deref(), None | Some("startpos"))
    }
}

impl FromObject for GameFull {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        let id: Option<String> = object.optional("id");
        Ok(Self {
            id: id.map(GameId::new),
            variant: variant(object),
            speed: object.word("speed").unwrap_or(Speed::Unknown),
            rated: object.flag("rated"),
            created_at: object.count("createdAt").map(from_epoch_ms),
            white: object.nested("white").unwrap_or_default(),
            black: object.nested("black").unwrap_or_default(),
            initial_fen: object.optional("initialFen"),
            clock: object.nested("clock"),
            days_per_turn: object.small("daysPerTurn"),
            tournament: object.optional("tournamentId"),
            state: object.required_nested("state")?,
        })
    }
}

/// The clock a game is played with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSetting {
    /// Time at the start.
    pub initial: Duration,
    /// Time added after each move.
    pub increment: Duration,
}

impl FromObject for ClockSetting {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        let initial: u64 = object.required("initial")?;
        let increment: u64 = object.required("increment")?;
        Ok(Self {
            initial: Duration::from_millis(initial),
            increment: Duration::from_millis(increment),
        })
    }
}

/// A game as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameState {
    /// All moves from the start, in UCI with single spaces, castling as king takes rook.
    pub moves: String,
    /// Remaining time when the line was written; none when unlimited or untold.
    pub time: BySide<Option<Duration>>,
    /// Time added after each move.
    pub increment: BySide<Duration>,
    /// Where the game stands.
    pub status: Status,
    pub winner: Option<Side>,
    /// Who offers a draw. Not exact truth about one's own offer.
    pub draw_offer: BySide<bool>,
    /// Who proposes to take back.
    pub takeback: BySide<bool>,
    /// How long the first move may still take, where that is limited.
    pub expiration: Option<Expiration>,
    /// The game that follows as a rematch.
    pub rematch: Option<GameId>,
}

impl GameState {
    /// The moves one by one; nothing at all before the first.
    pub fn move_list(&self) -> impl Iterator<Item = &str> {
        self.moves.split_ascii_whitespace()
    }

    /// How many moves have been made.
    pub fn ply(&self) -> usize {
        self.move_list().count()
    }

    /// The remaining time of one side.
    pub fn time(&self, side: Side) -> Option<Duration> {
        *self.time.of(side)
    }

    /// The increment of one side.
    pub fn increment(&self, side: Side) -> Duration {
        *self.increment.of(side)
    }

    /// Whether one side offers a draw.
    pub fn offers_draw(&self, side: Side) -> bool {
        *self.draw_offer.of(side)
    }

    /// Whether one side proposes to take back.
    pub fn proposes_takeback(&self, side: Side) -> bool {
        *self.takeback.of(side)
    }
}

impl FromObject for GameState {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        let rematch: Option<String> = object.optional("rematch");
        let increment = |key| Duration::from_millis(object.count(key).unwrap_or(0));
        Ok(Self {
            moves: object.required("moves")?,
            time: BySide {
                white: remaining(object, "wtime"),
                black: remaining(object, "btime"),
            },
            increment: BySide {
                white: increment("winc"),
                black: increment("binc"),
            },
            status: status(object).unwrap_or(Status::Started),
            winner: object.optional("winner"),
            draw_offer: BySide {
                white: object.flag("wdraw"),
                black: object.flag("bdraw"),
            },
            takeback: BySide {
                white: object.flag("wtakeback"),
                black: object.flag("btakeback"),
            },
            expiration: object.nested("expiration"),
            rematch: rematch.map(GameId::new),
        })
    }
}

fn remaining(object: &Object<'_>, key: &str) -> Option<Duration> {
    let ms = object.count(key)?;
    (ms < UNLIMITED_MS).then(|| Duration::from_millis(ms))
}

/// The time limit of a first move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiration {
    /// Time already gone by.
    pub idle: Duration,
    pub to_move: Duration,
}

impl Expiration {
    /// What is left, counted from the arrival of the line.
    pub fn left(&self) -> Duration {
        self.to_move.saturating_sub(self.idle)
    }
}

impl FromObject for Expiration {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        let to_move: i64 = object.required("millisToMove")?;
        Ok(Self {
            idle: Duration::from_millis(object.count("idleMillis").unwrap_or(0)),
            to_move: Duration::from_millis(u64::try_from(to_move).unwrap_or(0)),
        })
    }
}

/// A line of chat. Foreign text: never to a shell, a format string or a log unescaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatLine {
    /// Which room it was said in.
    pub room: Room,
    /// Who said it; `lichess` for the server's own notes.
    pub username: String,
    pub text: String,
}

impl FromObject for ChatLine {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        let username: Option<String> = object
            .optional("username")
            .or_else(|| object.optional("user"));
        Ok(Self {
            room: object.word("room").unwrap_or(Room::Player),
            username: username.unwrap_or_default(),
            text: object.required("text")?,
        })
    }
}

/// Whether the opponent is there. Void after some twelve seconds without a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpponentGone {
    /// Away, or back again.
    pub gone: bool,
    /// When the game may be claimed; zero means now.
    pub claim_win_in: Option<Duration>,
}

impl FromObject for OpponentGone {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        Ok(Self {
            gone: object.required("gone")?,
            claim_win_in: object.count("claimWinInSeconds").map(Duration::from_secs),
        })
    }
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
