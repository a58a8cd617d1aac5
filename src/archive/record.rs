//! The records: games with their moves, challenges, events.
//!
//! Plain data, written as JSON and as rows. Moments are milliseconds since 1970, UTC; durations are
//! milliseconds too.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::engine::Score;
use crate::lichess::{Side, Speed, Status};

/// Milliseconds: a moment since 1970, or a duration.
pub type Millis = u64;

/// A game, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameRecord {
    /// The server's id of the game.
    pub id: String,
    /// The player of the white pieces.
    pub white: PlayerRecord,
    /// The player of the black pieces.
    pub black: PlayerRecord,
    /// Our side; `None` in games of others.
    pub us: Option<Side>,
    pub rated: bool,
    pub speed: Speed,
    pub control: TimeControlRecord,
    /// The start position, if not the usual one.
    pub initial_fen: Option<String>,
    /// When the server created the game.
    pub created: Option<Millis>,
    /// When the bot first saw it.
    pub joined: Millis,
    pub origin: Origin,
    /// The arena it belongs to.
    pub tournament: Option<String>,
    /// The program that played for us, with its version.
    pub program: Option<String>,
    pub moves: Vec<MoveRecord>,
    /// `None` while the game is running.
    pub ending: Option<EndingRecord>,
}

impl GameRecord {
    /// The player of one side.
    pub fn player(&self, side: Side) -> &PlayerRecord {
        match side {
            Side::White => &self.white,
            Side::Black => &self.black,
        }
    }

    /// The side to move after the last known move.
    pub fn to_move(&self) -> Side {
        let fen = self.initial_fen.as_deref().unwrap_or_default();
        let black_began = fen.split(' ').nth(1) == Some("b");
        if (self.moves.len() % 2 == 1) == black_began {
            Side::White
        } else {
            Side::Black
        }
    }

    /// The player of one side, mutable.
    pub fn player_mut(&mut self, side: Side) -> &mut PlayerRecord {
        match side {
            Side::White => &mut self.white,
            Side::Black => &mut self.black,
        }
    }

    /// The other side of a game of ours.
    pub fn opponent(&self) -> Option<&PlayerRecord> {
        self.us.map(|us| self.player(us.other()))
    }

    /// The start of the game, as well as it is known.
    pub fn began(&self) -> Millis {
        self.created.unwrap_or(self.joined)
    }

    /// The result for one side; `None` while the game is running and if it was aborted.
    pub fn outcome(&self, side: Side) -> Option<Outcome> {
        let ending = self.ending.as_ref()?;
        match ending.winner {
            Some(winner) if winner == side => Some(Outcome::Win),
            Some(_) => Some(Outcome::Loss),
            None if ending.is_played() => Some(Outcome::Draw),
            None => None,
        }
    }

    /// The result for us.
    pub fn our_outcome(&self) -> Option<Outcome> {
        self.outcome(self.us?)
    }

    /// The result in PGN; `*` if there is none.
    pub fn result(&self) -> &'static str {
        match self.outcome(Side::White) {
            Some(Outcome::Win) => "1-0",
            Some(Outcome::Draw) => "1/2-1/2",
            Some(Outcome::Loss) => "0-1",
            None => "*",
        }
    }

    /// The first moves in UCI, separated by blanks.
    pub fn opening(&self, plies: usize) -> String {
        let moves = self.moves.iter().take(plies);
        let moves: Vec<&str> = moves.map(|made| made.uci.as_str()).collect();
        moves.join(" ")
    }

    /// The side that makes the move after `ply` others.
    pub fn mover(ply: usize) -> Side {
        if ply.is_multiple_of(2) {
            Side::White
        } else {
            Side::Black
        }
    }
}

/// A player of a game.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayerRecord {
    /// The account in lower case; `None` for anonymous players and the server's engine.
    pub id: Option<String>,
    /// The name as displayed.
    pub name: String,
    /// `"BOT"`, `"GM"` and so on.
    pub title: Option<String>,
    /// The rating at the start of the game.
    pub rating: Option<i32>,
    /// Whether that rating was provisional.
    pub provisional: bool,
    /// The change of the rating by the game.
    pub rating_diff: Option<i32>,
}

impl PlayerRecord {
    /// The id, or the name in lower case if there is none.
    pub fn key(&self) -> String {
        let id = self.id.clone();
        id.unwrap_or_else(|| self.name.to_lowercase())
    }

    pub fn is_bot(&self) -> bool {
        self.title.as_deref() == Some("BOT")
    }
}

/// The time control of a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeControlRecord {
    /// A clock for the whole game.
    Clock {
        /// The initial time.
        initial: Millis,
        /// The time added after each move.
        increment: Millis,
    },
    /// Days for each move.
    Days(u32),
    Unlimited,
    #[default]
    Unknown,
}

impl TimeControlRecord {
    /// Whether a clock runs, as far as known.
    pub const fn has_clock(self) -> bool {
        !matches!(self, Self::Days(_) | Self::Unlimited)
    }
}

