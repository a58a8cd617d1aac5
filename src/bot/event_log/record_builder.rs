//! Builds a game's record from the server's list of moves, and converts the server's types to records.
//! Pure.
//!
//! The list is authoritative: it grows, skips plies and shrinks. Details of a move stay with it as
//! long as the move stands; details from an earlier run are adopted.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::archive::{
    AT_LEVEL, ChallengeRecord, ChallengeVerdict, Direction, EndingRecord, GameRecord, Millis,
    MoveRecord, Origin, PlayerRecord, Source, TimeControlRecord,
};
use crate::bot::game::{FIRST_PLIES, MovePlayed};
use crate::engine::{SearchResult, StopReason};
use crate::lichess::{
    Challenge, ClockSetting, ColorChoice, ExportedGame, GameFull, GameId, GameState, Player, Side,
    Speed, Status, TimeControl, UserId, Variant,
};
use crate::rules::{Game, Move};

/// Moves of a line to store.
const LINE: usize = 8;

/// Details of a move beyond those in the move event.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::bot) struct MoveNote {
    /// Length of the move list with this move.
    pub(in crate::bot) ply: usize,
    /// Whether the move came live; otherwise the stream had been down.
    pub(in crate::bot) live: bool,
    /// The cost beyond the bot's thinking time.
    pub(in crate::bot) latency: Option<Duration>,
    /// No search had an answer for it.
    pub(in crate::bot) safe: bool,
}

/// Sets the record's moves to those of the list; adopts details that `known` has of the same moves.
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

/// Whether the record has the list's length and last move; compares nothing else.
pub(super) fn is_level(record: &GameRecord, game: &Game) -> bool {
    let last = record.moves.last().map(|made| made.uci.as_str());
    record.moves.len() == game.ply()
        && last == game.moves().last().map(ToString::to_string).as_deref()
}

/// Number of leading plies that a list and a record share.
fn common(made: &[MoveRecord], moves: &[Move]) -> usize {
    let pairs = made.iter().zip(moves);
    pairs
        .take_while(|(made, mv)| made.uci == mv.to_string())
        .count()
}

/// Appends a move with its details. False if the record does not match the list before it.
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
    if let Some(result) = &moved.result {
        set_search_info(&mut made, result);
    }
    record.moves.push(made);
    // For how many of the last moves a list shows the clocks right after them.
    let shown_exactly = if note.live { 2 } else { 1 };
    if ply + shown_exactly >= note.ply {
        let clock = *moved.clocks.of(GameRecord::mover(ply));
        set_clock(record, ply, clock.map(millis), at);
    }
    true
}

