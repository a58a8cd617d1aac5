//! The built-in tables: consistent in themselves, equal to Syzygy tables where those are at hand, and
//! silent rather than wrong where their bytes are broken.

use std::io::Write as _;
use std::path::PathBuf;

use super::file::MAGIC;
use super::*;
use crate::tablebase::Syzygy;

fn at(fen: &str) -> Position {
    Position::from_fen(fen).unwrap()
}

fn built_in() -> Vec<u8> {
    include_bytes!("../../../assets/tables/outcomes.bin").to_vec()
}

fn of_bytes(bytes: Vec<u8>) -> Result<OutcomeTables, OutcomeFileError> {
    OutcomeTables::new(&FileBytes::Read(bytes))
}

/// The shared Syzygy tables of three and four pieces, if they are there.
fn syzygy() -> Option<Syzygy> {
    let shared = std::env::var_os("MEGATON_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")),
        PathBuf::from,
    );
    let found = Syzygy::open(&[shared.join("syzygy/atomic")]).ok();
    if found.is_none() {
        writeln!(
            io::stderr(),
            "SKIPPED Syzygy beside our tables: no shared data"
        )
        .unwrap();
    }
    found
}

/// Checks one of so many positions of every table.
fn check(step: usize, reference: Option<&dyn TablebaseProbe>) -> u64 {
    let tables = OutcomeTables::built_in();
    let extent = Extent {
        step,
        played_step: 1,
        reference,
    };
    let reports = (0..OUTCOME_TABLES).map(|table| tables.check(table, extent).unwrap());
    reports
        .map(|report| {
            assert_eq!(report.errors, [""; 0], "{}", report.name);
            report.played
        })
        .sum()
}

#[test]
fn every_value_is_the_best_of_its_moves() {
    assert!(check(9973, None) > 5000);
}

#[test]
fn values_are_those_of_the_syzygy_tables() {
    if let Some(syzygy) = syzygy() {
        check(19_997, Some(&syzygy));
    }
}

#[test]
fn the_file_is_complete_and_small() {
    let tables = OutcomeTables::built_in();
    assert_eq!((tables.found(), tables.faults()), (35, &[][..]));
    assert!(built_in().len() < 1_300_000);
}

#[test]
fn one_ply_is_resolved_before_a_table_is_probed() {
    let tables = OutcomeTables::built_in();
    for (fen, wdl) in [
        // Bare kings, and pieces that the rules call insufficient.
        ("8/8/4k3/8/8/3K4/8/8 w - - 0 1", Wdl::Draw),
        ("8/8/4k3/8/8/3K4/8/5NN1 w - - 0 1", Wdl::Draw),
        ("8/8/8/8/8/1p1R4/k7/1K6 w - - 0 1", Wdl::Win),
        ("8/8/4k3/8/8/3K4/8/3Q4 w - - 0 1", Wdl::Win),
        ("8/8/4k3/8/8/3K4/8/3Q4 b - - 0 1", Wdl::Draw),
        ("4k3/4Q3/8/8/8/8/8/4K3 b - - 0 1", Wdl::Loss),
    ] {
        assert_eq!(tables.wdl(&at(fen)), Some(wdl), "{fen}");
    }
    for fen in [
        "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    ] {
        assert_eq!(tables.wdl(&at(fen)), None, "{fen}");
    }
}

/// The table knows the position without the capture en passant, which is never worse than a draw.
#[test]
fn a_position_with_a_capture_en_passant_has_the_value_of_its_best_move() {
    let tables = OutcomeTables::built_in();
    let mut rng = fastrand::Rng::with_seed(11);
    let mut counts = [0; 5];
    while counts.iter().sum::<usize>() < 2000 {
        let file = rng.u8(0..8);
        let beside = if rng.bool() {
            file + 1
        } else {
            file.wrapping_sub(1)
        };
        if beside > 7 {
            continue;
        }
        let mut board = [b'1'; 64];
        let mut put = |square: usize, letter: u8| {
            let is_free = board[square] == b'1';
            board[square] = letter;
            is_free
        };
        let squares = [
            (usize::from(file) + 24, b'P'),
            (usize::from(beside) + 24, b'p'),
            (rng.usize(0..64), b'K'),
            (rng.usize(0..64), b'k'),
        ];
        if !squares
            .into_iter()
            .all(|(square, letter)| put(square, letter))
        {
            continue;
        }
        let ranks: Vec<&str> = board
            .rchunks(8)
            .map(|rank| std::str::from_utf8(rank).unwrap())
            .collect();
        let fen = format!("{} b - {}3 0 1", ranks.join("/"), char::from(b'a' + file));
        let Ok(position) = Position::from_fen(&fen) else {
            continue;
        };
        if position.ep_square().is_none() {
            continue;
        }
        let wdl = tables.wdl(&position).unwrap();
        let best = position.legal_moves().into_iter().map(|mv| {
            let child = position.play(mv);
            match child.outcome() {
                Some(crate::rules::Outcome::Win { .. }) => Wdl::Win,
                Some(crate::rules::Outcome::Draw(_)) => Wdl::Draw,
                None => tables.wdl(&child).unwrap().reversed(),
            }
        });
        assert_eq!(Some(wdl), best.max(), "{fen}");
        counts[(wdl as i8 + 2) as usize] += 1;
    }
    assert!(counts[2] > 0 && counts[4] > 0, "{counts:?}");
}

