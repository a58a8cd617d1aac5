//! Accounts that the operator blocked by command; survives restarts.
//!
//! Stored as a note in the bot state: the config is the operator's own file, and no command writes
//! to it. The set is small; long lists belong in files.

use std::collections::BTreeSet;

use super::state::BotState;
use crate::lichess::UserId;

/// Key of the note in the bot state.
const NOTE: &str = "operator.blocked";
/// Maximum accounts blocked by command.
const MOST: usize = 500;

/// Accounts blocked by command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocklist(BTreeSet<UserId>);

/// Why a change to the blocklist was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BlocklistError {
    #[error("not an account name: use 2 to 30 letters, digits, _ and -")]
    NoName,
    #[error("already blocked")]
    Already,
    #[error("not blocked by command; edit the config to change its lists")]
    NotBlocked,
    #[error(
        "{MOST} accounts are blocked by command already: use a list in a file, see [challenge] block"
    )]
    TooMany,
}

impl Blocklist {
    /// Loads the stored blocklist.
    pub(super) fn remembered(state: &BotState) -> Self {
        let note = state.note(NOTE).unwrap_or_default();
        Self(note.split_whitespace().map(UserId::new).collect())
    }

    pub(super) fn add(&mut self, name: &str, state: &BotState) -> Result<UserId, BlocklistError> {
        let user = read(name)?;
        if self.0.contains(&user) {
            return Err(BlocklistError::Already);
        }
        if self.0.len() >= MOST {
            return Err(BlocklistError::TooMany);
        }
        self.0.insert(user.clone());
        self.keep(state);
        Ok(user)
    }

    pub(super) fn remove(
        &mut self,
        name: &str,
        state: &BotState,
    ) -> Result<UserId, BlocklistError> {
        let user = read(name)?;
        if !self.0.remove(&user) {
            return Err(BlocklistError::NotBlocked);
        }
        self.keep(state);
        Ok(user)
    }

    pub(super) fn users(&self) -> impl Iterator<Item = &UserId> {
        self.0.iter()
    }

    fn keep(&self, state: &BotState) {
        let names: Vec<&str> = self.0.iter().map(UserId::as_str).collect();
        state.set_note(NOTE, (!names.is_empty()).then(|| names.join(" ")));
    }
}

fn read(name: &str) -> Result<UserId, BlocklistError> {
    UserId::typed(name).ok_or(BlocklistError::NoName)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocked_account_stays_blocked_until_unblocked() {
        let state = BotState::nowhere();
        let mut blocked = Blocklist::remembered(&state);
        assert_eq!(
            blocked.add("Blast_Cap", &state).unwrap().as_str(),
            "blast_cap"
        );
        assert_eq!(
            blocked.add("@BLAST_CAP", &state),
            Err(BlocklistError::Already)
        );
        blocked.add("nuke", &state).unwrap();
        let mut later = Blocklist::remembered(&state);
        assert_eq!(later, blocked);
        assert_eq!(later.users().count(), 2);
        later.remove("Nuke", &state).unwrap();
        assert_eq!(
            later.remove("nuke", &state),
            Err(BlocklistError::NotBlocked)
        );
        later.remove("blast_cap", &state).unwrap();
        assert_eq!(state.note(NOTE), None);
    }

    #[test]
    fn an_invalid_name_is_not_blocked() {
        let state = BotState::nowhere();
        let mut blocked = Blocklist::default();
        for bad in ["", "x", "two names", "a\nb", "ünï", &"x".repeat(31)] {
            assert_eq!(
                blocked.add(bad, &state),
                Err(BlocklistError::NoName),
                "{bad}"
            );
        }
        for number in 0..MOST {
            blocked.add(&format!("bot{number}"), &state).unwrap();
        }
        assert_eq!(
            blocked.add("one-more", &state),
            Err(BlocklistError::TooMany)
        );
    }
}
