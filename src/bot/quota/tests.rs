//! The quota by tables and at random: never more than a limit within any 24 hours.

use std::ops::Range;
use std::time::Duration;

use proptest::prelude::*;

use super::{DEMAND_NOTE, Denied, Forecast, OpponentKind, Permit, Quota};
use crate::config;
use crate::lichess::UserId;
use crate::store::{Change, Limit, LimitName, Origin, QuotaUse, Timestamp};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

fn start() -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000)
}

fn quota(rules: config::Limits) -> Quota {
    Quota::new(rules, Vec::new(), &[], start())
}

/// A quota to which the server has named the configured limit.
fn with_named_limit(rules: config::Limits) -> Quota {
    let limit = named(&rules);
    Quota::new(rules, Vec::new(), &[limit], start())
}

fn named(rules: &config::Limits) -> Limit {
    Limit {
        learned: Some((rules.bot_games, start())),
        ..Limit::unknown(LimitName::BotGames)
    }
}

/// Accepts bots until a refusal; returns their number and the refusal.
fn accept_all(quota: &mut Quota, now: Timestamp) -> (u32, Permit) {
    quota.notice(now);
    for n in 0..100_000 {
        let permission = quota.may_accept(now);
        if !permission.is_granted() {
            return (n, permission);
        }
        let key = format!("{} {n}", now.as_millis());
        quota.begin_game(&key, Origin::Incoming, None, now);
    }
    panic!("no limit");
}

#[test]
fn an_assumed_limit_turns_no_challenger_away_but_stops_outgoing_games() {
    let mut quota = quota(config::Limits::default());
    let now = start();
    for n in 0..100 {
        quota.begin_game(&n.to_string(), Origin::Incoming, None, now);
    }
    assert!(quota.may_accept(now).is_granted());
    assert!(!quota.may_begin(now).is_granted());
    quota.begin_game("one more", Origin::Incoming, None, now);
    assert_eq!(quota.learn_from_begun(now), None);
    assert!(quota.may_accept(now).is_granted());
    quota.games_refused(Some(HOUR), Some(101), now);
    let told = quota.forecast(now);
    assert!(matches!(told, Forecast::ClosedUntil(at) if at >= now + HOUR));
    // The day that the server counts has ended when it said so: all games of another are free.
    let later = now + HOUR * 2;
    let (games, refusal) = accept_all(&mut quota, later);
    assert_eq!(games, 101, "told");
    let at = later + DAY;
    let denied = Denied::BotGames;
    assert_eq!(refusal, Permit::Later { at, denied });
}

#[test]
fn what_was_played_before_the_server_began_to_count_anew_neither_teaches_nor_bars() {
    let mut quota = with_named_limit(config::Limits::default());
    let now = start();
    for game in 0..100 {
        quota.begin_game(&format!("game {game}"), Origin::Incoming, None, now);
    }
    quota.games_refused(Some(HOUR), Some(100), now);
    assert_eq!(quota.learn_from_begun(now), None);
    assert_eq!(quota.budget(now).incoming, 100);
    let later = now + HOUR * 2;
    quota.begin_game("the next", Origin::Incoming, None, later);
    assert_eq!(quota.learn_from_begun(later), None);
    assert_eq!(quota.most_games(later), 100);
    assert!(quota.may_begin(later).is_granted());
    assert_eq!(quota.forecast(later), Forecast::AllDay);
    assert_eq!(quota.budget(later).incoming, 1);
    assert!(quota.budget(later).outgoing_share > 0);
}

#[test]
fn a_refusal_without_a_wait_frees_no_game() {
    let mut quota = with_named_limit(config::Limits::default());
    let now = start();
    accept_all(&mut quota, now);
    quota.games_refused(None, None, now);
    assert!(!quota.may_accept(now + HOUR * 2).is_granted());
}

