//! A book file in memory: Polyglot, or the bot's own format with scores and proofs.
//!
//! The own format is `MEGABOOK`, a checksum and, compressed, Polyglot entries whose learning field holds
//! score, proof and visits. Any bytes are read; a file with a fault is refused as a whole, with the
//! reason. Nothing here chooses a move or touches a disk.

use std::collections::{HashSet, VecDeque};
use std::io::{Read as _, Write as _};
use std::sync::{Arc, LazyLock};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use super::graph::{Candidate, Graph};
use super::polyglot::{ENTRY_BYTES, PolyglotEntry, key, standard_key};
use crate::rules::{Move, Position};

const MAGIC: &[u8; 8] = b"MEGABOOK";
const HEADER: usize = MAGIC.len() + size_of::<u32>();
/// Entries of an own file at most.
const MOST_ENTRIES: usize = 1 << 24;
/// Positions of a book that are checked when it is read, and those looked at on the way.
const CHECKED: usize = 20_000;
const LOOKED_AT: usize = 200_000;
/// Bits of a key that tell most positions that are not in a book.
const BEGINNING_BITS: u32 = 20;
/// A book plays moves that are at most so many centipawns worse than its best one.
const SOFT: i32 = 15;

/// Why a file is no book.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BookError {
    #[error("the file is empty")]
    Empty,
    #[error(
        "{0} bytes are not a whole number of Polyglot entries of 16: the file is cut or no book"
    )]
    Cut(usize),
    #[error("entry {0} has a smaller key than the one before: this is not a Polyglot book")]
    Order(usize),
    #[error("no position of it is near the start position: its keys are wrong or of another game")]
    Keys,
    #[error("{mv} is not legal in {fen}")]
    Illegal { mv: String, fen: String },
    #[error("after {mv} in {fen} it continues by the rules of standard chess")]
    Variant { mv: String, fen: String },
    #[error("the checksum is wrong: the file is damaged or cut")]
    Damaged,
}

/// A legal move of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookMove {
    pub mv: Move,
    /// How good or how frequent the move is, beside the others of its position.
    pub weight: u32,
}

/// A book file, by the keys of positions.
#[derive(Clone, Debug)]
pub struct BookFile {
    entries: Vec<PolyglotEntry>,
    has_scores: bool,
}

static BUILT_IN: LazyLock<Arc<BookFile>> = LazyLock::new(|| {
    let bytes = include_bytes!("../../assets/book/starter.book");
    let book = BookFile::parse(bytes).unwrap_or_else(|error| {
        tracing::error!(%error, "the opening book of the program cannot be used");
        BookFile {
            entries: Vec::new(),
            has_scores: true,
        }
    });
    Arc::new(book)
});

impl BookFile {
    /// The book in the program.
    pub fn built_in() -> Arc<BookFile> {
        Arc::clone(&BUILT_IN)
    }

    /// Reads a file of either format and checks its moves.
    pub fn read(bytes: &[u8]) -> Result<BookFile, BookError> {
        let book = BookFile::parse(bytes)?;
        book.check()?;
        Ok(book)
    }

    fn parse(bytes: &[u8]) -> Result<BookFile, BookError> {
        let has_scores = bytes.starts_with(MAGIC);
        let unpacked = has_scores.then(|| unpack(bytes)).transpose()?;
        let bytes = unpacked.as_deref().unwrap_or(bytes);
        if bytes.is_empty() {
            return Err(BookError::Empty);
        }
        let (chunks, []) = bytes.as_chunks::<ENTRY_BYTES>() else {
            return Err(BookError::Cut(bytes.len()));
        };
        let entries: Vec<PolyglotEntry> = chunks
            .iter()
            .map(|it| PolyglotEntry::from_bytes(*it))
            .collect();
        let falls = entries.windows(2).position(|it| it[0].key > it[1].key);
        if let Some(place) = falls {
            return Err(BookError::Order(place + 2));
        }
        Ok(BookFile {
            entries,
            has_scores,
        })
    }

