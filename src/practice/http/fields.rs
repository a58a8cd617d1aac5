//! The fields of a request: form, JSON or query string, all as flat text.

use std::collections::HashMap;

use axum::extract::{Form, FromRequest, Query, Request};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::practice::api_error::ApiError;

/// The fields by name. Fields of a JSON object inside another are named `outer.inner`.
#[derive(Debug, Default)]
pub(super) struct Fields(HashMap<String, String>);

impl Fields {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    pub(super) fn is_true(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|value| matches!(value, "true" | "1" | "on" | "yes"))
    }

    fn take_json(&mut self, prefix: &str, value: &Value) {
        match value {
            Value::Object(object) => {
                for (name, inner) in object {
                    let name = if prefix.is_empty() {
                        name.clone()
                    } else {
                        format!("{prefix}.{name}")
                    };
                    self.take_json(&name, inner);
                }
            }
            Value::Array(items) => {
                let words: Vec<String> = items.iter().map(plain).collect();
                self.0.insert(prefix.to_owned(), words.join(","));
            }
            Value::Null => {}
            other => {
                self.0.insert(prefix.to_owned(), plain(other));
            }
        }
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

impl<S: Send + Sync> FromRequest<S> for Fields {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let mut fields = Self::default();
        if let Ok(Query(query)) = Query::<HashMap<String, String>>::try_from_uri(request.uri()) {
            fields.0.extend(query);
        }
        let kind = request
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        if kind.contains("json") {
            let body = String::from_request(request, state)
                .await
                .map_err(IntoResponse::into_response)?;
            if !body.trim().is_empty() {
                let value: Value = serde_json::from_str(&body)
                    .map_err(|_| ApiError::refused("This is not JSON").into_response())?;
                fields.take_json("", &value);
            }
        } else if kind.contains("form-urlencoded") {
            let Form(form) = Form::<HashMap<String, String>>::from_request(request, state)
                .await
                .map_err(IntoResponse::into_response)?;
            fields.0.extend(form);
        }
        Ok(fields)
    }
}
