//! The search of one thread, from a task to its answer.
//!
//! `root` deepens iteratively, `node` searches one position, `pruning` holds the techniques that cut a
//! node short, `singular` asks whether the table move is alone in being good, `quiescence` resolves
//! captures, `thread_evaluator` keeps the evaluation, `tablebase` and `root_tablebase` probe endgame
//! tables, `control` decides when to stop, `team` joins the threads of one search. With one thread and
//! no clock the same task always gives the same answer and node count; with more, the order of their
//! transposition table accesses decides.

mod assist;
mod control;
mod node;
mod pruning;
mod quiescence;
mod root;
mod root_tablebase;
mod searcher;
mod singular;
mod tablebase;
mod team;
mod thread_evaluator;

pub(super) use searcher::{Searcher, Task, safe_move};
