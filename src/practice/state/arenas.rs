//! Arenas in the server state: opening, joining, leaving, and their games.

use crate::practice::account::Account;
use crate::practice::api_error::ApiError;
use crate::practice::arena::{Applicant, ArenaPlan, ArenaStage, EntryRequest, Tournament};
use crate::practice::event::Event;
use crate::practice::game_settings::Status;
use crate::practice::rating::Score;
use crate::practice::time::Millis;
use crate::practice::wire::Variant;
use crate::rules::Color;

use super::ServerState;
use super::games::{NewGame, score};

/// The price of a first join: Lichess's own arenas cost 1, but those admit no bots.
const FIRST_JOIN: u32 = 2;

impl ServerState {
    /// Opens an arena; `None` for an unsupported variant or clock.
    pub(crate) fn open_arena(&mut self, plan: ArenaPlan, now: Millis) -> Option<String> {
        if Variant::of(&plan.variant).is_none() || !plan.settings().time.is_offered() {
            return None;
        }
        let id = self.letters(8);
        let field = Tournament::new(id.clone(), plan, self.timing, now);
        self.arenas.insert(id.clone(), field);
        Some(id)
    }

    pub(crate) fn arena(&self, id: &str) -> Option<&Tournament> {
        self.arenas.get(id)
    }

    /// Every arena, by its id.
    pub(crate) fn all_arenas(&self) -> impl Iterator<Item = &Tournament> {
        self.arenas.values()
    }

    /// `user` joins an arena, rejoins it, or confirms its presence.
    pub(crate) fn join_arena(
        &mut self,
        user: &str,
        id: &str,
        entrance: &EntryRequest,
        now: Millis,
    ) -> Result<(), ApiError> {
        let field = self.arenas.get(id).ok_or_else(ApiError::not_found)?;
        let account = (self.accounts.get_mut(user)).ok_or_else(ApiError::not_found)?;
        let was_in = field.players.contains_key(user);
        if !was_in {
            spend_first_join(account, now)?;
        }
        field
            .plan
            .admit(&newcomer(account), entrance, was_in)
            .inspect_err(|_| tracing::debug!(user, id, "not let in"))?;
        self.enter_arena(user, id, false, entrance, now)
    }

    /// A sparring bot joins, whatever the conditions.
    pub(crate) fn enter_server_bot(
        &mut self,
        user: &str,
        id: &str,
        now: Millis,
    ) -> Result<(), ApiError> {
        self.enter_arena(user, id, true, &EntryRequest::default(), now)
    }

    fn enter_arena(
        &mut self,
        user: &str,
        id: &str,
        task: bool,
        entrance: &EntryRequest,
        now: Millis,
    ) -> Result<(), ApiError> {
        let field = self.arenas.get_mut(id).ok_or_else(ApiError::not_found)?;
        let was_in = field.has(user);
        field.join(user, task, entrance, now)?;
        if !was_in {
            let name = self.name_of(user);
            self.news(Event::Entered {
                arena: id.to_owned(),
                name,
            });
        }
        Ok(())
    }

    /// Counts a join call, whatever its outcome.
    pub(crate) fn count_join(&mut self, user: &str, now: Millis) -> Result<(), ApiError> {
        let account = self.account_or_404(user)?;
        account
            .joins
            .take(now)
            .map_err(|_| ApiError::text(429, "Too many requests. Try again later."))
    }

    /// `user` leaves an arena, or pauses in it.
    pub(crate) fn leave_arena(
        &mut self,
        user: &str,
        id: &str,
        now: Millis,
    ) -> Result<(), ApiError> {
        let field = self.arenas.get_mut(id).ok_or_else(ApiError::not_found)?;
        if field.withdraw(user, now) {
            self.announce_withdrawn(user, id);
        }
        Ok(())
    }

    /// The server removes `user` from an arena.
    pub(crate) fn remove_player(&mut self, user: &str, id: &str) {
        if let Some(field) = self.arenas.get_mut(id) {
            field.remove_player(user);
            self.announce_withdrawn(user, id);
        }
    }

