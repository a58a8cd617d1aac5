//! Who may join an arena, and the error for everyone else. Pure.

use std::collections::BTreeSet;

use crate::practice::api_error::ApiError;

use super::ArenaPlan;

/// A request to join.
#[derive(Clone, Debug, Default)]
pub(in crate::practice) struct EntryRequest {
    pub(in crate::practice) password: Option<String>,
    pub(in crate::practice) team: Option<String>,
    /// The player is present and wants to be paired; valid for a minute.
    pub(in crate::practice) pair_me: bool,
}

/// The account that asks to join.
#[derive(Clone, Copy, Debug)]
pub(in crate::practice) struct Applicant<'a> {
    pub(in crate::practice) is_bot: bool,
    pub(in crate::practice) rating: i32,
    pub(in crate::practice) teams: &'a BTreeSet<String>,
}

impl ArenaPlan {
    /// Each condition of entry, and whether the account meets it, as the server shows it
    /// beforehand.
    pub(in crate::practice) fn verdicts(&self, who: &Applicant<'_>) -> Vec<(String, bool)> {
        let mut verdicts = Vec::new();
        if !self.bots_allowed {
            verdicts.push(("No bots".to_owned(), !who.is_bot));
        }
        if let Some(least) = self.min_rating {
            verdicts.push((format!("Rated at least {least}"), who.rating >= least));
        }
        if let Some(team) = &self.team {
            verdicts.push((format!("Must be in team {team}"), who.teams.contains(team)));
        }
        verdicts
    }

    /// Admits an account or returns the reason. A former member need not repeat the password.
    pub(in crate::practice) fn admit(
        &self,
        who: &Applicant<'_>,
        entrance: &EntryRequest,
        was_in: bool,
    ) -> Result<(), ApiError> {
        if !was_in && self.password.is_some() && self.password != entrance.password {
            return Err(ApiError::refused("Wrong entry code"));
        }
        if self.verdicts(who).iter().any(|(_, met)| !met) {
            return Err(ApiError::refused("You do not meet the conditions of entry"));
        }
        let named = entrance.team.as_ref();
        let of_team = named
            .is_some_and(|team| self.battle.contains(team) && who.teams.contains(team.as_str()));
        if !self.battle.is_empty() && !was_in && !of_team {
            return Err(ApiError::refused("Missing team"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(password: &str, team: &str) -> EntryRequest {
        let word = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        EntryRequest {
            password: word(password),
            team: word(team),
            pair_me: true,
        }
    }

    #[test]
    fn each_condition_excludes_and_meeting_it_admits() {
        let teams = BTreeSet::from(["mine".to_owned(), "battle".to_owned()]);
        let who = Applicant {
            is_bot: true,
            rating: 1700,
            teams: &teams,
        };
        let open = ArenaPlan::default();
        let rows = [
            (open.clone(), says("", ""), true),
            (
                ArenaPlan {
                    bots_allowed: false,
                    ..open.clone()
                },
                says("", ""),
                false,
            ),
            (
                ArenaPlan {
                    min_rating: Some(1701),
                    ..open.clone()
                },
                says("", ""),
                false,
            ),
            (
                ArenaPlan {
                    team: Some("other".to_owned()),
                    ..open.clone()
                },
                says("", "other"),
                false,
            ),
            (
                ArenaPlan {
                    battle: vec!["battle".to_owned()],
                    ..open.clone()
                },
                says("", ""),
                false,
            ),
            (
                ArenaPlan {
                    battle: vec!["battle".to_owned()],
                    ..open.clone()
                },
                says("", "battle"),
                true,
            ),
            (
                ArenaPlan {
                    password: Some("sesame".to_owned()),
                    ..open.clone()
                },
                says("open", ""),
                false,
            ),
            (
                ArenaPlan {
                    password: Some("sesame".to_owned()),
                    ..open
                },
                says("sesame", ""),
                true,
            ),
        ];
        for (plan, entrance, lets_in) in rows {
            let admitted = plan.admit(&who, &entrance, false);
            assert_eq!(admitted.is_ok(), lets_in, "{plan:?}: {admitted:?}");
        }
    }

    #[test]
    fn a_returning_player_needs_no_password() {
        let teams = BTreeSet::new();
        let who = Applicant {
            is_bot: true,
            rating: 1500,
            teams: &teams,
        };
        let closed = ArenaPlan {
            password: Some("sesame".to_owned()),
            ..ArenaPlan::default()
        };
        assert!(closed.admit(&who, &says("", ""), true).is_ok());
    }
}
