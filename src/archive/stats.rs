//! Statistics of games: one scan of an index (by opponent: `opponents`).
//!
//! The scans read neither game rows nor moves, so that a million games take a few seconds. Only the
//! latest games lost on time are read whole.

use std::collections::HashMap;

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Row, params_from_iter};
use serde::Serialize;

use super::dates::DAY;
use super::filter::{Conditions, Filter, Order, ResultFilter};
use super::opponents::Opponent;
use super::reader::ArchiveReader;
use super::record::{GameRecord, Millis, Outcome, ResultCounts};
use super::rows::moment;
use super::sql_enums::TIMES;
use super::time_loss::{TimeLoss, time_loss};
use crate::lichess::{Side, Status};
use crate::sqlite::Error;

/// How many of the latest games lost on time are examined.
const LOOKED_INTO: usize = 200;
/// A game with less time left than this, in milliseconds, was close to a loss on time.
const THREAD: i64 = 2_000;

/// Games with something in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Group {
    pub name: String,
    #[serde(flatten)]
    pub tally: ResultCounts,
    /// Start of the latest game.
    pub last: Millis,
}

/// An opening, from one side of the board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpeningGroup {
    /// The moves in UCI.
    pub moves: String,
    pub us: Side,
    /// Results of the games.
    #[serde(flatten)]
    pub tally: ResultCounts,
}

/// Our rating on one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RatingDay {
    /// The first moment of the day.
    pub day: Millis,
    /// The rating after its last game.
    pub rating: i32,
    /// The lowest and the highest rating of the day.
    pub low: i32,
    pub high: i32,
    /// Rated games of the day.
    pub games: u64,
}

/// How often time ran short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TimeTrouble {
    /// Games with a known clock of ours.
    pub clocked: u64,
    /// Those with at least one hurried move of ours.
    pub games: u64,
    pub moves: u64,
    /// Games with less than two seconds left after a move.
    pub by_a_thread: u64,
    /// Results of the games with hurried moves.
    pub tally: ResultCounts,
    /// Games that we lost on time.
    pub lost: u64,
    /// Games that opponents lost on time.
    pub won: u64,
}

/// Statistics of the selected games.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    pub total: ResultCounts,
    /// Games without a result: aborted, never begun, or with an unknown end.
    pub void: u64,
    pub running: u64,
    /// By our side: white, black.
    pub colors: [ResultCounts; 2],
    /// Rated, casual.
    pub modes: [ResultCounts; 2],
    /// Against humans, against bots.
    pub kinds: [ResultCounts; 2],
    /// By speed class, most played first.
    pub speeds: Vec<Group>,
    /// By opponent, most frequent first.
    pub opponents: Vec<Opponent>,
    /// By first moves, most played first.
    pub openings: Vec<OpeningGroup>,
    /// By the hour in UTC at which they began.
    pub hours: [ResultCounts; 24],
    /// By ending, most frequent first.
    pub endings: Vec<Group>,
    /// Our rating by day.
    pub ratings: Vec<RatingDay>,
    pub trouble: TimeTrouble,
    /// The latest games that we lost on time, with causes.
    pub time_losses: Vec<TimeLoss>,
    /// Lost streams, rate limits and late searches, by kind of event: in the selected games, or in
    /// the whole account if all games are selected.
    pub disconnects: Vec<(String, u64)>,
}

const COLUMNS: &str =
    "began, result, us, opponent_bot, speed, rated, status, opening, rating, diff,
    least_clock, hurried, ended";

