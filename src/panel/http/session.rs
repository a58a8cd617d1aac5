//! The password of those who steer the bot over HTTP, and the sessions of those who gave it.
//!
//! It never reaches a log, an error or an answer. It is compared in constant time. Anyone who knows it is
//! let in, however many guess meanwhile: it is too long to be guessed.

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

/// Shortest password, in bytes.
const SHORTEST: usize = 16;
/// Longest password, in bytes.
const LONGEST: usize = 512;
/// Sessions that are kept; the oldest goes first.
const MOST_SESSIONS: usize = 64;
/// How long a session lasts.
const SESSION_TIME: Duration = Duration::from_secs(30 * 86_400);
/// Wrong passwords within a minute, from whomever; those beyond are too many to be told one by one.
const MOST_WRONG: usize = 10;
const WRONG_WITHIN: Duration = Duration::from_secs(60);

/// Why there is no password to compare with.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read.
    #[error("cannot read the password in {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// What it holds is no password.
    #[error("the password in {} {problem}", path.display())]
    Unusable {
        path: PathBuf,
        /// What is wrong with its content, without quoting it.
        problem: &'static str,
    },
}

/// Whether a file holds a password that the page would take.
///
/// # Errors
/// When it does not; says why, without quoting it.
pub fn check_password(path: &Path) -> Result<(), KeyError> {
    Sessions::read(path).map(drop)
}

/// What came of a password that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoginOutcome {
    /// It is the one.
    Right,
    Wrong,
    /// It is not, and neither were many before it.
    Later,
}

/// The password and the sessions. Without a password no one is ever let in.
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
        let known = if self.password.is_some() {
            "***"
        } else {
            "none"
        };
        f.debug_tuple("Key").field(&known).finish()
    }
}

impl Sessions {
    /// No one is let in.
    pub(super) fn none() -> Self {
        Self {
            password: None,
            kept: Mutex::default(),
        }
    }

    /// The password in a file.
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

    /// Whether there is a password at all.
    pub(super) fn is_set(&self) -> bool {
        self.password.is_some()
    }

    pub(super) fn try_password(&self, given: &str, now: Instant) -> LoginOutcome {
        let Some(password) = &self.password else {
            return LoginOutcome::Wrong;
        };
        // Before all else: no one shall lock those out who know it.
        if same(password, given) {
            return LoginOutcome::Right;
        }
        let mut kept = self.lock();
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

    /// Begins a session for someone who gave the password; gives back what names it.
    pub(super) fn begin_session(&self, now: Instant) -> Option<String> {
        use std::fmt::Write;

        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).ok()?;
        let id = bytes.iter().fold(String::new(), |mut id, byte| {
            let _ = write!(id, "{byte:02x}");
            id
        });
        let mut kept = self.lock();
        if kept.sessions.len() >= MOST_SESSIONS {
            kept.sessions.pop_front();
        }
        kept.sessions.push_back(Session {
            id: SecretString::from(id.as_str()),
            begun: now,
        });
        Some(id)
    }

    /// Whether this names a session.
    pub(super) fn knows_session(&self, id: &str, now: Instant) -> bool {
        let mut kept = self.lock();
        let young = |session: &Session| now.saturating_duration_since(session.begun) < SESSION_TIME;
        kept.sessions.retain(young);
        // All of them are compared, whichever it is.
        let found = kept
            .sessions
            .iter()
            .fold(0, |found, session| found | u8::from(same(&session.id, id)));
        found != 0
    }

    pub(super) fn end_session(&self, id: &str) {
        self.lock()
            .sessions
            .retain(|session| !same(&session.id, id));
    }

    fn lock(&self) -> MutexGuard<'_, SessionStore> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// In constant time, but for the length.
fn same(secret: &SecretString, given: &str) -> bool {
    let secret = secret.expose_secret().as_bytes();
    bool::from(secret.ct_eq(given.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORD: &str = "correct-horse-battery";

    #[test]
    fn only_the_password_opens_and_guessing_is_slow() {
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
