//! Why we lost a game on time, from its record and the events around its end.
//!
//! Pure. Names the first cause with evidence, and the evidence.

use serde::Serialize;

use super::dates::tenths;
use super::record::{EventRecord, GameRecord, Millis, MoveRecord};
use crate::lichess::EndpointClass;

/// With no more time left than this, a loss on time needs no further cause.
const SCRAMBLE: Millis = 3_000;
/// How long before the last move an event still matters.
const AROUND: Millis = 5_000;

/// The cause of a loss on time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The bot did not run, or did not know of the game.
    Away,
    /// The game's stream or the account's was lost.
    Stream,
    /// The opponent's last move reached us late.
    Delivery,
    /// The server refused our move.
    Refused,
    /// The search did not answer in time.
    Search,
    /// We never made our first move.
    NoStart,
    /// There was hardly any time left.
    Scramble,
    /// One move took most of the remaining time.
    Overspent,
    Unknown,
}

impl Cause {
    /// A short name of the cause.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Away => "not there",
            Self::Stream => "stream lost",
            Self::Delivery => "move came late",
            Self::Refused => "server refused",
            Self::Search => "search late",
            Self::NoStart => "never moved",
            Self::Scramble => "scramble",
            Self::Overspent => "one long move",
            Self::Unknown => "no trace",
        }
    }
}

/// A game lost on time, with the cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimeLoss {
    pub id: String,
    pub at: Millis,
    pub opponent: String,
    pub plies: usize,
    /// Our clock after our last move.
    pub clock: Option<Millis>,
    pub cause: Cause,
    pub evidence: String,
}

/// Finds the cause; `None` if we did not lose the game on time.
pub fn time_loss(game: &GameRecord, events: &[EventRecord]) -> Option<TimeLoss> {
    let ending = game.ending.as_ref()?;
    let us = game.us?;
    if !ending.status.is_time_forfeit() || ending.winner != Some(us.other()) {
        return None;
    }
    let scene = FinalMoments::of(game, ending.at, events);
    let (cause, evidence) = scene.cause();
    Some(TimeLoss {
        id: game.id.clone(),
        at: ending.at,
        opponent: game.player(us.other()).name.clone(),
        plies: game.moves.len(),
        clock: scene.clock,
        cause,
        evidence,
    })
}

/// The end of a game.
struct FinalMoments<'g> {
    game: &'g GameRecord,
    ended: Millis,
    ours: Vec<&'g MoveRecord>,
    /// Our clock after the last of them.
    clock: Option<Millis>,
    /// When the bot saw the opponent's last move.
    seen: Option<Millis>,
    /// Events from shortly before that on.
    events: Vec<&'g EventRecord>,
}

impl<'g> FinalMoments<'g> {
    fn of(game: &'g GameRecord, ended: Millis, events: &'g [EventRecord]) -> Self {
        let moves = game.moves.iter().enumerate();
        let ours = moves.filter(|(ply, _)| Some(GameRecord::mover(*ply)) == game.us);
        let ours: Vec<&MoveRecord> = ours.map(|(_, made)| made).collect();
        let clock = ours.iter().rev().find_map(|made| made.clock);
        let seen = game.moves.last().and_then(|made| made.at);
        let from = ours.last().and_then(|made| made.at).or(seen);
        let from = from.unwrap_or(game.joined).saturating_sub(AROUND);
        let near = |event: &&EventRecord| (from..=ended + AROUND).contains(&event.at);
        Self {
            game,
            ended,
            ours,
            clock,
            seen,
            events: events.iter().filter(near).collect(),
        }
    }

    fn event(&self, kinds: &[&str]) -> Option<&'g EventRecord> {
        let mut events = self.events.iter();
        events
            .find(|event| kinds.contains(&event.kind.as_str()))
            .copied()
    }

    fn cause(&self) -> (Cause, String) {
        self.absence()
            .or_else(|| self.trouble())
            .or_else(|| self.clocks())
            .unwrap_or_else(|| (Cause::Unknown, "nothing unusual on record".to_owned()))
    }

    /// Causes that follow from when the bot saw things.
    fn absence(&self) -> Option<(Cause, String)> {
        if self.game.origin == super::record::Origin::Imported {
            return None;
        }
        if self.game.joined > self.ended {
            let late = (self.game.joined - self.ended) / 1000;
            return Some((Cause::Away, format!("first seen {late} s after its end")));
        }
        // An export knows when the last move was made, not when the game ended.
        if self.seen.is_some_and(|seen| self.ended < seen) {
            return Some((Cause::Away, "its end was not seen".to_owned()));
        }
        if !self.game.moves.is_empty() && self.seen.is_none() {
            let what = "the opponent's last move was never seen while the game ran";
            return Some((Cause::Away, what.to_owned()));
        }
        None
    }

    /// Causes that events recorded.
    fn trouble(&self) -> Option<(Cause, String)> {
        let said = |event: &EventRecord| {
            let before = self.ended.saturating_sub(event.at);
            format!("{}, {} s before the end", event.text, tenths(before))
        };
        if let Some(event) = self.event(&["stream", "offline"]) {
            return Some((Cause::Stream, said(event)));
        }
        let refused = self.events.iter().find(|event| is_move_refused(event));
        if let Some(event) = refused {
            return Some((Cause::Refused, said(event)));
        }
        if let Some(event) = self.event(&["search", "engine"]) {
            return Some((Cause::Search, said(event)));
        }
        None
    }

    /// Causes that the clocks show.
    fn clocks(&self) -> Option<(Cause, String)> {
        if self.ours.is_empty() {
            return Some((Cause::NoStart, "we made no move".to_owned()));
        }
        let clock = self.clock?;
        if clock <= SCRAMBLE {
            let lag = self.ours.iter().filter_map(|made| made.lag).max();
            let lag = lag.map(|lag| format!("; move overhead up to {lag} ms"));
            return Some((
                Cause::Scramble,
                format!(
                    "{} s left after our last move{}",
                    tenths(clock),
                    lag.unwrap_or_default()
                ),
            ));
        }
        if let Some(seen) = self.seen {
            let had = self.ended.saturating_sub(seen);
            if had < clock / 2 {
                return Some((
                    Cause::Delivery,
                    format!(
                        "our clock had {} s, but the move was seen {} s before the end",
                        tenths(clock),
                        tenths(had)
                    ),
                ));
            }
        }
        let last = self.ours.last()?;
        let spent = last.spent?;
        (spent > clock).then(|| {
            (
                Cause::Overspent,
                format!(
                    "our last move took {} s and left {} s",
                    tenths(spent),
                    tenths(clock)
                ),
            )
        })
    }
}

