//! The numbers of the engine that no tuning moves, with unit, meaning and origin; `tunables` has the others.
//!
//! Values are in centipawns (cp) of an atomic pawn in the middlegame unless stated otherwise. A
//! number without an origin is an untuned start value: within the range of chess programs, adapted
//! to atomic's short and sharp games.

use std::time::Duration;

// --- Pool -------------------------------------------------------------------------------------

/// Default size of the transposition table, in megabytes.
pub(super) const DEFAULT_HASH_MB: usize = 64;
/// Maximum threads of one search.
pub(super) const MOST_THREADS: usize = 64;
/// Stack of a search thread in bytes: about 7 KB per ply of search, with a wide margin.
pub(super) const STACK_BYTES: usize = 8 << 20;
/// Niceness of a background search thread.
pub(super) const BACKGROUND_NICENESS: i32 = 5;
/// How long a search computes before it hands its core to one that waits.
pub(super) const TIME_SLICE: Duration = Duration::from_millis(3);
/// After this wait a search is as urgent as one whose time is up, so that none starves.
pub(super) const PATIENCE: Duration = Duration::from_millis(250);
/// After this wait a background search is served once, so that it progresses even while all cores
/// are busy: about a hundredth of one.
pub(super) const BACKGROUND_PATIENCE: Duration = Duration::from_millis(500);
/// A search of at most this many positions, as those of the levels are, gets no helpers: they would spend its
/// positions before it has gone far, and differently each time.
pub(super) const NODES_WITHOUT_HELP: u64 = 5000;
/// How late a pondering search may be served: after all others.
pub(super) const PONDER_PATIENCE: Duration = Duration::from_secs(3600);
/// Positions between two checks of the clock and of the queue for the cores. At half a million
/// positions a second this is half a millisecond.
pub(super) const CHECK_EVERY: u64 = 256;
/// The same after checks that came late: the system zeroes two megabytes for the first node that reaches a page
/// of an empty transposition table.
pub(super) const CHECK_OFTEN: u64 = 16;
/// A check is late this long after the one before.
pub(super) const SLOW_CHECK: Duration = Duration::from_millis(2);

// --- Transposition table ----------------------------------------------------------------------

/// Plies of depth that an entry loses per search of age.
pub(super) const TT_AGE_WEIGHT: i32 = 4;
/// An entry of the same position and age is kept against a bound this much shallower, in plies.
pub(super) const TT_KEEP_MARGIN: i32 = 4;

/// Half-moves without progress that share one key: near the fifty-move draw positions get other
/// entries.
pub(super) const TT_CLOCK_STEP: u32 = 16;
/// Spreads those stages over the table; any odd number with well-mixed bits.
pub(super) const TT_CLOCK_KEY: u64 = 0x9e37_79b9_7f4a_7c15;
/// The same for the value of a draw.
pub(super) const TT_DRAW_KEY: u64 = 0xd6e8_feb8_6659_fd93;
/// From this depth on a lower bound must be two plies deeper than the node to cut it off, below it one: row 3.2 of
/// `docs/search.md`.
pub(super) const TT_CUTOFF_DEEP: i32 = 6;
/// From this count on no stored value causes a cutoff, but as the evaluation on which quiescence stands pat: the
/// draw is too near.
pub(super) const TT_CUTOFF_CLOCK: u32 = 90;

// --- Endgame tables ---------------------------------------------------------------------------

/// Minimum depth, in plies, at which the largest tables are probed: a probe costs as much as some
/// nodes.
pub(super) const TABLE_PROBE_DEPTH: i32 = 1;
/// How long a search without an end of its own waits for distances to be computed.
pub(super) const TABLE_PATIENCE: Duration = Duration::from_millis(50);
/// How long a search without a clock waits: much longer than the computation takes.
pub(super) const LONG_TABLE_PATIENCE: Duration = Duration::from_secs(120);
/// Tablebase results are stored as if searched this many plies deeper.
pub(super) const TABLE_DEPTH_BONUS: i32 = 6;

// --- Time -------------------------------------------------------------------------------------

