//! Any bytes as one line of a game's stream.
#![no_main]

#[path = "../src/streams.rs"]
mod streams;

libfuzzer_sys::fuzz_target!(|data: &[u8]| streams::game_line(data));
