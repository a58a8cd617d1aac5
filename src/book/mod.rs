//! Opening books: the moves that a book has for a position.
//!
//! Data in memory, no clock. A book never decides; a move of it is checked for legality where it is read.
//!
//! * `books`: several books by priority, and what is wrong with a file

mod books;

pub use books::{BookMove, Books, PositionBook, SharedBooks};
