//! Tests of what follows one another: the games of a series by command, to its end or to a decline, and
//! events that come before the answer they belong to, or late.

use super::*;

fn series(games: u32) -> Series {
    let request = ChallengeRequest::manual("near", Some("1+1"), &[Profile::default()]).unwrap();
    Series::new(request, games).unwrap()
}

#[test]
fn the_games_of_a_series_follow_one_another_with_colours_turned() {
    let mut world = World::new(Matchmaking::default());
    world.matchmaker.start_series(series(3)).unwrap();
    let mut colors = Vec::new();
    for left in [2, 1, 0] {
        let offer = world.next_offer();
        assert_eq!((&offer.to, offer.profile.base), (&user("near"), MINUTE));
        colors.push(offer.color);
        world.handle(&AccountEvent::Created(Box::new(challenge("c", &offer))));
        world.held = false;
        let event = Event::GameStart(Box::new(game("c", &offer.to)));
        let effects = world.handle(&AccountEvent::Event(event));
        (world.spare, world.directory.playing) = (1, true);
        let over = [MatchmakingEffect::SeriesEnded(
            "series with near: 3 of 3 games begun; over: complete".to_owned(),
        )];
        assert_eq!(effects == over, left == 0, "{effects:?}");
        assert!(!world.offers_within(MINUTE * 60), "the game is not over");
        world.directory.playing = false;
    }
    let [white, black] = [ColorChoice::White, ColorChoice::Black];
    assert_eq!(colors, [white, black, white]);
    assert!(!world.offers_within(MINUTE * 60));
}

#[test]
fn a_decline_or_a_cancel_ends_a_series_and_says_so() {
    let mut world = World::new(Matchmaking::default());
    world.matchmaker.start_series(series(9)).unwrap();
    let again = world.matchmaker.start_series(series(2));
    assert_eq!(again, Err(ManualChallengeError::SeriesRuns(user("near"))));
    let offer = world.next_offer();
    world.handle(&AccountEvent::Created(Box::new(challenge("c", &offer))));
    let mut declined = challenge("c", &offer);
    declined.decline_reason = Some(DeclineReason::Later);
    let event = AccountEvent::Event(Event::ChallengeDeclined(Box::new(declined)));
    let effects = world.handle(&event);
    let [
        MatchmakingEffect::SeriesEnded(text),
        MatchmakingEffect::Release,
    ] = &effects[..]
    else {
        panic!("{effects:?}");
    };
    assert!(
        text.contains("0 of 9 games begun; over: declined"),
        "{text}"
    );
    assert!(!world.offers_within(MINUTE * 600));
    world.matchmaker.start_series(series(9)).unwrap();
    let (dropped, effects) = world.matchmaker.recall(true);
    assert!(dropped == 1 && matches!(effects[..], [MatchmakingEffect::SeriesEnded(_)]));
}

#[test]
fn a_challenge_by_command_that_the_server_makes_casual_is_reported_and_ends_its_series() {
    let why = "Lichess does not rate this clock";
    for is_of_series in [true, false] {
        let mut world = World::new(Matchmaking::default());
        let reported = if is_of_series {
            world.matchmaker.start_series(series(3)).unwrap();
            let text = format!("series with near: 0 of 3 games begun; over: {why}");
            MatchmakingEffect::SeriesEnded(text)
        } else {
            let manual = ChallengeRequest::manual("near", Some("0+1"), &[]).unwrap();
            world.matchmaker.queue_manual(manual).unwrap();
            MatchmakingEffect::ManualFailed(user("near"), why.to_owned())
        };
        let mut casual = challenge("c", &world.next_offer());
        casual.rated = false;
        let held = MatchmakingEffect::Held(ChallengeId::new("c"));
        assert_eq!(
            world.handle(&AccountEvent::Created(Box::new(casual))),
            [held, reported, MatchmakingEffect::Withdraw]
        );
        (world.held, world.spare) = (false, 1);
        assert!(!world.offers_within(MINUTE * 60));
    }
}

