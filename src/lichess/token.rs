//! The API token, from the environment or a file. Nothing shows it.

use std::fmt;
use std::path::{Path, PathBuf};

use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

/// The environment variable for the token.
pub const TOKEN_VARIABLE: &str = "LICHESS_BOT_TOKEN";

/// Longer than any token: beyond this, the file is something else.
const MAX_LENGTH: usize = 4096;

/// An access token. `Debug` shows nothing of its text.
#[derive(Clone)]
pub struct Token(SecretString);

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error(
        "no token: set {TOKEN_VARIABLE} or name a file in the config with [lichess] token_file"
    )]
    Absent,
    #[error("cannot read the token file {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{origin} holds no token: {problem}")]
    Unusable {
        origin: String,
        /// Does not quote the content.
        problem: &'static str,
    },
}

impl Token {
    /// Reads `text` as a token, without the white space around it.
    ///
    /// # Errors
    /// When it cannot be a token; `origin` says where the text came from.
    pub fn parse(text: &str, origin: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let problem = if text.is_empty() {
            "it is empty"
        } else if text.len() > MAX_LENGTH {
            "it is far too long"
        } else if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            "a token is one word of plain letters, digits and underscores"
        } else {
            return Ok(Self(SecretString::from(text)));
        };
        Err(TokenError::Unusable {
            origin: origin.to_owned(),
            problem,
        })
    }

    /// The token of the environment, otherwise that of `file`.
    ///
    /// # Errors
    /// When there is none or it cannot be one; names the variable or the file.
    pub fn from_env_or_file(file: Option<&Path>) -> Result<Self, TokenError> {
        let variable = std::env::var_os(TOKEN_VARIABLE);
        let variable = variable.map(|value| value.to_string_lossy().into_owned());
        Self::choose(variable.as_deref(), file)
    }

    /// Where [`Token::from_env_or_file`] finds the token, in words.
    pub fn origin(file: Option<&Path>) -> String {
        let variable = std::env::var_os(TOKEN_VARIABLE);
        let is_set = |value: &std::ffi::OsString| !value.to_string_lossy().trim().is_empty();
        match file {
            Some(path) if !variable.as_ref().is_some_and(is_set) => in_file(path),
            _ => in_variable(),
        }
    }

    /// The token in the variable's `value` if that is set and not blank, else the one in `file`.
    ///
    /// # Errors
    /// As for [`Token::from_env_or_file`].
    pub fn choose(value: Option<&str>, file: Option<&Path>) -> Result<Self, TokenError> {
        if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
            return Self::parse(value, &in_variable());
        }
        let path = file.ok_or(TokenError::Absent)?;
        let bytes = std::fs::read(path).map_err(|source| TokenError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let text = String::from_utf8_lossy(&bytes);
        Self::parse(&text, &in_file(path))
    }

    pub(super) fn header(&self) -> HeaderValue {
        let text = format!("Bearer {}", self.0.expose_secret());
        let mut value = HeaderValue::from_str(&text).expect("a parsed token is printable ASCII");
        value.set_sensitive(true);
        value
    }

    /// The bare token, for the call that asks about it.
    pub(super) fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

fn in_variable() -> String {
    format!("the variable {TOKEN_VARIABLE}")
}

fn in_file(path: &Path) -> String {
    format!("the token file {}", path.display())
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_trimmed_and_never_shown() {
        let token = Token::parse("  lip_s3cret\n", "here").unwrap();
        assert_eq!(token.header().to_str().unwrap(), "Bearer lip_s3cret");
        assert_eq!(
            format!("{token:?} {:?}", token.header()),
            "Token(***) Sensitive"
        );
    }

    #[test]
    fn the_variable_comes_before_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "lip_file\r\n").unwrap();
        let both = Token::choose(Some("lip_env"), Some(file.path())).unwrap();
        assert_eq!(both.expose(), "lip_env");
        let blank = Token::choose(Some(" "), Some(file.path())).unwrap();
        assert_eq!(blank.expose(), "lip_file");
    }

    #[test]
    fn a_missing_token_says_where_it_was_looked_for() {
        let absent = Token::choose(None, None).unwrap_err().to_string();
        assert!(absent.contains("LICHESS_BOT_TOKEN"), "{absent}");
        assert!(absent.contains("[lichess] token_file"), "{absent}");
        let path = Path::new("/no/such/token");
        let unreadable = Token::choose(None, Some(path)).unwrap_err().to_string();
        assert!(unreadable.contains("/no/such/token"), "{unreadable}");
    }

    #[test]
    fn the_content_of_a_wrong_token_file_is_not_quoted() {
        for content in ["lip_two words", "", "lip_\u{fc}ber", "[token]\nx = 1"] {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), content).unwrap();
            let error = Token::choose(None, Some(file.path())).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(shown.contains(&file.path().display().to_string()));
            assert!(content.is_empty() || !shown.contains(content), "{shown}");
        }
    }
}
