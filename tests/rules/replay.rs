//! The fuzz corpora, replayed as an ordinary test, each entry also with a few bytes changed.

use std::path::Path;

use fastrand::Rng;

use crate::{fuzz_targets, sampling};

fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz/corpus")
        .join(target);
    let mut rng = Rng::with_seed(sampling::seed(target));
    let mut entries = 0;
    for entry in std::fs::read_dir(&folder).expect("the corpus is committed") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("readable");
        run(&bytes);
        for _ in 0..200 {
            let mut changed = bytes.clone();
            for _ in 0..rng.usize(1..4) {
                let at = rng.usize(..=changed.len());
                match rng.u8(..3) {
                    0 => changed.insert(at, rng.u8(..)),
                    1 if at < changed.len() => drop(changed.remove(at)),
                    _ if at < changed.len() => changed[at] = rng.u8(..),
                    _ => {}
                }
            }
            run(&changed);
        }
        entries += 1;
    }
    assert!(entries > 0, "{} is empty", folder.display());
}

#[test]
fn the_fen_corpus_replays() {
    replay("fen", fuzz_targets::fen);
}

#[test]
fn the_notation_corpus_replays() {
    replay("notation", fuzz_targets::notation);
}