/// Minimum time per move.
pub(super) const LEAST_TIME: Duration = Duration::from_millis(1);
/// With less than this on the clock a move gets less than its share of clock and increment, in
/// proportion: with increments of a few hundredths of a second the clock would otherwise run so low
/// that a pause of the machine loses on time.
pub(super) const SHORT_CLOCK: Duration = Duration::from_millis(300);
/// The remaining factor of a move's share when almost no time is left.
pub(super) const SHORT_SHARE: f64 = 0.5;
/// With fewer moves than this to the time control, [`LAST_SHARE`] applies.
pub(super) const LAST_MOVES: f64 = 1.5;
/// Maximum share of the clock for the last move before a time control.
pub(super) const LAST_SHARE: f64 = 0.8;
/// Iterations after which stability no longer counts.
pub(super) const TIME_STABLE_MOST: u32 = 8;

// --- Blast exchange ---------------------------------------------------------------------------

/// The value of a piece in a blast, in cp, by role; the king is handled separately. The ratios are
/// those multi-variant Stockfish tuned for atomic.
pub(super) const SEE_VALUES: [i32; 6] = [100, 200, 235, 340, 610, 0];
/// The value of an exploded king: above any sum of pieces.
pub(super) const SEE_KING: i32 = 20_000;

// --- Iterative deepening ----------------------------------------------------------------------

/// Iterations from this depth on use an aspiration window around the last score.
pub(super) const ASPIRATION_DEPTH: i32 = 5;
/// The window grows by this share (1/256) of the last score.
pub(super) const ASPIRATION_SCORE_SHARE: i32 = 12;
/// Beyond this window all bounds are dropped.
pub(super) const ASPIRATION_MOST: i32 = 900;
/// Maximum plies by which repeated fail highs reduce the depth.
pub(super) const ASPIRATION_SHALLOWER: i32 = 3;
/// Least depth at which late root moves are reduced.
pub(super) const ROOT_LMR_DEPTH: i32 = 3;
/// Root moves searched without reduction.
pub(super) const ROOT_LMR_MOVES: usize = 4;
/// Failed windows are reported only after this time.
pub(super) const REPORT_BOUNDS_AFTER: Duration = Duration::from_secs(1);

/// Contempt stays within plus and minus this value.
pub(super) const CONTEMPT_MOST: i32 = 100;

// --- Pruning ----------------------------------------------------------------------------------

/// Plies by which improving nodes are treated as shallower.
pub(super) const RFP_IMPROVING: i32 = 1;

/// Beyond this depth the margin of reverse futility grows with the square of the further plies too.
pub(super) const RFP_DEEP: i32 = 7;
/// That square counts so many centipawns. Both with others, a match of 2026-11-28.
pub(super) const RFP_DEEP_MARGIN: i32 = 15;

/// Minimum depth for a null move, in plies.
pub(super) const NULL_DEPTH: i32 = 3;
/// Minimum pieces of the side that passes besides king and pawns: with few, zugzwang is likely.
pub(super) const NULL_PIECES: usize = 2;

/// Parts of a centipawn in which the margin of singular extensions is counted.
pub(super) const SINGULAR_MARGIN_UNIT: i32 = 16;
/// The stored value of the table move may be this many plies shallower than the node.
pub(super) const SINGULAR_DEPTH_BEHIND: i32 = 3;
/// Singular extensions end this many times the root's depth away from it.
pub(super) const SINGULAR_REACH: usize = 2;

// --- Reductions, in 1/1024 ply ----------------------------------------------------------------

/// Minimum depth for reductions, in plies.
pub(super) const LMR_DEPTH: i32 = 2;

// --- Histories --------------------------------------------------------------------------------

/// Histories stay within plus and minus this value.
pub(super) const HISTORY_MOST: i32 = 8192;

/// Capture history that is worth a centipawn of blast balance. With others, a match of 2026-11-28.
pub(super) const CAPTURE_HISTORY_PER_CP: i32 = 64;

/// Corrections of the evaluation stay within plus and minus this value, in their own units.
pub(super) const CORRECTION_MOST: i32 = 1024;
/// Depth in plies at which an error counts in full at once.
pub(super) const CORRECTION_DEPTH: i32 = 8;
