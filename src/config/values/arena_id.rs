//! A tournament to join, and the team to join it for if it needs one.

use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::lichess::is_public_id;

/// A tournament to join: `ID` or `ID:team`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, SerializeDisplay, DeserializeFromStr)]
pub struct ArenaId {
    /// The id in the tournament's URL.
    pub id: String,
    /// The team to play for, in team battles.
    pub team: Option<String>,
}

impl FromStr for ArenaId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (id, team) = match text.split_once(':') {
            Some((id, team)) => (id, Some(team)),
            None => (text, None),
        };
        let is_team = |team: &str| {
            !team.is_empty()
                && team.len() <= 100
                && team
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        };
        if !is_public_id(id) || !team.is_none_or(is_team) {
            return Err(format!(
                "\"{text}\" is not a tournament: write the eight characters of its URL, with a \
                 colon and the team if it needs one, such as \"aBcD1234\" or \"aBcD1234:my-team\""
            ));
        }
        Ok(Self {
            id: id.to_owned(),
            team: team.map(str::to_owned),
        })
    }
}

impl fmt::Display for ArenaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)?;
        self.team
            .as_ref()
            .map_or(Ok(()), |team| write!(f, ":{team}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tournament_may_name_a_team() {
        for text in ["aBcD1234", "aBcD1234:atomic-wars"] {
            assert_eq!(text.parse::<ArenaId>().unwrap().to_string(), text);
        }
        for wrong in [
            "",
            "short",
            "aBcD1234:",
            "aBcD12345",
            "aBcD123/",
            "aBcD1234:a b",
        ] {
            assert!(wrong.parse::<ArenaId>().is_err(), "{wrong}");
        }
    }
}