    fn announce_withdrawn(&mut self, user: &str, id: &str) {
        let name = self.name_of(user);
        self.news(Event::Withdrew {
            arena: id.to_owned(),
            name,
        });
    }

    /// Starts, pairs and ends arenas as they fall due.
    pub(super) fn tick_arenas(&mut self, now: Millis) {
        let due = |field: &Tournament| field.next_due().is_some_and(|at| at <= now);
        let ids: Vec<String> = self
            .arenas
            .values()
            .filter(|field| due(field))
            .map(|field| field.id.clone())
            .collect();
        for id in ids {
            let Some(field) = self.arenas.get_mut(&id) else {
                continue;
            };
            let (pairs, over) = field.tick(now, &mut self.random);
            let settings = field.plan.settings();
            for pair in pairs {
                let game = self.letters(8);
                if let Some(field) = self.arenas.get_mut(&id) {
                    field.began(&pair, &game);
                }
                let opening = NewGame {
                    id: game,
                    settings,
                    users: pair,
                    arena: Some(id.clone()),
                };
                self.begin_game(opening, now);
            }
            if over {
                self.news(Event::ArenaOver { arena: id });
            }
        }
    }

    /// A game is over: updates its arena, if it has one.
    pub(super) fn count_in_arena(&mut self, id: &str, now: Millis) {
        let Some(game) = self.entries.get(id).map(|entry| &entry.game) else {
            return;
        };
        let Some(field) = game
            .setup
            .arena
            .as_ref()
            .and_then(|id| self.arenas.get_mut(id))
        else {
            return;
        };
        let no_start = game.status() == Status::NoStart;
        let absent = game.ended_by().filter(|_| no_start);
        let absent = absent.map(|side| game.player_side(side).user.as_str());
        let points = |user: &str| {
            let side = game.side_of(user).unwrap_or(Color::White);
            match score(game, side) {
                Score::Win => 2,
                Score::Draw => 1,
                Score::Loss => 0,
            }
        };
        field.over(id, points, absent, now);
        let id = field.id.clone();
        let remove_player = absent.filter(|user| !field.has(user)).map(str::to_owned);
        if let Some(user) = remove_player {
            self.announce_withdrawn(&user, &id);
        }
    }

    /// Each condition of entry, and whether `user` meets it, as the server shows it beforehand.
    pub(crate) fn verdicts(&self, field: &Tournament, user: &str) -> Vec<(String, bool)> {
        let account = self.accounts.get(user);
        account.map_or_else(Vec::new, |account| field.plan.verdicts(&newcomer(account)))
    }

    /// `user` becomes a member of a team that some arena requires.
    pub(crate) fn join_team(&mut self, user: &str, team: &str) -> Result<(), ApiError> {
        let known = self.arenas.values().any(|field| {
            field.stage != ArenaStage::Finished && field.plan.teams().any(|it| it == team)
        });
        let account = self.accounts.get_mut(user).filter(|_| known);
        account
            .ok_or_else(ApiError::not_found)?
            .teams
            .insert(team.to_owned());
        Ok(())
    }

    /// `user` leaves a team.
    pub(crate) fn quit_team(&mut self, user: &str, team: &str) -> Result<(), ApiError> {
        let account = self.account_or_404(user)?;
        if account.teams.remove(team) {
            Ok(())
        } else {
            Err(ApiError::not_found())
        }
    }
}

/// Charges a first join, whatever becomes of it.
fn spend_first_join(account: &mut Account, now: Millis) -> Result<(), ApiError> {
    let mut windows = account.first_joins.iter_mut();
    if windows.any(|window| window.take_all(FIRST_JOIN, now).is_err()) {
        return Err(ApiError::refused("You are joining too many tournaments"));
    }
    Ok(())
}

fn newcomer(account: &Account) -> Applicant<'_> {
    Applicant {
        is_bot: account.is_bot(),
        rating: account.rating.shown(),
        teams: &account.teams,
    }
}
