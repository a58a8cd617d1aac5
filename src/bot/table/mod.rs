//! One game as a pure state machine: what happened goes in, what is to be done comes out.
//!
//! The table does no I/O, reads no clock and calls no engine: moments, answers and thoughts come in
//! as data. Its one promise is the owed move: once it is our turn a legal move is sent until the
//! server shows it or the game is over, and never two different ones on a doubt.
//!
//! * `event`: what comes in and what goes out
//! * `play`: the table itself; the lines of the game's stream
//! * `owed`: the move we owe, from the turn's coming to the choice
//! * `sent`: the move we have sent, until the server shows it
//! * `ponder`: thinking on the opponent's time
//! * `verdict`: what the answer to a sent move means
//! * `manners`: offers, claims, and games we do not want, a file a subject
//! * `watch`: whether something was missed while we wait
//! * `record`: the move list and the board behind it
//! * `seat`: what a table is told about its game
//! * `safe`: a move without a search
//! * `variety`: off the lines of earlier games
//! * `summary`: what is remembered of a finished game

mod event;
mod manners;
mod owed;
mod play;
mod ponder;
mod record;
mod safe;
mod seat;
mod sent;
mod summary;
mod variety;
mod verdict;
mod watch;

pub use event::{
    Action, Answer, Deed, Ending, Input, Moved, Oddity, Request, Ticket, Told, WithDraw,
};
pub use manners::Opinion;
pub use play::Table;
pub use record::{Change, ForeignMove, Record};
pub use safe::safe_move;
pub use seat::{Past, Promise, Seat, Setting};
pub use summary::OPENING;
pub use verdict::{Next, Trouble, Wanted, judge};
