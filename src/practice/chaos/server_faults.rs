//! Faults of the whole server, on request.

use std::time::Duration;

use crate::practice::account::AccountKind;
use crate::practice::challenge::{ChallengeRequest, ChallengeState, ServerChallenge};
use crate::practice::chaos::Announcement;
use crate::practice::game_settings::{ColorWish, GameSettings};
use crate::practice::time::Millis;
use crate::practice::wire::{Compat, EventLine, Variant};
use crate::rules::Color;

use crate::practice::state::ServerState;

impl ServerState {
    /// New accounts challenge `user` to games of another variant.
    pub(crate) fn storm(
        &mut self,
        user: &str,
        challenges: usize,
        settings: GameSettings,
        now: Millis,
    ) {
        let standard = Variant::of("standard").unwrap_or(Variant::ATOMIC);
        for number in 0..challenges {
            self.challenge_from(
                &format!("Storm{number}"),
                user,
                request(settings, standard),
                now,
            );
        }
    }

    /// The same to atomic games; returns the ids of the challenges.
    pub(crate) fn challenge_from_many(
        &mut self,
        user: &str,
        challenges: usize,
        settings: GameSettings,
        now: Millis,
    ) -> Vec<String> {
        let request = request(settings, Variant::ATOMIC);
        (0..challenges)
            .filter_map(|number| {
                self.challenge_from(&format!("NoShow{number}"), user, request.clone(), now)
            })
            .collect()
    }

    fn challenge_from(
        &mut self,
        name: &str,
        user: &str,
        request: ChallengeRequest,
        now: Millis,
    ) -> Option<String> {
        let from = self.open_account(name, AccountKind::Human, now)?;
        let made = self.challenge(&from, user, request, now);
        if let Err(error) = &made {
            tracing::debug!(?error, "a challenge of the storm was refused");
        }
        made.ok()
    }

    /// The client's opponent writes in both chat rooms.
    pub(crate) fn flood(&mut self, game: &str, lines: usize) {
        const TEXTS: [&str; 5] = ["!help", "hello?", "!eval", "!name", "gl hf \u{1F4A5}"];
        let Some(opponent) = self.opponent_of_client(game) else {
            return;
        };
        for number in 0..lines {
            let room = if number % 2 == 0 {
                "player"
            } else {
                "spectator"
            };
            if self
                .chat(&opponent, game, room, TEXTS[number % TEXTS.len()])
                .is_err()
            {
                return;
            }
        }
    }

    fn opponent_of_client(&self, game: &str) -> Option<String> {
        let game = &self.entry(game)?.game;
        let side = Self::client_side(game)?;
        Some(game.player_side(!side).user.clone())
    }

    /// The client in a game, with its side and the game's settings.
    pub(crate) fn client_of(&self, game: &str) -> Option<(String, Color, GameSettings)> {
        let game = &self.entry(game)?.game;
        let side = Self::client_side(game)?;
        Some((
            game.player_side(side).user.clone(),
            side,
            game.setup.settings,
        ))
    }

    /// Gives the client time.
    pub(crate) fn give_client_time(&mut self, game: &str, seconds: u32, now: Millis) {
        if let Some(entry) = self.entries.get_mut(game)
            && let Some(side) = Self::client_side(&entry.game)
        {
            entry.game.give_time(!side, seconds, now);
            self.settle(game, now);
        }
    }

    pub(crate) fn jump_clocks(&mut self, game: &str, by: Duration, now: Millis) {
        if let Some(entry) = self.entries.get_mut(game) {
            entry.game.jump_clocks(by, now);
            self.settle(game, now);
        }
    }

    /// The server is back after an outage.
    pub(crate) fn end_outage(&mut self, bonus: Duration, now: Millis) {
        for entry in self.entries.values_mut() {
            entry.game.excuse(bonus, now);
        }
    }

    /// Announces on the client's event stream a game that must start nothing.
    pub(crate) fn announce_wrongly(&mut self, game: &str, what: Announcement, now: Millis) {
        let Some((user, side, _)) = self.client_of(game) else {
            return;
        };
        let finished = self.finished.iter().rev().find(|id| *id != game).cloned();
        let about = match what {
            Announcement::Finished => finished.unwrap_or_else(|| game.to_owned()),
            _ => game.to_owned(),
        };
        let Some(entry) = self.entries.get(&about) else {
            return;
        };
        let side = entry.game.side_of(&user).unwrap_or(side);
        let mut info = self.game_info(&entry.game, side, now);
        if matches!(what, Announcement::Foreign | Announcement::NotForBots) {
            let id = self.letters(8);
            info.full_id = format!("{id}{}", self.letters(4));
            info.game_id.clone_from(&id);
            if let Some(extra) = &mut info.extra {
                extra.id = id;
                extra.compat = Compat {
                    bot: what == Announcement::Foreign,
                    board: true,
                };
            }
        }
        let game = Box::new(info);
        self.send_event(&user, &EventLine::GameStart { game });
    }

    /// Starts a game between `from` and `user` without a challenge.
    pub(crate) fn start_unrequested_game(
        &mut self,
        from: &str,
        user: &str,
        settings: GameSettings,
        now: Millis,
    ) -> String {
        let challenge = ServerChallenge {
            id: self.letters(8),
            challenger: from.to_owned(),
            dest: user.to_owned(),
            color: if self.random.bool() {
                Color::White
            } else {
                Color::Black
            },
            request: request(settings, Variant::ATOMIC),
            status: ChallengeState::Accepted,
            created: now,
            seen: now,
            keepers: 0,
        };
        let id = challenge.id.clone();
        self.challenges.insert(id.clone(), challenge.clone());
        self.start_game(&challenge, now);
        id
    }

    /// `from` challenges `user` and cancels at once.
    pub(crate) fn challenge_and_cancel(
        &mut self,
        from: &str,
        user: &str,
        settings: GameSettings,
        now: Millis,
    ) -> Option<String> {
        let request = request(settings, Variant::ATOMIC);
        let id = self.challenge(from, user, request, now).ok()?;
        self.cancel(from, &id, now).ok()?;
        Some(id)
    }

    /// A cancelled challenge becomes a game anyway.
    pub(crate) fn begin_cancelled(&mut self, id: &str, now: Millis) {
        if let Some(challenge) = self.challenges.get_mut(id) {
            challenge.status = ChallengeState::Accepted;
            let challenge = challenge.clone();
            self.start_game(&challenge, now);
        }
    }
}

fn request(settings: GameSettings, variant: Variant) -> ChallengeRequest {
    ChallengeRequest {
        settings,
        color: ColorWish::Random,
        variant,
        rules: Vec::new(),
        rematch_of: None,
    }
}
