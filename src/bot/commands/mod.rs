//! Runs an operator's commands against the event loop.
//!
//! Each gets an immediate reply; slow work starts in the background and the reply says so.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bot::account_event::AccountEvent;
use crate::bot::background::load_books;
use crate::bot::chat::{OutcomeReceiver, SendOutcome, loggable};
use crate::bot::control::{ChallengeSpec, Command, Envelope, Reply};
use crate::bot::event_log::EventLog;
use crate::bot::event_loop::EventLoop;
use crate::bot::matchmaking::Series;
use crate::bot::player_lists::PlayerLists;
use crate::bot::quota::Forecast;
use crate::bot::settings::Settings;
use crate::bot::state::{BotState, StateRules};
use crate::bot::status::{
    BotPhase, GameStatus, MatchmakingStatus, QuotaStatus, SlotStatus, SourcesStatus, Status,
};
use crate::config::ColorWish;
use crate::lichess::{ChallengeId, Client, ColorChoice, Error, GameId, JoinOptions};
use crate::store::Timestamp;

/// How the status begins what an upgrade waits for.
pub const UPGRADE_WAITS: &str = "the upgrade waits: ";
/// Notes in the state: the switches that commands set.
const PAUSED: &str = "operator.paused";
pub(in crate::bot) const MATCHMAKING: &str = "operator.matchmaking";

/// How long to wait for the chat queue before replying that the message is queued.
const SPEECH: Duration = Duration::from_secs(5);

impl EventLoop {
    /// Runs a command and replies to it.
    pub(in crate::bot) fn run_command(&mut self, envelope: Envelope) {
        let reply = match &envelope.command {
            Command::Say(game, ..) | Command::Abort(game) | Command::Resign(game)
                if !self.account_state.plays(game) =>
            {
                Reply::refused(format!("no game {game} in progress: see `status`"))
            }
            Command::Say(game, room, text) => {
                match self.context.chat_queue.say(game.clone(), *room, text) {
                    Ok(outcome_receiver) => {
                        let event_log = self.context.event_bus.event_log().clone();
                        tokio::spawn(report(event_log, envelope, outcome_receiver));
                        return;
                    }
                    Err(error) => Reply::refused(error.to_string()),
                }
            }
            Command::Abort(game) => return self.end(game.clone(), envelope, GameCommand::Aborted),
            Command::Resign(game) => {
                return self.end(game.clone(), envelope, GameCommand::Resigned);
            }
            Command::Status => Reply::Status(Box::new(self.status())),
            Command::Pause => self.pause(envelope.via),
            Command::Resume => self.resume(),
            Command::Drain => self.drain(),
            Command::Upgrade(within) => self.upgrade(*within),
            Command::Reload(settings) => {
                self.context.state.set_note(MATCHMAKING, None);
                self.reload(settings)
            }
            Command::Alert(kind, text) => {
                self.context.alerts.set(*kind, text.clone());
                Reply::done("noted")
            }
            Command::Challenge(spec) => self.challenge(spec),
            Command::Rechallenge => self.rechallenge(),
            Command::Cancel(id) => self.cancel(id.as_ref()),
            Command::Block(user) => self.block(user, true),
            Command::Unblock(user) => self.block(user, false),
            Command::Matchmaking(on) => {
                let reply = self.matchmake(*on);
                if matches!(reply, Reply::Done(_)) {
                    self.keep_switch(MATCHMAKING, if *on { "on" } else { "off" }, envelope.via);
                }
                reply
            }
            Command::JoinArena(id, entrance) => self.join_arena(id, entrance),
            Command::LeaveArena(id) => self.leave_arena(id),
        };
        note(self.context.event_bus.event_log(), &envelope, &reply);
        // They change nothing on disk, and the program may end at once after the last two.
        if let Command::Status | Command::Drain | Command::Upgrade(_) = envelope.command {
            return envelope.answer(reply);
        }
        // What was answered holds even after a kill.
        let state = self.context.state.clone();
        tokio::spawn(async move {
            state.saved().await;
            envelope.answer(reply);
        });
    }

    /// Remembers a switch, and since when and by whom it is set.
    fn keep_switch(&self, key: &str, switch: &str, via: &str) {
        let state = &self.context.state;
        let at = state.now().as_millis();
        state.set_note(key, Some(format!("{switch} {at} {via}")));
    }

