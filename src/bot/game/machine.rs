//! The state machine of one game, from the lines of its stream to effects.
//!
//! Each line states the whole game; nothing is patched. A line with less than is already known (an
//! unreadable move list, or missing moves although no takeback was granted: late or repeated) is
//! ignored, and the stream is reopened.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::delivery_policy::PendingMove;
use super::event::{
    Anomaly, CallOutcome, Ending, GameEffect, GameInput, GameParams, GameRequest, GameSetup,
    LastState, MovePlayed, Notification, RequestId, UnconfirmedMove,
};
use super::move_list::{MoveListChange, PlayedMoves};
use super::move_overhead::{ClockKind, ClockState, MoveOverhead};
use super::opening_variety::{BookChooser, EarlierGames, RootPlan};
use super::policy::{Policies, StateUpdate};
use super::time_budget::ponder;
use crate::book::SharedBooks;
use crate::bot::settings::{BotTiming, Settings};
use crate::engine::{Level, SearchResult};
use crate::experience::Experience;
use crate::lichess::{GameFull, GameState, Side, Status, UserId, Variant};
use crate::rules::{Game, Move, Position, RepetitionRule};
use crate::store::{FinishedGame, Timestamp};

/// Consecutive refusals to open the stream after which the game is given up.
const MAX_REFUSALS: u32 = 4;
/// Plies during which no clock runs: the first move of each side.
pub(in crate::bot) const FIRST_PLIES: usize = 2;

#[derive(Debug)]
pub struct GameMachine {
    pub(super) params: GameParams,
    pub(super) settings: Arc<Settings>,
    pub(super) timing: BotTiming,
    pub(super) move_list: PlayedMoves,
    pub(super) setup: Option<GameSetup>,
    pub(super) last_state: Option<LastState>,
    pub(super) pending: Option<PendingMove>,
    pub(super) policies: Policies,
    pub(super) last_request_id: RequestId,
    pub(super) pondering: Option<Pondering>,
    pub(super) overhead: MoveOverhead,
    pub(super) unconfirmed: Option<UnconfirmedMove>,
    earlier_games: EarlierGames,
    experience: Arc<Experience>,
    books: SharedBooks,
    pub(super) seed: u64,
    /// When the game was created, converted from the server's clock to ours.
    pub(super) created: Option<Instant>,
    trusted: bool,
    ended: bool,
    refusals: u32,
    pub(super) watch: Watchdog,
    /// The time of the input being handled, and its effects so far.
    pub(super) now: Instant,
    pub(super) out: Vec<GameEffect>,
}

impl GameMachine {
    /// A machine for a game; if the bot still owes the move `unconfirmed` of an earlier machine, it sends
    /// exactly that move.
    pub fn new(
        params: GameParams,
        settings: Arc<Settings>,
        timing: BotTiming,
        unconfirmed: Option<UnconfirmedMove>,
    ) -> Self {
        Self {
            unconfirmed,
            policies: Policies::new(params.past),
            params,
            settings,
            timing,
            move_list: PlayedMoves::default(),
            setup: None,
            last_state: None,
            pending: None,
            last_request_id: 0,
            pondering: None,
            overhead: MoveOverhead::default(),
            earlier_games: EarlierGames::default(),
            experience: Arc::default(),
            books: SharedBooks::default(),
            seed: 0,
            created: None,
            trusted: true,
            ended: false,
            refusals: 0,
            watch: Watchdog::default(),
            // Every input sets it.
            now: Instant::now(),
            out: Vec::new(),
        }
    }

    /// Sets the move overhead expected from now on.
    pub fn set_overhead(&mut self, overhead: MoveOverhead) {
        self.overhead = overhead;
    }

    /// Sets when the server created the game.
    pub fn set_created(&mut self, at: Option<Instant>) {
        self.created = at;
    }

