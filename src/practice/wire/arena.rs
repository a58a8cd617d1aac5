//! Arenas in the list and on their own page. The two shapes differ, as on Lichess: times are
//! numbers here and text there, a variant is an object here and a word there, teams are an array
//! here and an object there.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_with::skip_serializing_none;

use super::Variant;
use super::game::is_false;

/// The list of tournaments.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ArenaList {
    pub(crate) created: Vec<ListedArena>,
    pub(crate) started: Vec<ListedArena>,
    pub(crate) finished: Vec<ListedArena>,
}

/// A team.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ListedTeam {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// The fields of both shapes.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ArenaFacts {
    pub(crate) id: String,
    pub(crate) created_by: &'static str,
    pub(crate) system: &'static str,
    pub(crate) full_name: String,
    pub(crate) minutes: u32,
    pub(crate) clock: ArenaClock,
    pub(crate) rated: bool,
    pub(crate) nb_players: usize,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) bots_allowed: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) private: bool,
    pub(crate) min_rating: Option<RatingBound>,
    pub(crate) team_member: Option<String>,
    pub(crate) seconds_to_start: Option<u64>,
}

/// A tournament in the list.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedArena {
    #[serde(flatten)]
    pub(crate) facts: ArenaFacts,
    pub(crate) variant: Variant,
    pub(crate) starts_at: u64,
    pub(crate) finishes_at: u64,
    pub(crate) status: u8,
    pub(crate) perf: ListedPerf,
    pub(crate) team_battle: Option<TeamBattle<Vec<String>>>,
}

/// A tournament on its own page.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownArena {
    #[serde(flatten)]
    pub(crate) facts: ArenaFacts,
    pub(crate) variant: &'static str,
    pub(crate) starts_at: String,
    pub(crate) perf: ShownPerf,
    pub(crate) verdicts: EntryVerdicts,
    pub(crate) team_battle: Option<TeamBattle<TeamsById>>,
    pub(crate) standing: StandingPage,
    pub(crate) seconds_to_finish: Option<u64>,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) pairings_closed: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) is_finished: bool,
    pub(crate) my_username: Option<String>,
}

/// Start time and increment in seconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct ArenaClock {
    pub(crate) limit: u32,
    pub(crate) increment: u32,
}

/// The minimum rating to join.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct RatingBound {
    pub(crate) perf: &'static str,
    pub(crate) rating: i32,
}

/// The name and the flair of each team, by its id.
pub(crate) type TeamsById = BTreeMap<String, (String, Option<String>)>;

/// Teams against each other.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TeamBattle<T> {
    pub(crate) teams: T,
    pub(crate) nb_leaders: u32,
}

/// The rating category in the list.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct ListedPerf {
    pub(crate) key: &'static str,
    pub(crate) name: &'static str,
    pub(crate) position: u32,
}

/// The rating category on the page of one tournament.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct ShownPerf {
    pub(crate) icon: &'static str,
    pub(crate) key: &'static str,
    pub(crate) name: &'static str,
}

/// Whether the caller may join.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct EntryVerdicts {
    pub(crate) list: Vec<EntryVerdict>,
    pub(crate) accepted: bool,
}

/// One condition of entry.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct EntryVerdict {
    pub(crate) condition: String,
    pub(crate) verdict: String,
}

/// The first page of the players.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StandingPage {
    pub(crate) page: u32,
    pub(crate) players: Vec<StandingPlayer>,
}

/// One player, the best first.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StandingPlayer {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<&'static str>,
    pub(crate) rank: usize,
    pub(crate) rating: i32,
    pub(crate) score: u32,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) withdraw: bool,
}
