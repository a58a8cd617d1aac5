//! The fuzz corpora of the streams, replayed as an ordinary test, each entry also damaged.

use std::path::Path;

use fastrand::Rng;

use crate::fuzz_targets;

fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    let folder = folder.join(target);
    let mut rng = Rng::with_seed(0x5eed);
    let mut entries = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        run(&bytes);
        for _ in 0..500 {
            run(&damaged(&bytes, &mut rng));
        }
        entries += 1;
    }
    assert!(entries > 10, "{} holds {entries} entries", folder.display());
}

/// A few bytes of the structure of JSON put in, taken out or put in place of others.
fn damaged(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    const BYTES: &[u8] = b"{}[]\",:0-9etfn\\ \xff";
    let mut damaged = bytes.to_vec();
    for _ in 0..rng.usize(1..4) {
        let at = rng.usize(..=damaged.len());
        let byte = BYTES[rng.usize(..BYTES.len())];
        match rng.u8(..3) {
            0 => damaged.insert(at, byte),
            1 if at < damaged.len() => drop(damaged.remove(at)),
            _ if at < damaged.len() => damaged[at] = byte,
            _ => {}
        }
    }
    damaged
}

#[test]
fn the_corpus_of_the_event_stream_replays() {
    replay("event_line", fuzz_targets::event_line);
}

#[test]
fn the_corpus_of_the_game_stream_replays() {
    replay("game_line", fuzz_targets::game_line);
}
