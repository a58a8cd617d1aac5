//! Scripts of faults from a file: TOML, one table a fault.
//!
//! ```toml
//! [[fault]]
//! kind = "answer"         # a kind of `megaton soak --list-faults`
//! place = "move"          # calls: move, game, chat, accept, decline, create, account, arena,
//!                         #        lookup, events, game-stream, tables, explorer
//! phase = "posting"       # begin, our-turn, thinking, posting, their-turn, ending; left out: at
//!                         # the next request
//! ply = 4                 # not before so many half-moves
//! times = 2               # how often
//! status = 429            # of an answer
//! body = "limit"          # error, fields, fields-twice, limit, text, html, empty, half-json, ok
//! seconds = 60            # of a wait or an outage, in seconds of Lichess
//!
//! [[fault]]
//! kind = "silence"
//! stream = "events"       # game (as if left out) or events
//! phase = "our-turn"
//! ```
//!
//! `count` is the number of lines, bytes, games or challenges; `text` what a stream says; `done`
//! says that the request is carried out all the same.

use std::time::Duration;

use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;

use super::kind::FaultKind;
use super::{
    Announcement, BodyShape, Channel, Endpoint, Fault, FaultReply, GamePhase, Injection,
    OpponentBehavior, ServerFault, StreamFault, Trigger,
};

/// An error in a script, with its line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct ScriptError {
    /// The line, counted from one.
    pub line: usize,
    pub what: String,
}

