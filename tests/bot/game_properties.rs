//! Random sequences of everything that can happen to a game state machine: no panic, no illegal
//! move, no misplaced request, never two different moves for one ply in doubt, and in the end
//! always a move. Also a storm of challenges that are all withdrawn before they can be accepted.

use std::time::{Duration, Instant};

use megaton::bot::game::{CallOutcome, GameEffect, GameInput, GameRequest, Persist, RequestId};
use megaton::bot::{MoveOverhead, Settings};
use megaton::engine::Score;
use megaton::lichess::{OfferDraw, OpponentGone, Side, Status};
use megaton::rules::{Game, Move};
use proptest::prelude::*;

use crate::harness::{Harness, ms, result, settings, state};
use crate::running_bot::{Bot, all_over};
use crate::test_server::Server;

/// Takebacks granted when all policies are enabled.
const MOST_TAKEBACKS: u32 = 3;
/// How long a slot cools down after an acceptance that came too late.
const GONE_REST: Duration = Duration::from_millis(100);
/// Withdrawn challenges; each finds a slot or a place in the queue.
const GONE: usize = 16;

/// An event, relative to the state before it.
#[derive(Clone, Debug)]
enum Event {
    /// The stream shows the truth.
    State,
    /// The stream shows the truth with offers and another clock.
    StateWith {
        draw: bool,
        takeback: bool,
        left: u64,
    },
    /// The stream is reopened now and shows the truth.
    Open,
    /// An opening requested a while ago shows the truth.
    StaleOpen,
    /// An unreadable line.
    Garbage,
    /// The running search answers with the move of this number, or with nonsense.
    Think {
        pick: usize,
        sound: bool,
        score: i32,
    },
    /// The sent move arrives at the server (if it is its turn), with this answer.
    Arrives(Reply),
    /// The sent move does not arrive, with this answer.
    Misses(Reply),
    /// The opponent moves (if it is their turn).
    Opponent {
        pick: usize,
    },
    /// The opponent offers a draw.
    Offer,
    /// The opponent proposes a takeback.
    Propose,
    /// Moves are taken back on the server.
    Takeback {
        plies: usize,
    },
    Wait {
        ms: u64,
    },
    /// The known latency changes.
    Lag {
        ms: u64,
    },
    Gone {
        seconds: u64,
    },
    /// The event stream says the game is over, wrongly.
    GameFinish,
    /// The stream is refused once.
    NoStream,
    /// The answer to the last request.
    Asked(Reply),
}

#[derive(Clone, Copy, Debug)]
enum Reply {
    Done,
    Lost,
    Limited(Option<u64>),
    Refused(&'static str),
    Token,
    Gone,
}

impl From<Reply> for CallOutcome {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Done => Self::Done,
            Reply::Lost => Self::Lost,
            Reply::Limited(seconds) => Self::Limited {
                wait: seconds.map(|s| ms(s * 1000)),
            },
            Reply::Refused(text) => crate::harness::refused(text),
            Reply::Token => Self::Refused {
                status: 401,
                text: "No such token".into(),
            },
            Reply::Gone => Self::Gone,
        }
    }
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        3 => Just(Reply::Done),
        3 => Just(Reply::Lost),
        1 => proptest::option::of(0..90_u64).prop_map(Reply::Limited),
        2 => Just(Reply::Refused("Piece on e2 cannot move to e5")),
        2 => Just(Reply::Refused("Not your turn, or game already over")),
        1 => Just(Reply::Token),
        1 => Just(Reply::Gone),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => Just(Event::State),
        1 => (any::<bool>(), any::<bool>(), 0..400_000_u64)
            .prop_map(|(draw, takeback, left)| Event::StateWith { draw, takeback, left }),
        4 => Just(Event::Open),
        2 => Just(Event::StaleOpen),
        1 => Just(Event::Garbage),
        8 => (any::<usize>(), prop::bool::weighted(0.9), score())
            .prop_map(|(pick, sound, score)| Event::Think { pick, sound, score }),
        2 => Just(Event::Offer),
        2 => Just(Event::Propose),
        6 => reply().prop_map(Event::Arrives),
        4 => reply().prop_map(Event::Misses),
        6 => any::<usize>().prop_map(|pick| Event::Opponent { pick }),
        1 => (1..4_usize).prop_map(|plies| Event::Takeback { plies }),
        4 => (0..5_000_u64).prop_map(|ms| Event::Wait { ms }),
        1 => (0..5_000_u64).prop_map(|ms| Event::Lag { ms }),
        1 => (0..30_u64).prop_map(|seconds| Event::Gone { seconds }),
        1 => Just(Event::GameFinish),
        1 => Just(Event::NoStream),
        2 => reply().prop_map(Event::Asked),
    ]
}

