//! Every tunable number of the engine: unit, meaning and where it comes from.
//!
//! Values are in centipawns (cp) of an atomic pawn in the middlegame unless said otherwise.
//! A number that names no origin is a start value: within what chess programs use, moved to where
//! atomic's short and sharp games ask for it, and not tuned by matches.

use std::time::Duration;

// --- Pool -------------------------------------------------------------------------------------

/// Megabytes of table when nothing is asked for.
pub(super) const DEFAULT_HASH_MB: usize = 64;
/// Threads that may work on one search.
pub(super) const MOST_THREADS: usize = 64;
/// Bytes of stack of a search thread: about 3 KB a ply of search, with a wide margin.
pub(super) const STACK_BYTES: usize = 8 << 20;
/// How much nicer than the rest of the program a background search thread is.
pub(super) const BACKGROUND_NICENESS: i32 = 5;
/// How long a search computes before it hands its core to one that waits.
pub(super) const TIME_SLICE: Duration = Duration::from_millis(3);
/// After this wait a search is as urgent as one whose time is up, so that none starves.
pub(super) const PATIENCE: Duration = Duration::from_millis(250);
/// After this wait a search in the background is served for once, so that it gets somewhere even
/// while all cores are busy: about a hundredth of one.
pub(super) const BACKGROUND_PATIENCE: Duration = Duration::from_millis(500);
/// How late a pondering search may be served: after everyone else.
pub(super) const PONDER_PATIENCE: Duration = Duration::from_secs(3600);
/// Positions between two looks at the clock and at the queue for the cores. At half a million
/// positions a second this is half a millisecond.
pub(super) const CHECK_EVERY: u64 = 256;

// --- Transposition table ----------------------------------------------------------------------

/// Plies of depth that one search of age costs an entry.
pub(super) const TT_AGE_WEIGHT: i32 = 4;
/// An entry of the same position and age survives a bound this much shallower, in plies.
pub(super) const TT_KEEP_MARGIN: i32 = 4;

/// Half-moves without progress that share one key: nearer to the fifty-move draw, other entries.
pub(super) const TT_CLOCK_STEP: u32 = 16;
/// Spreads those stages over the table; any odd number with its bits well mixed.
pub(super) const TT_CLOCK_KEY: u64 = 0x9e37_79b9_7f4a_7c15;
/// From this count on no stored value ends a node: the draw is too near.
pub(super) const TT_CUTOFF_CLOCK: u32 = 90;

// --- Endgame tables ---------------------------------------------------------------------------

/// Least depth, in plies, at which the largest tables are asked: a probe costs like some nodes.
pub(super) const TABLE_PROBE_DEPTH: i32 = 1;
/// What tables say is stored as if searched so many plies deeper.
pub(super) const TABLE_DEPTH_BONUS: i32 = 6;

// --- Time -------------------------------------------------------------------------------------

/// The least a move is ever given.
pub(super) const LEAST_TIME: Duration = Duration::from_millis(1);
/// Moves the clock has to last for: atomic games end after about 25 a side.
pub(super) const MOVES_AHEAD: f64 = 22.0;
/// Share of the increment spent at once.
pub(super) const INCREMENT_SHARE: f64 = 0.75;
/// With less than this on the clock a move gets less than its share, of clock and increment, in
/// proportion: with increments of a few hundredths of a second the clock would otherwise settle at
/// so little that a pause of the machine flags.
pub(super) const SHORT_CLOCK: Duration = Duration::from_millis(300);
/// What is left of a move's share of the clock when there is next to nothing on it.
pub(super) const SHORT_SHARE: f64 = 0.5;
/// Share of the clock one move may use at most.
pub(super) const HARD_SHARE: f64 = 0.45;
/// With fewer moves than this to the time control, [`LAST_SHARE`] holds.
pub(super) const LAST_MOVES: f64 = 1.5;
/// Share of the clock the last move before a time control may use.
pub(super) const LAST_SHARE: f64 = 0.8;
/// Factor of the soft limit when no node went into the best move.
pub(super) const TIME_NODES_BASE: f64 = 2.2;
/// How much of it is taken away when all nodes went there.
pub(super) const TIME_NODES_SLOPE: f64 = 1.6;
/// Factor of the soft limit while the best move changes.
pub(super) const TIME_STABLE_BASE: f64 = 1.2;
/// What each iteration without a change takes away.
pub(super) const TIME_STABLE_SLOPE: f64 = 0.05;
/// Iterations after which stability counts no more.
pub(super) const TIME_STABLE_MOST: u32 = 8;
/// A score drop of so many cp doubles the soft limit.
pub(super) const TIME_DROP_SCALE: f64 = 120.0;
/// A rising score shrinks the soft limit by this much at most.
pub(super) const TIME_DROP_LEAST: f64 = 0.15;
/// A falling score stretches the soft limit by this much at most.
pub(super) const TIME_DROP_MOST: f64 = 0.6;

