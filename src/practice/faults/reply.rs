//! The answers of a server that does not do what it was asked, in every shape that is known of it.

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// What the body looks like.
    pub shape: Shape,
}

/// The shapes of bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `{"error":"text"}`
    Error,
    /// `{"error":{"field":["text"]}}`
    Fields,
    /// `{"field":["text"],"error":{"field":["text"]}}`
    FieldsTwice,
    /// `{"error":"text","ratelimit":{"key":"…","seconds":N}}`
    Limit {
        /// The wait that is advised.
        seconds: u64,
    },
    /// Plain text.
    Text,
    /// A page of a proxy.
    Html,
    /// Nothing.
    Empty,
    /// JSON that breaks off.
    HalfJson,
    /// `{"ok":true}`, whatever the status.
    Ok,
}

impl Reply {
    /// An answer of this status and shape.
    pub const fn new(status: u16, shape: Shape) -> Self {
        Self { status, shape }
    }

    /// What usually comes with a status.
    pub const fn usual(status: u16) -> Self {
        let shape = match status {
            400..=499 => Shape::Error,
            _ => Shape::Html,
        };
        Self { status, shape }
    }

    /// What the server says about it.
    fn text(&self) -> &'static str {
        match self.status {
            400 => "Not your turn, or game already over",
            401 => "No such token",
            403 => "Missing scope: bot:play",
            404 => "No such game",
            429 => "Too many requests. Try again later.",
            _ => "Something went wrong",
        }
    }

    /// The media type and the body.
    pub(crate) fn body(&self) -> (&'static str, String) {
        const JSON: &str = "application/json";
        let text = self.text();
        match self.shape {
            Shape::Error => (JSON, format!(r#"{{"error":"{text}"}}"#)),
            Shape::Fields => (JSON, format!(r#"{{"error":{{"global":["{text}"]}}}}"#)),
            Shape::FieldsTwice => (
                JSON,
                format!(r#"{{"global":["{text}"],"error":{{"global":["{text}"]}}}}"#),
            ),
            Shape::Limit { seconds } => (
                JSON,
                format!(
                    r#"{{"error":"{text}","ratelimit":{{"key":"bot.test","seconds":{seconds}}}}}"#
                ),
            ),
            Shape::Text => ("text/plain", format!("{} - {text}", self.status)),
            Shape::Html => ("text/html", self.page()),
            Shape::Empty => (JSON, String::new()),
            Shape::HalfJson => (JSON, r#"{"error":"Too ma"#.to_owned()),
            Shape::Ok => (JSON, r#"{"ok":true}"#.to_owned()),
        }
    }

    fn page(&self) -> String {
        let status = self.status;
        format!(
            "<html>\r\n<head><title>{status}</title></head>\r\n<body>\r\n<center><h1>{status}</h1>\
             </center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
        )
    }

    /// How a summary calls it.
    pub(crate) fn name(&self) -> String {
        let shape = match self.shape {
            Shape::Error => "",
            Shape::Fields | Shape::FieldsTwice => " with fields",
            Shape::Limit { .. } => " with seconds",
            Shape::Text => " as text",
            Shape::Html => " as HTML",
            Shape::Empty => " without a body",
            Shape::HalfJson => " with half a body",
            Shape::Ok => " that says ok",
        };
        format!("{}{shape}", self.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_but_the_broken_ones_is_what_it_says() {
        for status in [400, 401, 403, 404, 429, 500, 502] {
            for shape in [
                Shape::Error,
                Shape::Fields,
                Shape::FieldsTwice,
                Shape::Limit { seconds: 60 },
            ] {
                let (kind, body) = Reply::new(status, shape).body();
                let json: serde_json::Value = serde_json::from_str(&body).unwrap();
                assert_eq!(kind, "application/json");
                assert!(json.get("error").is_some(), "{body}");
            }
            assert!(
                Reply::new(status, Shape::Html)
                    .body()
                    .1
                    .starts_with("<html>")
            );
        }
        assert_eq!(Reply::usual(502).shape, Shape::Html);
        assert_eq!(Reply::usual(429).shape, Shape::Error);
        assert_eq!(
            Reply::new(429, Shape::Limit { seconds: 9 }).name(),
            "429 with seconds"
        );
    }
}