    /// Sets the switches as an earlier run left them.
    pub(in crate::bot) fn restore_switches(&mut self) {
        let note = |key| self.context.state.note(key).unwrap_or_default();
        let (paused, matchmaking) = (note(PAUSED), note(MATCHMAKING));
        if !paused.is_empty() {
            tracing::warn!("paused by an earlier command; `megaton resume` ends it");
            self.handle_event(&AccountEvent::Pause);
        }
        match matchmaking.split_whitespace().next() {
            Some("on") => drop(self.matchmake(true)),
            Some("off") => drop(self.matchmake(false)),
            _ => {}
        }
    }

    /// The switches that commands set and restarts keep, in words.
    fn switches(&self) -> Vec<String> {
        let notes = [(PAUSED, ""), (MATCHMAKING, "matchmaking ")];
        let notes = notes.into_iter().filter_map(|(key, what)| {
            let note = self.context.state.note(key)?;
            let (switch, rest) = note.split_once(' ')?;
            let (at, via) = rest.split_once(' ')?;
            let at = Timestamp::from_millis(at.parse().ok()?);
            Some(format!(
                "{what}{switch} since {} {at} UTC (by {via})",
                at.date()
            ))
        });
        let upgrade = self.upgrade_until.and(self.restart_obstacle());
        let upgrade = upgrade.map(|obstacle| format!("{UPGRADE_WAITS}{obstacle}"));
        notes.chain(upgrade).collect()
    }

    fn upgrade(&mut self, within: Duration) -> Reply {
        if self.account_state.is_draining() {
            return Reply::refused("shutting down: start the new program afterwards");
        }
        if self.shares_process {
            return Reply::refused(
                "the process plays for several accounts: drain it (SIGTERM) and start the new program",
            );
        }
        self.upgrade_until = Some(Instant::now() + within);
        Reply::done(self.restart_obstacle().map_or_else(
            || "handing over".to_owned(),
            |obstacle| format!("waiting: {obstacle}"),
        ))
    }

    /// What a restart now might cost, if anything.
    fn restart_obstacle(&self) -> Option<String> {
        let games = self.context.event_bus.event_log().statuses();
        let game = games.iter().find_map(GameStatus::restart_obstacle);
        let account = || self.account_state.restart_obstacle().map(str::to_owned);
        let busy = || (!self.api_queue.is_idle()).then(|| "a call is under way".to_owned());
        game.or_else(account).or_else(busy)
    }

    /// Whether to hand over now. Gives an upgrade up whose time is over.
    pub(in crate::bot) fn look_at_upgrade(&mut self) -> bool {
        let Some(until) = self.upgrade_until else {
            return false;
        };
        let Some(obstacle) = self.restart_obstacle() else {
            tracing::info!("handing over to the installed program");
            let effects = self.account_state.hand_over();
            self.run_effects(effects);
            return true;
        };
        if Instant::now() >= until || self.account_state.is_draining() {
            self.upgrade_until = None;
            tracing::warn!(obstacle, "upgrade given up");
            let event_log = self.context.event_bus.event_log();
            event_log.note("operator", format!("upgrade given up: {obstacle}"), None);
        }
        false
    }

    fn pause(&mut self, via: &str) -> Reply {
        if self.account_state.is_draining() {
            return Reply::refused("already shutting down");
        }
        self.handle_event(&AccountEvent::Pause);
        self.keep_switch(PAUSED, "paused", via);
        Reply::done("paused: challenges are declined, games in progress continue")
    }

    fn resume(&mut self) -> Reply {
        if self.account_state.is_draining() {
            return Reply::refused("shutting down, which cannot be undone: start the bot again");
        }
        self.handle_event(&AccountEvent::Resume);
        self.context.state.set_note(PAUSED, None);
        Reply::done(if self.context.alerts.forbids_games() {
            "resumed, but an alert keeps the bot from accepting games: see `status`"
        } else {
            "accepting challenges again"
        })
    }

    /// Accepts nothing new and ends after the last game, or at the limit.
    pub(in crate::bot) fn drain(&mut self) -> Reply {
        let limit = self.context.settings.shutdown.drain;
        self.handle_event(&AccountEvent::Drain);
        let limit = format!("in progress, at most {} s more", limit.as_secs());
        let games = match self.context.event_bus.event_log().running_count() {
            0 => "no games in progress".to_owned(),
            1 => format!("one game {limit}"),
            games => format!("{games} games {limit}"),
        };
        let left = self.account_state.correspondence(Instant::now()).left();
        let left = left.map(|left| format!("; {left}")).unwrap_or_default();
        Reply::done(format!("shutting down: {games}{left}"))
    }