    /// Sets the pair's earlier games by their first moves in UCI, and the seed for the choice among
    /// alternatives.
    pub fn avoid<'a>(&mut self, openings: impl IntoIterator<Item = &'a str>, seed: u64) {
        self.earlier_games = EarlierGames::new(openings, seed);
    }

    /// Sets what earlier games teach about their lines.
    pub fn set_experience(&mut self, experience: Arc<Experience>) {
        self.experience = experience;
    }

    /// Sets the opening books, and the seed for the choice among their moves.
    pub fn set_books(&mut self, books: SharedBooks, seed: u64) {
        self.books = books;
        self.seed = seed;
    }

    /// A move from a book, with the reply that the books expect; none of those `refused`.
    pub(super) fn book_move(&self, refused: &[Move]) -> Option<SearchResult> {
        let (setup, rules) = (self.setup.as_ref()?, &self.settings.book);
        let game = self.move_list.game();
        let may = self.level().is_none()
            && rules.applies(setup.opponent_is_bot, setup.rated)
            && game.ply() < rules.max_ply as usize
            && self.left_at().is_none_or(|left| left > rules.min_clock);
        let books = self.books.get();
        if !may || books.is_empty() {
            return None;
        }
        let chooser = BookChooser {
            books: &books,
            rules,
            experience: Some(&*self.experience).filter(|_| self.settings.experience.enabled),
            seed: self.seed,
        };
        let choose = |game: &Game, avoided: &[Move]| {
            let plan = self.root_plan(game, &game.position().legal_moves());
            chooser.choose(game, &[avoided, &plan.avoided()].concat())
        };
        let Some(earlier) = self.earlier_games() else {
            return choose(game, refused);
        };
        let vary = |game: &Game, refused: &[Move]| {
            choose(game, &[refused, &earlier.repeating(game)].concat())
        };
        // A single good move is played again where a later book move can differ.
        let repeat = || {
            let plies = self.settings.variety.plies.min(rules.max_ply) as usize;
            let can_differ = |later: &Game| vary(later, &[]).is_some();
            let can_wait = earlier.can_be_left_later(game, plies, can_differ);
            can_wait.then(|| choose(game, refused)).flatten()
        };
        vary(game, refused).or_else(repeat)
    }

    /// How to search `game`, a position of the bot, among the moves `left`.
    pub(super) fn root_plan(&self, game: &Game, left: &[Move]) -> RootPlan {
        let opponent = self.setup.as_ref().and_then(|it| it.opponent_id.as_ref());
        let mut plan = RootPlan::default();
        if self.level().is_some() {
            return plan;
        }
        if self.settings.experience.enabled {
            let position = game.position().key();
            let opponent = opponent.map(UserId::as_str);
            plan.follow(self.experience.advice(position, opponent), left);
        }
        let earlier = self.earlier_games_at(game.ply());
        plan.rank_at_least(earlier.map_or(1, |earlier| earlier.multipv(game)));
        plan
    }

    /// The games not to repeat: a repetition matters in rated games, and only within the first moves.
    pub(super) fn earlier_games(&self) -> Option<&EarlierGames> {
        self.earlier_games_at(self.ply())
    }

    fn earlier_games_at(&self, ply: usize) -> Option<&EarlierGames> {
        let setup = self.setup.as_ref()?;
        let rules = &self.settings.variety;
        let counts = rules.enabled && setup.rated;
        (counts && ply < rules.plies as usize).then_some(&self.earlier_games)
    }

    /// The game as far as known: the position to search.
    pub fn game(&self) -> &Game {
        self.move_list.game()
    }

    /// Number of moves made.
    pub fn ply(&self) -> usize {
        self.move_list.ply()
    }

    /// Whether the game is over for the bot: no effect follows.
    pub fn is_over(&self) -> bool {
        self.ended
    }

    /// Whether the game can be left for hours: no clock runs, it is the opponent's turn, and no
    /// request is open or to be repeated.
    pub fn can_park(&self) -> bool {
        let unclocked = self.setup.as_ref().is_some_and(|s| !s.clocked);
        let quiet = !self.policies.refuses() && self.policies.retry_timeout().is_none();
        let settled = self.pending.is_none() && self.trusted && quiet;
        unclocked && settled && self.last_state.is_some() && !self.ended && !self.is_our_turn()
    }

    /// The bot's colour, once known.
    pub fn us(&self) -> Option<Side> {
        self.setup.as_ref().map(|setup| setup.us)
    }

    /// The level at which this game is played, if not at full strength.
    pub(in crate::bot) fn level(&self) -> Option<Level> {
        let setup = self.setup.as_ref()?;
        let level = self.settings.engine.casual_level;
        let level = level.of_game(setup.rated, setup.opponent_is_bot);
        level.filter(|_| !setup.arena)
    }

    /// The contempt of our searches, in centipawns.
    pub(super) fn contempt(&self) -> i32 {
        self.setup.as_ref().map_or(0, GameSetup::contempt)
    }

    /// The opponent's name, once known.
    pub fn opponent(&self) -> Option<&str> {
        self.setup.as_ref().map(|s| s.opponent.as_str())
    }

    /// The game's setup, once the stream's first line has been read.
    pub fn setup(&self) -> Option<&GameSetup> {
        self.setup.as_ref()
    }

    pub fn params(&self) -> &GameParams {
        &self.params
    }

    /// The last credible state.
    pub fn last_state(&self) -> Option<&GameState> {
        self.last_state.as_ref().map(|last_state| &last_state.state)
    }

    /// The move sent for the current ply that no state shows yet.
    pub fn sent(&self) -> Option<Move> {
        self.pending.as_ref().and_then(PendingMove::sent)
    }

    /// The sent move that a rebuilt machine must keep to.
    pub fn unconfirmed(&self) -> Option<UnconfirmedMove> {
        let sent = self.sent().map(|played| UnconfirmedMove {
            after: self.move_list.game().moves().to_vec(),
            played,
        });
        sent.or_else(|| self.unconfirmed.clone())
    }

    /// Whether the game can spare its stream for this long. With a clock hardly: the bot
    /// counts as gone without it, and the opponent may claim after ten seconds at the earliest. Days
    /// per move leave that time even before the stream says how many.
    pub fn can_wait(&self, wait: Duration, now: Instant) -> bool {
        let unread = self.params.correspondence;
        self.reading().map_or(unread, |reading| match reading.kind {
            ClockKind::Unclocked => reading.can_wait(wait, &self.timing, now),
            ClockKind::Running | ClockKind::Standing => wait <= self.timing.again,
        })
    }

    /// When [`GameInput::Tick`] is due.
    pub fn next_timeout(&self) -> Option<Instant> {
        if self.ended {
            return None;
        }
        let pending = self.pending.as_ref().and_then(PendingMove::next_timeout);
        [
            pending,
            self.policies.next_timeout(),
            self.watch.next_timeout(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Handles an input and returns the effects in order.
    pub fn apply(&mut self, input: GameInput, now: Instant) -> Vec<GameEffect> {
        if self.ended {
            return Vec::new();
        }
        self.now = now;
        match input {
            GameInput::Full { full, opened, at } => self.full(*full, opened, at),
            GameInput::State { state, at } => self.state(*state, None, at),
            GameInput::Gone(absence) => self.absence(absence),
            GameInput::NoStream => self.no_stream(),
            GameInput::GameFinish => self.check_after(self.timing.settle),
            GameInput::SearchDone { request_id, result } => self.result(request_id, result),
            GameInput::BestSoFar { request_id, best } => {
                self.best_so_far(request_id, best);
            }
            GameInput::Posted { request_id, answer } => {
                self.posted(request_id, &answer);
            }
            GameInput::RequestDone { request, answer } => self.asked(request, &answer),
            GameInput::WaitLonger => self.wait_longer(),
            GameInput::Tick => self.tick(),
        }
        std::mem::take(&mut self.out)
    }

    fn tick(&mut self) {
        self.pending_move_tick();
        self.policy_tick();
        self.watch_tick();
    }

    fn full(&mut self, full: GameFull, opened: Instant, at: Instant) {
        self.refusals = 0;
        let first = self.setup.is_none();
        let Some(us) = self.params.side_in(&full) else {
            self.out.push(GameEffect::Report(Anomaly::NotPlaying));
            return self.end(None);
        };
        self.setup = Some(GameSetup::of(&full, us));
        let variant = match full.variant {
            Variant::Unknown => self.params.variant,
            stated => stated,
        };
        let ours = matches!(variant, Variant::Atomic | Variant::Unknown) && full.starts_as_usual();
        if !ours {
            return self.give_up(&full.state);
        }
        self.state(full.state, Some(opened), at);
        if first && !self.ended {
            self.out.push(GameEffect::Notify(Notification::Joined));
        }
    }

    /// Gives up an unsupported game without reading its board.
    fn give_up(&mut self, state: &GameState) {
        if state.status.is_over() {
            return self.end(Some(state));
        }
        self.refuse_game();
    }

    /// Handles a state; `opened` is when its opening was requested, if it came with one.
    fn state(&mut self, state: GameState, opened: Option<Instant>, at: Instant) {
        if self.setup.is_none() || self.policies.refuses() {
            if state.status.is_over() {
                self.end(Some(&state));
            }
            return;
        }
        if opened.is_none() && self.move_list.is_ahead_of(&state.moves) && !self.grants_now() {
            self.out.push(GameEffect::Report(Anomaly::Shrunk {
                known: self.move_list.ply(),
                listed: state.moves.split_ascii_whitespace().count(),
            }));
            return self.distrust(&state, opened);
        }
        let before = *self.move_list.game().position();
        let known = self.move_list.ply();
        let first = self.last_state.is_none();
        let change = match self.move_list.update(&state.moves) {
            Ok(change) => change,
            Err(foreign) => {
                self.out.push(GameEffect::Report(foreign.into()));
                return self.distrust(&state, opened);
            }
        };
        self.trusted = true;
        self.watch.rest();
        let ending = state.status.is_over().then(|| state.clone());
        let expected = self.left_at();
        let opening = opened.is_some();
        // The clock in an opening may be as old as its request.
        let at = opened.unwrap_or(at);
        self.last_state = Some(LastState { state, at, opening });
        let result = self.settle_pending_move(change);
        if ending.is_none() {
            if change == MoveListChange::Same {
                self.check_clock(expected);
            }
            self.advance(change, opened);
            if change == MoveListChange::Grown(1) && !self.is_our_turn() {
                let reply = result.as_ref().and_then(|result| result.ponder);
                self.start_pondering(reply);
            }
        }
        if let (MoveListChange::Grown(_), false) = (change, first) {
            self.notify_moves(known, before, result);
        }
        if let Some(state) = ending {
            self.end(Some(&state));
        }
    }

    /// Continues after a state that does not end the game.
    fn advance(&mut self, change: MoveListChange, opened: Option<Instant>) {
        let update = StateUpdate {
            change,
            opened: opened.is_some(),
        };
        let ply = self.move_list.ply();
        self.policies.eval_history.handle_change(change, ply);
        // A move that needs no search goes out at once, and it answers an offer too.
        self.draw_flag(update);
        if self.is_our_turn() {
            self.start_pending_move(opened);
        } else {
            if change != MoveListChange::Same {
                self.stop_pondering();
            }
            self.watch_opponent();
        }
        self.apply_policies(update);
    }

    /// Handles a list that is not credible: nothing is sent based on the old list until a credible
    /// one arrives.
    fn distrust(&mut self, state: &GameState, opened: Option<Instant>) {
        if state.status.is_over() {
            return self.end(Some(state));
        }
        self.trusted = false;
        self.pause_pending_move();
        if opened.is_none() {
            self.out.push(GameEffect::Reopen);
        }
        // An unreadable fresh opening is not requested again at once.
        self.check_again();
    }

    fn no_stream(&mut self) {
        self.refusals += 1;
        if self.refusals >= MAX_REFUSALS {
            self.out.push(GameEffect::Report(Anomaly::Vanished));
            self.end(None);
        }
    }

    /// Whether it is our turn on the last credible list.
    pub(super) fn is_our_turn(&self) -> bool {
        let white_to_move = self.move_list.ply().is_multiple_of(2);
        self.us()
            .is_some_and(|us| white_to_move == (us == Side::White))
    }

    /// Whether the last list was credible.
    pub(in crate::bot) fn is_trusted(&self) -> bool {
        self.trusted
    }

    /// The setup and the last credible state, once there are both.
    pub(super) fn known(&self) -> Option<(&GameSetup, &LastState)> {
        self.setup.as_ref().zip(self.last_state.as_ref())
    }

    /// The bot's clock in the last state.
    pub(super) fn reading(&self) -> Option<ClockState> {
        let (setup, LastState { state, at, .. }) = self.known()?;
        let kind = if !setup.clocked {
            ClockKind::Unclocked
        } else if self.move_list.ply() < FIRST_PLIES {
            ClockKind::Standing
        } else {
            ClockKind::Running
        };
        Some(ClockState {
            left: state.time(setup.us),
            increment: state.increment(setup.us),
            at: *at,
            kind,
            expires_in: state.expiration.map(|expiration| expiration.left()),
        })
    }

    pub(super) fn next_request_id(&mut self) -> RequestId {
        self.last_request_id += 1;
        self.last_request_id
    }

    /// Publishes the moves on the list after the `known` ones.
    fn notify_moves(&mut self, known: usize, before: Position, mut result: Option<SearchResult>) {
        let (Some(us), Some(last_state)) = (self.us(), &self.last_state) else {
            return;
        };
        let mut position = before;
        for (ply, &played) in self.move_list.game().moves().iter().enumerate().skip(known) {
            let after = position.play(played);
            let ours = ply.is_multiple_of(2) == (us == Side::White);
            self.out
                .push(GameEffect::Notify(Notification::Moved(Box::new(
                    MovePlayed {
                        ply,
                        before: position,
                        played,
                        ours,
                        result: if ours { result.take() } else { None },
                        clocks: last_state.state.time,
                    },
                ))));
            position = after;
        }
    }

    /// Ends a game in this state; without one, a game that the server no longer shows.
    fn end(&mut self, state: Option<&GameState>) {
        self.stop_pondering();
        if self
            .pending
            .take()
            .is_some_and(|pending| pending.is_searching())
        {
            self.out.push(GameEffect::StopSearch);
        }
        self.ended = true;
        if let Some(state) = state {
            self.report_no_show(state.status);
        }
        self.out.push(GameEffect::Finish(Ending {
            game: self.params.game.clone(),
            status: state.map(|state| state.status),
            winner: state.and_then(|state| state.winner),
            us: self.us().or(self.params.color),
            opponent: self.opponent().unwrap_or("unknown").to_owned(),
            plies: self.move_list.ply(),
            fen: self.move_list.game().position().fen(),
        }));
    }
}

/// A search on the opponent's time, if enabled: on a position that is not on the board yet.
///
/// Only after the first moves, only with a clock, only the expected reply, and never a position
/// that ends the game. It uses cores that running clocks leave idle and stops when another move is
/// played.
#[derive(Clone, Debug)]
pub(super) struct Pondering {
    request_id: RequestId,
    /// The expected reply, and its ply.
    reply: Move,
    ply: usize,
    /// The moves searched, and how many of them are ranked.
    plan: RootPlan,
}

impl GameMachine {
    /// Called on the opponent's turn with the expected reply.
    pub(super) fn start_pondering(&mut self, reply: Option<Move>) {
        let ply = self.move_list.ply();
        let (Some(reply), Some(reading)) = (reply, self.reading()) else {
            return;
        };
        if !self.settings.engine.ponder
            || self.level().is_some()
            || ply < FIRST_PLIES
            || !continues(self.move_list.game(), reply)
        {
            return;
        }
        let limits = ponder(
            &reading,
            &self.overhead,
            &self.settings,
            &self.timing,
            self.now,
        );
        let Some(mut limits) = limits else { return };
        limits.contempt = self.contempt();
        let mut game = self.move_list.game().clone();
        game.push(reply);
        let plan = self.root_plan(&game, &game.position().legal_moves());
        plan.set(&mut limits);
        let request_id = self.next_request_id();
        self.pondering = Some(Pondering {
            request_id,
            reply,
            ply,
            plan,
        });
        self.out.push(GameEffect::Ponder {
            request_id,
            reply,
            limits,
        });
    }

    /// The id of the search that pondered on the current position by the same plan, if any.
    pub(super) fn ponder_hit(&mut self, plan: &RootPlan) -> Option<RequestId> {
        let pondering = self.pondering.take()?;
        let moves = self.move_list.game().moves();
        let is_hit = moves.len() == pondering.ply + 1 && moves.last() == Some(&pondering.reply);
        (is_hit && pondering.plan == *plan).then_some(pondering.request_id)
    }

    /// Drops a ponder search that has become useless.
    pub(super) fn stop_pondering(&mut self) {
        if self.pondering.take().is_some() {
            self.out.push(GameEffect::StopSearch);
        }
    }
}

/// Whether the reply is legal and leaves the bot a choice to think about.
fn continues(game: &Game, reply: Move) -> bool {
    if !game.position().is_legal(reply) {
        return false;
    }
    let mut after = game.clone();
    after.push(reply);
    let over = after.outcome(RepetitionRule::Threefold).is_some();
    !over && after.position().legal_moves().len() > 1
}

/// The half-moves that the server compares to detect a repeated game.
const OPENING: usize = 20;

/// The half-moves of a game that the server compares, in UCI.
pub(in crate::bot) fn opening(game: &Game) -> String {
    let moves = game.moves().iter().take(OPENING);
    let moves: Vec<String> = moves.map(ToString::to_string).collect();
    moves.join(" ")
}

impl GameMachine {
    /// What to remember of the finished game; none if its end was not seen. Storing it is the
    /// caller's job.
    pub fn summary(&self, ending: &Ending, at: Timestamp) -> Option<FinishedGame> {
        let status = ending.status.filter(|status| Status::is_over(*status))?;
        let setup = self.setup.as_ref();
        Some(FinishedGame {
            game: ending.game.clone(),
            opponent: setup.and_then(|setup| setup.opponent_id.clone()),
            is_bot: setup.is_some_and(|setup| setup.opponent_is_bot),
            rated: setup.is_some_and(|setup| setup.rated),
            color: ending.us,
            winner: ending.winner,
            status: status.as_str().to_owned(),
            plies: u32::try_from(ending.plies).unwrap_or(u32::MAX),
            opening: opening(self.game()),
            rating_diff: None,
            at,
        })
    }
}

/// How far a clock may differ from its expected value: latency and rounding.
const CLOCK_SLACK: Duration = Duration::from_millis(250);
/// The part of our clock that a lost line may cost.
const MISSED_PART: u32 = 3;
/// Limits how rare the checks of an unreadable list become.
const MAX_CHECK_STEPS: u32 = 12;

/// When to check for what in a waiting game: reopens a stream that went quiet, checks the clock, keeps
/// the connection warm.
///
/// It never touches a pending move, except a plan that the clock has overtaken.
#[derive(Debug, Default)]
pub(super) struct Watchdog {
    /// When to check for missed lines.
    check_at: Option<Instant>,
    /// Number of consecutive unreadable lists.
    unread: u32,
    /// When to warm the connection.
    pub(super) warm_at: Option<Instant>,
}

impl Watchdog {
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        [self.check_at, self.warm_at].into_iter().flatten().min()
    }

    /// Called when a list was read: nothing was missed so far.
    pub(super) fn rest(&mut self) {
        self.check_at = None;
        self.unread = 0;
    }
}

impl GameMachine {
    pub(super) fn left_at(&self) -> Option<Duration> {
        self.reading()?.left_at(self.now)
    }

    /// Checks our clock on a state without a new move. It may show more, if time was added; less,
    /// if the host was suspended or the server restarted.
    pub(super) fn check_clock(&mut self, expected: Option<Duration>) {
        let (Some(expected), Some(left)) = (expected, self.left_at()) else {
            return;
        };
        let gone = expected.saturating_sub(left);
        if self.is_our_turn() && gone > CLOCK_SLACK {
            self.out
                .push(GameEffect::Report(Anomaly::ClockFell { gone }));
            self.tighten();
        }
    }

    /// On the opponent's turn: checks for missed lines once their time must be up, and before a
    /// lost line could cost much of our time, for then our clock runs.
    pub(super) fn watch_opponent(&mut self) {
        let Some((setup, LastState { state, .. })) = self.known() else {
            return;
        };
        let left = if self.move_list.ply() < FIRST_PLIES {
            state.expiration.map(|expiration| expiration.left())
        } else {
            let left = state.time(setup.us.other());
            left.filter(|_| setup.clocked)
        };
        if let Some(left) = left {
            let again = self.timing.again;
            let mut wait = left.saturating_add(again);
            if state.expiration.is_some() {
                // A move made while the stream opened may be missing.
                wait = wait.min((left / 2).max(again));
            } else if left.is_zero() {
                // The server itself looks for a fallen flag seven seconds after a stream opened.
                wait = again * 2;
            } else if let Some(ours) = self.left_at() {
                wait = wait.min((ours / MISSED_PART).max(again / 2));
            }
            self.check_after(wait);
        }
        self.keep_warm();
    }

    /// Whether the opponent still has time: then silence is normal.
    fn is_early_check(&self) -> bool {
        let has_time = |(setup, LastState { state, at, .. }): (&GameSetup, &LastState)| {
            let gone = self.now.saturating_duration_since(*at);
            state.time(setup.us.other()).is_some_and(|left| gone < left)
        };
        !self.is_our_turn() && self.known().is_some_and(has_time)
    }

    /// In games with a clock, each move must find a warm connection, however long either side
    /// thinks: a forced move has no time to connect. Most of these requests cost no call: the
    /// client pings only a connection that has been idle for some time, and all games share it.
    pub(super) fn keep_warm(&mut self) {
        let kind = self.reading().map(|reading| reading.kind);
        let clocked = kind.is_some_and(|kind| kind != ClockKind::Unclocked);
        let due = self.watch.warm_at.unwrap_or(self.now + self.timing.warm);
        self.watch.warm_at = clocked.then_some(due);
    }

    /// Schedules a check for missed lines, at the latest after `wait`.
    pub(super) fn check_after(&mut self, wait: Duration) {
        let at = self.now.checked_add(wait);
        self.watch.check_at = [self.watch.check_at, at].into_iter().flatten().min();
    }

    /// Schedules another check after an unreadable list, ever later.
    pub(super) fn check_again(&mut self) {
        self.watch.unread += 1;
        self.check_after(self.timing.again * self.watch.unread.min(MAX_CHECK_STEPS));
    }

    pub(super) fn watch_tick(&mut self) {
        if self.watch.warm_at.is_some_and(|at| at <= self.now) {
            self.watch.warm_at = Some(self.now + self.timing.warm);
            self.out.push(GameEffect::Warm);
        }
        if self.watch.check_at.is_some_and(|at| at <= self.now) {
            self.watch.check_at = None;
            if !self.is_early_check() {
                self.out.push(GameEffect::Report(Anomaly::Stale));
            }
            self.out.push(GameEffect::Reopen);
            // If even the opening brings nothing, check again.
            self.check_after(self.timing.again * 2);
        }
    }
}

/// With an increment, little time is divided by this.
const INCREMENT_HELPS: u32 = 6;

/// The policies, in their three steps: a state was read, a request was answered, a timer fired.
impl GameMachine {
    /// Handles a state that does not end the game; a required move is already in progress.
    pub(in crate::bot::game) fn apply_policies(&mut self, update: StateUpdate) {
        self.watch_presence(update.change);
        self.takeback_flags();
        self.watch_first_move(update);
        self.watch_progress(update);
        if update.change != MoveListChange::Same && !self.is_our_turn() {
            self.resign_if_lost();
            self.claim_if_due();
        }
    }

    /// Handles the outcome of a request.
    pub(in crate::bot::game) fn asked(&mut self, request: GameRequest, answer: &CallOutcome) {
        match request {
            GameRequest::Abort if self.policies.refuses() => {
                self.leave_answered(answer);
            }
            GameRequest::Abort => self.abort_answered(answer),
            GameRequest::Resign => self.resign_answered(answer),
            GameRequest::AcceptDraw => self.draw_answered(answer),
            GameRequest::AcceptTakeback => self.takeback_answered(answer),
            GameRequest::ClaimVictory | GameRequest::ClaimDraw => self.claim_answered(answer),
            // Whether a decline arrived or not: the next move declines too.
            GameRequest::DeclineDraw | GameRequest::DeclineTakeback => {}
        }
        self.stalled_tick();
    }

    /// Fires the timers of all policies.
    pub(in crate::bot::game) fn policy_tick(&mut self) {
        self.refusal_tick();
        self.first_move_tick();
        self.draw_tick();
        self.takeback_tick();
        self.resign_tick();
        self.absence_tick();
        self.stalled_tick();
    }

    /// Whether a side has only its king: it cannot win, not even on time.
    pub(super) fn is_bare(&self, side: Side) -> bool {
        let position = self.move_list.game().position();
        position.by_color(side.into()).count() == 1
    }

    /// Whether the opponent is about to lose on time: they have less than `little` and less than
    /// the bot, and no increment to speak of.
    pub(super) fn opponent_is_short(&self, little: Duration) -> bool {
        let Some((setup, LastState { state, .. })) = self.known() else {
            return false;
        };
        if !setup.clocked || self.ply() < FIRST_PLIES {
            return false;
        }
        let (us, them) = (setup.us, setup.us.other());
        let (Some(ours), Some(theirs)) = (state.time(us), state.time(them)) else {
            return false;
        };
        let little = if state.increment(them).is_zero() {
            little
        } else {
            little / INCREMENT_HELPS
        };
        theirs < little && theirs < ours
    }
}
