//! Random sequences of everything that can happen to a table: no panic, no illegal move, never two
//! moves for one ply on a doubt, and in the end always a move.

use megaton::bot::table::{Action, Answer, Input, Request, Ticket};
use megaton::bot::{Lag, Settings};
use megaton::engine::Score;
use megaton::lichess::{OpponentGone, Side, Status};
use megaton::rules::{Game, Move};
use proptest::prelude::*;

use crate::desk::{Desk, full, ms, settings, state, thought};

/// Something that happens, in terms of what was there before.
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
    /// The stream is opened anew now and shows the truth.
    Open,
    /// An opening asked for a while ago shows the truth.
    StaleOpen,
    /// A line that cannot be read.
    Garbage,
    /// The search that runs answers, with the move of this number or with nonsense.
    Think { pick: usize, sound: bool },
    /// The sent move arrives at the server (if it is its turn), and its answer is this.
    Arrives(Reply),
    /// The sent move does not arrive, and its answer is this.
    Misses(Reply),
    /// The opponent moves (if it is their turn).
    Opponent { pick: usize },
    /// Moves are taken back on the server.
    Takeback { plies: usize },
    /// Time passes.
    Wait { ms: u64 },
    /// What is known of the way to the server changes.
    Lag { ms: u64 },
    /// The opponent is away.
    Gone { seconds: u64 },
    /// The event stream says the game is over, wrongly.
    SaidOver,
    /// The stream is refused once.
    NoStream,
    /// Some request is refused.
    Asked,
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

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Done => Self::Done,
            Reply::Lost => Self::Lost,
            Reply::Limited(seconds) => Self::Limited {
                wait: seconds.map(|s| ms(s * 1000)),
            },
            Reply::Refused(text) => crate::desk::refused(text),
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
        8 => (any::<usize>(), prop::bool::weighted(0.9))
            .prop_map(|(pick, sound)| Event::Think { pick, sound }),
        6 => reply().prop_map(Event::Arrives),
        4 => reply().prop_map(Event::Misses),
        6 => any::<usize>().prop_map(|pick| Event::Opponent { pick }),
        1 => (1..4_usize).prop_map(|plies| Event::Takeback { plies }),
        4 => (0..5_000_u64).prop_map(|ms| Event::Wait { ms }),
        1 => (0..5_000_u64).prop_map(|ms| Event::Lag { ms }),
        1 => (0..30_u64).prop_map(|seconds| Event::Gone { seconds }),
        1 => Just(Event::SaidOver),
        1 => Just(Event::NoStream),
        1 => Just(Event::Asked),
    ]
}

/// The server's side of the story, and the promises that are watched over.
struct Storm {
    desk: Desk,
    /// The game as the server has it.
    truth: Game,
    thinking: Option<Ticket>,
    /// The sending under way.
    sent: Option<(Ticket, Move)>,
    /// What was sent for the list of this length and content and may not change.
    frozen: Option<(Vec<Move>, Move)>,
    /// A refusal came at this moment: an opening asked for later allows another move.
    refused_at: Option<std::time::Instant>,
    over: bool,
    /// The table has said its last word.
    ended: bool,
}

