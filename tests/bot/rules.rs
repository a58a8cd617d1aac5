//! Every rule of the challenge policy, row by row: the decisive rule and the decline reason.

use std::time::Duration;

use megaton::bot::{Availability, ChallengeRule, Decision};
use megaton::config::ColorWish;
use megaton::lichess::{ColorChoice, Compat, DeclineReason, GameId, TimeControl, Variant};

use crate::challenges::{Case, bot, clock, decision, judged, names, secs};

/// The change to the challenge, the decisive rule, and the decline reason.
type Row = (fn(&mut Case), ChallengeRule, DeclineReason);

fn check(rows: &[Row]) {
    for (index, (change, rule, reason)) in rows.iter().enumerate() {
        let verdict = judged(change);
        let decided = verdict.decided_by().map(|violation| violation.rule);
        let expected = (Some(*rule), Decision::Decline(*reason));
        assert_eq!(
            (decided, verdict.decision),
            expected,
            "row {index} ({rule})"
        );
    }
}

#[test]
fn every_rule_about_the_game_names_an_acceptable_alternative() {
    use DeclineReason as Reason;
    check(&[
        (
            |c| c.asked.variant = Variant::Standard,
            ChallengeRule::Variant,
            Reason::Variant,
        ),
        (
            |c| c.asked.variant = Variant::Unknown,
            ChallengeRule::Variant,
            Reason::Variant,
        ),
        (
            |c| c.asked.initial_fen = Some("8/8 w".into()),
            ChallengeRule::StartPosition,
            Reason::Variant,
        ),
        (
            |c| c.rules.humans.rated = false,
            ChallengeRule::NoRated,
            Reason::Casual,
        ),
        (
            |c| {
                c.asked.rated = false;
                c.rules.humans.casual = false;
            },
            ChallengeRule::NoCasual,
            Reason::Rated,
        ),
        (
            |c| {
                c.rules.humans.rated = false;
                c.rules.humans.casual = false;
            },
            ChallengeRule::NoRated,
            Reason::Generic,
        ),
        (
            |c| c.rated_rests = true,
            ChallengeRule::RatedRests,
            Reason::Casual,
        ),
        (
            |c| {
                c.rated_rests = true;
                c.rules.humans.casual = false;
            },
            ChallengeRule::RatedRests,
            Reason::Later,
        ),
        (
            |c| {
                c.rules.humans.color = ColorWish::White;
                c.asked.color = ColorChoice::White;
            },
            ChallengeRule::Color,
            Reason::Generic,
        ),
        // A random colour may differ next time.
        (
            |c| c.rules.humans.color = ColorWish::White,
            ChallengeRule::Color,
            Reason::Later,
        ),
        (
            |c| c.asked.rules = vec!["noAbort".into()],
            ChallengeRule::SpecialRules,
            Reason::Generic,
        ),
        (
            |c| c.asked.rules = vec!["noWin".into()],
            ChallengeRule::SpecialRules,
            Reason::Generic,
        ),
        (
            |c| {
                c.compat = Some(Compat {
                    bot: false,
                    board: true,
                });
            },
            ChallengeRule::Incompatible,
            Reason::Generic,
        ),
    ]);
    let fitting = decision(|c| c.rules.humans.color = ColorWish::Black);
    assert_eq!(fitting, Decision::Accept);
    let harmless = ["noRematch", "noGiveTime", "noClaimWin", "NoEarlyDraw"];
    let harmless = harmless.map(str::to_owned).to_vec();
    assert_eq!(decision(|c| c.asked.rules = harmless), Decision::Accept);
}

#[test]
fn every_rule_about_time_names_the_direction() {
    use DeclineReason as Reason;
    check(&[
        (
            |c| c.time(15, 0),
            ChallengeRule::UltraBullet,
            Reason::TooFast,
        ),
        (
            |c| c.time(3600, 0),
            ChallengeRule::LongBase,
            Reason::TooSlow,
        ),
        (
            |c| c.time(60, 180),
            ChallengeRule::LargeIncrement,
            Reason::TooSlow,
        ),
        (
            |c| {
                c.rules.humans.min_base = secs(60);
                c.time(30, 1);
            },
            ChallengeRule::ShortBase,
            Reason::TooFast,
        ),
        (
            |c| {
                c.rules.humans.min_increment = secs(1);
                c.time(180, 0);
            },
            ChallengeRule::SmallIncrement,
            Reason::TooFast,
        ),
        // Zero is a bound like any other: no increment at all is wanted.
        (
            |c| c.rules.humans.max_increment = Duration::ZERO,
            ChallengeRule::LargeIncrement,
            Reason::TooSlow,
        ),
        (
            |c| {
                c.rules.humans.min_base = secs(60);
                c.time(30, 100);
            },
            ChallengeRule::ShortBase,
            Reason::TimeControl,
        ),
        (
            |c| c.rules.humans.max_duration = secs(240),
            ChallengeRule::LongGame,
            Reason::TooSlow,
        ),
        (
            |c| {
                c.rules.humans.bullet_needs_increment = true;
                c.time(60, 0);
            },
            ChallengeRule::BulletWithoutIncrement,
            Reason::TooFast,
        ),
        (
            |c| c.rules.humans.times = vec!["rapid".parse().unwrap()],
            ChallengeRule::TimeNotListed,
            Reason::TooFast,
        ),
        (
            |c| c.rules.humans.times = vec!["bullet".parse().unwrap(), "1+1".parse().unwrap()],
            ChallengeRule::TimeNotListed,
            Reason::TooSlow,
        ),
        (
            |c| c.rules.humans.times = vec!["bullet".parse().unwrap(), "5+0".parse().unwrap()],
            ChallengeRule::TimeNotListed,
            Reason::TimeControl,
        ),
    ]);
    let exact = decision(|c| c.rules.humans.times = vec!["3+2".parse().unwrap()]);
    assert_eq!(exact, Decision::Accept);
    let bullet = decision(|c| {
        c.rules.humans.bullet_needs_increment = true;
        c.time(60, 1);
    });
    assert_eq!(bullet, Decision::Accept);
}

