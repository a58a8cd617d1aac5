//! Games as the pages get them: the records of the archive, with what a board and a clock need. Pure.

use serde::Serialize;
use serde_with::skip_serializing_none;

use super::replay::{Replay, ReplayStep};
use crate::archive::{
    ChallengeRecord, EndingRecord, GameRecord, Millis, MoveRecord, Origin, Outcome, PlayerRecord,
    ReviewRecord, Source, TimeControlRecord,
};
use crate::bot::{Clocks, LiveGame, SearchInfo};
use crate::engine::Score;
use crate::lichess::{Side, Speed};

/// Plies before the clocks run.
const FIRST_PLIES: usize = 2;

/// A game without its board.
#[derive(Clone, Debug, Serialize)]
pub(super) struct GameSummary {
    pub(super) id: String,
    white: PlayerRecord,
    black: PlayerRecord,
    us: Option<Side>,
    rated: bool,
    speed: Speed,
    time: String,
    /// Milliseconds on each clock at the start.
    initial: Option<Millis>,
    pub(super) began: Millis,
    origin: Origin,
    program: Option<String>,
    pub(super) ending: Option<EndingRecord>,
    /// Our result; `None` for a game without a result.
    outcome: Option<Outcome>,
    plies: usize,
}

impl From<&GameRecord> for GameSummary {
    fn from(record: &GameRecord) -> Self {
        Self {
            id: record.id.clone(),
            white: record.white.clone(),
            black: record.black.clone(),
            us: record.us,
            rated: record.rated,
            speed: record.speed,
            time: record.control.to_string(),
            initial: initial(record),
            began: record.began(),
            origin: record.origin,
            program: record.program.clone(),
            ending: record.ending.clone(),
            outcome: record.our_outcome(),
            plies: record.moves.len(),
        }
    }
}

impl GameSummary {
    /// Of a record without its moves.
    pub(super) fn with_plies(record: &GameRecord, plies: usize) -> Self {
        Self {
            plies,
            ..Self::from(record)
        }
    }
}

fn initial(record: &GameRecord) -> Option<Millis> {
    match record.control {
        TimeControlRecord::Clock { initial, .. } => Some(initial),
        _ => None,
    }
}

/// The clocks as last reported, and the side whose clock runs since.
#[derive(Clone, Copy, Debug, Serialize)]
struct ClocksDto {
    white: Option<Millis>,
    black: Option<Millis>,
    running: Option<Side>,
    at: Millis,
    initial: Option<Millis>,
}

impl ClocksDto {
    fn of(record: &GameRecord, clocks: Clocks) -> Self {
        let plies = record.moves.len();
        let runs = record.ending.is_none() && plies >= FIRST_PLIES;
        Self {
            white: clocks.white,
            black: clocks.black,
            running: runs.then(|| GameRecord::mover(plies)),
            at: clocks.stated,
            initial: initial(record),
        }
    }
}

/// The running search, or the result of the one for our last move.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct SearchResultDto {
    /// From White's view.
    score: Option<Score>,
    depth: Option<u32>,
    seldepth: Option<u32>,
    nodes: Option<u64>,
    nps: Option<u64>,
    time: Option<Millis>,
    source: Option<&'static str>,
    lag: Option<Millis>,
    line: Vec<String>,
    /// Whether the search is running.
    live: bool,
    pondering: bool,
}

impl SearchResultDto {
    fn of(record: &GameRecord, thinking: Option<&SearchInfo>, replay: &Replay) -> Option<Self> {
        let us = record.us?;
        let made = record.moves.iter().take(replay.steps.len()).enumerate();
        let ours = made.filter(|(ply, _)| GameRecord::mover(*ply) == us);
        let last = ours.clone().rfind(|(_, made)| made.is_annotated());
        // The lag of a move becomes known with the next state, so the latest known one counts.
        let lag = ours.filter_map(|(_, made)| made.lag).next_back();
        if let Some(thinking) = thinking {
            let pondering = thinking.pondering;
            return Some(Self {
                score: Some(thinking.score.for_white(us)),
                depth: Some(thinking.depth),
                seldepth: Some(thinking.seldepth),
                nodes: Some(thinking.nodes),
                nps: Some(thinking.nps),
                time: Some(thinking.time),
                source: Some(if pondering { "pondering" } else { "thinking" }),
                lag,
                line: thinking.san.clone(),
                live: true,
                pondering,
            });
        }
        let (ply, made) = last?;
        let nps = |time| Some(made.nodes? * 1000 / time);
        Some(Self {
            score: made.white_score(ply),
            depth: made.depth,
            seldepth: made.seldepth,
            nodes: made.nodes,
            nps: made.time.filter(|time| *time > 0).and_then(nps),
            time: made.time,
            source: source(made),
            lag,
            line: replay.lines[ply].clone(),
            ..Self::default()
        })
    }
}

fn source(made: &MoveRecord) -> Option<&'static str> {
    (made.source != Source::Unknown).then(|| made.source.as_str())
}

/// A running game on the live page.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LiveGameDto {
    #[serde(flatten)]
    summary: GameSummary,
    fen: String,
    ply: usize,
    turn: Side,
    san: Option<String>,
    last: Vec<String>,
    blast: Vec<String>,
    check: Option<String>,
    clocks: ClocksDto,
    /// Plies and the scores after them, from White's view.
    scores: Vec<(usize, Score)>,
    pub(super) thought: Option<SearchResultDto>,
}