impl Storm {
    fn new(us: Side, settings: Settings) -> Self {
        let mut storm = Self {
            desk: Desk::with(us, settings),
            truth: Game::new(),
            thinking: None,
            sent: None,
            frozen: None,
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
        self.truth.ply().is_multiple_of(2) == (self.desk.us == Side::White)
    }

    fn open(&mut self, stale: bool) {
        let opened = if stale {
            self.desk.now.checked_sub(ms(3000)).unwrap_or(self.desk.now)
        } else {
            self.desk.now
        };
        if self.refused_at.is_some_and(|at| opened >= at) {
            self.frozen = None;
            self.refused_at = None;
        }
        let line = full(self.desk.us, self.state());
        let actions = self.desk.open_with(line, opened);
        self.take(actions);
    }

    fn state(&self) -> megaton::lichess::GameState {
        let mut state = state(&self.list());
        if self.over {
            state.status = Status::Draw;
        }
        state
    }

    fn show(&mut self) {
        let actions = self.desk.state_with(self.state());
        self.take(actions);
    }

    /// Looks at what the table wants, and holds it to its promises.
    fn take(&mut self, actions: Vec<Action>) {
        assert!(
            !self.ended || actions.is_empty(),
            "{actions:?} after the end"
        );
        self.ended = self.desk.table.is_over();
        for action in actions {
            assert!(!self.ended || !matches!(action, Action::Post { .. }));
            match action {
                Action::Ponder { reply, limits, .. } => {
                    let known = self.desk.table.game();
                    assert!(known.position().is_legal(reply) && limits.ponder);
                    assert!(known.ply().is_multiple_of(2) != (self.desk.us == Side::White));
                }
                Action::Think { ticket, limits } => {
                    assert!(limits.hard_deadline.is_some());
                    self.thinking = Some(ticket);
                }
                Action::StopThinking => self.thinking = None,
                Action::TakeBest { ticket } => {
                    let input = Input::BestSoFar { ticket, best: None };
                    let actions = self.desk.apply(input);
                    self.take(actions);
                }
                Action::Post { ticket, uci, .. } => self.posted(ticket, &uci),
                Action::Finish(_) => self.over = true,
                _ => {}
            }
        }
    }

    fn posted(&mut self, ticket: Ticket, uci: &str) {
        let known = self.desk.table.game();
        let played = known
            .position()
            .parse_uci(uci)
            .expect("never an illegal move");
        let after = known.moves().to_vec();
        if let Some((list, frozen)) = &self.frozen
            && *list == after
        {
            assert_eq!(*frozen, played, "two moves for one ply");
        }
        self.frozen = Some((after, played));
        self.thinking = None;
        self.sent = Some((ticket, played));
    }

    fn happen(&mut self, event: &Event) {
        match event {
            Event::State => self.show(),
            Event::StateWith {
                draw,
                takeback,
                left,
            } => {
                let mut state = self.state();
                state.draw_offer.white = *draw;
                state.draw_offer.black = *draw;
                state.takeback.black = *takeback;
                state.time.white = Some(ms(*left));
                state.time.black = Some(ms(*left));
                let actions = self.desk.state_with(state);
                self.take(actions);
            }
            Event::Open => self.open(false),
            Event::StaleOpen => self.open(true),
            Event::Garbage => {
                let actions = self.desk.state("e2e4 e2e4 \u{0}");
                self.take(actions);
            }
            Event::Think { pick, sound } => self.think(*pick, *sound),
            Event::Arrives(reply) => self.answer(*reply, true),
            Event::Misses(reply) => self.answer(*reply, false),
            Event::Opponent { pick } => {
                let legal = self.truth.position().legal_moves();
                if !self.our_turn() && !legal.is_empty() && !self.over {
                    self.truth.push(legal[pick % legal.len()]);
                    self.show();
                }
            }
            Event::Takeback { plies } => {
                self.truth.takeback(*plies);
                // Whoever sees the list shrink owes nothing of before.
                self.frozen = None;
                self.refused_at = None;
                self.show();
            }
            Event::Wait { ms: time } => {
                let actions = self.desk.wait(ms(*time));
                self.take(actions);
            }
            Event::Lag { ms: cost } => self.desk.table.expect_lag(Lag {
                learned: ms(*cost),
                ..Lag::default()
            }),
            Event::Gone { seconds } => {
                let actions = self.desk.gone(*seconds);
                self.take(actions);
                let back = OpponentGone {
                    gone: false,
                    claim_win_in: None,
                };
                let actions = self.desk.apply(Input::Gone(back));
                self.take(actions);
            }
            Event::SaidOver => {
                let actions = self.desk.apply(Input::SaidOver);
                self.take(actions);
            }
            Event::NoStream => {
                let actions = self.desk.apply(Input::NoStream);
                self.take(actions);
                self.open(false);
            }
            Event::Asked => {
                let actions = self.desk.apply(Input::Asked {
                    request: Request::Abort,
                    answer: crate::desk::refused("no"),
                });
                self.take(actions);
            }
        }
    }

    fn think(&mut self, pick: usize, sound: bool) {
        let Some(ticket) = self.thinking else { return };
        let legal = self.desk.table.game().position().legal_moves();
        let mut answer = thought("a1a1", Score::Cp(0), &self.desk.table);
        let best = if sound {
            legal[pick % legal.len()]
        } else {
            Move::from_bits(pick as u16)
        };
        answer.best = Some(best);
        if sound {
            let replies = self.desk.table.game().position().play(best).legal_moves();
            answer.ponder = replies.iter().copied().nth(pick / 7 % replies.len().max(1));
        }
        let actions = self.desk.apply(Input::Thought {
            ticket,
            thought: answer,
        });
        self.take(actions);
    }

    /// The fate of the sending under way.
    fn answer(&mut self, reply: Reply, arrives: bool) {
        let Some((ticket, played)) = self.sent.take() else {
            return;
        };
        let fits = self.our_turn() && self.truth.position().is_legal(played);
        if arrives && fits && !self.over {
            self.truth.push(played);
        }
        if matches!(reply, Reply::Refused(_)) {
            self.refused_at = Some(self.desk.now);
        }
        let actions = self.desk.answer(ticket, reply.into());
        self.take(actions);
    }

    /// From here on the world behaves. The move must be sent and shown.
    fn calm(&mut self) {
        for _ in 0..200 {
            if self.over || !self.our_turn() || self.truth.position().legal_moves().is_empty() {
                return;
            }
            self.open(false);
            self.think(7, true);
            self.answer(Reply::Done, true);
            let actions = self.desk.wait(ms(2000));
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
        (ponder, human_pace) in any::<(bool, bool)>(),
        events in prop::collection::vec(event(), 1..120),
    ) {
        let mut settings = settings();
        settings.ponder = ponder;
        settings.clock.human_pace = human_pace;
        let mut storm = Storm::new(if white { Side::White } else { Side::Black }, settings);
        for event in &events {
            storm.happen(event);
        }
        storm.calm();
    }
}