impl ArchiveReader {
    /// Computes the statistics of the selected games.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn stats(&self, filter: &Filter) -> Result<Stats, Error> {
        let (sql, values) = counting_games(filter);
        let mut count = StatsCounter::default();
        self.ask(|db| {
            let mut found = db.prepare(&sql)?;
            let mut rows = found.query(params_from_iter(values))?;
            while let Some(row) = rows.next()? {
                count.add(row)?;
            }
            Ok(())
        })?;
        let mut stats = count.done();
        stats.opponents = self.opponents(filter, usize::MAX)?;
        stats.time_losses = self.time_losses(filter)?;
        stats.disconnects = self.disconnects(filter)?;
        Ok(stats)
    }

    /// Returns the latest games that we lost on time, with causes.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn time_losses(&self, filter: &Filter) -> Result<Vec<TimeLoss>, Error> {
        let is_meant = |status: &Status| filter.status.is_empty() || filter.status.contains(status);
        let forfeits = Status::TIME_FORFEITS.into_iter().filter(is_meant);
        let lost = Filter {
            result: Some(ResultFilter::Result(Outcome::Loss)),
            status: forfeits.collect(),
            ..filter.clone()
        };
        let of_other_kind = |wanted: &ResultFilter| *wanted != ResultFilter::Result(Outcome::Loss);
        if filter.result.as_ref().is_some_and(of_other_kind) || lost.status.is_empty() {
            return Ok(Vec::new());
        }
        let mut games = Vec::new();
        self.each_game(&lost, Order::Newest, LOOKED_INTO, |game| {
            games.push(game);
            Ok::<_, Error>(true)
        })?;
        let mut losses = Vec::new();
        for game in games {
            let events = self.events_of(&game)?;
            losses.extend(time_loss(&game, &events));
        }
        Ok(losses)
    }

    fn disconnects(&self, filter: &Filter) -> Result<Vec<(String, u64)>, Error> {
        let (sql, values) = counting_events(filter);
        self.ask(|db| {
            let mut found = db.prepare(&sql)?;
            let count = |row: &Row<'_>| Ok((row.get(0)?, moment(row.get(1)?)));
            found.query_map(params_from_iter(values), count)?.collect()
        })
    }
}

/// The query for all games to count, ordered by start.
fn counting_games(filter: &Filter) -> (String, Vec<Value>) {
    let conditions = Conditions::of(filter);
    let clause = conditions.clause();
    let sql = format!("SELECT {COLUMNS} FROM game {clause} ORDER BY began");
    (sql, conditions.values)
}

/// The query for problems with the server, and its parameters. Unless all games are selected,
/// events of the account as a whole do not count.
fn counting_events(filter: &Filter) -> (String, Vec<Value>) {
    let of_all_games = Filter {
        since: filter.since,
        until: filter.until,
        played: filter.played,
        ..Filter::default()
    };
    let mut conditions = Conditions::default();
    if *filter == of_all_games {
        conditions.span("at", filter.since, filter.until);
    } else {
        let mut games = Conditions::of(filter);
        games.bare("id = event.game");
        conditions.bare(&format!("EXISTS (SELECT 1 FROM game {})", games.clause()));
        conditions.values = games.values;
    }
    conditions.bare("kind IN ('stream', 'offline', 'limited', 'search')");
    let clause = conditions.clause();
    let sql = format!(
        "SELECT kind, sum({TIMES}) AS times FROM event {clause}
        GROUP BY kind ORDER BY times DESC, kind"
    );
    (sql, conditions.values)
}

#[derive(Default)]
struct StatsCounter {
    stats: Stats,
    speeds: HashMap<String, Group>,
    endings: HashMap<String, Group>,
    openings: [HashMap<String, ResultCounts>; 2],
    rated: Vec<RatedGame>,
}

impl StatsCounter {
    fn add(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let began = moment(row.get(0)?);
        let word = |index| -> rusqlite::Result<&str> {
            Ok(match row.get_ref(index)? {
                ValueRef::Text(text) => std::str::from_utf8(text).unwrap_or_default(),
                _ => "",
            })
        };
        let end = word(6)?;
        let Ok(outcome) = word(1)?.parse::<Outcome>() else {
            let voids = !end.is_empty();
            self.stats.void += u64::from(voids);
            self.stats.running += u64::from(!voids);
            return Ok(());
        };
        let diff = row.get::<_, Option<i64>>(9)?.unwrap_or_default();
        let black = word(2)? == "black";
        let (bot, with_rating): (bool, bool) = (row.get(3)?, row.get(5)?);
        let stats = &mut self.stats;
        let hour = (began % DAY / 3_600_000) as usize;
        for tally in [
            &mut stats.total,
            &mut stats.colors[usize::from(black)],
            &mut stats.modes[usize::from(!with_rating)],
            &mut stats.kinds[usize::from(bot)],
            &mut stats.hours[hour],
        ] {
            tally.add(outcome, diff);
        }
        let flagged = Status::from_word(end).is_time_forfeit();
        stats.trouble.lost += u64::from(flagged && outcome == Outcome::Loss);
        stats.trouble.won += u64::from(flagged && outcome == Outcome::Win);
        if let Some(least) = row.get::<_, Option<i64>>(10)? {
            let hurried = moment(row.get(11)?);
            stats.trouble.clocked += 1;
            stats.trouble.moves += hurried;
            stats.trouble.by_a_thread += u64::from(least < THREAD);
            if hurried > 0 {
                stats.trouble.games += 1;
                stats.trouble.tally.add(outcome, diff);
            }
        }
        if let (true, Some(before)) = (with_rating, row.get::<_, Option<i32>>(8)?) {
            let ended = row.get::<_, Option<i64>>(12)?.map_or(began, moment);
            let diff = diff as i32;
            self.rated.push(RatedGame {
                began,
                ended,
                before,
                diff,
            });
        }
        for (groups, name) in [(&mut self.speeds, word(4)?), (&mut self.endings, end)] {
            let group = entry(groups, name);
            group.tally.add(outcome, diff);
            group.last = group.last.max(began);
        }
        entry(&mut self.openings[usize::from(black)], word(7)?).add(outcome, diff);
        Ok(())
    }

