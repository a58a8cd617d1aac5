//! Players as the command line writes them: `self:hash=32`, `cmd:./engine --flag`.
//!
//! Reads and checks words; starts nothing.

use std::fmt;
use std::fs;
use std::hash::Hasher as _;
use std::path::{Path, PathBuf};

use fnv::FnvHasher;

use super::error::MatchError;

/// The specification of a player.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayerSpec {
    text: String,
    pub(super) kind: PlayerKind,
    /// Options of the engine by name, in the order given.
    pub(super) options: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlayerKind {
    /// The built-in engine, in process.
    Inside,
    Child {
        program: PathBuf,
        arguments: Vec<String>,
    },
}

/// Why words specify no player.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("{0:?} is not a player; write self, self:option=value,… or cmd:PROGRAM ARGUMENTS")]
    Form(String),
    #[error("{0:?} is not an option; write name=value")]
    Option(String),
    #[error("a quotation mark is not closed in {0:?}")]
    Quote(String),
}

impl PlayerSpec {
    /// Reads a player, and the separate options `name=value`.
    pub fn parse(text: &str, options: &[String]) -> Result<Self, SpecError> {
        let text = text.trim();
        let (kind, inner) = if let Some(command) = text.strip_prefix("cmd:") {
            let mut words = split(command)?.into_iter();
            let program = words.next().filter(|word| !word.is_empty());
            let program = program.ok_or_else(|| SpecError::Form(text.to_owned()))?;
            let arguments = words.collect();
            let program = program.into();
            (PlayerKind::Child { program, arguments }, "")
        } else if text == "self" {
            (PlayerKind::Inside, "")
        } else if let Some(inner) = text.strip_prefix("self:") {
            (PlayerKind::Inside, inner)
        } else {
            return Err(SpecError::Form(text.to_owned()));
        };
        let inner = inner.split(',').filter(|part| !part.trim().is_empty());
        let options = inner
            .chain(options.iter().map(String::as_str))
            .map(option)
            .collect::<Result<_, _>>()?;
        Ok(Self {
            text: text.to_owned(),
            kind,
            options,
        })
    }

    /// Whether it is the built-in engine.
    pub const fn is_inside(&self) -> bool {
        matches!(self.kind, PlayerKind::Inside)
    }

    /// The player with these options in place of its own of the same names.
    #[must_use]
    pub fn with_options(&self, options: &[(String, String)]) -> Self {
        let mut player = self.clone();
        player.options.retain(|(name, _)| {
            let is_same = |(other, _): &(String, String)| other.eq_ignore_ascii_case(name);
            !options.iter().any(is_same)
        });
        player.options.extend_from_slice(options);
        player
    }

    /// A digest of the files that affect its play, as text (FNV-1a).
    pub(super) fn digest_of_files(&self) -> Result<String, MatchError> {
        let mut digest = FnvHasher::default();
        for path in self.files() {
            digest.write(&fs::read(&path).map_err(MatchError::file(&path))?);
        }
        Ok(format!("{:016x}", digest.finish()))
    }

    /// The files that affect its play, as far as the words show.
    pub fn files(&self) -> Vec<PathBuf> {
        let program = match &self.kind {
            PlayerKind::Inside => std::env::current_exe().ok(),
            PlayerKind::Child { program, .. } => Some(in_search_path(program)),
        };
        let arguments = match &self.kind {
            PlayerKind::Inside => &[][..],
            PlayerKind::Child { arguments, .. } => arguments,
        };
        let values = self.options.iter().map(|(_, value)| value);
        let named = arguments.iter().chain(values).map(PathBuf::from);
        let files = program.into_iter().chain(named);
        files.filter(|path| path.is_file()).collect()
    }
}

/// Where a program is that is named without a folder.
fn in_search_path(program: &Path) -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file());
    // A name with a folder is no name to search for.
    let is_bare = program.components().count() == 1;
    found
        .filter(|_| is_bare)
        .unwrap_or_else(|| program.to_owned())
}