// --- Blast exchange ---------------------------------------------------------------------------

/// What a piece is worth in a blast, in cp, by role; the king is handled apart. Ratios of the
/// values multi-variant Stockfish tuned on atomic.
pub(super) const SEE_VALUES: [i32; 6] = [100, 200, 235, 340, 610, 0];
/// The worth of an exploded king: above any sum of pieces.
pub(super) const SEE_KING: i32 = 20_000;

// --- Iterative deepening ----------------------------------------------------------------------

/// Iterations from here on search a window around the last score.
pub(super) const ASPIRATION_DEPTH: i32 = 5;
/// Half of that window, in cp; atomic scores jump.
pub(super) const ASPIRATION_DELTA: i32 = 28;
/// The window grows by this share (1/256) of the last score.
pub(super) const ASPIRATION_SCORE_SHARE: i32 = 12;
/// Factor on the window after it failed, in percent.
pub(super) const ASPIRATION_GROWTH: i32 = 150;
/// Beyond this window all bounds are dropped.
pub(super) const ASPIRATION_MOST: i32 = 900;
/// Plies by which repeated failures above the window make the search shallower, at most.
pub(super) const ASPIRATION_SHALLOWER: i32 = 3;
/// Least depth at which late root moves are reduced.
pub(super) const ROOT_LMR_DEPTH: i32 = 3;
/// Root moves searched without reduction.
pub(super) const ROOT_LMR_MOVES: usize = 4;
/// Reports of failed windows begin after this time.
pub(super) const REPORT_BOUNDS_AFTER: Duration = Duration::from_secs(1);

// --- Pruning ----------------------------------------------------------------------------------

/// Deepest node for reverse futility, in plies.
pub(super) const RFP_DEPTH: i32 = 7;
/// Margin per ply of it, in cp: twice what chess uses, as others found for atomic.
pub(super) const RFP_MARGIN: i32 = 110;
/// Plies by which improving nodes are treated as shallower.
pub(super) const RFP_IMPROVING: i32 = 1;

/// Shallowest node for a null move, in plies.
pub(super) const NULL_DEPTH: i32 = 3;
/// Least reduction of a null move, in plies.
pub(super) const NULL_BASE: i32 = 3;
/// A null move is reduced by one more ply for so many plies of depth.
pub(super) const NULL_DEPTH_DIVISOR: i32 = 3;
/// ... and for so many cp above beta.
pub(super) const NULL_EVAL_DIVISOR: i32 = 200;
/// ... but no more than this for the evaluation.
pub(super) const NULL_EVAL_MOST: i32 = 3;
/// The side that passes needs so many pieces besides king and pawns: zugzwang is real with few.
pub(super) const NULL_MEN: usize = 2;
/// From this depth a null move is verified by a real search.
pub(super) const NULL_VERIFY_DEPTH: i32 = 12;

/// Least depth for internal reduction where the table knows no move.
pub(super) const IIR_DEPTH: i32 = 5;

/// Deepest node for skipping late quiet moves.
pub(super) const LMP_DEPTH: i32 = 8;
/// Quiet moves always tried.
pub(super) const LMP_BASE: i32 = 5;

/// Deepest node for pruning by blast exchange.
pub(super) const SEE_PRUNE_DEPTH: i32 = 8;
/// Allowed loss of a capture per ply, in cp.
pub(super) const SEE_CAPTURE_MARGIN: i32 = 90;
/// Allowed loss of a quiet move per ply, in cp.
pub(super) const SEE_QUIET_MARGIN: i32 = 50;