    fn done(self) -> Stats {
        let mut stats = self.stats;
        for (at, rating) in follow(self.rated) {
            rate(&mut stats.ratings, at, rating);
        }
        stats.speeds = sorted(self.speeds);
        stats.endings = sorted(self.endings);
        for (openings, us) in self.openings.into_iter().zip([Side::White, Side::Black]) {
            let openings = openings.into_iter();
            stats
                .openings
                .extend(openings.map(|(moves, tally)| OpeningGroup { moves, us, tally }));
        }
        stats.openings.sort_by(|one, other| {
            let by_games = other.tally.games.cmp(&one.tally.games);
            by_games.then_with(|| one.moves.cmp(&other.moves))
        });
        stats
    }
}

fn sorted(groups: HashMap<String, Group>) -> Vec<Group> {
    let groups = groups.into_iter();
    let mut groups: Vec<Group> = groups
        .map(|(name, group)| Group { name, ..group })
        .collect();
    groups.sort_by(|one, other| {
        let by_games = other.tally.games.cmp(&one.tally.games);
        by_games.then_with(|| one.name.cmp(&other.name))
    });
    groups
}

/// The value of a name; allocates only for a new name.
fn entry<'m, T: Default>(map: &'m mut HashMap<String, T>, name: &str) -> &'m mut T {
    if !map.contains_key(name) {
        map.insert(name.to_owned(), T::default());
    }
    map.get_mut(name).expect("the line above inserts it")
}

/// Adds a rating after a game; games come in the order of their ends.
fn rate(days: &mut Vec<RatingDay>, ended: Millis, rating: i32) {
    let day = ended - ended % DAY;
    match days.last_mut() {
        Some(last) if last.day == day => {
            last.rating = rating;
            last.low = last.low.min(rating);
            last.high = last.high.max(rating);
            last.games += 1;
        }
        _ => days.push(RatingDay {
            day,
            rating,
            low: rating,
            high: rating,
            games: 1,
        }),
    }
}

/// A rated game and its effect on our rating.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RatedGame {
    pub began: Millis,
    pub ended: Millis,
    /// Our rating at its start.
    pub before: i32,
    /// The change by the game.
    pub diff: i32,
}

impl RatedGame {
    /// `None` for a running game and for an unknown rating.
    pub fn of(record: &GameRecord) -> Option<Self> {
        let player = record.player(record.us?);
        Some(Self {
            began: record.began(),
            ended: record.ending.as_ref()?.at,
            before: player.rating?,
            diff: player.rating_diff?,
        })
    }
}

/// By how much the bot's clock, which may have timed a game's end, may differ from the server's.
const CLOCKS_DIFFER: Millis = 60_000;

