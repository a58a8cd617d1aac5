//! Challenges: sent, accepted, declined, cancelled, forgotten.

use crate::practice::account::Account;
use crate::practice::api_error::ApiError;
use crate::practice::challenge::{ChallengeRequest, ChallengeState, Reason, ServerChallenge};
use crate::practice::event::Event;
use crate::practice::game_settings::{RatedCheck, Speed};
use crate::practice::time::Millis;
use crate::practice::wire::{ChallengeJson, Compat, Direction, EventLine, Variant};
use crate::rules::Color;

use super::server_state::KEPT_CLOSED;
use super::{OutgoingEvent, ServerState};

impl ServerState {
    pub(crate) fn challenge(
        &mut self,
        challenger: &str,
        dest: &str,
        request: ChallengeRequest,
        now: Millis,
    ) -> Result<String, ApiError> {
        let request = self.admissible(challenger, dest, request, now)?;
        self.replace_earlier(challenger, dest, now);
        let drawn = if self.random.bool() {
            Color::White
        } else {
            Color::Black
        };
        let challenge = ServerChallenge {
            id: self.letters(8),
            challenger: challenger.to_owned(),
            dest: dest.to_owned(),
            color: request.color.resolve(drawn),
            request,
            status: ChallengeState::Created,
            created: now,
            seen: now,
            keepers: 0,
        };
        let id = challenge.id.clone();
        self.challenges.insert(id.clone(), challenge);
        self.announce(&id, now);
        Ok(id)
    }

    /// The checks of the server, in its order; a request for a rated game may become casual.
    fn admissible(
        &mut self,
        challenger: &str,
        dest: &str,
        mut request: ChallengeRequest,
        now: Millis,
    ) -> Result<ChallengeRequest, ApiError> {
        let target = self
            .accounts
            .get(dest)
            .ok_or_else(|| ApiError::refused(format!("No such user: {dest}")))?;
        if challenger == dest {
            return Err(ApiError::refused("You cannot challenge yourself"));
        }
        let target_is_bot = target.is_bot();
        if !request.rules.is_empty() && target_is_bot {
            return Err(ApiError::refused("Rules not applicable for bots"));
        }
        let too_fast = request.settings.time.speed() == Speed::UltraBullet;
        if too_fast && self.accounts.get(challenger).is_some_and(Account::is_bot) {
            return Err(ApiError::form("global", "Invalid speed"));
        }
        if request.settings.rated {
            match request.settings.time.ratable() {
                RatedCheck::Yes => {}
                RatedCheck::SilentlyCasual => request.settings.rated = false,
                RatedCheck::Refused => {
                    return Err(ApiError::form(
                        "global",
                        "Invalid time control for a rated game",
                    ));
                }
            }
        }
        self.spend_credits(challenger, target_is_bot, now)?;
        self.check_bot_limit(challenger, dest, now)?;
        if too_fast && target_is_bot {
            return Err(ApiError::refused("Bots cannot play UltraBullet."));
        }
        Ok(request)
    }

    /// A new challenge to the same target cancels the previous one.
    fn replace_earlier(&mut self, challenger: &str, dest: &str, now: Millis) {
        let earlier: Vec<String> = self
            .challenges
            .values()
            .filter(|challenge| challenge.challenger == challenger && challenge.dest == dest)
            .filter(|challenge| challenge.status.is_pending())
            .map(|challenge| challenge.id.clone())
            .collect();
        for id in earlier {
            self.close(&id, ChallengeState::Canceled, now);
        }
    }

    fn announce(&mut self, id: &str, now: Millis) {
        let Some(challenge) = self.challenges.get(id).cloned() else {
            return;
        };
        let json = Box::new(self.challenge_json(&challenge, None, now));
        let bot = challenge.request.settings.time.speed() != Speed::UltraBullet;
        let event = EventLine::Challenge {
            challenge: json,
            compat: Some(Compat { bot, board: true }),
        };
        self.send_event(&challenge.challenger, &event);
        self.send_event(&challenge.dest, &event);
        self.changed(id);
        self.news(Event::Challenged {
            game: id.to_owned(),
            by: self.name_of(&challenge.challenger),
            to: self.name_of(&challenge.dest),
        });
    }

    /// `user` accepts; when this returns the game has begun.
    pub(crate) fn accept(&mut self, user: &str, id: &str, now: Millis) -> Result<(), ApiError> {
        let challenge = self
            .challenges
            .get(id)
            .cloned()
            .ok_or_else(ApiError::not_found)?;
        if !challenge.concerns(user) {
            return Err(ApiError::not_found());
        }
        if challenge.dest != user {
            return Err(ApiError::refused("The challenge is not for you to accept."));
        }
        match challenge.status {
            ChallengeState::Canceled => Err(ApiError::refused("The challenge has been canceled.")),
            ChallengeState::Declined(_) => {
                Err(ApiError::refused("The challenge has been declined."))
            }
            ChallengeState::Accepted => {
                Err(ApiError::refused("The challenge has already been accepted"))
            }
            _ if challenge.request.settings.time.speed() == Speed::UltraBullet
                && self.accounts.get(user).is_some_and(Account::is_bot) =>
            {
                Err(ApiError::refused("Game incompatible with a BOT account"))
            }
            _ if challenge.request.variant != Variant::ATOMIC => {
                Err(ApiError::refused("Only atomic chess is played here"))
            }
            ChallengeState::Created | ChallengeState::Offline => {
                self.check_bot_limit(user, &challenge.challenger, now)?;
                self.set_status(id, ChallengeState::Accepted);
                self.outbox.push(OutgoingEvent::ChallengeDone {
                    id: id.to_owned(),
                    done: "accepted",
                });
                self.start_game(&challenge, now);
                Ok(())
            }
        }
    }