fn score() -> impl Strategy<Value = i32> {
    prop_oneof![3 => Just(0), 2 => Just(-2000), 1 => Just(500), 1 => -40..40_i32]
}

/// Enables every policy, and soon.
fn want_manners(settings: &mut Settings) {
    settings.draw.ply = 2;
    settings.draw.moves = 1;
    settings.draw.offer_humans = true;
    settings.resign.enabled = true;
    settings.resign.moves = 2;
    settings.resign.depth = 5;
    settings.takeback.humans = MOST_TAKEBACKS;
}

/// The server's side, and the guarantees that the test checks.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own in this story"
)]
struct Storm {
    harness: Harness,
    /// The game on the server.
    truth: Game,
    active_search: Option<RequestId>,
    /// The move being sent.
    sent: Option<(RequestId, Move, OfferDraw)>,
    /// The move sent after this list, which must not change.
    committed: Option<(Vec<Move>, Move)>,
    /// When a refusal came: an opening requested later allows another move.
    refused_at: Option<Instant>,
    over: bool,
    /// The machine has finished the game.
    ended: bool,
    /// Moves were taken back, unseen by the machine so far.
    shrunk: bool,
    offers_draw: bool,
    proposes_takeback: bool,
    /// The last request.
    asked: Option<GameRequest>,
    granted: u32,
    offered: u32,
}

impl Storm {
    fn new(us: Side, settings: Settings) -> Self {
        let mut harness = Harness::with(us, settings);
        harness.casual = true;
        let mut storm = Self {
            harness,
            shrunk: false,
            offers_draw: false,
            proposes_takeback: false,
            asked: None,
            granted: 0,
            offered: 0,
            truth: Game::new(),
            active_search: None,
            sent: None,
            committed: None,
            refused_at: None,
            over: false,
            ended: false,
        };
        storm.open(false);
        storm
    }

    fn list(&self) -> String {
        let moves: Vec<_> = self.truth.moves().iter().map(Move::to_string).collect();
        moves.join(" ")
    }

    fn our_turn(&self) -> bool {
        self.truth.ply().is_multiple_of(2) == (self.harness.us == Side::White)
    }

    fn open(&mut self, stale: bool) {
        let opened = if stale {
            self.harness
                .now
                .checked_sub(ms(3000))
                .unwrap_or(self.harness.now)
        } else {
            self.harness.now
        };
        if self.refused_at.is_some_and(|at| opened >= at) {
            self.committed = None;
            self.refused_at = None;
        }
        self.see();
        let line = self.harness.full(self.state());
        let actions = self.harness.open_with(line, opened);
        self.take(actions);
    }

    fn state(&self) -> megaton::lichess::GameState {
        let mut state = state(&self.list());
        if self.over {
            state.status = Status::Draw;
        }
        let (draw, takeback) = (&mut state.draw_offer, &mut state.takeback);
        match self.harness.us {
            Side::White => {
                (draw.black, takeback.black) = (self.offers_draw, self.proposes_takeback);
            }
            Side::Black => {
                (draw.white, takeback.white) = (self.offers_draw, self.proposes_takeback);
            }
        }
        state
    }

    /// Once the machine sees the list shrink, it owes nothing from before.
    fn see(&mut self) {
        if std::mem::take(&mut self.shrunk) {
            self.committed = None;
            self.refused_at = None;
        }
    }

    fn show(&mut self) {
        self.see();
        let actions = self.harness.state_with(self.state());
        self.take(actions);
    }

    /// Checks the machine's effects against its guarantees.
    fn take(&mut self, actions: Vec<GameEffect>) {
        assert!(
            !self.ended || actions.is_empty(),
            "{actions:?} after the end"
        );
        self.ended = self.harness.machine.is_over();
        for action in actions {
            assert!(!self.ended || !matches!(action, GameEffect::Post { .. }));
            match action {
                GameEffect::Ponder { reply, limits, .. } => {
                    let known = self.harness.machine.game();
                    assert!(known.position().is_legal(reply) && limits.ponder);
                    assert!(known.ply().is_multiple_of(2) != (self.harness.us == Side::White));
                }
                GameEffect::Search { request_id, limits } => {
                    assert!(limits.hard_deadline.is_some());
                    self.active_search = Some(request_id);
                }
                GameEffect::StopSearch => self.active_search = None,
                GameEffect::TakeBest { request_id } => {
                    let input = GameInput::BestSoFar {
                        request_id,
                        best: None,
                    };
                    let actions = self.harness.apply(input);
                    self.take(actions);
                }
                GameEffect::Post {
                    request_id,
                    uci,
                    draw,
                } => self.posted(request_id, &uci, draw),
                GameEffect::Request(request) => self.ask(request),
                GameEffect::Persist(Persist::DrawOffered { so_far }) => {
                    assert_eq!(so_far, self.offered + 1);
                    self.offered = so_far;
                }
                GameEffect::Persist(Persist::TakebackGranted { so_far }) => {
                    assert_eq!(so_far, self.granted + 1);
                    self.granted = so_far;
                }
                GameEffect::Finish(_) => self.over = true,
                _ => {}
            }
        }
    }

