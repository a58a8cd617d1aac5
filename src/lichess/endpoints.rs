//! The endpoints of the API, one method each.
//!
//! A method only makes the call: pacing is the rate limiter's job, retrying the caller's. The server
//! answers "ok" to many commands that did nothing; only the streams show what happened. A password goes
//! out in the form of its call and is kept nowhere else.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use serde_json::value::RawValue;

use super::arena::{Arena, Arenas, Team};
use super::challenge::{Challenge, ChallengeOptions, Challenges, CreatedChallenge};
use super::client::Client;
use super::disconnect::Disconnect;
use super::endpoint_class::EndpointClass;
use super::enums::{DeclineReason, Room};
use super::error::Error;
use super::event::Playing;
use super::export::ExportedGame;
use super::game_event::ChatLine;
use super::ids::{ChallengeId, GameId, UserId};
use super::lenient_json::{EXCERPT_CHARS, excerpt};
use super::player::{Account, Presence, TokenInfo};
use super::request::ApiRequest;
use super::stream::{ChallengeStream, EventStream, GameStream, Record, RecordStream};
use super::token::Token;

/// The maximum length of a list of bots or tournaments.
const LIST_LIMIT: usize = 4 << 20;

/// The most running games that the server lists.
const PLAYING_MAX: &str = "50";

/// The most users that one call can ask about.
const MAX_USERS: usize = 100;

/// Whether a move carries a draw offer. The offer also accepts a pending one, and then the server does
/// not play the move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OfferDraw {
    #[default]
    No,
    Yes,
}

/// An answer to an offer of the opponent, or an offer of our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Reply {
    Yes,
    No,
}

/// What to send when joining an arena.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct JoinOptions {
    pub password: Option<String>,
    /// The team to play for.
    pub team: Option<String>,
    /// Whether the bot wants to be paired now; the server remembers this for a minute.
    pub pair_me: bool,
}

impl fmt::Debug for JoinOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let password = self.password.as_ref().map(|_| "***");
        f.debug_struct("JoinOptions")
            .field("password", &password)
            .field("team", &self.team)
            .field("pair_me", &self.pair_me)
            .finish()
    }
}

/// The account and its streams.
impl Client {
    /// Our account. From now on the user agent names it. At most 30 of these fit into five minutes.
    pub async fn account(&self) -> Result<Account, Error> {
        let call = self.get(EndpointClass::Account, &["api", "account"]);
        let account: Account = self.ask(call).await?;
        self.0.agent.learn_name(&account.username);
        Ok(account)
    }

    /// The account of another token; other calls keep theirs.
    pub async fn account_of(&self, token: &Token) -> Result<Account, Error> {
        let call = self.get(EndpointClass::Account, &["api", "account"]);
        self.ask(call.with_token(token)).await
    }

    /// Turns the account into a bot account, for good. Only an account without any game can be turned.
    pub async fn upgrade_to_bot(&self) -> Result<(), Error> {
        let parts = ["api", "bot", "account", "upgrade"];
        self.command(self.post(EndpointClass::Account, &parts))
            .await
    }

    /// The running games of the account, most urgent first, fifty at most.
    pub async fn playing(&self) -> Result<Playing, Error> {
        let call = self.get(EndpointClass::Playing, &["api", "account", "playing"]);
        self.ask(call.query("nb", PLAYING_MAX)).await
    }

    /// A game with its moves, its end and its effect on ratings; not for play.
    pub async fn export(&self, game: &GameId) -> Result<ExportedGame, Error> {
        let parts = ["game", "export", game.as_str()];
        let unneeded = ["clocks", "evals", "opening", "division"];
        let call = self.get(EndpointClass::Lookup, &parts);
        let call = unneeded
            .iter()
            .fold(call, |call, part| call.query(part, "false"));
        self.ask(call).await
    }

    /// What our token allows; none if the server does not know it.
    pub async fn test_token(&self) -> Result<Option<TokenInfo>, Error> {
        self.test_other_token(&self.token()).await
    }

