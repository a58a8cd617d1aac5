//! The password of the page, and the sessions that it starts.
//!
//! A session has two secrets: the id in its cookie, which browsers send to every port of the host, and a
//! token that only the page's own origin knows. Reading takes the id, commands take both.
//!
//! The password never reaches a log, an error or a response, and is compared in constant time. The right
//! password always works, even while others are guessing: it is too long to be guessed.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;
use tokio::sync::watch;

/// Shortest password, in bytes.
const SHORTEST: usize = 16;
/// Longest password, in bytes.
const LONGEST: usize = 512;
/// Most sessions; the oldest makes room for a new one.
const MOST_SESSIONS: usize = 64;
const SESSION_TIME: Duration = Duration::from_secs(30 * 86_400);
/// Longest time until the age of a session is noticed by its streams.
const LOOK: Duration = Duration::from_secs(60);
/// Wrong passwords within a minute, from all clients, before further ones get 429.
const MOST_WRONG: usize = 10;
const WRONG_WITHIN: Duration = Duration::from_secs(60);

/// Why the password cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("cannot read the password in {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the password in {} {problem}", path.display())]
    Unusable {
        path: PathBuf,
        /// Does not quote the content.
        problem: &'static str,
    },
}

/// Checks that a file contains a usable password.
///
/// # Errors
/// When it does not. The error does not quote the content.
pub fn check_password(path: &Path) -> Result<(), KeyError> {
    read_password(path).map(drop)
}

/// The password in a file.
pub(in crate::panel) fn read_password(path: &Path) -> Result<SecretString, KeyError> {
    let text = std::fs::read(path).map_err(|source| KeyError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let text = String::from_utf8_lossy(&text);
    parse_password(&text).map_err(|problem| KeyError::Unusable {
        path: path.to_owned(),
        problem,
    })
}

fn parse_password(text: &str) -> Result<SecretString, &'static str> {
    let text = text.trim();
    if text.len() < SHORTEST {
        return Err("is too short: it needs 16 characters or more");
    }
    if text.len() > LONGEST {
        return Err("is too long: it has 512 characters at most");
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("is not one word of plain characters");
    }
    Ok(SecretString::from(text))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoginOutcome {
    Right,
    Wrong,
    /// Wrong, after too many wrong ones.
    Later,
}

/// The password and the sessions. Without a password every login fails.
pub(super) struct Sessions {
    kept: Mutex<SessionStore>,
    /// How often the password was replaced. Notified when sessions end before their time.
    ends: watch::Sender<u64>,
}

/// The password of an open page, to be replaced.
#[derive(Clone, Debug)]
pub struct Password {
    pub(super) sessions: Arc<Sessions>,
    /// Where the page listens.
    pub(super) address: SocketAddr,
}

impl Password {
    /// Takes another password, or none, and ends all sessions, if it is another one. Returns what changed.
    pub(in crate::panel) fn renew(&self, password: Option<SecretString>) -> Option<String> {
        let at = self.address;
        let change = match password {
            Some(_) => "renewed".to_owned(),
            None if at.ip().is_loopback() => "removed: the page takes no commands".to_owned(),
            None => format!("removed: the page at {at} is closed until the next start"),
        };
        self.sessions.renew(password).then_some(change)
    }
}

/// The secrets of a new session.
pub(super) struct NewSession {
    pub(super) id: String,
    pub(super) token: String,
}

#[derive(Default)]
struct SessionStore {
    password: Option<SecretString>,
    sessions: VecDeque<Session>,
    wrong: VecDeque<Instant>,
}

struct Session {
    id: SecretString,
    token: SecretString,
    begun: Instant,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sessions(***)")
    }
}

impl Sessions {
    pub(super) fn of(password: Option<SecretString>) -> Self {
        Self {
            kept: Mutex::new(SessionStore {
                password,
                ..SessionStore::default()
            }),
            ends: watch::Sender::default(),
        }
    }

