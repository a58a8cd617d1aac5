//! Test fixture: an account state with its own clock and calendar; takes events and returns the
//! wanted effects.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use megaton::bot::game::CallOutcome;
use megaton::bot::{
    AcceptOutcome, AccountEffect, AccountEvent, AccountState, BotState, BotTiming, NotCreated,
    OpponentKind, Settings, StateRules,
};
use megaton::lichess::{
    Account, Challenge, ChallengeId, DeclineReason, Event, GameId, GameInfo, Perf, UserId,
};
use megaton::store::Store;

use crate::harness::ME;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn me() -> Account {
    let atomic = Perf {
        games: 100,
        rating: Some(1500),
        deviation: None,
        progress: None,
        provisional: false,
    };
    Account {
        id: UserId::new(ME),
        username: "Megaton".to_owned(),
        title: Some("BOT".to_owned()),
        perfs: HashMap::from([("atomic".to_owned(), atomic)]),
        games: None,
        created_at: None,
        bio: None,
        disabled: false,
        tos_violation: false,
    }
}

/// An account state with its own clock.
pub(crate) struct Fixture {
    pub(crate) account: AccountState,
    pub(crate) state: BotState,
    /// How far the calendar has advanced.
    gone: Arc<Mutex<Duration>>,
    pub(crate) now: Instant,
}

impl Fixture {
    pub(crate) fn new(slots: usize) -> Self {
        Self::with(|settings| settings.challenge.concurrency = slots)
    }

    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::default();
        settings.challenge.queue = Duration::from_secs(5);
        settings.challenge.queue_places = 8;
        change(&mut settings);
        let settings = Arc::new(settings);
        let gone = Arc::new(Mutex::new(Duration::ZERO));
        let (start, passed) = (SystemTime::now(), Arc::clone(&gone));
        let clock = Arc::new(move || start + *passed.lock().expect("no panic"));
        let (store, kept) = Store::nowhere();
        let state = BotState::with_clock(store, kept, StateRules::default(), clock);
        Self {
            account: AccountState::new(
                &me(),
                settings,
                BotTiming::default(),
                SECOND,
                state.clone(),
            ),
            state,
            gone,
            now: Instant::now(),
        }
    }

    pub(crate) fn apply(&mut self, event: &AccountEvent) -> Vec<Wanted> {
        wanted(self.account.handle(event, self.now))
    }

    pub(crate) fn challenged(&mut self, challenge: Challenge) -> Vec<Wanted> {
        self.apply(&AccountEvent::Event(Event::Challenge {
            challenge: Box::new(challenge),
            compat: None,
        }))
    }

    pub(crate) fn started(&mut self, game: GameInfo) -> Vec<Wanted> {
        self.apply(&AccountEvent::Event(Event::GameStart(Box::new(game))))
    }

    pub(crate) fn ended(&mut self, game: GameInfo) -> Vec<Wanted> {
        self.apply(&AccountEvent::Event(Event::GameFinish(Box::new(game))))
    }

    pub(crate) fn answered(&mut self, id: &str, answer: AcceptOutcome) -> Vec<Wanted> {
        self.apply(&AccountEvent::Accepted {
            id: ChallengeId::new(id),
            answer,
        })
    }

    pub(crate) fn left(&mut self, id: &str) -> Vec<Wanted> {
        self.apply(&AccountEvent::Left {
            game: GameId::new(id),
            seen: true,
        })
    }

    pub(crate) fn wait(&mut self, seconds: u64) -> Vec<Wanted> {
        let end = self.now + Duration::from_secs(seconds);
        let mut api_queue = Vec::new();
        while let Some(at) = self.account.next_timeout().filter(|&at| at <= end) {
            self.pass_to(self.now.max(at));
            api_queue.extend(self.apply(&AccountEvent::Tick));
        }
        self.pass_to(end);
        api_queue
    }

    /// The server withdrew the bot's challenge, or refused to.
    pub(crate) fn canceled(&mut self, id: &str, answer: CallOutcome) -> Vec<Wanted> {
        self.apply(&AccountEvent::Canceled {
            id: ChallengeId::new(id),
            answer,
        })
    }

    /// The server aborted a game, or refused to.
    pub(crate) fn aborted(&mut self, id: &str, answer: CallOutcome) -> Vec<Wanted> {
        self.apply(&AccountEvent::Aborted {
            game: GameId::new(id),
            answer,
        })
    }

    /// The bot is about to challenge a bot.
    pub(crate) fn hold(&mut self, opponent: &str) -> bool {
        self.account
            .hold(&UserId::new(opponent), OpponentKind::Bot, self.now)
    }

    /// The server created the challenge.
    pub(crate) fn held(&mut self, id: &str) -> Vec<Wanted> {
        wanted(self.account.held(ChallengeId::new(id), self.now))
    }

    /// The challenge was not created.
    pub(crate) fn released(&mut self) -> Vec<Wanted> {
        self.apply(&AccountEvent::NotCreated(NotCreated::NoSlot))
    }

    /// The list of running games has arrived, once at the start and long enough ago.
    pub(crate) fn settled(mut self) -> Self {
        self.apply(&AccountEvent::Opened);
        self.apply(&AccountEvent::Running(Vec::new()));
        self.wait(10);
        self
    }

    fn pass_to(&mut self, moment: Instant) {
        *self.gone.lock().expect("no panic") += moment - self.now;
        self.now = moment;
    }
}

/// The wanted effects, without names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Accept(String),
    Decline(String, DeclineReason),
    Cancel(String),
    Abort(String),
    Play(String),
    GameFinish(String),
    List,
    Waiting,
}

/// Without what arenas, games that ended unseen and the start lead to.
pub(crate) fn wanted(effects: Vec<AccountEffect>) -> Vec<Wanted> {
    let one = |effect| match effect {
        AccountEffect::Accept { id, .. } => Some(Wanted::Accept(id.to_string())),
        AccountEffect::Decline(refusal) => {
            Some(Wanted::Decline(refusal.id.to_string(), refusal.reason))
        }
        AccountEffect::Cancel(id) => Some(Wanted::Cancel(id.to_string())),
        AccountEffect::Abort(id) => Some(Wanted::Abort(id.to_string())),
        AccountEffect::Play(game) => Some(Wanted::Play(game.id.to_string())),
        AccountEffect::GameFinish(id) => Some(Wanted::GameFinish(id.to_string())),
        AccountEffect::List => Some(Wanted::List),
        AccountEffect::Waiting => Some(Wanted::Waiting),
        AccountEffect::Export(_)
        | AccountEffect::ListOutgoing
        | AccountEffect::RatingChanged { .. }
        | AccountEffect::ShowArena(_) => None,
        other => panic!("unexpected: {other:?}"),
    };
    effects.into_iter().filter_map(one).collect()
}

pub(crate) fn accept(id: &str) -> Vec<Wanted> {
    vec![Wanted::Accept(id.to_owned())]
}

pub(crate) fn later(id: &str) -> Vec<Wanted> {
    vec![Wanted::Decline(id.to_owned(), DeclineReason::Later)]
}

pub(crate) fn play(id: &str) -> Vec<Wanted> {
    vec![Wanted::Play(id.to_owned())]
}
