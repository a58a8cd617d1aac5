//! `megaton explain-challenge`: what the bot would do about a challenge, and why.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use megaton::archive::{ChallengeRecord, ChallengeVerdict, Direction, dates};
use megaton::bot::{
    Availability, BotTiming, ChallengeContext, Decision, ListRefresher, ListSources,
    OpponentHistory, OpponentKind, PolicyOutcome, evaluate_challenge,
};
use megaton::lichess::{
    Challenge, Compat, Event, JsonMismatch, Player, TimeControl, UserId, is_public_id,
};
use serde_json::Value;

use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::output;
use crate::cli::runtime;
use crate::cli::setup::{ArchiveArgs, input_name, open_input};

/// Longest input, in bytes.
const LONGEST: u64 = 1 << 20;

/// Show whether the bot would accept a challenge, and which rules it violates
///
/// Reads a line of the event stream, or a challenge as the API returns it, and applies the config,
/// its lists (for URLs, the copies from earlier runs) and the rating given. Assumes a free slot and
/// no history with the opponent. Contacts no server and changes nothing. Status 0 if the bot would
/// accept, 1 if not, 2 if the input is invalid.
///
/// Given the id of a challenge in the archive, judges what the server sent then by the config of
/// now, and shows what differs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton explain-challenge challenge.json
  curl -s -H \"Authorization: Bearer $LICHESS_BOT_TOKEN\" \\
      https://lichess.org/api/challenge/q7ZxVt2B/show | megaton explain-challenge -
  megaton explain-challenge --config other.toml --rating 2100 event.json
  megaton explain-challenge q7ZxVt2B")]
pub(crate) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    /// File with the challenge as JSON, - for stdin, or the id of an archived challenge
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Our atomic rating, for rules about the rating difference; an archived challenge uses that
    /// of its time [default: unknown]
    #[arg(long, value_name = "POINTS")]
    rating: Option<i32>,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let config = args.archive.config()?;
    let archived = archived(args)?;
    let name = input_name(&args.input);
    let text = match archived.as_ref().and_then(|then| then.json.as_deref()) {
        Some(json) => json.to_owned(),
        None => read(&args.input).or_setup(&name)?,
    };
    let ChallengeInput {
        challenge,
        compat,
        dropped,
    } = parse(&text).or_setup(&name)?;
    let settings = Arc::new(config.clone());
    let sources = ListSources {
        data: config.data.home(&config.lichess),
    };
    let mut refresher = ListRefresher::new(Arc::clone(&settings), &sources, BotTiming::default());
    runtime::block_on(async {
        refresher.read_disk().await;
        Ok(())
    })?;
    let lists = refresher.lists();
    let me = addressee(&challenge);
    let context = ChallengeContext {
        me: &me,
        rating: args
            .rating
            .or_else(|| our_rating_of(archived.as_ref(), &challenge)),
        lists: &lists,
        past: OpponentHistory::default(),
        rated_rests: false,
        open: Availability::Open,
    };
    let outcome = evaluate_challenge(&challenge, compat, &settings.challenge, &context);
    let mut text = String::new();
    let mut add = |label: &str, what: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{label:<8} {what}");
    };
    add("asked", &describe(&challenge));
    match outcome.decision {
        Decision::Accept => {
            add("verdict", "accept");
            let is_bot = challenge.challenger.as_ref().is_some_and(Player::is_bot);
            let level = config.engine.casual_level;
            if let Some(level) = level.of_game(challenge.rated, is_bot) {
                add("level", level.name);
            }
        }
        Decision::Decline(reason) => {
            add("verdict", &format!("decline, with the reason \"{reason}\""));
        }
        Decision::Ignore => add("verdict", "ignore"),
    }
    for (number, violation) in outcome.violations.iter().enumerate() {
        let label = if number == 0 { "because" } else { "also" };
        add(label, &violation.to_string());
    }
    if let Some(then) = &archived {
        add("then", &describe_verdict(then));
        add("differs", &difference(then, &outcome));
    }
    for mismatch in &dropped {
        add("note", &format!("ignored: {mismatch}"));
    }
    for (list, state) in refresher.state() {
        if let Err(reason) = state {
            add("note", &format!("cannot read a list: {list}: {reason}"));
        }
    }
    let printed = output::print_text(text);
    match outcome.decision {
        Decision::Accept => printed,
        _ => Err(Failure::Reported),
    }
}

/// The archived challenge that the input names, if it names one and no file.
fn archived(args: &Args) -> Result<Option<ChallengeRecord>, Failure> {
    let id = args.input.to_str().unwrap_or_default();
    if !is_public_id(id) || args.input.exists() {
        return Ok(None);
    }
    let (reader, _) = args.archive.open()?;
    let path = reader.path().display();
    let then = reader.challenge(id)?;
    let then = then.ok_or_else(|| Failure::setup(format!("no challenge {id} in {path}")))?;
    if then.direction == Direction::Out {
        return Err(Failure::setup(format!(
            "{id}: the bot sent it; the rules judge challenges that it receives"
        )));
    }
    if then.json.is_none() {
        return Err(Failure::setup(format!(
            "{id}: {path} has no JSON of it: it is from an earlier version, or arrived while the \
             event stream was closed; `megaton challenges` shows its verdict"
        )));
    }
    Ok(Some(then))
}

/// Our rating in an archived challenge.
fn our_rating_of(archived: Option<&ChallengeRecord>, challenge: &Challenge) -> Option<i32> {
    archived?;
    challenge.dest_user.as_ref()?.rating
}

