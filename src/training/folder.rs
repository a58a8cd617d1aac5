//! A folder of games: one process writes at a time, and all games use the same evaluator.
//!
//! Besides the shards it contains `lock`, an empty file locked by the writing process, and `evaluator`, one
//! line with the evaluator's id. A folder of games without `evaluator` gets the file of the next process
//! that continues it.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::Path;

use super::shard::{ShardError, failed, shards_in};
use crate::engine::Evaluator;

/// Locks other processes out of the folder until the file is dropped.
pub(super) fn lock(folder: &Path) -> Result<File, ShardError> {
    let path = folder.join("lock");
    let file = File::create(&path).map_err(failed(&path, "cannot be written"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ShardError::Other {
            path: folder.to_owned(),
            what: "another process is making games in this folder".to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(failed(&path, "cannot be locked")(error)),
    }
}

/// Records the evaluator of the folder; refuses a folder with games of another one.
pub(super) fn claim(folder: &Path, evaluator: &Evaluator) -> Result<(), ShardError> {
    let (path, ours) = (folder.join("evaluator"), evaluator.id());
    let theirs = match fs::read_to_string(&path) {
        Ok(text) => Some(text.trim().to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(failed(&path, "cannot be read")(error)),
    };
    if theirs.as_deref() == Some(ours.as_str()) {
        return Ok(());
    }
    if let Some(theirs) = theirs
        && !shards_in(folder)?.is_empty()
    {
        let what = format!(
            "its games were judged by {theirs}, and now it would be {ours}: name the same \
             evaluator (--eval-file), or another folder"
        );
        let path = folder.to_owned();
        return Err(ShardError::Other { path, what });
    }
    // Atomic, so that a kill leaves no partial id.
    let part = folder.join("evaluator.part");
    fs::write(&part, format!("{ours}\n"))
        .and_then(|()| fs::rename(&part, &path))
        .map_err(failed(&path, "cannot be written"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processes_do_not_write_to_one_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let _held = lock(folder.path()).expect("nobody else");
        let error = lock(folder.path()).expect_err("held").to_string();
        assert!(error.contains("another process"), "{error}");
    }

    #[test]
    fn games_of_two_evaluators_do_not_mix() {
        let folder = tempfile::tempdir().expect("a folder");
        let claim = |evaluator: &Evaluator| claim(folder.path(), evaluator);
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
}
