//! Faults of one request, and the endpoints they apply to.

use std::time::Duration;

use serde::Deserialize;
use strum::IntoStaticStr;

use super::{FaultReply, StreamFault};

/// The class of requests that a fault applies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Endpoint {
    #[default]
    Move,
    /// Any other POST at a game: draw, abort, resign and so on.
    Game,
    /// The chat of a game, both ways.
    Chat,
    Accept,
    /// Declining or cancelling a challenge.
    Decline,
    Create,
    /// Reading the account, or the users who are playing.
    Account,
    /// Joining or leaving an arena.
    Arena,
    /// Looking up users, challenges, tournaments.
    Lookup,
    Events,
    GameStream,
    /// The endgame tables.
    Tables,
    /// The opening explorer.
    Explorer,
}

impl Endpoint {
    /// Its name in scripts and summaries.
    pub const fn name(self) -> &'static str {
        self.into_str()
    }

    /// Whether its requests belong to one game.
    pub(crate) const fn is_of_a_game(self) -> bool {
        matches!(
            self,
            Self::Move | Self::Game | Self::Chat | Self::GameStream
        )
    }
}

/// A fault of a request, or of the stream that it opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request is executed, and the connection breaks before the answer.
    LoseReply,
    /// The connection breaks before the request is executed.
    LoseRequest,
    /// The request is not executed and never answered.
    Swallow,
    /// The request is executed and never answered.
    DoneInSilence,
    /// The request is not executed; the answer has this status and its usual body.
    Refuse {
        /// The status; 429 and what Lichess itself says come as JSON, 5xx as a proxy's HTML.
        status: u16,
    },
    /// The request is carried out, and the answer has this status.
    DoneBut {
        /// The status of the answer.
        status: u16,
    },
    /// Nothing is done, and the answer is exactly this.
    Answer(FaultReply),
    /// The request is carried out, and the answer is exactly this.
    DoneThen(FaultReply),
    /// The request is carried out after a wait.
    Late(Duration),
    /// The request is carried out at once and answered after a wait.
    SlowReply(Duration),
    /// A look-up is answered in the right form with wrong content: results of the wrong side, illegal
    /// moves.
    Lie,
    /// A stream ends cleanly after so many lines.
    EndAfter(usize),
    /// A stream breaks after so many lines.
    BreakAfter(usize),
    /// A stream falls silent after so many lines, keep-alives included.
    SilentAfter(usize),
    /// A stream sends this line after so many lines.
    SayAfter(usize, String),
    /// Any other stream fault, after so many lines.
    StreamFaultAfter(usize, StreamFault),
}

impl Fault {
    /// For a stream: after how many lines what happens to it.
    pub(crate) fn on_a_stream(&self) -> Option<(usize, StreamFault)> {
        match self {
            Self::EndAfter(lines) => Some((*lines, StreamFault::End)),
            Self::BreakAfter(lines) => Some((*lines, StreamFault::Break)),
            Self::SilentAfter(lines) => Some((*lines, StreamFault::Silence)),
            Self::SayAfter(lines, text) => Some((*lines, StreamFault::say(text))),
            Self::StreamFaultAfter(lines, stream_fault) => Some((*lines, stream_fault.clone())),
            _ => None,
        }
    }

    /// The name in summaries.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::LoseReply => "reply lost".to_owned(),
            Self::LoseRequest => "request lost".to_owned(),
            Self::Swallow => "never answered, not done".to_owned(),
            Self::DoneInSilence => "never answered, done".to_owned(),
            Self::Refuse { status } => FaultReply::usual(*status).name(),
            Self::DoneBut { status } => format!("done, but {}", FaultReply::usual(*status).name()),
            Self::Answer(reply) => reply.name(),
            Self::DoneThen(reply) => format!("done, but {}", reply.name()),
            Self::Late(_) => "late".to_owned(),
            Self::SlowReply(_) => "answered late".to_owned(),
            Self::Lie => "answered wrongly".to_owned(),
            Self::EndAfter(_)
            | Self::BreakAfter(_)
            | Self::SilentAfter(_)
            | Self::SayAfter(..)
            | Self::StreamFaultAfter(..) => self
                .on_a_stream()
                .map_or_else(String::new, |(_, stream_fault)| {
                    stream_fault.name().to_owned()
                }),
        }
    }
}
