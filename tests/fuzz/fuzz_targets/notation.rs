//! Any bytes as moves in UCI and SAN.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| megaton_fuzz::notation(data));
