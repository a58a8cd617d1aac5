//! The governor, told the time: what waits, what is refused, and that no storm gets through.

use proptest::prelude::*;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);
const SPACING: Duration = Duration::from_millis(300);

fn governor() -> (Scheduler, Instant) {
    (Scheduler::new(&Timing::default()), Instant::now())
}

fn wait(turn: Decision) -> (Ticket, Instant) {
    match turn {
        Decision::Wait(ticket, at) => (ticket, at),
        other => panic!("{other:?} where a wait was due"),
    }
}

#[test]
fn a_limit_on_anything_else_never_delays_a_move() {
    let (mut governor, now) = governor();
    for scope in EndpointClass::ALL {
        governor.limited(scope, Some(MINUTE * 60), now);
    }
    for scope in [
        EndpointClass::Move,
        EndpointClass::Act,
        EndpointClass::GameStream,
    ] {
        assert_eq!(governor.ask(scope, 1, now), Decision::Go);
    }
}

#[test]
fn a_pause_holds_for_its_own_kind_and_ends() {
    let (mut governor, now) = governor();
    governor.limited(EndpointClass::Create, None, now);
    let half = now + MINUTE / 2;
    assert_eq!(
        governor.ask(EndpointClass::Create, 1, half),
        Decision::Refused(MINUTE / 2)
    );
    assert_eq!(governor.ask(EndpointClass::Answer, 1, now), Decision::Go);
    assert_eq!(
        governor.ask(EndpointClass::Create, 1, now + MINUTE),
        Decision::Go
    );
}

#[test]
fn nothing_that_is_looked_up_keeps_the_running_games_from_us() {
    let (mut governor, now) = governor();
    assert_eq!(governor.ask(EndpointClass::Lookup, 1, now), Decision::Go);
    assert_eq!(governor.ask(EndpointClass::Lookup, 1, now), Decision::Go);
    governor.limited(EndpointClass::Lookup, None, now);
    assert_eq!(governor.ask(EndpointClass::Playing, 1, now), Decision::Go);
}

#[test]
fn the_end_of_a_short_pause_is_waited_for() {
    let (mut governor, now) = governor();
    let second = Duration::from_secs(1);
    governor.limited(EndpointClass::Lookup, Some(second), now);
    let (ticket, at) = wait(governor.ask(EndpointClass::Lookup, 1, now));
    assert_eq!(at, now + second);
    assert_eq!(governor.poll(ticket, at), Decision::Go);
}

#[test]
fn the_servers_word_counts_before_our_guess() {
    let (mut governor, now) = governor();
    let advised = Duration::from_secs(27_594);
    assert_eq!(
        governor.limited(EndpointClass::Create, Some(advised), now),
        advised
    );
    assert_eq!(governor.pause(EndpointClass::Create, now), Some(advised));
    // A shorter word later does not shorten a pause that runs.
    governor.limited(EndpointClass::Create, Some(MINUTE), now);
    assert_eq!(governor.pause(EndpointClass::Create, now), Some(advised));
}

#[test]
fn guesses_grow_until_an_answer_comes() {
    let (mut governor, now) = governor();
    let mut guess = || governor.limited(EndpointClass::Create, None, now).as_secs();
    let guesses: Vec<_> = (0..6).map(|_| guess()).collect();
    assert_eq!(guesses, [60, 120, 240, 480, 600, 600]);
    governor.ended(EndpointClass::Create, CallResult::Lost);
    assert_eq!(
        governor.limited(EndpointClass::Create, None, now).as_secs(),
        600
    );
    governor.ended(EndpointClass::Create, CallResult::Refused);
    assert_eq!(governor.limited(EndpointClass::Create, None, now), MINUTE);
}

#[test]
fn only_calls_that_go_out_are_counted_as_sent() {
    let (mut governor, now) = governor();
    assert_eq!(governor.ask(EndpointClass::Lookup, 1, now), Decision::Go);
    governor.limited(EndpointClass::Lookup, None, now);
    assert!(matches!(
        governor.ask(EndpointClass::Lookup, 1, now),
        Decision::Refused(_)
    ));
    let tally = governor.tally();
    assert_eq!(
        (
            tally.sent(EndpointClass::Lookup),
            tally.held(EndpointClass::Lookup)
        ),
        (1, 1)
    );
}

