//! Chat in a game: greetings, goodbyes and answers to commands.
//!
//! Chat can never touch a move. Messages go through a queue of their own, which drops what it cannot
//! send and repeats nothing. Text from others is untrusted: it is matched against a few known commands,
//! and otherwise only logged, escaped.
//!
//! * `conversation`: one game's chat, from its events to our messages
//! * `commands`: what a player can ask, and the answers
//! * `reply_limit`: limits how often anyone is answered
//! * `message`: one message; `queue`: their order; `sender`: the task that sends them

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
