//! Experience: what the bot's own games teach about their opening lines.
//!
//! Plain data with plain functions, no I/O and no clock. It advises against moves that lost; it never
//! chooses one.
//!
//! * `judgement`: how bad a move is by the scores before and after it
//! * `line`: one game's line, its result and the move that cost it
//! * `memory`: all lines by position, and the advice they give
//! * `report`: what it says about one opponent

mod judgement;
mod line;
mod memory;
mod report;

pub use judgement::{FALL, HOLDS, Severity, drop_of};
pub use line::{LineMistake, LineResult, OwnMove, PlayedLine, WINDOW, blame};
pub use memory::{Advice, Experience, Reason};
pub use report::{AvoidedMove, ExperienceReport, LostLine, ShownLine};
