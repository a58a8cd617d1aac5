//! Divides the clock: how much time one search may use.
//!
//! Pure arithmetic on durations; nothing overflows. Except for an instant, a search never gets the
//! time held back for the move's way to the server, so the flag does not fall while thinking. The
//! number of other games does not matter here: cores go to the search with the nearest deadline.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use super::move_overhead::{ClockKind, ClockState};
use crate::bot::game::move_overhead::Latency;
use crate::bot::settings::{BotTiming, Settings};
use crate::config;
use crate::engine::{Clock, Limits};

/// Part of the usable time after which the engine must have answered.
const ENGINE_SHARE: f64 = 0.55;
/// Part of the usable time after which the game's own timer sends the best move so far.
const TIMER_SHARE: f64 = 0.65;
/// The most that a move may take of the usable time, apart from a few increments.
const MAX_PART: u32 = 4;
const MAX_INCREMENTS: u32 = 4;
/// How late a search may be, as a part of its time, before the game's own timer fires.
const LATE_PART: u32 = 4;
/// The part of the clock that a first move may take although the clock stands.
const FIRST_MOVE_PART: u32 = 20;
/// The part of the time limit on a first move that it may take.
const EXPIRATION_PART: u32 = 4;
/// Extra time for the engine before the game's own timer fires.
const GRACE: Duration = Duration::from_millis(40);
/// Below this, increment apart, the clock must last for [`SCRAMBLE_MOVES`] more moves.
const SCRAMBLE: Duration = Duration::from_secs(3);
/// Moves that a scramble may take.
const SCRAMBLE_MOVES: u32 = 20;
/// The part of the clock that a move may take even if no usable time is left: a few thousand
/// positions are worth more than the moment.
const MIN_PART: u32 = 100;
/// The most that such a move takes.
const MIN_THINK: Duration = Duration::from_millis(10);
/// Assumed for a running clock that cannot be read.
const UNREADABLE: Duration = Duration::from_secs(15);
/// Longer clocks count as this.
const MAX_CLOCK: Duration = Duration::from_secs(30 * 86_400);
/// A search without a clock must end within this multiple of its thinking time, should the cores be
/// busy.
const BACKGROUND_STRETCH: u32 = 12;
/// The part of the usable clock that a move at a human pace takes in all.
const LEISURE_PART: u32 = 40;
/// The most that it takes of the usable clock.
const LEISURE_MOST_PART: u32 = 20;
/// The longest delay: opponents dislike a longer wait.
const MAX_LEISURE: Duration = Duration::from_secs(8);
/// Below this the bot plays without delay.
const MIN_FOR_LEISURE: Duration = Duration::from_secs(20);
/// Openings are played faster: this many plies at a third of the pace.
const OPENING_PLIES: usize = 10;

/// The budget of one search.
#[derive(Clone, Debug)]
pub struct SearchBudget {
    /// The limits given to the engine.
    pub limits: Limits,
    /// When the game's own timer takes the best move so far.
    pub fallback: Instant,
}

/// The budget that a kind of clock allows.
struct TimeShare {
    limits: Limits,
    /// Within this time the engine answers.
    engine: Duration,
    /// The delay of the game's own timer.
    timer: Duration,
}

/// The budget of a search that starts at `now`, given the known latency.
pub fn search_budget(
    clock: &ClockState,
    latency: &Latency,
    settings: &Settings,
    timing: &BotTiming,
    now: Instant,
) -> SearchBudget {
    let search = &settings.engine;
    let time = match clock.kind {
        ClockKind::Running => on_the_clock(clock, latency, settings, timing, now),
        ClockKind::Standing => first_move(clock, search, timing, now),
        ClockKind::Unclocked => unclocked(clock, search, settings.correspondence.think, now),
    };
    SearchBudget {
        limits: Limits {
            nodes: search.nodes.map(NonZeroU64::get),
            depth: search
                .depth
                .map(|depth| u32::try_from(depth.get()).unwrap_or(u32::MAX)),
            hard_deadline: Some(now + time.engine),
            ..time.limits
        },
        fallback: now + time.timer,
    }
}

/// The budget of a ponder search once its move is played: our clock stands until then. None if no
/// clock runs.
pub fn ponder(
    clock: &ClockState,
    latency: &Latency,
    settings: &Settings,
    timing: &BotTiming,
    now: Instant,
) -> Option<Limits> {
    let standing = ClockState { at: now, ..*clock };
    let search = &settings.engine;
    if clock.kind != ClockKind::Running || search.limits_search() {
        return None;
    }
    let time = on_the_clock(&standing, latency, settings, timing, now);
    Some(Limits {
        movetime: Some(time.engine),
        ponder: true,
        ..time.limits
    })
}

