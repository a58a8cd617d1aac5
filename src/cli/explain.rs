//! `megaton explain-challenge`: what would be done about a challenge, and why.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use megaton::bot::{
    Availability, BotTiming, ChallengeContext, Decision, ListRefresher, ListSources,
    OpponentHistory, OpponentKind, PolicyVerdict, Settings, judge_challenge,
};
use megaton::lichess::{Challenge, Compat, Event, JsonMismatch, Player, TimeControl, UserId};
use serde_json::Value;

use super::failure::Failure;
use super::setup::ConfigArgs;

/// More than this is no challenge.
const LONGEST: u64 = 1 << 20;

/// Show whether the bot would accept a challenge, and which rules it violates
///
/// Reads a line of the event stream, or a challenge as the API returns it, and applies the config,
/// its lists (for URLs, the copies from earlier runs) and the rating given. Assumes a free slot and
/// no history with the opponent. Contacts no server and changes nothing. Status 0 if the bot would
/// accept, 1 if not, 2 if the input is invalid.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton explain-challenge challenge.json
  curl -s https://lichess.org/api/challenge/q7ZxVt2B/show | megaton explain-challenge -
  megaton explain-challenge --config other.toml --rating 2100 event.json")]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    /// File with the challenge as JSON, or - for stdin
    file: PathBuf,
    /// Our atomic rating, for rules about the rating difference [default: unknown]
    #[arg(long, value_name = "POINTS")]
    rating: Option<i32>,
}

pub(super) fn execute(args: &Args) -> Result<(), Failure> {
    let (config, _) = args.config.load()?;
    let name = if is_stdin(&args.file) {
        "stdin".to_owned()
    } else {
        args.file.display().to_string()
    };
    let text = read(&args.file).map_err(|error| Failure::setup(format!("{name}: {error}")))?;
    let asked = understand(&text).map_err(|error| Failure::setup(format!("{name}: {error}")))?;
    let settings = Arc::new(Settings::from(&config));
    let sources = ListSources {
        data: config.data.home(&config.lichess),
    };
    let keeper = ListRefresher::new(Arc::clone(&settings), &sources, BotTiming::default());
    let lists = keeper.lists();
    let me = whom(&asked.challenge);
    let standing = ChallengeContext {
        me: &me,
        rating: args.rating,
        lists: &lists,
        past: OpponentHistory::default(),
        rated_rests: false,
        open: Availability::Open,
    };
    let verdict = judge_challenge(
        &asked.challenge,
        asked.compat,
        &settings.challenge,
        &standing,
    );
    show(&asked, &verdict)?;
    for (list, state) in keeper.state() {
        if let Err(reason) = state {
            note(&format!("cannot read a list: {list}: {reason}"))?;
        }
    }
    if verdict.decision == Decision::Accept {
        Ok(())
    } else {
        Err(Failure::Told)
    }
}

/// A challenge as it was read, and what of it could not be.
#[derive(Debug)]
struct ChallengeArgs {
    challenge: Challenge,
    compat: Option<Compat>,
    dropped: Vec<JsonMismatch>,
}

fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == "-"
}

fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    let source: Box<dyn Read> = if is_stdin(file) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(fs::File::open(file)?)
    };
    source.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::other("too long for a challenge"));
    }
    Ok(text)
}

/// The challenge in a text: in an event, in an answer that wraps it, or bare.
fn understand(text: &str) -> Result<ChallengeArgs, String> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Err("empty: expected a challenge".to_owned());
    }
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("invalid JSON: {error}"))?;
    let Value::Object(object) = &value else {
        return Err("not a challenge: expected an object {…}".to_owned());
    };
    let read = match (object.get("type"), object.get("challenge")) {
        (Some(Value::String(_)), _) => return event(text),
        (_, Some(inner @ Value::Object(_))) => Challenge::from_json(&inner.to_string()),
        _ => Challenge::from_json(text),
    };
    let read = read.map_err(|mismatch| format!("not a challenge: {mismatch}"))?;
    Ok(ChallengeArgs {
        challenge: read.value,
        compat: None,
        dropped: read.dropped,
    })
}

fn event(text: &str) -> Result<ChallengeArgs, String> {
    let read = Event::from_line(text).map_err(|mismatch| format!("not an event: {mismatch}"))?;
    let (challenge, compat) = match read.value {
        Event::Challenge { challenge, compat } => (challenge, compat),
        Event::ChallengeCanceled(challenge) | Event::ChallengeDeclined(challenge) => {
            (challenge, None)
        }
        Event::GameStart(_) | Event::GameFinish(_) => {
            return Err("an event about a game, not a challenge".to_owned());
        }
        Event::Unknown { kind } => {
            let kind: String = kind.chars().filter(|c| !c.is_control()).take(40).collect();
            return Err(format!("an event of unknown type \"{kind}\""));
        }
    };
    Ok(ChallengeArgs {
        challenge: *challenge,
        compat,
        dropped: read.dropped,
    })
}