    /// New settings for what comes next; games in progress keep theirs.
    fn reload(&mut self, settings: &Arc<Settings>) -> Reply {
        let books_changed = self.context.settings.book != settings.book;
        self.context.settings = Arc::clone(settings);
        if books_changed {
            load_books(&self.context);
        }
        let rules = StateRules::from(&**settings);
        self.context.state.set_rules(rules);
        // No receiver: there are no lists to fetch.
        let _ = self.background.rules.send(Arc::clone(settings));
        self.handle_event(&AccountEvent::Settings(Arc::clone(settings)));
        Reply::done("reloaded")
    }

    fn challenge(&mut self, spec: &ChallengeSpec) -> Reply {
        let color = spec.color.map(|color| match color {
            ColorWish::Any => ColorChoice::Random,
            ColorWish::White => ColorChoice::White,
            ColorWish::Black => ColorChoice::Black,
        });
        let games = spec.games.unwrap_or(1);
        let what = spec.what.as_deref();
        let state = &mut self.account_state;
        if let Err(error) = state.challenge(&spec.user, what, spec.rated, color, games) {
            return Reply::refused(error.to_string());
        }
        self.handle_event(&AccountEvent::Tick);
        let series = match games {
            1 => String::new(),
            games => format!("; {games} games, one after another: see `status`"),
        };
        let user = &spec.user;
        let text = format!("challenging {user} as soon as slots and quota allow{series}");
        Reply::done(text)
    }

    fn rechallenge(&mut self) -> Reply {
        let user = match self.account_state.rechallenge() {
            Ok(user) => user,
            Err(error) => return Reply::refused(error.to_string()),
        };
        self.handle_event(&AccountEvent::Tick);
        let text = format!("challenging {user} again as soon as slots and quota allow");
        Reply::done(text)
    }

    fn matchmake(&mut self, on: bool) -> Reply {
        let mut settings = Settings::clone(&self.context.settings);
        settings.matchmaking.enabled = on;
        if let Some(why) = settings.matchmaking_fault() {
            return Reply::refused(why);
        }
        self.reload(&Arc::new(settings));
        let switch = if on { "on" } else { "off" };
        Reply::done(format!("matchmaking {switch} until the config is reloaded"))
    }

    fn join_arena(&mut self, id: &str, entrance: &JoinOptions) -> Reply {
        // An alert may be active that the arena schedule has not seen yet.
        let state = &mut self.account_state;
        if !self.context.alerts.forbids_games()
            && let Some(effects) = state.join_arena(id, entrance.clone(), Instant::now())
        {
            self.run_effects(effects);
            return Reply::done(format!(
                "joining {id} shortly before it starts: `status` shows it, `megaton events` why not"
            ));
        }
        let why = if self.account_state.is_draining() {
            "shutting down"
        } else if self.account_state.paused {
            "paused"
        } else {
            "an alert keeps the bot from accepting games: see `status`"
        };
        Reply::refused(format!("not joining {id}: {why}"))
    }

    fn leave_arena(&mut self, id: &str) -> Reply {
        if let Some(effects) = self.account_state.leave_arena(id) {
            self.run_effects(effects);
            Reply::done(format!(
                "leaving {id}; a game in progress is played to its end"
            ))
        } else {
            Reply::refused(format!("no arena {id} is joined or planned"))
        }
    }

    fn quota(&self) -> QuotaStatus {
        let budget = self.context.state.budget();
        QuotaStatus {
            bot_games: budget.incoming + budget.outgoing,
            bot_games_limit: budget.games,
            kept_for_incoming: budget.kept,
            credits: budget.credits_spent,
            credits_limit: budget.credits,
            forecast: budget.forecast.to_string(),
            closed_until: match budget.forecast {
                Forecast::ClosedUntil(at) => Some(at.as_millis()),
                _ => None,
            },
        }
    }

    pub(in crate::bot) fn phase(&self) -> BotPhase {
        if self.account_state.is_draining() {
            BotPhase::Draining
        } else if self.context.alerts.forbids_games() {
            BotPhase::Alert
        } else if self.account_state.paused {
            BotPhase::Paused
        } else {
            BotPhase::Playing
        }
    }

