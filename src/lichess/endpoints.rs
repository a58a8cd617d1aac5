//! The endpoints of the Bot API, one method each.
//!
//! A method only makes the call: pacing is the rate limiter's job, retrying the caller's. The server
//! answers "ok" to many commands that did nothing; only the streams show what happened.

use std::time::Duration;

use reqwest::Url;
use serde_json::value::RawValue;

use super::challenge::{self, Challenge, ChallengeOptions, Challenges};
use super::client::Client;
use super::disconnect::Disconnect;
use super::endpoint_class::EndpointClass;
use super::enums::{DeclineReason, Room};
use super::error::Error;
use super::event::Playing;
use super::export::ExportedGame;
use super::game_event::ChatLine;
use super::ids::{ChallengeId, GameId, UserId};
use super::lenient_json::{FromObject, JsonMismatch, Object, read};
use super::player::{Account, Presence, TokenInfo};
use super::request::ApiRequest;
use super::stream::{ChallengeStream, EventStream, GameStream};

/// Most of the list of bots online that is read.
const ONLINE_LIMIT: usize = 4 << 20;

/// Most games the server lists at once.
const PLAYING_MAX: &str = "50";

/// Most users that can be looked at together.
const MOST_USERS: usize = 100;

/// Whether a move goes with an offer of a draw. It also accepts one that is pending, and then the
/// move itself is not played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OfferDraw {
    #[default]
    No,
    Yes,
}

/// An answer to what the opponent proposes, or a proposal of our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    Yes,
    No,
}

impl Reply {
    fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
        }
    }
}

/// The account and its streams.
impl Client {
    /// Our account. From now on requests name it in their user agent. At most 30 of these fit into
    /// five minutes.
    pub async fn account(&self) -> Result<Account, Error> {
        let url = self.url(&["api", "account"]);
        let account: Account = self
            .ask(ApiRequest::get(EndpointClass::Account, url))
            .await?;
        self.agent().learn_name(&account.username);
        Ok(account)
    }

    /// Turns the account into a bot's, for good. Only an account without any game can be turned.
    pub async fn upgrade_to_bot(&self) -> Result<(), Error> {
        let url = self.url(&["api", "bot", "account", "upgrade"]);
        self.command(ApiRequest::post(EndpointClass::Account, url))
            .await
    }

    /// The games of the account that are running, most urgent first, fifty at most.
    pub async fn playing(&self) -> Result<Playing, Error> {
        let mut url = self.url(&["api", "account", "playing"]);
        url.query_pairs_mut().append_pair("nb", PLAYING_MAX);
        self.ask(ApiRequest::get(EndpointClass::Playing, url)).await
    }

    /// A game with its moves, how it ended, and what it did to ratings; not for play.
    pub async fn export(&self, game: &GameId) -> Result<ExportedGame, Error> {
        let mut url = self.url(&["game", "export", game.as_str()]);
        for needless in ["clocks", "evals", "opening", "division"] {
            url.query_pairs_mut().append_pair(needless, "false");
        }
        self.ask(ApiRequest::get(EndpointClass::Lookup, url)).await
    }

    /// What our token is worth; nothing if the server does not know it.
    pub async fn test_token(&self) -> Result<Option<TokenInfo>, Error> {
        let url = self.url(&["api", "token", "test"]);
        let call = ApiRequest::post(EndpointClass::Lookup, url).text(self.token());
        let Tested(info) = self.ask(call).await?;
        Ok(info)
    }

    /// The bots that are online, `count` at most (the server lists up to 512).
    pub async fn online_bots(&self, count: u32) -> Result<Vec<Account>, Error> {
        let mut url = self.url(&["api", "bot", "online"]);
        url.query_pairs_mut().append_pair("nb", &count.to_string());
        let call = ApiRequest::get(EndpointClass::Lookup, url).many(ONLINE_LIMIT);
        let body = self.call(call).await?;
        Ok(self.understand_many(&body))
    }

    /// Where these users are at the moment, a hundred at most; unknown ones are left out.
    pub async fn presence(&self, users: &[UserId]) -> Result<Vec<Presence>, Error> {
        let mut url = self.url(&["api", "users", "status"]);
        let ids: Vec<_> = users.iter().take(MOST_USERS).map(UserId::as_str).collect();
        url.query_pairs_mut().append_pair("ids", &ids.join(","));
        let body = self
            .call(ApiRequest::get(EndpointClass::Lookup, url))
            .await?;
        Ok(self.understand_many(&body))
    }

    /// Opens the event stream. Only one lives at a time: this closes any other of the account.
    ///
    /// # Errors
    /// [`Disconnect::Unopened`] with the class of the refusal, or [`Disconnect::Silent`].
    pub async fn events(&self) -> Result<EventStream, Disconnect> {
        let url = self.url(&["api", "stream", "event"]);
        let idle = self.timing().event_idle;
        let call = ApiRequest::get(EndpointClass::EventStream, url).stream();
        let response = self.open(call, self.timing().call.max(idle)).await?;
        let subject = "events".to_owned();
        Ok(EventStream::new(response, idle, subject, self.warnings()))
    }