#[test]
fn a_broken_file_is_named_and_answers_what_it_can() {
    let bytes = built_in();
    let error = |bytes: &[u8]| of_bytes(bytes.to_vec()).unwrap_err();
    assert_eq!(error(b""), OutcomeFileError::Unknown);
    assert_eq!(error(b"MGTNWDL9 and more"), OutcomeFileError::Unknown);
    assert_eq!(error(&bytes[..100]), OutcomeFileError::Cut);

    let queen = at("8/8/4k3/8/8/3K4/8/3Q4 w - - 0 1");
    let pawns = at("8/8/4k3/p7/8/3K3P/8/8 w - - 0 1");
    let cut = of_bytes(bytes[..bytes.len() - 9].to_vec()).unwrap();
    assert_eq!(cut.faults(), ["KPvKP: the file is cut"]);
    assert_eq!(cut.wdl(&queen), Some(Wdl::Win));
    assert_eq!(cut.wdl(&pawns), None);

    let mut swapped = bytes.clone();
    let last = swapped.len() - 9;
    swapped[last] ^= 4;
    let swapped = of_bytes(swapped).unwrap();
    assert_eq!(swapped.faults(), ["KPvKP: its checksum is wrong"]);
    assert_eq!((swapped.found(), swapped.wdl(&pawns)), (34, None));
    assert_eq!(swapped.state().faulty, 1);

    // A table is missed even if the name of a damaged one begins with its own.
    let damaged = NAMES.iter().position(|&name| name == "KQvKQ").unwrap();
    let directory = [1, damaged as u8, 1, 0, 0, 0, 0, 0, 0, 0];
    let one = of_bytes([MAGIC.as_slice(), &directory, b"?"].concat()).unwrap();
    assert_eq!(one.faults().len(), NAMES.len(), "{:?}", one.faults());
}

/// A reader of Syzygy files may find one ply less, where they hold rounded numbers.
#[test]
fn computed_distances_are_those_of_the_syzygy_tables() {
    let Some(syzygy) = syzygy() else { return };
    let tables = OutcomeTables::built_in();
    for (name, step) in [("KQvK", 7), ("KPvKP", 11)] {
        let layout = layout::Layout::new(name);
        // One slice: all squares of the other pieces.
        let slice = layout.slice_start(layout.size() / 3);
        for index in (slice..slice + layout.slice_size()).step_by(step) {
            let squares = layout.squares(index);
            let pieces: Vec<_> = layout.pieces().iter().copied().zip(squares).collect();
            for turn in Color::ALL {
                let Ok(position) = Position::from_pieces(&pieces, turn) else {
                    continue;
                };
                let computed = tables.computed_dtz(&position, &|| false);
                let computed = computed.unwrap().plies;
                let read = syzygy.dtz(&position).unwrap().plies;
                let is_same = computed == read || computed == read + read.signum();
                let is_over = position.outcome().is_some();
                assert!(is_same || is_over, "{}: {computed}, {read}", position.fen());
            }
        }
    }
}

/// Every position of a side that is lost, but saved by the fifty moves.
fn blessed_losses() -> Vec<Position> {
    let tables = OutcomeTables::built_in();
    let layout = layout::Layout::new("KRvKP");
    let positions = (0..layout.size()).flat_map(|index| {
        let squares = layout.squares(index);
        let pieces: Vec<_> = layout.pieces().iter().copied().zip(squares).collect();
        Color::ALL.map(|turn| Position::from_pieces(&pieces, turn).ok())
    });
    let is_blessed = |position: &Position| tables.wdl(position) == Some(Wdl::BlessedLoss);
    positions.flatten().filter(is_blessed).collect()
}

