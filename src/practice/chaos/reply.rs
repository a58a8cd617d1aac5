//! Error replies in every known shape.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultReply {
    pub status: u16,
    /// The shape of a body.
    pub shape: BodyShape,
}

/// The shapes of bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyShape {
    Error,
    Fields,
    FieldsTwice,
    Limit {
        /// The advised wait.
        seconds: u64,
    },
    Text,
    /// A proxy's HTML page.
    Html,
    Empty,
    /// Truncated JSON.
    HalfJson,
    /// `{"ok":true}`, whatever the status.
    Ok,
}

impl FaultReply {
    /// An answer of this status and shape.
    pub const fn new(status: u16, shape: BodyShape) -> Self {
        Self { status, shape }
    }

    /// The usual body for a status.
    pub const fn usual(status: u16) -> Self {
        let shape = match status {
            400..=499 => BodyShape::Error,
            _ => BodyShape::Html,
        };
        Self { status, shape }
    }

    /// The error text.
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
            BodyShape::Error => (JSON, format!(r#"{{"error":"{text}"}}"#)),
            BodyShape::Fields => (JSON, format!(r#"{{"error":{{"global":["{text}"]}}}}"#)),
            BodyShape::FieldsTwice => (
                JSON,
                format!(r#"{{"global":["{text}"],"error":{{"global":["{text}"]}}}}"#),
            ),
            BodyShape::Limit { seconds } => (
                JSON,
                format!(
                    r#"{{"error":"{text}","ratelimit":{{"key":"bot.test","seconds":{seconds}}}}}"#
                ),
            ),
            BodyShape::Text => ("text/plain", format!("{} - {text}", self.status)),
            BodyShape::Html => ("text/html", self.page()),
            BodyShape::Empty => (JSON, String::new()),
            BodyShape::HalfJson => (JSON, r#"{"error":"Too ma"#.to_owned()),
            BodyShape::Ok => (JSON, r#"{"ok":true}"#.to_owned()),
        }
    }

    fn page(&self) -> String {
        let status = self.status;
        format!(
            "<html>\r\n<head><title>{status}</title></head>\r\n<body>\r\n<center><h1>{status}</h1>\
             </center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
        )
    }

    /// Its name in summaries.
    pub(crate) fn name(&self) -> String {
        let shape = match self.shape {
            BodyShape::Error => "",
            BodyShape::Fields | BodyShape::FieldsTwice => " with fields",
            BodyShape::Limit { .. } => " with seconds",
            BodyShape::Text => " as text",
            BodyShape::Html => " as HTML",
            BodyShape::Empty => " without a body",
            BodyShape::HalfJson => " with half a body",
            BodyShape::Ok => " that says ok",
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
                BodyShape::Error,
                BodyShape::Fields,
                BodyShape::FieldsTwice,
                BodyShape::Limit { seconds: 60 },
            ] {
                let (kind, body) = FaultReply::new(status, shape).body();
                let json: serde_json::Value = serde_json::from_str(&body).unwrap();
                assert_eq!(kind, "application/json");
                assert!(json.get("error").is_some(), "{body}");
            }
            assert!(
                FaultReply::new(status, BodyShape::Html)
                    .body()
                    .1
                    .starts_with("<html>")
            );
        }
        assert_eq!(FaultReply::usual(502).shape, BodyShape::Html);
        assert_eq!(FaultReply::usual(429).shape, BodyShape::Error);
        assert_eq!(
            FaultReply::new(429, BodyShape::Limit { seconds: 9 }).name(),
            "429 with seconds"
        );
    }
}
