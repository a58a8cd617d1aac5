//! Faults of the whole server and of opponents, in every phase.

use std::time::Duration;

use megaton::practice::{Announcement, GamePhase, Injection, OpponentBehavior, ServerFault};

use crate::harness::{Cell, SPEED, play};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds) / SPEED
}

async fn in_every_phase(havoc: &[ServerFault]) {
    let mut cells = Vec::new();
    for havoc in havoc {
        for phase in GamePhase::ALL {
            let injection = Injection::World(havoc.clone());
            cells.push(Cell::at(phase, injection).games(2));
        }
    }
    play(cells).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_the_server_costs_no_game_in_any_phase() {
    let restarts = [2, 12].map(|down| ServerFault::Restart {
        down: seconds(down),
        bonus: seconds(20),
    });
    in_every_phase(&restarts).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_is_not_known_for_a_while_costs_no_game() {
    in_every_phase(&[ServerFault::Revoke { span: seconds(10) }]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storms_and_floods_delay_no_game() {
    in_every_phase(&[
        ServerFault::Storm { challenges: 500 },
        ServerFault::ChatFlood { lines: 100 },
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_players_who_never_move_delays_no_game() {
    let storm = Injection::World(ServerFault::NoShows { challenges: 500 });
    let cells = GamePhase::ALL.map(|phase| {
        let mut cell = Cell::at(phase, storm.clone()).games(2);
        cell.unplayed = true;
        cell
    });
    play(cells.into()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clock_jumps_and_given_time_are_handled() {
    in_every_phase(&[
        ServerFault::ClockJump { by: seconds(20) },
        ServerFault::GiveTime { seconds: 15 },
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_announcements_start_nothing() {
    let announcements = [
        Announcement::Again,
        Announcement::Finished,
        Announcement::Foreign,
        Announcement::NotForBots,
    ];
    in_every_phase(&announcements.map(ServerFault::Announce)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unrequested_games_are_played_too() {
    in_every_phase(&[ServerFault::Ghost, ServerFault::Burst { games: 12 }]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_opponent_can_break_the_bot() {
    let set_behavior = [
        OpponentBehavior::Leaves,
        OpponentBehavior::Returns,
        OpponentBehavior::OffersDraws,
        OpponentBehavior::AsksTakebacks,
        OpponentBehavior::GivesTime,
        OpponentBehavior::Talks,
        OpponentBehavior::NeverMoves,
    ];
    let cells = set_behavior.map(|behavior| {
        let mut cell = Cell::new(behavior.name()).games(2);
        cell.behavior = Some(behavior);
        cell.unplayed = behavior == OpponentBehavior::NeverMoves;
        cell
    });
    play(cells.into()).await;
}