/// Sets the clocks of an opened stream. That of the side to move already runs.
pub(super) fn clocks(record: &mut GameRecord, state: &GameState, at: Millis) {
    let Some(ply) = record.moves.len().checked_sub(1) else {
        return;
    };
    if record.moves[ply].clock.is_none() {
        let clock = state.time(GameRecord::mover(ply));
        set_clock(record, ply, clock.map(millis), at);
    }
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

fn set_search_info(made: &mut MoveRecord, result: &SearchResult) {
    let searched = result.depth > 0;
    // A tablebase result at the root needs no search.
    made.score = (searched || result.by_tables).then_some(result.score);
    made.depth = searched.then_some(result.depth);
    made.seldepth = searched.then_some(result.seldepth);
    made.nodes = Some(result.nodes);
    made.time = Some(millis(result.time));
    let line = result.line.iter().take(LINE);
    made.line = line.map(ToString::to_string).collect::<Vec<_>>().join(" ");
}

/// Origin of a move.
fn source(moved: &MovePlayed, note: MoveNote) -> Source {
    if !moved.ours {
        return Source::Unknown;
    }
    match &moved.result {
        Some(result) => match result.ended {
            StopReason::Failed => Source::Safe,
            // The tablebases may leave one of several legal moves.
            _ if result.by_tables => Source::Table,
            StopReason::OnlyMove => Source::OnlyMove,
            StopReason::Book => Source::Book,
            _ => Source::Engine,
        },
        None if note.safe => Source::Safe,
        None if moved.before.legal_moves().len() == 1 => Source::OnlyMove,
        None => Source::Unknown,
    }
}

/// The first line of a game's stream, without its moves.
#[derive(Clone, Debug)]
pub(in crate::bot) struct Header(pub(super) GameRecord);

impl Header {
    /// Converts a game's first line; `None` for other variants.
    pub(in crate::bot) fn of(game: &GameId, full: &GameFull) -> Option<Self> {
        let atomic = matches!(full.variant, Variant::Atomic | Variant::Unknown);
        if !atomic || !full.starts_as_usual() {
            return None;
        }
        Some(Self(GameRecord {
            id: game.to_string(),
            white: player(&full.white),
            black: player(&full.black),
            rated: full.rated,
            speed: full.speed,
            control: control_of(full.clock, full.days_per_turn, full.speed),
            created: full.created_at.map(epoch),
            origin: origin(full.tournament.is_some()),
            tournament: full.tournament.clone(),
            program: Some(concat!("megaton ", env!("CARGO_PKG_VERSION")).to_owned()),
            ..GameRecord::default()
        }))
    }

    /// Of a game that is played below full strength.
    pub(in crate::bot) fn at_level(mut self, level: &str) -> Self {
        if let Some(program) = &mut self.0.program {
            program.push_str(AT_LEVEL);
            program.push_str(level);
        }
        self
    }
}

fn origin(is_arena: bool) -> Origin {
    if is_arena {
        Origin::Arena
    } else {
        Origin::Unknown
    }
}

fn control_of(clock: Option<ClockSetting>, days: Option<u32>, speed: Speed) -> TimeControlRecord {
    match (clock, days) {
        (Some(clock), _) => TimeControlRecord::Clock {
            initial: millis(clock.initial),
            increment: millis(clock.increment),
        },
        (None, Some(days)) => TimeControlRecord::Days(days),
        (None, None) if speed == Speed::Correspondence => TimeControlRecord::Unlimited,
        (None, None) => TimeControlRecord::Unknown,
    }
}

fn player(player: &Player) -> PlayerRecord {
    PlayerRecord {
        id: player.id.as_ref().map(ToString::to_string),
        name: player.display_name(),
        title: player.title.clone(),
        rating: player.rating,
        provisional: player.provisional,
        rating_diff: player.rating_diff,
    }
}

/// A challenge as `me` sees it at this time.
pub(super) fn challenge(challenge: &Challenge, me: &UserId, at: Millis) -> ChallengeRecord {
    let by_us = challenge.challenger.as_ref().and_then(|it| it.id.as_ref()) == Some(me);
    let (direction, other) = if by_us {
        (Direction::Out, &challenge.dest_user)
    } else {
        (Direction::In, &challenge.challenger)
    };
    let theirs = match challenge.color {
        ColorChoice::White => Some(Side::White),
        ColorChoice::Black => Some(Side::Black),
        _ => challenge.final_color,
    };
    ChallengeRecord {
        id: challenge.id.to_string(),
        at,
        direction,
        user: player(&other.clone().unwrap_or_default()),
        rated: challenge.rated,
        variant: challenge.variant.as_str().to_owned(),
        speed: challenge.speed,
        control: control(challenge.time_control),
        color: if by_us {
            theirs
        } else {
            theirs.map(Side::other)
        },
        verdict: ChallengeVerdict::Waiting,
        reason: None,
        rule: None,
        why: None,
        settled: None,
        json: challenge.line.clone(),
    }
}

fn control(control: TimeControl) -> TimeControlRecord {
    match control {
        TimeControl::Clock { limit, increment } => TimeControlRecord::Clock {
            initial: millis(limit),
            increment: millis(increment),
        },
        TimeControl::Correspondence { days } => TimeControlRecord::Days(days),
        TimeControl::Unlimited => TimeControlRecord::Unlimited,
        TimeControl::Unknown => TimeControlRecord::Unknown,
    }
}

/// A game that ended unseen, from its export; `game` is its replay.
pub(super) fn exported(export: &ExportedGame, us: Side, game: &Game, now: Millis) -> GameRecord {
    let created = export.created_at.map(epoch);
    let ended = export.last_move_at.map(epoch).or(created);
    let mut record = GameRecord {
        id: export.id.to_string(),
        white: player(export.players.of(Side::White)),
        black: player(export.players.of(Side::Black)),
        us: Some(us),
        rated: export.rated,
        speed: export.speed,
        control: control_of(export.clock, export.days_per_turn, export.speed),
        initial_fen: export.initial_fen.clone(),
        created,
        joined: created.unwrap_or(now),
        origin: origin(export.arena),
        ending: Some(EndingRecord {
            status: export.status.unwrap_or(Status::Unknown),
            winner: export.winner,
            at: ended.unwrap_or(now).min(now),
        }),
        ..GameRecord::default()
    };
    follow(&mut record, game, None);
    record
}

/// A duration in milliseconds.
pub(in crate::bot) fn millis(time: Duration) -> Millis {
    Millis::try_from(time.as_millis()).unwrap_or(Millis::MAX)
}

/// Milliseconds since the Unix epoch.
pub(in crate::bot) fn epoch(time: SystemTime) -> Millis {
    time.duration_since(UNIX_EPOCH).map_or(0, millis)
}