#[test]
fn a_challenge_withdrawn_alone_ends_its_series_and_leaves_all_else() {
    let manual = |name: &str| ChallengeRequest::manual(name, None, &[]).unwrap();
    for is_of_series in [true, false] {
        let mut world = World::new(Matchmaking::default());
        if !is_of_series {
            world.matchmaker.queue_manual(manual("near")).unwrap();
        }
        world.matchmaker.start_series(series(9)).unwrap();
        let offer = world.next_offer();
        world.matchmaker.queue_manual(manual("far")).unwrap();
        world.handle(&AccountEvent::Created(Box::new(challenge("c", &offer))));
        let (dropped, effects) = world.matchmaker.recall(false);
        assert_eq!(dropped, 0);
        let has_ended = matches!(effects[0], MatchmakingEffect::SeriesEnded(_));
        assert_eq!(has_ended, is_of_series, "{effects:?}");
        assert_eq!(effects.last(), Some(&MatchmakingEffect::Withdraw));
        assert_eq!(world.matchmaker.series().is_some(), !is_of_series);
        (world.held, world.spare) = (false, 1);
        world.handle(&AccountEvent::Tick);
        assert_eq!(world.next_offer().to, user("far"));
    }
}

#[test]
fn whom_the_lists_forbid_gets_no_challenge_that_waits_nor_the_rest_of_a_series() {
    let manual = |name: &str| ChallengeRequest::manual(name, None, &[]).unwrap();
    let why = "the lists say never to challenge it";
    let mut world = World::new(Matchmaking::default());
    for name in ["someone", "far"] {
        world.matchmaker.queue_manual(manual(name)).unwrap();
    }
    world.matchmaker.start_series(series(3)).unwrap();
    let lookup = world.pass(MINUTE);
    assert_eq!(lookup, [MatchmakingEffect::LookUp(vec![user("someone")])]);
    world.directory.forbidden = vec!["someone", "near"];
    let ended = format!("series with near: 0 of 3 games begun; over: {why}");
    assert_eq!(
        world.handle(&AccountEvent::Lists(Arc::default())),
        [
            MatchmakingEffect::ManualFailed(user("someone"), why.to_owned()),
            MatchmakingEffect::SeriesEnded(ended),
        ]
    );
    let next = [MatchmakingEffect::LookUp(vec![user("far")])];
    assert_eq!(world.answer(&lookup).unwrap(), next);
    let sent = world.answer(&next).unwrap();
    assert!(matches!(&sent[..], [MatchmakingEffect::Create(offer)] if offer.to == user("far")));
}

#[test]
fn a_command_challenges_whom_the_rules_leave_alone_today() {
    let mut world = World::new(Matchmaking::default());
    world.directory.avoided = vec!["far", "near"];
    let manual = ChallengeRequest::manual("far", None, &[]).unwrap();
    world.matchmaker.queue_manual(manual).unwrap();
    let lookup = world.pass(MINUTE);
    assert_eq!(world.handle(&AccountEvent::Lists(Arc::default())), []);
    let sent = world.answer(&lookup).unwrap();
    assert!(matches!(&sent[..], [MatchmakingEffect::Create(offer)] if offer.to == user("far")));
    let mut world = World::new(Matchmaking::default());
    world.directory.avoided = vec!["near"];
    world.matchmaker.start_series(series(3)).unwrap();
    assert_eq!(world.next_offer().to, user("near"));
}

#[test]
fn the_open_challenge_to_a_player_who_is_blocked_is_withdrawn() {
    for is_answered in [true, false] {
        let mut world = World::enabled();
        let offer = world.next_offer();
        let created = AccountEvent::Created(Box::new(challenge("c", &offer)));
        if is_answered {
            world.handle(&created);
        }
        let lists = AccountEvent::Lists(Arc::default());
        assert_eq!(world.handle(&lists), [], "for others it stays");
        world.directory.forbidden = vec!["near"];
        assert_eq!(world.handle(&lists), [MatchmakingEffect::Withdraw]);
    }
}

#[test]
fn a_bot_blocked_while_it_is_looked_up_is_not_challenged() {
    let mut world = World::enabled();
    world.bots = vec![("near", 2010)];
    let list = world.pass(MINUTE * 6);
    let lookup = world.answer(&list).unwrap();
    assert_eq!(lookup, [MatchmakingEffect::LookUp(vec![user("near")])]);
    world.directory.avoided = vec!["near"];
    world.handle(&AccountEvent::Lists(Arc::default()));
    assert_eq!(world.answer(&lookup), Some(Vec::new()));
    assert!(!world.offers_within(MINUTE * 600));
}