impl fmt::Display for TimeControlRecord {
    /// `3+2`, `1/2+0`, `2 days`, `unlimited`; `?` if unknown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock { initial, increment } => {
                match initial / 1000 {
                    15 => f.write_str("1/4"),
                    30 => f.write_str("1/2"),
                    45 => f.write_str("3/4"),
                    seconds if seconds % 60 == 0 => write!(f, "{}", seconds / 60),
                    seconds => write!(f, "{}", seconds as f64 / 60.0),
                }?;
                write!(f, "+{}", increment / 1000)
            }
            Self::Days(1) => f.write_str("1 day"),
            Self::Days(days) => write!(f, "{days} days"),
            Self::Unlimited => f.write_str("unlimited"),
            Self::Unknown => f.write_str("?"),
        }
    }
}

/// How a game came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Origin {
    Incoming,
    Outgoing,
    /// An arena paired us.
    Arena,
    /// Read from a file.
    Imported,
    #[default]
    Unknown,
}

/// The result for one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Outcome {
    Win,
    Draw,
    Loss,
}

impl Outcome {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResultCounts {
    /// Games with a result.
    pub games: u64,
    pub wins: u64,
    pub draws: u64,
    pub losses: u64,
    /// Sum of our rating changes.
    pub diff: i64,
}

impl ResultCounts {
    /// The score in percent: a win counts one, a draw a half.
    pub fn percent(&self) -> f64 {
        if self.games == 0 {
            return 0.0;
        }
        (self.wins as f64 + self.draws as f64 / 2.0) * 100.0 / self.games as f64
    }

    pub(super) fn add(&mut self, outcome: Outcome, diff: i64) {
        self.games += 1;
        self.diff += diff;
        match outcome {
            Outcome::Win => self.wins += 1,
            Outcome::Draw => self.draws += 1,
            Outcome::Loss => self.losses += 1,
        }
    }
}

/// A move of a game.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MoveRecord {
    /// The move in UCI.
    pub uci: String,
    /// The move in SAN, if worked out.
    pub san: Option<String>,
    /// When the bot saw it.
    pub at: Option<Millis>,
    /// The mover's clock after the move.
    pub clock: Option<Millis>,
    /// The time that the server took off the mover's clock.
    pub spent: Option<Millis>,
    /// The score of the search, from the mover's view.
    pub score: Option<Score>,
    /// The last completed iteration.
    pub depth: Option<u32>,
    /// The deepest ply reached.
    pub seldepth: Option<u32>,
    pub nodes: Option<u64>,
    /// Duration of the search.
    pub time: Option<Millis>,
    pub source: Source,
    /// Time spent on the clock besides thinking: the way to the server and back.
    pub lag: Option<Millis>,
    /// The start of the expected line in UCI, separated by blanks, this move first.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub line: String,
}

impl MoveRecord {
    /// A move without any details.
    pub fn bare(uci: impl Into<String>) -> Self {
        Self {
            uci: uci.into(),
            ..Self::default()
        }
    }

    /// The score from White's view, if the move is the one after `ply` others.
    pub fn white_score(&self, ply: usize) -> Option<Score> {
        Some(self.score?.for_white(GameRecord::mover(ply)))
    }

    /// Whether the engine told more than the move itself.
    pub fn is_annotated(&self) -> bool {
        self.score.is_some() || self.source != Source::Unknown
    }
}

/// Where a move came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Source {
    Book,
    /// Endgame tablebases.
    Table,
    Engine,
    /// No other move was legal, or left.
    #[strum(serialize = "only move")]
    OnlyMove,
    /// The search had no answer: a move that does no harm at once.
    Safe,
    /// The opponent made it, or the source is unknown.
    #[default]
    Unknown,
}

impl Source {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What a record of both sides needs of a score; the engine knows only the side to move.
impl Score {
    /// The score from the other side's view.
    #[must_use]
    pub const fn turned(self) -> Self {
        match self {
            Self::Cp(cp) => Self::Cp(cp.saturating_neg()),
            Self::Mate(moves) => Self::Mate(moves.saturating_neg()),
        }
    }

    /// A score from the view of `side`, from White's; the same again turns it back.
    #[must_use]
    pub const fn for_white(self, side: Side) -> Self {
        match side {
            Side::White => self,
            Side::Black => self.turned(),
        }
    }

    /// As people read it, in pawns: `+0.35`, `#-2`.
    pub fn in_pawns(self) -> String {
        match self {
            Self::Cp(cp) => format!("{:+.2}", f64::from(cp) / 100.0),
            Self::Mate(moves) => format!("#{moves}"),
        }
    }
}

/// The end of a game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndingRecord {
    /// `Unknown` if the bot did not see the end.
    pub status: Status,
    pub winner: Option<Side>,
    pub at: Millis,
}

impl EndingRecord {
    /// Whether the game was played to a result.
    pub const fn is_played(&self) -> bool {
        self.status.has_result(self.winner)
    }

    /// Whether it says how the game ended.
    pub const fn is_known(&self) -> bool {
        self.winner.is_some() || !matches!(self.status, Status::Unknown | Status::UnknownFinish)
    }
}