    /// Replaces the password and ends all sessions, if it is another one. Whether it is.
    pub(super) fn renew(&self, password: Option<SecretString>) -> bool {
        let mut kept = self.kept.lock();
        let [old, new] =
            [&kept.password, &password].map(|it| it.as_ref().map(ExposeSecret::expose_secret));
        if old == new {
            return false;
        }
        *kept = SessionStore {
            password,
            ..SessionStore::default()
        };
        self.ends.send_modify(|renewals| *renewals += 1);
        true
    }

    /// How often the password was replaced.
    pub(super) fn renewals(&self) -> u64 {
        *self.ends.borrow()
    }

    /// Whether there is a password.
    pub(super) fn is_set(&self) -> bool {
        self.kept.lock().password.is_some()
    }

    pub(super) fn try_password(&self, given: &str, now: Instant) -> LoginOutcome {
        let mut kept = self.kept.lock();
        let Some(password) = &kept.password else {
            return LoginOutcome::Wrong;
        };
        // First of all, so that wrong passwords of others cannot lock the operator out.
        if same(password, given) {
            return LoginOutcome::Right;
        }
        while let Some(first) = kept.wrong.front()
            && now.saturating_duration_since(*first) > WRONG_WITHIN
        {
            kept.wrong.pop_front();
        }
        if kept.wrong.len() >= MOST_WRONG {
            return LoginOutcome::Later;
        }
        kept.wrong.push_back(now);
        LoginOutcome::Wrong
    }

    /// Starts a session; `None` without random numbers.
    pub(super) fn begin_session(&self, now: Instant) -> Option<NewSession> {
        let (id, token) = (random_word()?, random_word()?);
        let mut kept = self.kept.lock();
        if kept.sessions.len() >= MOST_SESSIONS {
            kept.sessions.pop_front();
            self.ends.send_modify(|_| {});
        }
        kept.sessions.push_back(Session {
            id: SecretString::from(id.as_str()),
            token: SecretString::from(token.as_str()),
            begun: now,
        });
        Some(NewSession { id, token })
    }

    /// Whether this is the id of a session, which may read.
    pub(super) fn knows_session(&self, id: &str, now: Instant) -> bool {
        self.any(now, |session| same(&session.id, id))
    }

    /// Whether these are the id and the token of one session, which may send commands.
    pub(super) fn may_command(&self, id: &str, token: &str, now: Instant) -> bool {
        self.any(now, |session| {
            same(&session.id, id) & same(&session.token, token)
        })
    }

    fn any(&self, now: Instant, is_it: impl Fn(&Session) -> bool) -> bool {
        let mut kept = self.kept.lock();
        let young = |session: &Session| now.saturating_duration_since(session.begun) < SESSION_TIME;
        kept.sessions.retain(young);
        // Compares with all of them, so that the time does not tell which one matched.
        let matches = kept.sessions.iter().map(|session| u8::from(is_it(session)));
        matches.fold(0, |found, it| found | it) != 0
    }

    pub(super) fn end_session(&self, id: &str) {
        self.kept
            .lock()
            .sessions
            .retain(|session| !same(&session.id, id));
        self.ends.send_modify(|_| {});
    }

    /// Completes when the session has ended.
    pub(super) async fn ended(&self, id: &str) {
        let mut ends = self.ends.subscribe();
        while self.knows_session(id, Instant::now()) {
            // Looks again now and then for a session that has come to its age.
            let _ = tokio::time::timeout(LOOK, ends.changed()).await;
        }
    }

    /// Completes when the password was replaced more often than so.
    pub(super) async fn renewed(&self, renewals: u64) {
        let mut ends = self.ends.subscribe();
        // The sender cannot be gone: it is ours.
        let _ = ends.wait_for(|now| *now > renewals).await;
    }
}

/// 64 random hexadecimal digits; `None` if the system has no random numbers.
pub(super) fn random_word() -> Option<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().fold(String::new(), |mut word, byte| {
        let _ = write!(word, "{byte:02x}");
        word
    }))
}

