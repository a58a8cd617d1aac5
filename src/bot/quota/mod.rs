//! The daily quota: what Lichess lets a bot spend in a day, and what it has spent.
//!
//! Pure: timestamps come in as data, and every change to persist goes out as data. It never grants more
//! than a limit within any 24 hours, whatever the clock does.
//!
//! * `usage`: games and credits granted, spent and returned
//! * `observed_limits`: what the server's replies reveal about its limits; `rules`: rules, permits, prices
//! * `pace`: spreads outgoing games over the day
//! * `forecast`: how long the budget lasts

mod forecast;
mod observed_limits;
mod pace;
mod rules;
#[cfg(test)]
mod tests;
mod usage;

pub use forecast::Forecast;
pub use rules::{Budget, ChallengeTarget, Denied, Permit, QuotaRules};
pub use usage::Quota;
