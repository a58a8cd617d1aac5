//! The visitors of the page: each has a secret ticket, an account, and one game or
//! challenge at a time.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::practice::account::AccountKind;
use crate::practice::api_error::ApiError;
use crate::practice::challenge::ChallengeRequest;
use crate::practice::game_settings::{ColorWish, GameSettings, TimeControl};
use crate::practice::shared::SharedServer;
use crate::practice::state::ServerState;
use crate::practice::time::Millis;
use crate::practice::wire::Variant;

/// Tickets kept; the oldest is dropped first.
const MOST: usize = 256;
/// How the names of visitors begin.
pub(in crate::practice) const VISITOR: &str = "Visitor";

/// Someone at the page.
#[derive(Debug)]
pub(super) struct Visitor {
    pub(super) user: String,
    /// The id of the challenge, which is the id of the game it becomes.
    current: watch::Sender<String>,
}

impl Visitor {
    pub(super) fn current(&self) -> String {
        self.current.borrow().clone()
    }

    pub(super) fn follow(&self) -> watch::Receiver<String> {
        self.current.subscribe()
    }
}

/// Everyone at the page.
#[derive(Debug, Default)]
pub(super) struct Visitors(Mutex<Tickets>);

#[derive(Debug, Default)]
struct Tickets {
    by_ticket: HashMap<String, Arc<Visitor>>,
    oldest_first: Vec<String>,
    admitted: usize,
}

impl Visitors {
    pub(super) fn find(&self, ticket: &str) -> Option<Arc<Visitor>> {
        self.0.lock().by_ticket.get(ticket).cloned()
    }

    /// Opens an account for a new visitor, challenges the bot for it, and returns the ticket.
    pub(super) fn admit(
        &self,
        shared: &SharedServer,
        bot: &str,
        color: ColorWish,
        time: TimeControl,
    ) -> Result<String, ApiError> {
        let number = {
            let mut tickets = self.0.lock();
            tickets.admitted += 1;
            tickets.admitted
        };
        let (ticket, visitor) = shared.with(|state, now| {
            let name = format!("{VISITOR}-{number}");
            let user = state
                .open_account(&name, AccountKind::Human, now)
                .ok_or_else(ApiError::not_found)?;
            let request = request(color, time, None);
            let id = state.challenge(&user, bot, request, now)?;
            let visitor = Visitor {
                user,
                current: watch::Sender::new(id),
            };
            Ok::<_, ApiError>((state.letters(24), visitor))
        })?;
        let mut tickets = self.0.lock();
        tickets.by_ticket.insert(ticket.clone(), Arc::new(visitor));
        tickets.oldest_first.push(ticket.clone());
        if tickets.oldest_first.len() > MOST {
            let oldest = tickets.oldest_first.remove(0);
            tickets.by_ticket.remove(&oldest);
        }
        Ok(ticket)
    }
}

fn request(color: ColorWish, time: TimeControl, rematch_of: Option<String>) -> ChallengeRequest {
    ChallengeRequest {
        settings: GameSettings { time, rated: false },
        color,
        variant: Variant::ATOMIC,
        rules: Vec::new(),
        rematch_of,
    }
}

/// Challenges the same opponent again on the same terms, with colours reversed.
pub(super) fn rematch(
    state: &mut ServerState,
    visitor: &Visitor,
    now: Millis,
) -> Result<(), ApiError> {
    let earlier = visitor.current();
    let asked = state.pending(&earlier);
    if asked.is_some_and(|challenge| challenge.status.is_pending()) {
        return Ok(());
    }
    let (game, side) = state.find_player(&visitor.user, &earlier)?;
    if game.is_playing() {
        return Err(ApiError::refused("the game is still being played"));
    }
    let color = ColorWish::from(!side);
    let opponent = game.player_side(!side).user.clone();
    let request = request(color, game.setup.settings.time, Some(earlier));
    let id = state.challenge(&visitor.user, &opponent, request, now)?;
    visitor.current.send_replace(id);
    Ok(())
}