impl fmt::Display for PlayerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = self
            .options
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let options: Vec<String> = options.collect();
        match (&self.kind, options.is_empty()) {
            (PlayerKind::Inside, true) => f.write_str("self"),
            (PlayerKind::Inside, false) => write!(f, "self:{}", options.join(",")),
            (PlayerKind::Child { .. }, true) => f.write_str(&self.text),
            (PlayerKind::Child { .. }, false) => {
                write!(f, "{} ({})", self.text, options.join(", "))
            }
        }
    }
}

fn option(text: &str) -> Result<(String, String), SpecError> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| SpecError::Option(text.to_owned()))?;
    let name = name.trim();
    if name.is_empty() {
        return Err(SpecError::Option(text.to_owned()));
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}

/// Words separated by blanks; either kind of quotation marks keeps a word together.
fn split(text: &str) -> Result<Vec<String>, SpecError> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in text.chars() {
        match quote {
            Some(mark) if letter == mark => quote = None,
            None if letter == '"' || letter == '\'' => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err(SpecError::Quote(text.to_owned()));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<PlayerSpec, SpecError> {
        PlayerSpec::parse(text, &[])
    }

    #[test]
    fn our_own_engine_takes_options_after_a_colon() {
        let plain = parse("self").unwrap();
        assert!(plain.is_inside() && plain.options.is_empty());
        let tuned = parse("self:hash=32,EvalFile=nets/a=b.net").unwrap();
        let options = [("hash", "32"), ("EvalFile", "nets/a=b.net")];
        let options = options.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(tuned.options, options);
        assert_eq!(
            (plain.to_string().as_str(), tuned.to_string().as_str()),
            ("self", "self:hash=32,EvalFile=nets/a=b.net")
        );
        let beside = PlayerSpec::parse("self:hash=32", &["nodes=9".to_owned()]).unwrap();
        assert_eq!(beside.to_string(), "self:hash=32,nodes=9");
        let changed = beside.with_options(&[("Hash".to_owned(), "8".to_owned())]);
        assert_eq!(changed.to_string(), "self:nodes=9,Hash=8");
    }

    #[test]
    fn a_program_of_the_search_path_is_part_of_the_identity() {
        let files = parse("cmd:sh -c true").unwrap().files();
        assert!(files.iter().any(|file| file.ends_with("sh")), "{files:?}");
    }

    #[test]
    fn a_program_takes_arguments_and_its_options_beside_it() {
        let options = ["Use NNUE=false".to_owned(), "Hash=64".to_owned()];
        let text = r#"cmd:/opt/my\ engine --net "a b" 'c "d"' """#;
        let spec = PlayerSpec::parse(text, &options).unwrap();
        let PlayerKind::Child { program, arguments } = &spec.kind else {
            panic!("a child expected")
        };
        assert_eq!(program, &PathBuf::from(r"/opt/my\"));
        assert_eq!(arguments, &["engine", "--net", "a b", r#"c "d""#, ""]);
        assert_eq!(spec.options[0], ("Use NNUE".to_owned(), "false".to_owned()));
        assert!(!spec.is_inside() && spec.to_string().ends_with("(Use NNUE=false, Hash=64)"));
    }

    #[test]
    fn bad_words_are_rejected_with_the_right_ones() {
        for (text, hint) in [
            ("", "write self"),
            ("selfish", "write self"),
            ("cmd:", "cmd:PROGRAM"),
            ("cmd:''", "cmd:PROGRAM"),
            ("stockfish", "cmd:PROGRAM"),
            ("self:hash", "name=value"),
            ("self:=3", "name=value"),
            ("cmd:a 'b", "not closed"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(hint), "{text}: {error}");
        }
        let error = PlayerSpec::parse("self", &["Hash".to_owned()]).unwrap_err();
        assert_eq!(error, SpecError::Option("Hash".to_owned()));
    }
}
