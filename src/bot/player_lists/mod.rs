//! Blocked, allowed and favoured players: names in the config, in files, and at URLs.
//!
//! The policy reads the lists from memory, so no challenge waits for a file or the network. A source
//! that cannot be read keeps its last names.
//!
//! Here: the lists, their parser, and the accounts blocked by command. `refresher`: the task that reads files
//! and URLs now and then.

mod refresher;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::state::BotState;
use crate::config;
use crate::config::{Entry, without_query};
use crate::lichess::UserId;

pub use refresher::{ListRefresher, ListSources};

/// The maximum length of a list.
const MAX_NAMES: usize = 100_000;
/// The longest line that is parsed.
const MAX_LINE: usize = 200;

/// The source shown for players blocked by command.
const BY_COMMAND: &str = "megaton block";

/// The names of each file and URL, by the entry as written in the config.
pub(super) type ListContents = HashMap<String, Arc<ParsedList>>;

/// The names in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParsedList {
    pub names: Vec<UserId>,
    /// Which lines are no names, in words.
    pub skipped: Option<String>,
}

/// Blocked, allowed and welcome players, each with the entry that lists them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlayerLists {
    block: NameSet,
    /// None if everyone may challenge.
    allow: Option<NameSet>,
    welcome: NameSet,
    avoid: NameSet,
}

/// Names, each with the entry that lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NameSet(HashMap<UserId, Arc<str>>);

impl NameSet {
    fn of(entries: &[Entry], contents: &ListContents) -> Self {
        let mut names = HashMap::new();
        for entry in entries {
            let key = entry.to_string();
            let source: Arc<str> = without_query(&key).into();
            match entry {
                Entry::Name(name) => {
                    names.insert(UserId::new(name), source);
                }
                Entry::File(_) | Entry::Url(_) => {
                    let read = contents.get(&key);
                    for name in read.iter().flat_map(|list| &list.names) {
                        names
                            .entry(name.clone())
                            .or_insert_with(|| Arc::clone(&source));
                    }
                }
            }
        }
        Self(names)
    }

    fn source(&self, id: &UserId) -> Option<&str> {
        self.0.get(id).map(|source| &**source)
    }
}

impl PlayerLists {
    /// Only the names in the config itself, without files and URLs.
    pub fn named(rules: &config::Challenge) -> Self {
        Self::of(rules, &[], &ListContents::new())
    }

    /// All names: those in the config, and those of its files and URLs as far as known.
    pub(super) fn of(rules: &config::Challenge, avoid: &[Entry], contents: &ListContents) -> Self {
        Self {
            block: NameSet::of(&rules.block, contents),
            // A list not read yet allows no one: its purpose is to keep others out.
            allow: (!rules.allow.is_empty()).then(|| NameSet::of(&rules.allow, contents)),
            welcome: NameSet::of(&rules.welcome, contents),
            avoid: NameSet::of(avoid, contents),
        }
    }

    /// The same lists with these accounts blocked too.
    #[must_use]
    pub(in crate::bot) fn and_blocked<'u>(&self, users: impl Iterator<Item = &'u UserId>) -> Self {
        let source: Arc<str> = BY_COMMAND.into();
        let mut lists = self.clone();
        for user in users {
            let source = Arc::clone(&source);
            lists.block.0.entry(user.clone()).or_insert(source);
        }
        lists
    }

    /// The entry that blocks this account, if any.
    pub fn blocked_by(&self, id: &UserId) -> Option<&str> {
        self.block.source(id)
    }

    /// Whether the allow list lets this account challenge.
    pub fn allows(&self, id: &UserId) -> bool {
        let allow = self.allow.as_ref();
        allow.is_none_or(|names| names.source(id).is_some())
    }

    /// Whether anyone may challenge, anonymous players included.
    pub fn allows_anyone(&self) -> bool {
        self.allow.is_none()
    }

    /// Whether this account bypasses the acceptance rules.
    pub fn welcomes(&self, id: &UserId) -> bool {
        self.welcome.source(id).is_some()
    }

    /// The entry, if any, for which the bot never challenges this account.
    pub fn avoided_by(&self, id: &UserId) -> Option<&str> {
        self.block.source(id).or_else(|| self.avoid.source(id))
    }
}

/// A text that is no list of names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListParseError {
    #[error("most lines are not account names (line {line}, for example)")]
    Prose { line: usize },
    #[error("more than {MAX_NAMES} names")]
    TooLong,
}

/// Parses a text with one name, or address of a profile, per line; `#` starts a comment. A few bad
/// lines are skipped: lists kept by others are not always clean.
///
/// # Errors
/// When the text is no list at all, such as a web page.
pub fn read_names(text: &str) -> Result<ParsedList, ListParseError> {
    let mut names = Vec::new();
    let mut bad = Vec::new();
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let bare = line.split('#').next().unwrap_or_default().trim();
        if matches!(bare, "" | "@") {
            continue;
        }
        let bare = bare.rsplit_once("/@/").map_or(bare, |(_, name)| name);
        let name = UserId::typed(bare).filter(|_| line.len() <= MAX_LINE);
        match name {
            Some(name) => names.push(name),
            None => bad.push(number + 1),
        }
        if names.len() > MAX_NAMES {
            return Err(ListParseError::TooLong);
        }
    }
    let skipped = match bad[..] {
        [line, ..] if bad.len() > names.len() => return Err(ListParseError::Prose { line }),
        [] => None,
        [line] => Some(format!("line {line} is no account name")),
        [line, ..] => Some(format!(
            "{} lines are no account names (the first is line {line})",
            bad.len()
        )),
    };
    Ok(ParsedList { names, skipped })
}

