//! The proof of the rules room: recorded data, a second rules library, properties, fuzz corpora.

#[path = "rules/shared.rs"]
mod shared;