    /// The effect of a request, and whether it was legitimate.
    fn ask(&mut self, request: GameRequest) {
        let (plies, ours) = (self.harness.machine.ply(), self.harness.is_our_turn());
        self.asked = Some(request);
        match request {
            GameRequest::Abort => {
                assert!(plies < 2, "an abort at ply {plies}");
                self.over |= self.truth.ply() < 2;
            }
            GameRequest::Resign => {
                assert!(plies >= 2 && !ours, "a resignation at ply {plies}");
                self.over |= self.truth.ply() >= 2;
            }
            GameRequest::AcceptDraw => {
                assert!(plies >= 2 && !ours, "on our turn the move answers");
                self.over |= self.offers_draw;
            }
            GameRequest::DeclineDraw => self.offers_draw = false,
            GameRequest::AcceptTakeback => {
                let committed = self.harness.machine.sent();
                let sent = self.sent.map(|(_, played, _)| played);
                assert!(sent.is_none() || sent != committed, "a move is on its way");
                let plies = if self.our_turn() { 1 } else { 2 };
                if self.proposes_takeback {
                    self.take_back(plies);
                }
            }
            GameRequest::DeclineTakeback => self.proposes_takeback = false,
            GameRequest::ClaimVictory | GameRequest::ClaimDraw => {
                assert!(plies >= 2 && !ours, "a claim at ply {plies}");
            }
        }
    }

    fn take_back(&mut self, plies: usize) {
        self.proposes_takeback = false;
        self.offers_draw = false;
        self.truth.takeback(plies);
        self.shrunk = true;
    }

    fn posted(&mut self, request_id: RequestId, uci: &str, draw: OfferDraw) {
        let known = self.harness.machine.game();
        let played = known
            .position()
            .parse_uci(uci)
            .expect("never an illegal move");
        let after = known.moves().to_vec();
        if let Some((list, committed)) = &self.committed
            && *list == after
        {
            assert_eq!(*committed, played, "two moves for one ply");
        }
        self.committed = Some((after, played));
        self.active_search = None;
        self.sent = Some((request_id, played, draw));
    }

    fn happen(&mut self, event: &Event) {
        match event {
            Event::State => self.show(),
            Event::StateWith {
                draw,
                takeback,
                left,
            } => {
                self.see();
                let mut state = self.state();
                state.draw_offer.white = *draw;
                state.draw_offer.black = *draw;
                state.takeback.black = *takeback;
                state.time.white = Some(ms(*left));
                state.time.black = Some(ms(*left));
                let actions = self.harness.state_with(state);
                self.take(actions);
            }
            Event::Open => self.open(false),
            Event::StaleOpen => self.open(true),
            Event::Garbage => {
                let actions = self.harness.state("e2e4 e2e4 \u{0}");
                self.take(actions);
            }
            Event::Think { pick, sound, score } => self.think(*pick, *sound, *score),
            Event::Arrives(reply) => self.answer(*reply, true),
            Event::Misses(reply) => self.answer(*reply, false),
            Event::Opponent { pick } => {
                let legal = self.truth.position().legal_moves();
                if !self.our_turn() && !legal.is_empty() && !self.over {
                    self.truth.push(legal[pick % legal.len()]);
                    self.proposes_takeback = false;
                    self.show();
                }
            }
            Event::Offer => {
                self.offers_draw = self.truth.ply() >= 2;
                self.show();
            }
            Event::Propose => {
                self.proposes_takeback = self.truth.ply() >= 2;
                self.show();
            }
            Event::Takeback { plies } => {
                self.take_back(*plies);
                self.show();
            }
            Event::Wait { ms: time } => {
                let actions = self.harness.wait(ms(*time));
                self.take(actions);
            }
            Event::Lag { ms: cost } => self.harness.machine.set_overhead(MoveOverhead {
                learned: ms(*cost),
                ..MoveOverhead::default()
            }),
            Event::Gone { seconds } => {
                let actions = self.harness.gone(*seconds);
                self.take(actions);
                let back = OpponentGone {
                    gone: false,
                    claim_win_in: None,
                };
                let actions = self.harness.apply(GameInput::Gone(back));
                self.take(actions);
            }
            Event::GameFinish => {
                let actions = self.harness.apply(GameInput::GameFinish);
                self.take(actions);
            }
            Event::NoStream => {
                let actions = self.harness.apply(GameInput::NoStream);
                self.take(actions);
                self.open(false);
            }
            Event::Asked(reply) => {
                let request = self.asked.take().unwrap_or(GameRequest::Abort);
                let answer = CallOutcome::from(*reply);
                let actions = self
                    .harness
                    .apply(GameInput::RequestDone { request, answer });
                self.take(actions);
            }
        }
    }