/// A parsed script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultScript {
    /// Injected into the next requests at their endpoints.
    pub calls: Vec<(Endpoint, Fault)>,
    /// Triggered when a game reaches their phase.
    pub triggers: Vec<Trigger>,
    /// How every opponent behaves.
    pub behavior: Option<OpponentBehavior>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFile {
    #[serde(default)]
    fault: Vec<Spanned<ScriptEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptEntry {
    kind: FaultKind,
    #[serde(default)]
    place: Endpoint,
    #[serde(default)]
    stream: Channel,
    phase: Option<GamePhase>,
    #[serde(default)]
    ply: usize,
    times: Option<u32>,
    status: Option<u16>,
    body: Option<BodyWord>,
    #[serde(default)]
    done: bool,
    seconds: Option<f64>,
    count: Option<usize>,
    text: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum BodyWord {
    Error,
    Fields,
    FieldsTwice,
    Limit,
    Text,
    Html,
    Empty,
    HalfJson,
    Ok,
}

impl FaultScript {
    /// Parses a script for a server of this speed.
    ///
    /// # Errors The first error, with its line.
    pub fn parse(text: &str, speed: u32) -> Result<Self, ScriptError> {
        let file: ScriptFile = toml::from_str(text).map_err(|error| {
            let line = line_of(text, error.span().map_or(0, |span| span.start));
            let source = text.lines().nth(line - 1).unwrap_or_default();
            let what = format!("{}: {}", source.trim(), error.message());
            ScriptError { line, what }
        })?;
        let mut script = Self::default();
        for entry in file.fault {
            let line = line_of(text, entry.span().start);
            let added = script.add(entry.get_ref(), speed.max(1));
            added.map_err(|what| ScriptError { line, what })?;
        }
        Ok(script)
    }

    fn add(&mut self, entry: &ScriptEntry, speed: u32) -> Result<(), String> {
        let injection = match entry.fault(speed)? {
            ScriptedFault::Behavior(behavior) => {
                self.behavior = Some(behavior);
                return Ok(());
            }
            ScriptedFault::Call(fault) => Injection::Call(entry.place, fault),
            ScriptedFault::Stream(fault) => Injection::Stream(entry.stream, fault),
            ScriptedFault::World(fault) => Injection::World(fault),
        };
        let times = entry.times.unwrap_or(1);
        match (entry.phase, injection) {
            (None, Injection::Call(place, fault)) => {
                let calls = std::iter::repeat_n((place, fault), times as usize);
                self.calls.extend(calls);
            }
            (phase, injection) => self.triggers.push(Trigger {
                injection,
                phase: phase.unwrap_or(GamePhase::OurTurn),
                ply: entry.ply,
                times,
            }),
        }
        Ok(())
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or_default();
    before.matches('\n').count() + 1
}

enum ScriptedFault {
    Behavior(OpponentBehavior),
    Call(Fault),
    Stream(StreamFault),
    World(ServerFault),
}

impl ScriptEntry {
    fn span(&self, usual: f64, speed: u32) -> Result<Duration, String> {
        let seconds = self.seconds.unwrap_or(usual);
        let span = Duration::try_from_secs_f64(seconds)
            .map_err(|_| format!("seconds = {seconds} is not a length of time"))?;
        Ok(span / speed)
    }

    fn count(&self, usual: usize) -> usize {
        self.count.unwrap_or(usual)
    }

    fn reply(&self) -> Result<FaultReply, String> {
        let status = self.status.unwrap_or(502);
        if !(200..=599).contains(&status) {
            return Err(format!("status = {status} is none; use 200 to 599"));
        }
        let shape = match self.body {
            None => FaultReply::usual(status).shape,
            Some(BodyWord::Error) => BodyShape::Error,
            Some(BodyWord::Fields) => BodyShape::Fields,
            Some(BodyWord::FieldsTwice) => BodyShape::FieldsTwice,
            Some(BodyWord::Limit) => BodyShape::Limit {
                seconds: self.seconds.map_or(60, |seconds| seconds as u64),
            },
            Some(BodyWord::Text) => BodyShape::Text,
            Some(BodyWord::Html) => BodyShape::Html,
            Some(BodyWord::Empty) => BodyShape::Empty,
            Some(BodyWord::HalfJson) => BodyShape::HalfJson,
            Some(BodyWord::Ok) => BodyShape::Ok,
        };
        Ok(FaultReply::new(status, shape))
    }

    #[rustfmt::skip] // One line a kind.
    fn fault(&self, speed: u32) -> Result<ScriptedFault, String> {
        use FaultKind as Kind;
        use ScriptedFault::{Behavior, Call, Stream, World};
        let challenges = self.count(500);
        Ok(match self.kind {
            Kind::ReopenRefused => {
                return Err("kind = \"reopen-refused\" is for mixes; use end and answer".to_owned());
            }
            Kind::Answer if self.done => Call(Fault::DoneThen(self.reply()?)),
            Kind::Answer => Call(Fault::Answer(self.reply()?)),
            Kind::DoneBut => Call(Fault::DoneThen(self.reply()?)),
            Kind::LoseRequest => Call(Fault::LoseRequest),
            Kind::LoseReply => Call(Fault::LoseReply),
            Kind::Swallow if self.done => Call(Fault::DoneInSilence),
            Kind::Swallow => Call(Fault::Swallow),
            Kind::Late => Call(Fault::Late(self.span(1.0, speed)?)),
            Kind::SlowReply => Call(Fault::SlowReply(self.span(1.0, speed)?)),
            Kind::Lie => Call(Fault::Lie),
            Kind::End => Stream(StreamFault::End),
            Kind::Break => Stream(StreamFault::Break),
            Kind::Silence => Stream(StreamFault::Silence),
            Kind::Truncate => Stream(StreamFault::Truncate(self.count(40))),
            Kind::Tear => Stream(StreamFault::Tear(self.count(40))),
            Kind::Chop => Stream(StreamFault::Chop(self.count(1).max(1))),
            Kind::Merge => Stream(StreamFault::Merge(self.count(3))),
            Kind::Repeat => Stream(StreamFault::Repeat(self.count(1))),
            Kind::Swap => Stream(StreamFault::Swap),
            Kind::Skip => Stream(StreamFault::Skip(self.count(1))),
            Kind::Noise => Stream(StreamFault::Noise(self.count(1))),
            Kind::Say => Stream(StreamFault::say(self.text.as_deref().unwrap_or("nonsense"))),
            Kind::Overlong => Stream(StreamFault::Overlong),
            Kind::Restart => World(ServerFault::Restart {
                down: self.span(5.0, speed)?,
                bonus: Duration::from_secs(20) / speed,
            }),
            Kind::Revoke => World(ServerFault::Revoke { span: self.span(5.0, speed)? }),
            Kind::Storm => World(ServerFault::Storm { challenges }),
            Kind::NoShows => World(ServerFault::NoShows { challenges }),
            Kind::Burst => World(ServerFault::Burst { games: self.count(40) }),
            Kind::Ghost => World(ServerFault::Ghost),
            Kind::ChatFlood => World(ServerFault::ChatFlood { lines: self.count(100) }),
            Kind::GiveTime => World(ServerFault::GiveTime {
                seconds: self.seconds.map_or(15, |seconds| seconds as u32),
            }),
            Kind::ClockJump => World(ServerFault::ClockJump { by: self.span(20.0, speed)? }),
            Kind::GameStartAgain => World(ServerFault::Announce(Announcement::Again)),
            Kind::GameStartFinished => World(ServerFault::Announce(Announcement::Finished)),
            Kind::GameStartForeign => World(ServerFault::Announce(Announcement::Foreign)),
            Kind::GameStartNotForBots => World(ServerFault::Announce(Announcement::NotForBots)),
            Kind::Leaves => Behavior(OpponentBehavior::Leaves),
            Kind::Returns => Behavior(OpponentBehavior::Returns),
            Kind::NeverMoves => Behavior(OpponentBehavior::NeverMoves),
            Kind::OffersDraws => Behavior(OpponentBehavior::OffersDraws),
            Kind::AsksTakebacks => Behavior(OpponentBehavior::AsksTakebacks),
            Kind::GivesTime => Behavior(OpponentBehavior::GivesTime),
            Kind::Talks => Behavior(OpponentBehavior::Talks),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::kinds;
    use super::*;

    fn complaint(text: &str) -> String {
        FaultScript::parse(text, 1).unwrap_err().to_string()
    }

    #[test]
    fn a_script_is_read_with_its_phases_and_counts() {
        let script = FaultScript::parse(
            "[[fault]]\nkind = \"answer\"\nstatus = 429\nbody = \"limit\"\nseconds = 9\ntimes = 2\n\
             [[fault]]\nkind = \"silence\"\nstream = \"events\"\nphase = \"their-turn\"\nply = 4\n\
             [[fault]]\nkind = \"restart\"\nseconds = 6\n\
             [[fault]]\nkind = \"talks\"\n",
            2,
        )
        .unwrap();
        let limited = Fault::Answer(FaultReply::new(429, BodyShape::Limit { seconds: 9 }));
        assert_eq!(script.calls, vec![(Endpoint::Move, limited); 2]);
        let silence = Injection::Stream(Channel::Events, StreamFault::Silence);
        assert_eq!(
            script.triggers[0],
            Trigger::at(GamePhase::TheirTurn, silence).from_ply(4)
        );
        let restart = ServerFault::Restart {
            down: Duration::from_secs(3),
            bonus: Duration::from_secs(10),
        };
        assert_eq!(script.triggers[1].injection, Injection::World(restart));
        assert_eq!(script.behavior, Some(OpponentBehavior::Talks));
    }

    #[test]
    fn complaints_name_the_line_and_what_would_be_right() {
        let text = "\n[[fault]]\nkind = \"end\"\n[[fault]]\nkind = \"ends\"\n";
        assert!(complaint(text).starts_with("line 5: kind = \"ends\": unknown variant `ends`"));
        let text = "[[fault]]\nkind = \"end\"\nphase = \"middle\"\n";
        assert!(complaint(text).contains(
            "phase = \"middle\": unknown variant `middle`, expected one of `begin`, `our-turn`"
        ));
        let text = "[[fault]]\nkind = \"end\"\nwhen = 3\n";
        assert!(
            complaint(text).starts_with("line 3: when = 3: unknown field"),
            "{}",
            complaint(text)
        );
        let text = "[[fault]]\nkind = \"answer\"\nstatus = 42\n";
        assert!(complaint(text).contains("200 to 599"));
        let text = "[[fault]]\nkind = \"late\"\nseconds = -1.0\n";
        assert!(complaint(text).contains("not a length of time"));
        assert!(complaint("fault = 3").starts_with("line 1: "));
    }

    #[test]
    fn every_kind_can_be_written_in_a_file() {
        for kind in kinds() {
            // A lost stream with its refusals is two faults in a file.
            if matches!(kind.name, "reopen-refused") {
                continue;
            }
            let text = format!("[[fault]]\nkind = {:?}\n", kind.name);
            let script = FaultScript::parse(&text, 1);
            assert!(script.is_ok(), "{}: {script:?}", kind.name);
        }
    }
}
