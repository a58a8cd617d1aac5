//! The governor, told the time: what waits, what is refused, and that no storm gets through.

use proptest::prelude::*;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);
const SPACING: Duration = Duration::from_millis(300);

fn governor() -> (Governor, Instant) {
    (Governor::new(&Timing::default()), Instant::now())
}

fn wait(turn: Turn) -> (Ticket, Instant) {
    match turn {
        Turn::Wait(ticket, at) => (ticket, at),
        other => panic!("{other:?} where a wait was due"),
    }
}

#[test]
fn a_limit_on_anything_else_never_delays_a_move() {
    let (mut governor, now) = governor();
    for scope in Scope::ALL {
        governor.limited(scope, Some(MINUTE * 60), now);
    }
    for scope in [Scope::Move, Scope::Act, Scope::GameStream] {
        assert_eq!(governor.ask(scope, 1, now), Turn::Go);
    }
}

#[test]
fn a_pause_holds_for_its_own_kind_and_ends() {
    let (mut governor, now) = governor();
    governor.limited(Scope::Create, None, now);
    let half = now + MINUTE / 2;
    assert_eq!(
        governor.ask(Scope::Create, 1, half),
        Turn::Refused(MINUTE / 2)
    );
    assert_eq!(governor.ask(Scope::Answer, 1, now), Turn::Go);
    assert_eq!(governor.ask(Scope::Create, 1, now + MINUTE), Turn::Go);
}

#[test]
fn nothing_that_is_looked_up_keeps_the_running_games_from_us() {
    let (mut governor, now) = governor();
    assert_eq!(governor.ask(Scope::Lookup, 1, now), Turn::Go);
    assert_eq!(governor.ask(Scope::Lookup, 1, now), Turn::Go);
    governor.limited(Scope::Lookup, None, now);
    assert_eq!(governor.ask(Scope::Playing, 1, now), Turn::Go);
}

#[test]
fn the_end_of_a_short_pause_is_waited_for() {
    let (mut governor, now) = governor();
    let second = Duration::from_secs(1);
    governor.limited(Scope::Lookup, Some(second), now);
    let (ticket, at) = wait(governor.ask(Scope::Lookup, 1, now));
    assert_eq!(at, now + second);
    assert_eq!(governor.poll(ticket, at), Turn::Go);
}

#[test]
fn the_servers_word_counts_before_our_guess() {
    let (mut governor, now) = governor();
    let advised = Duration::from_secs(27_594);
    assert_eq!(governor.limited(Scope::Create, Some(advised), now), advised);
    assert_eq!(governor.pause(Scope::Create, now), Some(advised));
    // A shorter word later does not shorten a pause that runs.
    governor.limited(Scope::Create, Some(MINUTE), now);
    assert_eq!(governor.pause(Scope::Create, now), Some(advised));
}

#[test]
fn guesses_grow_until_an_answer_comes() {
    let (mut governor, now) = governor();
    let mut guess = || governor.limited(Scope::Create, None, now).as_secs();
    let guesses: Vec<_> = (0..6).map(|_| guess()).collect();
    assert_eq!(guesses, [60, 120, 240, 480, 600, 600]);
    governor.ended(Scope::Create, Outcome::Lost);
    assert_eq!(governor.limited(Scope::Create, None, now).as_secs(), 600);
    governor.ended(Scope::Create, Outcome::Refused);
    assert_eq!(governor.limited(Scope::Create, None, now), MINUTE);
}

#[test]
fn only_calls_that_go_out_are_counted_as_sent() {
    let (mut governor, now) = governor();
    assert_eq!(governor.ask(Scope::Lookup, 1, now), Turn::Go);
    governor.limited(Scope::Lookup, None, now);
    assert!(matches!(
        governor.ask(Scope::Lookup, 1, now),
        Turn::Refused(_)
    ));
    let tally = governor.tally();
    assert_eq!(
        (tally.sent(Scope::Lookup), tally.held(Scope::Lookup)),
        (1, 1)
    );
}

#[test]
fn look_ups_go_two_at_a_time_and_apart() {
    let (mut governor, now) = governor();
    assert_eq!(governor.ask(Scope::Lookup, 1, now), Turn::Go);
    assert_eq!(governor.ask(Scope::Chat, 1, now), Turn::Go);
    let (third, _) = wait(governor.ask(Scope::Lookup, 1, now));
    governor.over(Scope::Chat);
    assert_eq!(
        governor.poll(third, now),
        Turn::Go,
        "three may follow each other"
    );
    governor.over(Scope::Lookup);
    governor.over(Scope::Lookup);
    let (fourth, at) = wait(governor.ask(Scope::Lookup, 1, now));
    assert_eq!(at, now + SPACING);
    assert_eq!(governor.poll(fourth, at), Turn::Go);
    governor.over(Scope::Lookup);
    let quiet = at + SPACING * 10;
    for _ in 0..3 {
        assert_eq!(governor.ask(Scope::Lookup, 1, quiet), Turn::Go);
        governor.over(Scope::Lookup);
    }
}

