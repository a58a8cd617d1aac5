//! One request: method, path, parameters, and headers that every request carries.

use bytes::Bytes;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, USER_AGENT,
};
use reqwest::{Method, Request, Url};

use super::endpoint_class::EndpointClass;
use super::ids::GameId;
use super::response::BODY_LIMIT;
use super::token::Token;

const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const NDJSON: HeaderValue = HeaderValue::from_static("application/x-ndjson");

pub(super) struct ApiRequest {
    pub(super) class: EndpointClass,
    /// The credits it costs in its class.
    pub(super) cost: u32,
    /// The game it concerns.
    pub(super) game: Option<GameId>,
    method: Method,
    url: Url,
    /// Of another token than the client's.
    authorization: Option<HeaderValue>,
    /// A token that it sends or asks about, besides the client's.
    pub(super) token: Option<Token>,
    body: Option<(HeaderValue, Bytes)>,
    accept: HeaderValue,
    /// The maximum length of the response.
    pub(super) limit: usize,
    /// Whether the response says no more than that the call worked.
    pub(super) is_command: bool,
}

impl ApiRequest {
    pub(super) fn get(class: EndpointClass, url: Url) -> Self {
        Self {
            class,
            cost: 1,
            game: None,
            method: Method::GET,
            url,
            authorization: None,
            token: None,
            body: None,
            accept: JSON,
            limit: BODY_LIMIT,
            is_command: false,
        }
    }

    pub(super) fn post(class: EndpointClass, url: Url) -> Self {
        Self {
            method: Method::POST,
            ..Self::get(class, url)
        }
    }

    pub(super) fn costing(mut self, cost: u32) -> Self {
        self.cost = cost;
        self
    }

    pub(super) fn about(mut self, game: &GameId) -> Self {
        self.game = Some(game.clone());
        self
    }

    pub(super) fn command(mut self) -> Self {
        self.is_command = true;
        self
    }

    pub(super) fn query(mut self, key: &str, value: &str) -> Self {
        self.url.query_pairs_mut().append_pair(key, value);
        self
    }

    pub(super) fn form(mut self, fields: &[(&str, &str)]) -> Self {
        let mut encoder = Url::parse("form:").expect("a constant URL");
        encoder.query_pairs_mut().extend_pairs(fields);
        let body = encoder.query().unwrap_or_default().to_owned();
        self.body = Some((FORM, body.into()));
        self
    }

    /// Sends this token instead of the client's.
    pub(super) fn with_token(mut self, token: &Token) -> Self {
        self.authorization = Some(token.header());
        self.token = Some(token.clone());
        self
    }

    pub(super) fn has_own_token(&self) -> bool {
        self.authorization.is_some()
    }

    /// Asks about this token.
    pub(super) fn about_token(mut self, token: &Token) -> Self {
        self.body = Some((TEXT, token.expose().to_owned().into()));
        self.token = Some(token.clone());
        self
    }

    /// Reads up to `limit` bytes of the response.
    pub(super) fn up_to(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Asks for one JSON document per line.
    pub(super) fn ndjson(mut self) -> Self {
        self.accept = NDJSON;
        self
    }

    /// The path with its query.
    pub(super) fn path(&self) -> &str {
        let start = self.url.as_str().len()
            - self.url.path().len()
            - self.url.query().map_or(0, |query| query.len() + 1);
        &self.url.as_str()[start..]
    }

    /// Method, path and body as one line.
    pub(super) fn line(&self) -> String {
        let (method, path) = (&self.method, self.path());
        let body = self.body.as_ref().map_or_else(String::new, |(_, body)| {
            format!(" {}", String::from_utf8_lossy(body))
        });
        format!("{method} {path}{body}")
    }

    /// What it asks, if it only reads: then an equal call gets the same answer.
    pub(super) fn question(&self) -> Option<(EndpointClass, Url)> {
        (self.method == Method::GET && !self.has_own_token())
            .then(|| (self.class, self.url.clone()))
    }

    pub(super) fn request(&self, authorization: &HeaderValue, agent: HeaderValue) -> Request {
        let mut request = Request::new(self.method.clone(), self.url.clone());
        let headers = request.headers_mut();
        let authorization = self.authorization.as_ref().unwrap_or(authorization);
        headers.insert(AUTHORIZATION, authorization.clone());
        headers.insert(USER_AGENT, agent);
        headers.insert(ACCEPT, self.accept.clone());
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        match &self.body {
            Some((kind, body)) => {
                headers.insert(CONTENT_TYPE, kind.clone());
                *request.body_mut() = Some(body.clone().into());
            }
            None if self.method == Method::POST => {
                headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
            }
            None => {}
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(call: &ApiRequest) -> Request {
        let value = HeaderValue::from_static("x");
        call.request(&value, value.clone())
    }

    fn url() -> Url {
        Url::parse("http://127.0.0.1:9/api").unwrap()
    }

    #[test]
    fn a_form_is_encoded() {
        let call = ApiRequest::post(EndpointClass::Chat, url()).form(&[("text", "a&b=ü c")]);
        let (_, body) = call.body.unwrap();
        assert_eq!(body, "text=a%26b%3D%C3%BC+c");
    }

    #[test]
    fn a_command_without_parameters_says_that_its_body_is_empty() {
        let request = request(&ApiRequest::post(EndpointClass::Move, url()));
        assert_eq!(request.headers()[CONTENT_LENGTH], "0");
        assert!(request.headers().get(CONTENT_TYPE).is_none());
    }

    #[test]
    fn no_compression_is_requested() {
        let request = request(&ApiRequest::get(EndpointClass::EventStream, url()).ndjson());
        assert_eq!(request.headers()[ACCEPT_ENCODING], "identity");
        assert_eq!(request.headers()[ACCEPT], "application/x-ndjson");
    }
}