fn on_the_clock(
    clock: &ClockState,
    latency: &Latency,
    settings: &Settings,
    timing: &BotTiming,
    now: Instant,
) -> TimeShare {
    let left = clock.left_at(now).unwrap_or(UNREADABLE);
    let left = left.min(MAX_CLOCK);
    let held_back = latency.held_back(left, &settings.clock);
    let usable = left.saturating_sub(held_back);
    // Little time left and no increment to rely on: each move must leave enough for many more.
    let scramble = (usable / SCRAMBLE_MOVES)
        .saturating_add(clock.increment)
        .saturating_add(left.saturating_sub(SCRAMBLE));
    // Even a search that hangs costs only a part of the clock, and so does the next one.
    let longest =
        (usable / MAX_PART).saturating_add(clock.increment.saturating_mul(MAX_INCREMENTS));
    let least = (left / MIN_PART).min(MIN_THINK);
    let engine = usable
        .mul_f64(ENGINE_SHARE)
        .min(scramble)
        .min(longest)
        .min(timing.longest_think)
        .max(least);
    let timer = usable
        .mul_f64(TIMER_SHARE)
        .min(engine + (engine / LATE_PART).max(GRACE))
        .max(least * 2)
        .max(Duration::from_millis(1));
    let mut limits = Limits::default();
    if let Some(movetime) = settings.engine.movetime {
        limits.movetime = Some(movetime.min(engine));
    } else if engine == least && !settings.engine.limits_search() {
        limits.movetime = Some(least);
    } else if !settings.engine.limits_search() {
        limits.clock = Some(Clock {
            time: left,
            increment: clock.increment,
            moves_to_go: None,
            overhead: held_back,
        });
    }
    TimeShare {
        limits,
        engine,
        timer,
    }
}

/// The clock stands, but an opponent waits, and there may be a limit on first moves.
fn first_move(
    clock: &ClockState,
    search: &config::Engine,
    timing: &BotTiming,
    now: Instant,
) -> TimeShare {
    let mut time = timing.first_think;
    if let Some(left) = clock.left {
        time = time.min(left / FIRST_MOVE_PART);
    }
    let mut most = timing.longest_think;
    if let Some(left) = clock.expires_at(now) {
        most = most.min(left / EXPIRATION_PART);
        time = time.min(most);
    }
    fixed(search, time, most)
}

/// Correspondence or no clock: cores that the other games leave idle are good enough.
fn unclocked(
    clock: &ClockState,
    search: &config::Engine,
    think: Duration,
    now: Instant,
) -> TimeShare {
    let left = clock.left_at(now).unwrap_or(MAX_CLOCK) / FIRST_MOVE_PART;
    let time = think.min(left);
    let most = time.saturating_mul(BACKGROUND_STRETCH).min(left);
    let result = fixed(search, time, most);
    TimeShare {
        limits: Limits {
            background: true,
            ..result.limits
        },
        engine: most,
        timer: most + GRACE,
    }
}

/// A fixed thinking time, or a limit of nodes or depth; the latter may take its time here, but not
/// for ever.
fn fixed(search: &config::Engine, time: Duration, most: Duration) -> TimeShare {
    let movetime = search.movetime.unwrap_or(time).min(most);
    let given = (!search.limits_search() || search.movetime.is_some()).then_some(movetime);
    let engine = given.unwrap_or(most) + GRACE / 2;
    TimeShare {
        limits: Limits {
            movetime: given,
            ..Limits::default()
        },
        engine,
        timer: engine + GRACE,
    }
}

/// Until when to hold back a move at a human pace, if there is time: a part of the clock, never
/// twice the same, less in the opening.
pub fn human_pace(
    clock: &ClockState,
    latency: &Latency,
    rules: &config::Clock,
    ply: usize,
    now: Instant,
) -> Option<Instant> {
    if clock.kind != ClockKind::Running || clock.left_at(now)? < MIN_FOR_LEISURE {
        return None;
    }
    let usable = clock.usable(latency, rules, now)?;
    let usual = usable / LEISURE_PART + clock.increment / 2;
    let varied = usual.mul_f64(0.5 + (ply * 37 % 100) as f64 / 100.0);
    let paced = if ply < OPENING_PLIES {
        varied / 3
    } else {
        varied
    };
    let most = (usable / LEISURE_MOST_PART).min(MAX_LEISURE);
    clock.at.checked_add(paced.min(most))
}

#[cfg(test)]
mod tests;