/// Whether an event is a refused move. Refusals of other calls begin with their endpoint class;
/// they cost no time.
fn is_move_refused(event: &EventRecord) -> bool {
    let word = event.text.split(':').next();
    let mut others = EndpointClass::ALL
        .iter()
        .filter(|scope| **scope != EndpointClass::Move);
    event.kind == "limited" && others.all(|scope| word != Some(scope.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::record::{EndingRecord, Origin};
    use crate::lichess::{Side, Status};

    /// A game that we lost on time at 100 s as White, with this on our clock after each move.
    fn lost(clock: Millis) -> GameRecord {
        let made = |uci: &str, at, clock| MoveRecord {
            at: Some(at),
            clock: Some(clock),
            spent: Some(1000),
            ..MoveRecord::bare(uci)
        };
        GameRecord {
            id: "abcdefgh".to_owned(),
            us: Some(Side::White),
            joined: 1000,
            moves: vec![made("e2e4", 50_000, clock), made("e7e5", 60_000, 90_000)],
            ending: Some(EndingRecord {
                status: Status::OutOfTime,
                winner: Some(Side::Black),
                at: 100_000,
            }),
            ..GameRecord::default()
        }
    }

    fn event(kind: &str, at: Millis) -> EventRecord {
        EventRecord {
            at,
            kind: kind.to_owned(),
            text: format!("{kind} happened"),
            game: None,
        }
    }

    fn cause(game: &GameRecord, events: &[EventRecord]) -> Cause {
        time_loss(game, events).unwrap().cause
    }

    #[test]
    fn the_first_confirmed_cause_is_named() {
        let long = lost(40_000);
        assert_eq!(cause(&long, &[]), Cause::Unknown);
        for (kind, expected) in [
            ("stream", Cause::Stream),
            ("offline", Cause::Stream),
            ("limited", Cause::Refused),
            ("search", Cause::Search),
            ("engine", Cause::Search),
            ("operator", Cause::Unknown),
        ] {
            assert_eq!(cause(&long, &[event(kind, 70_000)]), expected, "{kind}");
            assert_eq!(
                cause(&long, &[event(kind, 20_000)]),
                Cause::Unknown,
                "{kind}"
            );
        }
        for (text, expected) in [
            ("move: rate limited, to wait 60 s", Cause::Refused),
            ("chat: rate limited, to wait 60 s", Cause::Unknown),
        ] {
            let event = EventRecord {
                text: text.to_owned(),
                ..event("limited", 70_000)
            };
            assert_eq!(cause(&long, &[event]), expected, "{text}");
        }
        assert_eq!(cause(&lost(1_200), &[]), Cause::Scramble);
        assert_eq!(cause(&lost(90_000), &[]), Cause::Delivery);
        let mut overspent = lost(40_000);
        overspent.moves[0].spent = Some(80_000);
        assert_eq!(cause(&overspent, &[]), Cause::Overspent);
        let mut away = lost(40_000);
        away.moves[1].at = None;
        assert_eq!(cause(&away, &[event("stream", 70_000)]), Cause::Away);
        let mut unseen = lost(40_000);
        unseen.ending.as_mut().unwrap().at = 59_999;
        assert_eq!(cause(&unseen, &[]), Cause::Away);
        away.joined = 200_000;
        assert_eq!(
            time_loss(&away, &[]).unwrap().evidence,
            "first seen 100 s after its end"
        );
        let mut never = lost(40_000);
        never.moves.clear();
        assert_eq!(cause(&never, &[]), Cause::NoStart);
        let mut imported = lost(900);
        imported.origin = Origin::Imported;
        imported.moves[1].at = None;
        assert_eq!(cause(&imported, &[]), Cause::Scramble);
    }

    #[test]
    fn other_games_have_no_cause() {
        let mut game = lost(40_000);
        game.ending.as_mut().unwrap().winner = Some(Side::White);
        assert_eq!(time_loss(&game, &[]), None);
        game.ending.as_mut().unwrap().status = Status::Mate;
        game.ending.as_mut().unwrap().winner = Some(Side::Black);
        assert_eq!(time_loss(&game, &[]), None);
        game.ending = None;
        assert_eq!(time_loss(&game, &[]), None);
    }
}
