//! Opening books: what was found about positions before a game begins.
//!
//! Pure data and functions; nothing here searches, plays or waits.
//!
//! * `graph`: the positions of a book under construction, with values backed up from the leaves
//! * `proof`: proves wins by explosion or mate, and replays every reply to a proof

mod graph;
mod proof;

pub use graph::{Candidate, Graph, Leaf, RecordError, record};
pub use proof::{Strategy, prove};
