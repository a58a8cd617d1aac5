//! Chat messages with placeholders, such as `Good luck, {opponent}!`.

/// The longest message that the server accepts, in characters.
pub const MAX_LINE: usize = 140;
/// A name of the greatest length.
const MAX_NAME: &str = "abcdefghijklmnopqrstuvwxyz0123";
/// The placeholders.
const KNOWN: &str = "{me}, {opponent}, {engine} and {version}";

/// A message with placeholders.
#[derive(Debug, Clone, Copy)]
pub struct Template<'t>(pub &'t str);

/// The values of the placeholders.
#[derive(Debug, Clone, Copy)]
pub struct Words<'w> {
    pub me: &'w str,
    pub opponent: &'w str,
    pub engine: &'w str,
    pub version: &'w str,
}

impl Template<'_> {
    /// The message, filled in. An unknown placeholder stays unchanged.
    pub fn fill(&self, words: &Words<'_>) -> String {
        let mut line = String::with_capacity(self.0.len());
        let mut rest = self.0;
        while let Some((before, after)) = rest.split_once('{') {
            line.push_str(before);
            let word = after.split_once('}');
            if let Some((word, behind)) = word
                && let Some(filled) = words.get(word)
            {
                line.push_str(filled);
                rest = behind;
            } else {
                line.push('{');
                rest = after;
            }
        }
        line.push_str(rest);
        line
    }

    /// The error in the message, if any.
    pub fn fault(&self) -> Option<String> {
        if self.0.chars().any(char::is_control) {
            return Some("a chat message is one line, without control characters".to_owned());
        }
        let longest = Words {
            me: MAX_NAME,
            opponent: MAX_NAME,
            engine: "Megaton",
            version: env!("CARGO_PKG_VERSION"),
        };
        let mut rest = self.0;
        while let Some((_, after)) = rest.split_once('{') {
            let Some((word, after)) = after.split_once('}') else {
                return Some(format!("a {{ has no }}; the placeholders are {KNOWN}"));
            };
            if longest.get(word).is_none() {
                return Some(format!("{{{word}}} is not a placeholder; use {KNOWN}"));
            }
            rest = after;
        }
        let length = self.fill(&longest).chars().count();
        (length > MAX_LINE).then(|| {
            format!(
                "{length} characters with names of 30, but Lichess allows {MAX_LINE}: shorten it"
            )
        })
    }
}

impl<'w> Words<'w> {
    fn get(&self, word: &str) -> Option<&'w str> {
        match word {
            "me" => Some(self.me),
            "opponent" => Some(self.opponent),
            "engine" => Some(self.engine),
            "version" => Some(self.version),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_expanded_once() {
        let words = Words {
            me: "Megaton",
            opponent: "{me}",
            engine: "Megaton",
            version: "1.2",
        };
        let filled = |text| Template(text).fill(&words);
        assert_eq!(filled("{me} {version}, {opponent}"), "Megaton 1.2, {me}");
        assert_eq!(filled("{ {x} {me"), "{ {x} {me");
        assert_eq!(filled(""), "");
    }

    #[test]
    fn a_line_that_the_server_would_refuse_is_rejected() {
        let fault = |text: &str| Template(text).fault();
        assert_eq!(fault("Good luck, {opponent}!"), None);
        assert_eq!(fault(&"é".repeat(140)), None, "characters, not bytes");
        assert!(fault(&"x".repeat(141)).unwrap().contains("141"));
        let with_name = format!("{}{{opponent}}", "x".repeat(111));
        assert!(fault(&with_name).unwrap().contains("141 characters"));
        assert!(
            fault("{oponent}")
                .unwrap()
                .contains("{oponent} is not a placeholder")
        );
        assert!(fault("{opponent").unwrap().contains("has no }"));
        assert!(fault("two\nlines").unwrap().contains("one line"));
    }
}
