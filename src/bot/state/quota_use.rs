//! Bot games and challenge credits: the calls of the quota.
//!
//! A use is reserved in memory at once, so that two decisions in a row cannot both take the last
//! game; the call that uses it waits for [`BotState::saved`].

use std::time::Duration;

use super::opponents::StartedGame;
use super::{BotState, Inner};
use crate::bot::quota::{Budget, ChallengeTarget, Denied, Forecast, Permit};
use crate::lichess::{ChallengeId, Error, UserId};
use crate::store::{Change, Origin, TimeSpan, Timestamp};

/// The server's name for its limit of games between bots.
const BOT_GAMES: &str = "bot.vsBot";
/// The cooldown of an opponent's limit if the server names no wait.
const UNNAMED_WAIT: Duration = Duration::from_secs(3600);
/// The key of the cooldown of accepting bots.
const BOTS_REST: &str = "accept bots";
/// Its length if no wait is advised.
const UNADVISED_REST: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuotaCall {
    /// Accepting a human's challenge.
    Accept,
    AcceptBot,
    Challenge,
}

impl BotState {
    /// Whether another bot's challenge may be accepted.
    pub fn may_accept_bot(&self) -> Permit {
        match self.resting(BOTS_REST) {
            Some(at) => Permit::Later {
                at,
                denied: Denied::Closed,
            },
            None => self.look(|inner, now| inner.quota.may_accept(now)),
        }
    }

    pub fn may_challenge(&self, target: ChallengeTarget) -> Permit {
        self.look(|inner, now| inner.quota.may_challenge(target, now))
    }

    pub fn budget(&self) -> Budget {
        self.look(|inner, now| inner.quota.budget(now))
    }

    pub fn forecast(&self) -> Forecast {
        self.look(|inner, now| inner.quota.forecast(now))
    }

    /// Reserves the game of a bot's challenge about to be accepted. The call must wait for
    /// [`BotState::saved`].
    pub fn hold_accept(&self, challenge: &ChallengeId, opponent: &UserId) {
        let key = challenge.as_str();
        self.change(|inner, now, changes| {
            let opponent = Some(opponent.clone());
            let hold = inner.quota.hold_game(key, Origin::Incoming, opponent, now);
            changes.push(hold);
        });
    }

    /// Spends the credits of a challenge about to be made and, against a bot, reserves its game.
    /// Returns the key that names it until the server does ([`BotState::challenge_made`]). The call
    /// must wait for [`BotState::saved`].
    pub fn hold_challenge(&self, target: ChallengeTarget, opponent: &UserId) -> String {
        self.change(|inner, now, changes| {
            let opponent = Some(opponent.clone());
            inner.named += 1;
            let key = format!("challenge {} {}", now.as_millis(), inner.named);
            changes.extend(inner.quota.spend_credits(target, opponent.clone(), now));
            if target == ChallengeTarget::Bot {
                let hold = inner.quota.hold_game(&key, Origin::Outgoing, opponent, now);
                changes.push(hold);
            }
            key
        })
    }

    /// Records that the server created the challenge.
    pub fn challenge_made(&self, key: &str, id: &ChallengeId) {
        self.change(|inner, _, changes| {
            changes.extend(inner.quota.rename(key, id.as_str()));
            changes.extend(inner.quota.credits_served());
        });
    }

    /// Returns the reservation of a challenge that led to no game.
    pub fn release(&self, key: &str) {
        self.change(|inner, _, changes| changes.extend(inner.quota.release(key)));
    }

    /// Records a started game, once however often it is reported.
    pub fn started(&self, started: &StartedGame) {
        self.change(|inner, now, changes| {
            inner.open(&started.game, now, changes);
            let is_new = inner.opponents.started(started, now, changes);
            if is_new && started.is_bot && !started.arena {
                begin(inner, started, now, changes);
            }
        });
    }

    /// Learns from a refused call about the bot's or the opponent's limits.
    pub fn refused(&self, call: QuotaCall, error: &Error, opponent: Option<&UserId>) {
        match error {
            Error::RateLimited { wait, body } => {
                let limit = body.rate_limit.as_ref();
                let key = limit.and_then(|limit| limit.key.as_deref()).unwrap_or("");
                match call {
                    _ if key.starts_with(BOT_GAMES) => {
                        self.bot_games_refused(*wait, number_in(&body.message));
                    }
                    QuotaCall::Challenge => self.credits_refused(*wait),
                    // Each wait comes from the server or the rate limiter, which lengthens its own.
                    QuotaCall::AcceptBot => {
                        let rest = wait.unwrap_or(UNADVISED_REST);
                        self.cool(BOTS_REST, rest, rest, Some("rate limited"));
                    }
                    QuotaCall::Accept => {}
                }
            }
            Error::Refused { body, .. } => {
                if let (Some(limit), Some(opponent)) = (&body.rate_limit, opponent) {
                    self.opponent_spent(opponent, limit.wait.unwrap_or(UNNAMED_WAIT));
                }
            }
            Error::Transient { .. } | Error::Gone { .. } | Error::Protocol { .. } => {}
        }
    }

    /// The server refused a bot game, perhaps with a wait and its limit.
    pub fn bot_games_refused(&self, wait: Option<Duration>, said: Option<u32>) {
        self.change(|inner, now, changes| {
            let before = inner.quota.most_games(now);
            changes.push(inner.quota.games_refused(wait, said, now));
            let (most, forecast) = (inner.quota.most_games(now), inner.quota.forecast(now));
            tracing::warn!(most, "daily limit of bot games reached: {forecast}");
            if most != before {
                tracing::warn!(before, most, "the server's limit of bot games changed");
            }
        });
    }

    /// The server refused a challenge: too many.
    pub fn credits_refused(&self, wait: Option<Duration>) {
        self.change(|inner, now, changes| changes.push(inner.quota.credits_refused(wait, now)));
    }

    /// Records that an opponent's own limit of bot games is reached.
    pub fn opponent_spent(&self, opponent: &UserId, wait: Duration) {
        self.change(|inner, now, changes| {
            changes.push(inner.opponents.spent(opponent, TimeSpan::new(now, wait)));
        });
    }
}

/// Counts a started game against a bot: under its own id, or, since a rematch may get another one,
/// in place of the game reserved for that opponent.
fn begin(inner: &mut Inner, started: &StartedGame, now: Timestamp, changes: &mut Vec<Change>) {
    let key = started.game.as_str();
    let opponent = started.opponent.clone();
    if started.rematch
        && let Some(held) = opponent.as_ref().and_then(|id| inner.quota.held_for(id))
        && held != key
    {
        let held = held.to_owned();
        changes.extend(inner.quota.rename(&held, key));
    }
    let origin = started.origin.unwrap_or(Origin::Incoming);
    changes.extend(inner.quota.begin_game(key, origin, opponent, now));
    changes.extend(inner.quota.learn_from_begun(now));
}

/// The first number in a text: "You played 100 games against other bots today".
fn number_in(text: &str) -> Option<u32> {
    let digits = text.split(|c: char| !c.is_ascii_digit());
    digits
        .into_iter()
        .find(|part| !part.is_empty())?
        .parse()
        .ok()
}