    /// The positions of a graph. A move has a weight if at least `visits` positions were searched after
    /// it, and it is proved or about as good as the best; if only a move that was searched less is good,
    /// none has, and the engine decides.
    pub fn from_graph(graph: &Graph, visits: u8) -> BookFile {
        let mut entries = Vec::new();
        for position in graph.positions() {
            let candidates = graph.candidates(position);
            let visited: Vec<u8> = candidates
                .iter()
                .map(|it| graph.visits(&position.play(it.mv), u8::MAX))
                .collect();
            for (candidate, visited) in candidates.iter().zip(visited) {
                let best = &candidates[0];
                let weight = match candidate.win_in {
                    Some(_) if candidate.win_in == best.win_in => SOFT + 1,
                    None if best.win_in.is_none()
                        && candidate.loss_in.is_none()
                        && visited >= visits =>
                    {
                        (SOFT + 1 - (best.score - candidate.score)).max(0)
                    }
                    _ => 0,
                };
                let learn = learn(candidate, visited);
                entries.push(PolyglotEntry::new(
                    position,
                    candidate.mv,
                    weight as u16,
                    learn,
                ));
            }
        }
        entries.sort_unstable();
        BookFile {
            entries,
            has_scores: true,
        }
    }

    /// The bytes of a Polyglot file: moves with a weight, no scores.
    pub fn polyglot(&self) -> Vec<u8> {
        let played = self.entries.iter().filter(|entry| entry.weight > 0);
        let plain = played.map(|&entry| PolyglotEntry { learn: 0, ..entry });
        plain.flat_map(PolyglotEntry::bytes).collect()
    }

    /// The bytes of a file of the own format.
    pub fn bytes(&self) -> Vec<u8> {
        let entries: Vec<u8> = self.entries.iter().flat_map(|it| it.bytes()).collect();
        let packed = pack(&entries);
        let mut bytes = MAGIC.to_vec();
        bytes.extend(crc32fast::hash(&packed).to_le_bytes());
        bytes.extend(packed);
        bytes
    }

    /// The positions that the start position leads to, with scores and proofs as they were backed up;
    /// `None` for a Polyglot book, which has none.
    pub fn graph(&self) -> Option<Graph> {
        let mut graph = Graph::new(Position::default());
        let insert = |position: &Position, entries: &[PolyglotEntry]| {
            let candidates = entries.iter().filter_map(|it| candidate(*it, position));
            graph.insert(position, &candidates.collect::<Vec<Candidate>>());
            Ok(())
        };
        self.has_scores
            .then(|| self.walk(usize::MAX, insert).ok())??;
        Some(graph)
    }

    /// The positions that the start position leads to.
    pub fn positions(&self) -> Vec<Position> {
        let mut positions = Vec::new();
        // It never fails.
        let _ = self.walk(usize::MAX, |position, _| {
            positions.push(*position);
            Ok(())
        });
        positions
    }

    /// How many moves it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The legal moves for this position.
    pub fn moves(&self, position: &Position) -> Vec<BookMove> {
        let entries = self.entries(position).iter();
        entries
            .filter_map(|entry| {
                Some(BookMove {
                    mv: entry.mv(position)?,
                    weight: u32::from(entry.weight),
                })
            })
            .collect()
    }

    fn entries(&self, position: &Position) -> &[PolyglotEntry] {
        let key = key(position);
        let from = self.entries.partition_point(|entry| entry.key < key);
        let rest = &self.entries[from..];
        &rest[..rest.partition_point(|entry| entry.key == key)]
    }

