//! The response to a call: its bounded body, and whether it is a success.

use bytes::Bytes;
use reqwest::Response;
use reqwest::header::HeaderMap;

use super::error::{self, Error};
use super::token::Token;

/// The usual maximum length of a body.
pub(super) const BODY_LIMIT: usize = 64 << 10;

/// The part of a body that arrived and fitted.
#[derive(Default)]
pub(super) struct Body {
    bytes: Vec<u8>,
    whole: bool,
}

impl Body {
    /// The body, if it is complete.
    pub(super) fn whole(&self) -> Option<&[u8]> {
        self.whole.then_some(&self.bytes)
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The body without this token: whoever answers may repeat what was sent, and errors are shown.
    pub(super) fn without(mut self, token: &Token) -> Self {
        let text = String::from_utf8_lossy(&self.bytes);
        if text.contains(token.expose()) {
            self.bytes = text.replace(token.expose(), "***").into_bytes();
        }
        self
    }

    /// Reads up to `limit` bytes.
    pub(super) async fn read(&mut self, response: &mut Response, limit: usize) {
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    let room = limit - self.bytes.len();
                    self.bytes
                        .extend_from_slice(&chunk[..chunk.len().min(room)]);
                    if chunk.len() > room {
                        return;
                    }
                }
                Ok(None) => {
                    self.whole = true;
                    return;
                }
                Err(_) => return,
            }
        }
    }
}

/// A success is a 2xx that is no web page. The body of a command may be incomplete; any other must be
/// complete.
pub(super) fn classify(
    status: u16,
    headers: &HeaderMap,
    body: Body,
    is_command: bool,
) -> Result<Bytes, Error> {
    if !(200..300).contains(&status) {
        return Err(Error::classify(status, headers, &body.bytes));
    }
    let problem = if error::is_html(headers, &body.bytes) {
        "a web page instead of JSON"
    } else if !body.whole && !is_command {
        "the response broke off or is too long"
    } else {
        return Ok(body.bytes.into());
    };
    Err(Error::transient(Some(status), problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classified(
        status: u16,
        bytes: &[u8],
        whole: bool,
        is_command: bool,
    ) -> Result<Bytes, Error> {
        let bytes = bytes.to_vec();
        classify(status, &HeaderMap::new(), Body { bytes, whole }, is_command)
    }

    #[test]
    fn a_web_page_is_never_a_success() {
        for is_command in [true, false] {
            let outcome = classified(200, b" <!DOCTYPE html>", true, is_command);
            assert!(outcome.unwrap_err().is_transient());
        }
    }

    #[test]
    fn a_truncated_answer_is_enough_for_a_command_only() {
        assert!(classified(200, b"{\"ok\":", false, true).is_ok());
        assert!(classified(200, b"{\"id\":", false, false).is_err());
    }
}
