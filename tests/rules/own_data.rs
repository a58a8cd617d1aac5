//! Data of our own.