/// A challenge, to us or from us.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChallengeRecord {
    /// The server's id of the challenge.
    pub id: String,
    /// When the bot first saw it.
    pub at: Millis,
    pub direction: Direction,
    pub user: PlayerRecord,
    pub rated: bool,
    /// The variant, mostly `atomic`.
    pub variant: String,
    pub speed: Speed,
    pub control: TimeControlRecord,
    /// Our side, if already decided.
    pub color: Option<Side>,
    pub verdict: ChallengeVerdict,
    /// The reason sent to the challenger, if declined.
    pub reason: Option<String>,
    pub rule: Option<String>,
    /// The finding of that rule, for the operator.
    pub why: Option<String>,
    /// When the verdict was reached.
    pub settled: Option<Millis>,
    /// The server's JSON, to judge it again. Lists leave it in the file.
    #[serde(skip)]
    pub json: Option<Arc<str>>,
}

/// The direction of a challenge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Direction {
    #[default]
    In,
    Out,
}

/// The state of a challenge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum ChallengeVerdict {
    /// Waits for a slot, or for the other side.
    #[default]
    Waiting,
    /// Accepted; a game follows.
    Accepted,
    Declined,
    /// The challenger withdrew it, or it lapsed.
    Canceled,
    /// The server refused it.
    Failed,
}

impl ChallengeVerdict {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// An event that an operator may want to look up later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRecord {
    pub at: Millis,
    /// One word, such as `offline`, `alert`, `limited`, `operator`.
    pub kind: String,
    pub text: String,
    /// The game concerned.
    pub game: Option<String>,
}

/// A piece of the raw traffic of a game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireRecord {
    pub game: String,
    pub at: Millis,
    /// `open`, `in`, `lost`, `event`, `out` or `answer`, as the API client has them.
    pub kind: String,
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_seen_from_every_side() {
        let mut game = GameRecord {
            us: Some(Side::Black),
            ..GameRecord::default()
        };
        assert_eq!((game.result(), game.our_outcome()), ("*", None));
        let ended = |status, winner| EndingRecord {
            status,
            winner,
            at: 5,
        };
        game.ending = Some(ended(Status::VariantEnd, Some(Side::White)));
        assert_eq!(game.result(), "1-0");
        assert_eq!(game.our_outcome(), Some(Outcome::Loss));
        game.ending = Some(ended(Status::Draw, None));
        assert_eq!(game.result(), "1/2-1/2");
        for void in [Status::Aborted, Status::NoStart, Status::UnknownFinish] {
            game.ending = Some(ended(void, None));
            assert_eq!((game.result(), game.our_outcome()), ("*", None));
        }
    }

    #[test]
    fn a_score_turns_with_the_board() {
        let mated = MoveRecord {
            score: Some(Score::Mate(-3)),
            ..MoveRecord::bare("e7e5")
        };
        assert_eq!(mated.white_score(1), Some(Score::Mate(3)));
        assert_eq!(mated.white_score(0), Some(Score::Mate(-3)));
        assert_eq!(Score::Cp(-35).in_pawns(), "-0.35");
        assert_eq!(Score::Mate(-2).in_pawns(), "#-2");
        assert!(Score::Mate(1).centipawns() > Score::Mate(9).centipawns());
        assert!(Score::Mate(-1).centipawns() < Score::Mate(-9).centipawns());
        assert!(Score::Mate(0).centipawns() < Score::Mate(-1).centipawns());
    }

    #[test]
    fn scores_on_disk_keep_their_words() {
        let scores = [Score::Cp(-35), Score::Mate(-2), Score::Mate(0)];
        let words = r#"[{"cp":-35},{"mate":-2},{"mate":0}]"#;
        assert_eq!(serde_json::to_string(&scores).unwrap(), words);
        assert_eq!(serde_json::from_str::<Vec<Score>>(words).unwrap(), scores);
    }

    #[test]
    fn a_time_control_is_shown_as_players_name_it() {
        let clock = |initial: u64, increment: u64| TimeControlRecord::Clock {
            initial: initial * 1000,
            increment: increment * 1000,
        };
        let shown = [
            clock(180, 2),
            clock(30, 0),
            clock(90, 1),
            TimeControlRecord::Days(2),
        ];
        assert_eq!(
            shown.map(|control| control.to_string()),
            ["3+2", "1/2+0", "1.5+1", "2 days"]
        );
    }

    #[test]
    fn a_record_goes_through_json_and_comes_back() {
        let game = GameRecord {
            id: "abcdefgh".to_owned(),
            us: Some(Side::White),
            speed: Speed::Blitz,
            control: TimeControlRecord::Clock {
                initial: 180_000,
                increment: 2000,
            },
            moves: vec![
                MoveRecord {
                    score: Some(Score::Cp(12)),
                    source: Source::OnlyMove,
                    ..MoveRecord::bare("e2e4")
                },
                MoveRecord::bare("e7e5"),
            ],
            ending: Some(EndingRecord {
                status: Status::OutOfTime,
                winner: Some(Side::Black),
                at: 9,
            }),
            ..GameRecord::default()
        };
        let json = serde_json::to_string(&game).unwrap();
        assert_eq!(serde_json::from_str::<GameRecord>(&json).unwrap(), game);
    }
}
