//! Recorded messages of the server parse without a loss.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use megaton::lichess::{
    ChallengeId, DeclineReason, Event, GameEvent, GameId, JsonMismatch, Side, Status, TimeControl,
    UserId, Variant,
};

const EVENTS: &str = include_str!("../data/lichess/events.ndjson");
const GAMES: &str = include_str!("../data/lichess/games.ndjson");

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty())
}

fn event(line: &str) -> Event {
    let read = Event::from_line(line).unwrap();
    assert_eq!(read.dropped, [], "{line}");
    assert!(!matches!(read.value, Event::Unknown { .. }), "{line}");
    read.value
}

fn game_event(line: &str) -> GameEvent {
    let read = GameEvent::from_line(line).unwrap();
    assert_eq!(read.dropped, [], "{line}");
    assert!(!matches!(read.value, GameEvent::Unknown { .. }), "{line}");
    read.value
}

#[test]
fn every_recorded_event_is_understood_whole() {
    let events: Vec<_> = lines(EVENTS).map(event).collect();
    let Event::GameStart(first) = &events[0] else {
        panic!("{:?}", events[0]);
    };
    assert_eq!(first.id, GameId::new("Ab3dEf6h"));
    assert_eq!(
        (first.color, first.variant),
        (Some(Side::White), Variant::Atomic)
    );
    assert_eq!(first.time_left, Some(Duration::from_secs(60)));
    assert_eq!(first.compat.map(|compat| compat.bot), Some(true));
    let Event::GameStart(arena) = &events[1] else {
        panic!("{:?}", events[1]);
    };
    assert_eq!(arena.opponent.id, Some(UserId::new("fusebot")));
    assert_eq!(arena.opponent.name.as_deref(), Some("FuseBot"));
    assert!(arena.opponent.is_bot());
    let Event::GameStart(anonymous) = &events[2] else {
        panic!("{:?}", events[2]);
    };
    assert_eq!(anonymous.opponent.id, None);
    let Event::GameFinish(finished) = &events[3] else {
        panic!("{:?}", events[3]);
    };
    assert_eq!(finished.status, Some(Status::VariantEnd));
    assert_eq!(
        (finished.winner, finished.rating_diff),
        (Some(Side::White), Some(4))
    );
    let Event::GameFinish(aborted) = &events[4] else {
        panic!("{:?}", events[4]);
    };
    assert_eq!(
        (aborted.status, aborted.winner),
        (Some(Status::Aborted), None)
    );
    assert_eq!(aborted.opponent.ai_level, Some(5));
}

#[test]
fn every_recorded_challenge_is_understood_whole() {
    let events: Vec<_> = lines(EVENTS).skip(5).map(event).collect();
    let Event::Challenge { challenge, compat } = &events[0] else {
        panic!("{:?}", events[0]);
    };
    assert_eq!(challenge.id, ChallengeId::new("cH4lL3ng"));
    assert!(challenge.rated && compat.is_some_and(|compat| compat.bot));
    let limit = Duration::from_secs(30);
    let increment = Duration::ZERO;
    assert_eq!(
        challenge.time_control,
        TimeControl::Clock { limit, increment }
    );
    let Event::Challenge { challenge, compat } = &events[1] else {
        panic!("{:?}", events[1]);
    };
    assert_eq!((&challenge.challenger, *compat), (&None, None));
    assert!(challenge.open && challenge.rules == ["noAbort", "noRematch"]);
    let Event::Challenge { challenge, compat } = &events[2] else {
        panic!("{:?}", events[2]);
    };
    assert_eq!(challenge.rematch_of, Some(GameId::new("Qq1Ww2Ee")));
    assert_eq!(
        challenge.time_control,
        TimeControl::Correspondence { days: 3 }
    );
    assert_eq!(challenge.final_color, Some(Side::Black));
    assert_eq!(compat.map(|compat| compat.bot), Some(false));
    let Event::ChallengeCanceled(canceled) = &events[3] else {
        panic!("{:?}", events[3]);
    };
    assert_eq!(canceled.time_control, TimeControl::Unlimited);
    let Event::ChallengeDeclined(declined) = &events[4] else {
        panic!("{:?}", events[4]);
    };
    assert_eq!(declined.decline_reason, Some(DeclineReason::Later));
}