#[test]
fn the_hundredth_game_is_the_last_of_its_day() {
    let mut quota = with_named_limit(config::Limits::default());
    let now = start();
    let (games, refusal) = accept_all(&mut quota, now);
    assert_eq!(games, 100);
    let at = now + DAY;
    assert_eq!(
        refusal,
        Permit::Later {
            at,
            denied: Denied::BotGames
        }
    );
    assert_eq!(quota.forecast(now), Forecast::SpentUntil(at));
    let before = at.before(Duration::from_millis(1));
    assert_eq!(accept_all(&mut quota, before).0, 0);
    assert_eq!(accept_all(&mut quota, at).0, 100);
}

#[test]
fn games_of_arenas_are_spent_but_teach_neither_limit_nor_demand() {
    let mut quota = with_named_limit(config::Limits {
        bot_games: 4,
        ..config::Limits::default()
    });
    let now = start();
    for key in ["arena 1", "arena 2"] {
        quota.begin_game(key, Origin::Arena, None, now);
    }
    let none_asked = Change::Note(DEMAND_NOTE.to_owned(), Some("500000:0".to_owned()));
    assert_eq!(quota.notice(now), [none_asked]);
    let budget = quota.budget(now);
    assert_eq!((budget.games, budget.incoming, budget.outgoing), (4, 2, 0));
    assert_eq!(accept_all(&mut quota, now).0, 2);
    // The server pairs beyond its limit, and refuses challenges all the same.
    quota.begin_game("arena 3", Origin::Arena, None, now);
    assert_eq!(quota.learn_from_begun(now), None);
    assert_eq!(quota.budget(now).games, 4);
    assert!(!quota.may_accept(now).is_granted());
}

#[test]
fn a_reserved_game_counts_until_it_is_released_or_expires() {
    let mut quota = with_named_limit(config::Limits {
        bot_games: 1,
        incoming_share: 0,
        ..config::Limits::default()
    });
    let now = start();
    quota.hold_game("a", Origin::Incoming, None, now);
    assert!(!quota.may_accept(now).is_granted());
    assert_eq!(quota.release("a"), Some(Change::Unspend("a".into())));
    assert!(quota.may_accept(now).is_granted());
    quota.hold_game("b", Origin::Outgoing, None, now);
    assert!(!quota.may_accept(now + HOUR * 3).is_granted());
    assert!(
        quota.may_accept(now + HOUR * 4).is_granted(),
        "the reservation expired"
    );
    quota.release("b");
    quota.hold_game("c", Origin::Outgoing, None, now);
    quota.begin_game("c", Origin::Incoming, None, now);
    assert_eq!(quota.release("c"), None, "what has begun is spent");
    assert_eq!(quota.budget(now).outgoing, 1, "the origin stays");
    assert_eq!(
        quota.begin_game("c", Origin::Incoming, None, now),
        None,
        "reported twice"
    );
}

/// A day after the other in virtual time, minute by minute: the bot starts a game whenever it may,
/// and bots come at these minutes of each day. Returns the day's incoming, outgoing and declined.
fn days(quota: &mut Quota, days: Range<u32>, coming: &[u32]) -> Vec<(u32, u32, u32)> {
    let day = |day: u32| {
        let (mut incoming, mut outgoing, mut declined) = (0, 0, 0);
        for minute in 0..24 * 60 {
            let now = start() + DAY * day + MINUTE * minute;
            quota.notice(now);
            for (n, _) in coming.iter().filter(|at| **at == minute).enumerate() {
                if quota.may_accept(now).is_granted() {
                    let key = format!("in {day} {minute} {n}");
                    quota.begin_game(&key, Origin::Incoming, None, now);
                    incoming += 1;
                } else {
                    quota.turned_away(now);
                    declined += 1;
                }
            }
            if quota.may_begin(now).is_granted() {
                let key = format!("out {day} {minute}");
                quota.begin_game(&key, Origin::Outgoing, None, now);
                outgoing += 1;
            }
        }
        (incoming, outgoing, declined)
    };
    days.map(day).collect()
}

#[test]
fn a_day_on_which_nobody_comes_is_played_to_its_last_game() {
    let mut quota = with_named_limit(config::Limits::default());
    let played = days(&mut quota, 0..3, &[]);
    let games: Vec<u32> = played.iter().map(|(_, outgoing, _)| *outgoing).collect();
    assert!(games[0] >= 90 && games[1..] == [100, 100], "{games:?}");
}