#[test]
fn a_series_waits_for_the_daily_budget_and_for_incoming_challenges() {
    let mut world = World::new(Matchmaking::default());
    world.matchmaker.start_series(series(2)).unwrap();
    let later = START + MINUTE * 120;
    world.directory.barred = Some((later, Denied::BotGames));
    assert!(!world.offers_within(MINUTE * 60));
    world.directory.barred = None;
    let offer = world.next_offer();
    world.handle(&AccountEvent::Created(Box::new(challenge("c", &offer))));
    // An incoming challenge takes the slot.
    (world.held, world.games) = (false, 1);
    world.handle(&AccountEvent::Tick);
    (world.games, world.spare) = (0, 1);
    assert_eq!(world.next_offer().color, offer.color, "it was not played");
}

#[test]
fn a_series_waits_for_the_bots_next_day_and_ends_with_the_opponents() {
    for (why, goes_on) in [(NotCreated::OurDay, true), (NotCreated::TheirDay, false)] {
        let mut world = World::new(Matchmaking::default());
        world.matchmaker.start_series(series(2)).unwrap();
        let offer = world.next_offer();
        world.handle(&AccountEvent::NotCreated(why));
        assert_eq!(world.matchmaker.series().is_some(), goes_on);
        if goes_on {
            world.directory.barred = Some((START + MINUTE * 120, Denied::Closed));
            assert!(!world.offers_within(MINUTE * 60));
            world.directory.barred = None;
            assert_eq!(world.next_offer().color, offer.color, "it was not played");
        }
    }
}

#[test]
fn a_rated_series_waits_for_the_end_of_a_pause_of_rated_games() {
    let mut world = World::new(Matchmaking::default());
    world.directory.unrated = vec!["near"];
    world.matchmaker.start_series(series(2)).unwrap();
    assert!(!world.offers_within(MINUTE * 60));
    world.directory.unrated.clear();
    let lookup = world.pass(MINUTE);
    assert_eq!(lookup, [MatchmakingEffect::LookUp(vec![user("near")])]);
    // It begins while the opponent is looked up.
    world.directory.unrated = vec!["near"];
    assert_eq!(world.answer(&lookup), Some(Vec::new()));
    world.directory.unrated.clear();
    assert!(world.next_offer().profile.rated);
    let mut casual = series(2);
    casual.request.profile.rated = false;
    let mut world = World::new(Matchmaking::default());
    world.directory.unrated = vec!["near"];
    world.matchmaker.start_series(casual).unwrap();
    assert_eq!(world.next_offer().to, user("near"));
}

#[test]
fn a_series_continues_after_a_restart() {
    let mut half = series(10);
    (half.begun, half.request) = (4, half.request.turned());
    let again = Series::read(&half.note(), &[Profile::default()]);
    assert_eq!(again, Some(half.clone()));
    assert_eq!(Series::read(&half.note().replace("1+1", "gone"), &[]), None);
    assert_eq!(Series::read("", &[]), None);
}

#[test]
fn a_decline_that_comes_before_the_answer_keeps_its_reason() {
    for lost in [false, true] {
        let mut world = World::enabled();
        world.bots = vec![("near", 2010)];
        let ours = Box::new(challenge("c", &world.next_offer()));
        let mut declined = ours.clone();
        declined.decline_reason = Some(DeclineReason::NoBot);
        for event in [echo(ours.clone()), Event::ChallengeDeclined(declined)] {
            assert_eq!(world.handle(&AccountEvent::Event(event)), []);
        }
        let answers = [
            AccountEvent::Created(ours),
            AccountEvent::NotCreated(NotCreated::Lost),
        ];
        let held = MatchmakingEffect::Held(ChallengeId::new("c"));
        let effects = world.handle(&answers[usize::from(lost)]);
        assert_eq!(effects, [held, MatchmakingEffect::Release]);
        // Without a reason it would be left alone for six hours.
        assert!(!world.offers_within(MINUTE * 60 * 20));
        assert!(world.offers_within(MINUTE * 60 * 5), "after a day");
    }
}

#[test]
fn with_long_pauses_between_challenges_a_spent_quota_is_checked_again_as_rarely() {
    let rules = || Matchmaking {
        spacing: MINUTE * 15,
        ..Matchmaking::default()
    };
    let later = START + MINUTE * 120;
    let mut world = World::new(Matchmaking {
        enabled: true,
        ..rules()
    });
    world.directory.barred = Some((later, Denied::Pace));
    assert!(!world.offers_within(MINUTE * 60));
    let mut world = World::new(rules());
    let request = ChallengeRequest::manual("near", None, &[]).unwrap();
    let series = Series::new(request, 2).unwrap();
    world.matchmaker.start_series(series).unwrap();
    world.directory.barred = Some((later, Denied::BotGames));
    assert!(!world.offers_within(MINUTE * 60));
    world.directory.barred = None;
    assert!(world.offers_within(MINUTE * 20));
}

