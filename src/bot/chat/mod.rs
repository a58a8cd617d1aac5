//! Talk in a game: greetings, goodbyes and answers to commands.
//!
//! Nothing here can touch a move. What is said is decided by plain structs that know no network; the
//! lines go over a lane of their own, which drops what it cannot carry and repeats nothing. What
//! others say is foreign text: it is compared with a few known words and otherwise only logged, with
//! everything escaped that is not plain text.
//!
//! * `conversation`: one game, from what happens in it to what is said
//! * `commands`: what can be asked, and the answers
//! * `reply_limit`: how often anyone is answered
//! * `line`: one line of ours; `queue`: which of them goes next; `chat_queue`: the task that sends them

mod commands;
mod conversation;
mod message;
mod queue;
mod reply_limit;
mod sender;

pub use conversation::{ChatState, Conversation, Players, ScoreTally};
pub use message::{
    ChatError, ChatMessage, MessageKind, OutcomeReceiver, OutcomeSender, SendOutcome,
};
pub use sender::{ChatQueue, ChatTask};

pub(super) use message::loggable;
