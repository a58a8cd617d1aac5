//! Several books by priority. A file that cannot be used is named and skipped; nothing waits for a file.

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use parking_lot::Mutex;

use super::file::{BookFile, BookMove};
use crate::rules::{Game, Move, Position};

/// The largest book file: books are in memory.
const MOST_BYTES: u64 = 1 << 30;

/// A book in memory.
pub trait PositionBook: Debug + Send + Sync {
    /// The legal moves that it has for this position, in any order.
    fn moves(&self, position: &Position) -> Vec<BookMove>;
}

impl PositionBook for BookFile {
    fn moves(&self, position: &Position) -> Vec<BookMove> {
        BookFile::moves(self, position)
    }
}

/// Reads a book file of either format; the error says what is wrong with it.
pub fn open_book(path: &Path) -> Result<BookFile, String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?
            .take(MOST_BYTES + 1)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let bytes = read().map_err(|error| named(&error))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(named(&format!("it has more than {MOST_BYTES} bytes")));
    }
    BookFile::read(&bytes).map_err(|error| named(&error))
}

/// Draws one of these: the greater its weight, the likelier.
pub fn draw<T>(
    moves: impl Iterator<Item = (T, u64)> + Clone,
    random: &mut fastrand::Rng,
) -> Option<T> {
    let sum: u64 = moves.clone().map(|(_, weight)| weight).sum();
    if sum == 0 {
        return None;
    }
    let mut left = random.u64(..sum);
    for (mv, weight) in moves {
        match left.checked_sub(weight) {
            Some(rest) => left = rest,
            None => return Some(mv),
        }
    }
    None
}

/// Books by priority. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Books(Vec<Arc<dyn PositionBook>>);

impl Books {
    /// The first of these books has priority.
    pub fn new(books: Vec<Arc<dyn PositionBook>>) -> Self {
        Self(books)
    }

    /// Reads the books in these files and says what is wrong with those that cannot be used; the book in
    /// the program comes last.
    pub fn open(files: &[PathBuf], built_in: bool) -> (Self, Vec<String>) {
        let (mut books, mut faults) = (Self::default(), Vec::new());
        for file in files {
            match open_book(file) {
                Ok(book) => books.0.push(Arc::new(book)),
                Err(fault) => faults.push(fault),
            }
        }
        if built_in {
            books.0.push(BookFile::built_in());
        }
        (books, faults)
    }

    /// The moves for this position, one list per book that has any, by priority.
    pub fn moves<'b>(&'b self, position: &'b Position) -> impl Iterator<Item = Vec<BookMove>> + 'b {
        let moves = self.0.iter().map(|book| book.moves(position));
        moves.filter(|moves| !moves.is_empty())
    }

    /// The moves that may be played without a search, one list per book: a king that can explode and a
    /// position that would repeat are left to the engine.
    pub fn playable<'b>(&'b self, game: &'b Game) -> impl Iterator<Item = Vec<BookMove>> + 'b {
        let position = game.position();
        let is_fit =
            |mv: Move| position.is_legal(mv) && !game.keys().contains(&position.play(mv).key());
        let moves = (!position.can_explode()).then(|| self.moves(position));
        moves.into_iter().flatten().map(move |mut moves| {
            moves.retain(|it| is_fit(it.mv));
            moves
        })
    }