/// Key of the note in the bot state.
const NOTE: &str = "operator.blocked";
/// Maximum accounts blocked by command.
const MOST: usize = 500;

/// Accounts that the operator blocked by command; survives restarts.
///
/// Stored as a note in the bot state: the config is the operator's own file, and no command writes
/// to it. The set is small; long lists belong in files.
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

    fn names(text: &str) -> Vec<String> {
        let read = read_names(text).unwrap();
        read.names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_list_has_one_name_per_line_in_any_case_and_comments() {
        let text = "\u{feff}# bots that stall\r\nBlastCap\r\n\n  nuke_engine  # slow\n@fuse-1\n";
        assert_eq!(names(text), ["blastcap", "nuke_engine", "fuse-1"]);
        assert_eq!(names(""), Vec::<String>::new());
        assert_eq!(names("# no one\n"), Vec::<String>::new());
    }

    #[test]
    fn a_few_bad_lines_are_skipped_and_a_page_is_refused() {
        assert_eq!(names("a b c\nblastcap\nnuke\n"), ["blastcap", "nuke"]);
        let skipped = |text| read_names(text).unwrap().skipped;
        assert_eq!(skipped("# a b\nnuke\nhttps://a.org/@/BlastCap\n"), None);
        let one = skipped("nuke\nBadGuy (cheats)\n");
        assert_eq!(one.as_deref(), Some("line 2 is no account name"));
        let two = skipped("nuke\nfuse\n?\n!\n");
        let said = "2 lines are no account names (the first is line 3)";
        assert_eq!(two.as_deref(), Some(said));
        let page = "<!DOCTYPE html>\n<html><body>\n<p>Not found</p>\n</body></html>";
        assert_eq!(read_names(page), Err(ListParseError::Prose { line: 1 }));
        assert!(read_names(&"x".repeat(1 << 20)).is_err());
        let endless = "someone\n".repeat(MAX_NAMES + 1);
        assert_eq!(read_names(&endless), Err(ListParseError::TooLong));
    }

    #[test]
    fn names_are_compared_without_regard_to_case() {
        let rules = config::Challenge {
            block: vec![Entry::Name("BlastCap".to_owned())],
            ..config::Challenge::default()
        };
        let lists = PlayerLists::named(&rules);
        assert_eq!(lists.blocked_by(&UserId::new("bLaStCaP")), Some("BlastCap"));
        assert_eq!(lists.blocked_by(&UserId::new("other")), None);
        assert!(lists.allows(&UserId::new("other")) && lists.allows_anyone());
    }

    #[test]
    fn an_allow_list_that_is_not_read_yet_allows_no_one() {
        let rules = config::Challenge {
            allow: vec![Entry::Url("https://example.org/friends".to_owned())],
            ..config::Challenge::default()
        };
        let mut contents = ListContents::new();
        let friend = UserId::new("friend");
        assert!(!PlayerLists::of(&rules, &[], &contents).allows(&friend));
        let read = read_names("friend").unwrap();
        contents.insert("https://example.org/friends".to_owned(), Arc::new(read));
        let lists = PlayerLists::of(&rules, &[], &contents);
        assert!(lists.allows(&friend) && !lists.allows_anyone());
        assert!(!lists.allows(&UserId::new("foe")));
    }

    #[test]
    fn the_query_of_a_url_is_not_shown() {
        let entry = "https://a/b?key=secret";
        let rules = config::Challenge {
            block: vec![Entry::Url(entry.to_owned())],
            ..config::Challenge::default()
        };
        let foe = UserId::new("foe");
        let read = Arc::new(read_names("foe").unwrap());
        let contents = ListContents::from([(entry.to_owned(), read)]);
        let lists = PlayerLists::of(&rules, &[], &contents);
        assert_eq!(lists.blocked_by(&foe), Some("https://a/b"));
    }

    #[test]
    fn a_player_blocked_by_command_is_blocked_like_any_other() {
        let (foe, friend) = (UserId::new("foe"), UserId::new("friend"));
        let lists = PlayerLists::default().and_blocked([&foe].into_iter());
        assert_eq!(lists.blocked_by(&foe), Some(BY_COMMAND));
        assert_eq!(lists.avoided_by(&foe), Some(BY_COMMAND));
        assert_eq!(lists.blocked_by(&friend), None);
    }

    #[test]
    fn an_avoided_player_may_still_challenge_the_bot() {
        let avoid = [Entry::Name("Slow".to_owned())];
        let rules = config::Challenge::default();
        let lists = PlayerLists::of(&rules, &avoid, &ListContents::new());
        let slow = UserId::new("slow");
        assert_eq!(lists.avoided_by(&slow), Some("Slow"));
        assert_eq!(lists.blocked_by(&slow), None);
    }
}

#[cfg(test)]
mod blocklist_tests {
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
