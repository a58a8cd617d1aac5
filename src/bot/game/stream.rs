//! The stream of one game, kept open until it is dropped.
//!
//! Every kind of disconnect is handled alike: the stream is reopened after the pause that `lichess`
//! advises. Giving up is the game machine's decision.

use std::time::{Duration, Instant};

use futures::future::BoxFuture;

use crate::bot::events::{BotEvent, EventBus};
use crate::bot::game_registry::GameRegistry;
use crate::lichess::{Client, Disconnect, Error, GameBackoff, GameEvent, GameId, GameStream};

#[derive(Debug)]
pub(in crate::bot) enum GameStreamEvent {
    /// A line of the stream.
    Line {
        event: GameEvent,
        at: Instant,
        /// When the opening of this stream was requested.
        opened: Instant,
    },
    /// The server refuses to open this game's stream.
    Refused,
    /// Too many openings: the server advises this wait. The stream is reopened after the time given
    /// to [`SupervisedGameStream::wait_instead`], else after its own pause.
    Limited(Duration),
}

pub(in crate::bot) struct SupervisedGameStream {
    client: Client,
    game: GameId,
    reopening: GameBackoff,
    phase: Phase,
    demanded: Option<Instant>,
    /// Whether the current disconnect has been published.
    noted: bool,
    least_pause: Duration,
    registry: GameRegistry,
    listeners: EventBus,
}

type Opening = BoxFuture<'static, Result<GameStream, Disconnect>>;

enum Phase {
    Waiting {
        until: Instant,
    },
    Opening {
        asked: Instant,
        opening: Opening,
    },
    Live {
        asked: Instant,
        stream: Box<GameStream>,
        /// A stream with keep-alives but without a first line is useless too.
        first_by: Option<Instant>,
    },
}

impl SupervisedGameStream {
    /// Opens the stream at the first [`SupervisedGameStream::next`]. `least_pause` separates two
    /// requested openings.
    pub(in crate::bot) fn new(
        client: Client,
        game: GameId,
        least_pause: Duration,
        registry: GameRegistry,
        listeners: EventBus,
    ) -> Self {
        registry.stream(&game, None);
        Self {
            registry,
            listeners,
            reopening: GameBackoff::new(client.timing()),
            client,
            game,
            phase: Phase::Waiting {
                until: Instant::now(),
            },
            demanded: None,
            // A stream that was never open is not lost.
            noted: true,
            least_pause,
        }
    }

    /// The next line. Cancel-safe: dropping it at any await loses nothing.
    pub(in crate::bot) async fn next(&mut self) -> GameStreamEvent {
        loop {
            match &mut self.phase {
                Phase::Waiting { until } => {
                    tokio::time::sleep_until((*until).into()).await;
                    self.open();
                }
                Phase::Opening { asked, opening } => {
                    let asked = *asked;
                    match opening.await {
                        Ok(stream) => {
                            self.noted = false;
                            self.registry.stream(&self.game, Some(stream.liveness()));
                            let first_by = Instant::now() + self.client.timing().game_idle;
                            self.phase = Phase::Live {
                                asked,
                                stream: Box::new(stream),
                                first_by: Some(first_by),
                            };
                        }
                        Err(loss) => {
                            if let Some(fed) = self.lost(&loss, Duration::ZERO) {
                                return fed;
                            }
                        }
                    }
                }
                Phase::Live {
                    asked,
                    stream,
                    first_by,
                } => {
                    let opened = *asked;
                    let outcome = match first_by {
                        None => stream.next().await,
                        Some(by) => {
                            match tokio::time::timeout_at((*by).into(), stream.next()).await {
                                Ok(outcome) => outcome,
                                Err(_) => Err(Disconnect::Silent(self.client.timing().game_idle)),
                            }
                        }
                    };
                    match outcome {
                        Ok(arrival) => {
                            *first_by = None;
                            return GameStreamEvent::Line {
                                event: arrival.event,
                                at: arrival.at,
                                opened,
                            };
                        }
                        Err(loss) => {
                            let lived = stream.opened_at().elapsed();
                            if let Some(fed) = self.lost(&loss, lived) {
                                return fed;
                            }
                        }
                    }
                }
            }
        }
    }

    fn open(&mut self) {
        let (client, game) = (self.client.clone(), self.game.clone());
        let patience = self.reopening.patience();
        self.phase = Phase::Opening {
            asked: Instant::now(),
            opening: Box::pin(async move { client.game(&game, patience).await }),
        };
    }

    /// Reopens the stream: at once, unless that was requested just before.
    pub(in crate::bot) fn reopen(&mut self) {
        let now = Instant::now();
        let lived = match &self.phase {
            Phase::Waiting { .. } => return,
            // It will state the whole game, or report too many openings.
            Phase::Opening { asked, .. } if now - *asked < self.least_pause => return,
            Phase::Opening { .. } => Duration::ZERO,
            Phase::Live { stream, .. } => stream.opened_at().elapsed(),
        };
        let demanded = self.demanded.replace(now);
        let calm = demanded.is_none_or(|before| now - before >= self.least_pause);
        let wait = if calm {
            Duration::ZERO
        } else {
            self.reopening.after_life(lived)
        };
        self.registry.stream(&self.game, None);
        self.phase = Phase::Waiting { until: now + wait };
    }

    /// Waits this long instead of the usual pause.
    pub(in crate::bot) fn wait_instead(&mut self, wait: Duration) {
        self.phase = Phase::Waiting {
            until: Instant::now() + wait,
        };
    }

    fn lost(&mut self, loss: &Disconnect, lived: Duration) -> Option<GameStreamEvent> {
        let mut wait = self.reopening.after_loss(loss, lived);
        let mut fed = None;
        if let Disconnect::Unopened(error) = loss {
            match error {
                Error::RateLimited { wait: advised, .. } => {
                    wait = wait.max(self.least_pause);
                    fed = Some(GameStreamEvent::Limited(advised.unwrap_or(wait)));
                }
                Error::Gone { .. } | Error::Refused { status: 400, .. } => {
                    fed = Some(GameStreamEvent::Refused);
                }
                // The account or the token: retry slowly; an alert has been raised.
                Error::Refused { .. } => wait = wait.max(self.least_pause),
                Error::Transient { .. } | Error::Protocol { .. } => {}
            }
        }
        self.registry.stream(&self.game, None);
        tracing::debug!(%loss, ?lived, ?wait, "game stream lost");
        // A failed reopening belongs to the same disconnect.
        if !std::mem::replace(&mut self.noted, true) {
            let (game, reason) = (self.game.clone(), loss.to_string());
            self.listeners
                .publish(BotEvent::StreamLost { game, reason });
        }
        self.phase = Phase::Waiting {
            until: Instant::now() + wait,
        };
        fed
    }
}
