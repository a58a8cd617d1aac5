//! The endpoints of arenas and teams.
//!
//! A password goes out in the form of its call and is kept nowhere else.

use super::arena::{Arena, Arenas};
use super::client::Client;
use super::endpoint_class::EndpointClass;
use super::error::Error;
use super::request::ApiRequest;

/// Most of the list of tournaments, or of one, that is read.
const TOURNAMENT_LIMIT: usize = 4 << 20;

/// How an arena is entered.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct JoinOptions {
    /// The password it asks for.
    pub password: Option<String>,
    /// The team to play for.
    pub team: Option<String>,
    /// Whether we are there and want to be paired now; believed for a minute.
    pub pair_me: bool,
}

impl std::fmt::Debug for JoinOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let password = self.password.as_ref().map(|_| "***");
        f.debug_struct("Entrance")
            .field("password", &password)
            .field("team", &self.team)
            .field("pair_me", &self.pair_me)
            .finish()
    }
}

impl Client {
    /// The tournaments of the moment.
    pub async fn arenas(&self) -> Result<Arenas, Error> {
        let url = self.url(&["api", "tournament"]);
        let call = ApiRequest::get(EndpointClass::Lookup, url).up_to(TOURNAMENT_LIMIT);
        self.ask(call).await
    }

    /// One tournament, seen by us.
    pub async fn arena(&self, id: &str) -> Result<Arena, Error> {
        let url = self.url(&["api", "tournament", id]);
        let call = ApiRequest::get(EndpointClass::Lookup, url).up_to(TOURNAMENT_LIMIT);
        self.ask(call).await
    }

    /// Joins an arena, or says that we are still there. At most 30 of these fit into ten minutes.
    pub async fn join_arena(&self, id: &str, entrance: &JoinOptions) -> Result<(), Error> {
        let url = self.url(&["api", "tournament", id, "join"]);
        let mut form = Vec::new();
        if let Some(password) = &entrance.password {
            form.push(("password", password.as_str()));
        }
        if let Some(team) = &entrance.team {
            form.push(("team", team.as_str()));
        }
        if entrance.pair_me {
            form.push(("pairMeAsap", "true"));
        }
        self.command(ApiRequest::post(EndpointClass::Arena, url).form(&form))
            .await
    }

    /// Leaves an arena, or pauses in it.
    pub async fn leave_arena(&self, id: &str) -> Result<(), Error> {
        let url = self.url(&["api", "tournament", id, "withdraw"]);
        self.command(ApiRequest::post(EndpointClass::Arena, url))
            .await
    }
}

impl Client {
    /// Joins a team, with what it asks of newcomers.
    pub async fn join_team(
        &self,
        team: &str,
        message: Option<&str>,
        password: Option<&str>,
    ) -> Result<(), Error> {
        let url = self.url(&["team", team, "join"]);
        let fields = [("message", message), ("password", password)];
        let form: Vec<_> = fields
            .into_iter()
            .filter_map(|(name, text)| Some((name, text?)))
            .collect();
        self.command(ApiRequest::post(EndpointClass::Team, url).form(&form))
            .await
    }

    pub async fn leave_team(&self, team: &str) -> Result<(), Error> {
        let url = self.url(&["team", team, "quit"]);
        self.command(ApiRequest::post(EndpointClass::Team, url))
            .await
    }
}
