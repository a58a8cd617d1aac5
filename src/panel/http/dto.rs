//! Games and challenges as the pages are told them. Pure: records in, plain data out.

use serde::Serialize;

use super::replay::{Replay, ReplayStep};
use crate::archive::{
    ChallengeRecord, GameRecord, Millis, MoveRecord, Origin, Outcome, PlayerRecord, ReviewRecord,
    ScoreRecord, Source, TimeControlRecord,
};
use crate::bot::{Clocks, LiveGame, SearchInfo};
use crate::lichess::Side;

/// Plies at which no clock runs yet.
const FIRST_PLIES: usize = 2;

#[derive(Clone, Debug, Serialize)]
pub(super) struct PlayerDto {
    id: Option<String>,
    name: String,
    title: Option<String>,
    rating: Option<i32>,
    provisional: bool,
    diff: Option<i32>,
}

impl From<&PlayerRecord> for PlayerDto {
    fn from(player: &PlayerRecord) -> Self {
        Self {
            id: player.id.clone(),
            name: player.name.clone(),
            title: player.title.clone(),
            rating: player.rating,
            provisional: player.provisional,
            diff: player.rating_diff,
        }
    }
}

/// What a game is, whatever stands on its board.
#[derive(Clone, Debug, Serialize)]
pub(super) struct GameSummary {
    pub(super) id: String,
    white: PlayerDto,
    black: PlayerDto,
    us: Option<&'static str>,
    rated: bool,
    speed: &'static str,
    time: String,
    /// Milliseconds on each clock at the start.
    initial: Option<Millis>,
    pub(super) began: Millis,
    origin: Origin,
    program: Option<String>,
    pub(super) ending: Option<EndingDto>,
    /// How it ended for us; nothing for a game without a result.
    outcome: Option<Outcome>,
    plies: usize,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct EndingDto {
    status: &'static str,
    winner: Option<&'static str>,
    pub(super) at: Millis,
}

impl GameSummary {
    pub(super) fn of(record: &GameRecord) -> Self {
        Self::with_plies(record, record.moves.len())
    }

    /// Of a record without its moves.
    pub(super) fn with_plies(record: &GameRecord, plies: usize) -> Self {
        let initial = match record.control {
            TimeControlRecord::Clock { initial, .. } => Some(initial),
            _ => None,
        };
        Self {
            id: record.id.clone(),
            white: (&record.white).into(),
            black: (&record.black).into(),
            us: record.us.map(Side::as_str),
            rated: record.rated,
            speed: record.speed.as_str(),
            time: record.control.to_string(),
            initial,
            began: record.began(),
            origin: record.origin,
            program: record.program.clone(),
            ending: record.ending.as_ref().map(|ending| EndingDto {
                status: ending.status.as_str(),
                winner: ending.winner.map(Side::as_str),
                at: ending.at,
            }),
            outcome: record.our_outcome(),
            plies,
        }
    }
}

/// The clocks as stated, and whose runs since.
#[derive(Clone, Copy, Debug, Serialize)]
struct ClocksDto {
    white: Option<Millis>,
    black: Option<Millis>,
    running: Option<&'static str>,
    at: Millis,
    initial: Option<Millis>,
}

impl ClocksDto {
    fn of(record: &GameRecord, clocks: Clocks) -> Self {
        let initial = match record.control {
            TimeControlRecord::Clock { initial, .. } => Some(initial),
            _ => None,
        };
        let runs = record.ending.is_none() && record.moves.len() >= FIRST_PLIES;
        let turn = GameRecord::mover(record.moves.len());
        Self {
            white: clocks.white,
            black: clocks.black,
            running: runs.then(|| turn.as_str()),
            at: clocks.stated,
            initial,
        }
    }
}

/// What the engine thinks, or thought of our last move.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct SearchResultDto {
    /// As White sees it.
    score: Option<ScoreRecord>,
    depth: Option<u32>,
    seldepth: Option<u32>,
    nodes: Option<u64>,
    nps: Option<u64>,
    time: Option<Millis>,
    source: Option<&'static str>,
    lag: Option<Millis>,
    line: Vec<String>,
    /// Whether the search is under way.
    live: bool,
    pondering: bool,
}

