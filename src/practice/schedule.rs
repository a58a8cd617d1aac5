//! Schedules games between the bot and sparring bots: how many, how many at a time, each to its
//! end.

use std::time::Duration;

use futures::stream::{self, StreamExt};
use tokio_util::sync::CancellationToken;

use super::account::AccountKind;
use super::challenge::{ChallengeRequest, ChallengeState};
use super::game_settings::{ColorWish, GameSettings, TimeControl};
use super::report::{GameReport, ScheduleReport};
use super::server::ServerHandle;
use super::sparring_bot::{Partner, SparringBotSpec};
use super::wire::Variant;

/// Pause before challenging a busy bot again.
const ASK_AGAIN: Duration = Duration::from_millis(200);

/// Time after which a bot that does not answer, or stays offline, is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// A schedule of games.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub games: usize,
    /// How many at a time.
    pub concurrency: usize,
    /// The sparring bots, in turn.
    pub partners: Vec<Partner>,
    /// Whether they play under human accounts.
    pub people: bool,
    pub time: TimeControl,
    pub rated: bool,
    /// From the end of a game to the next one.
    pub pause: Duration,
    /// Delay of a sparring bot before each move.
    pub pace: Duration,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            games: 2,
            concurrency: 1,
            partners: vec![Partner::Greedy, Partner::Random],
            people: false,
            time: TimeControl::Clock {
                limit: 60,
                increment: 1,
            },
            rated: true,
            pause: Duration::ZERO,
            pace: Duration::ZERO,
        }
    }
}

impl ServerHandle {
    /// Plays a schedule against the account `bot`, which must connect soon. Returns when all games
    /// are played, or when `stop` is cancelled and the games in progress are over.
    pub async fn play(
        &self,
        bot: &str,
        schedule: Schedule,
        stop: CancellationToken,
    ) -> ScheduleReport {
        let bot = bot.to_lowercase();
        if schedule.partners.is_empty() || !self.wait_for(&bot).await {
            return ScheduleReport {
                asked: schedule.games,
                ..ScheduleReport::default()
            };
        }
        let slots = schedule.concurrency.clamp(1, 64);
        let lanes = (0..slots).map(|lane| self.lane(&bot, &schedule, lane, slots, &stop));
        let played: Vec<Vec<GameReport>> =
            stream::iter(lanes).buffer_unordered(slots).collect().await;
        let mut games: Vec<GameReport> = played.into_iter().flatten().collect();
        games.sort_by_key(|game| game.number);
        ScheduleReport {
            asked: schedule.games,
            games,
        }
    }

    /// Every `slots`-th game, one after the other.
    async fn lane(
        &self,
        bot: &str,
        schedule: &Schedule,
        lane: usize,
        slots: usize,
        stop: &CancellationToken,
    ) -> Vec<GameReport> {
        let mut played = Vec::new();
        for number in (lane..schedule.games).step_by(slots) {
            if stop.is_cancelled() {
                break;
            }
            if number >= slots {
                stop.run_until_cancelled(tokio::time::sleep(schedule.pause))
                    .await;
            }
            let partner = schedule.partners[number % schedule.partners.len()];
            let (kind, name) = if schedule.people {
                (
                    AccountKind::Human,
                    partner.name().replace("Partner", "Person"),
                )
            } else {
                (AccountKind::Bot, partner.name().to_owned())
            };
            let name = match lane {
                0 => name,
                _ => format!("{name}-{}", lane + 1),
            };
            let spec = SparringBotSpec {
                kind,
                pace: schedule.pace,
                ..SparringBotSpec::new(&name, partner)
            };
            self.shared.add_sparring_bot(&spec);
            let color = if number.is_multiple_of(2) {
                ColorWish::Black
            } else {
                ColorWish::White
            };
            let request = ChallengeRequest {
                settings: GameSettings {
                    time: schedule.time,
                    rated: schedule.rated,
                },
                color,
                variant: Variant::ATOMIC,
                rules: Vec::new(),
                rematch_of: None,
            };
            if let Some(report) = self.one_game(bot, &name, request, number, stop).await {
                played.push(report);
            }
        }
        played
    }

    /// One game, from the challenge to its end; none if the bot did not accept.
    async fn one_game(
        &self,
        bot: &str,
        name: &str,
        request: ChallengeRequest,
        number: usize,
        stop: &CancellationToken,
    ) -> Option<GameReport> {
        let user = name.to_lowercase();
        let begun = tokio::time::timeout(PATIENCE, async {
            loop {
                let id = self
                    .shared
                    .with(|state, now| state.challenge(&user, bot, request.clone(), now))
                    .ok()?;
                // Without an answer the sparring bot cancels and challenges again, as people do.
                let answer = self.is_accepted(&user, &id);
                let patience = self.shared.timing.challenge_offline;
                match tokio::time::timeout(patience, answer).await {
                    Ok(answer) => {
                        if answer? {
                            return Some(id);
                        }
                    }
                    Err(_) => self.withdraw(&user, bot),
                }
                if self
                    .shared
                    .see(|state, _| state.find_player(&user, &id).is_ok())
                {
                    return Some(id);
                }
                stop.run_until_cancelled(tokio::time::sleep(ASK_AGAIN))
                    .await?;
            }
        });
        let Ok(Some(id)) = begun.await else {
            self.withdraw(&user, bot);
            return None;
        };
        let mut changes = self.shared.watch(&id);
        loop {
            changes.borrow_and_update();
            if let Some(report) = self.shared.take_report(&id) {
                return Some(GameReport { number, ..report });
            }
            changes.changed().await.ok()?;
        }
    }

    /// Whether the challenge became a game; `None` if the server has ended.
    async fn is_accepted(&self, user: &str, id: &str) -> Option<bool> {
        let mut changes = self.shared.watch(id);
        loop {
            changes.borrow_and_update();
            let standing = self.shared.see(|state, _| {
                let begun = state.find_player(user, id).is_ok();
                let standing = state.pending(id).map(|challenge| challenge.status);
                if begun {
                    Some(ChallengeState::Accepted)
                } else {
                    standing
                }
            });
            match standing {
                Some(ChallengeState::Accepted) => return Some(true),
                Some(ChallengeState::Created | ChallengeState::Offline) => {
                    changes.changed().await.ok()?;
                }
                Some(ChallengeState::Canceled | ChallengeState::Declined(_)) | None => {
                    return Some(false);
                }
            }
        }
    }

    fn withdraw(&self, user: &str, bot: &str) {
        self.shared.with(|state, now| {
            for id in state.pending_for(bot) {
                let own = state.pending(&id).is_some_and(|it| it.challenger == user);
                if own && state.cancel(user, &id, now).is_err() {
                    tracing::debug!(id, "there was nothing to withdraw");
                }
            }
        });
    }

    /// Waits for the bot's event stream.
    async fn wait_for(&self, bot: &str) -> bool {
        let online = async {
            while !self.is_online(bot) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, online).await.is_ok()
    }
}