#[test]
fn look_ups_go_two_at_a_time_and_apart() {
    let (mut governor, now) = governor();
    assert_eq!(governor.ask(EndpointClass::Lookup, 1, now), Decision::Go);
    assert_eq!(governor.ask(EndpointClass::Chat, 1, now), Decision::Go);
    let (third, _) = wait(governor.ask(EndpointClass::Lookup, 1, now));
    governor.over(EndpointClass::Chat);
    assert_eq!(
        governor.poll(third, now),
        Decision::Go,
        "three may follow each other"
    );
    governor.over(EndpointClass::Lookup);
    governor.over(EndpointClass::Lookup);
    let (fourth, at) = wait(governor.ask(EndpointClass::Lookup, 1, now));
    assert_eq!(at, now + SPACING);
    assert_eq!(governor.poll(fourth, at), Decision::Go);
    governor.over(EndpointClass::Lookup);
    let quiet = at + SPACING * 10;
    for _ in 0..3 {
        assert_eq!(governor.ask(EndpointClass::Lookup, 1, quiet), Decision::Go);
        governor.over(EndpointClass::Lookup);
    }
}

#[test]
fn who_is_more_urgent_goes_first_but_nobody_waits_for_ever() {
    let (mut governor, now) = governor();
    assert_eq!(governor.ask(EndpointClass::Lookup, 1, now), Decision::Go);
    assert_eq!(governor.ask(EndpointClass::Lookup, 1, now), Decision::Go);
    let (lookup, _) = wait(governor.ask(EndpointClass::Lookup, 1, now));
    let (decline, _) = wait(governor.ask(EndpointClass::Decline, 1, now + SPACING));
    governor.over(EndpointClass::Lookup);
    let later = now + SPACING * 2;
    assert!(matches!(governor.poll(lookup, later), Decision::Wait(..)));
    assert_eq!(governor.poll(decline, later), Decision::Go);
    // Now the look-up has waited longer than politeness asks.
    governor.over(EndpointClass::Decline);
    let much_later = now + SPACING * AGED_AFTER;
    let (decline, _) = wait(governor.ask(EndpointClass::Decline, 1, much_later));
    assert_eq!(governor.poll(lookup, much_later), Decision::Go);
    governor.over(EndpointClass::Lookup);
    assert_eq!(governor.poll(decline, much_later), Decision::Go);
}

#[test]
fn a_caller_who_leaves_or_waits_too_long_blocks_nobody() {
    let (mut governor, now) = governor();
    assert_eq!(governor.ask(EndpointClass::Lookup, 1, now), Decision::Go);
    assert_eq!(governor.ask(EndpointClass::Lookup, 1, now), Decision::Go);
    let (gone, _) = wait(governor.ask(EndpointClass::Decline, 1, now));
    let (stays, until) = wait(governor.ask(EndpointClass::Chat, 1, now));
    governor.leave(gone);
    governor.over(EndpointClass::Lookup);
    assert_eq!(governor.poll(stays, now), Decision::Go);
    let (late, _) = wait(governor.ask(EndpointClass::Chat, 1, now));
    assert!(matches!(governor.poll(late, until), Decision::Refused(_)));
    assert!(matches!(governor.poll(late, until), Decision::Refused(_)));
}

#[test]
fn the_queue_has_an_end() {
    let (mut governor, now) = governor();
    let turns: Vec<_> = (0..100)
        .map(|_| governor.ask(EndpointClass::Chat, 1, now))
        .collect();
    let waiting = turns
        .iter()
        .filter(|turn| matches!(turn, Decision::Wait(..)));
    assert_eq!(waiting.count(), EndpointClass::Chat.most_waiting());
    assert!(matches!(turns[99], Decision::Refused(_)));
    assert!(
        matches!(
            governor.ask(EndpointClass::Decline, 1, now),
            Decision::Wait(..)
        ),
        "others have room"
    );
}

#[test]
fn a_challenge_to_a_human_costs_more() {
    let (mut governor, now) = governor();
    for _ in 0..4 {
        assert_eq!(governor.ask(EndpointClass::Create, 5, now), Decision::Go);
    }
    assert_eq!(
        governor.ask(EndpointClass::Create, 1, now),
        Decision::Refused(MINUTE)
    );
    assert_eq!(
        governor.ask(EndpointClass::Create, 1, now + MINUTE),
        Decision::Go
    );
}

