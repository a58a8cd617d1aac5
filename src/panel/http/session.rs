//! The password for commands over HTTP, and the sessions that it starts.
//!
//! The password never reaches a log, an error or a response, and is compared in constant time. The right
//! password always works, even while others are guessing: it is too long to be guessed.

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

/// Shortest password, in bytes.
const SHORTEST: usize = 16;
/// Longest password, in bytes.
const LONGEST: usize = 512;
/// Most sessions; the oldest makes room for a new one.
const MOST_SESSIONS: usize = 64;
const SESSION_TIME: Duration = Duration::from_secs(30 * 86_400);
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
    Sessions::read(path).map(drop)
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
    password: Option<SecretString>,
    kept: Mutex<SessionStore>,
}

#[derive(Default)]
struct SessionStore {
    sessions: VecDeque<Session>,
    wrong: VecDeque<Instant>,
}

struct Session {
    id: SecretString,
    begun: Instant,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let password = self.password.as_ref().map(|_| "***");
        f.debug_tuple("Sessions").field(&password).finish()
    }
}

impl Sessions {
    /// Without a password.
    pub(super) fn none() -> Self {
        Self {
            password: None,
            kept: Mutex::default(),
        }
    }

    /// With the password in a file.
    pub(super) fn read(path: &Path) -> Result<Self, KeyError> {
        let text = std::fs::read(path).map_err(|source| KeyError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let text = String::from_utf8_lossy(&text);
        Self::of(&text).map_err(|problem| KeyError::Unusable {
            path: path.to_owned(),
            problem,
        })
    }

    pub(super) fn of(text: &str) -> Result<Self, &'static str> {
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
        Ok(Self {
            password: Some(SecretString::from(text)),
            ..Self::none()
        })
    }

    /// Whether there is a password.
    pub(super) fn is_set(&self) -> bool {
        self.password.is_some()
    }

    pub(super) fn try_password(&self, given: &str, now: Instant) -> LoginOutcome {
        let Some(password) = &self.password else {
            return LoginOutcome::Wrong;
        };
        // First of all, so that wrong passwords of others cannot lock the operator out.
        if same(password, given) {
            return LoginOutcome::Right;
        }
        let mut kept = self.kept.lock();
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

    /// Starts a session and returns its id; `None` without random numbers.
    pub(super) fn begin_session(&self, now: Instant) -> Option<String> {
        use std::fmt::Write;

        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).ok()?;
        let id = bytes.iter().fold(String::new(), |mut id, byte| {
            let _ = write!(id, "{byte:02x}");
            id
        });
        let mut kept = self.kept.lock();
        if kept.sessions.len() >= MOST_SESSIONS {
            kept.sessions.pop_front();
        }
        kept.sessions.push_back(Session {
            id: SecretString::from(id.as_str()),
            begun: now,
        });
        Some(id)
    }

    /// Whether this is the id of a session.
    pub(super) fn knows_session(&self, id: &str, now: Instant) -> bool {
        let mut kept = self.kept.lock();
        let young = |session: &Session| now.saturating_duration_since(session.begun) < SESSION_TIME;
        kept.sessions.retain(young);
        // Compares with all of them, so that the time does not tell which one matched.
        let found = kept
            .sessions
            .iter()
            .fold(0, |found, session| found | u8::from(same(&session.id, id)));
        found != 0
    }

    pub(super) fn end_session(&self, id: &str) {
        self.kept
            .lock()
            .sessions
            .retain(|session| !same(&session.id, id));
    }
}

/// Compares in constant time, except for the length.
fn same(secret: &SecretString, given: &str) -> bool {
    let secret = secret.expose_secret().as_bytes();
    bool::from(secret.ct_eq(given.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORD: &str = "correct-horse-battery";

    #[test]
    fn only_the_password_opens_a_session_and_guessing_is_slow() {
        let key = Sessions::of(WORD).unwrap();
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
        assert_eq!(Sessions::none().try_password("", now), LoginOutcome::Wrong);
    }

    #[test]
    fn a_session_lasts_and_ends() {
        let key = Sessions::of(WORD).unwrap();
        let now = Instant::now();
        let first = key.begin_session(now).unwrap();
        assert!(first.len() == 64 && key.knows_session(&first, now));
        assert!(!key.knows_session("", now) && !key.knows_session(&first[1..], now));
        assert!(!key.knows_session(&first, now + SESSION_TIME));
        let second = key.begin_session(now).unwrap();
        assert_ne!(first, second);
        key.end_session(&second);
        assert!(!key.knows_session(&second, now));
        let oldest = key.begin_session(now).unwrap();
        for _ in 0..MOST_SESSIONS {
            key.begin_session(now).unwrap();
        }
        assert!(!key.knows_session(&oldest, now), "the oldest goes first");
    }

    #[test]
    fn a_bad_file_is_named_and_not_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("word");
        let absent = Sessions::read(&path).unwrap_err().to_string();
        assert!(absent.contains("cannot read the password in"), "{absent}");
        for (text, said) in [
            ("sesame", "is too short"),
            ("two words that are long enough", "is not one word"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = Sessions::read(&path).unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains(text), "{error}");
        }
        std::fs::write(&path, format!("{WORD}\n")).unwrap();
        let key = Sessions::read(&path).unwrap();
        assert!(!format!("{key:?}").contains("horse"));
        assert_eq!(key.try_password(WORD, Instant::now()), LoginOutcome::Right);
    }
}
