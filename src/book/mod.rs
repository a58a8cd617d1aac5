//! Opening books: the moves that a book has for a position, and how a book is made.
//!
//! Data in memory, no clock. A book never decides whether it is used; a move of it is checked for
//! legality where it is read. Nothing here plays or waits, and only
//! `proof` searches.
//!
//! * `books`: several books by priority, and what is wrong with a file
//! * `file`: a book file in memory, its two formats and what can be wrong with it
//! * `graph`: the positions of a book under construction, with values backed up from the leaves
//! * `polyglot`: keys and entries of the Polyglot format
//! * `proof`: proves wins by explosion or mate, and replays every reply to a proof

mod books;
mod file;
mod graph;
mod polyglot;
mod proof;

pub use books::{Books, OwnBook, PositionBook, SharedBooks, draw, open_book};
pub use file::{BookError, BookFile, BookMove};
pub use graph::{Candidate, Expansion, Graph, Leaf, RecordError, record};
pub use proof::{Strategy, prove};
