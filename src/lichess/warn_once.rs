//! Warns about unknown JSON once, and of a lasting failure now and then, not at every repetition; without
//! private ids.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The warnings given so far, and when. One for each client, shared by its streams.
#[derive(Clone, Debug, Default)]
pub(super) struct WarnOnce(Arc<Mutex<HashMap<String, Instant>>>);

impl WarnOnce {
    /// Beyond this many, all are forgotten.
    const CAPACITY: usize = 256;

    /// Whether this is the first time.
    pub(super) fn is_new(&self, warning: String) -> bool {
        self.is_due(warning, Duration::MAX)
    }

    /// Whether it was not given within the last `pause`.
    pub(super) fn is_due(&self, warning: String, pause: Duration) -> bool {
        let mut given = self.0.lock();
        if given.len() >= Self::CAPACITY {
            given.clear();
        }
        let now = Instant::now();
        let is_due = given.get(&warning).is_none_or(|at| now - *at >= pause);
        if is_due {
            given.insert(warning, now);
        }
        is_due
    }

    /// Ends what the warning was about; returns whether it was given.
    pub(super) fn forget(&self, warning: &str) -> bool {
        self.0.lock().remove(warning).is_some()
    }
}

/// The text of JSON without the private game ids, which give access to the games.
pub(super) fn without_secrets(text: &str) -> String {
    const KEY: &str = "\"fullId\"";
    let mut parts = text.split(KEY);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown += KEY;
        let is_before_value = |c: char| c == ':' || c.is_ascii_whitespace();
        match part.trim_start_matches(is_before_value).strip_prefix('"') {
            Some(value) => {
                let rest = value.find('"').map_or("", |end| &value[end..]);
                shown += &part[..part.len() - value.len()];
                shown += "***";
                shown += rest;
            }
            None => shown += part,
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_private_id_of_a_game_is_masked() {
        let line = r#"{"type":"gameStart","game":{"fullId":"q7ZxVt2BkM4s","id":"q7ZxVt2B"}}"#;
        let shown = without_secrets(line);
        assert!(!shown.contains("kM4s") && shown.ends_with(r#""id":"q7ZxVt2B"}}"#));
        for (text, shown) in [
            (r#"{"fullId":"q7Zx"#, r#"{"fullId":"***"#),
            (
                r#"{"fullId" : "q7Zx", "id": 1}"#,
                r#"{"fullId" : "***", "id": 1}"#,
            ),
            (
                r#"[{"fullId":"q7Zx"},{"fullId":"k2Bb"}]"#,
                r#"[{"fullId":"***"},{"fullId":"***"}]"#,
            ),
            (
                r#"{"fullId":null,"id":"q7Zx"}"#,
                r#"{"fullId":null,"id":"q7Zx"}"#,
            ),
        ] {
            assert_eq!(without_secrets(text), shown);
        }
    }

    #[test]
    fn a_lasting_failure_is_logged_at_first_with_each_reason_and_after_a_pause() {
        let (warnings, hour) = (WarnOnce::default(), Duration::from_secs(3600));
        assert!(warnings.is_due("refused".into(), hour));
        assert!(!warnings.is_due("refused".into(), hour));
        assert!(warnings.is_due("no answer".into(), hour));
        assert!(!warnings.is_due("refused".into(), hour), "two in turn");
        assert!(warnings.is_due("refused".into(), Duration::ZERO));
    }

    #[test]
    fn a_warning_is_logged_once_and_the_memory_is_bounded() {
        let warnings = WarnOnce::default();
        assert!(warnings.is_new("a".into()));
        assert!(!warnings.clone().is_new("a".into()));
        assert!(warnings.forget("a") && !warnings.forget("a"));
        assert!(warnings.is_new("a".into()));
        for n in 0..10_000 {
            warnings.is_new(n.to_string());
        }
        assert!(warnings.0.lock().len() <= WarnOnce::CAPACITY);
    }
}
