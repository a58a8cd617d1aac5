//! Totals by opponent, for the statistics and the page.
//!
//! The query runs along an index that is sorted by opponent and holds all columns; it reads one
//! game row for each name. Only games with a result count.

use std::collections::HashMap;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use serde::Serialize;

use super::filter::{Conditions, Filter};
use super::reader::ArchiveReader;
use super::record::{GameRecord, Millis, Outcome, ResultCounts};
use super::rows::{moment, number};
use super::sql_enums;
use crate::sqlite::Error;

/// Maximum number of opponents whose spelling is looked up, most frequent first.
const MAX_NAMED: usize = 1000;

/// The totals against one opponent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Opponent {
    /// The id of the account: the name in lower case.
    pub id: String,
    /// The name as the account spells it, if looked up.
    pub name: String,
    pub title: Option<String>,
    /// Whether the account is a bot.
    pub bot: bool,
    /// Results of the games.
    #[serde(flatten)]
    pub tally: ResultCounts,
    /// Start of the latest game.
    pub last: Millis,
    /// Rating at that time.
    pub rating: Option<i32>,
    /// Games that the opponent lost on time.
    pub flagged: u64,
    /// Games that we lost on time.
    pub timeouts: u64,
}

impl ArchiveReader {
    /// Returns at most `most` opponents in the selected games, most frequent first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn opponents(&self, filter: &Filter, most: usize) -> Result<Vec<Opponent>, Error> {
        let (sql, values) = counting(filter, most);
        self.ask(|db| {
            let mut found = db.prepare(&sql)?;
            let counted = found.query_map(params_from_iter(values), |row| {
                let count = |column: usize| row.get(column).map(moment);
                let id: Option<String> = row.get(0)?;
                let id = id.unwrap_or_default();
                Ok(Opponent {
                    name: id.clone(),
                    id,
                    title: None,
                    tally: ResultCounts {
                        games: count(1)?,
                        wins: count(2)?,
                        draws: count(3)?,
                        losses: count(4)?,
                        diff: row.get(5)?,
                    },
                    flagged: count(6)?,
                    timeouts: count(7)?,
                    last: count(8)?,
                    rating: row.get(9)?,
                    bot: row.get(10)?,
                })
            })?;
            let mut opponents: Vec<Opponent> = counted.collect::<rusqlite::Result<_>>()?;
            for opponent in opponents.iter_mut().take(MAX_NAMED) {
                look_up(db, opponent)?;
            }
            Ok(opponents)
        })
    }
}

/// The query and its parameters. With a single `max`, `SQLite` takes the plain columns from the row
/// that has it.
fn counting(filter: &Filter, most: usize) -> (String, Vec<Value>) {
    let mut conditions = Conditions::of(filter);
    conditions.bare("result IS NOT NULL");
    let clause = conditions.clause();
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    // The planner does not know that a span of time or an arena selects few rows. Only the index by
    // time has the origin of a game.
    let index = match filter {
        _ if filter.tournament.is_some() => "game_by_tournament",
        _ if filter.opponent.is_some() => "game_by_opponent",
        _ if filter.since.is_some() || filter.played => "game_by_time",
        _ => "game_by_opponent",
    };
    let by_time = sql_enums::by_time();
    let sql = format!(
        "SELECT opponent, count(*) AS games, sum(result = 'win'), sum(result = 'draw'),
            sum(result = 'loss'), sum(coalesce(diff, 0)), sum(result = 'win' AND {by_time}),
            sum(result = 'loss' AND {by_time}), max(began), opponent_rating, opponent_bot
         FROM game INDEXED BY {index} {clause} GROUP BY opponent ORDER BY games DESC, opponent LIMIT {most}"
    );
    (sql, conditions.values)
}

/// Looks up name and title in the latest game.
fn look_up(db: &Connection, opponent: &mut Opponent) -> rusqlite::Result<()> {
    let mut latest = db.prepare_cached(
        "SELECT CASE us WHEN 'white' THEN black_name ELSE white_name END,
            CASE us WHEN 'white' THEN black_title ELSE white_title END
         FROM game WHERE opponent = ?1 AND began = ?2 LIMIT 1",
    )?;
    let found = latest.query_row(params![opponent.id, number(opponent.last)], |row| {
        Ok((row.get::<_, String>(0)?, row.get(1)?))
    });
    if let Some((name, title)) = found.optional()? {
        if !name.is_empty() {
            opponent.name = name;
        }
        opponent.title = title;
    }
    Ok(())
}

