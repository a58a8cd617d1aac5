//! Folders as they should not be: whatever a file holds, the answer is `None` at worst.
//!
//! That good tables answer rightly is tested with the engine (`tests/engine/tables.rs`).

use std::fs;
use std::io::Write as _;

use super::*;

/// White queen and bare kings.
const QUEEN: &str = "7k/8/8/8/8/8/8/KQ6 w - - 0 1";

fn at(fen: &str) -> Position {
    Position::from_fen(fen).unwrap()
}

/// The shared tables of three and four pieces, if they are there.
fn shared() -> Option<PathBuf> {
    let shared = std::env::var_os("MEGATON_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")),
        PathBuf::from,
    );
    let folder = shared.join("syzygy/atomic");
    if folder.is_dir() {
        return Some(folder);
    }
    writeln!(io::stderr(), "SKIPPED broken tables: no shared data").unwrap();
    None
}

#[test]
fn a_folder_must_exist_and_hold_tables() {
    let error = Syzygy::open(&["/no/such/folder"]).unwrap_err().to_string();
    assert!(error.starts_with("/no/such/folder: "), "{error}");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "none").unwrap();
    fs::write(folder.path().join("KQvK.rtbw"), "chess").unwrap();
    let error = Syzygy::open(&[folder.path()]).unwrap_err();
    assert!(error.to_string().contains("no atomic tables"), "{error}");
    let none: [&Path; 0] = [];
    assert_eq!(Syzygy::open(&none).unwrap().found(), FoundTables::default());
}

#[test]
fn a_folder_without_tables_costs_the_others_nothing() {
    let (empty, good) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(good.path().join("KQvK.atbw"), [7; 64 + 16]).unwrap();
    let missing = Path::new("/no/such/folder");
    let syzygy = Syzygy::open_available(&[missing, empty.path(), good.path()]);
    assert_eq!((syzygy.found().outcomes, syzygy.most_pieces()), (1, 3));
    let state = syzygy.state();
    assert_eq!(state.faulty, 2);
    assert!(
        state.faults[0].starts_with("/no/such/folder: "),
        "{state:?}"
    );
    assert!(state.faults[1].contains("no atomic tables"), "{state:?}");
}

#[test]
fn a_file_of_a_wrong_size_is_skipped_and_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("KQvK.atbw"), [0; 10]).unwrap();
    let syzygy = Syzygy::open(&[folder.path()]).unwrap();
    assert_eq!(syzygy.found(), FoundTables::default());
    assert!(syzygy.refused()[0].contains("KQvK.atbw"));
    let state = syzygy.state();
    assert_eq!(
        (state.faults.as_slice(), state.faulty),
        (syzygy.refused(), 1)
    );
    assert_eq!(syzygy.wdl(&at(QUEEN)), None);
}

#[test]
fn a_faulty_table_is_probed_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("KQvK.atbw");
    fs::write(&path, [7; 64 + 16]).unwrap();
    let syzygy = Syzygy::open(&[folder.path()]).unwrap();
    assert_eq!(syzygy.found().outcomes, 1);
    assert_eq!(syzygy.most_pieces(), 3);
    let table = |syzygy: &Syzygy| {
        let material = Material::named("KQvK").unwrap();
        syzygy.known[&material].outcomes.is_sound()
    };
    assert!(table(&syzygy));
    assert!(syzygy.state().faults.is_empty());
    assert_eq!(syzygy.wdl(&at(QUEEN)), None);
    assert!(!table(&syzygy));
    let state = syzygy.state();
    assert_eq!((state.outcomes, state.most_pieces), (1, 3));
    assert_eq!(state.faults.len(), 1);
    assert!(state.faults[0].starts_with("KQvK.atbw: "), "{state:?}");
    assert_eq!(syzygy.wdl(&at(QUEEN)), None);
    assert_eq!(syzygy.dtz(&at(QUEEN)), None);
}

