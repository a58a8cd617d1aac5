//! Arenas for the owner of the server handle: opens them, adds sparring bots, inspects them.

use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;

use crate::practice::report::GameReport;
use crate::practice::server::ServerHandle;
use crate::practice::sparring_bot::{Partner, SparringBotSpec};

use super::{ArenaPlan, ArenaStage};

/// The state of an arena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArenaReport {
    /// It has begun and is not over.
    pub runs: bool,
    pub is_over: bool,
    /// Present and former members, by id.
    pub players: Vec<ArenaPlayer>,
}

/// A present or former member of an arena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArenaPlayer {
    /// The id of the account.
    pub user: String,
    pub is_in: bool,
    /// How often it joined or confirmed its presence.
    pub joins: u32,
    pub games: u32,
    /// Points: two for a win, one for a draw.
    pub score: u32,
}

impl ArenaReport {
    /// The membership of an account in it.
    pub fn player(&self, name: &str) -> Option<&ArenaPlayer> {
        let user = name.to_lowercase();
        self.players.iter().find(|player| player.user == user)
    }

    /// Whether an account is in it now.
    pub fn has(&self, name: &str) -> bool {
        self.player(name).is_some_and(|player| player.is_in)
    }
}

impl ServerHandle {
    /// Opens an arena and returns its id; `None` for an unsupported variant or clock.
    pub fn open_arena(&self, plan: ArenaPlan) -> Option<String> {
        self.shared.with(|state, now| state.open_arena(plan, now))
    }

    /// Opens an account for a sparring bot and lets it play in an arena to its end. Each name is
    /// another sparring bot, which plays one game at a time.
    pub fn enter(&self, arena: &str, name: &str, partner: Partner, pace: Duration) {
        let spec = SparringBotSpec {
            pace,
            ..SparringBotSpec::new(name, partner)
        };
        self.shared.add_sparring_bot(&spec);
        self.shared.with(|state, now| {
            let user = name.to_lowercase();
            if let Err(error) = state.enter_server_bot(&user, arena, now) {
                tracing::debug!(arena, name, ?error, "the partner is not let in");
            }
        });
    }

    /// Removes an account from an arena; it may rejoin.
    pub fn remove_player(&self, arena: &str, name: &str) {
        self.shared
            .with(|state, _| state.remove_player(&name.to_lowercase(), arena));
    }

    /// Makes an account a member of a team.
    pub fn make_member(&self, name: &str, team: &str) {
        self.change_account(name, |account| _ = account.teams.insert(team.to_owned()));
    }

    /// The state of an arena.
    pub fn arena(&self, id: &str) -> Option<ArenaReport> {
        self.shared.see(|state, _| {
            let field = state.arena(id)?;
            let players = field.players.iter().map(|(user, player)| ArenaPlayer {
                user: user.clone(),
                is_in: !player.out,
                joins: player.joins,
                games: player.games,
                score: player.score,
            });
            Some(ArenaReport {
                runs: field.stage == ArenaStage::Started,
                is_over: field.stage == ArenaStage::Finished,
                players: players.collect(),
            })
        })
    }

    /// Waits until this many games of an arena are over, and takes their reports.
    pub async fn arena_games(&self, arena: &str, count: usize) -> Vec<GameReport> {
        let mut news = self.events();
        let mut games = Vec::new();
        loop {
            games.extend(self.shared.take_reports_of(arena));
            if games.len() >= count {
                return games;
            }
            if let Err(RecvError::Closed) = news.recv().await {
                return games;
            }
        }
    }
}
