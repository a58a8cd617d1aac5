//! The kinds of faults: the only list of their names, and how a mix draws one of each.

use std::time::Duration;

use serde::Deserialize;

use super::{
    Announcement, BodyShape, Channel, Endpoint, Fault, FaultReply, GamePhase, Injection,
    OpponentBehavior, ServerFault, StreamFault, Trigger,
};

/// Weights: usual faults, those that affect all games, and the rarest.
const USUAL: u32 = 12;
const WIDE: u32 = 5;
const RARE: u32 = 3;
/// For scripts only.
const NEVER: u32 = 0;

/// How a mix draws one kind of fault.
#[derive(Clone, Copy, Debug)]
pub struct KindEntry {
    /// The name on the command line and in scripts.
    pub name: &'static str,
    pub what: &'static str,
    pub(super) weight: u32,
    pub(super) draw: fn(&mut Dice) -> DrawnFault,
}

/// The fault drawn for one game.
#[derive(Clone, Debug)]
pub(super) enum DrawnFault {
    Triggers(Vec<Trigger>),
    Behavior(OpponentBehavior),
}

/// The random source, and the speed of the server.
#[derive(Debug)]
pub(super) struct Dice {
    pub(super) random: fastrand::Rng,
    pub(super) speed: u32,
}

/// All kinds, in the order of the manual.
pub fn kinds() -> &'static [KindEntry] {
    KINDS
}

macro_rules! kinds {
    ($($kind:ident $name:literal $weight:ident $what:literal $draw:expr;)*) => {
        /// The kind of a fault in a script.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        pub(super) enum FaultKind {
            $(#[serde(rename = $name)] $kind),*
        }

        const KINDS: &[KindEntry] =
            &[$(KindEntry { name: $name, what: $what, weight: $weight, draw: $draw }),*];
    };
}

