//! Matchmaking's API calls: each is made once, and its outcome reported.
//!
//! Decides nothing and repeats nothing. A challenge's stream keeps it alive until its outcome is
//! known; when the stream breaks it is not reopened, and the event stream tells the rest.

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};

use super::challenge_request::ChallengeRequest;
use super::event::{MatchmakingEvent, NotCreated};
use crate::bot::state::{BotState, DurableWrite, QuotaCall as Asking};
use crate::lichess::{
    Challenge, ChallengeStream, ChallengeUpdate, Client, Disconnect, Error, Timestamped, UserId,
};

/// As many bots as the server lists.
const MOST_BOTS: u32 = 512;

/// The outcome of a call.
enum ChallengeOutcome {
    Heard(MatchmakingEvent),
    /// The challenge is open; its stream continues.
    Stands(Box<Challenge>, Box<ChallengeStream>),
}

pub(super) struct MatchmakingCalls {
    client: Client,
    state: BotState,
    me: UserId,
    calls: FuturesUnordered<BoxFuture<'static, ChallengeOutcome>>,
}

impl MatchmakingCalls {
    pub(super) fn new(client: Client, state: BotState, me: UserId) -> Self {
        Self {
            client,
            state,
            me,
            calls: FuturesUnordered::new(),
        }
    }

    /// The next event; `None` while no call is in progress. Cancellation safe.
    pub(super) async fn next(&mut self) -> Option<MatchmakingEvent> {
        match self.calls.next().await? {
            ChallengeOutcome::Heard(received) => Some(received),
            ChallengeOutcome::Stands(challenge, stream) => {
                self.calls.push(Box::pin(fate(stream)));
                Some(MatchmakingEvent::Created(challenge))
            }
        }
    }

    /// Fetches the online bots.
    pub(super) fn list(&mut self) {
        let (client, me) = (self.client.clone(), self.me.clone());
        self.calls.push(Box::pin(async move {
            ChallengeOutcome::Heard(match list(&client, &me).await {
                Ok(received) => received,
                Err(error) => {
                    tracing::debug!(%error, "cannot list the bots online");
                    MatchmakingEvent::NotListed(error.wait())
                }
            })
        }));
    }

    /// Fetches the status of these users.
    pub(super) fn look(&mut self, users: Vec<UserId>) {
        let client = self.client.clone();
        self.calls.push(Box::pin(async move {
            ChallengeOutcome::Heard(match client.presence(&users).await {
                Ok(seen) => MatchmakingEvent::Seen(seen),
                Err(error) => {
                    tracing::debug!(%error, "cannot fetch the user status");
                    MatchmakingEvent::NotSeen
                }
            })
        }));
    }

    /// Creates a challenge, once its quota spending is on disk.
    pub(super) fn create(&mut self, offer: ChallengeRequest, written: DurableWrite) {
        let (client, state) = (self.client.clone(), self.state.clone());
        self.calls.push(Box::pin(async move {
            written.await;
            match open(&client, &offer).await {
                Ok((challenge, stream)) => ChallengeOutcome::Stands(challenge, stream),
                Err(loss) => {
                    if let Disconnect::Unopened(error) = &loss {
                        state.refused(Asking::Challenge, error, Some(&offer.to));
                    }
                    tracing::info!(user = %offer.to, %loss, "challenge not created");
                    ChallengeOutcome::Heard(MatchmakingEvent::NotCreated(why(&loss)))
                }
            }
        }));
    }

    /// Fetches the bot's open challenges.
    pub(super) fn find(&mut self) {
        let client = self.client.clone();
        self.calls.push(Box::pin(async move {
            let found = client.challenges().await;
            if let Err(error) = &found {
                tracing::debug!(%error, "cannot check the challenge");
            }
            ChallengeOutcome::Heard(MatchmakingEvent::Found(
                found.ok().map(|found| found.outgoing),
            ))
        }));
    }

    /// Reports that no slot was free.
    pub(super) fn no_seat(&mut self) {
        let received = MatchmakingEvent::NotCreated(NotCreated::NoSeat);
        self.calls
            .push(Box::pin(std::future::ready(ChallengeOutcome::Heard(
                received,
            ))));
    }
}