/// A loss that the fifty moves save is farther than a hundred plies: one more than what the best defence
/// leaves, or than a hundred if that is a pawn move into a win that comes too late.
#[test]
fn the_distance_of_a_blessed_loss_exceeds_the_fifty_moves() {
    let tables = OutcomeTables::built_in();
    let syzygy = syzygy();
    let distance = |position: &Position| tables.computed_dtz(position, &|| false).unwrap().plies;
    let blessed = blessed_losses();
    assert_eq!(blessed.len(), 83, "docs/tables.md");
    for position in blessed {
        let plies = distance(&position);
        assert!(plies < -100, "{}: {plies}", position.fen());
        let moves = position.legal_moves();
        let children = moves.iter().map(|&mv| position.play(mv));
        let best = children.map(|child| match tables.wdl(&child).unwrap() {
            Wdl::CursedWin if child.halfmove_clock() == 0 => 100,
            Wdl::Win if child.halfmove_clock() == 0 => 0,
            Wdl::CursedWin | Wdl::Win => distance(&child),
            better => panic!("{better:?} for the other side"),
        });
        assert_eq!(Some(-plies - 1), best.max(), "{}", position.fen());
        if let Some(syzygy) = &syzygy {
            let read = syzygy.dtz(&position).unwrap();
            assert!(
                plies == read.plies || plies == read.plies - 1,
                "{plies} {read:?}"
            );
        }
    }
}

/// Won endings, each of another slice.
const SLICES: [&str; 5] = [
    "8/8/4k3/8/8/3K4/6PP/8 w - - 0 1",
    "8/8/4k3/8/8/3K4/5PP1/8 w - - 0 1",
    "8/8/1k6/8/6p1/2K3R1/8/8 w - - 0 1",
    "8/8/4k3/p7/8/3K3P/8/8 w - - 0 1",
    "8/8/4k3/8/p7/3K4/7P/8 w - - 0 1",
];

/// A slice that makes room for another one as soon as it is solved is there for those who waited.
#[test]
fn more_searches_than_kept_slices_all_get_their_distances() {
    let tables = OutcomeTables::new(&FileBytes::Read(built_in())).unwrap();
    std::thread::scope(|scope| {
        for fen in SLICES.into_iter().chain(SLICES) {
            let tables = &tables;
            scope.spawn(move || {
                let dtz = tables.computed_dtz(&at(fen), &|| false);
                assert!(dtz.is_some(), "{fen}");
            });
        }
    });
}

/// However many endings a bot reaches, what it keeps of them stays small.
#[test]
fn solved_distances_are_kept_for_two_slices_only() {
    let tables = OutcomeTables::new(&FileBytes::Read(built_in())).unwrap();
    for fen in SLICES {
        let dtz = tables.computed_dtz(&at(fen), &|| false);
        assert!(dtz.is_some(), "{fen}");
        let (slices, bytes) = tables.distances.kept();
        assert!(slices <= 2 && bytes <= 10 << 20, "{fen}: {slices} {bytes}");
    }
}

/// Even bytes with a right checksum may be nonsense.
#[test]
fn nonsense_with_a_right_checksum_makes_no_panic() {
    let mut rng = fastrand::Rng::with_seed(5);
    let position = at("8/8/4k3/8/8/3K4/8/3Q4 w - - 0 1");
    let whole = built_in();
    let length = u32::from_le_bytes(whole[10..14].try_into().unwrap()) as usize;
    let start = 9 + 35 * 9;
    for _ in 0..300 {
        let mut table = whole[start..start + length].to_vec();
        for _ in 0..rng.usize(1..20) {
            let at = rng.usize(0..table.len());
            table[at] = rng.u8(..);
        }
        table.truncate(rng.usize(0..=table.len()));
        let mut bytes = b"MGTNWDL1\x01\x00".to_vec();
        bytes.extend((table.len() as u32).to_le_bytes());
        bytes.extend(crc32fast::hash(&table).to_le_bytes());
        bytes.extend(table);
        of_bytes(bytes).unwrap().wdl(&position);
    }
}