/// Computes the same totals from games in memory, where there is no archive.
pub fn opponents_of<'g>(games: impl IntoIterator<Item = &'g GameRecord>) -> Vec<Opponent> {
    let mut known: HashMap<String, Opponent> = HashMap::new();
    for game in games {
        let (Some(us), Some(them), Some(outcome)) = (game.us, game.opponent(), game.our_outcome())
        else {
            continue;
        };
        let it = known.entry(them.key()).or_insert_with_key(|id| Opponent {
            id: id.clone(),
            ..Opponent::default()
        });
        let diff = game.player(us).rating_diff.unwrap_or_default();
        it.tally.add(outcome, diff.into());
        let ending = game.ending.as_ref();
        let by_time = ending.is_some_and(|ending| ending.status.is_time_forfeit());
        it.flagged += u64::from(by_time && outcome == Outcome::Win);
        it.timeouts += u64::from(by_time && outcome == Outcome::Loss);
        if game.began() >= it.last {
            it.last = game.began();
            it.name.clone_from(&them.name);
            it.title.clone_from(&them.title);
            it.rating = them.rating;
            it.bot = them.is_bot();
        }
    }
    let mut opponents: Vec<Opponent> = known.into_values().collect();
    opponents.sort_by(|one, other| {
        let by_games = other.tally.games.cmp(&one.tally.games);
        by_games.then_with(|| one.id.cmp(&other.id))
    });
    opponents
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::database::Database;
    use crate::archive::record::EndingRecord;
    use crate::archive::tests::{game, ground, keep};
    use crate::lichess::{Side, Status};

    /// Won, lost and drawn, on time and otherwise, void and running, against three opponents.
    fn games() -> Vec<GameRecord> {
        let ended = |number: u64, opponent: &str, status, winner| {
            let mut game = game(&format!("game{number:04}"), number, opponent);
            game.black.rating = Some(1800 + number as i32);
            game.ending = Some(EndingRecord {
                status,
                winner,
                at: number * 1000 + 1,
            });
            game
        };
        let (us, them) = (Some(Side::White), Some(Side::Black));
        let mut games = vec![
            ended(1, "Nuke", Status::VariantEnd, us),
            ended(2, "Nuke", Status::OutOfTime, them),
            ended(3, "NUKE", Status::OutOfTime, us),
            ended(4, "Nuke", Status::Aborted, None),
            ended(5, "Blast", Status::Timeout, us),
            ended(6, "Blast", Status::Draw, None),
            ended(7, "Fuse", Status::Resign, them),
            ended(8, "Nobody", Status::NoStart, None),
        ];
        games[1].white.rating_diff = Some(-7);
        games[2].black.title = Some("BOT".to_owned());
        let mut running = game("running0", 9, "Fuse");
        running.ending = None;
        games.push(running);
        games
    }

    #[test]
    fn the_page_and_the_statistics_count_alike() {
        let (_folder, path) = ground();
        let mut disk = Database::open(&path, 1).unwrap();
        let games = games();
        for game in &games {
            keep(&mut disk, game);
        }
        let reader = ArchiveReader::open(&path).unwrap();
        let all = Filter::default();
        let counted = reader.opponents(&all, usize::MAX).unwrap();
        let tally = |games, wins, draws, losses, diff| ResultCounts {
            games,
            wins,
            draws,
            losses,
            diff,
        };
        let nuke = Opponent {
            id: "nuke".to_owned(),
            name: "NUKE".to_owned(),
            title: Some("BOT".to_owned()),
            bot: true,
            tally: tally(3, 2, 0, 1, 3),
            last: 3000,
            rating: Some(1803),
            flagged: 1,
            timeouts: 1,
        };
        assert_eq!(counted[0], nuke);
        let told: Vec<_> = counted
            .iter()
            .map(|it| (it.id.as_str(), it.tally))
            .collect();
        assert_eq!(told[1], ("blast", tally(2, 1, 1, 0, 10)));
        assert_eq!(told[2], ("fuse", tally(1, 0, 0, 1, 5)));
        assert_eq!(told.len(), 3, "what has no result is no game");
        assert_eq!(opponents_of(&games), counted);
        let stats = reader.stats(&all).unwrap();
        assert_eq!(stats.opponents, counted);
        let sum: u64 = counted.iter().map(|it| it.tally.games).sum();
        assert_eq!(sum, stats.total.games);
        assert_eq!(reader.opponents(&all, 2).unwrap(), counted[..2]);
        let since = Filter {
            since: Some(6000),
            ..Filter::default()
        };
        let late = reader.opponents(&since, 9).unwrap();
        let ids: Vec<_> = late.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids, ["blast", "fuse"]);
    }

    #[test]
    fn opponents_are_counted_along_their_index_alone() {
        let (_folder, path) = ground();
        drop(Database::open(&path, 1).unwrap());
        let reader = ArchiveReader::open(&path).unwrap();
        let plan = |filter: &Filter| -> String {
            let (sql, values) = counting(filter, 10);
            let steps: Vec<String> = reader
                .ask(|db| {
                    let mut steps = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
                    let steps = steps.query_map(params_from_iter(values), |row| row.get(3))?;
                    steps.collect()
                })
                .unwrap();
            steps.join("\n")
        };
        let all = plan(&Filter::default());
        assert!(
            all.starts_with("SCAN game USING COVERING INDEX game_by_opponent"),
            "{all}"
        );
        assert!(!all.contains("FOR GROUP BY"), "{all}");
        let some = Filter {
            rated: Some(true),
            speed: Some(crate::lichess::Speed::Blitz),
            us: Some(Side::White),
            bots: Some(true),
            opening: Some("g1f3".to_owned()),
            ..Filter::default()
        };
        let some = plan(&some);
        assert!(some.starts_with("SCAN game USING COVERING INDEX"), "{some}");
        let late = Filter {
            since: Some(5),
            ..Filter::default()
        };
        let late = plan(&late);
        assert!(
            late.starts_with("SEARCH game USING COVERING INDEX game_by_time (began>?"),
            "{late}"
        );
        let played = Filter {
            played: true,
            ..Filter::default()
        };
        let played = plan(&played);
        assert!(
            played.starts_with("SCAN game USING COVERING INDEX game_by_time"),
            "{played}"
        );
        let arena = Filter {
            tournament: Some("aBcD1234".to_owned()),
            played: true,
            ..Filter::default()
        };
        let arena = plan(&arena);
        assert!(
            arena.starts_with("SEARCH game USING INDEX game_by_tournament (tournament=?"),
            "{arena}"
        );
    }
}
