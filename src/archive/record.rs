//! What is kept: games with their moves, challenges, events.
//!
//! Plain data that can be written as JSON and as rows. Moments are milliseconds since 1970, UTC;
//! spans are milliseconds too. Nothing here reads a clock, a file or a board.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::engine::Score;
use crate::lichess::{Side, Speed, Status};

/// Milliseconds: since 1970 for a moment, else of a span.
pub type Millis = u64;

/// A game as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameRecord {
    /// The server's id of it.
    pub id: String,
    /// Who has the white men.
    pub white: PlayerRecord,
    /// Who has the black men.
    pub black: PlayerRecord,
    /// Our colour; none in games of others.
    pub us: Option<Side>,
    /// Whether ratings are at stake.
    pub rated: bool,
    pub speed: Speed,
    pub control: TimeControlRecord,
    /// Where it began, unless at the usual place.
    pub initial_fen: Option<String>,
    /// When the server made it.
    pub created: Option<Millis>,
    /// When we first saw it.
    pub joined: Millis,
    /// How it came about.
    pub origin: Origin,
    /// The arena it belongs to.
    pub tournament: Option<String>,
    /// Which program played for us, with its version.
    pub program: Option<String>,
    /// The moves from the start.
    pub moves: Vec<MoveRecord>,
    /// How it ended; none while it runs.
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

    /// The same, to be changed.
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

    /// When it began, as well as that is known.
    pub fn began(&self) -> Millis {
        self.created.unwrap_or(self.joined)
    }

    /// How it ended for one side; none while it runs, and where no one won or drew.
    pub fn outcome(&self, side: Side) -> Option<Outcome> {
        let ending = self.ending.as_ref()?;
        match ending.winner {
            Some(winner) if winner == side => Some(Outcome::Win),
            Some(_) => Some(Outcome::Loss),
            None if ending.is_played() => Some(Outcome::Draw),
            None => None,
        }
    }

    /// How it ended for us.
    pub fn our_outcome(&self) -> Option<Outcome> {
        self.outcome(self.us?)
    }

    /// The result as a scoresheet has it; `*` where there is none.
    pub fn result(&self) -> &'static str {
        match self.outcome(Side::White) {
            Some(Outcome::Win) => "1-0",
            Some(Outcome::Draw) => "1/2-1/2",
            Some(Outcome::Loss) => "0-1",
            None => "*",
        }
    }

    /// The first moves in UCI, blanks between.
    pub fn opening(&self, plies: usize) -> String {
        let moves = self.moves.iter().take(plies);
        let moves: Vec<&str> = moves.map(|made| made.uci.as_str()).collect();
        moves.join(" ")
    }

    /// Which side makes the move after so many.
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
    /// The account in lower case; none for the nameless and the server's engine.
    pub id: Option<String>,
    /// The name as it is shown.
    pub name: String,
    /// `"BOT"`, `"GM"` and so on.
    pub title: Option<String>,
    /// The rating when the game began.
    pub rating: Option<i32>,
    /// Whether that was provisional.
    pub provisional: bool,
    /// What the game did to it.
    pub rating_diff: Option<i32>,
}

impl PlayerRecord {
    /// The id; where there is none, the name in lower case.
    pub fn key(&self) -> String {
        let id = self.id.clone();
        id.unwrap_or_else(|| self.name.to_lowercase())
    }

    /// Whether this is a bot account.
    pub fn is_bot(&self) -> bool {
        self.title.as_deref() == Some("BOT")
    }
}

/// How time runs in a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeControlRecord {
    /// A clock for the whole game.
    Clock {
        /// Time at the start.
        initial: Millis,
        /// Time added after each move.
        increment: Millis,
    },
    /// Days for each move.
    Days(u32),
    /// No limit at all.
    Unlimited,
    #[default]
    Unknown,
}

impl fmt::Display for TimeControlRecord {
    /// `3+2`, `1/2+0`, `2 days`, `unlimited`; `?` where it is unknown.
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
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    EnumString,
    IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Origin {
    Incoming,
    Outgoing,
    /// An arena paired us.
    Arena,
    /// It was read from a file.
    Imported,
    #[default]
    Unknown,
}

/// How a game ended for a side.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
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

/// A move that was made.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MoveRecord {
    /// The move in UCI.
    pub uci: String,
    /// The move as people write it; left out where no one has worked it out.
    pub san: Option<String>,
    /// When we saw it.
    pub at: Option<Millis>,
    /// What the mover's clock showed after it.
    pub clock: Option<Millis>,
    /// What the server took off the mover's clock for it.
    pub spent: Option<Millis>,
    /// What the search made of it, as the mover sees it.
    pub score: Option<ScoreRecord>,
    /// The last iteration finished.
    pub depth: Option<u32>,
    /// The deepest ply reached.
    pub seldepth: Option<u32>,
    pub nodes: Option<u64>,
    /// How long the search took.
    pub time: Option<Millis>,
    /// Where it came from.
    pub source: Source,
    /// What it cost on the clock beside our thinking: the way to the server and back.
    pub lag: Option<Millis>,
    /// The first moves of the line expected, in UCI, blanks between, the move itself first.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub line: String,
}