impl SearchResultDto {
    fn of(record: &GameRecord, thinking: Option<&SearchInfo>, replay: &Replay) -> Option<Self> {
        let us = record.us?;
        let made = record.moves.iter().take(replay.shown.len()).enumerate();
        let ours = made.filter(|(ply, _)| GameRecord::mover(*ply) == us);
        let last = ours.clone().rfind(|(_, made)| made.is_annotated());
        // The way to the server is learned with the next state: the latest that is known counts.
        let lag = ours.filter_map(|(_, made)| made.lag).next_back();
        if let Some(thinking) = thinking {
            return Some(Self {
                score: Some(by_white(thinking.score, us)),
                depth: Some(thinking.depth),
                seldepth: Some(thinking.seldepth),
                nodes: Some(thinking.nodes),
                nps: Some(thinking.nps),
                time: Some(thinking.time),
                source: Some(if thinking.pondering {
                    "pondering"
                } else {
                    "thinking"
                }),
                lag,
                line: thinking.san.clone(),
                live: true,
                pondering: thinking.pondering,
            });
        }
        let (ply, made) = last?;
        Some(Self {
            score: made.white_score(ply),
            depth: made.depth,
            seldepth: made.seldepth,
            nodes: made.nodes,
            nps: nps(made),
            time: made.time,
            source: source(made),
            lag,
            line: replay.lines[ply].clone(),
            live: false,
            pondering: false,
        })
    }
}

fn by_white(score: ScoreRecord, us: Side) -> ScoreRecord {
    match us {
        Side::White => score,
        Side::Black => score.turned(),
    }
}

fn nps(made: &MoveRecord) -> Option<u64> {
    let time = made.time.filter(|time| *time > 0)?;
    Some(made.nodes? * 1000 / time)
}

fn source(made: &MoveRecord) -> Option<&'static str> {
    (made.source != Source::Unknown).then(|| made.source.as_str())
}

/// A running game on the live page.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LiveGameDto {
    #[serde(flatten)]
    head: GameSummary,
    fen: String,
    ply: usize,
    turn: &'static str,
    san: Option<String>,
    last: Vec<String>,
    blast: Vec<String>,
    check: Option<String>,
    clocks: ClocksDto,
    /// Plies and the scores after them, as White sees them.
    scores: Vec<(usize, ScoreRecord)>,
    pub(super) thought: Option<SearchResultDto>,
}

impl LiveGameDto {
    pub(super) fn of(live: &LiveGame, replay: &Replay) -> Self {
        let record = &*live.record;
        let last = replay.shown.last();
        let scores = record.moves.iter().enumerate();
        let scores = scores.filter_map(|(ply, made)| Some((ply + 1, made.white_score(ply)?)));
        Self {
            head: GameSummary::of(record),
            fen: replay.position.fen(),
            ply: replay.shown.len(),
            turn: GameRecord::mover(replay.shown.len()).as_str(),
            san: last.map(|shown| shown.san.clone()),
            last: last.map_or_else(Vec::new, |shown| ends(&shown.uci)),
            blast: last.map_or_else(Vec::new, |shown| shown.blast.clone()),
            check: last.and_then(|shown| shown.check.clone()),
            clocks: ClocksDto::of(record, live.clocks),
            scores: scores.collect(),
            thought: SearchResultDto::of(record, live.thinking.as_ref(), replay),
        }
    }
}

fn ends(uci: &str) -> Vec<String> {
    let part = |from: usize, to: usize| uci.get(from..to).map(ToOwned::to_owned);
    [part(0, 2), part(2, 4)].into_iter().flatten().collect()
}

/// One move of a whole game.
#[derive(Clone, Debug, Serialize)]
struct MoveDto {
    #[serde(flatten)]
    shown: ReplayStep,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<Millis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spent: Option<Millis>,
    /// As White sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<ScoreRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seldepth: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<Millis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lag: Option<Millis>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    line: Vec<String>,
}