#[test]
fn every_recorded_line_of_a_game_is_understood_whole() {
    let events: Vec<_> = lines(GAMES).map(game_event).collect();
    let GameEvent::Full(full) = &events[0] else {
        panic!("{:?}", events[0]);
    };
    assert_eq!(full.player(Side::White).id, Some(UserId::new("megaton")));
    assert!(full.black.provisional && full.starts_as_usual());
    assert_eq!(
        full.clock.map(|clock| clock.increment),
        Some(Duration::from_secs(1))
    );
    assert_eq!((full.state.ply(), full.state.status), (0, Status::Created));
    let GameEvent::Full(anonymous) = &events[1] else {
        panic!("{:?}", events[1]);
    };
    assert_eq!((&anonymous.white.id, anonymous.clock), (&None, None));
    let GameEvent::Full(ai) = &events[2] else {
        panic!("{:?}", events[2]);
    };
    assert_eq!((ai.white.ai_level, ai.days_per_turn), (Some(5), Some(14)));
    let left = ai.state.expiration.map(|expiration| expiration.left());
    assert_eq!(left, Some(Duration::from_millis(13_500)));
    let states: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            GameEvent::State(state) => Some(state),
            _ => None,
        })
        .collect();
    assert_eq!(states[0].move_list().last(), Some("e1h1"));
    assert!(states[1].offers_draw(Side::Black) && !states[1].offers_draw(Side::White));
    assert!(states[1].proposes_takeback(Side::White));
    assert_eq!(states[2].time(Side::White), None);
    assert_eq!(states[3].time(Side::Black), Some(Duration::ZERO));
    assert_eq!(states[3].rematch, Some(GameId::new("N3xtG4me")));
    assert!(states[3].status.is_over() && states[4].status.is_over());
}

/// The shared documents, when they lie beside the project.
pub(crate) fn shared(file: &str) -> Option<String> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared").to_owned();
    let folder = std::env::var("MEGATON_SHARED").unwrap_or(beside);
    let path = PathBuf::from(folder).join(file);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        let mut stderr = std::io::stderr();
        let _ = writeln!(stderr, "SKIPPED: no {}", path.display());
    }
    text
}

fn json_blocks(text: &str) -> Vec<&str> {
    let blocks = text.split("```json\n").skip(1);
    blocks.filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn every_example_of_the_protocol_document_is_understood_whole() {
    let Some(text) = shared("lichess-protocol.md") else {
        return;
    };
    let (mut events, mut game_events) = (0, 0);
    for line in json_blocks(&text).into_iter().flat_map(lines) {
        let kind = Event::from_line(line).map(|read| read.value);
        match kind {
            Ok(Event::Unknown { .. }) => {
                game_event(line);
                game_events += 1;
            }
            Ok(_) => {
                event(line);
                events += 1;
            }
            // The bodies of errors have no type; they are read elsewhere.
            Err(JsonMismatch { path, .. }) => assert_eq!(path, "type", "{line}"),
        }
    }
    assert!(
        events >= 9 && game_events >= 15,
        "{events} and {game_events} examples"
    );
}

/// Feeds every line of `corpus` and every damaged form of it to `read`.
fn damage(corpus: &str, read: impl Fn(&str)) {
    for line in lines(corpus) {
        for cut in (0..line.len()).filter(|&cut| line.is_char_boundary(cut)) {
            read(&line[..cut]);
            read(&line[cut..]);
        }
        for value in ["null", "[]", "{}", "-1", "1e999", "\"\\ud800\"", "true"] {
            let mut rest = line;
            let mut head = String::new();
            while let Some(at) = rest.find(':') {
                head.push_str(&rest[..=at]);
                rest = &rest[at + 1..];
                let end = rest.find([',', '}', ']']).unwrap_or(rest.len());
                read(&format!("{head}{value}{}", &rest[end..]));
            }
        }
    }
}

#[test]
fn damaged_lines_cause_errors_and_no_panic() {
    damage(EVENTS, |line| drop(Event::from_line(line)));
    damage(GAMES, |line| drop(GameEvent::from_line(line)));
}
