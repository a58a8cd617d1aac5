//! The scheduler in virtual time: what waits, what is refused, and that no storm gets through.

use proptest::prelude::*;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);
const SPACING: Duration = Duration::from_millis(300);

fn scheduler() -> (Scheduler, Instant) {
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
    let (mut scheduler, now) = scheduler();
    for class in EndpointClass::ALL {
        scheduler.limited(class, Some(MINUTE * 60), now);
    }
    for class in [
        EndpointClass::Move,
        EndpointClass::Act,
        EndpointClass::GameStream,
    ] {
        assert_eq!(scheduler.ask(class, 1, now), Decision::Go);
    }
}

#[test]
fn a_pause_holds_for_its_own_kind_and_ends() {
    let (mut scheduler, now) = scheduler();
    scheduler.limited(EndpointClass::Create, None, now);
    let half = now + MINUTE / 2;
    assert_eq!(
        scheduler.ask(EndpointClass::Create, 1, half),
        Decision::Refused(MINUTE / 2)
    );
    assert_eq!(scheduler.ask(EndpointClass::Answer, 1, now), Decision::Go);
    assert_eq!(
        scheduler.ask(EndpointClass::Create, 1, now + MINUTE),
        Decision::Go
    );
}

#[test]
fn no_look_up_delays_the_list_of_running_games() {
    let (mut scheduler, now) = scheduler();
    assert_eq!(scheduler.ask(EndpointClass::Lookup, 1, now), Decision::Go);
    assert_eq!(scheduler.ask(EndpointClass::Lookup, 1, now), Decision::Go);
    scheduler.limited(EndpointClass::Lookup, None, now);
    assert_eq!(scheduler.ask(EndpointClass::Playing, 1, now), Decision::Go);
}

#[test]
fn a_short_pause_is_waited_out() {
    let (mut scheduler, now) = scheduler();
    let second = Duration::from_secs(1);
    scheduler.limited(EndpointClass::Lookup, Some(second), now);
    let (ticket, at) = wait(scheduler.ask(EndpointClass::Lookup, 1, now));
    assert_eq!(at, now + second);
    assert_eq!(scheduler.poll(ticket, at), Decision::Go);
}

#[test]
fn the_servers_advice_overrides_our_guess() {
    let (mut scheduler, now) = scheduler();
    let advised = Duration::from_secs(27_594);
    assert_eq!(
        scheduler.limited(EndpointClass::Create, Some(advised), now),
        advised
    );
    assert_eq!(scheduler.pause(EndpointClass::Create, now), Some(advised));
    // A shorter word later does not shorten a pause that runs.
    scheduler.limited(EndpointClass::Create, Some(MINUTE), now);
    assert_eq!(scheduler.pause(EndpointClass::Create, now), Some(advised));
}

#[test]
fn guesses_grow_until_an_answer_comes() {
    let (mut scheduler, now) = scheduler();
    let mut now = now;
    let mut guess = |scheduler: &mut Scheduler| {
        let pause = scheduler.limited(EndpointClass::Create, None, now);
        // What was in flight with it says no more.
        assert_eq!(scheduler.limited(EndpointClass::Create, None, now), pause);
        now += pause;
        pause.as_secs()
    };
    let guesses: Vec<_> = (0..6).map(|_| guess(&mut scheduler)).collect();
    assert_eq!(guesses, [60, 120, 240, 480, 600, 600]);
    scheduler.ended(EndpointClass::Create, CallResult::Lost);
    assert_eq!(guess(&mut scheduler), 600);
    scheduler.ended(EndpointClass::Create, CallResult::Refused);
    assert_eq!(guess(&mut scheduler), 60);
}