    /// Visits the positions that the start position leads to, by moves of the book or others.
    fn walk(
        &self,
        most: usize,
        mut visit: impl FnMut(&Position, &[PolyglotEntry]) -> Result<(), BookError>,
    ) -> Result<usize, BookError> {
        let (mut visited, mut looked_at) = (0, 0);
        // Most positions are not in it: their keys rarely begin as one of its own.
        let mut beginnings = vec![false; 1 << BEGINNING_BITS];
        let beginning = |key: u64| (key >> (64 - BEGINNING_BITS)) as usize;
        for entry in &self.entries {
            beginnings[beginning(entry.key)] = true;
        }
        let may_have = |position: &Position| beginnings[beginning(key(position))];
        let start = Position::default();
        let mut seen = HashSet::from([start.key()]);
        let mut waiting = VecDeque::from([start]);
        while let Some(position) = waiting.pop_front() {
            let entries = self.entries(&position);
            if !entries.is_empty() {
                visit(&position, entries)?;
                visited += 1;
            }
            looked_at += 1;
            if visited >= most || looked_at >= most.saturating_mul(LOOKED_AT / CHECKED) {
                break;
            }
            let played: Vec<Move> = entries.iter().filter_map(|it| it.mv(&position)).collect();
            for mv in position.legal_moves() {
                let after = position.play(mv);
                // Where the book has no entries it may answer the replies.
                let leads_on =
                    played.contains(&mv) || may_have(&after) && !self.entries(&after).is_empty();
                if leads_on && after.outcome().is_none() && seen.insert(after.key()) {
                    waiting.push_back(after);
                }
            }
        }
        Ok(visited)
    }

    /// What is wrong with the moves.
    fn check(&self) -> Result<(), BookError> {
        // Captures that the book goes on after: by the rules of atomic, and of standard chess.
        let (mut atomic, mut standard) = (0, 0);
        let mut first = None;
        let visited = self.walk(CHECKED, |position, entries| {
            for entry in entries {
                let (uci, fen) = (entry.uci(), position.fen());
                let Some(mv) = entry.mv(position) else {
                    return Err(BookError::Illegal { mv: uci, fen });
                };
                if self.has_scores || !position.occupied().contains(mv.to()) || mv.is_castling() {
                    continue;
                }
                if !self.entries(&position.play(mv)).is_empty() {
                    atomic += 1;
                } else if standard_key(position, mv).is_some_and(|key| self.has(key)) {
                    standard += 1;
                    first.get_or_insert(BookError::Variant { mv: uci, fen });
                }
            }
            Ok(())
        })?;
        match first {
            Some(variant) if standard > atomic => Err(variant),
            _ if visited == 0 => Err(BookError::Keys),
            _ => Ok(()),
        }
    }

    fn has(&self, key: u64) -> bool {
        self.entries.binary_search_by_key(&key, |it| it.key).is_ok()
    }
}

fn pack(entries: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    let packed = encoder.write_all(entries).and_then(|()| encoder.finish());
    packed.expect("memory takes all bytes")
}

fn unpack(bytes: &[u8]) -> Result<Vec<u8>, BookError> {
    let (header, packed) = bytes.split_at_checked(HEADER).ok_or(BookError::Damaged)?;
    if header[MAGIC.len()..] != crc32fast::hash(packed).to_le_bytes() {
        return Err(BookError::Damaged);
    }
    let mut entries = Vec::new();
    let read = DeflateDecoder::new(packed)
        .take((MOST_ENTRIES * ENTRY_BYTES) as u64)
        .read_to_end(&mut entries);
    read.map_err(|_| BookError::Damaged)?;
    Ok(entries)
}

/// The learning field: score (i16), half-moves to a win or, negative, to a loss (i8), visits (u8).
fn learn(candidate: &Candidate, visits: u8) -> u32 {
    let plies = |plies: u16| plies.min(127) as i8;
    let proof = match (candidate.win_in, candidate.loss_in) {
        (Some(win), _) => plies(win),
        (None, Some(loss)) => -plies(loss),
        (None, None) => 0,
    };
    let score = candidate.score as i16;
    u32::from(score.cast_unsigned()) << 16
        | u32::from(proof.cast_unsigned()) << 8
        | u32::from(visits)
}

