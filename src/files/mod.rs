//! Files that are written whole or not at all.
//!
//! It knows no format and no folder of the program.
//!
//! * `atomic_file`: a file that takes its name once it is complete

mod atomic_file;

pub use atomic_file::{AtomicFile, check_apart, check_writable, write_whole};