    /// What another token allows; none if the server does not know it.
    pub async fn test_other_token(&self, token: &Token) -> Result<Option<TokenInfo>, Error> {
        let call = self.post(EndpointClass::Lookup, &["api", "token", "test"]);
        let body = self.call(call.about_token(token)).await?;
        // The key is the token, so it must not become part of a report.
        let by_token: Result<HashMap<String, Option<&RawValue>>, _> = serde_json::from_slice(&body);
        let by_token = by_token.map_err(|error| Error::Protocol {
            reason: excerpt(&error.to_string(), EXCERPT_CHARS),
        })?;
        let info = by_token.into_values().flatten().next();
        info.map(|info| self.understand(info.get().as_bytes()))
            .transpose()
    }

    /// The bots that are online, `count` at most (the server lists up to 512).
    pub async fn online_bots(&self, count: u32) -> Result<Vec<Account>, Error> {
        let call = self.get(EndpointClass::Lookup, &["api", "bot", "online"]);
        let call = call.query("nb", &count.to_string());
        self.ask_many(call.ndjson().up_to(LIST_LIMIT)).await
    }

    /// Whether these users are online and playing, a hundred at most; leaves out unknown ones.
    pub async fn presence(&self, users: &[UserId]) -> Result<Vec<Presence>, Error> {
        let ids: Vec<_> = users.iter().take(MAX_USERS).map(UserId::as_str).collect();
        let call = self.get(EndpointClass::Lookup, &["api", "users", "status"]);
        self.ask_many(call.query("ids", &ids.join(","))).await
    }

    /// Opens the event stream. An account has one at a time: this closes any other.
    ///
    /// # Errors
    /// [`Disconnect::Unopened`] with the class of the refusal, or [`Disconnect::Silent`].
    pub async fn events(&self) -> Result<EventStream, Disconnect> {
        let call = self.get(EndpointClass::EventStream, &["api", "stream", "event"]);
        let (idle, longest) = (self.timing().event_idle, self.timing().call);
        self.listen(call, longest.max(idle), idle, "events".to_owned())
            .await
    }

    /// Opens the stream of a game and waits up to `patience` for the response. A game has one at a time.
    ///
    /// # Errors
    /// As for [`Client::events`]; `Gone` when there is no such game of ours.
    pub async fn game(&self, game: &GameId, patience: Duration) -> Result<GameStream, Disconnect> {
        let parts = ["api", "bot", "game", "stream", game.as_str()];
        let call = self.get(EndpointClass::GameStream, &parts).about(game);
        self.listen(call, patience, self.timing().game_idle, game.to_string())
            .await
    }

    async fn listen<T: Record>(
        &self,
        call: ApiRequest,
        patience: Duration,
        idle: Duration,
        subject: String,
    ) -> Result<RecordStream<T>, Disconnect> {
        let (wire, game) = (self.0.wire.clone(), call.game.clone());
        let response = self.open(call.ndjson(), patience).await?;
        let warnings = self.0.warnings.clone();
        let stream = RecordStream::new(response, idle, subject, warnings);
        Ok(stream.with_wire(wire, game))
    }

    /// Makes sure that the next move finds a warm connection: makes a small call over it if it has been
    /// idle for some time. Returns whether it did; the outcome of the call does not matter.
    pub async fn warm(&self) -> bool {
        let idle = self.moves_idle();
        if idle.is_some_and(|idle| idle < self.timing().warm_after) {
            return false;
        }
        // Recorded beforehand, so that of several games only one warms the connection.
        self.use_moves();
        if let Err(error) = self.call(self.smallest_call()).await {
            tracing::debug!(%error, "warming the connection for moves");
        }
        true
    }

    /// Whether the server answers a small call over the connection for moves, which is warm then.
    pub async fn ping(&self) -> bool {
        self.use_moves();
        self.call(self.smallest_call()).await.is_ok()
    }

    /// The call that costs the server least.
    fn smallest_call(&self) -> ApiRequest {
        let call = self.get(EndpointClass::Warm, &["api", "account", "playing"]);
        call.query("nb", "1")
    }
}

