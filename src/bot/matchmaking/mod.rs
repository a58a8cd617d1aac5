//! Games that the bot looks for itself: whom it challenges, to what, and how often.
//!
//! A pure core that is told the time and what happened, and a shell that makes the calls. One
//! challenge of ours is open at a time; it is always withdrawn when it is given up; nobody is asked
//! again soon who said no. Off unless the operator turns it on.
//!
//! * `maker`: one attempt after the other; `choice`: how one begins; `outcome`: what becomes of it
//! * `pool`: who is there, who fits, who comes first; `rest`: who is left in peace, and how long
//! * `offer`: what is asked of whom; `order`: what the operator asks for by command
//! * `envoy`: the calls; `desk`: the core, the calls and the lobby joined together

mod choice;
mod desk;
mod envoy;
mod maker;
mod news;
mod offer;
mod order;
mod outcome;
mod pool;
mod rest;

pub(super) use desk::Desk;
pub use maker::Maker;
pub use news::{Around, Duty, Folk, Heard, NotCreated};
pub use offer::{Offer, Origin, speed_of};
pub use order::{Order, OrderError};
pub use pool::{Candidate, Pool};
pub use rest::{Rest, Verdict, all_keys, keys, lesson};