/// What came of an archived challenge, and why.
fn describe_verdict(then: &ChallengeRecord) -> String {
    let mut text = format!("{}, {}", dates::minute(then.at), then.verdict.as_str());
    for (label, part) in [
        (", with the reason ", &then.reason),
        (", rule ", &then.rule),
        (": ", &then.why),
    ] {
        if let Some(part) = part {
            let _ = write!(text, "{label}{part}");
        }
    }
    text
}

/// What the present rules change about an archived verdict. The bot's slots, quota and games with
/// the opponent at that time are not judged again.
fn difference(then: &ChallengeRecord, now: &PolicyOutcome) -> String {
    let rule = now
        .decided_by()
        .map(|violation| format!("{:?}", violation.rule));
    let reason = match now.decision {
        Decision::Decline(reason) => Some(reason.to_string()),
        Decision::Accept | Decision::Ignore => None,
    };
    let verdict = match now.decision {
        Decision::Accept => ChallengeVerdict::Accepted,
        Decision::Decline(_) => ChallengeVerdict::Declined,
        Decision::Ignore => ChallengeVerdict::Waiting,
    };
    let none = || "none".to_owned();
    let (old, new) = (then.verdict.as_str(), verdict.as_str());
    let mut rows = vec![("verdict", old.to_owned(), new.to_owned())];
    // Why a challenge ended without a verdict of ours is no finding of the rules.
    if then.verdict == ChallengeVerdict::Declined || then.rule.is_some() {
        let row = |then: &Option<String>, now: Option<String>| {
            (then.clone().unwrap_or_else(none), now.unwrap_or_else(none))
        };
        let (old, new) = row(&then.reason, reason);
        rows.push(("reason", old, new));
        let (old, new) = row(&then.rule, rule);
        rows.push(("rule", old, new));
    }
    rows.retain(|(_, old, new)| old != new);
    let rows = rows.iter();
    let rows = rows.map(|(what, old, new)| format!("{what} {old} then, {new} now"));
    let rows: Vec<String> = rows.collect();
    if rows.is_empty() {
        return "nothing".to_owned();
    }
    rows.join("; ")
}

/// A challenge, and the parts of the input that could not be read.
#[derive(Debug)]
struct ChallengeInput {
    challenge: Challenge,
    compat: Option<Compat>,
    dropped: Vec<JsonMismatch>,
}

fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    let source = open_input(file)?;
    source.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::other("too long for a challenge"));
    }
    Ok(text)
}

/// The challenge in a text: in an event, in a response that wraps it, or bare.
fn parse(text: &str) -> Result<ChallengeInput, String> {
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
        (Some(Value::String(_)), _) => return parse_event(text),
        (_, Some(inner @ Value::Object(_))) => Challenge::from_json(&inner.to_string()),
        _ => Challenge::from_json(text),
    };
    let read = read.map_err(|mismatch| format!("not a challenge: {mismatch}"))?;
    Ok(ChallengeInput {
        challenge: read.value,
        compat: None,
        dropped: read.dropped,
    })
}

fn parse_event(text: &str) -> Result<ChallengeInput, String> {
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
            let kind: String = output::plain(&kind).chars().take(40).collect();
            return Err(format!("an event of unknown type \"{kind}\""));
        }
    };
    Ok(ChallengeInput {
        challenge: *challenge,
        compat,
        dropped: read.dropped,
    })
}

/// The account that was challenged, which receives it.
fn addressee(challenge: &Challenge) -> UserId {
    let user = challenge.dest_user.as_ref();
    let id = user.and_then(|user| user.id.clone());
    // No account has this name, so the challenge counts as sent by another.
    id.unwrap_or_else(|| UserId::new("?"))
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
    let time = match challenge.time_control {
        TimeControl::Clock { limit, increment } => {
            format!("{} s + {} s", limit.as_secs(), increment.as_secs())
        }
        TimeControl::Correspondence { days } => format!("{days} days per move"),
        TimeControl::Unlimited => "unlimited".to_owned(),
        TimeControl::Unknown => "unknown time control".to_owned(),
    };
    let variant = &challenge.variant;
    let rematch = challenge.rematch_of.as_ref().map_or("", |_| ", a rematch");
    format!("{name} ({kind}{rating}): {mode} {variant} {time}{rematch}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARE: &str = r#"{"id":"c1","challenger":{"id":"a","name":"A","rating":1500},
        "destUser":{"id":"me","name":"Me"},"variant":{"key":"atomic"},"rated":true,
        "timeControl":{"type":"clock","limit":180,"increment":2}}"#;

    #[test]
    fn a_challenge_is_found_in_every_json_wrapper() {
        let event = format!(
            r#"{{"type":"challenge","challenge":{BARE},"compat":{{"bot":true,"board":true}}}}"#
        );
        let wrapped = format!(r#"{{"challenge":{BARE}}}"#);
        for text in [BARE, &event, &wrapped, &format!("\u{feff}{BARE}\n")] {
            let asked = parse(text).unwrap();
            assert_eq!(asked.challenge.id.as_str(), "c1");
            assert_eq!(addressee(&asked.challenge), UserId::new("me"));
        }
        assert!(parse(&event).unwrap().compat.is_some());
        let described = describe(&parse(BARE).unwrap().challenge);
        assert_eq!(described, "A (human, 1500): rated atomic 180 s + 2 s");
    }

    #[test]
    fn input_that_is_no_challenge_is_explained() {
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
            let said = parse(text).unwrap_err();
            assert!(said.contains(expected), "{text}: {said}");
        }
    }
}
