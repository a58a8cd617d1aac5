//! Tests of matchmaking in virtual time: attempts from the list to the game. `series`: one game after
//! another.

mod sequence;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;

use super::{Directory, MatchmakingEffect as Effect, *};
use crate::bot::matchmaking::challenge_request::Initiator;
use crate::bot::matchmaking::cooldown::refusals;
use crate::bot::quota::{Denied, OpponentKind, Permit};
use crate::bot::state::{BotState, StateRules};
use crate::config::Profile;
use crate::lichess::{
    Account, Challenge, ChallengeStatus, ColorChoice, Event, GameId, Perf, Player, Presence,
};
use crate::store::{Store, Timestamp};

const MINUTE: Duration = Duration::from_secs(60);
const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

fn me() -> UserId {
    UserId::new("Megaton")
}

fn game_over() -> AccountEvent {
    AccountEvent::Left {
        game: GameId::new("g1"),
        seen: true,
    }
}

fn user(name: &str) -> UserId {
    UserId::new(name)
}

/// Avoids no one and allows everything, unless set otherwise.
struct TestDirectory {
    state: BotState,
    forbidden: Vec<&'static str>,
    avoided: Vec<&'static str>,
    unrated: Vec<&'static str>,
    barred: Option<(Timestamp, Denied)>,
    playing: bool,
}

impl Directory for TestDirectory {
    fn rests(&self, key: &str) -> bool {
        self.state.resting(key).is_some()
    }

    fn forbids(&self, user: &UserId) -> bool {
        self.forbidden.contains(&user.as_str())
    }

    fn avoids(&self, user: &UserId) -> bool {
        self.forbids(user) || self.avoided.contains(&user.as_str())
    }

    fn may_rate(&self, user: &UserId) -> bool {
        !self.unrated.contains(&user.as_str())
    }

    fn plays(&self, _: &UserId, _: u32) -> bool {
        self.playing
    }

    fn may_challenge(&self, _: OpponentKind) -> Permit {
        match self.barred {
            Some((at, denied)) => Permit::Later { at, denied },
            None => Permit::Granted,
        }
    }

    fn results(&self, _: &UserId) -> (f64, u32) {
        (0.0, 0)
    }

    fn budget(&self) -> u32 {
        50
    }
}

/// A matchmaker with a clock, a directory and an account state of one slot.
struct World {
    matchmaker: Matchmaker,
    begun: Instant,
    passed: Duration,
    directory: TestDirectory,
    spare: usize,
    games: usize,
    held: bool,
    bots: Vec<(&'static str, i32)>,
    offline: Vec<&'static str>,
    rests_kept: usize,
    clock: Arc<AtomicU64>,
}

impl World {
    fn new(rules: Matchmaking) -> Self {
        let begun = Instant::now();
        let clock = Arc::new(AtomicU64::new(START.as_millis()));
        let told = Arc::clone(&clock);
        let (store, kept) = Store::nowhere();
        let time = move || UNIX_EPOCH + Duration::from_millis(told.load(Ordering::Relaxed));
        let state = BotState::with_clock(store, kept, StateRules::default(), Arc::new(time));
        Self {
            matchmaker: Matchmaker::new(me(), Arc::new(rules), 7, begun),
            begun,
            passed: Duration::ZERO,
            directory: TestDirectory {
                state,
                forbidden: Vec::new(),
                avoided: Vec::new(),
                unrated: Vec::new(),
                barred: None,
                playing: false,
            },
            spare: 1,
            games: 0,
            held: false,
            bots: vec![("near", 2010), ("far", 2250), ("weak", 1700)],
            offline: Vec::new(),
            rests_kept: 0,
            clock,
        }
    }

    fn enabled() -> Self {
        Self::new(Matchmaking {
            enabled: true,
            ..Matchmaking::default()
        })
    }