/// Declines so many challenges, four at a time and 100 ms each. The one of number `refused` gets a 429,
/// and so does what is in flight with it; they are sent again. Returns the time that it took.
fn decline_all(
    scheduler: &mut Scheduler,
    mut now: Instant,
    many: usize,
    refused: usize,
) -> Duration {
    const CALL: Duration = Duration::from_millis(100);
    let begun = now;
    let (mut left, mut sent) = (many, 0);
    let mut in_flight: Vec<(Instant, bool)> = Vec::new();
    let mut limited = false;
    while left > 0 || !in_flight.is_empty() {
        let over: Vec<_> = in_flight.extract_if(.., |(end, _)| *end <= now).collect();
        for (_, hit) in over {
            if hit {
                scheduler.ended(EndpointClass::Decline, CallResult::Limited);
                scheduler.limited(EndpointClass::Decline, None, now);
                left += 1;
                limited = true;
            } else {
                scheduler.ended(EndpointClass::Decline, CallResult::Done);
            }
        }
        let mut next = in_flight.iter().map(|(end, _)| *end).min();
        while left > 0 && in_flight.len() < 4 {
            if let Some(rest) = scheduler.pause(EndpointClass::Decline, now) {
                next = next.into_iter().chain([now + rest]).min();
                break;
            }
            match scheduler.ask(EndpointClass::Decline, 1, now) {
                Decision::Go => {
                    (left, sent) = (left - 1, sent + 1);
                    in_flight.push((
                        now + CALL,
                        !limited && (refused..refused.saturating_add(4)).contains(&sent),
                    ));
                    next = next.into_iter().chain([now + CALL]).min();
                }
                Decision::Wait(ticket, at) => {
                    scheduler.leave(ticket);
                    next = next.into_iter().chain([at]).min();
                    break;
                }
                Decision::Refused(rest) => panic!("refused for {rest:?}"),
            }
        }
        now = next.unwrap_or(now).max(now);
    }
    now - begun
}

