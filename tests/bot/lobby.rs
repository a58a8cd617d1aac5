//! Challenges, seats and which games get a player.

use std::sync::Arc;
use std::time::{Duration, Instant};

use megaton::bot::table::Answer;
use megaton::bot::{Errand, Lobby, News, Openness, Pace, Settings, Standing, Verdict, consider};
use megaton::config;
use megaton::lichess::{
    Challenge, ChallengeId, ChallengeStatus, ColorChoice, Compat, DeclineReason, Event, GameId,
    GameInfo, Player, Side, Speed, Status, TimeControl, UserId, Variant,
};

use crate::desk::{ME, refused};

fn player(name: &str) -> Player {
    Player {
        id: Some(UserId::new(name)),
        name: Some(name.into()),
        ..Player::default()
    }
}

fn bot(name: &str) -> Player {
    Player {
        title: Some("BOT".into()),
        ..player(name)
    }
}

fn clock(limit: u64, increment: u64) -> TimeControl {
    TimeControl::Clock {
        limit: Duration::from_secs(limit),
        increment: Duration::from_secs(increment),
    }
}

fn challenge(id: &str, from: Player) -> Challenge {
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

fn game(id: &str, opponent: Player) -> GameInfo {
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
        rules.humans = false;
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
                r.min_base = Duration::from_secs(60);
                c.time_control = clock(30, 1);
            },
            Reason::TooFast,
        ),
        (
            |c, r| {
                r.min_increment = Duration::from_secs(1);
                c.time_control = clock(180, 0);
            },
            Reason::TooFast,
        ),
        (
            |c, r| {
                r.min_base = Duration::from_secs(60);
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
        (|_, r| r.rated = false, Reason::Casual),
        (
            |c, r| {
                c.rated = false;
                r.casual = false;
            },
            Reason::Rated,
        ),
        (
            |_, r| {
                r.rated = false;
                r.casual = false;
            },
            Reason::Generic,
        ),
        (
            |c, r| {
                c.challenger = Some(bot("nuke"));
                r.bots = false;
            },
            Reason::NoBot,
        ),
        (|_, r| r.humans = false, Reason::OnlyBot),
        (|_, r| r.block = vec!["BlastCap".into()], Reason::Generic),
        // The most useful of several: what is to be played goes before who may play.
        (
            |c, r| {
                c.variant = Variant::Horde;
                r.humans = false;
            },
            Reason::Variant,
        ),
        (
            |c, r| {
                c.time_control = clock(15, 0);
                r.rated = false;
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

/// A lobby with a clock of its own.
struct Door {
    lobby: Lobby,
    now: Instant,
}

impl Door {
    fn new(seats: usize) -> Self {
        let mut settings = Settings::default();
        settings.challenge.concurrency = seats;
        Self {
            lobby: Lobby::new(UserId::new(ME), Arc::new(settings), Pace::default()),
            now: Instant::now(),
        }
    }

    fn apply(&mut self, news: News) -> Vec<Errand> {
        self.lobby.apply(news, self.now)
    }

    fn challenged(&mut self, challenge: Challenge) -> Vec<Errand> {
        self.apply(News::Event(Event::Challenge {
            challenge: Box::new(challenge),
            compat: None,
        }))
    }

    fn started(&mut self, game: GameInfo) -> Vec<Errand> {
        self.apply(News::Event(Event::GameStart(Box::new(game))))
    }

    fn answered(&mut self, id: &str, answer: Answer) -> Vec<Errand> {
        self.apply(News::Accepted {
            id: ChallengeId::new(id),
            answer,
        })
    }

    fn wait(&mut self, seconds: u64) -> Vec<Errand> {
        let end = self.now + Duration::from_secs(seconds);
        let mut errands = Vec::new();
        while let Some(at) = self.lobby.wake_at().filter(|&at| at <= end) {
            self.now = self.now.max(at);
            errands.extend(self.apply(News::Tick));
        }
        self.now = end;
        errands
    }
}

fn accept(id: &str) -> Vec<Errand> {
    vec![Errand::Accept(ChallengeId::new(id))]
}

fn later(id: &str) -> Vec<Errand> {
    vec![Errand::Decline(ChallengeId::new(id), DeclineReason::Later)]
}

#[test]
fn a_challenge_taken_holds_a_seat_until_its_game_takes_it_over() {
    let mut door = Door::new(1);
    assert_eq!(door.challenged(challenge("c1", player("a"))), accept("c1"));
    assert_eq!(door.challenged(challenge("c2", player("b"))), later("c2"));
    door.answered("c1", Answer::Done);
    assert!(matches!(
        door.started(game("c1", player("a")))[..],
        [Errand::Play(_)]
    ));
    assert_eq!(door.lobby.taken(), 1);
    door.apply(News::Left(GameId::new("c1")));
    assert_eq!(door.challenged(challenge("c3", player("b"))), accept("c3"));
}

#[test]
fn a_game_is_started_exactly_once_however_often_it_is_announced() {
    let mut door = Door::new(2);
    assert_eq!(door.started(game("g1", player("a"))).len(), 1);
    for _ in 0..5 {
        assert_eq!(door.started(game("g1", player("a"))), []);
    }
    let listed = vec![game("g1", player("a"))];
    assert_eq!(door.apply(News::Running(listed)), []);
}

#[test]
fn finished_and_foreign_games_start_nothing() {
    let mut door = Door::new(2);
    let mut over = game("g1", player("a"));
    over.status = Some(Status::Mate);
    assert_eq!(door.started(over), []);
    let mut board_only = game("g2", player("a"));
    board_only.compat = Some(Compat {
        bot: false,
        board: true,
    });
    assert_eq!(door.started(board_only), []);
    assert!(door.lobby.is_empty());
}

#[test]
fn a_permit_without_a_game_runs_out_and_is_asked_about() {
    let mut door = Door::new(1);
    door.challenged(challenge("c1", player("a")));
    door.answered("c1", Answer::Done);
    assert_eq!(door.wait(29), []);
    assert_eq!(door.wait(2), [Errand::List]);
    assert!(door.lobby.is_empty());
    // A game that begins after all is played all the same.
    assert_eq!(door.started(game("c1", player("a"))).len(), 1);
}

#[test]
fn a_rematch_may_begin_under_another_id() {
    let mut door = Door::new(2);
    let mut rematch = challenge("r1", player("a"));
    rematch.rematch_of = Some(GameId::new("old"));
    door.challenged(rematch);
    assert_eq!(door.started(game("other", player("a"))).len(), 1);
    assert_eq!(door.lobby.taken(), 1, "the permit became the game");
}

#[test]
fn a_surplus_game_is_played() {
    let mut door = Door::new(1);
    door.started(game("g1", player("a")));
    assert_eq!(door.started(game("g2", player("b"))).len(), 1);
    assert_eq!(door.challenged(challenge("c1", player("c"))), later("c1"));
    door.apply(News::Left(GameId::new("g1")));
    assert_eq!(door.challenged(challenge("c2", player("c"))), later("c2"));
}

#[test]
fn what_is_withdrawn_leaves_its_seat() {
    let mut door = Door::new(1);
    let asked = challenge("c1", player("a"));
    door.challenged(asked.clone());
    door.apply(News::Event(Event::ChallengeCanceled(Box::new(asked))));
    assert!(door.lobby.is_empty());
}

#[test]
fn acceptances_end_in_a_seat_or_in_none_whatever_the_answer() {
    for answer in [
        refused("The challenge has been canceled."),
        Answer::Gone,
        Answer::Limited { wait: None },
        Answer::Refused {
            status: 403,
            text: "Missing scope".into(),
        },
    ] {
        let mut door = Door::new(1);
        door.challenged(challenge("c1", player("a")));
        door.answered("c1", answer);
        assert!(door.lobby.is_empty());
    }
}

#[test]
fn a_lost_acceptance_is_repeated_a_few_times() {
    let mut door = Door::new(1);
    door.challenged(challenge("c1", player("a")));
    for _ in 0..3 {
        door.answered("c1", Answer::Lost);
        assert_eq!(door.wait(2), accept("c1"));
    }
    door.answered("c1", Answer::Lost);
    assert!(door.lobby.is_empty());
}

#[test]
fn the_days_limit_against_bots_leaves_humans_alone() {
    let mut door = Door::new(4);
    door.challenged(challenge("c1", bot("nuke")));
    let wait = Some(Duration::from_secs(27_594));
    assert_eq!(door.answered("c1", Answer::Limited { wait }), later("c1"));
    assert_eq!(door.challenged(challenge("c2", bot("fuse"))), later("c2"));
    assert_eq!(door.challenged(challenge("c3", player("a"))), accept("c3"));
    door.wait(27_600);
    assert_eq!(door.challenged(challenge("c4", bot("fuse"))), accept("c4"));
}

#[test]
fn a_challenge_told_twice_is_answered_once() {
    let mut door = Door::new(4);
    assert_eq!(door.challenged(challenge("c1", player("a"))), accept("c1"));
    assert_eq!(door.challenged(challenge("c1", player("a"))), []);
    door.started(game("c1", player("a")));
    assert_eq!(door.challenged(challenge("c1", player("a"))), []);
}

#[test]
fn every_opening_compares_the_running_games() {
    let mut door = Door::new(4);
    assert_eq!(door.apply(News::Opened), [Errand::List]);
    door.started(game("g1", player("a")));
    let listed = vec![game("g2", player("b"))];
    let errands = door.apply(News::Running(listed));
    assert_eq!(errands[0], Errand::SaidOver(GameId::new("g1")));
    assert!(matches!(&errands[1], Errand::Play(game) if game.id.as_str() == "g2"));
    // And from time to time while games run.
    assert_eq!(door.wait(301), [Errand::List]);
}

#[test]
fn a_list_that_could_not_be_had_is_asked_for_again() {
    let mut door = Door::new(4);
    door.apply(News::Opened);
    door.apply(News::NoList);
    assert_eq!(door.wait(11), [Errand::List]);
}

#[test]
fn a_burst_that_overflowed_the_stream_is_made_up_by_the_list() {
    let mut door = Door::new(4);
    let listed: Vec<_> = (0..40)
        .map(|n| game(&format!("g{n}"), player("a")))
        .collect();
    for known in &listed[..32] {
        door.started(known.clone());
    }
    let errands = door.apply(News::Running(listed));
    let plays = errands.iter().filter(|e| matches!(e, Errand::Play(_)));
    assert_eq!((plays.count(), door.lobby.taken()), (8, 40));
}

#[test]
fn the_end_of_a_game_is_passed_on_to_its_player() {
    let mut door = Door::new(4);
    door.started(game("g1", player("a")));
    let finish = |id| News::Event(Event::GameFinish(Box::new(game(id, player("a")))));
    assert_eq!(
        door.apply(finish("g1")),
        [Errand::SaidOver(GameId::new("g1"))]
    );
    assert_eq!(door.apply(finish("unknown")), []);
}

#[test]
fn a_draining_lobby_takes_nothing_and_plays_what_runs() {
    let mut door = Door::new(4);
    door.challenged(challenge("c1", player("a")));
    door.apply(News::Drain);
    assert_eq!(door.challenged(challenge("c2", player("b"))), later("c2"));
    assert!(!door.lobby.is_empty());
    assert_eq!(door.started(game("c1", player("a"))).len(), 1);
    door.apply(News::Left(GameId::new("c1")));
    assert!(door.lobby.is_empty());
}