kinds! {
    LoseRequest "lose-request" USUAL "the connection breaks before a request arrives" |dice| dice.call(Fault::LoseRequest);
    LoseReply "lose-reply" USUAL "a request is carried out, and the connection breaks" |dice| dice.call(Fault::LoseReply);
    Swallow "swallow" USUAL "a request is never answered, carried out or not" Dice::swallow;
    Late "late" USUAL "a request is carried out after a wait" |dice| { let wait = dice.wait(0.1, 2.0); dice.call(Fault::Late(wait)) };
    SlowReply "slow-reply" USUAL "a request is answered after a wait" |dice| { let wait = dice.wait(0.1, 2.0); dice.call(Fault::SlowReply(wait)) };
    Answer "answer" USUAL "400, 401, 403, 404, 429, 5xx, or 200 with a page, in every shape of body" Dice::answer;
    DoneBut "done-but" USUAL "a request is carried out and answered as if it were not" Dice::done_but;
    ReopenRefused "reopen-refused" USUAL "a game stream is lost, and its next openings are refused" Dice::reopen_refused;
    Lie "lie" NEVER "a look-up is answered in the right form with wrong content (scripts only)" |dice| dice.call(Fault::Lie);
    End "end" USUAL "a stream ends cleanly" |dice| dice.stream_fault(StreamFault::End);
    Break "break" USUAL "the connection of a stream breaks" |dice| dice.stream_fault(StreamFault::Break);
    Silence "silence" USUAL "a stream falls silent, keep-alives too" |dice| dice.stream_fault(StreamFault::Silence);
    Truncate "truncate" USUAL "a line stops at any byte, and the stream ends" |dice| { let at = dice.random.usize(0..400); dice.stream_fault(StreamFault::Truncate(at)) };
    Tear "tear" USUAL "a line stops at any byte, and the connection breaks" |dice| { let at = dice.random.usize(0..400); dice.stream_fault(StreamFault::Tear(at)) };
    Chop "chop" USUAL "a stream comes in pieces of one or a few bytes" |dice| { let size = dice.random.usize(1..8); dice.stream_fault(StreamFault::Chop(size)) };
    Merge "merge" USUAL "several lines come in one piece" |dice| { let lines = dice.random.usize(2..5); dice.stream_fault(StreamFault::Merge(lines)) };
    Repeat "repeat" USUAL "lines come twice" |dice| { let lines = dice.random.usize(1..6); dice.stream_fault(StreamFault::Repeat(lines)) };
    Swap "swap" USUAL "two lines come in the wrong order" |dice| dice.stream_fault(StreamFault::Swap);
    Skip "skip" USUAL "the line that shows the client's own move is missing" Dice::skip;
    Noise "noise" USUAL "unknown fields and unknown types of lines" |dice| { let lines = dice.random.usize(1..8); dice.stream_fault(StreamFault::Noise(lines)) };
    Say "say" USUAL "a line that is not JSON, or a page of HTML, or of an unknown kind" Dice::say;
    Overlong "overlong" RARE "a line of more than a megabyte" |dice| dice.stream_fault(StreamFault::Overlong);
    Restart "restart" RARE "every socket drops, nobody is let in for a while, clocks get time" Dice::restart;
    Revoke "revoke" RARE "the token is not known for a while" Dice::revoke;
    Storm "storm" RARE "500 challenges at once" |dice| dice.triggers(Injection::World(ServerFault::Storm { challenges: 500 }));
    NoShows "no-shows" RARE "500 challenges at once by people who never move" |dice| dice.triggers(Injection::World(ServerFault::NoShows { challenges: 500 }));
    Burst "burst" RARE "40 games begin at once" |dice| dice.triggers(Injection::World(ServerFault::Burst { games: 40 }));
    Ghost "ghost" WIDE "a challenge that was cancelled becomes a game" |dice| dice.triggers(Injection::World(ServerFault::Ghost));
    GameStartAgain "game-start-again" USUAL "a running game is announced again" |dice| dice.announce(Announcement::Again);
    GameStartFinished "game-start-finished" WIDE "a finished game is announced" |dice| dice.announce(Announcement::Finished);
    GameStartForeign "game-start-foreign" WIDE "a game of others is announced" |dice| dice.announce(Announcement::Foreign);
    GameStartNotForBots "game-start-not-for-bots" WIDE "a game is announced that bots cannot play" |dice| dice.announce(Announcement::NotForBots);
    ClockJump "clock-jump" USUAL "both clocks go up without a move" |dice| { let by = dice.span(20.0); dice.triggers(Injection::World(ServerFault::ClockJump { by })) };
    GiveTime "give-time" USUAL "the opponent gives time" |dice| dice.triggers(Injection::World(ServerFault::GiveTime { seconds: 15 }));
    ChatFlood "chat-flood" USUAL "a hundred lines of chat at once" |dice| dice.triggers(Injection::World(ServerFault::ChatFlood { lines: 100 }));
    Leaves "leaves" USUAL "the opponent leaves for good" |_| DrawnFault::Behavior(OpponentBehavior::Leaves);
    Returns "returns" USUAL "the opponent leaves, and returns without a word" |_| DrawnFault::Behavior(OpponentBehavior::Returns);
    NeverMoves "never-moves" WIDE "the opponent never makes its first move" |_| DrawnFault::Behavior(OpponentBehavior::NeverMoves);
    OffersDraws "offers-draws" USUAL "the opponent offers a draw before every move" |_| DrawnFault::Behavior(OpponentBehavior::OffersDraws);
    AsksTakebacks "asks-takebacks" USUAL "the opponent asks for takebacks all the time" |_| DrawnFault::Behavior(OpponentBehavior::AsksTakebacks);
    GivesTime "gives-time" USUAL "the opponent gives time after every move" |_| DrawnFault::Behavior(OpponentBehavior::GivesTime);
    Talks "talks" USUAL "the opponent talks all the time" |_| DrawnFault::Behavior(OpponentBehavior::Talks);
}