    /// Opens the stream of a game, whose answer may take as long as `patience`. Only one lives at a
    /// time for a game.
    ///
    /// # Errors
    /// As for [`Client::events`]; `Gone` when there is no such game of ours.
    pub async fn game(&self, game: &GameId, patience: Duration) -> Result<GameStream, Disconnect> {
        let url = self.url(&["api", "bot", "game", "stream", game.as_str()]);
        let idle = self.timing().game_idle;
        let call = ApiRequest::get(EndpointClass::GameStream, url)
            .about(game)
            .stream();
        let response = self.open(call, patience).await?;
        let subject = game.to_string();
        Ok(GameStream::new(response, idle, subject, self.warnings()))
    }

    /// Makes sure that the next move finds a warm connection: if it has been idle for some time, a
    /// small call goes over it. Returns whether one did. The outcome does not matter.
    pub async fn warm(&self) -> bool {
        let idle = self.moves_idle();
        if idle.is_some_and(|idle| idle < self.timing().warm_after) {
            return false;
        }
        // Said beforehand, so that of several games only one warms.
        self.use_moves();
        if let Err(error) = self
            .call(ApiRequest::get(EndpointClass::Warm, self.smallest()))
            .await
        {
            tracing::debug!(%error, "warming the connection for moves");
        }
        true
    }

    /// Whether the server answers a small call: over the connection of the moves, which is warm then.
    pub async fn ping(&self) -> bool {
        self.use_moves();
        let outcome = self
            .call(ApiRequest::get(EndpointClass::Warm, self.smallest()))
            .await;
        outcome.is_ok()
    }

    /// What costs the server least.
    fn smallest(&self) -> Url {
        let mut url = self.url(&["api", "account", "playing"]);
        url.query_pairs_mut().append_pair("nb", "1");
        url
    }

    /// Makes a call whose answer says no more than that it worked.
    pub(super) async fn command(&self, call: ApiRequest) -> Result<(), Error> {
        self.call(call.command()).await.map(drop)
    }

    /// Reads an answer of many objects: one a line, or a JSON array. What does not fit is left out.
    fn understand_many<T: FromObject>(&self, body: &[u8]) -> Vec<T> {
        let text = String::from_utf8_lossy(body);
        let entries: Vec<&str> = match serde_json::from_str::<Vec<&RawValue>>(&text) {
            Ok(entries) => entries.into_iter().map(RawValue::get).collect(),
            Err(_) => text
                .lines()
                .filter(|line| !line.trim().is_empty())
                .collect(),
        };
        let read_entry = |entry: &str| match read::<T>(entry) {
            Ok(read) => {
                read.dropped
                    .iter()
                    .for_each(|mismatch| self.complain(mismatch));
                Some(read.value)
            }
            Err(mismatch) => {
                self.complain(&mismatch);
                None
            }
        };
        entries.into_iter().filter_map(read_entry).collect()
    }
}

/// What is done in a game.
impl Client {
    /// Plays a move, in UCI. A yes is no proof that it counted: the stream is.
    pub async fn make_move(&self, game: &GameId, uci: &str, offer: OfferDraw) -> Result<(), Error> {
        let mut url = self.url(&["api", "bot", "game", game.as_str(), "move", uci]);
        if offer == OfferDraw::Yes {
            url.query_pairs_mut().append_pair("offeringDraw", "true");
        }
        self.command(ApiRequest::post(EndpointClass::Move, url).about(game))
            .await
    }

    /// Calls the game off; possible for either side while fewer than two moves have been made.
    pub async fn abort(&self, game: &GameId) -> Result<(), Error> {
        self.act(game, &["abort"]).await
    }

    /// Gives the game up. One that can still be aborted is aborted instead.
    pub async fn resign(&self, game: &GameId) -> Result<(), Error> {
        self.act(game, &["resign"]).await
    }

    /// Offers or accepts a draw, or declines one.
    pub async fn draw(&self, game: &GameId, reply: Reply) -> Result<(), Error> {
        self.act(game, &["draw", reply.word()]).await
    }

    /// Proposes or accepts to take back, or declines it.
    pub async fn takeback(&self, game: &GameId, reply: Reply) -> Result<(), Error> {
        self.act(game, &["takeback", reply.word()]).await
    }

    /// Claims the win over an opponent who left.
    pub async fn claim_victory(&self, game: &GameId) -> Result<(), Error> {
        self.act(game, &["claim-victory"]).await
    }

    /// Claims a draw with an opponent who left.
    pub async fn claim_draw(&self, game: &GameId) -> Result<(), Error> {
        self.act(game, &["claim-draw"]).await
    }

    async fn act(&self, game: &GameId, what: &[&str]) -> Result<(), Error> {
        let mut parts = vec!["api", "bot", "game", game.as_str()];
        parts.extend(what);
        let url = self.url(&parts);
        self.command(ApiRequest::post(EndpointClass::Act, url).about(game))
            .await
    }

