//! Operator commands on games, challenges and opponents: abort, resign, cancel, block.
//!
//! The server decides about a game: the reply is its answer. The game task sees the end on its
//! stream, as any other end.

use std::sync::Arc;
use std::time::Instant;

use crate::bot::chat::loggable;
use crate::bot::commands::account::note;
use crate::bot::control::{Command, Envelope, Reply};
use crate::bot::event::AccountEvent;
use crate::bot::event_loop::EventLoop;
use crate::bot::player_lists::PlayerLists;
use crate::lichess::{ChallengeId, Client, Error, GameId};

/// How often to make a call that gets no answer.
const TRIES: u32 = 3;

/// How to end a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bot) enum GameCommand {
    Aborted,
    Resigned,
}

impl GameCommand {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Aborted => "aborted",
            Self::Resigned => "resigned",
        }
    }
}

impl EventLoop {
    /// Ends a game; the reply follows the server's answer.
    pub(in crate::bot) fn end(&self, order: Envelope, game: GameId, end: GameCommand) {
        if !self.account_state.plays(&game) {
            let reply = Reply::refused(format!("no game {game} in progress: see `status`"));
            note(self.context.listeners.event_log(), &order, &reply);
            order.answer(reply);
            return;
        }
        let event_log = self.context.listeners.event_log().clone();
        let client = self.context.client.clone();
        tokio::spawn(async move {
            let reply = run_effect(&client, &game, end).await;
            note(&event_log, &order, &reply);
            order.answer(reply);
        });
    }

    /// Withdraws the bot's own challenge; without an id every open or queued one.
    pub(in crate::bot) fn cancel(&mut self, id: Option<&ChallengeId>) -> Reply {
        let ours = self.account_state.outgoing().cloned();
        if let Some(id) = id.filter(|id| ours.as_ref() != Some(id)) {
            return Reply::refused(format!("challenge {id} is not open: see `status`"));
        }
        let asking = self.account_state.is_asking();
        let (dropped, effects) = self.account_state.recall(Instant::now());
        self.run_effects(effects);
        self.take_in(&AccountEvent::Tick);
        match (asking, dropped) {
            (false, 0) => Reply::refused("no challenge is open or queued"),
            (false, 1) => Reply::done("queued challenge dropped"),
            (false, many) => Reply::done(format!("{many} queued challenges dropped")),
            (true, 0) => Reply::done("withdrawing the challenge"),
            (true, _) => Reply::done("withdrawing the challenge; queued ones dropped"),
        }
    }

    /// Blocks or unblocks an account.
    pub(in crate::bot) fn block(&mut self, name: &str, blocks: bool) -> Reply {
        let state = self.context.state.clone();
        let changed = if blocks {
            self.blocked.add(name, &state)
        } else {
            self.blocked.remove(name, &state)
        };
        let user = match changed {
            Ok(user) => user,
            Err(error) => return Reply::refused(format!("{name}: {error}")),
        };
        let lists = self.known_lists();
        self.take_in(&AccountEvent::Lists(lists));
        Reply::done(if blocks {
            format!("{user} is blocked: its challenges are declined; a game in progress continues")
        } else {
            format!("{user} is no longer blocked by command")
        })
    }

    /// The player lists, including accounts blocked by command.
    pub(in crate::bot) fn known_lists(&mut self) -> Arc<PlayerLists> {
        let lists = Arc::clone(&self.lists.borrow_and_update());
        Arc::new(lists.and_blocked(self.blocked.users()))
    }
}

async fn run_effect(client: &Client, game: &GameId, end: GameCommand) -> Reply {
    let mut outcome = Ok(());
    for _ in 0..TRIES {
        outcome = match end {
            GameCommand::Aborted => client.abort(game).await,
            GameCommand::Resigned => client.resign(game).await,
        };
        if !outcome.as_ref().is_err_and(Error::is_transient) {
            break;
        }
    }
    let end = end.as_str();
    match outcome {
        Ok(()) => Reply::done(format!("{game} is {end}")),
        Err(error) => Reply::refused(format!("{game} is not {end}: {error}")),
    }
}

impl Command {
    /// The game that the command concerns, if any.
    pub(in crate::bot) fn game(&self) -> Option<&GameId> {
        match self {
            Self::Abort(game) | Self::Resign(game) | Self::Say(game, ..) => Some(game),
            _ => None,
        }
    }

    /// A short description for the log, without secrets; `None` if it changes nothing.
    pub(in crate::bot) fn describe(&self) -> Option<String> {
        Some(match self {
            Self::Status => return None,
            Self::Pause => "pause".to_owned(),
            Self::Resume => "resume".to_owned(),
            Self::Drain => "drain".to_owned(),
            Self::Reload(_) => "reload".to_owned(),
            Self::Challenge(wish) => {
                let what = wish.what.as_deref().unwrap_or_default();
                format!("challenge {} {what}", wish.user)
                    .trim_end()
                    .to_owned()
            }
            Self::Rechallenge => "rechallenge".to_owned(),
            Self::Cancel(None) => "cancel".to_owned(),
            Self::Cancel(Some(id)) => format!("cancel {id}"),
            Self::Abort(game) => format!("abort {game}"),
            Self::Resign(game) => format!("resign {game}"),
            Self::Block(user) => format!("block {user}"),
            Self::Unblock(user) => format!("unblock {user}"),
            Self::Matchmaking(true) => "matchmaking on".to_owned(),
            Self::Matchmaking(false) => "matchmaking off".to_owned(),
            Self::JoinArena(id, _) => format!("join {id}"),
            Self::LeaveArena(id) => format!("leave {id}"),
            Self::Say(game, room, text) => format!("say {game} {room} \"{}\"", loggable(text)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lichess::JoinOptions;

    #[test]
    fn no_description_contains_a_password() {
        let entrance = JoinOptions {
            password: Some("sesame".to_owned()),
            ..JoinOptions::default()
        };
        let command = Command::JoinArena("aBcD1234".to_owned(), entrance);
        assert_eq!(command.describe().as_deref(), Some("join aBcD1234"));
        assert_eq!(Command::Status.describe(), None);
    }
}
