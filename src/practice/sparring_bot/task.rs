//! The task of one sparring bot: accepts, plays, and behaves as each game's plan says.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;

use crate::practice::account::AccountKind;
use crate::practice::challenge::ChallengeState;
use crate::practice::chaos::OpponentBehavior;
use crate::practice::event::Event;
use crate::practice::game::{Refusal, ServerGame};
use crate::practice::game_settings::{Speed, TimeControl};
use crate::practice::shared::SharedServer;
use crate::practice::time::Millis;
use crate::rules::{Color, Game, Move};

use super::Partner;
use super::move_chooser::MoveChooser;

/// Half-moves after which a leaving opponent leaves.
const LEAVES_AT: usize = 6;
/// Lichess seconds that a returning opponent is away: too short for a claim of victory.
const AWAY: u64 = 7;
/// Seconds given at a time.
const GIFT: u32 = 15;

/// Name and strength of a sparring bot to start.
#[derive(Clone, Debug)]
pub(in crate::practice) struct SparringBotSpec {
    pub(in crate::practice) name: String,
    pub(in crate::practice) partner: Partner,
    /// A bot, or a human account.
    pub(in crate::practice) kind: AccountKind,
    /// Delay before each move, for spectators.
    pub(in crate::practice) pace: Duration,
}

impl SparringBotSpec {
    pub(in crate::practice) fn new(name: &str, partner: Partner) -> Self {
        Self {
            name: name.to_owned(),
            partner,
            kind: AccountKind::Bot,
            pace: Duration::ZERO,
        }
    }
}

impl SharedServer {
    /// Opens an account for a sparring bot, which then accepts what it can play. An existing one
    /// stays as it is.
    pub(in crate::practice) fn add_sparring_bot(self: &Arc<Self>, spec: &SparringBotSpec) {
        let newcomer = self.with(|state, now| {
            let user = state.open_account(&spec.name, spec.kind, now)?;
            let account = state.account_mut(&user)?;
            if std::mem::replace(&mut account.task, true) {
                return None;
            }
            account.rating = spec.partner.rating();
            account.takebacks = matches!(spec.partner, Partner::Level(_));
            Some(user)
        });
        if let Some(user) = newcomer {
            let task = SparringTask {
                shared: Arc::clone(self),
                user,
                partner: spec.partner,
                pace: spec.pace,
            };
            let stop = self.stop.clone();
            tokio::spawn(async move {
                stop.run_until_cancelled(task.live()).await;
            });
        }
    }
}

#[derive(Clone, Debug)]
struct SparringTask {
    shared: Arc<SharedServer>,
    user: String,
    partner: Partner,
    pace: Duration,
}

impl SparringTask {
    /// Accepts challenges and plays games until the server ends.
    async fn live(self) {
        let mut news = self.shared.news();
        let mut games = JoinSet::new();
        let mut at = HashSet::new();
        loop {
            self.accept_all();
            for id in self.new_games(&mut at) {
                games.spawn(self.clone().play(id));
            }
            loop {
                match news.recv().await {
                    Ok(event) if !self.concerns(&event) => {}
                    Ok(_) | Err(RecvError::Lagged(_)) => break,
                    Err(RecvError::Closed) => return,
                }
            }
            while games.try_join_next().is_some() {}
        }
    }

    /// Whether there is something to accept or to play; events of others are ignored.
    fn concerns(&self, event: &Event) -> bool {
        let is_me = |name: &str| name.eq_ignore_ascii_case(&self.user);
        match event {
            Event::Challenged { to, .. } => is_me(to),
            Event::Started { white, black, .. } => is_me(white) || is_me(black),
            _ => false,
        }
    }

    fn accept_all(&self) {
        self.shared.with(|state, now| {
            for id in state.pending_for(&self.user) {
                let playable = state.pending(&id).is_some_and(|challenge| {
                    challenge.status == ChallengeState::Created
                        && challenge.request.settings.time.speed() != Speed::UltraBullet
                        && matches!(challenge.request.settings.time, TimeControl::Clock { .. })
                });
                if !playable || state.accept(&self.user, &id, now).is_err() {
                    tracing::debug!(user = self.user, id, "left a challenge alone");
                }
            }
        });
    }

    /// Games of this account without a task.
    fn new_games(&self, at: &mut HashSet<String>) -> Vec<String> {
        let running: HashSet<String> = self.shared.see(|state, _| {
            state
                .running()
                .filter(|game| game.side_of(&self.user).is_some())
                .map(|game| game.setup.id.clone())
                .collect()
        });
        let fresh = running.difference(at).cloned().collect();
        *at = running;
        fresh
    }