    pub(in crate::bot) fn status(&self) -> Status {
        let challenge = &self.context.settings.challenge;
        let matchmaker = &self.account_state.matchmaker;
        let overhead = self.context.estimator.estimate();
        let learned = u64::try_from(overhead.learned.as_millis()).unwrap_or(u64::MAX);
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            account: Some(self.name.clone()),
            state: self.phase(),
            uptime: self.begun.elapsed().as_secs(),
            stream: self.account_stream.status(),
            slots: SlotStatus {
                all: challenge.concurrency,
                taken: self.account_state.taken(),
                for_humans: challenge.reserved_for_humans,
            },
            games: self.context.event_bus.event_log().statuses(),
            correspondence: self.account_state.correspondence(Instant::now()),
            waiting: self.account_state.waiting(),
            quota: Some(self.quota()),
            matchmaking: MatchmakingStatus {
                enabled: self.context.settings.matchmaking.enabled,
                doing: matchmaker.describe(),
                challenge: self.account_state.outgoing().map(ToString::to_string),
                series: matchmaker.series().map(Series::describe),
            },
            switches: self.switches(),
            arenas: self.account_state.arenas.describe(),
            overhead: (overhead.moves > 0).then_some(learned),
            alerts: self.context.alerts.lines(),
            blocked: self.blocked.users().map(ToString::to_string).collect(),
            rating: self.account_state.rating(),
            accepted_ago: self.accepted_at.map(|at| at.elapsed().as_secs()),
            sources: Some(SourcesStatus::of(
                &self.context.pool,
                &self.background.list_states.borrow(),
            )),
        }
    }
}

/// Replies to a say command once the message's outcome is known.
async fn report(event_log: EventLog, envelope: Envelope, outcome_receiver: OutcomeReceiver) {
    let reply = match outcome_receiver.within(SPEECH).await {
        SendOutcome::Sent => Reply::done("said"),
        SendOutcome::Waits => Reply::done("queued; dropped if it waits too long"),
        SendOutcome::Refused(why) => Reply::refused(format!("not sent: {why}")),
        SendOutcome::Dropped => {
            Reply::refused("not sent: the chat queue is full, or the bot is shutting down")
        }
    };
    note(&event_log, &envelope, &reply);
    envelope.answer(reply);
}

/// Logs a command and its outcome; queries are not logged.
pub(in crate::bot) fn note(event_log: &EventLog, envelope: &Envelope, reply: &Reply) {
    let Envelope { command, via, .. } = envelope;
    let Some(text) = command.describe() else {
        return;
    };
    let outcome = match reply {
        Reply::Done(what) => {
            tracing::info!(command = text, via, what, "operator command");
            what.clone()
        }
        Reply::Refused(why) => {
            tracing::info!(command = text, via, why, "operator command refused");
            format!("refused, {why}")
        }
        Reply::Status(_) => return,
    };
    let text = format!("{text}: {outcome} (by {via})");
    event_log.note("operator", text, command.game());
}

/// How often to make a call that gets no answer.
const TRIES: u32 = 3;
/// Time for all of them: the panel waits a little longer for the reply.
const TRYING: Duration = Duration::from_secs(22);

/// How to end a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub(in crate::bot) enum GameCommand {
    Aborted,
    Resigned,
}

/// Commands on games, challenges and opponents: abort, resign, cancel, block.
///
/// The server decides about a game: the reply is its answer. The game task sees the end on its
/// stream, as any other end.
impl EventLoop {
    /// Ends a game that the bot plays; the reply follows the server's answer.
    pub(in crate::bot) fn end(&self, game: GameId, envelope: Envelope, end: GameCommand) {
        let event_log = self.context.event_bus.event_log().clone();
        let (client, state) = (self.context.client.clone(), self.context.state.clone());
        // A game that can still be aborted is aborted when the bot resigns.
        state.call_off(&game);
        tokio::spawn(async move {
            let trying = run_effect(&client, &state, &game, end);
            let tried = tokio::time::timeout(TRYING, trying).await;
            let reply = tried.unwrap_or_else(|_| unsure(&game, end, "no answer in time"));
            note(&event_log, &envelope, &reply);
            envelope.answer(reply);
        });
    }

    /// Withdraws the bot's own challenge; without an id every open or queued one.
    pub(in crate::bot) fn cancel(&mut self, id: Option<&ChallengeId>) -> Reply {
        let ours = self.account_state.outgoing().cloned();
        if let Some(id) = id.filter(|id| ours.as_ref() != Some(id)) {
            return Reply::refused(format!("challenge {id} is not open: see `status`"));
        }
        let asking = self.account_state.has_outgoing();
        let (dropped, effects) = self.account_state.recall(id.is_none(), Instant::now());
        self.run_effects(effects);
        self.handle_event(&AccountEvent::Tick);
        match (asking, dropped) {
            (false, 0) => Reply::refused("no challenge is open or queued"),
            (false, 1) => Reply::done("queued challenge dropped"),
            (false, many) => Reply::done(format!("{many} queued challenges dropped")),
            (true, 0) => Reply::done("withdrawing the challenge"),
            (true, _) => Reply::done("withdrawing the challenge; queued ones dropped"),
        }
    }