    fn handle(&mut self, received: &AccountEvent) -> Vec<Effect> {
        let moment = START + self.passed;
        self.clock.store(moment.as_millis(), Ordering::Relaxed);
        let around = MatchContext {
            now: self.begun + self.passed,
            moment,
            spare: self.spare,
            spare_for_humans: self.spare,
            for_bots: 1,
            games: self.games,
            held: self.held,
            game: match received {
                AccountEvent::Event(Event::GameStart(game)) => Some(&game.id),
                _ => None,
            },
            directory: &self.directory,
        };
        let mut effects = self.matchmaker.handle(received, &around);
        for effect in &effects {
            match effect {
                Effect::Create(_) => (self.held, self.spare) = (true, 0),
                Effect::Release => (self.held, self.spare) = (false, 1),
                Effect::Rest(rest) => {
                    self.rests_kept += 1;
                    let reason = Some(rest.reason);
                    self.directory
                        .state
                        .cool(&rest.key, rest.first, rest.most, reason);
                }
                Effect::Forgive(user, _) => {
                    self.directory.state.clear_cooldowns(&refusals(user));
                }
                _ => {}
            }
        }
        effects.retain(|effect| !matches!(effect, Effect::Rest(_) | Effect::Forgive(..)));
        effects
    }

    fn pass(&mut self, time: Duration) -> Vec<Effect> {
        self.passed += time;
        self.handle(&AccountEvent::Tick)
    }

    /// The effects after the answer to a look-up; `None` if the effects ask for something else.
    fn answer(&mut self, effects: &[Effect]) -> Option<Vec<Effect>> {
        Some(match effects {
            [Effect::List] => {
                let listed = accounts(&self.bots);
                self.handle(&AccountEvent::BotsListed(listed))
            }
            [Effect::LookUp(users)] => {
                let seen = users
                    .iter()
                    .map(|id| Presence {
                        id: id.clone(),
                        title: Some("BOT".to_owned()),
                        online: !self.offline.contains(&id.as_str()),
                        playing: false,
                    })
                    .collect();
                self.handle(&AccountEvent::UsersSeen(seen))
            }
            _ => return None,
        })
    }

    /// Answers look-ups until another effect is due; returns it, if any.
    fn until_something(&mut self, mut effects: Vec<Effect>) -> Vec<Effect> {
        while let Some(next) = self.answer(&effects) {
            effects = next;
        }
        effects
    }

    /// Passes time until a challenge is to be made.
    fn next_offer(&mut self) -> ChallengeRequest {
        self.offer_within(MINUTE * 60 * 24 * 11)
            .expect("a challenge in eleven days")
    }

    fn offers_within(&mut self, time: Duration) -> bool {
        self.offer_within(time).is_some()
    }

    fn offer_within(&mut self, time: Duration) -> Option<ChallengeRequest> {
        let end = self.passed + time;
        while self.passed < end {
            let effects = self.pass(Duration::from_secs(10));
            if let [Effect::Create(offer)] = self.until_something(effects).as_slice() {
                return Some((**offer).clone());
            }
        }
        None
    }

    fn decline(&mut self, offer: &ChallengeRequest, reason: &str) {
        self.handle(&AccountEvent::Created(Box::new(challenge("c", offer))));
        let mut declined = challenge("c", offer);
        declined.decline_reason = Some(DeclineReason::from_word(reason));
        let event = Event::ChallengeDeclined(Box::new(declined));
        assert_eq!(self.handle(&AccountEvent::Event(event)), [Effect::Release]);
    }

