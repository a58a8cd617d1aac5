//! The tags of a game, from a record and back.
//!
//! The names are those of Lichess exports, so that either program reads the files of the other.
//! Three are ours (`Status`, `UTCEndDate`, `UTCEndTime`); other readers ignore them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use pgn_reader::{KnownOutcome, Outcome};

use crate::archive::dates;
use crate::archive::record::{
    EndingRecord, GameRecord, Millis, Origin, PlayerRecord, TimeControlRecord,
};
use crate::lichess::{Side, Speed, Status, is_public_id, speed_of};

const DAY_SECONDS: u64 = 24 * 3600;
/// Longest name, in characters.
const MAX_NAME: usize = 60;
/// Plausible ratings.
const RATINGS: std::ops::RangeInclusive<i32> = 0..=5000;

/// The tags of a record, in order.
pub(super) fn of_record(game: &GameRecord, site: &str) -> Vec<(&'static str, String)> {
    let site = site.trim_end_matches('/');
    let began = game.began();
    let mode = if game.rated { "rated" } else { "casual" };
    let event = match &game.tournament {
        Some(_) => format!("{mode} atomic tournament"),
        None => format!("{mode} atomic game"),
    };
    let mut tags = vec![
        ("Event", event),
        ("Site", format!("{site}/{}", game.id)),
        ("Date", dates::dotted_date(began)),
        ("Round", "-".to_owned()),
        ("White", shown(&game.white)),
        ("Black", shown(&game.black)),
        ("Result", game.result().to_owned()),
        ("GameId", game.id.clone()),
        ("UTCDate", dates::dotted_date(began)),
        ("UTCTime", dates::time_of_day(began)),
        ("WhiteElo", rating(&game.white)),
        ("BlackElo", rating(&game.black)),
    ];
    let mut add = |name, value: Option<String>| tags.extend(value.map(|value| (name, value)));
    let diff = |player: &PlayerRecord| player.rating_diff.map(|diff| format!("{diff:+}"));
    add("WhiteRatingDiff", diff(&game.white));
    add("BlackRatingDiff", diff(&game.black));
    add("WhiteTitle", game.white.title.clone());
    add("BlackTitle", game.black.title.clone());
    add("Variant", Some("Atomic".to_owned()));
    add("TimeControl", Some(control(game.control)));
    let tournament = game.tournament.as_ref();
    add(
        "TournamentURL",
        tournament.map(|id| format!("{site}/tournament/{id}")),
    );
    if let Some(fen) = &game.initial_fen {
        add("FEN", Some(fen.clone()));
        add("SetUp", Some("1".to_owned()));
    }
    add("Termination", Some(termination(game).to_owned()));
    if let Some(ending) = &game.ending {
        add("Status", Some(ending.status.as_str().to_owned()));
        add("UTCEndDate", Some(dates::dotted_date(ending.at)));
        add("UTCEndTime", Some(dates::time_of_day(ending.at)));
    }
    add("Annotator", game.program.clone());
    tags
}

fn shown(player: &PlayerRecord) -> String {
    if player.name.is_empty() {
        "?".to_owned()
    } else {
        player.name.clone()
    }
}

fn rating(player: &PlayerRecord) -> String {
    player
        .rating
        .map_or_else(|| "?".to_owned(), |rating| rating.to_string())
}

fn control(control: TimeControlRecord) -> String {
    match control {
        TimeControlRecord::Clock { initial, increment } => {
            format!("{}+{}", initial / 1000, increment / 1000)
        }
        TimeControlRecord::Days(days) => format!("1/{}", u64::from(days) * DAY_SECONDS),
        TimeControlRecord::Unlimited => "-".to_owned(),
        TimeControlRecord::Unknown => "?".to_owned(),
    }
}

/// The `Termination` of a game, as Lichess words it.
fn termination(game: &GameRecord) -> &'static str {
    let status = game.ending.as_ref().map(|ending| ending.status);
    match status {
        None | Some(Status::Created | Status::Started) => "Unterminated",
        Some(Status::Aborted | Status::NoStart) => "Abandoned",
        Some(status) if status.is_time_forfeit() => "Time forfeit",
        Some(Status::Cheat) => "Rules infraction",
        Some(Status::Unknown | Status::UnknownFinish) => "Unknown",
        Some(_) => "Normal",
    }
}

/// The tags read above a game.
#[derive(Debug, Default)]
pub(super) struct Tags {
    values: BTreeMap<String, String>,
    /// A name that appears twice: the tags of two games may be mixed.
    twice: Option<String>,
}

