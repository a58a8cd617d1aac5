//! Scripts of faults from a file: TOML, one table a fault.
//!
//! ```toml
//! [[fault]]
//! kind = "answer"         # a kind of `megaton soak --list-faults`
//! place = "move"          # calls: move, game, chat, accept, decline, create, account, arena,
//!                         #        lookup, events, game-stream
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

use super::{
    Announcement, BodyShape, Channel, Endpoint, Fault, FaultReply, GamePhase, Injection,
    OpponentBehavior, ServerFault, StreamFault, Trigger,
};

/// What is wrong with a script, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct ScriptError {
    /// The line, counted from one.
    pub line: usize,
    pub what: String,
}

/// A script that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultScript {
    /// For the next requests at their places.
    pub calls: Vec<(Endpoint, Fault)>,
    /// For the games that come to their phases.
    pub strikes: Vec<Trigger>,
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
    kind: String,
    place: Option<String>,
    stream: Option<String>,
    phase: Option<String>,
    #[serde(default)]
    ply: usize,
    times: Option<u32>,
    status: Option<u16>,
    body: Option<String>,
    #[serde(default)]
    done: bool,
    seconds: Option<f64>,
    count: Option<usize>,
    text: Option<String>,
}

impl FaultScript {
    /// Reads a script for a server of this speed.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    pub fn parse(text: &str, speed: u32) -> Result<Self, ScriptError> {
        let line_of = |offset: usize| {
            let before = text.get(..offset).unwrap_or_default();
            before.matches('\n').count() + 1
        };
        let file: ScriptFile = toml::from_str(text).map_err(|error| ScriptError {
            line: line_of(error.span().map_or(0, |span| span.start)),
            what: error.message().to_owned(),
        })?;
        let mut script = Self::default();
        for entry in file.fault {
            let line = line_of(entry.span().start);
            let taken = script.take(entry.get_ref(), speed.max(1));
            taken.map_err(|what| ScriptError { line, what })?;
        }
        Ok(script)
    }

    fn take(&mut self, entry: &ScriptEntry, speed: u32) -> Result<(), String> {
        if let Some(behavior) = entry.behavior() {
            self.behavior = Some(behavior);
            return Ok(());
        }
        let injection = entry.injection(speed)?;
        let times = entry.times.unwrap_or(1);
        match (entry.phase()?, injection) {
            (None, Injection::Call(place, fault)) => {
                let calls = std::iter::repeat_n((place, fault), times as usize);
                self.calls.extend(calls);
            }
            (phase, injection) => self.strikes.push(Trigger {
                injection,
                phase: phase.unwrap_or(GamePhase::OurTurn),
                ply: entry.ply,
                times,
            }),
        }
        Ok(())
    }
}

/// The one of this name, or a complaint that lists them.
fn named<T: Copy>(key: &str, word: &str, all: &[(&str, T)]) -> Result<T, String> {
    let found = all.iter().find(|(name, _)| *name == word);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        format!("{key} = {word:?} is not known; use {}", names.join(", "))
    })
}

impl ScriptEntry {
    fn phase(&self) -> Result<Option<GamePhase>, String> {
        let all = GamePhase::ALL.map(|phase| (phase.name(), phase));
        let word = self.phase.as_deref();
        word.map(|word| named("phase", word, &all)).transpose()
    }

    fn place(&self) -> Result<Endpoint, String> {
        let all = Endpoint::ALL.map(|place| (place.name(), place));
        named("place", self.place.as_deref().unwrap_or("move"), &all)
    }

    fn channel(&self) -> Result<Channel, String> {
        let all = [("game", Channel::Game), ("events", Channel::Events)];
        named("stream", self.stream.as_deref().unwrap_or("game"), &all)
    }

    fn behavior(&self) -> Option<OpponentBehavior> {
        Some(match self.kind.as_str() {
            "leaves" => OpponentBehavior::Leaves,
            "returns" => OpponentBehavior::Returns,
            "never-moves" => OpponentBehavior::NeverMoves,
            "offers-draws" => OpponentBehavior::OffersDraws,
            "asks-takebacks" => OpponentBehavior::AsksTakebacks,
            "gives-time" => OpponentBehavior::GivesTime,
            "talks" => OpponentBehavior::Talks,
            _ => return None,
        })
    }

    fn span(&self, usual: f64, speed: u32) -> Result<Duration, String> {
        let seconds = self.seconds.unwrap_or(usual);
        let span = Duration::try_from_secs_f64(seconds)
            .map_err(|_| format!("seconds = {seconds} is no length of time"))?;
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
        let seconds = self.seconds.map_or(60, |seconds| seconds as u64);
        let all = [
            ("error", BodyShape::Error),
            ("fields", BodyShape::Fields),
            ("fields-twice", BodyShape::FieldsTwice),
            ("limit", BodyShape::Limit { seconds }),
            ("text", BodyShape::Text),
            ("html", BodyShape::Html),
            ("empty", BodyShape::Empty),
            ("half-json", BodyShape::HalfJson),
            ("ok", BodyShape::Ok),
        ];
        let usual = FaultReply::usual(status);
        let shape = match &self.body {
            Some(word) => named("body", word, &all)?,
            None => usual.shape,
        };
        Ok(FaultReply::new(status, shape))
    }