#[test]
fn games_without_a_clock_are_accepted_if_enabled_and_never_rated() {
    use DeclineReason as Reason;
    check(&[
        (
            |c| {
                c.asked.rated = false;
                c.asked.time_control = TimeControl::Correspondence { days: 2 };
            },
            ChallengeRule::NoCorrespondence,
            Reason::TooSlow,
        ),
        (
            |c| {
                c.asked.rated = false;
                c.asked.time_control = TimeControl::Unlimited;
            },
            ChallengeRule::NoUnlimited,
            Reason::TooSlow,
        ),
        (
            |c| c.asked.time_control = TimeControl::Unknown,
            ChallengeRule::UnknownTime,
            Reason::TimeControl,
        ),
        (
            |c| days(c, 1, 2, 14),
            ChallengeRule::FewDays,
            Reason::TooFast,
        ),
        (
            |c| days(c, 7, 1, 3),
            ChallengeRule::ManyDays,
            Reason::TooSlow,
        ),
        (
            |c| {
                days(c, 2, 1, 3);
                c.asked.rated = true;
            },
            ChallengeRule::RatedWithoutClock,
            Reason::Casual,
        ),
    ]);
    assert_eq!(decision(|c| days(c, 2, 1, 3)), Decision::Accept);
    let unlimited = decision(|c| {
        c.asked.rated = false;
        c.asked.time_control = TimeControl::Unlimited;
        c.rules.humans.unlimited = true;
    });
    assert_eq!(unlimited, Decision::Accept);
}

fn days(case: &mut Case, days: u32, least: u32, most: u32) {
    case.asked.rated = false;
    case.asked.time_control = TimeControl::Correspondence { days };
    case.rules.humans.correspondence = true;
    case.rules.humans.min_days = least;
    case.rules.humans.max_days = most;
}

#[test]
fn rated_only_asks_for_a_clock_that_lichess_rates() {
    use DeclineReason as Reason;
    let declined = |time| {
        decision(|c| {
            c.rules.humans.casual = false;
            c.rules.humans.correspondence = true;
            c.rules.humans.unlimited = true;
            c.asked.rated = false;
            c.asked.time_control = time;
        })
    };
    let rows = [
        (clock(180, 2), Reason::Rated),
        (clock(0, 2), Reason::Rated),
        // Sent as rated, and turned casual on the way.
        (clock(0, 1), Reason::TooFast),
        (TimeControl::Correspondence { days: 2 }, Reason::TooSlow),
        (TimeControl::Unlimited, Reason::TooSlow),
    ];
    for (time, reason) in rows {
        assert_eq!(declined(time), Decision::Decline(reason), "{time:?}");
    }
    let rated = decision(|c| {
        days(c, 2, 1, 3);
        c.asked.rated = true;
        c.rules.humans.casual = false;
    });
    assert_eq!(rated, Decision::Decline(Reason::TooSlow));
}