    /// Says something, in 140 characters. Text that looks like spam vanishes without a word.
    pub async fn chat(&self, game: &GameId, room: Room, text: &str) -> Result<(), Error> {
        let url = self.url(&["api", "bot", "game", game.as_str(), "chat"]);
        let form = [("room", room.as_str()), ("text", text)];
        let call = ApiRequest::post(EndpointClass::Chat, url)
            .about(game)
            .form(&form);
        self.command(call).await
    }

    /// What was said in the players' room.
    pub async fn fetch_chat(&self, game: &GameId) -> Result<Vec<ChatLine>, Error> {
        let url = self.url(&["api", "bot", "game", game.as_str(), "chat"]);
        let body = self
            .call(ApiRequest::get(EndpointClass::Chat, url).about(game))
            .await?;
        Ok(self.understand_many(&body))
    }
}

impl Client {
    /// Challenges a user. After a lost answer this must not be repeated blindly: a new challenge
    /// replaces the old one and costs credit.
    pub async fn create_challenge(
        &self,
        user: &UserId,
        options: &ChallengeOptions,
    ) -> Result<Challenge, Error> {
        let Created(challenge) = self.ask(self.challenge_call(user, options, false)).await?;
        Ok(challenge)
    }

    /// Challenges a user and keeps the challenge alive while the stream is held.
    ///
    /// # Errors
    /// As for [`Client::events`]. Giving the stream up does not cancel the challenge.
    pub async fn keep_challenge(
        &self,
        user: &UserId,
        options: &ChallengeOptions,
    ) -> Result<ChallengeStream, Disconnect> {
        let call = self.challenge_call(user, options, true);
        let idle = self.timing().challenge_idle;
        let patience = self.timing().call.max(idle);
        let response = self.open(call.stream(), patience).await?;
        let subject = format!("challenge to {user}");
        Ok(ChallengeStream::new(
            response,
            idle,
            subject,
            self.warnings(),
        ))
    }

    fn challenge_call(&self, user: &UserId, options: &ChallengeOptions, keep: bool) -> ApiRequest {
        let url = self.url(&["api", "challenge", user.as_str()]);
        let form = options.form();
        let mut fields: Vec<_> = form
            .iter()
            .map(|(key, text)| (*key, text.as_str()))
            .collect();
        if keep {
            fields.push(("keepAliveStream", "true"));
        }
        ApiRequest::post(EndpointClass::Create, url)
            .costing(options.credits)
            .form(&fields)
    }

    /// The pending challenges, both ways. Needs the scope `challenge:read`.
    pub async fn challenges(&self) -> Result<Challenges, Error> {
        let url = self.url(&["api", "challenge"]);
        self.ask(ApiRequest::get(EndpointClass::Lookup, url)).await
    }

    /// One challenge, also for some time after it was answered.
    pub async fn show_challenge(&self, challenge: &ChallengeId) -> Result<Challenge, Error> {
        let url = self.url(&["api", "challenge", challenge.as_str(), "show"]);
        let Created(challenge) = self
            .ask(ApiRequest::get(EndpointClass::Lookup, url))
            .await?;
        Ok(challenge)
    }

    /// Accepts a person's challenge to us.
    pub async fn accept(&self, challenge: &ChallengeId) -> Result<(), Error> {
        self.accept_as(EndpointClass::Answer, challenge).await
    }

    /// Accepts a bot's: a limit that this meets keeps no person out.
    pub async fn accept_bot(&self, challenge: &ChallengeId) -> Result<(), Error> {
        self.accept_as(EndpointClass::AcceptBot, challenge).await
    }

    async fn accept_as(&self, class: EndpointClass, challenge: &ChallengeId) -> Result<(), Error> {
        let url = self.url(&["api", "challenge", challenge.as_str(), "accept"]);
        self.command(ApiRequest::post(class, url)).await
    }

    /// Declines a challenge to us.
    pub async fn decline(
        &self,
        challenge: &ChallengeId,
        reason: DeclineReason,
    ) -> Result<(), Error> {
        let url = self.url(&["api", "challenge", challenge.as_str(), "decline"]);
        let reason = match reason {
            DeclineReason::Unknown => DeclineReason::Generic,
            known => known,
        };
        let form = [("reason", reason.as_str())];
        self.command(ApiRequest::post(EndpointClass::Decline, url).form(&form))
            .await
    }

    /// Withdraws a challenge of ours.
    pub async fn cancel(&self, challenge: &ChallengeId) -> Result<(), Error> {
        let url = self.url(&["api", "challenge", challenge.as_str(), "cancel"]);
        self.command(ApiRequest::post(EndpointClass::Answer, url))
            .await
    }
}

/// A challenge, bare or wrapped.
struct Created(Challenge);

impl FromObject for Created {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        challenge::created(object).map(Self)
    }
}

/// The answer to a question about one token; its key, the token itself, is not looked at.
struct Tested(Option<TokenInfo>);

impl FromObject for Tested {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        let info = object.values().find(|raw| *raw != "null");
        info.map_or(Ok(Self(None)), |info| Ok(Self(Some(read(info)?.value))))
    }
}