#[test]
fn a_manual_challenge_cancelled_during_its_look_up_is_not_sent_and_takes_no_other_with_it() {
    let manual = |name: &str| ChallengeRequest::manual(name, None, &[]).unwrap();
    let looks_up = |name: &str| [MatchmakingEffect::LookUp(vec![user(name)])];
    for pauses in [false, true] {
        for next in [None, Some("far")] {
            let mut world = World::new(Matchmaking::default());
            world.matchmaker.queue_manual(manual("near")).unwrap();
            let lookup = world.pass(MINUTE);
            assert_eq!(lookup, looks_up("near"));
            if pauses {
                world.matchmaker.set_open(false);
                world.matchmaker.set_open(true);
            } else {
                world.matchmaker.recall(true);
            }
            if let Some(next) = next {
                world.matchmaker.queue_manual(manual(next)).unwrap();
            }
            let after = world.answer(&lookup).unwrap();
            assert_eq!(
                after,
                next.map(looks_up).into_iter().flatten().collect::<Vec<_>>()
            );
            if next.is_some() {
                let sent = world.answer(&after).unwrap();
                assert!(
                    matches!(&sent[..], [MatchmakingEffect::Create(offer)] if offer.to == user("far"))
                );
            }
        }
    }
}

#[test]
fn no_series_takes_the_look_up_the_refusal_or_the_game_of_one_cancelled_before() {
    let with = |name: &str| {
        let request = ChallengeRequest::manual(name, Some("1+1"), &[]).unwrap();
        Series::new(request, 3).unwrap()
    };
    let replace = |world: &mut World| {
        world.matchmaker.recall(true);
        world.matchmaker.start_series(with("far")).unwrap();
    };
    let begin = || {
        let mut world = World::new(Matchmaking::default());
        world.matchmaker.start_series(with("near")).unwrap();
        world
    };
    let mut world = begin();
    let lookup = world.pass(MINUTE);
    replace(&mut world);
    let next = [MatchmakingEffect::LookUp(vec![user("far")])];
    assert_eq!(world.answer(&lookup).unwrap(), next);

    let refused = AccountEvent::NotCreated(NotCreated::Refused("no".to_owned()));
    let started = AccountEvent::Event(Event::GameStart(Box::new(game("c", &user("near")))));
    for outcome in [refused, started] {
        let mut world = begin();
        let offer = world.next_offer();
        if let AccountEvent::Event(_) = outcome {
            world.handle(&AccountEvent::Created(Box::new(challenge("c", &offer))));
        }
        replace(&mut world);
        world.handle(&outcome);
        (world.held, world.spare) = (false, 1);
        assert_eq!(world.matchmaker.series(), Some(&with("far")), "{outcome:?}");
        assert_eq!(world.next_offer().to, user("far"), "{outcome:?}");
    }
}

#[test]
fn a_shorter_spacing_holds_at_once() {
    let day = Matchmaking {
        enabled: true,
        spacing: MINUTE * 60 * 24,
        ..Matchmaking::default()
    };
    let mut world = World::new(day);
    let first = world.next_offer();
    world.decline(&first, "later");
    let now = world.begun + world.passed;
    let rules = Matchmaking {
        enabled: true,
        ..Matchmaking::default()
    };
    world.matchmaker.set_rules(Arc::new(rules), now);
    assert!(world.offers_within(MINUTE * 2));
}

/// The stream of the bot's challenge says how it ended.
fn done(id: &str, status: ChallengeStatus) -> AccountEvent {
    let id = ChallengeId::new(id);
    AccountEvent::ChallengeDone { id, status }
}

