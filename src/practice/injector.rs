//! Carries out what takes its time: blows on a thinking client, and what the whole server does.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use super::chaos::{FaultPlan, Injection, OpponentBehavior, ServerFault};
use super::shared::SharedServer;
use super::sparring_bot::{Invitation, Partner};

/// From the announcement of a turn until the client is surely thinking.
pub(super) const INTO_THOUGHT: Duration = Duration::from_millis(4);
/// Lines of chat at a time, and the time between.
const BURST: usize = 10;
const BETWEEN_BURSTS: Duration = Duration::from_millis(10);
/// Lichess seconds from the cancelling of a challenge to the game that comes of it all the same.
const GHOST_AFTER: u64 = 3;

/// A blow on its way.
#[derive(Debug)]
pub(super) struct ScheduledInjection {
    pub(super) game: String,
    pub(super) blow: Injection,
    pub(super) after: Duration,
}

/// Carries out orders for ever.
pub(super) async fn wreak(
    hall: Arc<SharedServer>,
    mut orders: UnboundedReceiver<ScheduledInjection>,
) {
    let mut under_way = JoinSet::new();
    loop {
        tokio::select! {
            order = orders.recv() => match order {
                Some(order) => {
                    under_way.spawn(carry_out(Arc::clone(&hall), order));
                }
                None => return,
            },
            Some(_) = under_way.join_next() => {}
        }
    }
}

async fn carry_out(hall: Arc<SharedServer>, order: ScheduledInjection) {
    tokio::time::sleep(order.after).await;
    let game = order.game;
    let havoc = match order.blow {
        Injection::World(havoc) => havoc,
        blow => return hall.strike(&game, blow),
    };
    match havoc {
        ServerFault::Restart { down, bonus } => restart(&hall, down, bonus).await,
        ServerFault::Revoke { span } => revoke(&hall, &game, span).await,
        ServerFault::Storm { challenges } => hall.with(|house, now| {
            if let Some((user, _, terms)) = house.client_of(&game) {
                house.storm(&user, challenges, terms, now);
            }
        }),
        ServerFault::NoShows { challenges } => no_shows(&hall, &game, challenges),
        ServerFault::ChatFlood { lines } => flood(&hall, &game, lines).await,
        ServerFault::GiveTime { seconds } => {
            hall.with(|house, now| house.give_client_time(&game, seconds, now));
        }
        ServerFault::ClockJump { by } => hall.with(|house, now| house.jump_clocks(&game, by, now)),
        ServerFault::Announce(what) => {
            hall.with(|house, now| house.announce_wrongly(&game, what, now));
        }
        ServerFault::Burst { games } => burst(&hall, &game, games),
        ServerFault::Ghost => ghost(&hall, &game).await,
    }
}

/// Whether they move is settled before anybody can accept.
fn no_shows(hall: &SharedServer, game: &str, challenges: usize) {
    hall.with(|house, now| {
        let Some((user, _, terms)) = house.client_of(game) else {
            return;
        };
        for id in house.challenged_by_many(&user, challenges, terms, now) {
            let plan = FaultPlan {
                mood: OpponentBehavior::NeverMoves,
                ..FaultPlan::default()
            };
            hall.faults.plan(&id, plan);
        }
    });
}

/// In small bursts: more at once would push other lines out of the stream's queue.
async fn flood(hall: &SharedServer, game: &str, lines: usize) {
    for _ in 0..lines.div_ceil(BURST) {
        hall.with(|house, _| house.flood(game, BURST));
        tokio::time::sleep(BETWEEN_BURSTS).await;
    }
}

async fn restart(hall: &SharedServer, down: Duration, bonus: Duration) {
    if hall.gate.is_closed() {
        return;
    }
    hall.journal.outage(hall.now());
    hall.gate.close();
    tokio::time::sleep(down).await;
    hall.with(|house, now| {
        house.come_back(bonus, now);
        for round in house.running() {
            let stream = format!("game {}", round.setup.id);
            hall.journal.lost(&stream, "server restart", now);
        }
    });
    hall.journal.outage_over(hall.now());
    hall.gate.open();
    hall.look_at_the_clock();
}

async fn revoke(hall: &SharedServer, game: &str, span: Duration) {
    let Some((user, ..)) = hall.see(|house, _| house.client_of(game)) else {
        return;
    };
    hall.journal.outage(hall.now());
    hall.with(|house, _| house.suspend(&user, true));
    tokio::time::sleep(span).await;
    hall.with(|house, _| house.suspend(&user, false));
    hall.journal.outage_over(hall.now());
}

fn burst(hall: &Arc<SharedServer>, game: &str, games: usize) {
    let Some((user, _, terms)) = hall.see(|house, _| house.client_of(game)) else {
        return;
    };
    let name = "BurstPartner";
    hall.invite(&Invitation::new(name, Partner::Random));
    hall.with(|house, now| {
        for _ in 0..games {
            house.begin_unasked(&name.to_lowercase(), &user, terms, now);
        }
    });
}

async fn ghost(hall: &Arc<SharedServer>, game: &str) {
    let Some((user, _, terms)) = hall.see(|house, _| house.client_of(game)) else {
        return;
    };
    let name = "GhostPartner";
    hall.invite(&Invitation::new(name, Partner::Random));
    let begun =
        hall.with(|house, now| house.challenge_and_cancel(&name.to_lowercase(), &user, terms, now));
    if let Some(id) = begun {
        tokio::time::sleep(hall.timing.seconds(GHOST_AFTER)).await;
        hall.with(|house, now| house.begin_cancelled(&id, now));
    }
}
