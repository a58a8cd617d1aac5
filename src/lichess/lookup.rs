//! The look-up services of Lichess on hosts of their own: endgame tables and the opening explorer.
//!
//! A service has a client of its own, so that nothing slow there can hold up a move. The tables get no
//! token; the explorer gets ours only at a host of Lichess, or on this machine. The caller paces the calls.

use std::time::{Duration, Instant};

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, HeaderValue, USER_AGENT};
use reqwest::{Url, redirect};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::client::{Client, SetupError};
use super::connect::{Route, is_this_machine, tls_config};
use super::enums::Side;
use super::error::{Error, describe};
use super::ids::UserId;
use super::response::{Body, classify};

/// The maximum length of a reply.
const REPLY_LIMIT: usize = 512 << 10;
/// Moves of a position that the explorer lists.
const MOVES: &str = "12";

/// The result of a position or of a move in endgame tables. Of a move it is the opponent's, after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableCategory {
    Win,
    /// Won unless a rounded distance hides that the fifty moves run out first.
    SyzygyWin,
    MaybeWin,
    CursedWin,
    Draw,
    BlessedLoss,
    MaybeLoss,
    SyzygyLoss,
    Loss,
    #[serde(other)]
    Unknown,
}

/// What the tables know about a position.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TableReply {
    pub category: TableCategory,
    /// Plies to the next capture, pawn move or mate, negative for a lost position.
    pub dtz: Option<i32>,
    pub precise_dtz: Option<i32>,
    /// All legal moves, best first.
    pub moves: Vec<TableReplyMove>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TableReplyMove {
    pub uci: String,
    pub category: TableCategory,
    pub dtz: Option<i32>,
    pub precise_dtz: Option<i32>,
}

/// Games that reached a position, by their results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ExplorerReply {
    pub white: u64,
    pub draws: u64,
    pub black: u64,
    pub moves: Vec<ExplorerMove>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ExplorerMove {
    pub uci: String,
    pub white: u64,
    pub draws: u64,
    pub black: u64,
}

impl ExplorerMove {
    /// The number of games with this move.
    pub fn games(&self) -> u64 {
        self.white
            .saturating_add(self.draws)
            .saturating_add(self.black)
    }
}

/// A look-up service.
#[derive(Clone)]
pub struct LookupServer {
    pool: reqwest::Client,
    base: Url,
    /// The client whose token it gets, if it gets one.
    client: Option<Client>,
    agent: HeaderValue,
    time: Duration,
}

impl std::fmt::Debug for LookupServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LookupServer")
            .field("base", &self.base.as_str())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// The endgame tables at this address; a call takes at most `time`.
    ///
    /// # Errors
    /// When the address cannot be used.
    pub fn table_server(&self, url: &str, time: Duration) -> Result<LookupServer, SetupError> {
        LookupServer::new(self, url, false, time)
    }

    /// The opening explorer at this address, which gets our token.
    ///
    /// # Errors
    /// When the address cannot be used, or must not get the token.
    pub fn explorer_server(&self, url: &str, time: Duration) -> Result<LookupServer, SetupError> {
        LookupServer::new(self, url, true, time)
    }
}

/// Whether a URL leads to a host of Lichess.
pub fn is_lichess(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    host == "lichess.org" || host.ends_with(".lichess.org")
}

/// The error in the address of a look-up service, if any.
pub fn fault_in_lookup_url(url: &str, takes_token: bool) -> Option<&'static str> {
    let Ok(parsed) = Url::parse(url) else {
        return Some("it is not a URL: write it like \"https://explorer.lichess.org\"");
    };
    let is_here = is_this_machine(&parsed);
    if !parsed.username().is_empty() || parsed.password().is_some() {
        Some("it must not contain a user name or password")
    } else if parsed.path() != "/" || parsed.query().is_some() || parsed.fragment().is_some() {
        Some("it must end with the host, without a path")
    } else if !(parsed.scheme() == "https" || (parsed.scheme() == "http" && is_here)) {
        Some("it must begin with https://; http:// is for this machine only")
    } else if takes_token && !is_lichess(&parsed) && !is_here {
        Some("it gets the token, so its host must be lichess.org or end with .lichess.org")
    } else {
        None
    }
}

impl LookupServer {
    fn new(
        client: &Client,
        url: &str,
        takes_token: bool,
        time: Duration,
    ) -> Result<Self, SetupError> {
        let bad = |problem: &str| SetupError::BadLookupUrl {
            url: url.to_owned(),
            problem: problem.to_owned(),
        };
        if let Some(problem) = fault_in_lookup_url(url, takes_token) {
            return Err(bad(problem));
        }
        let base = Url::parse(url).map_err(|error| bad(&error.to_string()))?;
        let pool = Route::new(&base, client.0.proxy.as_deref())
            .client()
            .map_err(|error| SetupError::Connections(describe(&error)))?
            .tls_backend_preconfigured(tls_config(base.scheme() == "https"))
            .http1_only()
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(time)
            .build()
            .map_err(|error| SetupError::Connections(describe(&error)))?;
        Ok(Self {
            pool,
            base,
            client: takes_token.then(|| client.clone()),
            agent: client.0.agent.nameless(),
            time,
        })
    }