/// What a second look at the game found.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ReviewDto {
    /// The move that cost the point, counted from 1.
    ply: Option<usize>,
    text: String,
    /// What would have followed the better move.
    line: Vec<String>,
    /// What follows the move that was played.
    refutation: Vec<String>,
}

impl From<&ReviewRecord> for ReviewDto {
    fn from(review: &ReviewRecord) -> Self {
        let mistake = review.mistake.as_ref();
        Self {
            ply: mistake.map(|mistake| mistake.ply + 1),
            text: review.describe(),
            line: mistake.map_or_else(Vec::new, |mistake| mistake.line.clone()),
            refutation: mistake.map_or_else(Vec::new, |mistake| mistake.refutation.clone()),
        }
    }
}

/// A game with all its moves.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FullGame {
    #[serde(flatten)]
    head: GameSummary,
    /// The server's clock when this was said.
    now: Millis,
    url: String,
    start: String,
    turn: &'static str,
    moves: Vec<MoveDto>,
    clocks: Option<ClocksDto>,
    thought: Option<SearchResultDto>,
    review: Option<ReviewDto>,
}

impl FullGame {
    /// A game that runs, or that is over: then there are no clocks. `replay` is it played again.
    pub(super) fn of(
        record: &GameRecord,
        replay: &Replay,
        live: Option<&LiveGame>,
        review: Option<ReviewDto>,
        server: &str,
        now: Millis,
    ) -> Self {
        let thinking = live.and_then(|live| live.thinking.as_ref());
        let thought = SearchResultDto::of(record, thinking, replay);
        let moves = replay.shown.iter().cloned().zip(replay.lines.clone());
        let moves = moves.zip(&record.moves).enumerate();
        let moves = moves.map(|(ply, ((shown, line), made))| MoveDto {
            shown,
            clock: made.clock,
            spent: made.spent,
            score: made.white_score(ply),
            depth: made.depth,
            seldepth: made.seldepth,
            nodes: made.nodes,
            time: made.time,
            source: source(made),
            lag: made.lag,
            line,
        });
        let moves: Vec<MoveDto> = moves.collect();
        Self {
            head: GameSummary::of(record),
            now,
            url: format!("{}/{}", server.trim_end_matches('/'), record.id),
            start: replay.start.fen(),
            turn: GameRecord::mover(moves.len()).as_str(),
            moves,
            clocks: live.map(|live| ClocksDto::of(record, live.clocks)),
            thought,
            review,
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct ChallengeDto {
    id: String,
    at: Millis,
    direction: crate::archive::Direction,
    user: PlayerDto,
    rated: bool,
    variant: String,
    time: String,
    verdict: &'static str,
    reason: Option<String>,
    rule: Option<String>,
    why: Option<String>,
}

impl From<&ChallengeRecord> for ChallengeDto {
    fn from(record: &ChallengeRecord) -> Self {
        Self {
            id: record.id.clone(),
            at: record.at,
            direction: record.direction,
            user: (&record.user).into(),
            rated: record.rated,
            variant: record.variant.clone(),
            time: record.control.to_string(),
            verdict: record.verdict.as_str(),
            reason: record.reason.clone(),
            rule: record.rule.clone(),
            why: record.why.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::EndingRecord;
    use crate::lichess::Status;

    #[test]
    fn a_page_is_told_how_a_game_ended_for_us() {
        let told = |status, winner| {
            let record = GameRecord {
                us: Some(Side::Black),
                ending: Some(EndingRecord {
                    status,
                    winner,
                    at: 5,
                }),
                ..GameRecord::default()
            };
            serde_json::to_value(GameSummary::of(&record)).unwrap()["outcome"].clone()
        };
        assert_eq!(told(Status::VariantEnd, Some(Side::Black)), "win");
        assert_eq!(told(Status::NoStart, Some(Side::White)), "loss");
        assert_eq!(told(Status::Stalemate, None), "draw");
        for void in [Status::NoStart, Status::UnknownFinish, Status::Unknown] {
            assert!(told(void, None).is_null(), "{void:?}");
        }
    }
}
