//! The path of a challenge: the line of the event stream, the reservation in the quota, the write
//! to disk, the accept, the game. A bot's game is on disk before the server can start it.

use std::path::Path;

use megaton::bot::{BotState, BotTiming, StateRules};
use megaton::store::Store;
use rusqlite::Connection;

use crate::challenges::{bot, challenge};
use crate::fixture::{Fixture, accept};
use crate::running_bot::Bot;
use crate::test_server::{Server, World};

/// The games against bots that the state file has reserved: read from a copy, since the bot has the
/// file to itself.
fn reserved(folder: &Path) -> Vec<String> {
    let copy = tempfile::tempdir().expect("a folder");
    for file in ["state.db", "state.db-wal"] {
        std::fs::copy(folder.join(file), copy.path().join(file)).expect("a copy");
    }
    let db = Connection::open(copy.path().join("state.db")).expect("a state file");
    let mut query = db
        .prepare("SELECT key FROM spend ORDER BY key")
        .expect("a table");
    let keys = query.query_map([], |row| row.get(0)).expect("rows");
    keys.map(|key| key.expect("a key")).collect()
}

fn accepts(world: &World) -> usize {
    let is_accept = |call: &&String| call.ends_with("/accept");
    world.calls.iter().filter(is_accept).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bots_challenge_is_on_disk_before_its_accept_reaches_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let (store, kept) = Store::open(folder.path()).unwrap();
    let state = BotState::new(store, kept, StateRules::default());
    let server = Server::start().await;
    let path = folder.path().to_owned();
    server.world().witness = Some(Box::new(move |call| {
        format!("{call} {:?}", reserved(&path))
    }));
    let bot = Bot::remembering(&server, &BotTiming::default().faster(25), state, |_| {});
    server
        .until("the stream is open", |world| !world.events.is_empty())
        .await;
    server
        .world()
        .challenge_by("c1", "atomic", "nuke", Some("BOT"));
    server
        .until("the accept", |world| accepts(world) == 1)
        .await;
    // A human's game costs no quota.
    server.world().challenge("h1", "atomic");
    server
        .until("the other accept", |world| accepts(world) == 2)
        .await;
    server.world().begin("c1", true, 4);
    server.until("the game", |world| world.all_over()).await;
    let mut hops = std::mem::take(&mut server.world().witnessed);
    hops.retain(|hop| !hop.starts_with("/api/token"));
    let expected = [
        r#"/api/challenge/c1/accept ["c1"]"#,
        r#"/api/challenge/h1/accept ["c1"]"#,
    ];
    assert_eq!(hops[..2], expected, "each accept after the write");
    assert!(hops[2].starts_with("/api/bot/game/c1/move/"), "{hops:?}");
    bot.kill().await;
}

#[test]
fn the_decision_itself_reserves_the_quota_so_that_two_lines_in_one_read_cannot_both_spend_the_last()
{
    let mut fixture = Fixture::new(4).settled();
    for (count, id) in [(1, "c1"), (2, "c2")] {
        assert_eq!(fixture.challenged(challenge(id, bot(id))), accept(id));
        assert_eq!(fixture.state.budget().incoming, count, "before any call");
    }
}