    async fn play(self, id: String) {
        let behavior = self.shared.faults.behavior(&id);
        let mut mind = MoveChooser::new(self.partner);
        let mut changes = self.shared.watch(&id);
        let mut left = false;
        loop {
            self.shared.gate.opened().await;
            changes.borrow_and_update();
            let Some(next_action) = self.next_action(&id) else {
                return;
            };
            match next_action {
                SparringAction::Claim => self.claim(&id),
                SparringAction::GrantTakeback => {
                    self.act_regardless(&id, ServerGame::takeback_yes);
                    continue;
                }
                SparringAction::Move(game) if !left && plays(behavior, &game) => {
                    tokio::time::sleep(self.pace).await;
                    left = self.perhaps_leave(&id, behavior, game.ply()).await;
                    if left {
                        continue;
                    }
                    let Some(mv) = mind.choose(&game).await else {
                        return;
                    };
                    if self.post(&id, mv, behavior) {
                        continue;
                    }
                }
                SparringAction::Move(_) | SparringAction::Wait => {}
            }
            let first_move = tokio::time::timeout(self.shared.timing.first_move, changes.changed());
            match first_move.await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return,
                Err(_) if behavior == OpponentBehavior::NeverMoves => {}
                Err(_) => self.abort(&id),
            }
        }
    }

    /// The next action in a game; `None` once it is over.
    fn next_action(&self, id: &str) -> Option<SparringAction> {
        self.shared.see(|state, now| {
            let (game, side) = state.find_player(&self.user, id).ok()?;
            if !game.is_playing() {
                return None;
            }
            let asked = game.takeback_proposed_by(!side) && !game.setup.settings.rated;
            Some(if asked {
                SparringAction::GrantTakeback
            } else if game.turn() == side {
                SparringAction::Move(Box::new(game.game().clone()))
            } else if game.may_claim(side, now) {
                SparringAction::Claim
            } else {
                SparringAction::Wait
            })
        })
    }

    /// Leaves if its behaviour says so; true if it will not return.
    async fn perhaps_leave(&self, id: &str, behavior: OpponentBehavior, ply: usize) -> bool {
        let away = matches!(
            behavior,
            OpponentBehavior::Leaves | OpponentBehavior::Returns
        );
        if !away || !(LEAVES_AT..LEAVES_AT + 2).contains(&ply) {
            return false;
        }
        self.act_regardless(id, ServerGame::walk_away);
        if behavior == OpponentBehavior::Leaves {
            return true;
        }
        tokio::time::sleep(self.shared.timing.seconds(AWAY)).await;
        self.act_regardless(id, |game, side, _| game.arrive(side));
        false
    }

    fn post(&self, id: &str, mv: Move, behavior: OpponentBehavior) -> bool {
        if behavior == OpponentBehavior::Talks {
            self.talk(id, "thinking…");
        }
        if behavior == OpponentBehavior::OffersDraws {
            self.act_regardless(id, ServerGame::draw_yes);
        }
        let uci = mv.to_string();
        let posted = self.act(id, |game, side, now| game.play(side, &uci, false, now));
        match behavior {
            OpponentBehavior::Talks => self.talk(id, "!eval and your move?"),
            OpponentBehavior::AsksTakebacks => self.act_regardless(id, |game, side, now| {
                game.allow_takebacks();
                game.takeback_yes(side, now);
            }),
            OpponentBehavior::GivesTime => {
                self.act_regardless(id, |game, side, now| game.give_time(side, GIFT, now));
            }
            _ => {}
        }
        posted
    }

    fn act(
        &self,
        id: &str,
        action: impl FnOnce(&mut ServerGame, Color, Millis) -> Result<(), Refusal>,
    ) -> bool {
        self.shared.with(|state, now| {
            state
                .act(&self.user, id, now, |game, side| action(game, side, now))
                .is_ok()
        })
    }

    /// Acts where a refusal does not matter.
    fn act_regardless(&self, id: &str, action: impl FnOnce(&mut ServerGame, Color, Millis)) {
        self.act(id, |game, side, now| {
            action(game, side, now);
            Ok(())
        });
    }

    fn talk(&self, id: &str, text: &str) {
        for room in ["player", "spectator"] {
            let said = self
                .shared
                .with(|state, _| state.chat(&self.user, id, room, text));
            if let Err(error) = said {
                tracing::debug!(id, ?error, "not said");
            }
        }
    }

    /// The opponent has been gone for too long.
    fn claim(&self, id: &str) {
        if self.act(id, ServerGame::claim_victory) {
            tracing::debug!(id, "claimed: the opponent is gone");
        }
    }

    /// Aborts a game in which the opponent never moved; does nothing in any other. A person who is there may
    /// take any time.
    fn abort(&self, id: &str) {
        self.act_regardless(id, |game, side, now| {
            if game.player_side(!side).is_bot() || game.is_long_gone(!side, now) {
                // Refused once both have moved.
                let _ = game.abort(side, now);
            }
        });
    }
}

fn plays(behavior: OpponentBehavior, game: &Game) -> bool {
    behavior != OpponentBehavior::NeverMoves || game.ply() >= 2
}

enum SparringAction {
    Move(Box<Game>),
    Claim,
    /// In a casual game.
    GrantTakeback,
    Wait,
}
