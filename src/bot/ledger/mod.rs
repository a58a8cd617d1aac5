//! The ledger: what the server lets a bot spend in a day, and what has been spent.
//!
//! Pure: moments come in as data, and every change of what must be kept goes out as data. It never
//! grants more than a limit within any 24 hours, whatever the clock does.
//!
//! * `book`: games and credits, granted, spent and given back
//! * `learned`: what the server's answers teach; `terms`: rules, permissions, prices
//! * `pace`: when outgoing games may begin so that the day's share lasts
//! * `forecast`: how long the budget lasts

mod book;
mod forecast;
mod learned;
mod pace;
mod terms;
#[cfg(test)]
mod tests;

pub use book::Ledger;
pub use forecast::Forecast;
pub use terms::{Budget, Permission, Rules, Target, Why};
