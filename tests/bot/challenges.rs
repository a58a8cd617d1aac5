//! The verdict on a challenge, row by row.

use std::time::Duration;

use megaton::bot::{Openness, Standing, Verdict, consider};
use megaton::config;
use megaton::lichess::{
    Challenge, ChallengeId, ChallengeStatus, ColorChoice, Compat, DeclineReason, GameId, GameInfo,
    Player, Side, Speed, Status, TimeControl, UserId, Variant,
};

use crate::desk::ME;

pub(crate) fn player(name: &str) -> Player {
    Player {
        id: Some(UserId::new(name)),
        name: Some(name.into()),
        ..Player::default()
    }
}

pub(crate) fn bot(name: &str) -> Player {
    Player {
        title: Some("BOT".into()),
        ..player(name)
    }
}

pub(crate) fn clock(limit: u64, increment: u64) -> TimeControl {
    TimeControl::Clock {
        limit: Duration::from_secs(limit),
        increment: Duration::from_secs(increment),
    }
}

pub(crate) fn challenge(id: &str, from: Player) -> Challenge {
    Challenge {
        id: ChallengeId::new(id),
        status: ChallengeStatus::Created,
        challenger: Some(from),
        dest_user: Some(bot(ME)),
        variant: Variant::Atomic,
        rated: true,
        speed: Speed::Blitz,
        time_control: clock(180, 2),
        color: ColorChoice::Random,
        final_color: Some(Side::White),
        direction: None,
        initial_fen: None,
        rematch_of: None,
        rules: Vec::new(),
        decline_reason: None,
        open: false,
    }
}

pub(crate) fn game(id: &str, opponent: Player) -> GameInfo {
    GameInfo {
        id: GameId::new(id),
        color: Some(Side::White),
        source: Some("friend".into()),
        status: Some(Status::Started),
        variant: Variant::Atomic,
        speed: Speed::Blitz,
        rated: true,
        has_moved: false,
        is_my_turn: true,
        opponent,
        time_left: None,
        rating: None,
        rating_diff: None,
        tournament: None,
        winner: None,
        compat: None,
    }
}

fn verdict(change: impl FnOnce(&mut Challenge, &mut config::Challenge)) -> Verdict {
    verdict_when(Openness::Open, change)
}

fn verdict_when(
    open: Openness,
    change: impl FnOnce(&mut Challenge, &mut config::Challenge),
) -> Verdict {
    let mut asked = challenge("c1", player("blastcap"));
    let mut rules = config::Challenge::default();
    change(&mut asked, &mut rules);
    let me = UserId::new(ME);
    let compat = Some(Compat {
        bot: true,
        board: true,
    });
    consider(&asked, compat, &rules, &Standing { me: &me, open })
}

#[test]
fn a_challenge_within_the_rules_is_taken() {
    assert_eq!(verdict(|_, _| {}), Verdict::Accept);
    assert_eq!(verdict(|asked, _| asked.rated = false), Verdict::Accept);
    assert_eq!(
        verdict(|asked, _| asked.challenger = Some(bot("nuke"))),
        Verdict::Accept
    );
}

#[test]
fn nobody_in_particular_may_challenge() {
    let anonymous = |asked: &mut Challenge| {
        asked.challenger = None;
        asked.rated = false;
    };
    assert_eq!(verdict(|asked, _| anonymous(asked)), Verdict::Accept);
    let no_humans = verdict(|asked, rules| {
        anonymous(asked);
        rules.humans.accept = false;
    });
    assert_eq!(no_humans, Verdict::Decline(DeclineReason::OnlyBot));
}

