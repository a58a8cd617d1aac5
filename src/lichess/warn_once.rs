//! Warns about unknown JSON once, not at every repetition, and without private ids.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// The warnings given so far. One for each client, shared by its streams.
#[derive(Clone, Debug, Default)]
pub(super) struct WarnOnce(Arc<Mutex<HashSet<String>>>);

impl WarnOnce {
    /// Beyond this many, all are forgotten.
    const CAPACITY: usize = 256;

    /// Whether this is the first time.
    pub(super) fn is_new(&self, warning: String) -> bool {
        let mut given = self.0.lock();
        if given.len() >= Self::CAPACITY {
            given.clear();
        }
        given.insert(warning)
    }

    /// Ends what the warning was about; returns whether it was given.
    pub(super) fn forget(&self, warning: &str) -> bool {
        self.0.lock().remove(warning)
    }
}

/// The text of a line without the private game id, which gives access to the game.
pub(super) fn without_secrets(line: &str) -> String {
    const KEY: &str = "\"fullId\":\"";
    let Some(at) = line.find(KEY) else {
        return line.to_owned();
    };
    let value = at + KEY.len();
    let rest = line[value..]
        .find('"')
        .map_or("", |end| &line[value + end..]);
    format!("{}***{rest}", &line[..value])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_private_id_of_a_game_is_masked() {
        let line = r#"{"type":"gameStart","game":{"fullId":"q7ZxVt2BkM4s","id":"q7ZxVt2B"}}"#;
        let shown = without_secrets(line);
        assert!(!shown.contains("kM4s") && shown.ends_with(r#""id":"q7ZxVt2B"}}"#));
        assert_eq!(without_secrets(r#"{"fullId":"q7Zx"#), r#"{"fullId":"***"#);
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
