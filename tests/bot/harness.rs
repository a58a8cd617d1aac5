//! A game state machine with a simulated clock: each input returns its effects, and time moves only
//! when a test says so.

use std::sync::Arc;
use std::time::{Duration, Instant};

use megaton::bot::game::{
    Anomaly, CallOutcome, Ending, GameEffect, GameInput, GameMachine, GameParams, GameRequest,
    Persist, RequestId, ResumeState,
};
use megaton::bot::{BotTiming, Settings};
use megaton::engine::{Limits, Score, SearchResult, StopReason};
use megaton::lichess::{
    BySide, ClockSetting, GameFull, GameId, GameState, OfferDraw, OpponentGone, Player, Side,
    Speed, Status, UserId, Variant,
};
use megaton::rules::Move;

/// The bot's account in all of these tests.
pub(crate) const ME: &str = "megaton";

/// A game state machine under test.
pub(crate) struct Harness {
    pub(crate) machine: GameMachine,
    pub(crate) now: Instant,
    pub(crate) us: Side,
    pub(crate) bot_opponent: bool,
    /// Ours and the opponent's.
    pub(crate) ratings: Option<[i32; 2]>,
    pub(crate) casual: bool,
}

/// The last `Think` among the effects.
pub(crate) struct Searching {
    pub(crate) request_id: RequestId,
    pub(crate) limits: Limits,
}

/// The last `Post` among the effects.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Posted {
    pub(crate) request_id: RequestId,
    pub(crate) uci: String,
    pub(crate) draw: OfferDraw,
}

