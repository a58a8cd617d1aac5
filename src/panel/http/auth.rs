//! Access control: who may read, and who may send commands.
//!
//! Every request must come from our own page by a name of this machine: see `http_common::origin`.

use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use secrecy::SecretString;

use super::app_state::{AppState, Site};
use super::assets;
use super::responses::refusal;
use super::session::LoginOutcome;
use crate::http_common::{ForeignRequest, by_own_name, is_from_here};

/// The header with the token of a session.
const TOKEN: &str = "x-megaton-token";

/// Delay of the response to a wrong password.
const WRONG_PAUSE: Duration = Duration::from_millis(300);

/// How a reader got in.
#[derive(Clone, Debug)]
pub(super) enum Access {
    /// With the password, or from this machine where none is needed; `renewals` counts how often the
    /// password had been replaced by then.
    Reader { renewals: u64 },
    /// With the cookie of this session.
    Session(SecretString),
    /// Without anything: to see the games alone.
    Spectator,
}

impl Access {
    pub(super) const fn is_spectator(&self) -> bool {
        matches!(self, Self::Spectator)
    }
}

/// Why a request is denied.
type Denial = (StatusCode, &'static str);

/// Headers of every response.
const RULES: [(HeaderName, &str); 6] = [
    // The embedded files have a rule of their own.
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
];

/// Applies to every request: checks its origin, limits its time, and adds the headers.
pub(super) async fn protect(State(site): State<Site>, request: Request, next: Next) -> Response {
    if let Err(foreign) = by_own_name(request.headers(), site.address, &site.config.hosts) {
        let hint = match foreign {
            ForeignRequest::Name => ": see [panel] hosts",
            ForeignRequest::Unclear | ForeignRequest::Page => "",
        };
        return refusal(StatusCode::FORBIDDEN, &format!("{foreign}{hint}"));
    }
    let answered = tokio::time::timeout(site.timeouts.request, next.run(request)).await;
    let mut response =
        answered.unwrap_or_else(|_| refusal(StatusCode::REQUEST_TIMEOUT, "request timed out"));
    for (name, value) in RULES {
        let value = HeaderValue::from_static(value);
        response.headers_mut().entry(name).or_insert(value);
    }
    response
}

/// Protects private data. With a password everyone needs it, unless requests from this machine are trusted:
/// a proxy on this machine forwards requests from everywhere, and not every proxy says so.
pub(super) async fn require_reader(
    State(site): State<Site>,
    request: Request,
    next: Next,
) -> Response {
    let access = reader(&site, request.headers()).await;
    admit(&site, access, request, next).await
}

/// Protects the games: where the config allows it, everyone may watch them.
pub(super) async fn require_spectator(
    State(site): State<Site>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let access = reader(&site, headers).await;
    let may_watch = site.config.spectators && bearer(headers).is_none();
    let access = access.or_else(|denial| may_watch.then_some(Access::Spectator).ok_or(denial));
    admit(&site, access, request, next).await
}

async fn admit(
    site: &AppState,
    access: Result<Access, Denial>,
    mut request: Request,
    next: Next,
) -> Response {
    let (status, text) = match access {
        Ok(access) => {
            let room = access
                .is_spectator()
                .then(|| site.spectator_requests.acquire());
            let _room = futures::future::OptionFuture::from(room).await;
            request.extensions_mut().insert(access);
            return next.run(request).await;
        }
        Err(_) if !site.sessions.is_set() => (
            StatusCode::UNAUTHORIZED,
            "remote access needs a password: set [panel] token_file and run `megaton reload`",
        ),
        Err(denial) => denial,
    };
    let wants_page = request.method() == Method::GET
        && text_of(request.headers(), &header::ACCEPT)
            .is_some_and(|kind| kind.contains("text/html"));
    if wants_page {
        return assets::login();
    }
    refusal(status, text)
}

/// Whether the request may read without the password.
fn is_trusted(site: &AppState, headers: &HeaderMap) -> bool {
    let local = site.address.ip().is_loopback() && is_from_here(headers);
    local && (site.config.trust_local || !site.sessions.is_set())
}

/// Protects commands: they need the password everywhere.
pub(super) async fn require_operator(
    State(site): State<Site>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    if !site.sessions.is_set() {
        let text = "commands are disabled here: set [panel] token_file and run `megaton reload`";
        return refusal(StatusCode::FORBIDDEN, text);
    }
    if let Err((status, text)) = operator(&site, headers).await {
        return refusal(status, text);
    }
    // A browser that sends the cookie also sends the origin.
    if bearer(headers).is_none() && !headers.contains_key(header::ORIGIN) {
        return refusal(StatusCode::FORBIDDEN, "the request states no origin");
    }
    next.run(request).await
}

/// How a request may read everything.
async fn reader(site: &AppState, headers: &HeaderMap) -> Result<Access, Denial> {
    // Counted before the check: a password that is replaced meanwhile ends what it opened.
    let renewals = site.sessions.renewals();
    if is_trusted(site, headers) {
        return Ok(Access::Reader { renewals });
    }
    if let Some(given) = bearer(headers) {
        check_password(site, given).await?;
        return Ok(Access::Reader { renewals });
    }
    match session(site, headers) {
        Some(id) if site.sessions.knows_session(id, Instant::now()) => {
            Ok(Access::Session(SecretString::from(id)))
        }
        _ => Err((StatusCode::UNAUTHORIZED, "password required")),
    }
}

/// Whether the headers contain the password, or both secrets of a session.
pub(super) async fn operator(site: &AppState, headers: &HeaderMap) -> Result<(), Denial> {
    if let Some(given) = bearer(headers) {
        return check_password(site, given).await;
    }
    let token = headers.get(TOKEN).and_then(|token| token.to_str().ok());
    let session = session(site, headers).zip(token);
    match session {
        Some((id, token)) if site.sessions.may_command(id, token, Instant::now()) => Ok(()),
        _ => Err((StatusCode::UNAUTHORIZED, "password required")),
    }
}

/// Checks a password; a wrong one takes a moment.
pub(super) async fn check_password(site: &AppState, given: &str) -> Result<(), Denial> {
    match site.sessions.try_password(given, Instant::now()) {
        LoginOutcome::Right => Ok(()),
        LoginOutcome::Wrong => {
            tracing::warn!("wrong password on the operator's page");
            tokio::time::sleep(WRONG_PAUSE).await;
            Err((StatusCode::UNAUTHORIZED, "wrong password"))
        }
        LoginOutcome::Later => Err((
            StatusCode::TOO_MANY_REQUESTS,
            "too many wrong passwords: wait a minute",
        )),
    }
}

/// The name of the session cookie. Cookies know no port, so the name has it: bots on one machine must not
/// overwrite each other's. Over https the prefix binds it to its host.
pub(super) fn cookie_name(site: &AppState, is_secure: bool) -> String {
    let prefix = if is_secure { "__Host-" } else { "" };
    format!("{prefix}megaton-session-{}", site.address.port())
}

/// The session id of the cookie.
pub(super) fn session<'h>(site: &AppState, headers: &'h HeaderMap) -> Option<&'h str> {
    let names = [true, false].map(|is_secure| cookie_name(site, is_secure));
    names.iter().find_map(|name| cookie(headers, name))
}

fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let pairs = text_of(headers, &header::COOKIE)?.split(';');
    let mut named = pairs.filter_map(|pair| pair.trim().split_once('='));
    named
        .find(|(found, _)| *found == name)
        .map(|(_, value)| value)
}

/// The password of a Bearer header. Other schemes belong to proxies and browsers.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, word) = text_of(headers, &header::AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then(|| word.trim())
}

fn text_of<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::routing::get;
    use axum::{Extension, Router};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::{Semaphore, mpsc};

    use super::super::app_state::HttpSources;
    use super::super::listener::{self, Timeouts};
    use super::super::session::Sessions;
    use super::*;
    use crate::bot::{EventLog, channel};
    use crate::config::{Config, Panel};
    use crate::panel::{Health, Reloader, SelfTest, StatusWatch};

    const PASSWORD: &str = "open-sesame-open-sesame";

    fn site(config: Panel) -> Site {
        let control = channel().0;
        let watch = StatusWatch::new(control.clone()).0;
        let sources = HttpSources {
            reload: Reloader::new(None, Config::default(), control.clone()).1,
            event_log: EventLog::default(),
            archive: None,
            health: Health::new(watch.clone(), SelfTest::default(), None),
            watch,
            metrics: None,
            server: String::new(),
            control,
        };
        let address = ([127, 0, 0, 1], 8650).into();
        let sessions = Arc::new(Sessions::of(Some(PASSWORD.into())));
        AppState::new(address, config, sessions, Timeouts::default(), sources)
    }

    #[tokio::test]
    async fn a_crowd_of_spectators_takes_turns_and_the_operator_does_not_wait() {
        let site = site(Panel {
            trust_local: false,
            spectators: true,
            ..Panel::default()
        });
        let (entered, mut entries) = mpsc::unbounded_channel();
        let (under_way, finish) = (AtomicUsize::new(0), Arc::new(Semaphore::new(0)));
        let (under_way, may_finish) = (Arc::new(under_way), Arc::clone(&finish));
        let answer = async move |Extension(access): Extension<Access>| {
            let at_once = 1 + under_way.fetch_add(1, Ordering::SeqCst);
            let _ = entered.send((access.is_spectator(), at_once));
            let _ = may_finish.acquire().await;
            under_way.fetch_sub(1, Ordering::SeqCst);
        };
        let guard = axum::middleware::from_fn_with_state(Arc::clone(&site), require_spectator);
        let router = Router::new().route("/", get(answer)).layer(guard);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let timeouts = Timeouts::default();
        tokio::spawn(listener::serve(listener, router, timeouts));
        let ask = |header: String| async move {
            let mut client = TcpStream::connect(address).await.unwrap();
            let request = format!("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{header}\r\n");
            client.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            answer
        };
        let mut crowd: Vec<_> = (0..6).map(|_| tokio::spawn(ask(String::new()))).collect();
        for at_once in [1, 2] {
            assert_eq!(entries.recv().await, Some((true, at_once)));
        }
        let bearer = format!("authorization: Bearer {PASSWORD}\r\n");
        crowd.push(tokio::spawn(ask(bearer)));
        assert_eq!(entries.recv().await, Some((false, 3)), "the operator");
        finish.close();
        for answer in crowd {
            assert!(answer.await.unwrap().starts_with("HTTP/1.1 200 OK"));
        }
        while let Ok(entry) = entries.try_recv() {
            assert!(entry.1 <= 3, "{entry:?}");
        }
    }

    #[test]
    fn a_session_is_found_among_cookies() {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, "a=b; wanted=abc; c=d".parse().unwrap());
        assert_eq!(cookie(&headers, "wanted"), Some("abc"));
        headers.insert(header::COOKIE, "not-wanted=abc".parse().unwrap());
        assert_eq!(cookie(&headers, "wanted"), None);
    }

    #[test]
    fn only_a_bearer_header_carries_a_password() {
        let mut headers = HeaderMap::new();
        assert_eq!(bearer(&headers), None);
        for (value, shown) in [
            ("Bearer word", Some("word")),
            ("bearer  word", Some("word")),
            ("Basic bWU6d29yZA==", None),
            ("Digest username=\"me\"", None),
            ("Bearer", None),
            ("word", None),
        ] {
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            assert_eq!(bearer(&headers), shown, "{value}");
        }
    }
}