    fn injection(&self, speed: u32) -> Result<Injection, String> {
        if let Some(fault) = self.call(speed)? {
            return Ok(Injection::Call(self.place()?, fault));
        }
        if let Some(stream_fault) = self.stream_fault() {
            return Ok(Injection::Stream(self.channel()?, stream_fault));
        }
        match self.server_fault(speed)? {
            Some(server_fault) => Ok(Injection::World(server_fault)),
            None => Err(format!(
                "kind = {:?} is not known; `megaton soak --list-faults` names them",
                self.kind
            )),
        }
    }

    fn call(&self, speed: u32) -> Result<Option<Fault>, String> {
        Ok(Some(match self.kind.as_str() {
            "answer" if self.done => Fault::DoneThen(self.reply()?),
            "answer" => Fault::Answer(self.reply()?),
            "done-but" => Fault::DoneThen(self.reply()?),
            "lose-request" => Fault::LoseRequest,
            "lose-reply" => Fault::LoseReply,
            "swallow" if self.done => Fault::DoneInSilence,
            "swallow" => Fault::Swallow,
            "late" => Fault::Late(self.span(1.0, speed)?),
            "slow-reply" => Fault::SlowReply(self.span(1.0, speed)?),
            _ => return Ok(None),
        }))
    }

    fn stream_fault(&self) -> Option<StreamFault> {
        Some(match self.kind.as_str() {
            "end" => StreamFault::End,
            "break" => StreamFault::Break,
            "silence" => StreamFault::Silence,
            "truncate" => StreamFault::Truncate(self.count(40)),
            "tear" => StreamFault::Tear(self.count(40)),
            "chop" => StreamFault::Chop(self.count(1).max(1)),
            "merge" => StreamFault::Merge(self.count(3)),
            "repeat" => StreamFault::Repeat(self.count(1)),
            "swap" => StreamFault::Swap,
            "skip" => StreamFault::Skip(self.count(1)),
            "noise" => StreamFault::Noise(self.count(1)),
            "say" => StreamFault::say(self.text.as_deref().unwrap_or("nonsense")),
            "overlong" => StreamFault::Overlong,
            _ => return None,
        })
    }

    fn server_fault(&self, speed: u32) -> Result<Option<ServerFault>, String> {
        Ok(Some(match self.kind.as_str() {
            "restart" => ServerFault::Restart {
                down: self.span(5.0, speed)?,
                bonus: Duration::from_secs(20) / speed,
            },
            "revoke" => ServerFault::Revoke {
                span: self.span(5.0, speed)?,
            },
            "storm" => ServerFault::Storm {
                challenges: self.count(500),
            },
            "no-shows" => ServerFault::NoShows {
                challenges: self.count(500),
            },
            "burst" => ServerFault::Burst {
                games: self.count(40),
            },
            "ghost" => ServerFault::Ghost,
            "chat-flood" => ServerFault::ChatFlood {
                lines: self.count(100),
            },
            "give-time" => ServerFault::GiveTime {
                seconds: self.seconds.map_or(15, |seconds| seconds as u32),
            },
            "clock-jump" => ServerFault::ClockJump {
                by: self.span(20.0, speed)?,
            },
            "game-start-again" => ServerFault::Announce(Announcement::Again),
            "game-start-finished" => ServerFault::Announce(Announcement::Finished),
            "game-start-foreign" => ServerFault::Announce(Announcement::Foreign),
            "game-start-not-for-bots" => ServerFault::Announce(Announcement::NotForBots),
            _ => return Ok(None),
        }))
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
            script.strikes[0],
            Trigger::at(GamePhase::TheirTurn, silence).from_ply(4)
        );
        let restart = ServerFault::Restart {
            down: Duration::from_secs(3),
            bonus: Duration::from_secs(10),
        };
        assert_eq!(script.strikes[1].injection, Injection::World(restart));
        assert_eq!(script.behavior, Some(OpponentBehavior::Talks));
    }

    #[test]
    fn complaints_name_the_line_and_what_would_be_right() {
        let text = "\n[[fault]]\nkind = \"end\"\n[[fault]]\nkind = \"ends\"\n";
        assert!(complaint(text).starts_with("line 4: kind = \"ends\" is not known"));
        let text = "[[fault]]\nkind = \"end\"\nphase = \"middle\"\n";
        assert!(complaint(text).contains("use begin, our-turn"));
        let text = "[[fault]]\nkind = \"end\"\nwhen = 3\n";
        assert!(
            complaint(text).starts_with("line 3: unknown field"),
            "{}",
            complaint(text)
        );
        let text = "[[fault]]\nkind = \"answer\"\nstatus = 42\n";
        assert!(complaint(text).contains("200 to 599"));
        let text = "[[fault]]\nkind = \"late\"\nseconds = -1.0\n";
        assert!(complaint(text).contains("no length of time"));
        assert!(complaint("fault = 3").starts_with("line 1: "));
    }

    #[test]
    fn every_kind_can_stand_in_a_file() {
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