impl LiveGameDto {
    pub(super) fn of(live: &LiveGame, replay: &Replay) -> Self {
        let record = &*live.record;
        let ply = replay.steps.len();
        let last = replay.steps.last();
        let scores = record.moves.iter().enumerate();
        let scores = scores.filter_map(|(ply, made)| Some((ply + 1, made.white_score(ply)?)));
        Self {
            summary: record.into(),
            fen: replay.position.fen(),
            ply,
            turn: GameRecord::mover(ply),
            san: last.map(|step| step.san.clone()),
            last: last.map_or_else(Vec::new, |step| squares(&step.uci)),
            blast: last.map_or_else(Vec::new, |step| step.blast.clone()),
            check: last.and_then(|step| step.check.clone()),
            clocks: ClocksDto::of(record, live.clocks),
            scores: scores.collect(),
            thought: SearchResultDto::of(record, live.search.as_ref(), replay),
        }
    }

    /// What spectators may see: an opponent may be among them.
    pub(super) fn without_analysis(&self) -> Self {
        Self {
            scores: Vec::new(),
            thought: None,
            ..self.clone()
        }
    }
}

/// The squares of a move.
fn squares(uci: &str) -> Vec<String> {
    let squares = [uci.get(0..2), uci.get(2..4)].into_iter().flatten();
    squares.map(ToOwned::to_owned).collect()
}

#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize)]
struct MoveDto {
    #[serde(flatten)]
    step: ReplayStep,
    clock: Option<Millis>,
    spent: Option<Millis>,
    /// From White's view.
    score: Option<Score>,
    depth: Option<u32>,
    seldepth: Option<u32>,
    nodes: Option<u64>,
    time: Option<Millis>,
    source: Option<&'static str>,
    lag: Option<Millis>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    line: Vec<String>,
}

/// The result of the blunder search.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ReviewDto {
    /// The losing move, counted from 1.
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
    summary: GameSummary,
    /// The server's clock.
    now: Millis,
    url: String,
    start: String,
    turn: Side,
    /// Whether neither side can win any more.
    insufficient: bool,
    moves: Vec<MoveDto>,
    clocks: Option<ClocksDto>,
    thought: Option<SearchResultDto>,
    pub(super) review: Option<ReviewDto>,
}

impl FullGame {
    /// A running game, or a finished one, which has no clocks. `replay` is its replay.
    pub(super) fn of(
        record: &GameRecord,
        replay: &Replay,
        live: Option<&LiveGame>,
        server: &str,
        now: Millis,
    ) -> Self {
        let thinking = live.and_then(|live| live.search.as_ref());
        let steps = replay.steps.iter().cloned().zip(replay.lines.clone());
        let moves = steps.zip(&record.moves).enumerate();
        let moves = moves.map(|(ply, ((step, line), made))| MoveDto {
            step,
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
        Self {
            summary: record.into(),
            now,
            url: format!("{}/{}", server.trim_end_matches('/'), record.id),
            start: replay.start.fen(),
            turn: GameRecord::mover(replay.steps.len()),
            insufficient: replay.position.insufficient_material(),
            moves: moves.collect(),
            clocks: live.map(|live| ClocksDto::of(record, live.clocks)),
            thought: SearchResultDto::of(record, thinking, replay),
            review: None,
        }
    }

    /// What spectators may see: moves and clocks.
    pub(super) fn without_analysis(&self) -> Self {
        let moves = self.moves.iter().map(|made| MoveDto {
            step: made.step.clone(),
            clock: made.clock,
            spent: made.spent,
            ..MoveDto::default()
        });
        Self {
            moves: moves.collect(),
            thought: None,
            review: None,
            ..self.clone()
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct ChallengeDto<'r> {
    #[serde(flatten)]
    record: &'r ChallengeRecord,
    time: String,
}

impl<'r> From<&'r ChallengeRecord> for ChallengeDto<'r> {
    fn from(record: &'r ChallengeRecord) -> Self {
        Self {
            record,
            time: record.control.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::EndingRecord;
    use crate::lichess::Status;

    #[test]
    fn few_pieces_are_not_always_too_few_to_win() {
        for (fen, insufficient) in [
            ("4k3/8/8/3q4/8/8/3Q4/4K3 w - - 0 60", false),
            ("4k3/8/8/8/8/8/8/4K3 w - - 0 60", true),
        ] {
            let record = GameRecord {
                initial_fen: Some(fen.to_owned()),
                ..GameRecord::default()
            };
            let game = FullGame::of(&record, &Replay::of(&record), None, "", 0);
            assert_eq!(game.insufficient, insufficient, "{fen}");
        }
    }

    #[test]
    fn the_page_shows_the_result_from_our_side() {
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
            serde_json::to_value(GameSummary::from(&record)).unwrap()["outcome"].clone()
        };
        assert_eq!(told(Status::VariantEnd, Some(Side::Black)), "win");
        assert_eq!(told(Status::NoStart, Some(Side::White)), "loss");
        assert_eq!(told(Status::Stalemate, None), "draw");
        for void in [Status::NoStart, Status::UnknownFinish, Status::Unknown] {
            assert!(told(void, None).is_null(), "{void:?}");
        }
    }
}