    fn accept(&mut self, offer: &ChallengeRequest) {
        self.handle(&AccountEvent::Created(Box::new(challenge("c", offer))));
        self.held = false;
        let event = Event::GameStart(Box::new(game("c", &offer.to)));
        assert_eq!(self.handle(&AccountEvent::Event(event)), []);
        self.spare = 1;
    }
}

fn accounts(bots: &[(&str, i32)]) -> Vec<Account> {
    let account = |name: &str, rating| Account {
        id: user(name),
        username: name.to_owned(),
        title: Some("BOT".to_owned()),
        perfs: HashMap::from([(
            "atomic".to_owned(),
            Perf {
                games: 10,
                rating: Some(rating),
                ..Perf::default()
            },
        )]),
        games: None,
        created_at: None,
        bio: None,
        disabled: false,
        tos_violation: false,
    };
    let others = bots.iter().map(|(name, rating)| account(name, *rating));
    others.chain([account("megaton", 2000)]).collect()
}

fn challenge(id: &str, offer: &ChallengeRequest) -> Challenge {
    let player = |id: &UserId| {
        Some(Player {
            id: Some(id.clone()),
            ..Player::default()
        })
    };
    Challenge {
        id: ChallengeId::new(id),
        status: ChallengeStatus::Created,
        challenger: player(&me()),
        dest_user: player(&offer.to),
        variant: crate::lichess::Variant::Atomic,
        rated: offer.profile.rated,
        speed: offer.speed(),
        time_control: crate::lichess::TimeControl::Unknown,
        color: offer.color,
        final_color: None,
        direction: None,
        initial_fen: None,
        rematch_of: None,
        rules: Vec::new(),
        decline_reason: None,
        open: false,
        line: None,
    }
}

fn game(id: &str, opponent: &UserId) -> crate::lichess::GameInfo {
    let line = format!(
        r#"{{"type":"gameStart","game":{{"gameId":"{id}","id":"{id}","color":"white",
        "opponent":{{"id":"{opponent}","username":"{opponent}"}},"variant":{{"key":"atomic"}},
        "speed":"blitz","rated":true}}}}"#
    );
    match Event::from_line(&line).unwrap().value {
        Event::GameStart(game) => *game,
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_is_off_unless_turned_on() {
    let mut world = World::new(Matchmaking::default());
    assert!(!world.offers_within(MINUTE * 60 * 24));
    assert_eq!(world.matchmaker.next_timeout(), None);
}

#[test]
fn after_an_idle_while_the_nearest_is_challenged_with_white() {
    let mut world = World::enabled();
    assert_eq!(world.pass(MINUTE * 4), []);
    let effects = world.pass(MINUTE);
    assert_eq!(effects, [Effect::List]);
    let effects = world.until_something(effects);
    let [Effect::Create(offer)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert_eq!(offer.to, user("near"));
    assert_eq!(
        (offer.color, offer.target),
        (ColorChoice::White, OpponentKind::Bot)
    );
}

#[test]
fn no_bot_that_is_away_avoided_or_not_to_be_rated_is_challenged() {
    let mut world = World::enabled();
    world.offline = vec!["near"];
    assert_eq!(world.next_offer().to, user("far"));
    let mut world = World::enabled();
    world.directory.avoided = vec!["near"];
    world.directory.unrated = vec!["far"];
    assert_eq!(world.next_offer().to, user("weak"));
}

#[test]
fn it_waits_while_games_run_or_no_slot_is_spare() {
    let mut world = World::enabled();
    world.games = 1;
    assert!(!world.offers_within(MINUTE * 30));
    assert_eq!(
        world.matchmaker.next_timeout(),
        None,
        "the end of the game wakes it"
    );
    world.games = 0;
    world.spare = 0;
    assert!(!world.offers_within(MINUTE * 30));
    world.spare = 1;
    assert!(world.offers_within(MINUTE));
    let mut world = World::new(Matchmaking {
        enabled: true,
        during_games: true,
        ..Matchmaking::default()
    });
    world.games = 1;
    assert!(world.offers_within(MINUTE * 6));
}

#[test]
fn beside_games_it_goes_on_however_often_one_begins_or_ends() {
    let mut world = World::new(Matchmaking {
        enabled: true,
        during_games: true,
        ..Matchmaking::default()
    });
    world.games = 3;
    let busy = |world: &mut World| {
        (0..30).any(|_| {
            let effects = world.handle(&game_over());
            let effects = world.until_something(effects);
            matches!(effects[..], [Effect::Create(_)]) || world.offers_within(MINUTE * 2)
        })
    };
    assert!(busy(&mut world));
    // Without a game it waits for the idle time.
    let mut world = World::new(Matchmaking {
        enabled: true,
        during_games: true,
        ..Matchmaking::default()
    });
    assert!(!busy(&mut world));
}

#[test]
fn after_a_decline_the_next_bot_is_challenged_after_the_spacing() {
    let mut world = World::enabled();
    let first = world.next_offer();
    let asked = world.passed;
    world.decline(&first, "later");
    let second = world.next_offer();
    assert_ne!(second.to, first.to);
    assert!(world.passed >= asked + MINUTE);
}

#[test]
fn when_all_have_declined_no_one_is_challenged_until_a_cooldown_ends() {
    let mut world = World::enabled();
    for _ in 0..3 {
        let offer = world.next_offer();
        world.decline(&offer, "nobot");
    }
    assert!(!world.offers_within(MINUTE * 60 * 20));
    assert!(world.offers_within(MINUTE * 60 * 5), "after a day");
}

#[test]
fn too_fast_is_answered_with_a_slower_profile() {
    let rapid = Profile {
        name: "rapid".to_owned(),
        base: Duration::from_secs(600),
        ..Profile::default()
    };
    let mut world = World::new(Matchmaking {
        enabled: true,
        profile: vec![Profile::default(), rapid],
        ..Matchmaking::default()
    });
    world.bots = vec![("near", 2000)];
    for _ in 0..20 {
        let offer = world.next_offer();
        if offer.profile.name == "blitz" {
            world.decline(&offer, "toofast");
            assert_eq!(world.next_offer().profile.name, "rapid");
            return;
        }
        world.handle(&AccountEvent::NotCreated(NotCreated::NoSlot));
    }
    panic!("the blitz profile is never drawn");
}

/// The event stream shows the bot's own challenge.
fn echo(challenge: Box<Challenge>) -> Event {
    Event::Challenge {
        challenge,
        compat: None,
    }
}

#[test]
fn a_challenge_without_an_answer_is_withdrawn_and_starts_a_cooldown() {
    let mut world = World::enabled();
    let offer = world.next_offer();
    let created = AccountEvent::Created(Box::new(challenge("c", &offer)));
    assert_eq!(
        world.handle(&created),
        [Effect::Held(ChallengeId::new("c"))]
    );
    assert_eq!(world.pass(Duration::from_secs(19)), []);
    assert_eq!(world.pass(Duration::from_secs(1)), [Effect::Withdraw]);
    assert_eq!(world.pass(Duration::from_secs(1)), []);
    // The account state has withdrawn it.
    (world.held, world.spare) = (false, 1);
    assert_eq!(world.pass(Duration::from_secs(1)), [Effect::Release]);
    assert_ne!(world.next_offer().to, offer.to);
}

#[test]
fn a_game_that_begins_while_the_challenge_is_withdrawn_counts() {
    let ways: [fn(crate::lichess::GameInfo) -> AccountEvent; 2] = [
        |game| AccountEvent::Event(Event::GameStart(Box::new(game))),
        |game| AccountEvent::Running(vec![game]),
    ];
    for way in ways {
        let mut world = World::enabled();
        let offer = world.next_offer();
        world.handle(&AccountEvent::Created(Box::new(challenge("c", &offer))));
        world.pass(MINUTE);
        (world.held, world.spare) = (false, 1);
        assert_eq!(world.handle(&way(game("c", &offer.to))), []);
        let second = world.next_offer();
        assert_eq!((second.to, second.color), (offer.to, ColorChoice::Black));
    }
}

#[test]
fn an_opponent_is_met_with_both_colours_and_then_left_to_others() {
    let mut world = World::enabled();
    let first = world.next_offer();
    world.accept(&first);
    world.games = 1;
    assert!(!world.offers_within(MINUTE * 10), "one game at a time");
    world.games = 0;
    // The second game does not wait for the idle time.
    let over = world.handle(&game_over());
    let effects = world.until_something(over);
    let [Effect::Create(second)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert_eq!((&second.to, second.color), (&first.to, ColorChoice::Black));
    world.accept(second);
    let third = world.next_offer();
    assert_ne!(third.to, first.to);
    assert_eq!(third.color, ColorChoice::White);
}

#[test]
fn an_opponent_who_has_played_is_left_to_others_even_if_the_second_game_is_declined() {
    let mut world = World::enabled();
    let first = world.next_offer();
    world.accept(&first);
    let second = world.next_offer();
    assert_eq!((&second.to, second.color), (&first.to, ColorChoice::Black));
    world.decline(&second, "later");
    for _ in 0..2 {
        let other = world.next_offer();
        assert_ne!(other.to, first.to);
        world.decline(&other, "nobot");
    }
    assert!(!world.offers_within(MINUTE * 60));
}

#[test]
fn an_incoming_challenge_takes_the_slot_and_starts_no_cooldown() {
    let mut world = World::enabled();
    let offer = world.next_offer();
    world.handle(&AccountEvent::Created(Box::new(challenge("c", &offer))));
    // The account state withdrew it and gave the slot to an incoming challenge.
    (world.held, world.games) = (false, 1);
    assert_eq!(world.handle(&AccountEvent::Tick), [Effect::Release]);
    assert_eq!(world.rests_kept, 0, "no cooldown starts");
    (world.games, world.spare) = (0, 1);
    assert_eq!(world.next_offer().to, offer.to);
}

#[test]
fn limits_are_waited_for_and_reported_to_the_quota() {
    let hour = MINUTE * 60;
    let mut world = World::enabled();
    world.next_offer();
    let limited = AccountEvent::NotCreated(NotCreated::Limited(hour));
    assert_eq!(world.handle(&limited), [Effect::Release]);
    assert!(!world.offers_within(MINUTE * 59));
    let offer = world.next_offer();
    // The bot state has recorded whose daily limit is spent.
    world.directory.avoided = vec!["near", "far"];
    let spent = AccountEvent::NotCreated(NotCreated::TheirDay);
    assert_eq!(world.handle(&spent), [Effect::Release]);
    assert_eq!(
        (offer.to, world.next_offer().to),
        (user("near"), user("weak"))
    );
    world.handle(&AccountEvent::NotCreated(NotCreated::NoSlot));
    world.directory.avoided.clear();
    world.directory.barred = Some((START + world.passed + hour, Denied::Credits));
    assert!(!world.offers_within(hour));
}

#[test]
fn a_profile_that_the_server_makes_casual_is_left_out() {
    let mut world = World::enabled();
    let offer = world.next_offer();
    let mut casual = challenge("c", &offer);
    casual.rated = false;
    let effects = world.handle(&AccountEvent::Created(Box::new(casual)));
    assert_eq!(
        effects,
        [Effect::Held(ChallengeId::new("c")), Effect::Withdraw]
    );
    (world.held, world.spare) = (false, 1);
    assert!(!world.offers_within(MINUTE * 60));
}

#[test]
fn closing_withdraws_the_open_challenge() {
    let mut world = World::enabled();
    let offer = world.next_offer();
    world.handle(&AccountEvent::Created(Box::new(challenge("c", &offer))));
    assert_eq!(world.matchmaker.set_open(false), [Effect::Withdraw]);
    (world.held, world.spare) = (false, 1);
    assert!(!world.offers_within(MINUTE * 60));
    let manual = ChallengeRequest::manual("x1", None, &[]).unwrap();
    assert_eq!(
        world.matchmaker.queue_manual(manual),
        Err(ManualChallengeError::Closed)
    );
    world.matchmaker.set_open(true);
    assert!(world.offers_within(MINUTE * 60));
}

#[test]
fn profiles_are_drawn_by_weight_and_hour() {
    let profile = |name: &str, weight, hours: &str| Profile {
        name: name.to_owned(),
        weight,
        hours: hours.parse().unwrap(),
        ..Profile::default()
    };
    let mut world = World::new(Matchmaking {
        enabled: true,
        profile: vec![
            profile("often", 9, "0-24"),
            profile("seldom", 1, "0-24"),
            profile("never", 0, "0-24"),
            profile("morning", 1000, "0-1"),
        ],
        ..Matchmaking::default()
    });
    let mut drawn: HashMap<String, u32> = HashMap::new();
    for _ in 0..200 {
        world.passed += Duration::from_secs(3600) * 2;
        let offer = world.next_offer();
        *drawn.entry(offer.profile.name.clone()).or_default() += 1;
        world.handle(&AccountEvent::NotCreated(NotCreated::NoSlot));
        (world.held, world.spare) = (false, 1);
    }
    assert!(drawn["often"] > drawn["seldom"], "{drawn:?}");
    assert!(
        drawn.contains_key("morning") && !drawn.contains_key("never"),
        "{drawn:?}"
    );
}

/// An event for matchmaking, whose invariants hold under any of them in any order.
#[derive(Clone, Debug)]
enum Step {
    Pass(u64),
    Answer(u8),
    Slots(usize, usize),
    Order,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..400_u64).prop_map(Step::Pass),
        6 => (0..15_u8).prop_map(Step::Answer),
        1 => (0..2_usize, 0..3_usize).prop_map(|(spare, games)| Step::Slots(spare, games)),
        1 => Just(Step::Order),
    ]
}

/// One of the answers that may come at any time, expected or not.
fn answer(world: &World, kind: u8, last: &ChallengeRequest) -> AccountEvent {
    let ours = challenge("c", last);
    match kind {
        0 => AccountEvent::BotsListed(accounts(&world.bots)),
        1 => AccountEvent::BotsNotListed(None),
        2 => AccountEvent::UsersNotSeen,
        3 => AccountEvent::Created(Box::new(ours)),
        4 => AccountEvent::NotCreated(NotCreated::Lost),
        5 => AccountEvent::NotCreated(NotCreated::Refused("no".to_owned())),
        6 => AccountEvent::NotCreated(NotCreated::Limited(MINUTE)),
        7 => AccountEvent::Outgoing(Some(vec![ours])),
        8 => AccountEvent::Outgoing(None),
        9 | 10 | 13 => AccountEvent::ChallengeDone {
            id: ChallengeId::new(if kind == 13 { "earlier" } else { "c" }),
            status: [ChallengeStatus::Accepted, ChallengeStatus::Declined][usize::from(kind == 9)],
        },
        11 => AccountEvent::Event(Event::ChallengeDeclined(Box::new(ours))),
        12 => AccountEvent::Event(Event::GameStart(Box::new(game("c", &last.to)))),
        _ => AccountEvent::UsersSeen(
            world
                .bots
                .iter()
                .map(|(name, _)| Presence {
                    id: user(name),
                    title: None,
                    online: true,
                    playing: false,
                })
                .collect(),
        ),
    }
}

proptest! {
    #[test]
    fn no_two_challenges_come_within_the_spacing_nor_without_a_slot(
        steps in proptest::collection::vec(step(), 1..300),
    ) {
        let mut world = World::enabled();
        let mut last = ChallengeRequest {
            to: user("near"),
            target: OpponentKind::Bot,
            profile: Profile::default(),
            color: ColorChoice::White,
            origin: Initiator::Rules,
        };
        let mut asked: Option<Duration> = None;
        for step in steps {
            let slots = world.spare;
            let effects = match step {
                Step::Pass(seconds) => world.pass(Duration::from_secs(seconds)),
                Step::Answer(kind) => {
                    let received = answer(&world, kind, &last);
                    world.handle(&received)
                }
                Step::Slots(spare, games) => {
                    (world.spare, world.games) = (spare, games);
                    world.held = world.held && spare == 0;
                    world.handle(&AccountEvent::Tick)
                }
                Step::Order => {
                    let manual = ChallengeRequest::manual("boss", None, &[]).unwrap();
                    let _ = world.matchmaker.queue_manual(manual);
                    world.handle(&AccountEvent::Tick)
                }
            };
            for effect in effects {
                if let Effect::Create(offer) = effect {
                    prop_assert!(slots > 0);
                    if let Some(before) = asked.replace(world.passed) {
                        prop_assert!(world.passed >= before + MINUTE);
                    }
                    last = *offer;
                }
            }
            if let Some(at) = world.matchmaker.next_timeout() {
                // Waking it at its timeout makes progress; it never requests a needless wake-up.
                let until = at.saturating_duration_since(world.begun + world.passed);
                prop_assert!(until <= Duration::from_secs(2 * 3600));
            }
        }
    }
}

/// When the list was fetched within this time, if every challenge fails.
fn askings(world: &mut World, time: Duration) -> Vec<Duration> {
    let mut asked = Vec::new();
    let end = world.passed + time;
    while world.passed < end {
        let mut effects = world.pass(Duration::from_secs(10));
        loop {
            if effects == [Effect::List] {
                asked.push(world.passed);
            }
            match world.answer(&effects) {
                Some(next) => effects = next,
                None => break,
            }
        }
        if let [Effect::Create(_)] = effects.as_slice() {
            world.handle(&AccountEvent::NotCreated(NotCreated::NoSlot));
            (world.held, world.spare) = (false, 1);
        }
    }
    asked
}

#[test]
fn the_online_bots_are_fetched_at_most_every_half_hour() {
    let mut world = World::enabled();
    let asked = askings(&mut world, MINUTE * 240);
    let apart = |pair: &[Duration]| pair[0] + MINUTE * 30 <= pair[1];
    assert!(asked.len() >= 2 && asked.windows(2).all(apart), "{asked:?}");
}

#[test]
fn with_no_candidate_left_they_are_fetched_every_ten_minutes_at_most() {
    let mut world = World::enabled();
    world.bots.clear();
    let asked = askings(&mut world, MINUTE * 240);
    let apart = |pair: &[Duration]| pair[0] + MINUTE * 10 <= pair[1];
    assert!(asked.len() >= 2 && asked.windows(2).all(apart), "{asked:?}");
}

#[test]
fn a_manual_challenge_ignores_idle_time_but_not_slots() {
    let mut world = World::new(Matchmaking::default());
    let manual = |name: &str| ChallengeRequest::manual(name, None, &[Profile::default()]).unwrap();
    world.matchmaker.queue_manual(manual("Someone")).unwrap();
    world.spare = 0;
    assert!(!world.offers_within(MINUTE * 10));
    (world.spare, world.games) = (1, 3);
    let offer = world.next_offer();
    assert_eq!(
        (offer.to.as_str(), offer.origin),
        ("someone", Initiator::Operator)
    );
    world.accept(&offer);
    assert!(
        !world.offers_within(MINUTE * 60),
        "a manual challenge is for one game"
    );
    assert_eq!(world.matchmaker.rechallenge(), Ok(user("someone")));
    assert_eq!(world.next_offer().to, user("someone"));
    assert_eq!(
        world.matchmaker.queue_manual(manual("MEGATON")),
        Err(ManualChallengeError::Ourselves)
    );
}

#[test]
fn a_manual_challenge_that_fails_says_why_and_one_without_a_slot_waits() {
    let mut world = World::new(Matchmaking::default());
    let manual = || ChallengeRequest::manual("Someone", None, &[]).unwrap();
    let someone = || user("someone");
    let unasked = |why: &str| Effect::ManualFailed(someone(), why.to_owned());
    let seen = |online| {
        AccountEvent::UsersSeen(vec![Presence {
            id: someone(),
            title: None,
            online,
            playing: false,
        }])
    };
    for (received, why) in [
        (AccountEvent::UsersSeen(Vec::new()), "no such account"),
        (seen(false), "not online"),
    ] {
        world.matchmaker.queue_manual(manual()).unwrap();
        assert_eq!(world.pass(MINUTE), [Effect::LookUp(vec![someone()])]);
        assert_eq!(world.handle(&received), [unasked(why)]);
        assert!(!world.offers_within(MINUTE * 10), "{why}");
    }
    world.matchmaker.queue_manual(manual()).unwrap();
    assert_eq!(world.pass(MINUTE), [Effect::LookUp(vec![someone()])]);
    world.spare = 0;
    assert_eq!(world.handle(&seen(true)), []);
    world.spare = 1;
    assert_eq!(world.pass(MINUTE), [Effect::LookUp(vec![someone()])]);
    assert_eq!(world.handle(&seen(false)).len(), 1);
    let later = START + world.passed + MINUTE * 60;
    world.directory.barred = Some((later, Denied::BotGames));
    world.matchmaker.queue_manual(manual()).unwrap();
    assert_eq!(world.matchmaker.describe(), "waiting to challenge someone");
    assert_eq!(world.pass(MINUTE), [Effect::LookUp(vec![someone()])]);
    let spent = unasked("daily limit of bot games reached");
    assert_eq!(world.handle(&seen(true)), [spent]);
    world.directory.barred = Some((later, Denied::Pace));
    world.matchmaker.queue_manual(manual()).unwrap();
    assert_eq!(world.pass(MINUTE), [Effect::LookUp(vec![someone()])]);
    assert!(matches!(world.handle(&seen(true))[..], [Effect::Create(_)]));
    let refused = NotCreated::Refused("refused with status 400: friends only".to_owned());
    let said = unasked("refused with status 400: friends only");
    assert_eq!(
        world.handle(&AccountEvent::NotCreated(refused)),
        [said, Effect::Release]
    );
    world.directory.barred = None;
    world.matchmaker.queue_manual(manual()).unwrap();
    let dropped = unasked("no new games accepted");
    assert_eq!(world.matchmaker.set_open(false), [dropped]);
}