    /// Blocks or unblocks an account.
    pub(in crate::bot) fn block(&mut self, name: &str, blocks: bool) -> Reply {
        let state = self.context.state.clone();
        let changed = if blocks {
            self.blocked.add(name, &state)
        } else {
            self.blocked.remove(name, &state)
        };
        let user = match changed {
            Ok(user) => user,
            Err(error) => return Reply::refused(format!("{name}: {error}")),
        };
        let lists = self.known_lists();
        self.handle_event(&AccountEvent::Lists(lists));
        Reply::done(if blocks {
            format!("{user} is blocked: its challenges are declined; a game in progress continues")
        } else {
            format!("{user} is no longer blocked by command")
        })
    }

    /// The player lists, including accounts blocked by command.
    pub(in crate::bot) fn known_lists(&self) -> Arc<PlayerLists> {
        let lists = Arc::clone(&self.background.lists.borrow());
        Arc::new(lists.and_blocked(self.blocked.users()))
    }
}

async fn run_effect(client: &Client, state: &BotState, game: &GameId, end: GameCommand) -> Reply {
    let (mut outcome, mut is_sure) = (Ok(()), true);
    for _ in 0..TRIES {
        outcome = match end {
            GameCommand::Aborted => client.abort(game).await,
            GameCommand::Resigned => client.resign(game).await,
        };
        if !outcome.as_ref().is_err_and(Error::is_transient) {
            break;
        }
        is_sure &= outcome.as_ref().is_err_and(Error::is_unreached);
    }
    if is_sure {
        state.heed_refusal(game, &outcome);
    }
    match outcome {
        Ok(()) => Reply::done(format!("{game} is {end}")),
        Err(error) if !is_sure => unsure(game, end, &error.to_string()),
        Err(error) => Reply::refused(format!("{game} is not {end}: {error}")),
    }
}

fn unsure(game: &GameId, end: GameCommand, why: &str) -> Reply {
    Reply::refused(format!(
        "{game} may be {end}, since a call got no answer: see `megaton status` ({why})"
    ))
}

impl Command {
    /// The game that the command concerns, if any.
    pub(in crate::bot) fn game(&self) -> Option<&GameId> {
        match self {
            Self::Abort(game) | Self::Resign(game) | Self::Say(game, ..) => Some(game),
            _ => None,
        }
    }

    /// A short description for the log, without secrets; `None` if it changes nothing.
    pub(in crate::bot) fn describe(&self) -> Option<String> {
        Some(match self {
            Self::Status | Self::Alert(..) => return None,
            Self::Pause => "pause".to_owned(),
            Self::Resume => "resume".to_owned(),
            Self::Drain => "drain".to_owned(),
            Self::Upgrade(_) => "upgrade".to_owned(),
            Self::Reload(_) => "reload".to_owned(),
            Self::Challenge(spec) => {
                let what = spec.what.as_deref().map(|what| format!(" {what}"));
                let games = spec.games.map(|games| format!(" --games {games}"));
                let [what, games] = [what, games].map(Option::unwrap_or_default);
                format!("challenge {}{what}{games}", spec.user)
            }
            Self::Rechallenge => "rechallenge".to_owned(),
            Self::Cancel(None) => "cancel".to_owned(),
            Self::Cancel(Some(id)) => format!("cancel {id}"),
            Self::Abort(game) => format!("abort {game}"),
            Self::Resign(game) => format!("resign {game}"),
            Self::Block(user) => format!("block {user}"),
            Self::Unblock(user) => format!("unblock {user}"),
            Self::Matchmaking(true) => "matchmaking on".to_owned(),
            Self::Matchmaking(false) => "matchmaking off".to_owned(),
            Self::JoinArena(id, _) => format!("join {id}"),
            Self::LeaveArena(id) => format!("leave {id}"),
            Self::Say(game, room, text) => format!("say {game} {room} \"{}\"", loggable(text)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lichess::JoinOptions;

    #[test]
    fn no_description_contains_a_password() {
        let entrance = JoinOptions {
            password: Some("sesame".to_owned()),
            ..JoinOptions::default()
        };
        let command = Command::JoinArena("aBcD1234".to_owned(), entrance);
        assert_eq!(command.describe().as_deref(), Some("join aBcD1234"));
        assert_eq!(Command::Status.describe(), None);
    }
}