#[test]
fn nothing_is_declined_once_the_daily_visitors_are_known() {
    // Thirty games each evening, from 18:00 on.
    let evening: Vec<u32> = (0..30).map(|n| 18 * 60 + n * 8).collect();
    let mut quota = with_named_limit(config::Limits::default());
    let played = days(&mut quota, 0..4, &evening);
    for (incoming, outgoing, declined) in &played[1..] {
        assert_eq!((*incoming, *declined), (30, 0), "{played:?}");
        assert!(*outgoing >= 65, "{played:?}");
    }
}

#[test]
fn visitors_who_come_back_find_games_again_though_none_were_kept() {
    let mut quota = with_named_limit(config::Limits::default());
    days(&mut quota, 0..3, &[]);
    assert_eq!(quota.budget(start() + DAY * 3).kept, 0);
    let hourly: Vec<u32> = (0..24).map(|n| n * 60 + 30).collect();
    let played = days(&mut quota, 3..5, &hourly);
    let declined: Vec<u32> = played.iter().map(|(_, _, declined)| *declined).collect();
    assert!(declined[0] > 0 && declined[1] == 0, "{played:?}");
}

#[test]
fn the_share_of_a_bot_without_history_is_the_configured_one() {
    let mut quota = with_named_limit(config::Limits::default());
    let now = start();
    quota.notice(now);
    let budget = quota.budget(now);
    assert_eq!((budget.outgoing_share, budget.kept), (50, 50));
    for n in 0..50 {
        assert!(!matches!(
            quota.may_begin(now),
            Permit::Later {
                denied: Denied::KeptForIncoming,
                ..
            }
        ));
        quota.begin_game(&n.to_string(), Origin::Outgoing, None, now);
    }
    let Permit::Later { denied, .. } = quota.may_begin(now) else {
        panic!("the rest is kept");
    };
    assert_eq!(denied, Denied::KeptForIncoming);
    assert_eq!(accept_all(&mut quota, now).0, 50);
}

#[test]
fn the_demand_is_remembered_over_a_restart() {
    let (mut kept, mut limits) = (Vec::new(), Vec::new());
    let mut notes = Vec::new();
    let mut quota = quota(config::Limits::default());
    for hour in 0..24 {
        let now = start() + HOUR * hour;
        let mut changes = quota.notice(now);
        if hour == 5 {
            changes.extend(quota.begin_game("a", Origin::Incoming, None, now));
        }
        notes.extend(changes.iter().filter_map(|change| match change {
            Change::Note(key, note) if key == super::DEMAND_NOTE => note.clone(),
            _ => None,
        }));
        keep(&mut kept, &mut limits, changes);
    }
    let again = Quota::new(config::Limits::default(), kept, &limits, start());
    let again = again.with_demand(notes.last());
    let later = start() + DAY;
    assert_eq!(again.budget(later), quota.budget(later));
    assert_eq!(again.budget(later).kept, 1);
}

#[test]
fn outgoing_games_are_spread_over_the_day() {
    let mut quota = quota(config::Limits::default());
    let mut begun = Vec::new();
    for minute in 0..48 * 60 {
        let now = start() + MINUTE * minute;
        quota.notice(now);
        if quota.may_begin(now).is_granted() {
            quota.begin_game(&minute.to_string(), Origin::Outgoing, None, now);
            begun.push(now);
        }
    }
    let by_hour = |from: u32, until: u32| {
        let inside =
            |at: &&Timestamp| at.since(start()) >= HOUR * from && at.since(start()) < HOUR * until;
        begun.iter().filter(inside).count()
    };
    // On the first day games are kept for those who may come; then it is known that nobody does.
    assert!((25..50).contains(&by_hour(0, 12)), "{begun:?}");
    assert!((30..=70).contains(&by_hour(24, 36)), "{begun:?}");
}

