//! Any bytes as one line of the event stream.
#![no_main]

#[path = "../src/streams.rs"]
mod streams;

libfuzzer_sys::fuzz_target!(|data: &[u8]| streams::event_line(data));