/// Actions in a game.
impl Client {
    /// Plays a move, in UCI. Success does not prove that the server played it: the stream does.
    pub async fn make_move(&self, game: &GameId, uci: &str, offer: OfferDraw) -> Result<(), Error> {
        let parts = ["api", "bot", "game", game.as_str(), "move", uci];
        let call = self.post(EndpointClass::Move, &parts).about(game);
        self.command(match offer {
            OfferDraw::Yes => call.query("offeringDraw", "true"),
            OfferDraw::No => call,
        })
        .await
    }

    /// Aborts the game; either side may while fewer than two moves have been made.
    pub async fn abort(&self, game: &GameId) -> Result<(), Error> {
        self.act(game, &["abort"]).await
    }

    /// Resigns the game. The server aborts a game that can still be aborted.
    pub async fn resign(&self, game: &GameId) -> Result<(), Error> {
        self.act(game, &["resign"]).await
    }

    /// Offers or accepts a draw, or declines one.
    pub async fn draw(&self, game: &GameId, reply: Reply) -> Result<(), Error> {
        self.act(game, &["draw", reply.into()]).await
    }

    /// Proposes or accepts a takeback, or declines one.
    pub async fn takeback(&self, game: &GameId, reply: Reply) -> Result<(), Error> {
        self.act(game, &["takeback", reply.into()]).await
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
        let parts = [&["api", "bot", "game", game.as_str()], what].concat();
        self.command(self.post(EndpointClass::Act, &parts).about(game))
            .await
    }

    /// Sends a chat line of up to 140 characters. The server drops spam without an error.
    pub async fn chat(&self, game: &GameId, room: Room, text: &str) -> Result<(), Error> {
        let parts = ["api", "bot", "game", game.as_str(), "chat"];
        let form = [("room", room.as_str()), ("text", text)];
        let call = self.post(EndpointClass::Chat, &parts).about(game);
        self.command(call.form(&form)).await
    }

    /// The chat of the players' room.
    pub async fn fetch_chat(&self, game: &GameId) -> Result<Vec<ChatLine>, Error> {
        let parts = ["api", "bot", "game", game.as_str(), "chat"];
        self.ask_many(self.get(EndpointClass::Chat, &parts).about(game))
            .await
    }
}

/// Challenges.
impl Client {
    /// Challenges a user. Do not repeat this blindly after a lost response: a new challenge replaces the
    /// old one and costs credits.
    pub async fn create_challenge(
        &self,
        user: &UserId,
        options: &ChallengeOptions,
    ) -> Result<Challenge, Error> {
        let created = self.ask(self.challenge_call(user, options, false)).await;
        created.map(|CreatedChallenge { challenge }| challenge)
    }

    /// Challenges a user and keeps the challenge alive while the stream is held.
    ///
    /// # Errors
    /// As for [`Client::events`]. Dropping the stream does not cancel the challenge.
    pub async fn keep_challenge(
        &self,
        user: &UserId,
        options: &ChallengeOptions,
    ) -> Result<ChallengeStream, Disconnect> {
        let call = self.challenge_call(user, options, true);
        let (idle, longest) = (self.timing().challenge_idle, self.timing().call);
        let subject = format!("challenge to {user}");
        self.listen(call, longest, idle, subject).await
    }

    fn challenge_call(&self, user: &UserId, options: &ChallengeOptions, keep: bool) -> ApiRequest {
        let call = self.post(EndpointClass::Create, &["api", "challenge", user.as_str()]);
        let form = options.form();
        let fields = form.iter().map(|(key, text)| (*key, text.as_str()));
        let keep = keep.then_some(("keepAliveStream", "true"));
        let fields: Vec<_> = fields.chain(keep).collect();
        call.costing(options.credits).form(&fields)
    }

    /// The pending challenges, both ways. Requires the OAuth scope `challenge:read`.
    pub async fn challenges(&self) -> Result<Challenges, Error> {
        let call = self.get(EndpointClass::Lookup, &["api", "challenge"]);
        self.ask(call.up_to(LIST_LIMIT)).await
    }

    /// Accepts a human's challenge.
    pub async fn accept(&self, challenge: &ChallengeId) -> Result<(), Error> {
        self.answer(EndpointClass::Answer, challenge, "accept", &[])
            .await
    }

