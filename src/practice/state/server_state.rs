//! The accounts, the outbox and the timers.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use serde::Serialize;

use crate::practice::account::{Account, AccountKind, Grant, is_name};
use crate::practice::api_error::ApiError;
use crate::practice::arena::Tournament;
use crate::practice::challenge::ServerChallenge;
use crate::practice::chaos::GamePhase;
use crate::practice::event::Event;
use crate::practice::game::ServerGame;
use crate::practice::time::{Millis, Timing, Window};
use crate::practice::wire::EventLine;
use crate::rules::Color;

/// Finished games and challenges kept for later requests.
const KEPT: usize = 100;
/// Declined or cancelled challenges kept. Every tick visits all of them, so the number must be
/// bounded even if a bot declines the same challenge again and again.
pub(super) const KEPT_CLOSED: usize = 200;

/// An outgoing event, in order.
#[derive(Debug)]
pub(crate) enum OutgoingEvent {
    /// A line for the event streams of a user.
    Event {
        user: String,
        line: String,
    },
    /// A line for the streams of a game, of one side or both.
    Game {
        id: String,
        to: Option<Color>,
        line: String,
        /// The client's phase of the game, if the line carries the game's state.
        moment: Option<GameProgress>,
    },
    /// A takeback was carried out in this game.
    TakenBack {
        id: String,
    },
    /// The streams of this game have had their last line.
    GameOver {
        id: String,
    },
    /// A challenge or game with this id changed.
    Changed {
        id: String,
    },
    /// The reply to the connections that keep this challenge alive.
    ChallengeDone {
        id: String,
        done: &'static str,
    },
    News(Event),
}

/// A game and its chat.
#[derive(Debug)]
pub(crate) struct GameEntry {
    pub(crate) game: ServerGame,
    /// The players' chat: author and text.
    pub(crate) chat: Vec<(String, String)>,
    /// Lines of the game already sent.
    pub(super) sent: usize,
}

/// The progress of a game for its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GameProgress {
    pub(crate) phase: GamePhase,
    pub(crate) ply: usize,
}

/// Rules of Lichess that a practice server may switch off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerRules {
    /// Games that a bot may play against other bots in a day.
    pub bot_games_a_day: Option<u32>,
    /// Challenge credits per minute and per day; a bot costs 1, a human 5.
    pub challenge_credits: Option<[u32; 2]>,
    /// Rated games that repeat one of the pair's last two do not count.
    pub repeats_do_not_count: bool,
}

#[derive(Debug)]
pub(crate) struct ServerState {
    pub(super) url: String,
    pub(super) timing: Timing,
    pub(super) rules: ServerRules,
    pub(in crate::practice) random: fastrand::Rng,
    pub(super) accounts: HashMap<String, Account>,
    pub(super) tokens: HashMap<String, Grant>,
    pub(in crate::practice) challenges: BTreeMap<String, ServerChallenge>,
    /// Ids of declined or cancelled challenges, oldest first.
    pub(super) closed: VecDeque<String>,
    pub(in crate::practice) entries: HashMap<String, GameEntry>,
    pub(super) arenas: BTreeMap<String, Tournament>,
    /// Ids of finished games, oldest first.
    pub(in crate::practice) finished: Vec<String>,
    pub(super) outbox: Vec<OutgoingEvent>,
}

impl ServerState {
    pub(crate) fn new(url: String, timing: Timing, rules: ServerRules, seed: u64) -> Self {
        Self {
            url,
            timing,
            rules,
            random: fastrand::Rng::with_seed(seed),
            accounts: HashMap::new(),
            tokens: HashMap::new(),
            challenges: BTreeMap::new(),
            closed: VecDeque::new(),
            entries: HashMap::new(),
            arenas: BTreeMap::new(),
            finished: Vec::new(),
            outbox: Vec::new(),
        }
    }

    pub(crate) fn timing(&self) -> &Timing {
        &self.timing
    }

    pub(crate) fn take_outbox(&mut self) -> Vec<OutgoingEvent> {
        std::mem::take(&mut self.outbox)
    }

    /// Opens an account, or returns the id of the one with this name.
    pub(crate) fn open_account(
        &mut self,
        name: &str,
        kind: AccountKind,
        now: Millis,
    ) -> Option<String> {
        if !is_name(name) {
            return None;
        }
        let mut account = Account::new(name, kind, &self.timing, now);
        let day = Duration::from_secs(24 * 3600);
        account.bot_games = self
            .rules
            .bot_games_a_day
            .map(|most| Window::new(most, day));
        account.credits = self.rules.challenge_credits.map(|[minute, of_day]| {
            [
                Window::new(minute, Duration::from_secs(60)),
                Window::new(of_day, day),
            ]
        });
        let id = account.id.clone();
        self.accounts.entry(id.clone()).or_insert(account);
        Some(id)
    }

    pub(crate) fn grant(&mut self, token: &str, user: &str, scopes: &[&str]) {
        let grant = Grant::new(user, scopes, &self.timing);
        self.tokens.insert(token.to_owned(), grant);
    }

