//! Opening books: the moves that a book has for a position, and how a book is made.
//!
//! Data in memory, no clock. A book never decides; a move of it is checked for legality where it is read.
//! Nothing here searches, plays or waits.
//!
//! * `books`: several books by priority, and what is wrong with a file
//! * `graph`: the positions of a book under construction, with values backed up from the leaves
//! * `proof`: proves wins by explosion or mate, and replays every reply to a proof

mod books;
mod graph;
mod proof;

pub use books::{BookMove, Books, PositionBook, SharedBooks};
pub use graph::{Candidate, Graph, Leaf, RecordError, record};
pub use proof::{Strategy, prove};