    pub(crate) fn decline(
        &mut self,
        user: &str,
        id: &str,
        reason: Reason,
        now: Millis,
    ) -> Result<(), ApiError> {
        let pending = self
            .challenges
            .get(id)
            .is_some_and(|challenge| challenge.dest == user && challenge.status.is_pending());
        if !pending {
            return Err(ApiError::not_found());
        }
        self.close(id, ChallengeState::Declined(reason), now);
        Ok(())
    }

    /// Cancels an own challenge, declines one from another, aborts a barely begun game.
    pub(crate) fn cancel(&mut self, user: &str, id: &str, now: Millis) -> Result<(), ApiError> {
        let Some(challenge) = self.challenges.get(id).filter(|it| it.concerns(user)) else {
            return Err(ApiError::not_found());
        };
        let own = challenge.challenger == user;
        match challenge.status {
            ChallengeState::Accepted => self.cancel_game(user, id, now),
            ChallengeState::Created | ChallengeState::Offline if own => {
                self.close(id, ChallengeState::Canceled, now);
                Ok(())
            }
            ChallengeState::Created | ChallengeState::Offline => {
                self.close(id, ChallengeState::Declined(Reason::of("generic")), now);
                Ok(())
            }
            ChallengeState::Canceled | ChallengeState::Declined(_) => Err(ApiError::not_found()),
        }
    }

    fn cancel_game(&mut self, user: &str, id: &str, now: Millis) -> Result<(), ApiError> {
        let entry = self.entries.get_mut(id).ok_or_else(ApiError::not_found)?;
        let side = entry.game.side_of(user).ok_or_else(ApiError::not_found)?;
        if !entry.game.is_playing() {
            return Err(ApiError::not_found());
        }
        if entry.game.abort(side, now).is_err() {
            return Err(ApiError::refused("Missing opponentToken"));
        }
        self.settle(id, now);
        Ok(())
    }

    fn set_status(&mut self, id: &str, status: ChallengeState) {
        if let Some(challenge) = self.challenges.get_mut(id) {
            challenge.status = status;
        }
        self.changed(id);
    }

    /// Ends a pending challenge and notifies both sides.
    fn close(&mut self, id: &str, status: ChallengeState, now: Millis) {
        self.set_status(id, status);
        let Some(challenge) = self.challenges.get(id).cloned() else {
            return;
        };
        let json = Box::new(self.challenge_json(&challenge, None, now));
        let (event, done) = if let ChallengeState::Declined(reason) = status {
            self.news(Event::Declined {
                game: id.to_owned(),
                reason: reason.key().to_owned(),
            });
            (EventLine::ChallengeDeclined { challenge: json }, "declined")
        } else {
            self.news(Event::Canceled {
                game: id.to_owned(),
            });
            (EventLine::ChallengeCanceled { challenge: json }, "canceled")
        };
        self.send_event(&challenge.challenger, &event);
        self.send_event(&challenge.dest, &event);
        self.outbox.push(OutgoingEvent::ChallengeDone {
            id: id.to_owned(),
            done,
        });
        self.closed.push_back(id.to_owned());
        while self.closed.len() > KEPT_CLOSED {
            if let Some(oldest) = self.closed.pop_front() {
                self.challenges.remove(&oldest);
            }
        }
    }

    /// A connection keeps the challenge alive from now on.
    pub(crate) fn keep_challenge(&mut self, id: &str) {
        if let Some(challenge) = self.challenges.get_mut(id) {
            challenge.keepers += 1;
        }
    }

    /// A connection that kept the challenge alive has closed.
    pub(crate) fn release_challenge(&mut self, id: &str, now: Millis) {
        if let Some(challenge) = self.challenges.get_mut(id) {
            challenge.keepers = challenge.keepers.saturating_sub(1);
            challenge.seen = now;
        }
    }

    /// Marks challenges without a keep-alive as offline, sends nothing, and drops the oldest.
    pub(super) fn sweep_challenges(&mut self, now: Millis) {
        let timing = self.timing;
        for challenge in self.challenges.values_mut() {
            if challenge.goes_offline(&timing).is_some_and(|at| at <= now) {
                challenge.status = ChallengeState::Offline;
            }
        }
        self.challenges.retain(|_, challenge| {
            challenge.status == ChallengeState::Accepted || challenge.expires(&timing) > now
        });
    }

    pub(crate) fn pending(&self, id: &str) -> Option<&ServerChallenge> {
        self.challenges.get(id)
    }

    /// Ids of challenges that wait for `user`.
    pub(crate) fn pending_for(&self, user: &str) -> Vec<String> {
        let waiting = self.challenges.values().filter(|it| it.dest == user);
        waiting
            .filter(|it| it.status.is_pending())
            .map(|it| it.id.clone())
            .collect()
    }

    /// The pending challenges of `user`: to it, and from it.
    pub(crate) fn challenges_of(
        &self,
        user: &str,
        now: Millis,
    ) -> (Vec<ChallengeJson>, Vec<ChallengeJson>) {
        let list = |direction: Direction| {
            self.challenges
                .values()
                .filter(|challenge| match direction {
                    Direction::In => challenge.dest == user,
                    Direction::Out => challenge.challenger == user,
                })
                .filter(|challenge| challenge.status == ChallengeState::Created)
                .map(|challenge| self.challenge_json(challenge, Some(direction), now))
                .collect()
        };
        (list(Direction::In), list(Direction::Out))
    }
}