#[test]
fn every_refusal_names_what_would_be_taken() {
    use DeclineReason as Reason;
    type Row = (fn(&mut Challenge, &mut config::Challenge), Reason);
    let rows: [Row; 20] = [
        (|c, _| c.variant = Variant::Standard, Reason::Variant),
        (|c, _| c.variant = Variant::Unknown, Reason::Variant),
        (|c, _| c.initial_fen = Some("8/8 w".into()), Reason::Variant),
        (|c, _| c.time_control = clock(15, 0), Reason::TooFast),
        (|c, _| c.time_control = clock(3600, 0), Reason::TooSlow),
        (|c, _| c.time_control = clock(60, 180), Reason::TooSlow),
        (
            |c, r| {
                r.humans.min_base = Duration::from_secs(60);
                c.time_control = clock(30, 1);
            },
            Reason::TooFast,
        ),
        (
            |c, r| {
                r.humans.min_increment = Duration::from_secs(1);
                c.time_control = clock(180, 0);
            },
            Reason::TooFast,
        ),
        (
            |c, r| {
                r.humans.min_base = Duration::from_secs(60);
                c.time_control = clock(30, 100);
            },
            Reason::TimeControl,
        ),
        (
            |c, _| c.time_control = TimeControl::Correspondence { days: 2 },
            Reason::TimeControl,
        ),
        (
            |c, _| c.time_control = TimeControl::Unlimited,
            Reason::TimeControl,
        ),
        (
            |c, _| c.time_control = TimeControl::Unknown,
            Reason::TimeControl,
        ),
        (|_, r| r.humans.rated = false, Reason::Casual),
        (
            |c, r| {
                c.rated = false;
                r.humans.casual = false;
            },
            Reason::Rated,
        ),
        (
            |_, r| {
                r.humans.rated = false;
                r.humans.casual = false;
            },
            Reason::Generic,
        ),
        (
            |c, r| {
                c.challenger = Some(bot("nuke"));
                r.bots.accept = false;
            },
            Reason::NoBot,
        ),
        (|_, r| r.humans.accept = false, Reason::OnlyBot),
        (
            |_, r| r.block = vec!["BlastCap".parse().unwrap()],
            Reason::Generic,
        ),
        // The most useful of several: what is to be played goes before who may play.
        (
            |c, r| {
                c.variant = Variant::Horde;
                r.humans.accept = false;
            },
            Reason::Variant,
        ),
        (
            |c, r| {
                c.time_control = clock(15, 0);
                r.humans.rated = false;
            },
            Reason::TooFast,
        ),
    ];
    for (index, (change, reason)) in rows.into_iter().enumerate() {
        assert_eq!(verdict(change), Verdict::Decline(reason), "row {index}");
    }
}

#[test]
fn a_full_house_says_later_to_what_it_would_have_taken() {
    let full =
        |change: fn(&mut Challenge, &mut config::Challenge)| verdict_when(Openness::Full, change);
    assert_eq!(full(|_, _| {}), Verdict::Decline(DeclineReason::Later));
    let horde = full(|c, _| c.variant = Variant::Horde);
    assert_eq!(horde, Verdict::Decline(DeclineReason::Variant));
}

#[test]
fn the_days_games_against_bots_do_not_concern_humans() {
    let human = verdict_when(Openness::HumansOnly, |_, _| {});
    assert_eq!(human, Verdict::Accept);
    let other = verdict_when(Openness::HumansOnly, |c, _| c.challenger = Some(bot("n")));
    assert_eq!(other, Verdict::Decline(DeclineReason::Later));
}

#[test]
fn our_own_challenges_and_closed_ones_are_none_of_our_business() {
    let rows: [fn(&mut Challenge, &mut config::Challenge); 6] = [
        |c, _| {
            c.challenger = Some(bot("MEGATON"));
            c.dest_user = Some(bot("nuke"));
        },
        |c, _| c.dest_user = Some(player("somebody")),
        |c, _| c.status = ChallengeStatus::Offline,
        |c, _| c.status = ChallengeStatus::Canceled,
        |c, _| c.status = ChallengeStatus::Declined,
        |c, _| c.status = ChallengeStatus::Accepted,
    ];
    for change in rows {
        assert_eq!(verdict(change), Verdict::Ignore);
    }
}

#[test]
fn compatibility_not_told_is_unknown_and_not_a_no() {
    let me = UserId::new(ME);
    let rules = config::Challenge::default();
    let standing = Standing {
        me: &me,
        open: Openness::Open,
    };
    let asked = challenge("c1", player("blastcap"));
    let judged = |bot: Option<bool>| {
        let compat = bot.map(|bot| Compat { bot, board: true });
        consider(&asked, compat, &rules, &standing)
    };
    assert_eq!(judged(None), Verdict::Accept);
    assert_eq!(
        judged(Some(false)),
        Verdict::Decline(DeclineReason::Generic)
    );
}