#[test]
fn five_hundred_challenges_are_declined_while_they_live() {
    let (mut scheduler, now) = scheduler();
    let took = decline_all(&mut scheduler, now, 500, usize::MAX);
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn a_429_amid_a_storm_pauses_declines_for_a_minute_and_then_they_go_on_more_slowly() {
    let (mut scheduler, now) = scheduler();
    let took = decline_all(&mut scheduler, now, 500, 150);
    assert!(took > MINUTE, "{took:?}");
    assert!(took < MINUTE * 3 / 2, "{took:?}");
    let quiet = now + MINUTE * 5;
    let slower = decline_all(&mut scheduler, quiet, 500, usize::MAX);
    assert!(
        slower > Duration::from_secs(20),
        "as fast again: {slower:?}"
    );
    let forgiven = decline_all(&mut scheduler, now + MINUTE * 20, 500, usize::MAX);
    assert!(forgiven < Duration::from_secs(20), "{forgiven:?}");
}

/// Two classes were refused within two seconds.
fn limited_address(first: EndpointClass, second: EndpointClass) -> (Scheduler, Instant) {
    let (mut scheduler, now) = scheduler();
    assert!(!scheduler.suspect(first, MINUTE, now));
    let now = now + Duration::from_secs(2);
    assert!(scheduler.suspect(second, MINUTE, now));
    (scheduler, now)
}

#[test]
fn two_kinds_of_call_refused_within_seconds_pause_everything_but_one_probe() {
    let (mut scheduler, now) = limited_address(EndpointClass::Chat, EndpointClass::Lookup);
    for class in EndpointClass::ALL
        .into_iter()
        .filter(|class| class.is_enforced())
    {
        let asked = scheduler.ask(class, 1, now);
        assert_eq!(asked, Decision::Refused(MINUTE), "{class:?}");
    }
    assert_eq!(scheduler.ask(EndpointClass::Move, 1, now), Decision::Go);
    let second = scheduler.ask(EndpointClass::Move, 1, now);
    assert_eq!(second, Decision::Refused(MINUTE / 30));
    // It was refused as well, and so it says nothing new.
    scheduler.ended(EndpointClass::Move, CallResult::Limited);
    assert!(!scheduler.suspect(EndpointClass::Move, MINUTE, now + SPACING));
    let after = now + MINUTE;
    for class in [
        EndpointClass::Playing,
        EndpointClass::EventStream,
        EndpointClass::Move,
    ] {
        assert_eq!(scheduler.ask(class, 1, after), Decision::Go, "{class:?}");
    }
}

#[test]
fn a_refused_move_is_the_probe_itself_and_a_played_one_ends_the_pause() {
    let (mut scheduler, now) = limited_address(EndpointClass::Chat, EndpointClass::Move);
    let again = scheduler.ask(EndpointClass::Move, 1, now);
    assert_eq!(again, Decision::Refused(MINUTE / 30));
    let later = now + MINUTE / 3;
    // What was sent before the pause says nothing about it.
    scheduler.ended(EndpointClass::GameStream, CallResult::Done);
    assert_eq!(scheduler.ask(EndpointClass::Move, 1, later), Decision::Go);
    assert!(scheduler.pause(EndpointClass::Playing, later).is_some());
    scheduler.ended(EndpointClass::Move, CallResult::Done);
    assert_eq!(
        scheduler.ask(EndpointClass::Playing, 1, later),
        Decision::Go
    );
}

#[test]
fn a_refused_act_which_an_opponent_can_cause_delays_no_move() {
    let (act, chat) = (EndpointClass::Act, EndpointClass::Chat);
    for (first, second) in [(act, chat), (chat, act)] {
        let (mut scheduler, now) = limited_address(first, second);
        let turn = scheduler.ask(EndpointClass::Move, 1, now);
        assert_eq!(turn, Decision::Go, "{first:?} {second:?}");
    }
}

#[test]
fn refusals_of_one_kind_or_minutes_apart_are_no_limit_on_the_address() {
    let (mut scheduler, now) = scheduler();
    for seconds in [0, 1, 2] {
        let at = now + Duration::from_secs(seconds);
        assert!(!scheduler.suspect(EndpointClass::Chat, MINUTE, at));
    }
    assert!(!scheduler.suspect(EndpointClass::Create, MINUTE, now + MINUTE));
    // Two classes of calls to one endpoint.
    for class in [EndpointClass::Answer, EndpointClass::AcceptBot] {
        assert!(!scheduler.suspect(class, MINUTE, now + MINUTE * 2));
    }
    assert_eq!(
        scheduler.ask(EndpointClass::Playing, 1, now + MINUTE),
        Decision::Go
    );
}

#[test]
fn in_an_outage_all_games_together_open_a_few_streams_a_second() {
    let (mut scheduler, now) = scheduler();
    let second = Duration::from_secs(1);
    let openings = |scheduler: &mut Scheduler, now: Instant| {
        let mut sent = 0;
        for _ in 0..30 {
            match scheduler.ask(EndpointClass::GameStream, 1, now) {
                Decision::Go => sent += 1,
                Decision::Wait(ticket, _) => scheduler.leave(ticket),
                Decision::Refused(rest) => panic!("refused for {rest:?}"),
            }
        }
        sent
    };
    assert_eq!(
        openings(&mut scheduler, now),
        30,
        "after a start all at once"
    );
    scheduler.ended(EndpointClass::GameStream, CallResult::Lost);
    for n in 1..10 {
        let sent = openings(&mut scheduler, now + second * n);
        assert_eq!(sent, FAILING_OPENINGS);
        scheduler.ended(EndpointClass::GameStream, CallResult::Failed);
    }
    scheduler.ended(EndpointClass::GameStream, CallResult::Done);
    assert_eq!(
        openings(&mut scheduler, now + second * 10),
        30,
        "the outage is over"
    );
}

#[test]
fn only_calls_that_go_out_are_counted_as_sent() {
    let (mut scheduler, now) = scheduler();
    assert_eq!(scheduler.ask(EndpointClass::Lookup, 1, now), Decision::Go);
    scheduler.limited(EndpointClass::Lookup, None, now);
    assert!(matches!(
        scheduler.ask(EndpointClass::Lookup, 1, now),
        Decision::Refused(_)
    ));
    let stats = scheduler.stats();
    assert_eq!(
        (
            stats.sent(EndpointClass::Lookup),
            stats.held(EndpointClass::Lookup)
        ),
        (1, 1)
    );
}

#[test]
fn look_ups_go_two_at_a_time_and_apart() {
    let (mut scheduler, now) = scheduler();
    assert_eq!(scheduler.ask(EndpointClass::Lookup, 1, now), Decision::Go);
    assert_eq!(scheduler.ask(EndpointClass::Chat, 1, now), Decision::Go);
    let (third, _) = wait(scheduler.ask(EndpointClass::Lookup, 1, now));
    scheduler.over(EndpointClass::Chat);
    assert_eq!(
        scheduler.poll(third, now),
        Decision::Go,
        "three may follow each other"
    );
    scheduler.over(EndpointClass::Lookup);
    scheduler.over(EndpointClass::Lookup);
    let (fourth, at) = wait(scheduler.ask(EndpointClass::Lookup, 1, now));
    assert_eq!(at, now + SPACING);
    assert_eq!(scheduler.poll(fourth, at), Decision::Go);
    scheduler.over(EndpointClass::Lookup);
    let quiet = at + SPACING * 10;
    for _ in 0..3 {
        assert_eq!(scheduler.ask(EndpointClass::Lookup, 1, quiet), Decision::Go);
        scheduler.over(EndpointClass::Lookup);
    }
}

#[test]
fn urgent_calls_go_first_and_none_starves() {
    let (mut scheduler, now) = scheduler();
    assert_eq!(scheduler.ask(EndpointClass::Lookup, 1, now), Decision::Go);
    assert_eq!(scheduler.ask(EndpointClass::Lookup, 1, now), Decision::Go);
    let (lookup, _) = wait(scheduler.ask(EndpointClass::Lookup, 1, now));
    let (arena, _) = wait(scheduler.ask(EndpointClass::Arena, 1, now + SPACING));
    scheduler.over(EndpointClass::Lookup);
    let later = now + SPACING * 2;
    assert!(matches!(scheduler.poll(lookup, later), Decision::Wait(..)));
    assert_eq!(scheduler.poll(arena, later), Decision::Go);
    // Now the look-up has waited longer than politeness asks.
    scheduler.over(EndpointClass::Arena);
    let much_later = now + SPACING * AGED_AFTER;
    let (arena, _) = wait(scheduler.ask(EndpointClass::Arena, 1, much_later));
    assert_eq!(scheduler.poll(lookup, much_later), Decision::Go);
    scheduler.over(EndpointClass::Lookup);
    assert_eq!(scheduler.poll(arena, much_later), Decision::Go);
}

#[test]
fn a_cancelled_or_expired_call_blocks_no_other() {
    let (mut scheduler, now) = scheduler();
    assert_eq!(scheduler.ask(EndpointClass::Lookup, 1, now), Decision::Go);
    assert_eq!(scheduler.ask(EndpointClass::Lookup, 1, now), Decision::Go);
    let (gone, _) = wait(scheduler.ask(EndpointClass::Arena, 1, now));
    let (stays, until) = wait(scheduler.ask(EndpointClass::Chat, 1, now));
    scheduler.leave(gone);
    scheduler.over(EndpointClass::Lookup);
    assert_eq!(scheduler.poll(stays, now), Decision::Go);
    let (late, _) = wait(scheduler.ask(EndpointClass::Chat, 1, now));
    assert!(matches!(scheduler.poll(late, until), Decision::Refused(_)));
    assert!(matches!(scheduler.poll(late, until), Decision::Refused(_)));
}

#[test]
fn the_queue_is_bounded() {
    let (mut scheduler, now) = scheduler();
    let turns: Vec<_> = (0..100)
        .map(|_| scheduler.ask(EndpointClass::Chat, 1, now))
        .collect();
    let waiting = turns
        .iter()
        .filter(|turn| matches!(turn, Decision::Wait(..)));
    assert_eq!(waiting.count(), EndpointClass::Chat.most_waiting());
    assert!(matches!(turns[99], Decision::Refused(_)));
    assert!(
        matches!(
            scheduler.ask(EndpointClass::Arena, 1, now),
            Decision::Wait(..)
        ),
        "others have room"
    );
}

#[test]
fn a_challenge_to_a_human_costs_more() {
    let (mut scheduler, now) = scheduler();
    for _ in 0..4 {
        assert_eq!(scheduler.ask(EndpointClass::Create, 5, now), Decision::Go);
    }
    assert_eq!(
        scheduler.ask(EndpointClass::Create, 1, now),
        Decision::Refused(MINUTE)
    );
    assert_eq!(
        scheduler.ask(EndpointClass::Create, 1, now + MINUTE),
        Decision::Go
    );
}

#[test]
fn the_challenges_of_a_day_are_left_to_the_quota() {
    let (mut scheduler, now) = scheduler();
    for minutes in 0..100 {
        let now = now + MINUTE * minutes;
        for _ in 0..4 {
            assert_eq!(scheduler.ask(EndpointClass::Create, 5, now), Decision::Go);
        }
    }
}

/// One thing that happens to the simulated client.
#[derive(Clone, Debug)]
enum Step {
    Ask(EndpointClass, u32),
    Pass(u64),
    Limit(EndpointClass, Option<u64>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let class = || proptest::sample::select(EndpointClass::ALL.to_vec());
    let step = prop_oneof![
        6 => (class(), 1..6_u32).prop_map(|(class, cost)| Step::Ask(class, cost)),
        3 => (0..4_000_u64).prop_map(Step::Pass),
        1 => (class(), proptest::option::of(0..90_u64)).prop_map(|(s, w)| Step::Limit(s, w)),
    ];
    proptest::collection::vec(step, 1..400)
}

/// Carries steps out as the client would: anyone who waits asks again when told, a call lasts a while.
#[derive(Default)]
struct Simulation {
    waiting: Vec<(EndpointClass, u32, Ticket, Instant)>,
    under_way: Vec<(EndpointClass, Instant)>,
    sent: Vec<(EndpointClass, u32, Instant)>,
}

impl Simulation {
    fn turn(&mut self, class: EndpointClass, cost: u32, turn: Decision, now: Instant) {
        match turn {
            Decision::Go => {
                self.sent.push((class, cost, now));
                self.under_way
                    .push((class, now + Duration::from_millis(700)));
            }
            Decision::Wait(ticket, at) => self.waiting.push((class, cost, ticket, at)),
            Decision::Refused(rest) => assert!(!rest.is_zero()),
        }
    }

    /// The next moment at which anything is to be done.
    fn next(&self, until: Instant) -> Option<Instant> {
        let ends = self.under_way.iter().map(|(_, at)| *at);
        let asks = self.waiting.iter().map(|(.., at)| *at);
        ends.chain(asks).filter(|at| *at <= until).min()
    }

    fn pass(&mut self, scheduler: &mut Scheduler, mut now: Instant, until: Instant) {
        while let Some(at) = self.next(until) {
            now = now.max(at);
            for (class, _) in self.under_way.extract_if(.., |(_, end)| *end <= now) {
                scheduler.over(class);
            }
            // Whatever changes, everyone asks again.
            for (class, cost, ticket, _) in std::mem::take(&mut self.waiting) {
                let turn = scheduler.poll(ticket, now);
                self.turn(class, cost, turn, now);
            }
        }
    }
}

proptest! {
    #[test]
    fn no_limit_is_exceeded_and_no_move_waits(steps in steps()) {
        let timing = Timing::default();
        let (mut scheduler, mut now) = scheduler();
        let mut simulation = Simulation::default();
        for step in steps {
            match step {
                Step::Ask(class, cost) => {
                    let turn = scheduler.ask(class, cost, now);
                    if class == EndpointClass::Move {
                        prop_assert_eq!(turn, Decision::Go);
                    }
                    simulation.turn(class, cost, turn, now);
                }
                Step::Pass(ms) => {
                    let until = now + Duration::from_millis(ms);
                    simulation.pass(&mut scheduler, now, until);
                    now = until;
                }
                Step::Limit(class, wait) => {
                    scheduler.limited(class, wait.map(Duration::from_secs), now);
                }
            }
            let in_turn = |class: &EndpointClass| class.admission() == Admission::InTurn;
            let busy = simulation.under_way.iter().filter(|(class, _)| in_turn(class));
            prop_assert!(busy.count() <= AT_ONCE);
        }
        for class in EndpointClass::ALL {
            let sent: Vec<_> = simulation.sent.iter().filter(|it| it.0 == class).collect();
            for rate in class.rates(&timing) {
                for (first, &&(.., begin)) in sent.iter().enumerate() {
                    let within = sent[first..].iter().take_while(|it| it.2 < begin + rate.span);
                    let used: u32 = within.map(|it| it.1).sum();
                    prop_assert!(used <= rate.most, "{class:?}: {used} in {:?}", rate.span);
                }
            }
        }
        let turns: Vec<_> = simulation.sent.iter().filter(|it| it.0.admission() == Admission::InTurn).collect();
        for (first, begin) in turns.iter().enumerate() {
            for (more, end) in turns[first..].iter().enumerate() {
                let least = SPACING * (more as u32).saturating_sub(BURST - 1);
                prop_assert!(end.2 - begin.2 >= least);
            }
        }
    }
}