pub(crate) fn settings() -> Settings {
    Settings::default()
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A running state with three minutes and two seconds on both clocks.
pub(crate) fn state(moves: &str) -> GameState {
    GameState {
        moves: moves.into(),
        time: BySide {
            white: Some(ms(180_000)),
            black: Some(ms(180_000)),
        },
        increment: BySide {
            white: ms(2000),
            black: ms(2000),
        },
        status: Status::Started,
        winner: None,
        draw_offer: BySide::default(),
        takeback: BySide::default(),
        expiration: None,
        rematch: None,
    }
}

/// The first line of a stream, the opponent a human.
pub(crate) fn full(us: Side, state: GameState) -> GameFull {
    let me = Player {
        id: Some(UserId::new(ME)),
        name: Some("Megaton".into()),
        title: Some("BOT".into()),
        ..Player::default()
    };
    let them = Player {
        id: Some(UserId::new("blastcap")),
        name: Some("blastcap".into()),
        ..Player::default()
    };
    let (white, black) = match us {
        Side::White => (me, them),
        Side::Black => (them, me),
    };
    GameFull {
        id: Some(GameId::new("q7ZxVt2B")),
        variant: Variant::Atomic,
        speed: Speed::Blitz,
        rated: true,
        created_at: None,
        white,
        black,
        initial_fen: Some("startpos".into()),
        clock: Some(ClockSetting {
            initial: ms(180_000),
            increment: ms(2000),
        }),
        days_per_turn: None,
        tournament: None,
        state,
    }
}

pub(crate) fn result(best: &str, score: Score, machine: &GameMachine) -> SearchResult {
    let best = machine.game().position().parse_uci(best).ok();
    SearchResult {
        best,
        ponder: None,
        score,
        depth: 9,
        seldepth: 12,
        nodes: 1000,
        time: ms(3),
        line: best.into_iter().collect(),
        ranking: Vec::new(),
        by_tables: false,
        ended: StopReason::Time,
    }
}

pub(crate) fn refused(text: &str) -> CallOutcome {
    CallOutcome::Refused {
        status: 400,
        text: text.into(),
    }
}

impl Harness {
    pub(crate) fn new(us: Side) -> Self {
        Self::with(us, settings())
    }

    pub(crate) fn with(us: Side, settings: Settings) -> Self {
        Self::with_past(us, settings, ResumeState::default())
    }

    pub(crate) fn with_past(us: Side, settings: Settings, past: ResumeState) -> Self {
        let params = GameParams {
            game: GameId::new("q7ZxVt2B"),
            me: UserId::new(ME),
            color: None,
            variant: Variant::Atomic,
            correspondence: false,
            past,
        };
        Self {
            bot_opponent: false,
            ratings: None,
            casual: false,
            machine: GameMachine::new(params, Arc::new(settings), BotTiming::default(), None),
            now: Instant::now(),
            us,
        }
    }

    /// Begins again with a game that was announced as correspondence.
    pub(crate) fn announce_correspondence(&mut self) {
        let params = GameParams {
            correspondence: true,
            ..self.machine.params().clone()
        };
        let settings = Arc::new(settings());
        self.machine = GameMachine::new(params, settings, BotTiming::default(), None);
    }

    /// A harness whose game stands after `moves`, the stream just opened.
    pub(crate) fn at(us: Side, moves: &str) -> (Self, Vec<GameEffect>) {
        let mut harness = Self::new(us);
        let actions = harness.open(moves);
        (harness, actions)
    }

    /// A harness on our turn whose best move was sent and not answered yet.
    pub(crate) fn posted(us: Side, moves: &str, best: &str) -> (Self, Posted) {
        let (mut harness, actions) = Self::at(us, moves);
        let request_id = active_search(&actions).expect("it is our turn").request_id;
        let actions = harness.think(request_id, best);
        let posted = posted(&actions).expect("a thought is posted");
        (harness, posted)
    }

    pub(crate) fn apply(&mut self, input: GameInput) -> Vec<GameEffect> {
        let actions = self.machine.apply(input, self.now);
        let is_end = |action: &GameEffect| matches!(action, GameEffect::Finish(_));
        let end = actions.iter().position(is_end);
        assert!(
            end.is_none_or(|at| at + 1 == actions.len()),
            "something follows the end: {actions:?}"
        );
        actions
    }

    /// The first line of an opening requested now.
    pub(crate) fn open(&mut self, moves: &str) -> Vec<GameEffect> {
        self.open_with(self.full(state(moves)), self.now)
    }

    pub(crate) fn is_our_turn(&self) -> bool {
        self.machine.ply().is_multiple_of(2) == (self.us == Side::White)
    }

    /// The first line of a stream of this game.
    pub(crate) fn full(&self, state: GameState) -> GameFull {
        let mut full = full(self.us, state);
        full.rated = !self.casual;
        let (us, them) = match self.us {
            Side::White => (&mut full.white, &mut full.black),
            Side::Black => (&mut full.black, &mut full.white),
        };
        if self.bot_opponent {
            them.title = Some("BOT".into());
        }
        if let Some(ratings) = self.ratings {
            [us.rating, them.rating] = ratings.map(Some);
        }
        full
    }

    pub(crate) fn open_with(&mut self, full: GameFull, opened: Instant) -> Vec<GameEffect> {
        let at = self.now;
        self.apply(GameInput::Full {
            full: Box::new(full),
            opened,
            at,
        })
    }

    pub(crate) fn state(&mut self, moves: &str) -> Vec<GameEffect> {
        self.state_with(state(moves))
    }

    pub(crate) fn state_with(&mut self, state: GameState) -> Vec<GameEffect> {
        let at = self.now;
        self.apply(GameInput::State {
            state: Box::new(state),
            at,
        })
    }

    pub(crate) fn think(&mut self, request_id: RequestId, best: &str) -> Vec<GameEffect> {
        self.think_with(request_id, best, Score::Cp(20))
    }

    pub(crate) fn think_with(
        &mut self,
        request_id: RequestId,
        best: &str,
        score: Score,
    ) -> Vec<GameEffect> {
        let result = result(best, score, &self.machine);
        self.apply(GameInput::SearchDone { request_id, result })
    }

    pub(crate) fn answer(&mut self, request_id: RequestId, answer: CallOutcome) -> Vec<GameEffect> {
        self.apply(GameInput::Posted { request_id, answer })
    }

    /// The outcome of a request.
    pub(crate) fn asked(&mut self, request: GameRequest, answer: CallOutcome) -> Vec<GameEffect> {
        self.apply(GameInput::RequestDone { request, answer })
    }

    pub(crate) fn gone(&mut self, seconds: u64) -> Vec<GameEffect> {
        self.apply(GameInput::Gone(OpponentGone {
            gone: true,
            claim_win_in: Some(Duration::from_secs(seconds)),
        }))
    }

    /// Lets time pass; every timer on the way fires when it is due.
    pub(crate) fn wait(&mut self, time: Duration) -> Vec<GameEffect> {
        let end = self.now + time;
        let mut actions = Vec::new();
        while let Some(at) = self.machine.next_timeout().filter(|&at| at <= end) {
            self.now = self.now.max(at);
            actions.extend(self.apply(GameInput::Tick));
        }
        self.now = end;
        actions
    }
}

pub(crate) fn active_search(actions: &[GameEffect]) -> Option<Searching> {
    actions.iter().rev().find_map(|action| match action {
        GameEffect::Search { request_id, limits } => Some(Searching {
            request_id: *request_id,
            limits: limits.clone(),
        }),
        _ => None,
    })
}

pub(crate) fn posted(actions: &[GameEffect]) -> Option<Posted> {
    let mut posts = actions.iter().filter_map(|action| match action {
        GameEffect::Post {
            request_id,
            uci,
            draw,
        } => Some(Posted {
            request_id: *request_id,
            uci: uci.clone(),
            draw: *draw,
        }),
        _ => None,
    });
    let post = posts.next();
    assert!(posts.next().is_none(), "two moves at once: {actions:?}");
    post
}

pub(crate) fn posts(actions: &[GameEffect]) -> usize {
    let is_post = |action: &&GameEffect| matches!(action, GameEffect::Post { .. });
    actions.iter().filter(is_post).count()
}

pub(crate) fn reopens(actions: &[GameEffect]) -> bool {
    actions
        .iter()
        .any(|action| matches!(action, GameEffect::Reopen))
}

pub(crate) fn stops(actions: &[GameEffect]) -> bool {
    let stop = |action: &GameEffect| matches!(action, GameEffect::StopSearch);
    actions.iter().any(stop)
}

pub(crate) fn asks(actions: &[GameEffect]) -> Vec<GameRequest> {
    let ask = |action: &GameEffect| match action {
        GameEffect::Request(request) => Some(*request),
        _ => None,
    };
    actions.iter().filter_map(ask).collect()
}

pub(crate) fn remembered(actions: &[GameEffect]) -> Vec<Persist> {
    let fact = |action: &GameEffect| match action {
        GameEffect::Persist(fact) => Some(*fact),
        _ => None,
    };
    actions.iter().filter_map(fact).collect()
}

pub(crate) fn notes(actions: &[GameEffect]) -> Vec<Anomaly> {
    let note = |action: &GameEffect| match action {
        GameEffect::Report(anomaly) => Some(anomaly.clone()),
        _ => None,
    };
    actions.iter().filter_map(note).collect()
}

pub(crate) fn ending(actions: &[GameEffect]) -> Option<Ending> {
    actions.iter().find_map(|action| match action {
        GameEffect::Finish(ending) => Some(ending.clone()),
        _ => None,
    })
}

/// Only notifications: no search, no move, no request, no reopening.
pub(crate) fn is_quiet(actions: &[GameEffect]) -> bool {
    let quiet =
        |action: &GameEffect| matches!(action, GameEffect::Notify(_) | GameEffect::Report(_));
    actions.iter().all(quiet)
}

pub(crate) fn uci(machine: &GameMachine, text: &str) -> Move {
    machine
        .game()
        .position()
        .parse_uci(text)
        .expect("a legal move")
}
