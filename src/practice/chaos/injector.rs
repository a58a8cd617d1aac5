//! Runs the injections that take time: those during the client's search, and those of the whole
//! server.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use crate::practice::chaos::{
    FaultPlan, Injection, OpponentBehavior, ScheduledInjection, ServerFault,
};
use crate::practice::shared::SharedServer;
use crate::practice::sparring_bot::{Partner, SparringBotSpec};

/// Lines of chat at a time, and the time between.
const BURST: usize = 10;
const BETWEEN_BURSTS: Duration = Duration::from_millis(10);
/// Lichess seconds from the cancellation of a challenge to the game that starts anyway.
const GHOST_AFTER: u64 = 3;

/// Runs injections until the server ends.
pub(in crate::practice) async fn run_injections(
    shared: Arc<SharedServer>,
    mut injections: UnboundedReceiver<ScheduledInjection>,
) {
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            scheduled = injections.recv() => match scheduled {
                Some(scheduled) => {
                    running.spawn(run_effect(Arc::clone(&shared), scheduled));
                }
                None => return,
            },
            Some(_) = running.join_next() => {}
        }
    }
}

async fn run_effect(shared: Arc<SharedServer>, scheduled: ScheduledInjection) {
    tokio::time::sleep(scheduled.after).await;
    let game = scheduled.game;
    let server_fault = match scheduled.injection {
        Injection::World(server_fault) => server_fault,
        injection => return shared.trigger(&game, injection),
    };
    match server_fault {
        ServerFault::Restart { down, bonus } => restart(&shared, down, bonus).await,
        ServerFault::Revoke { span } => revoke(&shared, &game, span).await,
        ServerFault::Storm { challenges } => shared.with(|state, now| {
            if let Some((user, _, settings)) = state.client_of(&game) {
                state.storm(&user, challenges, settings, now);
            }
        }),
        ServerFault::NoShows { challenges } => no_shows(&shared, &game, challenges),
        ServerFault::ChatFlood { lines } => flood(&shared, &game, lines).await,
        ServerFault::GiveTime { seconds } => {
            shared.with(|state, now| state.give_client_time(&game, seconds, now));
        }
        ServerFault::ClockJump { by } => {
            shared.with(|state, now| state.jump_clocks(&game, by, now));
        }
        ServerFault::Announce(what) => {
            shared.with(|state, now| state.announce_wrongly(&game, what, now));
        }
        ServerFault::Burst { games } => burst(&shared, &game, games),
        ServerFault::Ghost => ghost(&shared, &game).await,
    }
}

/// Whether they move is decided before anyone can accept.
fn no_shows(shared: &SharedServer, game: &str, challenges: usize) {
    shared.with(|state, now| {
        let Some((user, _, settings)) = state.client_of(game) else {
            return;
        };
        for id in state.challenge_from_many(&user, challenges, settings, now) {
            let plan = FaultPlan {
                behavior: OpponentBehavior::NeverMoves,
                ..FaultPlan::default()
            };
            shared.faults.plan(&id, plan);
        }
    });
}

/// In small bursts: more at once would push other lines out of the stream's queue.
async fn flood(shared: &SharedServer, game: &str, lines: usize) {
    for _ in 0..lines.div_ceil(BURST) {
        shared.with(|state, _| state.flood(game, BURST));
        tokio::time::sleep(BETWEEN_BURSTS).await;
    }
}

async fn restart(shared: &SharedServer, down: Duration, bonus: Duration) {
    if shared.gate.is_closed() {
        return;
    }
    shared.log.outage(shared.now());
    shared.gate.close();
    tokio::time::sleep(down).await;
    shared.with(|state, now| {
        state.end_outage(bonus, now);
        for game in state.running() {
            let stream = format!("game {}", game.setup.id);
            shared.log.lost(&stream, "server restart", now);
        }
    });
    shared.log.outage_over(shared.now());
    shared.gate.open();
    shared.wake_timer();
}

async fn revoke(shared: &SharedServer, game: &str, span: Duration) {
    let Some((user, ..)) = shared.see(|state, _| state.client_of(game)) else {
        return;
    };
    shared.log.outage(shared.now());
    shared.with(|state, _| state.suspend(&user, true));
    tokio::time::sleep(span).await;
    shared.with(|state, _| state.suspend(&user, false));
    shared.log.outage_over(shared.now());
}

fn burst(shared: &Arc<SharedServer>, game: &str, games: usize) {
    let Some((user, _, settings)) = shared.see(|state, _| state.client_of(game)) else {
        return;
    };
    let name = "BurstPartner";
    shared.add_sparring_bot(&SparringBotSpec::new(name, Partner::Random));
    shared.with(|state, now| {
        for _ in 0..games {
            state.start_unrequested_game(&name.to_lowercase(), &user, settings, now);
        }
    });
}

async fn ghost(shared: &Arc<SharedServer>, game: &str) {
    let Some((user, _, settings)) = shared.see(|state, _| state.client_of(game)) else {
        return;
    };
    let name = "GhostPartner";
    shared.add_sparring_bot(&SparringBotSpec::new(name, Partner::Random));
    let begun = shared
        .with(|state, now| state.challenge_and_cancel(&name.to_lowercase(), &user, settings, now));
    if let Some(id) = begun {
        tokio::time::sleep(shared.timing.seconds(GHOST_AFTER)).await;
        shared.with(|state, now| state.begin_cancelled(&id, now));
    }
}