    /// A move that may be played without a search, by weight, of the first book that has one.
    pub fn choose(&self, game: &Game, random: &mut fastrand::Rng) -> Option<Move> {
        let mut lists = self.playable(game);
        lists.find_map(|moves| draw(moves.iter().map(|it| (it.mv, it.weight.into())), random))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The book that an engine plays from without a bot: none, a file, or the one in the program.
#[derive(Clone, Debug, Default)]
pub struct OwnBook {
    is_on: bool,
    file: Option<Arc<BookFile>>,
}

impl OwnBook {
    /// Sets `OwnBook` or `BookFile` of UCI, in any letter case; `None` if the option is another.
    pub fn set(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
        if name.eq_ignore_ascii_case("OwnBook") {
            let is_on = value.parse().map(|is_on| self.is_on = is_on);
            return Some(is_on.map_err(|_| format!("{name} is true or false, not {value:?}")));
        }
        if !name.eq_ignore_ascii_case("BookFile") {
            return None;
        }
        // GUIs and the protocol write an empty text like this.
        if matches!(value, "" | "<empty>") {
            self.file = None;
            return Some(Ok(()));
        }
        let book = open_book(Path::new(value)).map(|book| self.file = Some(Arc::new(book)));
        Some(book.map_err(|error| format!("{name}: {error}")))
    }

    /// A move that may be played without a search.
    pub fn choose(&self, game: &Game, random: &mut fastrand::Rng) -> Option<Move> {
        let book = self.is_on.then(|| self.file.clone())?;
        let book = book.unwrap_or_else(BookFile::built_in);
        Books(vec![book]).choose(game, random)
    }
}

/// The books of a running bot. Clones share them.
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

    /// Replaces the books; games in progress go on with these.
    pub fn set(&self, books: Books) {
        *self.books.lock() = books;
    }

    /// Reads these files on a thread of its own and reports what is wrong with some. Until then the books
    /// before stay.
    pub fn load(
        &self,
        files: Vec<PathBuf>,
        built_in: bool,
        report: impl FnOnce(Vec<String>) + Send + 'static,
    ) {
        let shared = self.clone();
        let number = self.loading.fetch_add(1, Ordering::Relaxed) + 1;
        let read = move || {
            let (books, faults) = Books::open(&files, built_in);
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::book::{Candidate, Graph};

    /// A file with one move at the start.
    fn one_move(folder: &Path, uci: &str) -> PathBuf {
        let start = Position::default();
        let mut graph = Graph::new(start);
        let candidate = Candidate {
            mv: start.parse_uci(uci).expect("a legal move"),
            score: 10,
            win_in: None,
            loss_in: None,
        };
        graph.insert(&start, &[candidate]);
        let path = folder.join(format!("{uci}.bin"));
        let bytes = BookFile::from_graph(&graph, 0).polyglot();
        fs::write(&path, bytes).expect("the folder takes it");
        path
    }

    fn chosen(books: &Books) -> Option<String> {
        let mv = books.choose(&Game::new(), &mut fastrand::Rng::with_seed(1));
        mv.map(|mv| mv.to_string())
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named_and_the_next_one_plays() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing.bin");
        let damaged = folder.path().join("damaged.bin");
        fs::write(&damaged, b"no book").unwrap();
        let files = [missing, damaged, one_move(folder.path(), "a2a3")];
        let (books, faults) = Books::open(&files, true);
        assert_eq!((books.len(), faults.len()), (2, 2), "{faults:?}");
        assert!(faults[0].contains("missing.bin"), "{faults:?}");
        assert!(faults[1].contains("damaged.bin: 7 bytes"), "{faults:?}");
        assert_eq!(chosen(&books).as_deref(), Some("a2a3"));
        assert!(Books::open(&[], false).0.is_empty());
    }

    #[test]
    fn the_book_in_the_program_plays_the_first_moves_of_theory() {
        let (books, faults) = Books::open(&[], true);
        assert!(faults.is_empty());
        let first = chosen(&books).expect("a move");
        assert!(["g1f3", "g1h3"].contains(&first.as_str()), "{first}");
    }

    #[test]
    fn an_engine_plays_from_a_book_only_if_told_to() {
        let folder = tempfile::tempdir().unwrap();
        let file = one_move(folder.path(), "h2h3");
        let mut book = OwnBook::default();
        let mut random = fastrand::Rng::with_seed(1);
        assert_eq!(book.set("BookFile", file.to_str().unwrap()), Some(Ok(())));
        assert_eq!(book.choose(&Game::new(), &mut random), None);
        assert_eq!(book.set("ownbook", "true"), Some(Ok(())));
        let mv = book.choose(&Game::new(), &mut random);
        assert_eq!(mv.map(|mv| mv.to_string()).as_deref(), Some("h2h3"));
        let wrong = book.set("OwnBook", "yes").unwrap().unwrap_err();
        assert!(wrong.contains("true or false"), "{wrong}");
        let wrong = book.set("BookFile", "no/such.bin").unwrap().unwrap_err();
        assert!(wrong.contains("no/such.bin"), "{wrong}");
        assert_eq!(book.set("Hash", "1"), None);
    }
}