    fn think(&mut self, pick: usize, sound: bool, score: i32) {
        let Some(request_id) = self.active_search.take() else {
            return;
        };
        let legal = self.harness.machine.game().position().legal_moves();
        let mut answer = result("a1a1", Score::Cp(score), &self.harness.machine);
        let best = if sound {
            legal[pick % legal.len()]
        } else {
            Move::from_bits(pick as u16)
        };
        answer.best = Some(best);
        if sound {
            let replies = self
                .harness
                .machine
                .game()
                .position()
                .play(best)
                .legal_moves();
            answer.ponder = replies.iter().copied().nth(pick / 7 % replies.len().max(1));
        }
        let actions = self.harness.apply(GameInput::SearchDone {
            request_id,
            result: answer,
        });
        self.take(actions);
    }

    /// The outcome of the move being sent.
    fn answer(&mut self, reply: Reply, arrives: bool) {
        let Some((request_id, played, draw)) = self.sent.take() else {
            return;
        };
        let fits = self.our_turn() && self.truth.position().is_legal(played);
        if arrives && fits && !self.over {
            if draw == OfferDraw::Yes && self.offers_draw {
                // Agreed, so the move is not played.
                self.over = true;
            } else {
                self.truth.push(played);
            }
            self.offers_draw = false;
            self.proposes_takeback = false;
        }
        if matches!(reply, Reply::Refused(_)) {
            self.refused_at = Some(self.harness.now);
        }
        let actions = self.harness.answer(request_id, reply.into());
        self.take(actions);
    }

    /// From here on there are no faults. The move must be sent and shown.
    fn calm(&mut self) {
        for _ in 0..200 {
            if self.over || !self.our_turn() || self.truth.position().legal_moves().is_empty() {
                return;
            }
            self.open(false);
            self.think(7, true, 0);
            self.answer(Reply::Done, true);
            let actions = self.harness.wait(ms(2000));
            self.take(actions);
        }
        panic!("a move was owed and never sent: {}", self.list());
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_happens_one_legal_move_is_sent_for_every_ply(
        white in any::<bool>(),
        (ponder, human_pace, policies) in any::<(bool, bool, bool)>(),
        events in prop::collection::vec(event(), 1..120),
    ) {
        let mut settings = settings();
        settings.engine.ponder = ponder;
        settings.clock.human_pace = human_pace;
        if policies {
            want_manners(&mut settings);
        }
        let mut storm = Storm::new(if white { Side::White } else { Side::Black }, settings);
        for event in &events {
            storm.happen(event);
        }
        storm.calm();
        assert!(storm.granted <= MOST_TAKEBACKS && storm.offered <= 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_slot_cools_down_after_each_failed_acceptance_until_the_other_withdrawals_arrive() {
    let in_vain = |calls: &[String]| {
        calls
            .iter()
            .filter(|it| it.ends_with("gone/accept"))
            .count()
    };
    let server = Server::start().await;
    let nothing_there = ("gone/accept", 404, r#"{"error":"No such challenge"}"#);
    server.world().call_faults.extend([nothing_there; GONE]);
    let bot = Bot::with(&server, |settings| settings.challenge.concurrency = 1);
    server.until_online().await;
    let begun = Instant::now();
    for n in 0..GONE {
        let (id, by) = (format!("{n}gone"), format!("somebody{n}"));
        server.world().challenge_by(&id, "atomic", &by, None);
    }
    server
        .until("six acceptances in vain", |world| {
            in_vain(&world.calls) >= 6
        })
        .await;
    // Measured from before the first to after the last of them: a slow machine can only make this
    // longer.
    let took = begun.elapsed();
    assert!(took >= GONE_REST * 5, "six acceptances in {took:?}");
    // Withdrawals are received while the slot is on cooldown.
    server.world().in_one_piece(|world| {
        for n in 0..GONE {
            world.take_back(&format!("{n}gone"));
        }
        world.challenge("good", "atomic");
    });
    server
        .until("the good one", |world| {
            world.calls.iter().any(|call| call.ends_with("good/accept"))
        })
        .await;
    let asked = in_vain(&server.world().calls);
    assert!(asked <= 10, "{asked} of {GONE} acceptances in vain");
    server.world().begin("good", true, 6);
    all_over(&server).await;
    bot.stop().await;
}