impl Tags {
    /// Adds a tag; of two with one name the first counts.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        let clean = value.chars().filter(|c| !c.is_control());
        let clean: String = clean.take(400).collect();
        match self.values.entry(name.to_owned()) {
            Entry::Vacant(place) => {
                place.insert(clean);
            }
            Entry::Occupied(place) => self.twice = Some(place.key().clone()),
        }
    }

    pub(super) fn twice(&self) -> Option<&str> {
        self.twice.as_deref()
    }

    /// The value of a tag, unless it means unknown.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let value = self.values.get(name)?.trim();
        (!matches!(value, "" | "?" | "-")).then_some(value)
    }

    /// The server's id of the game.
    pub(super) fn id(&self) -> Option<&str> {
        let of_site = || {
            let path = self.get("Site")?.split(['?', '#']).next()?;
            path.split('/').skip(3).find(|part| is_public_id(part))
        };
        let named = self.get("GameId").filter(|id| {
            (4..=20).contains(&id.len()) && id.bytes().all(|c| c.is_ascii_alphanumeric())
        });
        named.or_else(of_site)
    }

    pub(super) fn began(&self) -> Option<Millis> {
        let date = self.get("UTCDate").or_else(|| self.get("Date"))?;
        dates::of_tags(&date.replace("??", "01"), self.get("UTCTime"))
    }

    pub(super) fn ended(&self) -> Option<Millis> {
        dates::of_tags(self.get("UTCEndDate")?, self.get("UTCEndTime"))
    }

    /// A record of everything but the moves.
    pub(super) fn record(&self) -> GameRecord {
        let control = self.control();
        let event = self.get("Event").unwrap_or_default().to_ascii_lowercase();
        let mut words = event.split(|c: char| !c.is_ascii_alphanumeric());
        let began = self.began();
        let tournament = self.get("TournamentURL").or_else(|| self.get("Event"));
        let tournament = tournament.and_then(|url| url.split_once("/tournament/"));
        GameRecord {
            white: self.player(Side::White),
            black: self.player(Side::Black),
            rated: words.any(|word| word == "rated"),
            speed: speed(control),
            control,
            created: began,
            joined: began.unwrap_or_default(),
            origin: Origin::Imported,
            tournament: tournament.map(|(_, id)| id.to_owned()),
            program: self.get("Annotator").map(str::to_owned),
            ..GameRecord::default()
        }
    }

    fn player(&self, side: Side) -> PlayerRecord {
        let of = |white, black| match side {
            Side::White => self.get(white),
            Side::Black => self.get(black),
        };
        let name = of("White", "Black").unwrap_or("?");
        let name: String = name.chars().take(MAX_NAME).collect();
        let plain = |c: u8| c.is_ascii_alphanumeric() || b"-_".contains(&c);
        let account = name.bytes().all(plain);
        let number = |text: &str| text.trim_end_matches('?').parse::<i32>().ok();
        let rating = of("WhiteElo", "BlackElo");
        let diff = of("WhiteRatingDiff", "BlackRatingDiff");
        let is_change = |it: &i32| RATINGS.contains(&it.saturating_abs());
        PlayerRecord {
            id: account.then(|| name.to_lowercase()),
            name,
            title: of("WhiteTitle", "BlackTitle").map(|title| title.chars().take(6).collect()),
            rating: rating.and_then(number).filter(|it| RATINGS.contains(it)),
            provisional: rating.is_some_and(|rating| rating.ends_with('?')),
            rating_diff: diff.and_then(number).filter(is_change),
        }
    }

    fn control(&self) -> TimeControlRecord {
        // A dash means days per move or no limit; both are common.
        let Some(text) = self.get("TimeControl") else {
            return TimeControlRecord::Unknown;
        };
        if let Some((initial, increment)) = text.split_once('+') {
            return match (initial.parse::<u32>(), increment.parse::<u32>()) {
                (Ok(initial), Ok(increment)) => TimeControlRecord::Clock {
                    initial: Millis::from(initial) * 1000,
                    increment: Millis::from(increment) * 1000,
                },
                _ => TimeControlRecord::Unknown,
            };
        }
        let seconds = text
            .strip_prefix("1/")
            .and_then(|seconds| seconds.parse::<u64>().ok());
        let days = seconds.map(|seconds| seconds / DAY_SECONDS);
        match days.and_then(|days| u32::try_from(days).ok()) {
            Some(days @ 1..=1000) => TimeControlRecord::Days(days),
            _ => TimeControlRecord::Unknown,
        }
    }

    /// The end of the game: by our own tag if there is one, else by the tags of Lichess and the
    /// board.
    pub(super) fn ending(
        &self,
        result: Outcome,
        on_board: Option<Status>,
        at: Millis,
    ) -> Option<EndingRecord> {
        let winner = winner_of(result);
        let told = self.get("Status").map(Status::from_word);
        let status = match (told, self.get("Termination")) {
            (Some(status), _) if status != Status::Unknown => status,
            (_, Some("Unterminated")) => return None,
            // The opponent of a player who never moved has won.
            (_, Some("Abandoned")) if winner.is_some() => Status::NoStart,
            (_, Some("Abandoned")) => Status::Aborted,
            (_, Some("Unknown")) if result == Outcome::Unknown => Status::UnknownFinish,
            (_, Some("Time forfeit")) => Status::OutOfTime,
            (_, Some("Rules infraction")) => Status::Cheat,
            _ => match (on_board, result) {
                (Some(status), _) => status,
                (None, Outcome::Known(KnownOutcome::Decisive { .. })) => Status::Resign,
                (None, Outcome::Known(KnownOutcome::Draw)) => Status::Draw,
                (None, Outcome::Unknown) => return None,
            },
        };
        (!status.is_playing()).then_some(EndingRecord { status, winner, at })
    }
}