impl MoveRecord {
    /// A move of which nothing is known but itself.
    pub fn bare(uci: impl Into<String>) -> Self {
        Self {
            uci: uci.into(),
            ..Self::default()
        }
    }

    /// The score as White sees it, the move being the one after `ply` others.
    pub fn white_score(&self, ply: usize) -> Option<ScoreRecord> {
        let score = self.score?;
        Some(match GameRecord::mover(ply) {
            Side::White => score,
            Side::Black => score.turned(),
        })
    }

    /// Whether more is known than the move itself and the clock.
    pub fn is_annotated(&self) -> bool {
        self.score.is_some() || self.source != Source::Unknown
    }
}

/// Where a move came from.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum Source {
    Book,
    /// Endgame tables, which know the position before it.
    Table,
    Engine,
    /// No other move was legal, or left.
    #[strum(serialize = "only move")]
    OnlyMove,
    /// No search had an answer: a move that does no harm at once.
    Safe,
    /// The opponent made it, or no one knows.
    #[default]
    Unknown,
}

impl Source {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What a position is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScoreRecord {
    /// Hundredths of a pawn.
    Cp(i32),
    /// Decided in so many moves: above zero it is won, otherwise lost.
    Mate(i32),
}

impl ScoreRecord {
    /// The same as the other side sees it.
    #[must_use]
    pub const fn turned(self) -> Self {
        match self {
            Self::Cp(cp) => Self::Cp(-cp),
            Self::Mate(moves) => Self::Mate(-moves),
        }
    }

    /// One number for comparisons and graphs: centipawns, whatever is decided far beyond them.
    pub const fn centipawns(self) -> i32 {
        match self {
            Self::Cp(cp) => cp,
            Self::Mate(moves) if moves > 0 => 32_000 - moves,
            Self::Mate(moves) => -32_000 - moves,
        }
    }
}

impl From<Score> for ScoreRecord {
    fn from(score: Score) -> Self {
        match score {
            Score::Cp(cp) => Self::Cp(cp),
            Score::Mate(moves) => Self::Mate(moves),
        }
    }
}

impl fmt::Display for ScoreRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cp(cp) => write!(f, "{:+.2}", f64::from(*cp) / 100.0),
            Self::Mate(moves) => write!(f, "#{moves}"),
        }
    }
}

/// How a game ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndingRecord {
    /// How; unknown where we lost sight of it.
    pub status: Status,
    pub winner: Option<Side>,
    pub at: Millis,
}

impl EndingRecord {
    /// Whether it was played to a result.
    pub const fn is_played(&self) -> bool {
        self.status.has_result(self.winner)
    }
}

/// A challenge, to us or from us.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChallengeRecord {
    /// The server's id of it.
    pub id: String,
    /// When we first saw it.
    pub at: Millis,
    /// Which way it goes.
    pub direction: Direction,
    pub user: PlayerRecord,
    /// Whether ratings are to be at stake.
    pub rated: bool,
    /// What is to be played; `atomic` mostly.
    pub variant: String,
    pub speed: Speed,
    /// How time is to run.
    pub control: TimeControlRecord,
    /// Our colour, where it is settled.
    pub color: Option<Side>,
    /// What became of it.
    pub verdict: ChallengeVerdict,
    /// What the one who asked was told, where it was declined.
    pub reason: Option<String>,
    pub rule: Option<String>,
    /// What that rule found, for a person.
    pub why: Option<String>,
    /// When that was settled.
    pub settled: Option<Millis>,
}

/// Which way a challenge goes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Direction {
    In,
    Out,
}

/// What became of a challenge.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    EnumString,
    IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ChallengeVerdict {
    /// It waits: for a seat, or for the other end.
    #[default]
    Waiting,
    /// It is taken; a game follows.
    Accepted,
    Declined,
    /// Anyone who made it took it back, or it lapsed.
    Canceled,
    /// The server let nothing come of it.
    Failed,
}

impl ChallengeVerdict {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Something that an operator may want to look up later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRecord {
    pub at: Millis,
    /// One word for its kind, such as `offline`, `alarm`, `limited`, `operator`.
    pub kind: String,
    pub text: String,
    /// The game it was about.
    pub game: Option<String>,
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
            score: Some(ScoreRecord::Mate(-3)),
            ..MoveRecord::bare("e7e5")
        };
        assert_eq!(mated.white_score(1), Some(ScoreRecord::Mate(3)));
        assert_eq!(mated.white_score(0), Some(ScoreRecord::Mate(-3)));
        assert_eq!(ScoreRecord::Cp(-35).to_string(), "-0.35");
        assert_eq!(ScoreRecord::Mate(-2).to_string(), "#-2");
        assert!(ScoreRecord::Mate(1).centipawns() > ScoreRecord::Mate(9).centipawns());
        assert!(ScoreRecord::Mate(-1).centipawns() < ScoreRecord::Mate(-9).centipawns());
        assert!(ScoreRecord::Mate(0).centipawns() < ScoreRecord::Mate(-1).centipawns());
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
                    score: Some(ScoreRecord::Cp(12)),
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