/// One thing that happens to the simulated client.
#[derive(Clone, Debug)]
enum Step {
    Ask(EndpointClass, u32),
    Pass(u64),
    Limit(EndpointClass, Option<u64>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let scope = || proptest::sample::select(EndpointClass::ALL.to_vec());
    let step = prop_oneof![
        6 => (scope(), 1..6_u32).prop_map(|(scope, cost)| Step::Ask(scope, cost)),
        3 => (0..4_000_u64).prop_map(Step::Pass),
        1 => (scope(), proptest::option::of(0..90_u64)).prop_map(|(s, w)| Step::Limit(s, w)),
    ];
    proptest::collection::vec(step, 1..400)
}

/// Carries steps out as the client would: whoever waits asks again when told, a call lasts a while.
#[derive(Default)]
struct Simulation {
    waiting: Vec<(EndpointClass, u32, Ticket, Instant)>,
    under_way: Vec<(EndpointClass, Instant)>,
    sent: Vec<(EndpointClass, u32, Instant)>,
}

impl Simulation {
    fn turn(&mut self, scope: EndpointClass, cost: u32, turn: Decision, now: Instant) {
        match turn {
            Decision::Go => {
                self.sent.push((scope, cost, now));
                self.under_way
                    .push((scope, now + Duration::from_millis(700)));
            }
            Decision::Wait(ticket, at) => self.waiting.push((scope, cost, ticket, at)),
            Decision::Refused(rest) => assert!(!rest.is_zero()),
        }
    }

    /// The next moment at which anything is to be done.
    fn next(&self, until: Instant) -> Option<Instant> {
        let ends = self.under_way.iter().map(|(_, at)| *at);
        let asks = self.waiting.iter().map(|(.., at)| *at);
        ends.chain(asks).filter(|at| *at <= until).min()
    }

    fn pass(&mut self, governor: &mut Scheduler, mut now: Instant, until: Instant) {
        while let Some(at) = self.next(until) {
            now = now.max(at);
            for (scope, _) in self.under_way.extract_if(.., |(_, end)| *end <= now) {
                governor.over(scope);
            }
            // Whatever changes, everybody asks again.
            for (scope, cost, ticket, _) in std::mem::take(&mut self.waiting) {
                let turn = governor.poll(ticket, now);
                self.turn(scope, cost, turn, now);
            }
        }
    }
}

proptest! {
    #[test]
    fn whatever_is_asked_no_limit_is_overdrawn_and_no_move_waits(steps in steps()) {
        let timing = Timing::default();
        let (mut governor, mut now) = governor();
        let mut simulation = Simulation::default();
        for step in steps {
            match step {
                Step::Ask(scope, cost) => {
                    let turn = governor.ask(scope, cost, now);
                    if scope == EndpointClass::Move {
                        prop_assert_eq!(turn, Decision::Go);
                    }
                    simulation.turn(scope, cost, turn, now);
                }
                Step::Pass(ms) => {
                    let until = now + Duration::from_millis(ms);
                    simulation.pass(&mut governor, now, until);
                    now = until;
                }
                Step::Limit(scope, wait) => {
                    governor.limited(scope, wait.map(Duration::from_secs), now);
                }
            }
            let in_turn = |scope: &EndpointClass| scope.manner() == Admission::InTurn;
            let busy = simulation.under_way.iter().filter(|(scope, _)| in_turn(scope));
            prop_assert!(busy.count() <= AT_ONCE);
        }
        for scope in EndpointClass::ALL {
            let sent: Vec<_> = simulation.sent.iter().filter(|it| it.0 == scope).collect();
            for rate in scope.rates(&timing) {
                for (first, &&(.., begin)) in sent.iter().enumerate() {
                    let within = sent[first..].iter().take_while(|it| it.2 < begin + rate.span);
                    let used: u32 = within.map(|it| it.1).sum();
                    prop_assert!(used <= rate.most, "{scope:?}: {used} in {:?}", rate.span);
                }
            }
        }
        let turns: Vec<_> = simulation.sent.iter().filter(|it| it.0.manner() == Admission::InTurn).collect();
        for (first, begin) in turns.iter().enumerate() {
            for (more, end) in turns[first..].iter().enumerate() {
                let least = SPACING * (more as u32).saturating_sub(BURST - 1);
                prop_assert!(end.2 - begin.2 >= least);
            }
        }
    }
}
