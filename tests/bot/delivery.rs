//! Every answer of the server to a move, in every phase of the game, row by row.
//!
//! Each answer is classified like one from the network and passed to a game state machine in that
//! phase; the row names the machine's next step. Time is data.

use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use megaton::bot::game::{CallOutcome, RequestId};
use megaton::lichess::{BySide, Error, GameState, Side, Speed, Status};

use crate::harness::{Harness, active_search, full, ms, posted, posts, reopens, state, uci};

const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";
const PLAIN: &str = "text/plain";
const PAGE: &str = "<html><body>502 Bad Gateway</body></html>";

/// The machine's next step for the move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// Nothing: the answer is ignored.
    Nothing,
    /// Waits for a state, then checks the stream.
    Confirms,
    /// Sends the same move again within this many milliseconds, and not sooner.
    Repeats { least: u64, most: u64 },
    /// Reopens the stream; if the bot still owes the move, it sends the same one.
    LooksForTheSame,
    /// Reopens the stream; if the bot still owes a move, it chooses another one.
    LooksForAnother,
}

use Does::{Confirms, LooksForAnother, LooksForTheSame, Nothing, Repeats};

/// Soon: it is unknown whether the move arrived.
const SOON: Does = Repeats {
    least: 50,
    most: 1000,
};
/// Slowly: the token or the account, not the move.
const SLOWLY: Does = Repeats {
    least: 2000,
    most: 2010,
};
/// After the minute that a 429 requires.
const A_MINUTE: Does = Repeats {
    least: 60_000,
    most: 60_010,
};

/// One answer, and its meaning for a move just sent on a healthy clock.
struct Row(&'static str, CallOutcome, Does);

fn answered(status: u16, kind: &'static str, body: &str) -> CallOutcome {
    if (200..300).contains(&status) && kind != HTML {
        return Ok(()).into();
    }
    if (200..300).contains(&status) {
        // A page instead of an answer.
        return Err(Error::Transient {
            reached: true,
            status: Some(status),
            reason: "a page".into(),
        })
        .into();
    }
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]);
    Err(Error::classify(status, &headers, body.as_bytes())).into()
}

fn unanswered(reason: &str) -> CallOutcome {
    Err(Error::Transient {
        reached: true,
        status: None,
        reason: reason.into(),
    })
    .into()
}

fn error(text: &str) -> String {
    serde_json::json!({ "error": text }).to_string()
}

