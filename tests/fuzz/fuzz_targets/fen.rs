//! Any bytes as a FEN.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| megaton_fuzz::fen(data));