/// Whom the challenge is for: it is judged as if that were us.
fn whom(challenge: &Challenge) -> UserId {
    let target = challenge
        .dest_user
        .as_ref()
        .and_then(|user| user.id.clone());
    // No account has such a name: it is no one's own challenge.
    target.unwrap_or_else(|| UserId::new("?"))
}

fn show(asked: &ChallengeArgs, verdict: &PolicyVerdict) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "asked    {}", describe(&asked.challenge))?;
    let decision = match verdict.decision {
        Decision::Accept => "accept".to_owned(),
        Decision::Decline(reason) => format!("decline, with the reason \"{reason}\""),
        Decision::Ignore => "ignore".to_owned(),
    };
    writeln!(out, "verdict  {decision}")?;
    for (number, objection) in verdict.violations.iter().enumerate() {
        let word = if number == 0 { "because" } else { "also" };
        writeln!(out, "{word:<8} {objection}")?;
    }
    for mismatch in &asked.dropped {
        writeln!(out, "note     ignored: {mismatch}")?;
    }
    out.flush()
}

fn note(what: &str) -> io::Result<()> {
    writeln!(io::stdout().lock(), "note     {what}")
}

fn describe(challenge: &Challenge) -> String {
    let challenger = challenge.challenger.as_ref();
    let name = challenger.map_or_else(|| "Anonymous".to_owned(), Player::display_name);
    let kind = match OpponentKind::of(challenger) {
        OpponentKind::Bot => "bot",
        OpponentKind::Human => "human",
    };
    let rating = challenger.and_then(|player| player.rating);
    let rating = rating.map_or_else(String::new, |rating| format!(", {rating}"));
    let mode = if challenge.rated { "rated" } else { "casual" };
    let rematch = if challenge.rematch_of.is_some() {
        ", a rematch"
    } else {
        ""
    };
    format!(
        "{name} ({kind}{rating}): {mode} {} {}{rematch}",
        challenge.variant,
        time(challenge.time_control)
    )
}

fn time(time: TimeControl) -> String {
    match time {
        TimeControl::Clock { limit, increment } => {
            format!("{} s + {} s", limit.as_secs(), increment.as_secs())
        }
        TimeControl::Correspondence { days } => format!("{days} days per move"),
        TimeControl::Unlimited => "unlimited".to_owned(),
        TimeControl::Unknown => "unknown time control".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARE: &str = r#"{"id":"c1","challenger":{"id":"a","name":"A","rating":1500},
        "destUser":{"id":"me","name":"Me"},"variant":{"key":"atomic"},"rated":true,
        "timeControl":{"type":"clock","limit":180,"increment":2}}"#;

    #[test]
    fn a_challenge_is_found_in_every_wrapping() {
        let event = format!(
            r#"{{"type":"challenge","challenge":{BARE},"compat":{{"bot":true,"board":true}}}}"#
        );
        let wrapped = format!(r#"{{"challenge":{BARE}}}"#);
        for text in [BARE, &event, &wrapped, &format!("\u{feff}{BARE}\n")] {
            let asked = understand(text).unwrap();
            assert_eq!(asked.challenge.id.as_str(), "c1");
            assert_eq!(whom(&asked.challenge), UserId::new("me"));
        }
        assert!(understand(&event).unwrap().compat.is_some());
        let described = describe(&understand(BARE).unwrap().challenge);
        assert_eq!(described, "A (human, 1500): rated atomic 180 s + 2 s");
    }

    #[test]
    fn what_is_no_challenge_is_said_in_words() {
        let rows = [
            ("", "empty"),
            (
                "{\"id\":",
                "invalid JSON: EOF while parsing a value at line 1",
            ),
            ("[1]", "expected an object {…}"),
            ("{}", "not a challenge: id"),
            (
                r#"{"type":"gameStart","game":{"id":"g"}}"#,
                "an event about a game",
            ),
            ("{\"type\":\"party\"}", "unknown type \"party\""),
            (r#"{"type":"challenge"}"#, "not an event: challenge"),
        ];
        for (text, expected) in rows {
            let said = understand(text).unwrap_err();
            assert!(said.contains(expected), "{text}: {said}");
        }
    }
}