#[test]
fn tables_made_useless_by_another_are_counted() {
    let Some(from) = shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in ["KPvK", "KQvK", "KRvK", "KBvK", "KNvK"] {
        for ending in [OUTCOMES, DISTANCES] {
            let file = format!("{name}.{ending}");
            fs::copy(from.join(&file), folder.path().join(file)).unwrap();
        }
    }
    fs::write(folder.path().join("KQvK.atbw"), [7; 64 + 16]).unwrap();
    fs::write(folder.path().join("KQQvK.atbw"), [0; 10]).unwrap();
    let syzygy = Syzygy::open(&[folder.path()]).unwrap();
    assert_eq!(syzygy.state().faulty, 1, "the one of a wrong size");
    // The distance leads over the queen that the pawn becomes.
    let promotes = at("8/P7/8/8/7k/8/8/K7 w - - 0 1");
    assert_eq!(syzygy.wdl(&promotes), Some(Wdl::Win));
    assert_eq!(syzygy.dtz(&promotes), None);
    let state = syzygy.state();
    assert_eq!((state.outcomes, state.distances), (5, 5));
    assert_eq!(state.faults.len(), 2, "{state:?}");
    // Outcomes and distances of the queen, distances of the pawn, and the one of a wrong size.
    assert_eq!(state.faulty, 4, "{state:?}");
}

#[test]
fn dtz_without_wdl_is_useless() {
    let Some(from) = shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::copy(from.join("KQvK.atbz"), folder.path().join("KQvK.atbz")).unwrap();
    let syzygy = Syzygy::open(&[folder.path()]).unwrap();
    assert_eq!((syzygy.most_pieces(), syzygy.found().distances), (0, 1));
    assert_eq!(syzygy.wdl(&at(QUEEN)), None);
    assert_eq!(syzygy.dtz(&at(QUEEN)), None);
}

/// Positions that reach most parts of a few tables.
fn questions() -> Vec<Position> {
    let mut fens = vec![QUEEN.to_owned()];
    for square in ["8/8/8", "8/1P6/8", "8/4P3/8", "6P1/8/8", "8/8/P7"] {
        for turn in ["w", "b"] {
            fens.push(format!("7k/{square}/8/8/8/KQ6 {turn} - - 0 1"));
            fens.push(format!("7k/{square}/8/3q4/8/K7 {turn} - - 0 1"));
        }
    }
    let parsed = fens.iter().filter_map(|fen| Position::from_fen(fen).ok());
    parsed.collect()
}

#[test]
fn a_damaged_file_costs_no_more_than_an_answer() {
    let Some(from) = shared() else { return };
    let names = ["KQvK", "KPvK", "KQPvK", "KQvKP", "KQQvK", "KRPvK", "KQvKQ"];
    let mut rng = fastrand::Rng::with_seed(1);
    for round in 0..60 {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            for ending in [OUTCOMES, DISTANCES] {
                let file = format!("{name}.{ending}");
                let mut bytes = fs::read(from.join(&file)).unwrap();
                if round % 3 == 0 {
                    let left = rng.usize(1..=bytes.len() / 64) * 64 - 48;
                    bytes.truncate(left);
                } else {
                    let reach = if round % 3 == 1 { 300 } else { bytes.len() };
                    for _ in 0..20 {
                        let place = rng.usize(4..reach.min(bytes.len()));
                        bytes[place] = rng.u8(..);
                    }
                }
                fs::write(folder.path().join(file), bytes).unwrap();
            }
        }
        let syzygy = Syzygy::open(&[folder.path()]).unwrap();
        for position in questions() {
            let _ = (syzygy.wdl(&position), syzygy.dtz(&position));
        }
    }
}

#[test]
fn a_file_that_shrinks_under_its_reader_is_an_error() {
    let Some(from) = shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("KQvK.atbw");
    fs::copy(from.join("KQvK.atbw"), &path).unwrap();
    let syzygy = Syzygy::open(&[folder.path()]).unwrap();
    assert_eq!(syzygy.wdl(&at(QUEEN)), Some(Wdl::Win));
    fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(16)
        .unwrap();
    assert_eq!(syzygy.wdl(&at(QUEEN)), None);
}
