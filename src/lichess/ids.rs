//! Ids of games, challenges and users.
//!
//! An id is opaque text, which the client escapes in URLs; a user id is always lower case, as in the
//! server's comparisons.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(from = "String")]
        pub struct $name(Box<str>);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self::new(text.as_str())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// The public id of a game, eight characters.
    GameId
}

text_id! {
    /// The id of a challenge; its game normally has the same id.
    ChallengeId
}

text_id! {
    /// A user's id: the name in lower case.
    UserId
}

impl GameId {
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The challenge that started this game, if there was one.
    pub fn as_challenge(&self) -> ChallengeId {
        ChallengeId(self.0.clone())
    }
}

impl ChallengeId {
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The game that this challenge starts. A rematch may have another id.
    pub fn as_game(&self) -> GameId {
        GameId(self.0.clone())
    }
}

impl UserId {
    /// The id of the user with this name, in any letter case.
    pub fn new(name: &str) -> Self {
        Self(name.to_lowercase().into_boxed_str())
    }

    /// The id for a typed user name, with or without a leading `@`; none for text that no Lichess
    /// account can have.
    pub fn typed(name: &str) -> Option<Self> {
        let name = name.trim();
        let name = name.strip_prefix('@').unwrap_or(name);
        Self::is_name(name).then(|| Self::new(name))
    }

    /// Whether a Lichess account can have this name: 2 to 30 letters, digits, `_` and `-`.
    pub fn is_name(text: &str) -> bool {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        (2..=30).contains(&text.len()) && text.chars().all(fits)
    }
}

/// Whether a text can be the public id of a game, a challenge or an arena: eight letters and digits.
pub fn is_public_id(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_id_is_the_lower_cased_name() {
        assert_eq!(UserId::new("BlastCap"), UserId::new("blastcap"));
        let read: UserId = serde_json::from_str("\"BlastCap\"").unwrap();
        assert_eq!(read.as_str(), "blastcap");
    }

    #[test]
    fn only_valid_account_names_parse_as_ids() {
        assert_eq!(
            UserId::typed(" @Blast_Cap-9 "),
            Some(UserId::new("blast_cap-9"))
        );
        let long = "x".repeat(31);
        for bad in ["", "@", "x", "a b", "@@blastcap", "naïve", "a/b", &long] {
            assert_eq!(UserId::typed(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_public_id_is_eight_letters_and_digits() {
        assert!(is_public_id("q7ZxVt2B"));
        for other in ["", "q7ZxVt2", "q7ZxVt2Bc", "q7ZxVt2-", "q7ZxVté"] {
            assert!(!is_public_id(other), "{other}");
        }
    }

    #[test]
    fn a_challenge_becomes_the_game_of_the_same_id() {
        let challenge = ChallengeId::new("q7ZxVt2B");
        assert_eq!(challenge.as_game(), GameId::new("q7ZxVt2B"));
        assert_eq!(challenge.as_game().as_challenge(), challenge);
    }
}
