//! The verdict on a challenge, row by row.

use std::time::Duration;

use megaton::bot::{
    Availability, ChallengeContext, ChallengeRule, Decision, OpponentHistory, PlayerLists,
    PolicyOutcome, evaluate_challenge,
};
use megaton::config::{self, ColorWish};
use megaton::lichess::{
    Challenge, ChallengeId, ChallengeStatus, ColorChoice, Compat, DeclineReason, GameId, GameInfo,
    Player, Side, Speed, Status, TimeControl, UserId, Variant,
};

use crate::harness::ME;

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
        line: None,
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

/// A challenge and everything it is judged by.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) asked: Challenge,
    pub(crate) rules: config::Challenge,
    pub(crate) compat: Option<Compat>,
    pub(crate) rating: Option<i32>,
    pub(crate) past: OpponentHistory,
    pub(crate) rated_rests: bool,
    pub(crate) open: Availability,
}

impl Case {
    pub(crate) fn new() -> Self {
        Self {
            asked: challenge("c1", player("blastcap")),
            rules: config::Challenge::default(),
            compat: Some(Compat {
                bot: true,
                board: true,
            }),
            rating: Some(1900),
            past: OpponentHistory::default(),
            rated_rests: false,
            open: Availability::Open,
        }
    }

    /// Whether a block list names the challenger.
    pub(crate) fn is_blocked(&self) -> bool {
        let challenger = self.asked.challenger.as_ref();
        let id = challenger.and_then(|player| player.id.as_ref());
        id.is_some_and(|id| PlayerLists::named(&self.rules).blocked_by(id).is_some())
    }

    pub(crate) fn judge(&self) -> PolicyOutcome {
        let lists = PlayerLists::named(&self.rules);
        let standing = ChallengeContext {
            me: &UserId::new(ME),
            rating: self.rating,
            lists: &lists,
            past: self.past,
            rated_rests: self.rated_rests,
            open: self.open,
        };
        evaluate_challenge(&self.asked, self.compat, &self.rules, &standing)
    }

    pub(crate) fn time(&mut self, limit: u64, increment: u64) {
        self.asked.time_control = clock(limit, increment);
    }

    pub(crate) fn rated_at(&mut self, rating: i32) {
        if let Some(challenger) = &mut self.asked.challenger {
            challenger.rating = Some(rating);
        }
    }
}

pub(crate) fn judged(change: impl FnOnce(&mut Case)) -> PolicyOutcome {
    let mut case = Case::new();
    change(&mut case);
    case.judge()
}

pub(crate) fn decision(change: impl FnOnce(&mut Case)) -> Decision {
    judged(change).decision
}

pub(crate) fn names(names: &[&str]) -> Vec<config::Entry> {
    let entries = names.iter().map(|name| name.parse());
    entries.collect::<Result<_, _>>().expect("good names")
}

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_challenge_within_the_rules_is_accepted() {
    assert_eq!(decision(|_| {}), Decision::Accept);
    assert_eq!(decision(|c| c.asked.rated = false), Decision::Accept);
    let from_bot = judged(|c| c.asked.challenger = Some(bot("nuke")));
    assert_eq!(from_bot.decision, Decision::Accept);
    assert_eq!(from_bot.decided_by(), None);
}

#[test]
fn an_anonymous_player_may_challenge() {
    let anonymous = |c: &mut Case| {
        c.asked.challenger = None;
        c.asked.rated = false;
    };
    assert_eq!(decision(anonymous), Decision::Accept);
    let no_humans = decision(|c| {
        anonymous(c);
        c.rules.humans.accept = false;
    });
    assert_eq!(no_humans, Decision::Decline(DeclineReason::OnlyBot));
    // An anonymous player is on no list and has no rating.
    for change in [
        |c: &mut Case| c.rules.allow = names(&["friend"]),
        |c: &mut Case| c.rules.humans.min_rating = 1,
        |c: &mut Case| c.rules.humans.provisional = false,
    ] {
        let declined = decision(|c| {
            anonymous(c);
            change(c);
        });
        assert_eq!(declined, Decision::Decline(DeclineReason::Generic));
    }
}