    /// An unguessable token.
    pub(crate) fn new_token(&mut self) -> String {
        format!("lip_{}", self.letters(20))
    }

    pub(crate) fn letters(&mut self, count: usize) -> String {
        (0..count).map(|_| self.random.alphanumeric()).collect()
    }

    pub(crate) fn token(&self, token: &str) -> Option<&Grant> {
        self.tokens.get(token).filter(|grant| !grant.suspended)
    }

    /// The owner of a token, even if it is temporarily unknown: open streams live on.
    pub(crate) fn owner(&self, token: &str) -> Option<&str> {
        Some(self.tokens.get(token)?.user.as_str())
    }

    /// Makes the tokens of a user unknown, or known again.
    pub(crate) fn suspend(&mut self, user: &str, suspended: bool) {
        let own = self.tokens.values_mut().filter(|grant| grant.user == user);
        own.for_each(|grant| grant.suspended = suspended);
    }

    pub(crate) fn revoke(&mut self, token: &str) {
        self.tokens.remove(token);
    }

    pub(crate) fn account(&self, id: &str) -> Option<&Account> {
        self.accounts.get(id)
    }

    pub(crate) fn account_mut(&mut self, id: &str) -> Option<&mut Account> {
        self.accounts.get_mut(id)
    }

    pub(super) fn account_or_404(&mut self, id: &str) -> Result<&mut Account, ApiError> {
        self.accounts.get_mut(id).ok_or_else(ApiError::not_found)
    }

    pub(crate) fn is_online(&self, user: &str, now: Millis) -> bool {
        self.accounts
            .get(user)
            .is_some_and(|account| account.is_online(self.timing.online_grace, now))
    }

    /// Counts an opening of the event stream with this token.
    pub(crate) fn open_event_stream(&mut self, token: &str, now: Millis) -> Result<(), ApiError> {
        let Some(grant) = self.tokens.get_mut(token) else {
            return Err(ApiError::text(401, "No such token"));
        };
        if grant.stream_openings.take(now).is_err() {
            return Err(ApiError::text(
                429,
                "Please don't poll this endpoint, it is intended to be streamed. \
                 See https://lichess.org/api#tag/board/operation/apiStreamEvent.",
            ));
        }
        if let Some(account) = self.accounts.get_mut(&grant.user) {
            account.arrive();
        }
        Ok(())
    }

    pub(crate) fn close_event_stream(&mut self, user: &str, now: Millis) {
        if let Some(account) = self.accounts.get_mut(user) {
            account.leave(now);
        }
    }

    /// Counts a call for the caller's own profile.
    pub(crate) fn count_profile_call(&mut self, user: &str, now: Millis) -> Result<(), ApiError> {
        let account = self.account_or_404(user)?;
        account.profile_calls.take(now).map_err(|_| {
            ApiError::text(
                429,
                "Please don't poll this endpoint. Stream the events instead.",
            )
        })
    }

    /// Turns an account without games into a bot account, permanently.
    pub(crate) fn upgrade(&mut self, user: &str) -> Result<(), ApiError> {
        let account = self.account_or_404(user)?;
        if account.counts.all > 0 || account.counts.playing > 0 {
            return Err(ApiError::refused(
                "You already have games played. Make a new account.",
            ));
        }
        account.kind = AccountKind::Bot;
        account.takebacks = false;
        Ok(())
    }

    pub(in crate::practice) fn send_event(&mut self, user: &str, event: &EventLine) {
        self.outbox.push(OutgoingEvent::Event {
            user: user.to_owned(),
            line: line(event),
        });
    }

    pub(super) fn changed(&mut self, id: &str) {
        self.outbox
            .push(OutgoingEvent::Changed { id: id.to_owned() });
    }

    pub(super) fn news(&mut self, event: Event) {
        self.outbox.push(OutgoingEvent::News(event));
    }

    pub(crate) fn tick(&mut self, now: Millis) {
        let due: Vec<String> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.game.next_due().is_some_and(|at| at <= now))
            .map(|(id, _)| id.clone())
            .collect();
        for id in due {
            if let Some(entry) = self.entries.get_mut(&id) {
                entry.game.tick(now);
            }
            self.settle(&id, now);
        }
        self.sweep_challenges(now);
        self.tick_arenas(now);
    }

    /// When [`ServerState::tick`] is due.
    pub(crate) fn next_due(&self) -> Option<Millis> {
        let games = self
            .entries
            .values()
            .filter_map(|entry| entry.game.next_due());
        let challenges = self
            .challenges
            .values()
            .filter_map(|challenge| challenge.goes_offline(&self.timing));
        let arenas = self.arenas.values().filter_map(Tournament::next_due);
        games.chain(challenges).chain(arenas).min()
    }

    pub(super) fn forget_the_oldest(&mut self) {
        while self.finished.len() > KEPT {
            let id = self.finished.remove(0);
            self.entries.remove(&id);
            self.challenges.remove(&id);
        }
    }
}

/// A line of a stream.
pub(super) fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("the server's own types are JSON")
}
