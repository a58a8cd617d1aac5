//! The JSON views of arenas.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::practice::arena::{ArenaPlan, ArenaStage, Tournament};
use crate::practice::time::Millis;
use crate::practice::wire::{
    ArenaClock, ArenaFacts, ArenaList, EntryVerdict, EntryVerdicts, ListedArena, ListedPerf,
    ListedTeam, RatingBound, ShownArena, ShownPerf, StandingPage, StandingPlayer, TeamBattle,
    Variant,
};

use super::ServerState;

/// Players per page.
const PAGE: usize = 10;

impl ServerState {
    /// The tournaments that concern a team.
    pub(crate) fn team_arenas(&self, team: &str, now: Millis) -> Vec<ListedArena> {
        let of_team = |field: &&Tournament| field.plan.teams().any(|it| it == team);
        let fields = self.all_arenas().filter(of_team);
        fields.map(|field| self.listed_arena(field, now)).collect()
    }

    /// The teams of an account.
    pub(crate) fn teams_of(&self, name: &str) -> Option<Vec<ListedTeam>> {
        let teams = self.account(&name.to_lowercase())?.teams.iter();
        let listed = |id: &String| ListedTeam {
            id: id.clone(),
            name: id.clone(),
        };
        Some(teams.map(listed).collect())
    }

    /// The list of tournaments, without those that only members of a team may join.
    pub(crate) fn arena_list(&self, now: Millis) -> ArenaList {
        let mut list = ArenaList::default();
        for field in self.all_arenas().filter(|field| field.plan.team.is_none()) {
            let of_stage = match field.stage {
                ArenaStage::Created => &mut list.created,
                ArenaStage::Started => &mut list.started,
                ArenaStage::Finished => &mut list.finished,
            };
            of_stage.push(self.listed_arena(field, now));
        }
        list
    }

    fn listed_arena(&self, field: &Tournament, now: Millis) -> ListedArena {
        let variant = Variant::of(&field.plan.variant).unwrap_or(Variant::ATOMIC);
        ListedArena {
            facts: self.arena_facts(field, now),
            variant,
            starts_at: field.begins.0,
            finishes_at: field.ends.0,
            status: field.stage.id(),
            perf: ListedPerf {
                key: variant.key,
                name: variant.name,
                position: 0,
            },
            team_battle: battle(&field.plan, Clone::clone),
        }
    }

    fn arena_facts(&self, field: &Tournament, now: Millis) -> ArenaFacts {
        let plan = &field.plan;
        let ahead = field.stage == ArenaStage::Created;
        ArenaFacts {
            id: field.id.clone(),
            created_by: "practice",
            system: "arena",
            full_name: plan.name.clone(),
            minutes: plan.minutes,
            clock: ArenaClock {
                limit: plan.limit,
                increment: plan.increment,
            },
            rated: plan.rated,
            nb_players: field.players.len(),
            bots_allowed: plan.bots_allowed,
            private: plan.password.is_some(),
            min_rating: plan.min_rating.map(|rating| RatingBound {
                perf: "atomic",
                rating,
            }),
            team_member: plan.team.clone(),
            seconds_to_start: ahead.then(|| self.timing.count(field.begins - now)),
        }
    }

    /// One tournament, as `user` sees it.
    pub(crate) fn shown_arena(
        &self,
        id: &str,
        user: Option<&str>,
        now: Millis,
    ) -> Option<ShownArena> {
        let field = self.arena(id)?;
        let variant = Variant::of(&field.plan.variant).unwrap_or(Variant::ATOMIC);
        let verdicts = user.map_or_else(Vec::new, |user| self.verdicts(field, user));
        Some(ShownArena {
            facts: self.arena_facts(field, now),
            variant: variant.key,
            starts_at: iso(field.begins),
            perf: ShownPerf {
                icon: "\u{e025}",
                key: variant.key,
                name: variant.name,
            },
            verdicts: EntryVerdicts {
                accepted: verdicts.iter().all(|(_, met)| *met),
                list: verdicts.into_iter().map(verdict).collect(),
            },
            team_battle: battle(&field.plan, |id| (id.clone(), (id.clone(), None))),
            standing: self.standing(field),
            seconds_to_finish: (field.stage == ArenaStage::Started)
                .then(|| self.timing.count(field.ends - now)),
            pairings_closed: field.stage == ArenaStage::Started && field.is_closed(now),
            is_finished: field.stage == ArenaStage::Finished,
            my_username: user.map(|user| self.name_of(user)),
        })
    }

    fn standing(&self, field: &Tournament) -> StandingPage {
        let mut players: Vec<_> = field.players.iter().collect();
        players.sort_by_key(|(_, player)| std::cmp::Reverse(player.score));
        let players = players.into_iter().take(PAGE).enumerate();
        let players = players.filter_map(|(at, (user, player))| {
            let account = self.account(user)?;
            Some(StandingPlayer {
                name: account.name.clone(),
                title: account.title(),
                rank: at + 1,
                rating: account.rating.shown(),
                score: player.score,
                withdraw: player.out,
            })
        });
        StandingPage {
            page: 1,
            players: players.collect(),
        }
    }
}

/// The battle of an arena, with its teams in one of the two shapes.
fn battle<T, C: FromIterator<T>>(
    plan: &ArenaPlan,
    team: impl FnMut(&String) -> T,
) -> Option<TeamBattle<C>> {
    (!plan.battle.is_empty()).then(|| TeamBattle {
        teams: plan.battle.iter().map(team).collect(),
        nb_leaders: 5,
    })
}

fn verdict((condition, met): (String, bool)) -> EntryVerdict {
    let verdict = if met { "ok" } else { "not met" };
    EntryVerdict {
        condition,
        verdict: verdict.to_owned(),
    }
}

/// A time as text, such as `2026-08-22T18:00:00Z`.
fn iso(at: Millis) -> String {
    let seconds = i64::try_from(at.0 / 1000).unwrap_or_default();
    let time = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    time.format(&Rfc3339).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_an_iso_date() {
        let rows = [
            (0, "1970-01-01T00:00:00Z"),
            (951_825_600, "2000-02-29T12:00:00Z"),
            (1_787_421_600, "2026-08-22T18:00:00Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
        ];
        for (seconds, text) in rows {
            assert_eq!(iso(Millis(seconds * 1000 + 7)), text);
        }
    }
}