#[test]
fn who_is_more_urgent_goes_first_but_nobody_waits_for_ever() {
    let (mut governor, now) = governor();
    assert_eq!(governor.ask(Scope::Lookup, 1, now), Turn::Go);
    assert_eq!(governor.ask(Scope::Lookup, 1, now), Turn::Go);
    let (lookup, _) = wait(governor.ask(Scope::Lookup, 1, now));
    let (decline, _) = wait(governor.ask(Scope::Decline, 1, now + SPACING));
    governor.over(Scope::Lookup);
    let later = now + SPACING * 2;
    assert!(matches!(governor.poll(lookup, later), Turn::Wait(..)));
    assert_eq!(governor.poll(decline, later), Turn::Go);
    // Now the look-up has waited longer than politeness asks.
    governor.over(Scope::Decline);
    let much_later = now + SPACING * AGED_AFTER;
    let (decline, _) = wait(governor.ask(Scope::Decline, 1, much_later));
    assert_eq!(governor.poll(lookup, much_later), Turn::Go);
    governor.over(Scope::Lookup);
    assert_eq!(governor.poll(decline, much_later), Turn::Go);
}

#[test]
fn a_caller_who_leaves_or_waits_too_long_blocks_nobody() {
    let (mut governor, now) = governor();
    assert_eq!(governor.ask(Scope::Lookup, 1, now), Turn::Go);
    assert_eq!(governor.ask(Scope::Lookup, 1, now), Turn::Go);
    let (gone, _) = wait(governor.ask(Scope::Decline, 1, now));
    let (stays, until) = wait(governor.ask(Scope::Chat, 1, now));
    governor.leave(gone);
    governor.over(Scope::Lookup);
    assert_eq!(governor.poll(stays, now), Turn::Go);
    let (late, _) = wait(governor.ask(Scope::Chat, 1, now));
    assert!(matches!(governor.poll(late, until), Turn::Refused(_)));
    assert!(matches!(governor.poll(late, until), Turn::Refused(_)));
}

#[test]
fn the_queue_has_an_end() {
    let (mut governor, now) = governor();
    let turns: Vec<_> = (0..100)
        .map(|_| governor.ask(Scope::Chat, 1, now))
        .collect();
    let waiting = turns.iter().filter(|turn| matches!(turn, Turn::Wait(..)));
    assert_eq!(waiting.count(), Scope::Chat.most_waiting());
    assert!(matches!(turns[99], Turn::Refused(_)));
    assert!(
        matches!(governor.ask(Scope::Decline, 1, now), Turn::Wait(..)),
        "others have room"
    );
}

#[test]
fn a_challenge_to_a_human_costs_more() {
    let (mut governor, now) = governor();
    for _ in 0..4 {
        assert_eq!(governor.ask(Scope::Create, 5, now), Turn::Go);
    }
    assert_eq!(governor.ask(Scope::Create, 1, now), Turn::Refused(MINUTE));
    assert_eq!(governor.ask(Scope::Create, 1, now + MINUTE), Turn::Go);
}

/// One thing that happens to the simulated client.
#[derive(Clone, Debug)]
enum Step {
    Ask(Scope, u32),
    Pass(u64),
    Limit(Scope, Option<u64>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let scope = || proptest::sample::select(Scope::ALL.to_vec());
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
    waiting: Vec<(Scope, u32, Ticket, Instant)>,
    under_way: Vec<(Scope, Instant)>,
    sent: Vec<(Scope, u32, Instant)>,
}

impl Simulation {
    fn turn(&mut self, scope: Scope, cost: u32, turn: Turn, now: Instant) {
        match turn {
            Turn::Go => {
                self.sent.push((scope, cost, now));
                self.under_way
                    .push((scope, now + Duration::from_millis(700)));
            }
            Turn::Wait(ticket, at) => self.waiting.push((scope, cost, ticket, at)),
            Turn::Refused(rest) => assert!(!rest.is_zero()),
        }
    }

    /// The next moment at which anything is to be done.
    fn next(&self, until: Instant) -> Option<Instant> {
        let ends = self.under_way.iter().map(|(_, at)| *at);
        let asks = self.waiting.iter().map(|(.., at)| *at);
        ends.chain(asks).filter(|at| *at <= until).min()
    }

    fn pass(&mut self, governor: &mut Governor, mut now: Instant, until: Instant) {
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
                    if scope == Scope::Move {
                        prop_assert_eq!(turn, Turn::Go);
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
            let in_turn = |scope: &Scope| scope.manner() == Manner::InTurn;
            let busy = simulation.under_way.iter().filter(|(scope, _)| in_turn(scope));
            prop_assert!(busy.count() <= AT_ONCE);
        }
        for scope in Scope::ALL {
            let sent: Vec<_> = simulation.sent.iter().filter(|it| it.0 == scope).collect();
            for rate in scope.rates(&timing) {
                for (first, &&(.., begin)) in sent.iter().enumerate() {
                    let within = sent[first..].iter().take_while(|it| it.2 < begin + rate.span);
                    let used: u32 = within.map(|it| it.1).sum();
                    prop_assert!(used <= rate.most, "{scope:?}: {used} in {:?}", rate.span);
                }
            }
        }
        let turns: Vec<_> = simulation.sent.iter().filter(|it| it.0.manner() == Manner::InTurn).collect();
        for (first, begin) in turns.iter().enumerate() {
            for (more, end) in turns[first..].iter().enumerate() {
                let least = SPACING * (more as u32).saturating_sub(BURST - 1);
                prop_assert!(end.2 - begin.2 >= least);
            }
        }
    }
}