async fn list(client: &Client, me: &UserId) -> Result<MatchmakingEvent, Error> {
    let mut bots = client.online_bots(MOST_BOTS).await?;
    if !bots.iter().any(|bot| bot.id == *me) {
        // The bot's rating is needed to find similar opponents; failing that, use the last known
        // one.
        bots.extend(client.account().await.ok());
    }
    Ok(MatchmakingEvent::Listed(bots))
}

/// Creates a challenge; returns it with its stream once the server confirms it.
async fn open(
    client: &Client,
    offer: &ChallengeRequest,
) -> Result<(Box<Challenge>, Box<ChallengeStream>), Disconnect> {
    let mut stream = client.keep_challenge(&offer.to, &offer.options()).await?;
    let time = client.timing().call;
    let first = tokio::time::timeout(time, stream.next())
        .await
        .map_err(|_| Disconnect::Silent(time))??;
    match first.event {
        ChallengeUpdate::Created(challenge) => Ok((challenge, Box::new(stream))),
        // It ended before it began: the event stream knows more.
        ChallengeUpdate::Done(_) => Err(Disconnect::Ended),
    }
}

/// Keeps a challenge alive until its outcome is known.
async fn fate(mut stream: Box<ChallengeStream>) -> ChallengeOutcome {
    loop {
        match stream.next().await {
            Ok(Timestamped {
                event: ChallengeUpdate::Done(status),
                ..
            }) => return ChallengeOutcome::Heard(MatchmakingEvent::Done(status)),
            Ok(_) => {}
            Err(loss) => {
                tracing::debug!(%loss, "challenge stream lost");
                return ChallengeOutcome::Heard(MatchmakingEvent::Tick);
            }
        }
    }
}

/// Why a challenge was not created.
fn why(loss: &Disconnect) -> NotCreated {
    let Disconnect::Unopened(error) = loss else {
        return NotCreated::Lost;
    };
    let day = error
        .rate_limit()
        .is_some_and(|limit| limit.key.as_deref().is_some_and(is_about_bots));
    match error {
        Error::RateLimited { .. } | Error::Refused { .. } if day => NotCreated::DaySpent,
        Error::RateLimited { wait, .. } => NotCreated::Limited(wait.unwrap_or_default()),
        Error::Refused { .. } if error.is_unauthorized() => NotCreated::Unauthorized,
        Error::Refused { .. } if error.is_forbidden() => NotCreated::Forbidden,
        Error::Refused { .. } | Error::Gone { .. } => NotCreated::Refused(error.to_string()),
        Error::Transient { .. } | Error::Protocol { .. } => NotCreated::Lost,
    }
}

fn is_about_bots(key: &str) -> bool {
    key.starts_with("bot.vsBot")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::lichess::{ErrorBody, RateLimit};

    #[test]
    fn the_error_class_tells_why_a_challenge_was_not_created() {
        let day = || {
            Box::new(ErrorBody {
                rate_limit: Some(RateLimit {
                    key: Some("bot.vsBot.day".to_owned()),
                    wait: None,
                }),
                ..ErrorBody::default()
            })
        };
        let limited = |wait, body| Error::RateLimited { wait, body };
        let refused = |status, body| Error::Refused { status, body };
        let said = |words: &str| NotCreated::Refused(words.to_owned());
        let minute = Some(Duration::from_secs(60));
        let transient = Error::Transient {
            reached: true,
            status: None,
            reason: String::new(),
        };
        for (error, expected) in [
            (limited(minute, day()), NotCreated::DaySpent),
            (refused(400, day()), NotCreated::DaySpent),
            (
                limited(minute, Box::default()),
                NotCreated::Limited(Duration::from_secs(60)),
            ),
            (
                refused(400, Box::default()),
                said("refused with status 400: "),
            ),
            (refused(401, Box::default()), NotCreated::Unauthorized),
            (refused(403, Box::default()), NotCreated::Forbidden),
            (
                Error::Gone {
                    body: Box::default(),
                },
                said("gone: "),
            ),
            (transient, NotCreated::Lost),
        ] {
            assert_eq!(
                why(&Disconnect::Unopened(error.clone())),
                expected,
                "{error:?}"
            );
        }
        assert_eq!(why(&Disconnect::Ended), NotCreated::Lost);
    }
}