#[test]
fn every_rule_about_the_challenger_is_final() {
    use DeclineReason as Reason;
    check(&[
        (
            |c| {
                c.asked.challenger = Some(bot("nuke"));
                c.rules.bots.accept = false;
            },
            ChallengeRule::NoBots,
            Reason::NoBot,
        ),
        (
            |c| c.rules.humans.accept = false,
            ChallengeRule::NoHumans,
            Reason::OnlyBot,
        ),
        (
            |c| c.rules.block = names(&["BlastCap"]),
            ChallengeRule::Blocked,
            Reason::Generic,
        ),
        (
            |c| c.rules.allow = names(&["friend"]),
            ChallengeRule::NotAllowed,
            Reason::Generic,
        ),
        (
            |c| {
                c.rules.humans.min_rating = 1800;
                c.rated_at(1799);
            },
            ChallengeRule::RatingTooLow,
            Reason::Generic,
        ),
        (
            |c| {
                c.rules.humans.max_rating = 1800;
                c.rated_at(1801);
            },
            ChallengeRule::RatingTooHigh,
            Reason::Generic,
        ),
        (
            |c| {
                c.rules.humans.max_rating_difference = 100;
                c.rated_at(2001);
            },
            ChallengeRule::RatingTooFar,
            Reason::Generic,
        ),
        (
            |c| c.rules.humans.provisional = false,
            ChallengeRule::Provisional,
            Reason::Generic,
        ),
    ]);
    let known = decision(|c| {
        c.rules.humans.provisional = false;
        c.rules.humans.min_rating = 1800;
        c.rules.humans.max_rating = 2000;
        c.rules.humans.max_rating_difference = 100;
        c.rated_at(2000);
    });
    assert_eq!(known, Decision::Accept);
    let allowed = decision(|c| c.rules.allow = names(&["BLASTCAP"]));
    assert_eq!(allowed, Decision::Accept);
    // Without a rating of the bot there is no difference to compare.
    let unrated = decision(|c| {
        c.rating = None;
        c.rules.humans.max_rating_difference = 1;
        c.rated_at(3000);
    });
    assert_eq!(unrated, Decision::Accept);
    // A rating in another variant is irrelevant.
    let other = judged(|c| {
        c.rules.humans.min_rating = 3000;
        c.asked.variant = Variant::Horde;
        c.rated_at(1000);
    });
    assert_eq!(other.violations.len(), 1);
}

#[test]
fn every_rule_about_how_often_says_later() {
    use DeclineReason::Later;
    check(&[
        (
            |c| {
                c.rules.humans.at_once = 1;
                c.past.at_once = 1;
            },
            ChallengeRule::AtOnce,
            Later,
        ),
        (
            |c| {
                c.rules.humans.repeats = 3;
                c.past.lately = 3;
            },
            ChallengeRule::Repeats,
            Later,
        ),
        (
            |c| {
                c.asked.rematch_of = Some(GameId::new("g"));
                c.rules.humans.rematches = 2;
                c.past.rematches = 2;
            },
            ChallengeRule::Rematches,
            Later,
        ),
        (
            |c| {
                c.rules.humans.per_day = 5;
                c.past.today = 5;
            },
            ChallengeRule::PerDay,
            Later,
        ),
        (
            |c| {
                c.rules.humans.total_per_day = 50;
                c.past.kind_today = 50;
            },
            ChallengeRule::TotalPerDay,
            Later,
        ),
        (|c| c.past.rests = true, ChallengeRule::NoShows, Later),
        (
            |c| c.open = Availability::Full,
            ChallengeRule::NoSlot,
            Later,
        ),
        (
            |c| c.open = Availability::BotsSpent,
            ChallengeRule::BotsSpent,
            Later,
        ),
        (
            |c| c.open = Availability::Draining,
            ChallengeRule::Draining,
            Later,
        ),
        (
            |c| c.open = Availability::Paused,
            ChallengeRule::Paused,
            Later,
        ),
        (
            |c| c.open = Availability::Alert,
            ChallengeRule::Alert,
            Later,
        ),
    ]);
    // A challenge of its own is no rematch.
    let fresh = decision(|c| {
        c.rules.humans.rematches = 2;
        c.past.rematches = 2;
    });
    assert_eq!(fresh, Decision::Accept);
}

#[test]
fn of_several_reasons_the_one_sent_spares_a_useless_second_try() {
    use DeclineReason as Reason;
    check(&[
        // A challenger who is never accepted need not change anything.
        (
            |c| {
                c.asked.variant = Variant::Horde;
                c.rules.humans.accept = false;
            },
            ChallengeRule::NoHumans,
            Reason::OnlyBot,
        ),
        (
            |c| {
                c.asked.variant = Variant::Horde;
                c.rules.block = names(&["blastcap"]);
            },
            ChallengeRule::Blocked,
            Reason::Generic,
        ),
        (
            |c| {
                c.rules.block = names(&["blastcap"]);
                c.rules.humans.accept = false;
            },
            ChallengeRule::NoHumans,
            Reason::OnlyBot,
        ),
        // The greatest change first.
        (
            |c| {
                c.asked.variant = Variant::Standard;
                c.time(15, 0);
                c.rules.humans.rated = false;
            },
            ChallengeRule::Variant,
            Reason::Variant,
        ),
        (
            |c| {
                c.time(15, 0);
                c.rules.humans.rated = false;
            },
            ChallengeRule::UltraBullet,
            Reason::TooFast,
        ),
        (
            |c| {
                c.rules.humans.rated = false;
                c.asked.rules = vec!["noAbort".into()];
            },
            ChallengeRule::NoRated,
            Reason::Casual,
        ),
        // Reasons that pass with time come last.
        (
            |c| {
                c.rules.humans.rated = false;
                c.open = Availability::Full;
            },
            ChallengeRule::NoRated,
            Reason::Casual,
        ),
        // Violations about time share one reason, whichever rule comes first.
        (
            |c| {
                c.rules.humans.min_base = secs(600);
                c.rules.humans.max_increment = secs(1);
            },
            ChallengeRule::ShortBase,
            Reason::TimeControl,
        ),
    ]);
}
