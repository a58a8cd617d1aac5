//! Splits Rust source into words, without comments and strings, and finds the paths in it.

/// Words and signs of Rust text; comments, texts and characters are left out.
pub(super) fn words(text: &str) -> Vec<String> {
    let bytes: Vec<char> = text.chars().collect();
    let mut words = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        at += match rest {
            ['/', '/', ..] => rest.iter().take_while(|c| **c != '\n').count(),
            ['/', '*', ..] => block_comment(rest),
            ['"', ..] => quoted(rest, 0),
            ['r' | 'b' | 'c', ..] if raw_text(rest) > 0 => raw_text(rest),
            ['\'', '\\', ..] => 3 + rest[3..].iter().take_while(|c| **c != '\'').count() + 1,
            ['\'', _, '\'', ..] => 3,
            [':', ':', ..] => {
                words.push("::".to_owned());
                2
            }
            [c, ..] if c.is_alphanumeric() || *c == '_' => {
                let word: String = rest
                    .iter()
                    .take_while(|c| c.is_alphanumeric() || **c == '_')
                    .collect();
                let length = word.chars().count();
                words.push(word);
                length
            }
            [c, ..] => {
                if !c.is_whitespace() {
                    words.push(c.to_string());
                }
                1
            }
            [] => 1,
        };
    }
    words
}

fn block_comment(rest: &[char]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => {
                depth += 1;
                at += 2;
            }
            ['*', '/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    at
}

/// Length of a text whose opening quote stands after `skip` characters.
fn quoted(rest: &[char], skip: usize) -> usize {
    let mut at = skip + 1;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    at
}

/// Length of a raw or byte text that begins here, 0 if none does.
fn raw_text(rest: &[char]) -> usize {
    let prefix = rest
        .iter()
        .take_while(|c| matches!(c, 'r' | 'b' | 'c'))
        .count();
    let raw = rest[..prefix].contains(&'r');
    let hashes = rest[prefix..].iter().take_while(|c| **c == '#').count();
    if prefix > 2 || rest.get(prefix + hashes) != Some(&'"') || (hashes > 0 && !raw) {
        return 0;
    }
    if !raw {
        return quoted(rest, prefix);
    }
    let mut at = prefix + hashes + 1;
    while at < rest.len() {
        let closes = rest[at] == '"'
            && rest[at + 1..]
                .iter()
                .take(hashes)
                .filter(|c| **c == '#')
                .count()
                == hashes;
        at += 1;
        if closes {
            return at + hashes;
        }
    }
    at
}

/// The paths that begin at `start`, groups in braces opened up: `a::{b, c::d}` is `a::b` and
/// `a::c::d`.
pub(super) fn paths(words: &[String], start: usize) -> Vec<Vec<String>> {
    let mut prefix = vec![words[start].clone()];
    let mut at = start + 1;
    while words.get(at).is_some_and(|word| word == "::") {
        let Some(next) = words.get(at + 1) else { break };
        if next == "{" {
            return group(words, at + 2, &prefix);
        }
        prefix.push(next.clone());
        at += 2;
    }
    vec![prefix]
}

fn group(words: &[String], mut at: usize, prefix: &[String]) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let mut begins = true;
    let mut depth = 1;
    while depth > 0 && at < words.len() {
        match words[at].as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," => begins = depth == 1,
            _ if begins && depth == 1 => {
                begins = false;
                for tail in paths(words, at) {
                    all.push([prefix, &tail].concat());
                }
            }
            _ => {}
        }
        at += 1;
    }
    all
}

/// A path as a file spells it.
pub(super) struct Spelled {
    /// Whether it starts at the root of the crate, which is left out of the parts.
    pub(super) rooted: bool,
    /// Whether it stands in the tests at the file's foot.
    pub(super) in_tests: bool,
    /// Its names.
    pub(super) parts: Vec<String>,
}

/// Every path of a file whose module is `depth` steps below the root.
pub(super) fn spelled_paths(words: &[String], depth: usize) -> Vec<Spelled> {
    let foot = ["#", "[", "cfg", "(", "test", ")", "]", "mod"];
    let tests = words.windows(foot.len()).position(|window| window == foot);
    let mut found = Vec::new();
    let mut braces: Vec<bool> = Vec::new();
    for at in 0..words.len() {
        match words[at].as_str() {
            "{" => braces.push(at >= 2 && words[at - 2] == "mod"),
            "}" => drop(braces.pop()),
            _ => {}
        }
        let begins = at == 0 || words[at - 1] != "::";
        let goes_on = words.get(at + 1).is_some_and(|next| next == "::");
        if !begins || !goes_on {
            continue;
        }
        let in_tests = tests.is_some_and(|tests| tests < at);
        let inline = braces.iter().filter(|module| **module).count();
        for path in paths(words, at) {
            let supers = path.iter().take_while(|part| *part == "super").count();
            let left_out = if path[0] == "crate" || path[0] == "megaton" {
                1
            } else if supers > 0 && supers >= depth + inline {
                supers
            } else {
                0
            };
            let parts = path[left_out..].to_vec();
            found.push(Spelled {
                rooted: left_out > 0,
                in_tests,
                parts,
            });
        }
    }
    found
}
