//! The stream of one game, kept open until it is dropped.
//!
//! Every kind of disconnect is handled alike: the stream is reopened after the pause that `lichess`
//! advises. Giving up is the game machine's decision.

use std::time::{Duration, Instant};

use crate::bot::bot_event::BotEvent;
use crate::bot::event_bus::EventBus;
use crate::bot::game::policy::grown;
use crate::bot::supervised_stream::{StreamChange, Supervised};
use crate::lichess::{Client, Disconnect, Error, GameBackoff, GameEvent, GameId, GameStream};

/// The least random share of a wait before a reopening.
const MIN_SHARE: f64 = 0.7;

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
    stream: Supervised<GameStream>,
    demanded: Option<Instant>,
    /// Whether the current disconnect has been published.
    noted: bool,
    /// Consecutive openings denied to the token or the account.
    denials: u32,
    least_pause: Duration,
    event_bus: EventBus,
}

impl SupervisedGameStream {
    /// Opens the stream at the first [`SupervisedGameStream::next`]. `least_pause` separates two
    /// requested openings.
    pub(in crate::bot) fn new(
        client: Client,
        game: GameId,
        least_pause: Duration,
        event_bus: EventBus,
    ) -> Self {
        event_bus.event_log().stream(&game, None);
        Self {
            event_bus,
            reopening: GameBackoff::new(client.timing()),
            stream: Supervised::new(Some(client.timing().game_idle)),
            client,
            game,
            demanded: None,
            // A stream that was never open is not lost.
            noted: true,
            denials: 0,
            least_pause,
        }
    }

    /// The next line. Cancel-safe: dropping it at any await loses nothing.
    pub(in crate::bot) async fn next(&mut self) -> GameStreamEvent {
        loop {
            match self.stream.next().await {
                StreamChange::Due => {
                    let (client, game) = (self.client.clone(), self.game.clone());
                    let patience = self.reopening.patience();
                    let opening = async move { client.game(&game, patience).await };
                    self.stream.open(Box::pin(opening));
                }
                StreamChange::Opened => {
                    self.noted = false;
                    self.denials = 0;
                    let liveness = self.stream.live().map(GameStream::liveness);
                    self.event_bus.event_log().stream(&self.game, liveness);
                }
                StreamChange::Line { event, at, asked } => {
                    let opened = asked;
                    return GameStreamEvent::Line { event, at, opened };
                }
                StreamChange::Lost { loss, lived } => {
                    if let Some(event) = self.lost(&loss, lived.unwrap_or_default()) {
                        return event;
                    }
                }
            }
        }
    }

    /// Reopens the stream: at once, unless that was requested just before.
    pub(in crate::bot) fn reopen(&mut self) {
        let now = Instant::now();
        let lived = match (self.stream.live(), self.stream.opening_since()) {
            (Some(stream), _) => stream.opened_at().elapsed(),
            (None, None) => return,
            // It will state the whole game, or report too many openings.
            (None, Some(asked)) if now - asked < self.least_pause => return,
            (None, Some(_)) => Duration::ZERO,
        };
        let demanded = self.demanded.replace(now);
        let calm = demanded.is_none_or(|before| now - before >= self.least_pause);
        let wait = if calm {
            Duration::ZERO
        } else {
            self.reopening.after_life(lived)
        };
        self.event_bus.event_log().stream(&self.game, None);
        self.stream.wait(wait);
    }

    /// Waits this long instead of the usual pause.
    pub(in crate::bot) fn wait_instead(&mut self, wait: Duration) {
        self.stream.wait(wait);
    }

    fn lost(&mut self, loss: &Disconnect, lived: Duration) -> Option<GameStreamEvent> {
        // All games are lost at once in an outage and must not return all at once.
        let share = MIN_SHARE + fastrand::f64() * (1.0 - MIN_SHARE);
        let mut wait = self.reopening.after_loss(loss, lived).mul_f64(share);
        let mut event = None;
        if let Disconnect::Unopened(error) = loss {
            match error {
                Error::RateLimited { wait: advised, .. } => {
                    wait = wait.max(self.least_pause);
                    event = Some(GameStreamEvent::Limited(advised.unwrap_or(wait)));
                }
                Error::Gone { .. } | Error::Refused { status: 400, .. } => {
                    event = Some(GameStreamEvent::Refused);
                }
                // The account or the token: an alert has been raised.
                Error::Refused { .. } => wait = wait.max(self.denied()),
                Error::Transient { .. } | Error::Protocol { .. } => {}
            }
        }
        self.event_bus.event_log().stream(&self.game, None);
        tracing::debug!(%loss, ?lived, ?wait, "game stream lost");
        // A failed reopening belongs to the same disconnect.
        if !std::mem::replace(&mut self.noted, true) {
            let (game, reason) = (self.game.clone(), loss.to_string());
            self.event_bus
                .publish(BotEvent::StreamLost { game, reason });
        }
        self.stream.wait(wait);
        event
    }

    /// Counts an opening denied to the token or the account; returns the least wait after it. It
    /// grows, as only the operator can end this, but stays short enough to save the game then.
    fn denied(&mut self) -> Duration {
        self.denials += 1;
        grown(self.least_pause, self.denials).min(self.least_pause * 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lichess::{ClientOptions, Timing, Token};

    #[test]
    fn openings_denied_to_the_token_become_ever_rarer() {
        let client = Client::new(ClientOptions {
            base_url: "http://127.0.0.1:9".to_owned(),
            token: Token::parse("lip_x", "the test").unwrap(),
            contact: None,
            timing: Timing::default(),
        });
        let mut stream = SupervisedGameStream::new(
            client.unwrap(),
            GameId::new("q7ZxVt2B"),
            Duration::from_secs(2),
            EventBus::new(),
        );
        let waits = [(); 7].map(|()| stream.denied().as_secs());
        assert_eq!(waits, [2, 4, 8, 16, 16, 16, 16]);
    }
}