#[test]
fn the_late_end_of_a_challenge_is_not_that_of_the_next_one() {
    for status in [
        ChallengeStatus::Created,
        ChallengeStatus::Offline,
        ChallengeStatus::Canceled,
        ChallengeStatus::Declined,
        ChallengeStatus::Accepted,
        ChallengeStatus::Unknown,
    ] {
        let mut world = World::new(Matchmaking::default());
        let manual = ChallengeRequest::manual("far", None, &[]).unwrap();
        world.matchmaker.queue_manual(manual).unwrap();
        world.matchmaker.start_series(series(2)).unwrap();
        let first = challenge("c1", &world.next_offer());
        world.handle(&AccountEvent::Created(Box::new(first)));
        assert_eq!(
            world.matchmaker.recall(false),
            (0, vec![MatchmakingEffect::Withdraw])
        );
        (world.held, world.spare) = (false, 1);
        world.handle(&AccountEvent::Tick);
        let second = challenge("c2", &world.next_offer());
        world.handle(&AccountEvent::Created(Box::new(second)));

        assert_eq!(world.handle(&done("c1", status)), [], "{status:?}");
        assert_eq!(world.matchmaker.describe(), "challenging near");
        assert_eq!(world.matchmaker.series(), Some(&series(2)), "{status:?}");
        assert_eq!(world.pass(MINUTE / 6), [], "{status:?}");
        assert_eq!(world.rests_kept, 0, "{status:?}");
        let own = world.handle(&done("c2", ChallengeStatus::Canceled));
        assert_eq!(own, [MatchmakingEffect::Release], "{status:?}");
    }
}

#[test]
fn a_ban_on_sending_challenges_is_reported_and_shown_until_one_is_sent() {
    let mut world = World::enabled();
    world.next_offer();
    let why = NotCreated::Forbidden("refused with status 403: no".to_owned());
    let ban = "Lichess does not let this account send challenges (refused with status 403: no); incoming games continue";
    let effects = world.handle(&AccountEvent::NotCreated(why));
    let reported = MatchmakingEffect::Forbidden(ban.to_owned());
    assert_eq!(effects, [reported, MatchmakingEffect::Release]);
    assert_eq!(world.matchmaker.describe(), ban);
    assert!(!world.offers_within(MINUTE * 59));
    let offer = world.next_offer();
    world.decline(&offer, "later");
    assert!(!world.matchmaker.describe().contains("does not let"));
}

#[test]
fn it_says_why_it_waits_and_until_when() {
    let mut world = World::enabled();
    let doing = |world: &World| world.matchmaker.describe();
    world.pass(MINUTE);
    let quiet = "waiting: the bot has not been idle for long enough; looks again at ";
    assert!(doing(&world).starts_with(quiet), "{}", doing(&world));

    world.directory.barred = Some((START + MINUTE * 90, Denied::Pace));
    world.pass(MINUTE * 5);
    let at = START + MINUTE * (6 + 10);
    let paced = format!("waiting: outgoing games are spread over the day; looks again at {at} UTC");
    assert_eq!(doing(&world), paced);

    world.directory.barred = None;
    world.bots.clear();
    assert!(!world.offers_within(MINUTE * 15));
    let none = "waiting: no listed bot fits a profile; looks again at ";
    assert!(doing(&world).starts_with(none), "{}", doing(&world));

    (world.games, world.spare) = (1, 0);
    world.pass(MINUTE * 60);
    assert_eq!(doing(&world), "waiting: games are in progress");
}

#[test]
fn a_list_that_cannot_be_read_and_a_pause_of_rated_games_are_named() {
    let mut world = World::enabled();
    assert_eq!(world.pass(MINUTE * 6), [Effect::List]);
    world.handle(&AccountEvent::BotsNotListed(Some(MINUTE * 20)));
    let at = START + MINUTE * 26;
    let told = format!("waiting: the list of bots cannot be read; looks again at {at} UTC");
    assert_eq!(world.matchmaker.describe(), told);
    world.directory.unrated = vec!["near", "far", "weak"];
    assert!(!world.offers_within(MINUTE * 40));
    let told = world.matchmaker.describe();
    let paused = "waiting: rated games pause after losses; looks again at ";
    assert!(told.starts_with(paused), "{told}");
    // The pause of one opponent is not the reason.
    world.directory.unrated = vec!["near"];
    world.directory.avoided = vec!["far", "weak"];
    assert!(!world.offers_within(MINUTE * 40));
    let told = world.matchmaker.describe();
    let several = "waiting: every bot that fits has a cooldown, plays us or is to be avoided";
    assert!(told.starts_with(several), "{told}");
}

