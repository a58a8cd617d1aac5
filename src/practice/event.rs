//! Events of the server, for subscribers such as the command line.

use std::fmt;

use crate::rules::Color;

use super::game_settings::Status;

#[derive(Clone, Debug)]
pub enum Event {
    /// A challenge was sent.
    Challenged {
        /// The id of the challenge, and of the game it may become.
        game: String,
        by: String,
        to: String,
    },
    /// A challenge was declined.
    Declined {
        /// The id of the challenge.
        game: String,
        /// The key of the reason.
        reason: String,
    },
    /// A challenge was withdrawn.
    Canceled {
        /// The id of the challenge.
        game: String,
    },
    Started {
        /// The id of the game.
        game: String,
        white: String,
        black: String,
        time: String,
    },
    /// An account joined an arena.
    Entered {
        /// The id of the arena.
        arena: String,
        name: String,
    },
    /// An account left an arena, or was removed.
    Withdrew {
        /// The id of the arena.
        arena: String,
        name: String,
    },
    /// An arena is over.
    ArenaOver { arena: String },
    /// A move was played.
    Moved {
        /// The id of the game.
        game: String,
        /// The half-move, counted from one.
        ply: usize,
        name: String,
        san: String,
        /// The mover's time in milliseconds.
        left: u64,
    },
    Ended {
        /// The id of the game.
        game: String,
        status: Status,
        winner: Option<Color>,
        name: Option<String>,
        plies: usize,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Challenged { game, by, to } => write!(out, "{game}  {by} challenges {to}"),
            Self::Declined { game, reason } => write!(out, "{game}  declined: {reason}"),
            Self::Canceled { game } => write!(out, "{game}  taken back"),
            Self::Started {
                game,
                white,
                black,
                time,
            } => {
                write!(out, "{game}  {white} - {black}  {time}")
            }
            Self::Entered { arena, name } => write!(out, "{arena}  {name} comes into the arena"),
            Self::Withdrew { arena, name } => write!(out, "{arena}  {name} leaves the arena"),
            Self::ArenaOver { arena } => write!(out, "{arena}  the arena is over"),
            Self::Moved {
                game,
                ply,
                name,
                san,
                left,
            } => {
                let number = ply.div_ceil(2);
                let dots = if ply % 2 == 1 { "." } else { "..." };
                let seconds = *left as f64 / 1000.0;
                write!(
                    out,
                    "{game}  {number:>3}{dots:<4}{san:<8}{name}  {seconds:.1}s"
                )
            }
            Self::Ended {
                game,
                status,
                name,
                plies,
                ..
            } => match name {
                Some(name) => {
                    write!(
                        out,
                        "{game}  {name} wins, {} after {plies} plies",
                        status.name()
                    )
                }
                None => write!(
                    out,
                    "{game}  no winner, {} after {plies} plies",
                    status.name()
                ),
            },
        }
    }
}
