//! The lines of a game stream.

use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::practice::game_settings::{Speed, Status};

/// One line of `/api/bot/game/stream/{id}`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(crate) enum GameLine {
    /// The whole game; always the first line.
    GameFull(Box<GameFull>),
    GameState(GameState),
    ChatLine {
        room: &'static str,
        username: String,
        text: String,
    },
    /// The opponent left or came back.
    #[serde(rename_all = "camelCase")]
    OpponentGone {
        gone: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        claim_win_in_seconds: Option<u64>,
    },
}

#[skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GameFull {
    pub(crate) id: String,
    pub(crate) variant: Variant,
    pub(crate) speed: Speed,
    pub(crate) perf: PerfName,
    pub(crate) rated: bool,
    pub(crate) created_at: u64,
    pub(crate) white: PlayerJson,
    pub(crate) black: PlayerJson,
    pub(crate) initial_fen: &'static str,
    pub(crate) clock: Option<ClockJson>,
    pub(crate) days_per_turn: Option<u32>,
    pub(crate) tournament_id: Option<String>,
    pub(crate) state: StateWithType,
}

/// A `gameState` inside a `gameFull` names its type too.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename = "gameState")]
pub(crate) struct StateWithType {
    #[serde(flatten)]
    state: GameState,
}

impl From<GameState> for StateWithType {
    fn from(state: GameState) -> Self {
        Self { state }
    }
}

/// The name of the rating category.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct PerfName {
    pub(crate) name: &'static str,
}

/// Start time and increment in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct ClockJson {
    pub(crate) initial: u64,
    pub(crate) increment: u64,
}

/// One side of a game.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PlayerJson {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) title: Option<&'static str>,
    pub(crate) rating: i32,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) provisional: bool,
}

/// What can change in a game.
#[expect(
    clippy::struct_excessive_bools,
    reason = "four flags, named as on the wire"
)]
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct GameState {
    pub(crate) moves: String,
    pub(crate) wtime: u64,
    pub(crate) btime: u64,
    pub(crate) winc: u64,
    pub(crate) binc: u64,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) wdraw: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) bdraw: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) wtakeback: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) btakeback: bool,
    pub(crate) status: Status,
    pub(crate) winner: Option<&'static str>,
    pub(crate) expiration: Option<Expiration>,
    pub(crate) rematch: Option<String>,
}

/// The time that the pending first move has taken, and the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Expiration {
    pub(crate) idle_millis: u64,
    pub(crate) millis_to_move: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
pub(super) fn is_false(flag: &bool) -> bool {
    !*flag
}

/// A variant of chess. `short` is left out of `gameStart` and `gameFinish`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Variant {
    pub(crate) key: &'static str,
    pub(crate) name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) short: Option<&'static str>,
}

impl Variant {
    pub(crate) const ATOMIC: Self = Self::new("atomic", "Atomic", "Atom");

    const OTHERS: [Self; 8] = [
        Self::new("standard", "Standard", "Std"),
        Self::new("chess960", "Chess960", "960"),
        Self::new("crazyhouse", "Crazyhouse", "Crazy"),
        Self::new("antichess", "Antichess", "Anti"),
        Self::new("horde", "Horde", "Horde"),
        Self::new("kingOfTheHill", "King of the Hill", "KotH"),
        Self::new("racingKings", "Racing Kings", "Racing"),
        Self::new("threeCheck", "Three-check", "3check"),
    ];

    const fn new(key: &'static str, name: &'static str, short: &'static str) -> Self {
        Self {
            key,
            name,
            short: Some(short),
        }
    }

    /// The variant with that key.
    pub(crate) fn of(key: &str) -> Option<Self> {
        std::iter::once(Self::ATOMIC)
            .chain(Self::OTHERS)
            .find(|variant| variant.key == key)
    }

    /// As game events write it.
    pub(crate) fn without_short(self) -> Self {
        Self {
            short: None,
            ..self
        }
    }
}
