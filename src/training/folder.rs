//! A folder of games: one process writes at a time, and all games are made in the same way.
//!
//! Besides the shards it contains `lock`, an empty file locked by the writing process, and two files of one
//! line: `evaluator` with the evaluator's id, `beginnings` with how the games begin. A folder of games without
//! `evaluator` gets the file of the next process that continues it; without `beginnings` its games begin with
//! random openings.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::Path;

use super::shard::{ShardError, failed, other, shards_in};
use crate::files::write_whole;

/// What all games of a folder have in common: a file with one line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Property {
    file: &'static str,
    /// What a folder without the file is taken for.
    default: Option<&'static str>,
    /// What the games do with it: `were …`.
    verb: &'static str,
    /// The options that choose it.
    options: &'static str,
}

/// The id of the evaluator.
pub(super) const EVALUATOR: Property = Property {
    file: "evaluator",
    default: None,
    verb: "were judged by",
    options: "--eval-file",
};
/// How the games begin.
pub(super) const BEGINNINGS: Property = Property {
    file: "beginnings",
    default: Some("random openings"),
    verb: "begin with",
    options: "--endings, --starts",
};

/// Keeps other processes out of a folder until it is dropped.
#[derive(Debug)]
pub(super) struct FolderLock(File);

impl Drop for FolderLock {
    fn drop(&mut self) {
        // A process that is just being started holds a copy of the descriptor, with which the lock would last.
        let _ = self.0.unlock();
    }
}

pub(super) fn lock(folder: &Path) -> Result<FolderLock, ShardError> {
    let path = folder.join("lock");
    let file = File::create(&path).map_err(failed(&path, "cannot be written"))?;
    match file.try_lock() {
        Ok(()) => Ok(FolderLock(file)),
        Err(TryLockError::WouldBlock) => Err(ShardError::Other {
            path: folder.to_owned(),
            what: "another process is writing to this folder".to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(failed(&path, "cannot be locked")(error)),
    }
}

/// Records properties of the folder; refuses a folder with games of another one, and then records none of them.
pub(super) fn claim(folder: &Path, properties: &[(Property, String)]) -> Result<(), ShardError> {
    let has_games = !shards_in(folder)?.is_empty();
    let mut new = Vec::new();
    for (property, ours) in properties {
        let theirs = property.read(folder)?;
        let known = theirs.as_deref().or(property.default);
        if known == Some(ours) {
            continue;
        }
        if let Some(known) = known.filter(|_| has_games) {
            let what = format!(
                "its games {} {known}, and now it would be {ours}: use the same options ({}), or another folder",
                property.verb, property.options
            );
            return Err(other(folder)(what));
        }
        new.push((folder.join(property.file), ours));
    }
    new.iter().try_for_each(|(path, ours)| {
        let written = write_whole(path, |file| writeln!(file, "{ours}"));
        written.map_err(failed(path, "cannot be written"))
    })
}

/// Records the properties of one folder, as far as they are known, as those of another one, to which its games
/// go.
pub(super) fn hand_on(from: &Path, to: &Path) -> Result<(), ShardError> {
    let mut known = Vec::new();
    for property in [EVALUATOR, BEGINNINGS] {
        let default = || property.default.map(str::to_owned);
        let value = property.read(from)?.or_else(default);
        known.extend(value.map(|value| (property, value)));
    }
    claim(to, &known)
}

impl Property {
    fn read(&self, folder: &Path) -> Result<Option<String>, ShardError> {
        let path = folder.join(self.file);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&path, "cannot be read")(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Evaluator;

    #[test]
    fn two_processes_do_not_write_to_one_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let held = lock(folder.path()).expect("nobody else");
        let error = lock(folder.path()).expect_err("held").to_string();
        assert!(error.contains("another process"), "{error}");
        let _copy = held.0.try_clone().expect("a copy");
        drop(held);
        lock(folder.path()).expect("free in spite of the copy");
    }

    #[test]
    fn games_of_two_evaluators_do_not_mix() {
        let folder = tempfile::tempdir().expect("a folder");
        let claim = |evaluator: &Evaluator| claim(folder.path(), &[(EVALUATOR, evaluator.id())]);
        let (net, classical) = (Evaluator::default(), Evaluator::classical());
        claim(&net).expect("a new folder");
        claim(&classical).expect("a folder without games");
        fs::write(folder.path().join("some.games"), "").expect("a file");
        claim(&classical).expect("the same");
        let error = claim(&net).expect_err("another").to_string();
        for id in [net.id(), classical.id()] {
            assert!(error.contains(&id), "{error}");
        }
        fs::remove_file(folder.path().join("evaluator")).expect("a file");
        claim(&net).expect("a folder that does not say");
        claim(&classical).expect_err("from then on it says");
    }

    #[test]
    fn what_a_refused_process_would_do_is_not_recorded() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("some.games"), "").expect("a file");
        fs::write(folder.path().join("beginnings"), "endings\n").expect("a file");
        let claim = |evaluator: &str, beginnings: &str| {
            let properties = [(EVALUATOR, evaluator), (BEGINNINGS, beginnings)];
            claim(
                folder.path(),
                &properties.map(|(property, text)| (property, text.to_owned())),
            )
        };
        claim("classical", "random openings").expect_err("other beginnings");
        claim("some net", "endings").expect("the right ones");
    }
}