#[test]
fn pacing_is_reported_only_if_nothing_else_denies_a_challenge() {
    let denied = |credits| {
        let mut quota = quota(config::Limits {
            challenge_credits: credits,
            ..config::Limits::default()
        });
        let mut reasons = Vec::new();
        for game in 0.. {
            match quota.may_challenge(OpponentKind::Bot, start()) {
                Permit::Later { denied, .. } if denied != Denied::Pace => {
                    return (game, denied, reasons);
                }
                Permit::Later { .. } => reasons.push(game),
                Permit::Granted => {}
            }
            quota.spend_credits(OpponentKind::Bot, None, start());
            quota.hold_game(&game.to_string(), Origin::Outgoing, None, start());
        }
        unreachable!()
    };
    let (games, barred, spread) = denied(200);
    assert_eq!((games, barred), (25, Denied::CreditsAMinute));
    assert_eq!(spread.first(), Some(&3), "two hours' worth");
    let (games, barred, _) = denied(10);
    assert_eq!((games, barred), (10, Denied::Credits));
}

#[test]
fn the_servers_word_overrides_any_count() {
    let mut quota = quota(config::Limits::default());
    let now = start();
    let wait = Duration::from_secs(27_594);
    let change = quota.games_refused(Some(wait), Some(64), now);
    let until = now + wait + Duration::from_secs(2);
    let refused = Permit::Later {
        at: until,
        denied: Denied::Closed,
    };
    assert_eq!(quota.may_accept(now), refused);
    assert_eq!(quota.may_challenge(OpponentKind::Bot, now), refused);
    assert!(quota.may_challenge(OpponentKind::Human, now).is_granted());
    assert_eq!(quota.most_games(now), 64);
    // The same after a restart.
    let Change::Limit(limit) = change else {
        panic!("a limit is kept")
    };
    let after = Quota::new(config::Limits::default(), Vec::new(), &[limit], start());
    assert_eq!(after.may_accept(now), refused);
    assert!(after.may_accept(until).is_granted());
    assert_eq!(after.most_games(until), 64);
    assert_eq!(
        after.most_games(now + DAY * 7),
        100,
        "later the usual number is tried again"
    );
}

#[test]
fn a_limit_is_learned_by_counting_if_no_other_program_played_that_day() {
    for (since, games, expected) in [
        (start().before(DAY), 60, 60),
        // The quota is younger than the server's day.
        (start(), 60, 100),
        // Too few: another program must have played.
        (start().before(DAY), 20, 100),
    ] {
        let mut quota = Quota::new(config::Limits::default(), Vec::new(), &[], since);
        for n in 0..games {
            quota.begin_game(&n.to_string(), Origin::Incoming, None, start());
        }
        quota.games_refused(Some(HOUR), None, start());
        assert_eq!(quota.most_games(start()), expected, "{games} games");
    }
}

#[test]
fn a_game_that_begins_beyond_the_limit_shows_that_it_is_higher() {
    let mut quota = with_named_limit(config::Limits {
        bot_games: 2,
        ..config::Limits::default()
    });
    let now = start();
    for n in 0..2 {
        quota.begin_game(&n.to_string(), Origin::Incoming, None, now);
        assert_eq!(quota.learn_from_begun(now), None);
    }
    quota.begin_game("2", Origin::Incoming, None, now);
    assert!(quota.learn_from_begun(now).is_some());
    assert_eq!(quota.most_games(now), 3);
}

#[test]
fn credits_are_counted_by_the_minute_and_by_the_day() {
    let mut quota = quota(config::Limits {
        challenge_credits: 60,
        ..config::Limits::default()
    });
    let mut now = start();
    for _ in 0..5 {
        assert!(quota.may_challenge(OpponentKind::Human, now).is_granted());
        quota.spend_credits(OpponentKind::Human, None, now);
    }
    let wait = |quota: &Quota, target, now| match quota.may_challenge(target, now) {
        Permit::Granted => None,
        Permit::Later { at, denied } => Some((at.since(now), denied)),
    };
    assert_eq!(
        wait(&quota, OpponentKind::Human, now),
        Some((MINUTE, Denied::CreditsAMinute))
    );
    now = now + MINUTE;
    for _ in 0..5 {
        quota.spend_credits(OpponentKind::Human, None, now);
    }
    now = now + MINUTE;
    for _ in 0..2 {
        quota.spend_credits(OpponentKind::Human, None, now);
    }
    assert_eq!(quota.budget(now).credits_spent, 60);
    assert_eq!(
        wait(&quota, OpponentKind::Bot, now),
        Some((MINUTE * (24 * 60 - 2), Denied::Credits))
    );
}