impl Dice {
    /// This many Lichess seconds in real time.
    pub(super) fn span(&self, seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds) / self.speed.max(1)
    }

    fn wait(&mut self, least: f64, most: f64) -> Duration {
        let seconds = least + (most - least) * self.random.f64();
        self.span(seconds)
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.random.usize(0..from.len())].clone()
    }

    fn phase(&mut self) -> GamePhase {
        self.pick(&GamePhase::ALL)
    }

    fn ply(&mut self) -> usize {
        self.random.usize(0..24)
    }

    /// One trigger at a random point of the game.
    fn triggers(&mut self, injection: Injection) -> DrawnFault {
        DrawnFault::Triggers(vec![self.sometime(injection)])
    }

    fn sometime(&mut self, injection: Injection) -> Trigger {
        let phase = self.phase();
        // Phases at the ends of a game occur at any ply.
        let ply = match phase {
            GamePhase::Begin | GamePhase::Ending => 0,
            _ => self.ply(),
        };
        Trigger::at(phase, injection).from_ply(ply)
    }

    /// Mostly a fault of a move's call, sometimes of another call.
    fn call(&mut self, fault: Fault) -> DrawnFault {
        let endpoint = match self.random.u32(0..20) {
            0..14 => Endpoint::Move,
            14..16 => Endpoint::GameStream,
            16 => Endpoint::Account,
            17 => Endpoint::Accept,
            18 => Endpoint::Game,
            _ => Endpoint::Chat,
        };
        let times = self.random.u32(1..=3);
        let phase = if endpoint == Endpoint::Move {
            GamePhase::Posting
        } else {
            self.phase()
        };
        let ply = self.ply();
        let trigger = Trigger::at(phase, Injection::Call(endpoint, fault));
        DrawnFault::Triggers(vec![trigger.from_ply(ply).times(times)])
    }

    /// Mostly on the game's stream, sometimes on the event stream.
    fn stream_fault(&mut self, stream_fault: StreamFault) -> DrawnFault {
        let channel = if self.random.u32(0..8) == 0 {
            Channel::Events
        } else {
            Channel::Game
        };
        self.triggers(Injection::Stream(channel, stream_fault))
    }

    fn swallow(&mut self) -> DrawnFault {
        let fault = self.pick(&[Fault::Swallow, Fault::DoneInSilence]);
        self.call(fault)
    }

    fn reply(&mut self) -> FaultReply {
        let status = self.pick(&[400, 401, 403, 404, 429, 429, 500, 502, 503, 504, 200]);
        // Whole seconds, so this is a minute wherever a minute lasts a second or less.
        let seconds = (60 / u64::from(self.speed.max(1))).max(1);
        let shape = match status {
            200 => self.pick(&[BodyShape::Html, BodyShape::Empty, BodyShape::HalfJson]),
            429 => self.pick(&[
                BodyShape::Error,
                BodyShape::Limit { seconds },
                BodyShape::Text,
                BodyShape::Html,
                BodyShape::Empty,
                BodyShape::HalfJson,
            ]),
            400..=499 => self.pick(&[
                BodyShape::Error,
                BodyShape::Fields,
                BodyShape::FieldsTwice,
                BodyShape::Text,
                BodyShape::Html,
                BodyShape::Empty,
            ]),
            _ => self.pick(&[BodyShape::Html, BodyShape::Text, BodyShape::Empty]),
        };
        FaultReply::new(status, shape)
    }

    fn answer(&mut self) -> DrawnFault {
        let reply = self.reply();
        self.call(Fault::Answer(reply))
    }

    fn done_but(&mut self) -> DrawnFault {
        let reply = self.reply();
        self.call(Fault::DoneThen(reply))
    }

    fn reopen_refused(&mut self) -> DrawnFault {
        let reply = self.reply();
        let times = self.random.u32(1..=3);
        let refused = Injection::Call(Endpoint::GameStream, Fault::Answer(reply));
        let lost = self.pick(&[StreamFault::End, StreamFault::Break]);
        let lost = self.sometime(Injection::Stream(Channel::Game, lost));
        let refused = Trigger {
            injection: refused,
            times,
            ..lost.clone()
        };
        DrawnFault::Triggers(vec![refused, lost])
    }

    fn skip(&mut self) -> DrawnFault {
        let ply = self.ply();
        let injection = Injection::Stream(Channel::Game, StreamFault::Skip(1));
        DrawnFault::Triggers(vec![
            Trigger::at(GamePhase::TheirTurn, injection).from_ply(ply),
        ])
    }

    fn say(&mut self) -> DrawnFault {
        let text = self.pick(&[
            "<html><body>502 Bad Gateway</body></html>",
            "{\"type\":\"gameState\",\"moves\":\"e2",
            "{\"type\":\"news\",\"of\":[\"tomorrow\"]}",
            "{\"type\":7}",
            "{\"error\":\"what\"}",
            "[]",
            "nonsense \u{fffd}",
        ]);
        self.stream_fault(StreamFault::say(text))
    }

    fn restart(&mut self) -> DrawnFault {
        let down = self.wait(1.0, 12.0);
        let bonus = self.span(20.0);
        self.triggers(Injection::World(ServerFault::Restart { down, bonus }))
    }

    fn revoke(&mut self) -> DrawnFault {
        let span = self.wait(1.0, 10.0);
        self.triggers(Injection::World(ServerFault::Revoke { span }))
    }

    fn announce(&mut self, what: Announcement) -> DrawnFault {
        self.triggers(Injection::World(ServerFault::Announce(what)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_more_than_forty_kinds_and_no_name_twice() {
        let mut names: Vec<_> = kinds().iter().map(|kind| kind.name).collect();
        assert!(names.len() >= 40, "{}", names.len());
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), kinds().len());
    }
}
