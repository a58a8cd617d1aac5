//! How a game's record follows the server's list of moves. Pure.
//!
//! The list is the truth: it grows, skips plies and shrinks. What was known of a move stays with it
//! for as long as the move stands; what an earlier run of the program knew is taken over.

use std::time::Duration;

use super::header::millis;
use crate::archive::{GameRecord, Millis, MoveRecord, Source, TimeControlRecord};
use crate::bot::game::MovePlayed;
use crate::engine::{SearchResult, StopReason};
use crate::lichess::{BySide, GameState, Side};
use crate::rules::{Game, Move};

/// Moves of a line that are kept.
const LINE: usize = 8;
/// Plies at which no clock runs.
const FIRST_PLIES: usize = 2;

/// What is known of a move beside what the table tells.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::bot) struct MoveNote {
    /// How many moves stand on the list by now.
    pub(in crate::bot) ply: usize,
    /// Whether it was seen as it came; otherwise the stream had been away.
    pub(in crate::bot) live: bool,
    /// What it cost beside our thinking.
    pub(in crate::bot) latency: Option<Duration>,
    /// No search had an answer for it.
    pub(in crate::bot) safe: bool,
}

/// Makes the record's moves those of the list. What `known` says of the same moves is taken over.
/// Returns whether anything changed.
pub(super) fn follow(record: &mut GameRecord, game: &Game, known: Option<&GameRecord>) -> bool {
    let moves = game.moves();
    let kept = common(&record.moves, moves);
    if kept == record.moves.len() && kept == moves.len() {
        return false;
    }
    record.moves.truncate(kept);
    let earlier = known.map_or(&[][..], |known| &known.moves);
    let earlier = &earlier[..common(earlier, moves)];
    for (ply, &mv) in moves.iter().enumerate().skip(kept) {
        let known = earlier.get(ply).cloned();
        let mut made = known.unwrap_or_else(|| MoveRecord::bare(mv.to_string()));
        made.san = Some(game.positions()[ply].san(mv));
        record.moves.push(made);
    }
    true
}

/// Whether the record ends as the list does; the rest is not looked at.
pub(super) fn is_level(record: &GameRecord, game: &Game) -> bool {
    let last = record.moves.last().map(|made| made.uci.as_str());
    record.moves.len() == game.ply()
        && last == game.moves().last().map(ToString::to_string).as_deref()
}

/// The plies at which a list and a record begin alike.
fn common(made: &[MoveRecord], moves: &[Move]) -> usize {
    let pairs = made.iter().zip(moves);
    pairs
        .take_while(|(made, mv)| made.uci == mv.to_string())
        .count()
}

/// A move stands, and this is known of it. False if the record is not level with the list before it.
pub(super) fn add(record: &mut GameRecord, moved: &MovePlayed, note: MoveNote, at: Millis) -> bool {
    let ply = moved.ply;
    if record.moves.len() != ply {
        return false;
    }
    let mut made = MoveRecord {
        san: Some(moved.before.san(moved.played)),
        at: Some(at),
        source: source(moved, note),
        lag: note.latency.map(millis),
        ..MoveRecord::bare(moved.played.to_string())
    };
    if let Some(thought) = &moved.thought {
        weigh(&mut made, thought);
    }
    record.moves.push(made);
    if ply + shown_exactly(note.live) >= note.ply {
        let clock = *moved.clocks.of(GameRecord::mover(ply));
        set_clock(record, ply, clock.map(millis), at);
    }
    true
}

/// The clocks that an opening states. That of the side to move runs already.
pub(super) fn clocks(record: &mut GameRecord, state: &GameState, at: Millis) {
    let Some(ply) = record.moves.len().checked_sub(1) else {
        return;
    };
    if record.moves[ply].clock.is_none() {
        let clock = state.time(GameRecord::mover(ply));
        set_clock(record, ply, clock.map(millis), at);
    }
}

/// Of how many of the last moves a list of moves shows the clocks as they were after them.
const fn shown_exactly(live: bool) -> usize {
    if live { 2 } else { 1 }
}

fn set_clock(record: &mut GameRecord, ply: usize, clock: Option<Millis>, at: Millis) {
    record.moves[ply].clock = clock;
    record.moves[ply].spent = match record.control {
        TimeControlRecord::Clock { increment, .. } if ply >= FIRST_PLIES => {
            let before = record.moves[ply - FIRST_PLIES].clock;
            let spent = |(before, after): (Millis, Millis)| {
                before.saturating_add(increment).saturating_sub(after)
            };
            before.zip(clock).map(spent)
        }
        TimeControlRecord::Days(_) | TimeControlRecord::Unlimited if ply > 0 => {
            let before = record.moves[ply - 1].at;
            before.map(|before| at.saturating_sub(before))
        }
        _ => None,
    };
}

fn weigh(made: &mut MoveRecord, thought: &SearchResult) {
    let searched = thought.depth > 0;
    // What tables know at the root needs no search.
    made.score = (searched || thought.by_tables).then(|| thought.score.into());
    made.depth = searched.then_some(thought.depth);
    made.seldepth = searched.then_some(thought.seldepth);
    made.nodes = Some(thought.nodes);
    made.time = Some(millis(thought.time));
    let line = thought.line.iter().take(LINE);
    made.line = line.map(ToString::to_string).collect::<Vec<_>>().join(" ");
}

/// Where a move came from.
fn source(moved: &MovePlayed, note: MoveNote) -> Source {
    if !moved.ours {
        return Source::Unknown;
    }
    match &moved.thought {
        Some(thought) => match thought.ended {
            StopReason::Failed => Source::Safe,
            // Of several legal moves they may leave one.
            _ if thought.by_tables => Source::Table,
            StopReason::OnlyMove => Source::OnlyMove,
            _ => Source::Engine,
        },
        None if note.safe => Source::Safe,
        None if moved.before.legal_moves().len() == 1 => Source::OnlyMove,
        None => Source::Unknown,
    }
}

/// Both clocks, as plain numbers.
pub(super) fn shown(clocks: &BySide<Option<Duration>>) -> (Option<Millis>, Option<Millis>) {
    let of = |side| (*clocks.of(side)).map(millis);
    (of(Side::White), of(Side::Black))
}
