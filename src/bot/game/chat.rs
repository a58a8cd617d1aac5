//! The chat of one game, and the facts about it that survive a restart.
//!
//! Joins the conversation, which decides what to say, the chat queue that sends it, and the bot's state.
//! Nothing here waits: a message is queued or dropped.

use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::bot::chat::{
    ChatMessage, ChatQueue, ChatState, Circumstances, Conversation, MessageKind, Players,
};
use crate::bot::context::BotContext;
use crate::bot::event_log::EventLog;
use crate::bot::game::{Ending, EvalHistory, GameMachine, MovePlayed, Persist, ResumeState};
use crate::bot::settings::Settings;
use crate::bot::state::BotState;
use crate::bot::status::Occupancy;
use crate::config;
use crate::lichess::{ChatLine, GameId, UserId};

/// Key prefix of opponents on cooldown for not making the first move.
const NO_SHOW: &str = "no-show ";

pub(in crate::bot) struct GameChat {
    game: GameId,
    settings: std::sync::Arc<Settings>,
    state: BotState,
    chat_queue: ChatQueue,
    conversation: Conversation,
    opponent: Option<UserId>,
    occupancy: watch::Receiver<Occupancy>,
    event_log: EventLog,
}

impl GameChat {
    pub(in crate::bot) fn new(context: &BotContext, game: &GameId) -> Self {
        let known = context.state.game(game);
        let chat_state = ChatState {
            greeted: known.greeted,
            parted: known.parted,
        };
        let settings = std::sync::Arc::clone(&context.settings);
        Self {
            conversation: Conversation::new(game.clone(), settings.clone(), chat_state),
            game: game.clone(),
            settings,
            state: context.state.clone(),
            chat_queue: context.chat_queue.clone(),
            opponent: None,
            occupancy: context.occupancy.clone(),
            event_log: context.event_bus.event_log().clone(),
        }
    }

    /// The state of this game stored by an earlier run.
    pub(in crate::bot) fn past(&self) -> ResumeState {
        let known = self.state.game(&self.game);
        ResumeState {
            takebacks: known.takebacks,
            draw_offers: known.draw_offers,
            eval_history: EvalHistory::default(),
            begun: self
                .state
                .known_for(&self.game)
                .and_then(|age| Instant::now().checked_sub(age)),
        }
    }

    /// Passes on the players once the state machine knows them.
    pub(in crate::bot) fn introduce(&mut self, machine: &GameMachine) {
        if let Some(setup) = machine.setup() {
            self.opponent.clone_from(&setup.opponent_id);
            self.conversation.introduce(Players {
                setup: setup.clone(),
                level: machine.level().map(|level| level.name),
            });
        }
    }

    pub(in crate::bot) fn moved(&mut self, moved: &MovePlayed) {
        let lines = self.conversation.moved(moved);
        self.send(lines);
    }

    pub(in crate::bot) fn ended(&mut self, ending: &Ending) {
        let lines = self.conversation.ended(ending);
        self.send(lines);
    }

    /// Handles a chat line; `more_time` is how much longer the bot would wait for the opponent's first
    /// move. Returns whether the opponent asked for that.
    pub(in crate::bot) fn handle_event(
        &mut self,
        line: &ChatLine,
        more_time: Option<Duration>,
    ) -> bool {
        tracing::debug!(
            room = %line.room,
            user = %crate::bot::chat::loggable(&line.username),
            text = %crate::bot::chat::loggable(&line.text),
            "heard"
        );
        let record = |opponent: &UserId| self.state.opponent(opponent);
        let circumstances = || Circumstances {
            record: self.opponent.as_ref().map(record),
            occupancy: *self.occupancy.borrow(),
            least_clocks: self.event_log.least_clocks(),
            more_time,
        };
        let now = Instant::now();
        let Some(answer) = self.conversation.handle_event(line, circumstances, now) else {
            return false;
        };
        let grants = answer.kind == MessageKind::MoreTime;
        self.send(vec![answer]);
        grants
    }

    /// Greetings and goodbyes are stored before they are sent: rather none than two.
    fn send(&self, lines: Vec<ChatMessage>) {
        let Some(first) = lines.first() else { return };
        match first.kind {
            MessageKind::Greeting => self.state.update_game(&self.game, |game| {
                (game.greeted, game.greeted_spectators) = (true, true);
            }),
            MessageKind::Goodbye => self.state.update_game(&self.game, |game| {
                (game.parted, game.parted_spectators) = (true, true);
            }),
            MessageKind::Answer | MessageKind::MoreTime | MessageKind::Operator => {}
        }
        for line in lines {
            self.chat_queue.enqueue(line);
        }
    }

    /// Stores a fact that the state machine needs after a restart.
    pub(in crate::bot) fn remember(&self, machine: &GameMachine, fact: Persist) {
        match fact {
            Persist::TakebackGranted { so_far } => {
                self.state
                    .update_game(&self.game, |game| game.takebacks = so_far);
            }
            Persist::DrawOffered { so_far } => {
                self.state
                    .update_game(&self.game, |game| game.draw_offers = so_far);
            }
            Persist::NoShow => self.no_show(machine),
        }
    }

    fn no_show(&self, machine: &GameMachine) {
        if let Some(setup) = machine.setup()
            && let Some(opponent) = &setup.opponent_id
            && (self.state).no_show(&self.game, opponent, setup.opponent_is_bot)
        {
            rest_after_no_show(&self.state, &self.settings.game, opponent);
        }
    }
}

/// An opponent who repeatedly owed the first move in aborted games goes on cooldown.
pub(in crate::bot) fn rest_after_no_show(state: &BotState, rules: &config::Game, who: &UserId) {
    let no_shows = state.opponent(who).no_shows_today;
    if no_shows >= rules.abort_repeats.max(1) {
        let rest = rules.abort_rest;
        let why = Some("owed the first move in aborted games");
        state.cool(&no_show_key(who), rest, rest, why);
        tracing::info!(opponent = %who, no_shows, ?rest, "repeatedly aborted while it owed the first move: cooling down");
    }
}

/// The cooldown key of an opponent who repeatedly does not make the first move.
pub(in crate::bot) fn no_show_key(opponent: &UserId) -> String {
    format!("{NO_SHOW}{opponent}")
}