/// Deepest node for pruning quiet moves by history.
pub(super) const HISTORY_PRUNE_DEPTH: i32 = 4;
/// History below this per ply is pruned.
pub(super) const HISTORY_PRUNE_MARGIN: i32 = -3000;

// --- Reductions, in 1/1024 ply ----------------------------------------------------------------

/// Reduction of quiet moves before depth and move count.
pub(super) const LMR_QUIET_BASE: f64 = 0.8;
/// Divisor of ln(depth) * ln(move) for quiet moves; atomic has few moves, so mild.
pub(super) const LMR_QUIET_DIVISOR: f64 = 2.4;
/// The same two for captures.
pub(super) const LMR_NOISY_BASE: f64 = 0.2;
pub(super) const LMR_NOISY_DIVISOR: f64 = 3.4;
/// Least depth for reductions, in plies.
pub(super) const LMR_DEPTH: i32 = 2;
/// Moves searched without reduction.
pub(super) const LMR_MOVES: usize = 2;
/// More at expected cut nodes.
pub(super) const LMR_CUT_NODE: i32 = 1024;
/// Less at nodes of the principal variation.
pub(super) const LMR_PV: i32 = 768;
/// More where the evaluation is not improving.
pub(super) const LMR_NOT_IMPROVING: i32 = 600;
/// Less for moves that give check.
pub(super) const LMR_CHECK: i32 = 1024;
/// Less for answers to a check or to a threatened explosion.
pub(super) const LMR_PRESSED: i32 = 1024;
/// Less for moves that create an explosion threat.
pub(super) const LMR_CREATES_THREAT: i32 = 1024;
pub(super) const LMR_KILLER: i32 = 1024;
/// History that changes a reduction by one ply.
pub(super) const LMR_HISTORY_DIVISOR: i32 = 9000;

// --- Quiescence -------------------------------------------------------------------------------

/// A capture must lift the evaluation this near to alpha, in cp.
pub(super) const QS_MARGIN: i32 = 160;
/// Captures that lose more than this are not tried, in cp.
pub(super) const QS_SEE_MARGIN: i32 = 0;
/// Captures tried at one node when not in check.
pub(super) const QS_CAPTURES: usize = 6;

// --- Histories --------------------------------------------------------------------------------

/// Histories stay within plus and minus this.
pub(super) const HISTORY_MOST: i32 = 8192;
/// Bonus per ply of depth.
pub(super) const BONUS_SLOPE: i32 = 180;
pub(super) const BONUS_OFFSET: i32 = 80;
pub(super) const BONUS_MOST: i32 = 1800;

/// Corrections of the evaluation stay within plus and minus this, in their own units …
pub(super) const CORRECTION_MOST: i32 = 1024;
/// … of which so many, over all views of the board, are a centipawn.
pub(super) const CORRECTION_DIVISOR: i32 = 24;
/// An error counts once in full for so many plies of the search that showed it.
pub(super) const CORRECTION_DEPTH: i32 = 8;

// --- Move ordering ----------------------------------------------------------------------------

/// A capture is good if its blast balance is at least this, in cp.
pub(super) const GOOD_CAPTURE: i32 = -20;
/// Weight of a blast balance against capture history, history units per cp.
pub(super) const BLAST_WEIGHT: i32 = 16;
/// Ordering bonus of a quiet move that creates an explosion threat.
pub(super) const CREATES_THREAT_BONUS: i32 = 6000;
/// Ordering bonus of a quiet move that leaves a blast about to hit it.
pub(super) const ESCAPE_BONUS: i32 = 2500;
/// Ordering penalty of stepping where a pawn or piece can blow it up.
pub(super) const EXPOSED_PENALTY: i32 = 2500;
/// Ordering bonus of a quiet check.
pub(super) const CHECK_BONUS: i32 = 5000;

// --- Evaluation -------------------------------------------------------------------------------

/// Whether a net's value shrinks with the fifty-move clock, down to a half: not tested yet.
pub(super) const NET_DAMPED: bool = false;
