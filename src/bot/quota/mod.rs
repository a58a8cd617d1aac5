//! The quota: what the server lets a bot spend in a day, and what has been spent.
//!
//! Pure: moments come in as data, and every change of what must be kept goes out as data. It never
//! grants more than a limit within any 24 hours, whatever the clock does.
//!
//! * `book`: games and credits, granted, spent and given back
//! * `learned`: what the server's answers teach; `terms`: rules, permissions, prices
//! * `timing`: when outgoing games may begin so that the day's share lasts
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
