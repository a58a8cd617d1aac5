//! The daily limit of games between bots, challenge credits, and repeated games that do not count.
//!
//! Counted in fixed windows, as on Lichess.

use crate::practice::account::Account;
use crate::practice::api_error::ApiError;
use crate::practice::time::Millis;
use crate::rules::Color;

use super::ServerState;

/// Two games count as the same if this many half-moves agree.
const SAME_PLIES: usize = 20;

impl ServerState {
    /// Whether `user` may start another game with `other`, if both are bots.
    pub(super) fn check_bot_limit(
        &mut self,
        user: &str,
        other: &str,
        now: Millis,
    ) -> Result<(), ApiError> {
        if !self.both_are_bots(user, other) {
            return Ok(());
        }
        let most = self.rules.bot_games_a_day.unwrap_or_default();
        let mut left = |id: &str| {
            let window = self.accounts.get_mut(id)?.bot_games.as_mut()?;
            Some(window.left(now)).filter(|wait| !wait.is_zero())
        };
        if let Some(wait) = left(user) {
            let text = format!(
                "You played {most} games against other bots today, please wait before challenging \
                 another bot."
            );
            return Err(ApiError::limit(429, &text, "bot.vsBot.day", wait));
        }
        if let Some(wait) = left(other) {
            let name = self
                .accounts
                .get(other)
                .map_or(other, |account| &account.name);
            let text = format!(
                "{name} played {most} games against other bots today, please wait {} seconds to \
                 challenge them.",
                wait.as_secs()
            );
            return Err(ApiError::limit(400, &text, "bot.vsBot.day", wait));
        }
        Ok(())
    }

    /// A challenge costs credits, whatever its outcome.
    pub(super) fn spend_credits(
        &mut self,
        challenger: &str,
        target_is_bot: bool,
        now: Millis,
    ) -> Result<(), ApiError> {
        let price = if target_is_bot { 1 } else { 5 };
        let account = self.accounts.get_mut(challenger);
        let windows = account.and_then(|account| account.credits.as_mut());
        for window in windows.into_iter().flatten() {
            if window.take_all(price, now).is_err() {
                // The reply does not state how long.
                return Err(ApiError::text(429, "Too many requests. Try again later."));
            }
        }
        Ok(())
    }

    /// A game between the two begins, by a challenge or a pairing.
    pub(super) fn spend_bot_limit(&mut self, users: &[String; 2], now: Millis) {
        if self.both_are_bots(&users[0], &users[1]) {
            for id in users {
                let window = self
                    .accounts
                    .get_mut(id)
                    .and_then(|account| account.bot_games.as_mut());
                if let Some(window) = window {
                    // A full window was refused before, except to a pairing, which it does not stop.
                    let _ = window.take(now);
                }
            }
        }
    }

    fn both_are_bots(&self, user: &str, other: &str) -> bool {
        [user, other]
            .iter()
            .all(|&id| self.accounts.get(id).is_some_and(Account::is_bot))
    }

    /// Whether this finished game repeats one of the last two that its players finished.
    pub(super) fn repeats_another(&self, id: &str) -> bool {
        let Some(this) = self.entries.get(id) else {
            return false;
        };
        let pair = |game: &crate::practice::game::ServerGame| {
            let mut users = Color::ALL.map(|side| game.player_side(side).user.clone());
            users.sort();
            users
        };
        let winner = |game: &crate::practice::game::ServerGame| {
            game.winner()
                .map(|side| game.player_side(side).user.clone())
        };
        let opening = |game: &crate::practice::game::ServerGame| -> Vec<String> {
            game.record()
                .iter()
                .take(SAME_PLIES)
                .map(|played| played.uci.clone())
                .collect()
        };
        self.finished
            .iter()
            .rev()
            .filter(|other| *other != id)
            .filter_map(|other| self.entries.get(other))
            .filter(|other| pair(&other.game) == pair(&this.game))
            .take(2)
            .any(|other| {
                winner(&other.game) == winner(&this.game)
                    && opening(&other.game) == opening(&this.game)
            })
    }
}