    /// What the tables know about a position of at most six pieces, without castling rights.
    pub async fn table(&self, fen: &str) -> Result<TableReply, Error> {
        self.call(self.url("atomic", &[("fen", fen)])).await
    }

    /// The games of all players that reached a position.
    pub async fn explore(&self, fen: &str) -> Result<ExplorerReply, Error> {
        let query = [
            ("variant", "atomic"),
            ("fen", fen),
            ("moves", MOVES),
            ("topGames", "0"),
            ("recentGames", "0"),
        ];
        self.call(self.url("lichess", &query)).await
    }

    /// The games of a player with this colour that reached a position; what the server has counted so far,
    /// if that takes longer than a call may.
    pub async fn explore_player(
        &self,
        player: &UserId,
        color: Side,
        fen: &str,
    ) -> Result<ExplorerReply, Error> {
        let query = [
            ("variant", "atomic"),
            ("player", player.as_str()),
            ("color", color.as_str()),
            ("fen", fen),
            ("moves", MOVES),
            ("recentGames", "0"),
        ];
        let url = self.url("player", &query);
        let (status, headers, body) = self.exchange(url).await?;
        // Lines keep coming while the server counts: the last whole one is the best.
        let bytes = classify(status, &headers, body, true)?;
        let lines = bytes.split_inclusive(|&byte| byte == b'\n');
        let mut whole = lines.filter(|line| line.ends_with(b"\n") && !line.trim_ascii().is_empty());
        let last = whole.next_back().ok_or_else(|| Error::Protocol {
            reason: "no whole line in time".into(),
        })?;
        understand(last)
    }

    fn url(&self, path: &str, query: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        url.set_path(path);
        url.query_pairs_mut().extend_pairs(query);
        url
    }

    async fn call<T: DeserializeOwned>(&self, url: Url) -> Result<T, Error> {
        let (status, headers, body) = self.exchange(url).await?;
        understand(&classify(status, &headers, body, false)?)
    }

    /// Sends a request and reads what arrives in time.
    async fn exchange(&self, url: Url) -> Result<(u16, reqwest::header::HeaderMap, Body), Error> {
        let deadline = Instant::now() + self.time;
        let mut request = self.pool.get(url);
        if let Some(client) = &self.client {
            request = request.header(AUTHORIZATION, client.authorization());
        }
        let request = request
            .header(USER_AGENT, self.agent.clone())
            .header(ACCEPT, "application/json, application/x-ndjson")
            .header(ACCEPT_ENCODING, "identity");
        let sent = tokio::time::timeout_at(deadline.into(), request.send());
        let mut response = sent
            .await
            .map_err(|_| Error::transient(None, "no answer in time"))?
            .map_err(|error| Error::no_answer(&error.without_url()))?;
        let mut body = Body::default();
        let reading = body.read(&mut response, REPLY_LIMIT);
        let _ = tokio::time::timeout_at(deadline.into(), reading).await;
        if let Some(client) = &self.client {
            body = body.without(&client.token());
        }
        Ok((response.status().as_u16(), response.headers().clone(), body))
    }
}

fn understand<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|error| Error::Protocol {
        reason: format!("JSON that does not fit: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lookup_address_is_secure_and_the_token_stays_with_lichess() {
        let rows = [
            ("https://tablebase.lichess.org", true, true),
            ("https://lichess.org/", true, true),
            ("http://127.0.0.1:9663", true, true),
            ("http://[::1]:9663", true, true),
            ("http://localhost:9002", true, true),
            // Other servers may hold tables, but get no token.
            ("https://tables.example.org", true, false),
            ("https://lichess.org.example.org", true, false),
            ("https://evillichess.org", true, false),
            ("http://tablebase.lichess.org", false, false),
            ("https://a:b@lichess.org", false, false),
            ("https://lichess.org/atomic", false, false),
            ("https://lichess.org/?x", false, false),
            ("lichess.org", false, false),
            ("", false, false),
        ];
        for (url, for_tables, for_token) in rows {
            assert_eq!(
                fault_in_lookup_url(url, false).is_none(),
                for_tables,
                "{url}"
            );
            assert_eq!(fault_in_lookup_url(url, true).is_none(), for_token, "{url}");
        }
    }

    #[test]
    fn unknown_categories_are_unknown_and_other_nonsense_is_named() {
        let reply = br#"{"category":"odd","dtz":null,"moves":[{"uci":"a1a2","category":"syzygy-loss","dtz":-3}]}"#;
        let reply: TableReply = understand(reply).unwrap();
        assert_eq!(reply.category, TableCategory::Unknown);
        assert_eq!(reply.moves[0].category, TableCategory::SyzygyLoss);
        for bad in [
            &b"{}"[..],
            b"[1]",
            b"{\"category\":7,\"moves\":[]}",
            b"\xff",
        ] {
            let error = understand::<TableReply>(bad).unwrap_err();
            assert!(matches!(error, Error::Protocol { .. }), "{error}");
        }
    }
}