#[test]
fn refusals_without_a_wait_are_waited_out_ever_longer() {
    let mut quota = quota(config::Limits::default());
    let now = start();
    let mut waits = Vec::new();
    for _ in 0..8 {
        quota.credits_refused(None, now);
        let Permit::Later {
            at,
            denied: Denied::Closed,
        } = quota.may_challenge(OpponentKind::Human, now)
        else {
            panic!("closed");
        };
        waits.push(at.since(now).as_secs() / 60);
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    assert!(quota.credits_served().is_some() && quota.credits_served().is_none());
}

#[test]
fn a_clock_that_is_years_ahead_for_a_moment_forgets_no_game() {
    let mut quota = with_named_limit(config::Limits {
        bot_games: 2,
        ..config::Limits::default()
    });
    quota.notice(start());
    quota.begin_game("a", Origin::Incoming, None, start());
    quota.begin_game("b", Origin::Incoming, None, start());
    quota.notice(start() + DAY * 5000);
    let now = start() + HOUR;
    quota.notice(now);
    assert!(!quota.may_accept(now).is_granted());
}

#[test]
fn a_clock_set_back_a_year_lengthens_nothing() {
    let mut quota = with_named_limit(config::Limits {
        bot_games: 2,
        ..config::Limits::default()
    });
    let wrong = start() + DAY * 365;
    quota.notice(wrong);
    quota.begin_game("a", Origin::Incoming, None, wrong);
    quota.begin_game("b", Origin::Incoming, None, wrong);
    quota.credits_refused(Some(HOUR), wrong);
    let now = start();
    let changes = quota.notice(now);
    assert_eq!(changes.len(), 4, "and the changes are stored: {changes:?}");
    assert!(!quota.may_accept(now).is_granted());
    assert!(!quota.may_challenge(OpponentKind::Human, now).is_granted());
    quota.notice(now + HOUR * 2);
    assert!(
        quota
            .may_challenge(OpponentKind::Human, now + HOUR * 2)
            .is_granted()
    );
    quota.notice(now + DAY);
    assert!(quota.may_accept(now + DAY).is_granted());
}

#[test]
fn a_clock_that_is_set_back_for_a_moment_forgets_no_use() {
    let rules = config::Limits {
        bot_games: 2,
        challenge_credits: 5,
        incoming_share: 0,
    };
    let mut quota = with_named_limit(rules.clone());
    let (mut kept, mut limits) = (Vec::new(), vec![named(&rules)]);
    let mut changes = quota.notice(start());
    for key in ["a", "b"] {
        changes.extend(quota.begin_game(key, Origin::Incoming, None, start()));
    }
    changes.push(quota.spend_credits(OpponentKind::Human, None, start()));
    let (wrong, right) = (start().before(DAY * 3), start() + HOUR);
    // Twice: it may show something else again before it is right.
    for now in [wrong, wrong + MINUTE, wrong, right] {
        changes.extend(quota.notice(now));
        assert!(!quota.may_accept(now).is_granted());
        assert!(!quota.may_challenge(OpponentKind::Bot, now).is_granted());
    }
    keep(&mut kept, &mut limits, changes);
    for mut quota in [quota, Quota::new(rules, kept, &limits, start())] {
        for (now, is_free) in [(right, false), (start() + DAY, true)] {
            quota.notice(now);
            assert_eq!(
                quota.may_accept(now).is_granted(),
                is_free,
                "after a restart too"
            );
            let permit = quota.may_challenge(OpponentKind::Human, now);
            assert_eq!(permit.is_granted(), is_free);
        }
    }
}

#[test]
fn time_passes_while_the_host_is_suspended() {
    let mut quota = with_named_limit(config::Limits::default());
    let now = start();
    assert_eq!(accept_all(&mut quota, now).0, 100);
    quota.games_refused(Some(HOUR), Some(100), now);
    let awake = now + HOUR * 30;
    // Games are forgotten only once there are newer ones: the clock may be wrong for a moment.
    assert!(!quota.notice(awake).contains(&Change::Prune(awake)));
    assert_eq!(accept_all(&mut quota, awake).0, 100);
    // At most the two hours' worth that may be saved up, however long it slept.
    let mut quota = self::quota(config::Limits::default());
    let mut outgoing = 0;
    while quota.may_begin(awake).is_granted() {
        outgoing += 1;
        quota.begin_game(&outgoing.to_string(), Origin::Outgoing, None, awake);
    }
    assert_eq!(outgoing, 3);
}

#[test]
fn a_rematch_takes_over_the_reservation() {
    let mut quota = quota(config::Limits::default());
    let foe = UserId::new("foe");
    quota.hold_game("challenge", Origin::Outgoing, Some(foe.clone()), start());
    assert_eq!(quota.held_for(&foe), Some("challenge"));
    assert_eq!(quota.rename("challenge", "game").len(), 2);
    assert_eq!(quota.rename("nothing", "game"), []);
    quota.begin_game("game", Origin::Incoming, Some(foe), start());
    let budget = quota.budget(start());
    assert_eq!((budget.incoming, budget.outgoing), (0, 1));
}

#[test]
fn a_restart_within_a_millisecond_forgets_no_credits() {
    let mut quota = Quota::new(config::Limits::default(), Vec::new(), &[], start());
    let spent = quota.spend_credits(OpponentKind::Human, None, start());
    let Change::Spend(spent) = spent else {
        panic!("a person's challenge costs something: {spent:?}")
    };
    let mut again = Quota::new(config::Limits::default(), vec![spent.clone()], &[], start());
    let Change::Spend(second) = again.spend_credits(OpponentKind::Human, None, start()) else {
        panic!("it costs as much again")
    };
    assert_ne!(second.key, spent.key);
    assert_eq!(again.budget(start()).credits_spent, 10);
}

/// An event in the life of a quota.
#[derive(Clone, Debug)]
enum Step {
    /// A bot asks for a game.
    Asked,
    /// The bot wants a game.
    Wanted,
    Challenge(OpponentKind),
    /// Time passes, in minutes.
    Pass(u16),
    /// The wall clock is set back, in minutes; real time continues.
    Back(u16),
    /// The program restarts with the stored quota.
    Restart,
    Refused(Option<u16>),
}

fn step() -> impl Strategy<Value = Step> {
    let target = prop_oneof![Just(OpponentKind::Bot), Just(OpponentKind::Human)];
    prop_oneof![
        6 => Just(Step::Asked),
        6 => Just(Step::Wanted),
        4 => target.prop_map(Step::Challenge),
        6 => (0_u16..400).prop_map(Step::Pass),
        1 => (0_u16..3000).prop_map(Step::Back),
        1 => Just(Step::Restart),
        1 => proptest::option::of(0_u16..600).prop_map(Step::Refused),
    ]
}

/// The highest sum within a window.
fn most_within(spent: &[(Duration, u32)], window: Duration) -> u32 {
    let from = |(start, _): &(Duration, u32)| {
        let inside = spent
            .iter()
            .filter(|(at, _)| *at >= *start && *at < *start + window);
        inside.map(|(_, amount)| amount).sum()
    };
    spent.iter().map(from).max().unwrap_or(0)
}

fn keep(
    kept: &mut Vec<QuotaUse>,
    limits: &mut Vec<Limit>,
    changes: impl IntoIterator<Item = Change>,
) {
    for change in changes {
        match change {
            Change::Spend(spend) => {
                kept.retain(|other| other.key != spend.key);
                kept.push(spend);
            }
            Change::Unspend(key) => kept.retain(|other| other.key != key),
            Change::Limit(limit) => {
                limits.retain(|other| other.name != limit.name);
                limits.push(limit);
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whoever_comes_the_kept_games_never_exceed_the_share_nor_the_played_ones_the_limit(
        bot_games in 1_u32..120,
        incoming_share in 0_u32..=100,
        coming in proptest::collection::vec(0_u32..24 * 60, 0..60),
    ) {
        let rules = config::Limits { bot_games, challenge_credits: 40, incoming_share };
        let mut quota = with_named_limit(rules);
        let played = days(&mut quota, 0..3, &coming);
        let share = (bot_games * incoming_share).div_ceil(100);
        for (incoming, outgoing, declined) in &played {
            prop_assert!(incoming + outgoing <= bot_games, "{played:?}");
            prop_assert_eq!(incoming + declined, coming.len() as u32);
        }
        let (incoming, outgoing, _) = played[2];
        // Nobody's games are lost: what those who come do not take is played.
        let wanted = share.min(coming.len() as u32);
        prop_assert!(incoming + outgoing + wanted / 8 + 3 >= bot_games, "{played:?}");
        prop_assert!(quota.budget(start() + DAY * 3).kept <= share);
    }

    #[test]
    fn steady_visitors_get_their_share(
        bot_games in 24_u32..120,
        incoming_share in 20_u32..=100,
        apart in 15_u32..180,
    ) {
        let rules = config::Limits { bot_games, challenge_credits: 40, incoming_share };
        let mut quota = with_named_limit(rules);
        let coming: Vec<u32> = (0..24 * 60).step_by(apart as usize).collect();
        let played = days(&mut quota, 0..4, &coming);
        let share = (bot_games * incoming_share).div_ceil(100).min(coming.len() as u32);
        let (incoming, _, _) = played[3];
        prop_assert!(incoming + 1 >= share, "{share} of {}: {played:?}", coming.len());
    }
}

proptest! {
    #[test]
    fn no_limit_is_passed_within_any_day(
        steps in proptest::collection::vec(step(), 1..400),
        bot_games in 0_u32..12,
        incoming_share in 0_u32..=100,
    ) {
        let rules = config::Limits { bot_games, challenge_credits: 40, incoming_share };
        let mut quota = with_named_limit(rules.clone());
        let (mut world, mut wall) = (Duration::ZERO, start());
        let (mut kept, mut limits) = (Vec::new(), vec![named(&rules)]);
        let (mut games, mut outgoing, mut credits) = (Vec::new(), Vec::new(), Vec::new());
        for (n, step) in steps.into_iter().enumerate() {
            keep(&mut kept, &mut limits, quota.notice(wall));
            let key = n.to_string();
            let mut begin = |quota: &mut Quota, origin, changes: &mut Vec<Change>| {
                changes.push(quota.hold_game(&key, origin, None, wall));
                changes.extend(quota.begin_game(&key, origin, None, wall));
                games.push((world, 1));
                if origin == Origin::Outgoing {
                    outgoing.push((world, 1));
                }
            };
            let mut changes = Vec::new();
            match step {
                Step::Asked if quota.within_the_day(wall).is_granted() => {
                    begin(&mut quota, Origin::Incoming, &mut changes);
                }
                Step::Wanted if quota.may_begin(wall).is_granted() => {
                    begin(&mut quota, Origin::Outgoing, &mut changes);
                }
                Step::Challenge(target) if quota.may_challenge(target, wall).is_granted() => {
                    changes.push(quota.spend_credits(target, None, wall));
                    credits.push((world, target.credits()));
                }
                Step::Asked | Step::Wanted | Step::Challenge(_) => {}
                Step::Pass(minutes) => {
                    world += MINUTE * u32::from(minutes);
                    wall = wall + MINUTE * u32::from(minutes);
                }
                Step::Back(minutes) => wall = wall.before(MINUTE * u32::from(minutes)),
                Step::Restart => {
                    quota = Quota::new(rules.clone(), kept.clone(), &limits, start());
                }
                Step::Refused(wait) => {
                    let wait = wait.map(|minutes| MINUTE * u32::from(minutes));
                    changes.push(quota.credits_refused(wait, wall));
                }
            }
            keep(&mut kept, &mut limits, changes);
            let _ = quota.forecast(wall).to_string();
        }
        prop_assert!(most_within(&games, DAY) <= bot_games);
        prop_assert!(most_within(&outgoing, DAY) <= bot_games);
        prop_assert!(most_within(&credits, DAY) <= 40);
        prop_assert!(most_within(&credits, MINUTE) <= 25);
    }
}