    /// Accepts a bot's challenge: a limit that this call meets does not affect humans.
    pub async fn accept_bot(&self, challenge: &ChallengeId) -> Result<(), Error> {
        self.answer(EndpointClass::AcceptBot, challenge, "accept", &[])
            .await
    }

    /// Declines an incoming challenge.
    pub async fn decline(
        &self,
        challenge: &ChallengeId,
        reason: DeclineReason,
    ) -> Result<(), Error> {
        let reason = match reason {
            DeclineReason::Unknown => DeclineReason::Generic,
            known => known,
        };
        let form = [("reason", reason.as_str())];
        self.answer(EndpointClass::Decline, challenge, "decline", &form)
            .await
    }

    /// Withdraws an outgoing challenge.
    pub async fn cancel(&self, challenge: &ChallengeId) -> Result<(), Error> {
        self.answer(EndpointClass::Answer, challenge, "cancel", &[])
            .await
    }

    async fn answer(
        &self,
        class: EndpointClass,
        challenge: &ChallengeId,
        what: &str,
        form: &[(&str, &str)],
    ) -> Result<(), Error> {
        let call = self.post(class, &["api", "challenge", challenge.as_str(), what]);
        self.command(if form.is_empty() {
            call
        } else {
            call.form(form)
        })
        .await
    }
}

/// Arenas and teams.
impl Client {
    /// The arenas of the tournament page.
    pub async fn arenas(&self) -> Result<Arenas, Error> {
        let call = self.get(EndpointClass::Lookup, &["api", "tournament"]);
        self.ask(call.up_to(LIST_LIMIT)).await
    }

    /// The arenas of a team, the last to start first.
    pub async fn team_arenas(&self, team: &str) -> Result<Vec<Arena>, Error> {
        let call = self.get(EndpointClass::Lookup, &["api", "team", team, "arena"]);
        self.ask_many(call.query("max", "50").ndjson().up_to(LIST_LIMIT))
            .await
    }

    /// The ids of a member's teams.
    pub async fn teams_of(&self, user: &UserId) -> Result<Vec<String>, Error> {
        let call = self.get(EndpointClass::Lookup, &["api", "team", "of", user.as_str()]);
        let teams: Vec<Team> = self.ask(call.up_to(LIST_LIMIT)).await?;
        Ok(teams.into_iter().map(|team| team.id).collect())
    }

    /// One arena, as our account sees it.
    pub async fn arena(&self, id: &str) -> Result<Arena, Error> {
        let call = self.get(EndpointClass::Lookup, &["api", "tournament", id]);
        self.ask(call.up_to(LIST_LIMIT)).await
    }

    /// Joins an arena, or confirms our presence. At most 30 of these fit into ten minutes.
    pub async fn join_arena(&self, id: &str, options: &JoinOptions) -> Result<(), Error> {
        let call = self.post(EndpointClass::Arena, &["api", "tournament", id, "join"]);
        let fields = [
            ("password", options.password.as_deref()),
            ("team", options.team.as_deref()),
            ("pairMeAsap", options.pair_me.then_some("true")),
        ];
        self.command(call.form(&present(fields))).await
    }

    /// Leaves an arena, or pauses in it.
    pub async fn leave_arena(&self, id: &str) -> Result<(), Error> {
        let parts = ["api", "tournament", id, "withdraw"];
        self.command(self.post(EndpointClass::Arena, &parts)).await
    }

    /// Joins a team, with the message or password it asks for.
    pub async fn join_team(
        &self,
        team: &str,
        message: Option<&str>,
        password: Option<&str>,
    ) -> Result<(), Error> {
        let call = self.post(EndpointClass::Team, &["team", team, "join"]);
        let fields = [("message", message), ("password", password)];
        self.command(call.form(&present(fields))).await
    }

    pub async fn leave_team(&self, team: &str) -> Result<(), Error> {
        let call = self.post(EndpointClass::Team, &["team", team, "quit"]);
        self.command(call).await
    }
}

/// The fields of a form that have a value.
fn present<'f, const N: usize>(fields: [(&'f str, Option<&'f str>); N]) -> Vec<(&'f str, &'f str)> {
    let present = fields
        .into_iter()
        .filter_map(|(name, text)| Some((name, text?)));
    present.collect()
}