/// Sections 1.0, 1.2 and 5.5 of the protocol.
fn rows() -> Vec<Row> {
    let refusal = |text: &str| answered(400, JSON, &error(text));
    let limited = |seconds: u32| {
        let body = format!(
            r#"{{"error":"Too many requests.","ratelimit":{{"key":"x","seconds":{seconds}}}}}"#
        );
        answered(429, JSON, &body)
    };
    let bot_only = "This endpoint can only be used with a Bot account.";
    vec![
        Row("200", answered(200, JSON, r#"{"ok":true}"#), Confirms),
        Row(
            "200, a body broken off",
            answered(200, JSON, r#"{"o"#),
            Confirms,
        ),
        Row("200, a page", answered(200, HTML, PAGE), SOON),
        Row("301", answered(301, HTML, ""), SOON),
        Row(
            "400, illegal",
            refusal("Piece on e2 cannot move to e3"),
            LooksForAnother,
        ),
        Row(
            "400, not UCI",
            refusal("Invalid UCI: e2e3"),
            LooksForAnother,
        ),
        Row(
            "400, turn",
            refusal("Not your turn, or game already over"),
            LooksForTheSame,
        ),
        Row(
            "400, over",
            refusal("The game is already finished"),
            LooksForAnother,
        ),
        Row("400, no bot", refusal(bot_only), LooksForAnother),
        Row(
            "400, no API",
            refusal("This game cannot be played with the Bot API."),
            LooksForAnother,
        ),
        Row(
            "400, fields",
            answered(400, JSON, r#"{"error":{"uci":["?"]}}"#),
            LooksForAnother,
        ),
        Row(
            "400, a body broken off",
            answered(400, JSON, r#"{"error":"Not y"#),
            LooksForAnother,
        ),
        Row("400, nothing", answered(400, PLAIN, ""), LooksForAnother),
        Row("400, a page", answered(400, HTML, PAGE), SOON),
        Row("401", answered(401, JSON, &error("No such token")), SLOWLY),
        Row("401, a page", answered(401, HTML, PAGE), SLOWLY),
        Row(
            "403, scope",
            answered(403, JSON, &error("Missing scope: bot:play")),
            SLOWLY,
        ),
        Row("403, a page", answered(403, HTML, PAGE), SOON),
        Row(
            "404, game",
            answered(404, JSON, &error("No such game")),
            LooksForTheSame,
        ),
        Row(
            "404, not ours",
            answered(404, JSON, &error("Not your game")),
            LooksForTheSame,
        ),
        Row(
            "404, route",
            answered(404, PLAIN, "404 - Resource not found"),
            LooksForTheSame,
        ),
        Row("404, a page", answered(404, HTML, PAGE), SOON),
        Row("405", answered(405, PLAIN, ""), SLOWLY),
        Row("408", answered(408, PLAIN, ""), SOON),
        Row("415", answered(415, PLAIN, ""), SLOWLY),
        Row("425", answered(425, PLAIN, ""), SOON),
        Row(
            "429",
            answered(429, JSON, &error("Too many requests.")),
            A_MINUTE,
        ),
        Row("429, a minute", limited(60), A_MINUTE),
        Row("429, a day", limited(86_400), SLOWLY),
        Row("429, no wait at all", limited(0), SLOWLY),
        Row("429, a page", answered(429, HTML, PAGE), A_MINUTE),
        Row("500", answered(500, PLAIN, "oops"), SOON),
        Row("502", answered(502, HTML, PAGE), SOON),
        Row("503", answered(503, JSON, &error("down")), SOON),
        Row("504", answered(504, HTML, ""), SOON),
        Row("a time-out", unanswered("no answer in time"), SOON),
        Row("a reset", unanswered("connection reset"), SOON),
        Row("no connection", unanswered("dns error"), SOON),
    ]
}

/// A harness in one phase, the request id of the answer, and the server's list.
struct Scene {
    harness: Harness,
    request_id: RequestId,
    list: &'static str,
}

/// Creates a scene.
type Setting = fn() -> Scene;

const LINE: &str = "g1f3 f7f6";

fn with_clock(moves: &str, left: u64) -> GameState {
    let mut state = state(moves);
    let left = Some(ms(left));
    state.time = BySide {
        white: left,
        black: left,
    };
    state
}

/// The move is on its way, with `left` on the clock.
fn sent_at(moves: &'static str, left: u64) -> Scene {
    let mut harness = Harness::new(Side::White);
    let actions = harness.open_with(full(Side::White, with_clock(moves, left)), harness.now);
    let search = active_search(&actions).expect("our turn").request_id;
    let request_id = posted(&harness.think(search, "e2e3"))
        .expect("sent")
        .request_id;
    Scene {
        harness,
        request_id,
        list: moves,
    }
}

fn sent() -> Scene {
    sent_at(LINE, 180_000)
}

fn waiting() -> Scene {
    let mut scene = sent();
    scene.harness.answer(scene.request_id, CallOutcome::Lost);
    scene
}

fn confirming() -> Scene {
    let mut scene = sent();
    scene.harness.answer(scene.request_id, CallOutcome::Done);
    scene
}

fn looking() -> Scene {
    let mut scene = sent();
    scene.harness.answer(scene.request_id, CallOutcome::Gone);
    scene
}

/// The next move is being searched.
fn thinking_again() -> Scene {
    let mut scene = sent();
    scene.harness.state("g1f3 f7f6 e2e3");
    scene.list = "g1f3 f7f6 e2e3 e7e6";
    assert!(active_search(&scene.harness.state(scene.list)).is_some());
    scene
}

fn their_turn() -> Scene {
    let mut scene = sent();
    scene.list = "g1f3 f7f6 e2e3";
    scene.harness.state(scene.list);
    scene
}

fn over() -> Scene {
    let mut scene = sent();
    let mut end = state(LINE);
    end.status = Status::OutOfTime;
    scene.harness.state_with(end);
    scene
}

/// The machine's next step after an answer.
fn does(mut scene: Scene, answer: &CallOutcome) -> Does {
    let asked_before = scene.harness.machine.next_timeout();
    let actions = scene.harness.answer(scene.request_id, answer.clone());
    assert_eq!(posts(&actions), 0, "never at once");
    if reopens(&actions) {
        return looks(scene);
    }
    if actions.is_empty() && scene.harness.machine.next_timeout() == asked_before {
        return Nothing;
    }
    let began = scene.harness.now;
    loop {
        let Some(at) = scene.harness.machine.next_timeout() else {
            return Nothing;
        };
        let actions = scene
            .harness
            .wait(at.saturating_duration_since(scene.harness.now));
        if reopens(&actions) {
            return Confirms;
        }
        if let Some(again) = posted(&actions) {
            assert_eq!(again.uci, "e2e3", "the same move");
            let after = (scene.harness.now - began).as_millis() as u64;
            return Repeats {
                least: after,
                most: after,
            };
        }
    }
}

/// Time alone does not end a check of the stream; a fresh opening does.
fn looks(mut scene: Scene) -> Does {
    let idle = scene.harness.wait(Duration::from_secs(60));
    assert_eq!(posts(&idle), 0, "nothing is repeated blindly");
    let before = scene.harness.machine.sent();
    let mut opened = full(Side::White, state(scene.list));
    opened.state.time.white = Some(ms(100_000));
    let actions = scene.harness.open_with(opened, scene.harness.now);
    match (posted(&actions), active_search(&actions)) {
        (Some(again), _) => {
            assert_eq!(Some(uci(&scene.harness.machine, &again.uci)), before);
            LooksForTheSame
        }
        (None, Some(search)) => {
            assert!(!search.limits.searchmoves.contains(&before.expect("sent")));
            LooksForAnother
        }
        (None, None) => panic!("still owed"),
    }
}

fn fits(does: Does, wanted: Does) -> bool {
    match (does, wanted) {
        (Repeats { least: after, .. }, Repeats { least, most }) => (least..=most).contains(&after),
        _ => does == wanted,
    }
}

#[test]
fn every_answer_to_a_move_just_sent_has_its_row() {
    for Row(name, answer, wanted) in rows() {
        let found = does(sent(), &answer);
        assert!(fits(found, wanted), "{name}: {found:?}, not {wanted:?}");
    }
}

#[test]
fn before_the_first_move_the_same_holds() {
    for Row(name, answer, wanted) in rows() {
        // No clock runs yet, but an opponent who sees no move for a minute aborts.
        let wanted = match wanted {
            Repeats { least, .. } if least > 20_000 => SLOWLY,
            other => other,
        };
        let found = does(sent_at("", 180_000), &answer);
        assert!(fits(found, wanted), "{name}: {found:?}, not {wanted:?}");
    }
}

#[test]
fn on_a_short_clock_nothing_waits_for_longer_than_two_seconds() {
    for Row(name, answer, wanted) in rows() {
        let wanted = match wanted {
            Repeats { least, .. } if least >= 2000 => SLOWLY,
            other => other,
        };
        let found = does(sent_at(LINE, 15_000), &answer);
        assert!(fits(found, wanted), "{name}: {found:?}, not {wanted:?}");
    }
}

#[test]
fn answers_that_come_too_late_mean_nothing() {
    let phases: [(&str, Setting); 5] = [
        ("confirming", confirming),
        ("looking", looking),
        ("thinking about the next move", thinking_again),
        ("the opponent's turn", their_turn),
        ("the end", over),
    ];
    for (phase, scene) in phases {
        for Row(name, answer, _) in rows() {
            assert_eq!(does(scene(), &answer), Nothing, "{name} in phase {phase}");
        }
    }
}

#[test]
fn while_a_lost_move_waits_only_an_ok_counts() {
    for Row(name, answer, wanted) in rows() {
        let wanted = match wanted {
            Confirms => Confirms,
            _ => Nothing,
        };
        assert_eq!(does(waiting(), &answer), wanted, "{name}");
    }
}

#[test]
fn an_outage_without_a_clock_is_met_with_patience() {
    let mut harness = Harness::new(Side::White);
    let mut game = full(Side::White, state(LINE));
    (game.clock, game.speed) = (None, Speed::Correspondence);
    game.state.time = BySide::default();
    let actions = harness.open_with(game, harness.now);
    let search = active_search(&actions).expect("our turn").request_id;
    let mut request_id = posted(&harness.think(search, "e2e3"))
        .expect("sent")
        .request_id;
    let (began, mut sent) = (harness.now, 0);
    while harness.now - began < Duration::from_secs(3600) {
        harness.answer(request_id, CallOutcome::Lost);
        let at = harness.machine.next_timeout().expect("it is owed");
        let actions = harness.wait(at.saturating_duration_since(harness.now));
        request_id = posted(&actions).expect("sent again").request_id;
        sent += 1;
    }
    assert!(sent < 150, "{sent} calls in an hour");
}

#[test]
fn retries_after_a_refused_token_slow_down_as_long_as_the_clock_allows() {
    let mut scene = sent();
    let mut pauses = Vec::new();
    for _ in 0..5 {
        let began = scene.harness.now;
        let token = answered(401, JSON, &error("No such token"));
        scene.harness.answer(scene.request_id, token);
        let at = scene.harness.machine.next_timeout().expect("it is owed");
        let actions = scene.harness.wait(at.saturating_duration_since(began));
        scene.request_id = posted(&actions).expect("sent again").request_id;
        pauses.push((scene.harness.now - began).as_secs());
    }
    assert_eq!(pauses, [2, 4, 8, 8, 8]);
}