fn candidate(entry: PolyglotEntry, position: &Position) -> Option<Candidate> {
    let proof = ((entry.learn >> 8) as u8).cast_signed();
    let plies = u16::from(proof.unsigned_abs());
    Some(Candidate {
        mv: entry.mv(position)?,
        score: i32::from(((entry.learn >> 16) as u16).cast_signed()),
        win_in: (proof > 0).then_some(plies),
        loss_in: (proof < 0).then_some(plies),
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;
    use crate::rules::Game;

    fn after(moves: &str) -> Position {
        *Game::from_uci_moves(moves).unwrap().position()
    }

    fn plain(position: &Position, uci: &str, score: i32) -> Candidate {
        Candidate {
            mv: position.parse_uci(uci).unwrap(),
            score,
            win_in: None,
            loss_in: None,
        }
    }

    fn graph(positions: &[(&str, &[(&str, i32)])]) -> Graph {
        let mut graph = Graph::new(Position::default());
        for (moves, candidates) in positions {
            let position = after(moves);
            let candidates = candidates
                .iter()
                .map(|(uci, score)| plain(&position, uci, *score));
            graph.insert(&position, &candidates.collect::<Vec<_>>());
        }
        graph
    }

    fn small() -> Graph {
        graph(&[
            ("", &[("g1f3", 60), ("g1h3", 50), ("e2e4", 40)]),
            ("g1f3", &[("f7f6", -60), ("e7e5", -200)]),
            ("g1h3", &[("h7h6", -50)]),
            ("g1f3 f7f6", &[("e2e3", 60)]),
        ])
    }

    fn played(book: &BookFile, moves: &str) -> Vec<(String, u32)> {
        let moves = book.moves(&after(moves)).into_iter();
        let played = moves.filter(|it| it.weight > 0);
        let mut played: Vec<_> = played.map(|it| (it.mv.to_string(), it.weight)).collect();
        played.sort();
        played
    }

    /// A Polyglot file with these moves, legal or not.
    fn polyglot(entries: &[(Position, u16)]) -> Vec<u8> {
        let entry = |(position, bits): &(Position, u16)| PolyglotEntry {
            key: key(position),
            bits: *bits,
            weight: 1,
            learn: 0,
        };
        let mut entries: Vec<PolyglotEntry> = entries.iter().map(entry).collect();
        entries.sort_unstable();
        entries.into_iter().flat_map(PolyglotEntry::bytes).collect()
    }

    fn bits(uci: &str) -> u16 {
        let square = |text: &str| text.parse::<crate::rules::Square>().unwrap().index() as u16;
        square(&uci[..2]) << 6 | square(&uci[2..4])
    }

    #[test]
    fn keys_are_those_that_the_format_publishes() {
        for (moves, expected) in [
            ("", 0x463b_9618_1691_fc9c),
            ("e2e4", 0x823c_9b50_fd11_4196),
            ("e2e4 d7d5", 0x0756_b944_61c5_0fb0),
            ("e2e4 d7d5 e4e5", 0x662f_afb9_65db_29d4),
            ("e2e4 d7d5 e4e5 f7f5", 0x22a4_8b5a_8e47_ff78),
            ("e2e4 d7d5 e4e5 f7f5 e1e2", 0x652a_607c_a3f2_42c1),
            ("e2e4 d7d5 e4e5 f7f5 e1e2 e8f7", 0x00fd_d303_c946_bdd9),
            ("a2a4 b7b5 h2h4 b5b4 c2c4", 0x3c81_23ea_7b06_7637),
        ] {
            assert_eq!(key(&after(moves)), expected, "{moves}");
        }
    }

    #[test]
    fn a_move_is_played_if_it_is_about_as_good_as_the_best_and_was_searched_further() {
        let book = BookFile::from_graph(&small(), 1);
        let both = [("g1f3".to_owned(), 16), ("g1h3".to_owned(), 6)];
        assert_eq!(played(&book, ""), both, "nothing was searched after e2e4");
        assert_eq!(played(&book, "g1f3"), [("f7f6".to_owned(), 16)]);
        let deeper = BookFile::from_graph(&small(), 2);
        assert_eq!(played(&deeper, ""), [("g1f3".to_owned(), 16)]);
        assert!(played(&deeper, "g1f3 f7f6").is_empty());
    }

    #[test]
    fn nothing_is_played_where_a_better_move_was_not_searched_further() {
        let unsure = graph(&[
            ("", &[("g1f3", 60), ("e2e4", 300)]),
            ("g1f3", &[("f7f6", -60)]),
        ]);
        let book = BookFile::from_graph(&unsure, 1);
        assert!(played(&book, "").is_empty(), "{:?}", played(&book, ""));
    }

    #[test]
    fn nothing_but_the_shortest_proved_win_is_played_and_no_proved_loss() {
        let mut graph = small();
        let start = Position::default();
        let won = |uci, plies| Candidate {
            win_in: Some(plies),
            ..plain(&start, uci, 900)
        };
        graph.insert(
            &start,
            &[won("e2e4", 9), won("g1h3", 7), plain(&start, "g1f3", 2000)],
        );
        let book = BookFile::from_graph(&graph, 0);
        assert_eq!(played(&book, ""), [("g1h3".to_owned(), 16)]);
        let lost = |uci| Candidate {
            loss_in: Some(8),
            ..plain(&start, uci, -900)
        };
        graph.insert(&start, &[lost("e2e4"), plain(&start, "a2a3", -300)]);
        let book = BookFile::from_graph(&graph, 0);
        assert_eq!(played(&book, ""), [("a2a3".to_owned(), 16)]);
    }

    #[test]
    fn a_book_reads_back_with_its_scores_and_proofs() {
        let mut graph = small();
        let reply = after("g1h3");
        let lost = Candidate {
            loss_in: Some(12),
            ..plain(&reply, "e7e5", -800)
        };
        graph.insert(&reply, &[plain(&reply, "h7h6", -50), lost]);
        let book = BookFile::from_graph(&graph, 1);
        let read = BookFile::read(&book.bytes()).unwrap();
        let again = read.graph().expect("it has scores");
        assert_eq!(again.len(), graph.len());
        for position in graph.positions() {
            assert_eq!(again.candidates(position), graph.candidates(position));
        }
        let plain = BookFile::read(&book.polyglot()).unwrap();
        assert_eq!(played(&plain, ""), played(&book, ""));
        assert!(plain.graph().is_none(), "a Polyglot book has no scores");
    }

    #[test]
    fn a_book_cut_at_any_byte_or_damaged_is_refused() {
        let bytes = BookFile::from_graph(&small(), 0).bytes();
        for cut in 0..bytes.len() {
            assert!(BookFile::read(&bytes[..cut]).is_err(), "cut at {cut}");
            let mut damaged = bytes.clone();
            damaged[cut] ^= 4;
            assert!(BookFile::read(&damaged).is_err(), "damaged at {cut}");
        }
        let bytes = BookFile::from_graph(&small(), 0).polyglot();
        for cut in 0..bytes.len() {
            let whole = cut > 0 && cut % ENTRY_BYTES == 0;
            let read = BookFile::read(&bytes[..cut]);
            assert!(whole || read.is_err(), "cut at {cut}: {read:?}");
        }
        assert_eq!(BookFile::read(&[]).unwrap_err(), BookError::Empty);
    }

    #[test]
    fn an_illegal_move_wrong_keys_and_wrong_order_are_named() {
        let start = Position::default();
        let illegal = polyglot(&[(start, bits("e2e5"))]);
        let error = BookFile::read(&illegal).unwrap_err().to_string();
        assert!(error.starts_with("e2e5 is not legal in rnbq"), "{error}");
        let mut wrong = polyglot(&[(start, bits("e2e4"))]);
        wrong[3] ^= 1;
        assert_eq!(BookFile::read(&wrong).unwrap_err(), BookError::Keys);
        let mut entries = polyglot(&[(start, bits("e2e4")), (after("e2e4"), bits("e7e5"))]);
        entries.rotate_left(ENTRY_BYTES);
        assert_eq!(BookFile::read(&entries).unwrap_err(), BookError::Order(2));
    }

    #[test]
    fn a_book_of_standard_chess_is_refused_and_one_of_atomic_is_not() {
        // 1. e4 d5 2. exd5: in standard chess the pawn is on d5, in atomic it is gone.
        let (start, pawn, both) = (Position::default(), after("e2e4"), after("e2e4 d7d5"));
        let theory = [
            (start, bits("e2e4")),
            (pawn, bits("d7d5")),
            (both, bits("e4d5")),
        ];
        let standard =
            Position::from_fen("rnbqkbnr/ppp1pppp/8/3P4/8/8/PPPP1PPP/RNBQKBNR b KQkq - 0 2")
                .unwrap();
        let continued = [&theory[..], &[(standard, bits("d8d5"))]].concat();
        let error = BookFile::read(&polyglot(&continued)).unwrap_err();
        assert!(
            matches!(&error, BookError::Variant { mv, .. } if mv == "e4d5"),
            "{error}"
        );
        let atomic = after("e2e4 d7d5 e4d5");
        let continued = [&theory[..], &[(atomic, bits("d8d2"))]].concat();
        BookFile::read(&polyglot(&continued)).unwrap();
    }

    #[test]
    fn castling_is_written_as_king_takes_rook_and_read_in_both_spellings() {
        let line = "g1f3 a7a6 e2e3 b7b6 f1e2 h7h6";
        let position = after(line);
        for spelling in ["e1h1", "e1g1"] {
            let entry = PolyglotEntry {
                key: key(&position),
                bits: bits(spelling),
                weight: 1,
                learn: 0,
            };
            let mv = entry.mv(&position).expect("castling");
            assert!(mv.is_castling());
            assert_eq!(PolyglotEntry::new(&position, mv, 1, 0).bits, bits("e1h1"));
        }
    }

    #[test]
    fn a_book_for_one_colour_is_a_book() {
        for line in ["", "g1f3"] {
            let position = after(line);
            let mv = position.legal_moves()[0];
            let bytes = PolyglotEntry::new(&position, mv, 1, 0).bytes();
            assert_eq!(BookFile::read(&bytes).unwrap().len(), 1, "{line:?}");
        }
    }

    #[test]
    fn a_position_that_another_move_leads_to_belongs_to_the_book() {
        let line = [("", "g1f3"), ("g1f3", "f7f6"), ("g1f3 d7d5", "f3e5")];
        let entries = line.map(|(before, uci)| {
            let position = after(before);
            let mv = position.parse_uci(uci).unwrap();
            PolyglotEntry::new(&position, mv, 1, 0)
        });
        let mut entries = entries.map(PolyglotEntry::bytes);
        entries.sort_unstable();
        let book = BookFile::read(&entries.concat()).unwrap();
        assert_eq!(book.positions().len(), 3);
    }

    #[test]
    fn the_book_in_the_program_is_sound_and_knows_the_refutations_of_theory() {
        let bytes = include_bytes!("../../assets/book/starter.book");
        assert!(bytes.len() < 2 << 20);
        let book = BookFile::read(bytes).unwrap();
        let graph = book.graph().expect("it has scores");
        assert!(graph.len() >= 20_000, "{}", graph.len());
        let mut best = String::new();
        for moves in ["g1f3", "g1f3 d7d5", "g1f3 e7e5"] {
            let first = graph.candidates(&after(moves))[0].mv;
            write!(best, "{first} ").unwrap();
        }
        assert_eq!(best, "f7f6 f3e5 f3g5 ");
        assert!(!played(&book, "").is_empty());
        for position in graph.positions() {
            let candidates = graph.candidates(position);
            let best = candidates[0].score;
            for played in book.moves(position).iter().filter(|it| it.weight > 0) {
                let same = candidates.iter().find(|it| it.mv == played.mv).unwrap();
                let loss = best - same.score;
                assert!(
                    loss <= SOFT,
                    "{} loses {loss} in {}",
                    same.mv,
                    position.fen()
                );
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), own in any::<bool>()) {
            if own {
                bytes.splice(0..0, *MAGIC);
            }
            if let Ok(book) = BookFile::read(&bytes) {
                let start = Position::default();
                prop_assert!(book.moves(&start).iter().all(|it| start.is_legal(it.mv)));
            }
        }
    }
}
