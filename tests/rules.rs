//! The proof of the rules room: recorded data, a second rules library, properties, fuzz corpora.

#[path = "rules/differential.rs"]
mod differential;
#[expect(
    unreachable_pub,
    reason = "public in the workspace of the fuzz targets"
)]
#[path = "fuzz/src/lib.rs"]
mod fuzz_targets;
#[path = "rules/known.rs"]
mod known;
#[path = "rules/own_data.rs"]
mod own_data;
#[path = "rules/properties.rs"]
mod properties;
#[path = "rules/replay.rs"]
mod replay;
#[path = "rules/sampling.rs"]
mod sampling;
#[path = "rules/shared.rs"]
mod shared;
#[path = "rules/slow.rs"]
mod slow;
