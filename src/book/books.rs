//! Several books by priority. A file that cannot be used is named and skipped; nothing waits for a file.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use parking_lot::Mutex;

use crate::rules::{Move, Position};

/// A legal move of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookMove {
    pub mv: Move,
    /// How good or how frequent the move is, beside the others of its position.
    pub weight: u32,
}

/// A book in memory.
pub trait PositionBook: Debug + Send + Sync {
    /// The legal moves that it has for this position, in any order.
    fn moves(&self, position: &Position) -> Vec<BookMove>;
}

/// Books by priority. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Books(Vec<Arc<dyn PositionBook>>);

impl Books {
    /// The first of these books has priority.
    pub fn new(books: Vec<Arc<dyn PositionBook>>) -> Self {
        Self(books)
    }

    /// Reads the books in these files, and says what is wrong with those that cannot be used.
    pub fn open(files: &[PathBuf]) -> (Self, Vec<String>) {
        let faults = files
            .iter()
            .map(|file| format!("{}: no reader", file.display()));
        (Self::default(), faults.collect())
    }

    /// The moves for this position, one list per book that has any, by priority.
    pub fn moves<'b>(&'b self, position: &'b Position) -> impl Iterator<Item = Vec<BookMove>> + 'b {
        let moves = self.0.iter().map(|book| book.moves(position));
        moves.filter(|moves| !moves.is_empty())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The books of a running bot. Clones share them; a game takes them as they are when it begins.
#[derive(Clone, Debug, Default)]
pub struct SharedBooks {
    books: Arc<Mutex<Books>>,
    /// The number of the last loading: an earlier one that ends later is dropped.
    loading: Arc<AtomicU64>,
}

impl SharedBooks {
    /// The books read so far.
    pub fn get(&self) -> Books {
        self.books.lock().clone()
    }

    /// Reads these files on a thread of its own and reports what is wrong with some. Until then the books
    /// before stay.
    pub fn load(&self, files: Vec<PathBuf>, report: impl FnOnce(Vec<String>) + Send + 'static) {
        let shared = self.clone();
        let number = self.loading.fetch_add(1, Ordering::Relaxed) + 1;
        let read = move || {
            let (books, faults) = Books::open(&files);
            let mut current = shared.books.lock();
            if shared.loading.load(Ordering::Relaxed) == number {
                *current = books;
                drop(current);
                report(faults);
            }
        };
        let thread = thread::Builder::new().name("opening books".into());
        if let Err(error) = thread.spawn(read) {
            tracing::warn!(%error, "no thread to read the opening books");
        }
    }
}