#[test]
fn beside_games_the_second_of_a_pair_is_offered_when_the_first_is_over() {
    let mut world = World::new(Matchmaking {
        enabled: true,
        during_games: true,
        ..Matchmaking::default()
    });
    let first = world.next_offer();
    assert_eq!(
        (&first.to, first.color),
        (&user("near"), ColorChoice::White)
    );
    world.accept(&first);
    (world.games, world.directory.playing) = (1, true);
    let other = world.next_offer();
    assert_ne!(other.to, first.to, "they play us");
    world.decline(&other, "later");
    (world.games, world.directory.playing) = (0, false);
    let second = world.next_offer();
    assert_eq!((second.to, second.color), (first.to, ColorChoice::Black));
}

#[test]
fn a_long_game_or_a_spent_quota_does_not_cost_the_second_of_a_pair() {
    for is_game in [true, false] {
        let mut world = World::enabled();
        let first = world.next_offer();
        world.accept(&first);
        let later = START + world.passed + MINUTE * 90;
        if is_game {
            world.games = 1;
        } else {
            world.directory.barred = Some((later, Denied::Pace));
        }
        assert!(!world.offers_within(MINUTE * 90));
        (world.games, world.directory.barred) = (0, None);
        let second = world.next_offer();
        assert_eq!((second.to, second.color), (first.to, ColorChoice::Black));
    }
}

#[test]
fn the_second_of_a_pair_waits_for_an_opponent_who_is_busy_or_away_and_holds_up_no_one_else() {
    let mut world = World::new(Matchmaking {
        enabled: true,
        spacing: MINUTE,
        ..Matchmaking::default()
    });
    let first = world.next_offer();
    world.accept(&first);
    world.offline.push("near");
    let other = world.next_offer();
    assert_ne!(other.to, first.to);
    world.decline(&other, "later");
    world.offline.clear();
    let second = loop {
        let offer = world.next_offer();
        if offer.to == first.to {
            break offer;
        }
        world.decline(&offer, "later");
    };
    assert_eq!(second.color, ColorChoice::Black);
    assert!(world.passed < MINUTE * 60, "{:?}", world.passed);
}

#[test]
fn a_pair_that_waits_brings_nobody_else_sooner() {
    for is_away in [true, false] {
        let mut world = World::new(Matchmaking {
            enabled: true,
            idle: MINUTE * 60,
            spacing: MINUTE,
            ..Matchmaking::default()
        });
        let first = world.next_offer();
        world.accept(&first);
        world.offline.extend(is_away.then_some("near"));
        let over = world.passed;
        let is_second = world.next_offer().to == first.to;
        let is_soon = world.passed < over + MINUTE * 10;
        let is_late = world.passed >= over + MINUTE * 60;
        assert_eq!((is_second, is_soon, is_late), (!is_away, !is_away, is_away));
    }
}

#[test]
fn the_second_of_a_pair_waits_for_the_hours_of_its_profile() {
    let mut world = World::enabled();
    world.bots = vec![("near", 2010)];
    let first = world.next_offer();
    world.accept(&first);
    let hour = (START + world.passed).as_millis() / 3_600_000 % 24;
    let from = (hour + 2) % 24;
    let hours = format!("{from}-{}", from + 1);
    world.matchmaker.pairs[0].0.profile.hours = hours.parse().unwrap();
    assert!(!world.offers_within(MINUTE * 60));
    let second = world.next_offer();
    assert_eq!((second.to, second.color), (first.to, ColorChoice::Black));
    let now = (START + world.passed).as_millis() / 3_600_000 % 24;
    assert_eq!(now, from);
}

#[test]
fn a_restart_keeps_the_distance_to_the_last_challenge() {
    let mut world = World::new(Matchmaking {
        enabled: true,
        idle: Duration::ZERO,
        spacing: MINUTE * 10,
        ..Matchmaking::default()
    });
    world.matchmaker.resume(MINUTE * 4, world.begun);
    assert!(!world.offers_within(MINUTE * 5));
    assert!(world.offers_within(MINUTE * 3));
}

#[test]
fn a_challenge_by_command_does_not_wait_for_an_opponent_of_the_rules() {
    let mut world = World::enabled();
    world.offline.extend(["near", "far", "weak"]);
    assert!(!world.offers_within(MINUTE * 7));
    let manual = ChallengeRequest::manual("boss", None, &[Profile::default()]).unwrap();
    world.matchmaker.queue_manual(manual).unwrap();
    assert!(world.offers_within(Duration::from_secs(10)));
}