/// The end of each game and our rating after it, in that order. A game knows the rating at its
/// start; changes by other games that ended meanwhile are added. So a game missing from the list
/// shifts only its neighbours. Where the clocks leave open whether a game had ended at the start of
/// another, the rating at that start tells.
pub fn follow(mut games: Vec<RatedGame>) -> Vec<(Millis, i32)> {
    games.sort_by_key(|game| game.ended);
    let mut points: Vec<(Millis, i32)> = Vec::with_capacity(games.len());
    for (n, game) in games.iter().enumerate() {
        let ended_by = |at| games[..n].partition_point(|other| other.ended <= at);
        let surely = ended_by(game.began);
        let perhaps = ended_by(game.began.saturating_add(CLOCKS_DIFFER));
        let fits = |&known: &usize| known > 0 && points[known - 1].1 == game.before;
        let known = (surely..=perhaps).find(fits).unwrap_or(surely);
        let changes = games[known..=n].iter().map(|game| game.diff);
        points.push((game.ended, changes.fold(game.before, i32::saturating_add)));
    }
    points
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::archive::ArchiveEntry;
    use crate::archive::database::Database;
    use crate::archive::record::{EndingRecord, EventRecord};
    use crate::archive::tests::{game, ground, keep};
    use crate::archive::time_loss::Cause;

    #[test]
    fn games_are_counted_under_every_heading() {
        let (_folder, path) = ground();
        let mut disk = Database::open(&path, 1).unwrap();
        let hour = 3600;
        keep(&mut disk, &game("first000", 0, "Nuke"));
        keep(&mut disk, &game("second00", hour, "Nuke"));
        let mut lost = game("third000", 30 * hour, "Blast");
        lost.ending = Some(EndingRecord {
            status: Status::OutOfTime,
            winner: Some(Side::Black),
            at: (30 * hour + 20) * 1000,
        });
        lost.white.rating_diff = Some(-7);
        lost.moves.pop();
        lost.moves[3].at = Some((30 * hour + 4) * 1000);
        keep(&mut disk, &lost);
        let mut void = game("fourth00", 31 * hour, "Nuke");
        void.ending = Some(EndingRecord {
            status: Status::Aborted,
            winner: None,
            at: 1,
        });
        keep(&mut disk, &void);
        let mut running = game("fifth000", 32 * hour, "Nuke");
        running.ending = None;
        keep(&mut disk, &running);
        let event = EventRecord {
            at: (30 * hour + 10) * 1000,
            kind: "stream".to_owned(),
            text: "lost: reset".to_owned(),
            game: Some("third000".to_owned()),
        };
        disk.commit(&[ArchiveEntry::Event(event.into())]).unwrap();
        let reader = ArchiveReader::open(&path).unwrap();
        let stats = reader.stats(&Filter::default()).unwrap();
        let total = ResultCounts {
            games: 3,
            wins: 2,
            draws: 0,
            losses: 1,
            diff: 3,
        };
        assert_eq!((stats.total, stats.void, stats.running), (total, 1, 1));
        assert_eq!(
            (stats.colors, stats.modes[0]),
            ([total, ResultCounts::default()], total)
        );
        assert_eq!(stats.kinds[0], total);
        let names: Vec<_> = stats
            .opponents
            .iter()
            .map(|opponent| opponent.id.as_str())
            .collect();
        assert_eq!(names, ["nuke", "blast"]);
        assert_eq!(stats.opponents[0].tally.games, 2);
        assert_eq!(stats.opponents[0].rating, Some(1900));
        assert_eq!((stats.hours[1].games, stats.hours[6].losses), (1, 1));
        assert_eq!(stats.openings.len(), 2);
        assert_eq!(stats.openings[0].tally.games, 2);
        let ratings: Vec<i32> = stats.ratings.iter().map(|day| day.rating).collect();
        assert_eq!(ratings, [2005, 1993]);
        assert_eq!(
            (stats.trouble.lost, stats.trouble.won, stats.trouble.games),
            (1, 0, 3)
        );
        assert_eq!(stats.time_losses[0].cause, Cause::Stream);
        assert_eq!(stats.disconnects, [("stream".to_owned(), 1)]);
        assert!((stats.total.percent() - 66.67).abs() < 0.01);
        let since = Filter {
            since: Some(20 * hour * 1000),
            ..Filter::default()
        };
        assert_eq!(reader.stats(&since).unwrap().total.games, 1);
    }

    #[test]
    fn overhead_is_counted_for_the_selected_games_only() {
        let (_folder, path) = ground();
        let mut disk = Database::open(&path, 1).unwrap();
        keep(&mut disk, &game("first000", 10, "Nuke"));
        keep(&mut disk, &game("second00", 20, "Blast"));
        let event = |at: Millis, kind: &str, text: &str, game: Option<&str>| {
            ArchiveEntry::Event(Arc::new(EventRecord {
                at: at * 1000,
                kind: kind.to_owned(),
                text: text.to_owned(),
                game: game.map(str::to_owned),
            }))
        };
        disk.commit(&[
            event(11, "stream", "lost: reset", Some("first000")),
            event(
                12,
                "limited",
                "move: rate limited 12 times",
                Some("first000"),
            ),
            event(21, "stream", "lost: reset", Some("second00")),
            event(22, "stream", "lost: reset", Some("second00")),
            event(23, "offline", "no line for 15 s", None),
            event(24, "limited", "create: rate limited, to wait 60 s", None),
        ])
        .unwrap();
        let reader = ArchiveReader::open(&path).unwrap();
        let lost = |set: fn(&mut Filter)| -> Vec<String> {
            let mut filter = Filter::default();
            set(&mut filter);
            let lost = reader.stats(&filter).unwrap().disconnects;
            let told = lost
                .into_iter()
                .map(|(kind, times)| format!("{kind} {times}"));
            told.collect()
        };
        assert_eq!(lost(|_| {}), ["limited 13", "stream 3", "offline 1"]);
        let late = |filter: &mut Filter| filter.since = Some(22_000);
        assert_eq!(lost(late), ["limited 1", "offline 1", "stream 1"]);
        let played = |filter: &mut Filter| filter.played = true;
        assert_eq!(lost(played), ["limited 13", "stream 3", "offline 1"]);
        let nuke = |filter: &mut Filter| filter.opponent = Some("Nuke".to_owned());
        assert_eq!(lost(nuke), ["limited 12", "stream 1"]);
        // By the start of the game, like everything else about it.
        let blast = |filter: &mut Filter| {
            filter.opponent = Some("blast".to_owned());
            filter.until = Some(21_500);
        };
        assert_eq!(lost(blast), ["stream 2"]);
        let day = disk.day(0, 100_000).unwrap();
        assert_eq!((day.streams, day.limited), (4, 13));
    }

    #[test]
    fn the_rating_follows_concurrent_games() {
        let (_folder, path) = ground();
        let mut disk = Database::open(&path, 1).unwrap();
        for number in 0..8 {
            // Eight at the same time, each begun at 2000 and worth 5; the last one to begin ends
            // first.
            let mut one = game(&format!("game{number:04}"), number, "Nuke");
            one.ending.as_mut().unwrap().at = (100 - number) * 1000;
            keep(&mut disk, &one);
        }
        let stats = ArchiveReader::open(&path)
            .unwrap()
            .stats(&Filter::default());
        let day = stats.unwrap().ratings[0];
        assert_eq!((day.low, day.high, day.rating), (2005, 2040, 2040));
    }

    #[test]
    fn statistics_are_counted_along_one_index_alone() {
        let (_folder, path) = ground();
        drop(Database::open(&path, 1).unwrap());
        let reader = ArchiveReader::open(&path).unwrap();
        let plan = |(sql, values): (String, Vec<Value>)| -> String {
            let steps = reader.ask(|db| {
                let mut steps = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
                let steps = steps.query_map(params_from_iter(values), |row| row.get(3))?;
                steps.collect::<rusqlite::Result<Vec<String>>>()
            });
            steps.unwrap().join("\n")
        };
        let all = plan(counting_games(&Filter::default()));
        assert_eq!(all, "SCAN game USING COVERING INDEX game_by_time");
        let arena = Filter {
            tournament: Some("aBcD1234".to_owned()),
            ..Filter::default()
        };
        let few = plan(counting_games(&arena));
        assert_eq!(
            few,
            "SEARCH game USING INDEX game_by_tournament (tournament=?)"
        );
        // The query reads events of these kinds only, and the one game of each.
        let lost = plan(counting_events(&arena));
        assert!(lost.contains("event_by_kind (kind=?)"), "{lost}");
        assert!(
            lost.contains("USING INDEX sqlite_autoindex_game_1 (id=?)"),
            "{lost}"
        );
    }

    fn rated(began: Millis, ended: Millis, before: i32, diff: i32) -> RatedGame {
        RatedGame {
            began,
            ended,
            before,
            diff,
        }
    }

    #[test]
    fn ratings_follow_concurrent_games() {
        let games = vec![
            rated(40, 50, 1530, -5),
            rated(0, 10, 1500, 10),
            rated(20, 30, 1510, 8),
            rated(21, 35, 1510, 12),
        ];
        assert_eq!(
            follow(games),
            [(10, 1510), (30, 1518), (35, 1530), (50, 1525)]
        );
    }

    #[test]
    fn a_game_that_ended_late_by_the_bots_clock_counts_once() {
        // By the server the first one ended at 10,000, so the second begins with its rating.
        let games = vec![
            rated(0, 15_000, 1500, 10),
            rated(12_000, 30_000, 1510, -4),
            rated(31_000, 40_000, 1506, 3),
        ];
        assert_eq!(
            follow(games),
            [(15_000, 1510), (30_000, 1506), (40_000, 1509)]
        );
        // This one did begin before the other's end.
        let games = vec![rated(0, 15_000, 1500, 10), rated(12_000, 30_000, 1500, -4)];
        assert_eq!(follow(games), [(15_000, 1510), (30_000, 1506)]);
    }

    #[test]
    fn games_outside_the_list_cause_no_drift() {
        // Two or three at the same time; every second one is lost and missing from the list.
        let won = (0..500).map(|n| rated(20 * n, 20 * n + 25, 1500, 5));
        let highest = follow(won.collect()).into_iter().map(|(_, rating)| rating);
        assert_eq!(highest.max(), Some(1510));
    }
}