/// Compares in constant time, except for the length.
fn same(secret: &SecretString, given: &str) -> bool {
    let secret = secret.expose_secret().as_bytes();
    bool::from(secret.ct_eq(given.as_bytes()))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    const WORD: &str = "correct-horse-battery";

    fn sessions() -> Sessions {
        Sessions::of(Some(parse_password(WORD).expect("a good password")))
    }

    #[test]
    fn only_the_password_opens_a_session_and_guessing_is_slow() {
        let key = sessions();
        let now = Instant::now();
        assert_eq!(key.try_password(WORD, now), LoginOutcome::Right);
        for guess in ["", "correct", "correct-horse-batterz"] {
            assert_eq!(key.try_password(guess, now), LoginOutcome::Wrong);
        }
        for _ in 3..MOST_WRONG {
            assert_eq!(key.try_password("guess", now), LoginOutcome::Wrong);
        }
        assert_eq!(key.try_password("guess", now), LoginOutcome::Later);
        assert_eq!(
            key.try_password(WORD, now),
            LoginOutcome::Right,
            "whatever others try"
        );
        let later = now + WRONG_WITHIN + Duration::from_secs(1);
        assert_eq!(key.try_password("guess", later), LoginOutcome::Wrong);
        assert_eq!(
            Sessions::of(None).try_password("", now),
            LoginOutcome::Wrong
        );
    }

    #[test]
    fn a_session_lasts_and_ends() {
        let key = sessions();
        let now = Instant::now();
        let first = key.begin_session(now).unwrap().id;
        assert!(first.len() == 64 && key.knows_session(&first, now));
        assert!(!key.knows_session("", now) && !key.knows_session(&first[1..], now));
        assert!(!key.knows_session(&first, now + SESSION_TIME));
        let second = key.begin_session(now).unwrap().id;
        assert_ne!(first, second);
        key.end_session(&second);
        assert!(!key.knows_session(&second, now));
        let oldest = key.begin_session(now).unwrap().id;
        for _ in 0..MOST_SESSIONS {
            key.begin_session(now).unwrap();
        }
        assert!(!key.knows_session(&oldest, now), "the oldest goes first");
    }

    #[test]
    fn commands_take_both_secrets_of_one_session() {
        let key = sessions();
        let now = Instant::now();
        let [one, two] = [0, 1].map(|_| key.begin_session(now).unwrap());
        assert!(key.may_command(&one.id, &one.token, now));
        for (id, token) in [
            (&one.id, &two.token),
            (&one.id, &one.id),
            (&one.token, &one.id),
            (&one.id, &String::new()),
        ] {
            assert!(!key.may_command(id, token, now));
        }
        assert!(!key.may_command(&one.id, &one.token, now + SESSION_TIME));
    }

    #[tokio::test]
    async fn another_password_ends_all_sessions_and_the_same_one_none() {
        let key = sessions();
        let session = key.begin_session(Instant::now()).unwrap().id;
        let same = Some(SecretString::from(WORD));
        assert!(!key.renew(same), "it is the same");
        assert!(key.knows_session(&session, Instant::now()));
        let renewals = key.renewals();
        let is_over = key.renewed(renewals).now_or_never().is_some();
        assert!(!is_over, "what the password opened goes on");
        assert!(key.renew(Some(SecretString::from("another-horse-battery"))));
        key.ended(&session).await;
        key.renewed(renewals).await;
        let outcome = key.try_password(WORD, Instant::now());
        assert_eq!(outcome, LoginOutcome::Wrong);
        assert!(key.renew(None) && !key.is_set());
    }

    #[test]
    fn a_bad_file_is_named_and_not_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("word");
        let absent = read_password(&path).unwrap_err().to_string();
        assert!(absent.contains("cannot read the password in"), "{absent}");
        for (text, said) in [
            ("sesame", "is too short"),
            ("two words that are long enough", "is not one word"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = read_password(&path).unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains(text), "{error}");
        }
        std::fs::write(&path, format!("{WORD}\n")).unwrap();
        let key = Sessions::of(Some(read_password(&path).unwrap()));
        assert!(!format!("{key:?}").contains("horse"));
        assert_eq!(key.try_password(WORD, Instant::now()), LoginOutcome::Right);
    }
}