#[test]
fn a_challenge_by_command_does_not_wait_for_the_pacing() {
    let mut world = World::enabled();
    world.directory.barred = Some((START + MINUTE * 60, Denied::Pace));
    assert!(!world.offers_within(MINUTE * 6));
    let manual = ChallengeRequest::manual("boss", None, &[Profile::default()]).unwrap();
    world.matchmaker.queue_manual(manual).unwrap();
    let offer = world.offer_within(Duration::from_secs(10));
    assert_eq!(offer.map(|it| it.to), Some(user("boss")));
}

#[test]
fn a_rechallenge_reverses_the_colour_that_the_server_drew() {
    let mut world = World::new(Matchmaking::default());
    let manual = ChallengeRequest::manual("boss", None, &[Profile::default()]).unwrap();
    world.matchmaker.queue_manual(manual).unwrap();
    let first = world.next_offer();
    assert_eq!(first.color, ColorChoice::Random);
    let mut created = challenge("c", &first);
    created.final_color = Some(crate::lichess::Side::White);
    world.handle(&AccountEvent::Created(Box::new(created)));
    world.held = false;
    world.handle(&AccountEvent::Event(Event::GameStart(Box::new(game(
        "c", &first.to,
    )))));
    world.spare = 1;
    world.matchmaker.rechallenge().unwrap();
    assert_eq!(world.next_offer().color, ColorChoice::Black);
}

#[test]
fn a_lost_answer_is_looked_for_and_never_repeated() {
    let mut world = World::enabled();
    let offer = world.next_offer();
    let lost = AccountEvent::NotCreated(NotCreated::Lost);
    assert_eq!(world.handle(&lost), [Effect::Find]);
    let found = vec![challenge("c", &offer)];
    assert_eq!(
        world.handle(&AccountEvent::Outgoing(Some(found))),
        [Effect::Held(ChallengeId::new("c"))]
    );
    assert_eq!(world.pass(MINUTE), [Effect::Withdraw]);

    let mut world = World::enabled();
    world.next_offer();
    world.handle(&AccountEvent::NotCreated(NotCreated::Lost));
    let not_there = AccountEvent::Outgoing(Some(Vec::new()));
    assert_eq!(world.handle(&not_there), []);
    assert_eq!(world.pass(MINUTE), [Effect::Release]);

    let mut world = World::enabled();
    let offer = world.next_offer();
    world.handle(&AccountEvent::NotCreated(NotCreated::Lost));
    assert_eq!(world.handle(&not_there), []);
    let late = echo(Box::new(challenge("c", &offer)));
    assert_eq!(
        world.handle(&AccountEvent::Event(late)),
        [Effect::Held(ChallengeId::new("c"))],
        "the server took longer than the list"
    );

    let mut world = World::enabled();
    let offer = world.next_offer();
    world.handle(&AccountEvent::NotCreated(NotCreated::Lost));
    assert_eq!(world.handle(&AccountEvent::Outgoing(None)), []);
    let echo = echo(Box::new(challenge("c", &offer)));
    assert_eq!(
        world.handle(&AccountEvent::Event(echo)),
        [Effect::Held(ChallengeId::new("c"))]
    );

    let mut world = World::enabled();
    let offer = world.next_offer();
    world.handle(&AccountEvent::NotCreated(NotCreated::Lost));
    let event = Event::GameStart(Box::new(game("other", &offer.to)));
    world.handle(&AccountEvent::Event(event));
    (world.held, world.spare) = (false, 1);
    let second = world.next_offer();
    assert_eq!((second.to, second.color), (offer.to, ColorChoice::Black));
}

#[test]
fn a_challenge_whose_answer_was_lost_is_withdrawn_by_command() {
    let mut world = World::enabled();
    let offer = world.next_offer();
    world.handle(&AccountEvent::NotCreated(NotCreated::Lost));
    let withdrawn = vec![Effect::Withdraw];
    assert_eq!(world.matchmaker.recall(true), (0, withdrawn));
    let echo = echo(Box::new(challenge("c", &offer)));
    assert_eq!(
        world.handle(&AccountEvent::Event(echo)),
        [Effect::Held(ChallengeId::new("c"))]
    );
    (world.held, world.spare) = (false, 1);
    assert_eq!(world.pass(MINUTE / 60), [Effect::Release]);
}