#[test]
fn every_violation_is_reported_and_not_only_the_first() {
    let verdict = judged(|c| {
        c.asked.variant = Variant::Standard;
        c.time(3600, 0);
        c.rules.humans.rated = false;
        c.open = Availability::Full;
    });
    let rules: Vec<_> = verdict.violations.iter().map(|o| o.rule).collect();
    assert_eq!(
        rules,
        [
            ChallengeRule::Variant,
            ChallengeRule::LongBase,
            ChallengeRule::NoRated,
            ChallengeRule::NoSlot
        ]
    );
    assert_eq!(
        verdict.violations[1].to_string(),
        "initial time too long (3600 s, max_base = 1800)"
    );
}

#[test]
fn a_welcome_player_bypasses_preferences_but_nothing_else() {
    let welcome = |change: fn(&mut Case)| {
        decision(|c| {
            c.rules.welcome = names(&["BlastCap"]);
            change(c);
        })
    };
    let spared: [fn(&mut Case); 7] = [
        |c| c.time(3600, 0),
        |c| c.rules.humans.rated = false,
        |c| c.rules.humans.min_rating = 3000,
        |c| c.rules.humans.repeats = 0,
        |c| c.rules.humans.color = ColorWish::White,
        |c| c.rules.humans.accept = false,
        |c| c.rules.allow = names(&["friend"]),
    ];
    for (index, change) in spared.into_iter().enumerate() {
        assert_eq!(welcome(change), Decision::Accept, "row {index}");
    }
    let not_spared: [fn(&mut Case); 9] = [
        |c| c.rules.block = names(&["blastcap"]),
        |c| c.asked.variant = Variant::Standard,
        |c| c.time(15, 0),
        |c| c.open = Availability::Full,
        |c| c.open = Availability::Draining,
        |c| c.rated_rests = true,
        |c| c.asked.rules = vec!["noAbort".into()],
        |c| c.asked.time_control = TimeControl::Unlimited,
        |c| {
            c.compat = Some(Compat {
                bot: false,
                board: true,
            });
        },
    ];
    for (index, change) in not_spared.into_iter().enumerate() {
        assert_ne!(welcome(change), Decision::Accept, "row {index}");
    }
}

#[test]
fn humans_and_bots_have_rules_of_their_own() {
    let asked_by = |who: Player, rated| {
        decision(|c| {
            c.asked.challenger = Some(who);
            c.asked.rated = rated;
            c.rules.humans.rated = false;
            c.rules.bots.casual = false;
        })
    };
    assert_eq!(asked_by(player("a"), false), Decision::Accept);
    assert_eq!(asked_by(bot("n"), true), Decision::Accept);
    let casual = Decision::Decline(DeclineReason::Casual);
    assert_eq!(asked_by(player("a"), true), casual);
    let rated = Decision::Decline(DeclineReason::Rated);
    assert_eq!(asked_by(bot("n"), false), rated);
}

#[test]
fn own_and_closed_challenges_are_ignored() {
    type Row = (fn(&mut Challenge), ChallengeRule);
    let rows: [Row; 6] = [
        (
            |c| {
                c.challenger = Some(bot("MEGATON"));
                c.dest_user = Some(bot("nuke"));
            },
            ChallengeRule::OurOwn,
        ),
        (
            |c| c.dest_user = Some(player("somebody")),
            ChallengeRule::NotForUs,
        ),
        (
            |c| c.status = ChallengeStatus::Offline,
            ChallengeRule::Closed,
        ),
        (
            |c| c.status = ChallengeStatus::Canceled,
            ChallengeRule::Closed,
        ),
        (
            |c| c.status = ChallengeStatus::Declined,
            ChallengeRule::Closed,
        ),
        (
            |c| c.status = ChallengeStatus::Accepted,
            ChallengeRule::Closed,
        ),
    ];
    for (change, rule) in rows {
        let verdict = judged(|c| change(&mut c.asked));
        assert_eq!(verdict.decision, Decision::Ignore);
        assert_eq!(verdict.decided_by().map(|o| o.rule), Some(rule));
    }
}

#[test]
fn missing_compatibility_is_unknown_and_not_a_no() {
    assert_eq!(decision(|c| c.compat = None), Decision::Accept);
}
