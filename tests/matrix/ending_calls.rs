//! The calls that end a game: resigning, agreeing to a draw, claiming one. Each under every fault,
//! until the server has received it; meanwhile the game continues, and no clock runs out.

use std::time::Duration;

use megaton::bot::Settings;
use megaton::lichess::{self, GameId};
use megaton::practice::{Endpoint, Event, Fault, GameReport, Injection, ServerHandle};
use megaton::rules::Color;
use tokio::sync::broadcast::Receiver;

use crate::crossing_challenges::calls;
use crate::guest::Guest;
use crate::harness::{BOT, GUARD, Running, client, run_waiting, server, start};

/// After these White, to move, has a rook and pawns left, and Black nearly everything.
const HOPELESS: &str = "a2a3 b8c6 b2b3 c6d4 a3a4 d4c2 b3b4 b7b6 h2h3 c8b7 h3h4 b7g2";
/// After these White has nothing but its king, and Black is to move.
pub(crate) const BARE: &str = "c2c4 h7h6 b2b3 a7a5 b3b4 a5b4 c4c5 a8a2 g2g4 h6h5 g4h5 h8h2 e2e4 g7g6 d1b3 e7e5 \
    b3f3 f8c5 f3g3 g8e7 g3g6 f7f5 e4f5 e5e4 f1b5 c7c6 b5c6 d8a5 e1f1 a5d2 f2f4 e4f3 f1e2";
/// How long the guest thinks before it offers a draw: what is lost is sent again sooner.
const THOUGHT: Duration = Duration::from_millis(150);
/// How long a guest waits to be told that the game is over before it moves: longer than any repetition
/// takes, after a 429 too.
const PATIENCE: Duration = Duration::from_secs(10);

/// A game in which the bot, with White, wants to ask for something.
struct Scene {
    what: String,
    server: ServerHandle,
    guest: Guest,
    game: GameId,
    news: Receiver<Event>,
    bot: Running,
}

impl Scene {
    /// The bot comes to a game that has got so far; the faults wait for the calls that are no moves.
    async fn new(
        what: &str,
        moves: &str,
        faults: Vec<Fault>,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let server = server().await;
        let guest = Guest::new(&server, "Guest").await;
        let token = server.open_bot(BOT).unwrap();
        let game = guest.challenges().await;
        guest.brings(&game, &client(&server, &token), moves).await;
        for fault in faults {
            server.faults().add(Endpoint::Game, fault);
        }
        let news = server.events();
        let bot = start(&server, &token, change);
        Self {
            what: what.to_owned(),
            server,
            guest,
            game,
            news,
            bot,
        }
    }

    /// Until the game is over: its report, and how many calls were made in it that are no moves.
    async fn ends(self) -> (GameReport, u64) {
        let what = &self.what;
        let waited = tokio::time::timeout(GUARD, over(self.news)).await;
        assert!(waited.is_ok(), "{what}: it does not end");
        self.bot.is_at_rest_after(what).await;
        let asked = calls(&self.server, Endpoint::Game);
        let mut reports = self.server.take_reports();
        assert_eq!(reports.len(), 1, "{what}: {reports:?}");
        let report = reports.remove(0);
        assert_eq!(report.illegal, 0, "{what}: {report:?}");
        let too_soon = self.server.traffic().too_soon;
        assert!(too_soon.is_empty(), "{what}: {too_soon:?}");
        self.bot.end().await;
        self.server.shutdown().await;
        (report, asked)
    }
}

fn name(fault: &Fault) -> String {
    Injection::Call(Endpoint::Game, fault.clone()).name()
}

/// Whether the server has done what it was asked, whatever it says.
fn is_done(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::LoseReply | Fault::DoneInSilence | Fault::SlowReply(_) | Fault::DoneThen(_)
    )
}

/// Whether the server says no.
fn is_refusal(fault: &Fault) -> bool {
    matches!(fault, Fault::Answer(reply) if [400, 401, 403, 404].contains(&reply.status))
}

async fn over(mut news: Receiver<Event>) {
    while !matches!(news.recv().await, Ok(Event::Ended { .. }) | Err(_)) {}
}

async fn gives_up_through(fault: Fault, patience: Duration) {
    let what = format!("{}, giving up, {patience:?}", name(&fault));
    let done = is_done(&fault);
    // Where it is not heard, or refused for good, the game may come to another end.
    let goes_on = !done && (patience.is_zero() || is_refusal(&fault));
    let scene = Scene::new(&what, HOPELESS, vec![fault], |settings| {
        let rules = &mut settings.resign;
        (rules.enabled, rules.score, rules.moves, rules.depth) = (true, 500, 1, 1);
    });
    let scene = scene.await;
    let think = async |_: usize| {
        let _ = tokio::time::timeout(patience, over(scene.server.events())).await;
    };
    scene.guest.plays_and(&scene.game, think).await;
    let (report, asked) = scene.ends().await;
    let given_up = report.status.name() == "resign" && report.winner == Some(Color::Black);
    assert!(
        given_up || (goes_on && report.is_clean()),
        "{what}: {report:?}"
    );
    if !goes_on {
        assert!(done || asked > 1, "{what}: asked once only");
        assert!(asked <= 6, "{what}: asked {asked} times");
    }
}

async fn agrees_through(fault: Fault) {
    let what = format!("{}, agreeing", name(&fault));
    // The first call is the guest's offer.
    let faults = vec![Fault::SlowReply(Duration::ZERO), fault];
    let scene = Scene::new(&what, HOPELESS, faults, |settings| settings.draw.ply = 0).await;
    let (guest, game) = (&scene.guest, &scene.game);
    let offer = async |_: usize| {
        // Refused where the game has just ended.
        let _ = guest.client.draw(game, lichess::Reply::Yes).await;
        tokio::time::sleep(THOUGHT).await;
    };
    guest.plays_and(game, offer).await;
    let (report, _) = scene.ends().await;
    assert_eq!(report.status.name(), "draw", "{what}: {report:?}");
    assert!(report.is_clean(), "{what}: {report:?}");
}

/// The guest never opens its stream: it is gone.
async fn claims_a_draw_through(fault: Fault) {
    let what = format!("{}, claiming a draw", name(&fault));
    let done = is_done(&fault);
    let scene = Scene::new(&what, BARE, vec![fault], |_| {}).await;
    let (report, asked) = scene.ends().await;
    assert_eq!(report.status.name(), "timeout", "{what}: {report:?}");
    assert_eq!(report.winner, None, "{what}: {report:?}");
    assert!(report.is_clean(), "{what}: {report:?}");
    assert!(done || asked > 1, "{what}: asked once only");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_game_is_resigned_despite_any_fault_of_the_call() {
    let both = |fault: Fault| [Duration::ZERO, PATIENCE].map(|patience| (fault.clone(), patience));
    let cells = crate::arenas::faults().into_iter().flat_map(both);
    run_waiting(cells, async |(fault, patience)| {
        gives_up_through(fault, patience).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draw_is_agreed_despite_any_fault_of_the_call() {
    run_waiting(crate::arenas::faults(), agrees_through).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draw_is_claimed_despite_any_fault_of_the_call() {
    run_waiting(crate::arenas::faults(), claims_a_draw_through).await;
}