/// The winner that a result names.
pub(super) fn winner_of(result: Outcome) -> Option<Side> {
    let winner = result.winner();
    winner.map(|winner| winner.fold_wb(Side::White, Side::Black))
}

/// The speed class of a time control on Lichess.
fn speed(control: TimeControlRecord) -> Speed {
    match control {
        TimeControlRecord::Clock { initial, increment } => speed_of(
            Duration::from_millis(initial),
            Duration::from_millis(increment),
        ),
        TimeControlRecord::Days(_) | TimeControlRecord::Unlimited | TimeControlRecord::Unknown => {
            Speed::Correspondence
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(rows: &[(&str, &str)]) -> Tags {
        let mut tags = Tags::default();
        for (name, value) in rows {
            tags.add(name, value);
        }
        tags
    }

    #[test]
    fn the_id_is_found_in_the_address_too() {
        let site = |site| tags(&[("Site", site)]).id().map(str::to_owned);
        assert_eq!(
            site("https://lichess.org/q7ZxVt2B").as_deref(),
            Some("q7ZxVt2B")
        );
        assert_eq!(
            site("https://lichess.org/q7ZxVt2B/black#9").as_deref(),
            Some("q7ZxVt2B")
        );
        assert_eq!(site("https://lichess.org/"), None);
        assert_eq!(site("Sometown1"), None);
        let both = tags(&[
            ("Site", "https://lichess.org/q7ZxVt2B"),
            ("GameId", "abcdEFGH"),
        ]);
        assert_eq!(both.id(), Some("abcdEFGH"));
        assert_eq!(tags(&[("GameId", "../../etc")]).id(), None);
    }

    #[test]
    fn a_time_control_has_a_speed() {
        let rows = [
            ("15+0", Speed::UltraBullet),
            ("60+0", Speed::Bullet),
            ("180+2", Speed::Blitz),
            ("600+5", Speed::Rapid),
            ("1800+20", Speed::Classical),
            ("1/172800", Speed::Correspondence),
            ("-", Speed::Correspondence),
            ("99999999999+0", Speed::Correspondence),
        ];
        for (text, expected) in rows {
            assert_eq!(
                tags(&[("TimeControl", text)]).record().speed,
                expected,
                "{text}"
            );
        }
        assert_eq!(
            tags(&[("TimeControl", "1/172800")]).control(),
            TimeControlRecord::Days(2)
        );
    }

    #[test]
    fn the_ending_comes_from_the_tags_or_the_board() {
        let (white, drawn, open) = ("1-0", "1/2-1/2", "*");
        let rows = [
            (
                "Normal",
                white,
                Some(Status::VariantEnd),
                Some(Status::VariantEnd),
            ),
            ("Normal", white, None, Some(Status::Resign)),
            ("Normal", drawn, None, Some(Status::Draw)),
            (
                "Normal",
                drawn,
                Some(Status::Stalemate),
                Some(Status::Stalemate),
            ),
            ("Time forfeit", white, None, Some(Status::OutOfTime)),
            ("Time forfeit", drawn, None, Some(Status::OutOfTime)),
            ("Abandoned", open, None, Some(Status::Aborted)),
            ("Abandoned", white, None, Some(Status::NoStart)),
            ("Unknown", open, None, Some(Status::UnknownFinish)),
            ("Unknown", drawn, None, Some(Status::Draw)),
            ("Rules infraction", white, None, Some(Status::Cheat)),
            ("Unterminated", open, None, None),
            ("?", open, None, None),
        ];
        for (told, result, on_board, expected) in rows {
            let ended = tags(&[("Termination", told)]).ending(result.parse().unwrap(), on_board, 0);
            assert_eq!(ended.map(|ended| ended.status), expected, "{told}");
        }
        let own = tags(&[("Status", "noStart"), ("Termination", "Abandoned")]);
        let ended = own
            .ending(Outcome::Unknown, None, 0)
            .map(|ended| ended.status);
        assert_eq!(ended, Some(Status::NoStart));
        let unknown = tags(&[("Status", "unknown"), ("Termination", "Unknown")]);
        let ended = unknown.ending(Outcome::Unknown, None, 0);
        assert!(ended.is_some(), "it does not run");
    }
}
