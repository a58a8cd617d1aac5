//! Packs shards: the same games in fewer bytes.
//!
//! Each file is unpacked and compared before it is written, atomically, so an interrupted run loses nothing and
//! the next one continues after the last whole file. A file of games is replaced only by its own packed form.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::folder::{hand_on, lock};
use super::record::GameRecord;
use super::shard::{ShardError, ShardReader, failed, is_packed, other};
use crate::files::write_whole;

/// What a run has packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    pub files: usize,
    /// Files that were packed already.
    pub skipped: usize,
    pub games: u64,
    pub plies: u64,
    /// The size of the packed games before.
    pub bytes_before: u64,
    /// Their size now.
    pub bytes: u64,
    /// Bytes after the last complete games, left out.
    pub tails: u64,
}

/// Packs shards into files of the same names in `folder`, which may be their own. Calls `on_progress` with the number
/// of files done.
///
/// # Errors
///
/// The first flaw of a shard, a file in the way, or a failure to write; the files before it are packed.
pub fn pack(
    shards: &[PathBuf],
    folder: &Path,
    mut on_progress: impl FnMut(usize),
) -> Result<Packed, ShardError> {
    fs::create_dir_all(folder).map_err(failed(folder, "cannot be made"))?;
    let _lock = lock(folder)?;
    let targets = targets(shards, folder)?;
    let mut packed = Packed::default();
    for (number, (source, target)) in shards.iter().zip(&targets).enumerate() {
        if is_done(source, target)? {
            packed.skipped += 1;
        } else {
            hand_on(source.parent().unwrap_or(Path::new("")), folder)?;
            packed.add(source, target)?;
        }
        on_progress(number + 1);
    }
    Ok(packed)
}

/// The packed file of each shard.
fn targets(shards: &[PathBuf], folder: &Path) -> Result<Vec<PathBuf>, ShardError> {
    let mut seen = HashSet::new();
    let target = |source: &PathBuf| {
        let target = folder.join(source.file_name().unwrap_or_default());
        if seen.insert(target.clone()) {
            return Ok(target);
        }
        let what = "two files of this name would become one: pack them into different folders";
        Err(other(source)(what))
    };
    shards.iter().map(target).collect()
}

/// Whether the target has the games of the source; refuses to replace other games.
fn is_done(source: &Path, target: &Path) -> Result<bool, ShardError> {
    if !target.exists() {
        return Ok(false);
    }
    let is_same = fs::canonicalize(source).ok() == fs::canonicalize(target).ok();
    match (is_packed(target)?, is_same) {
        (true, true) => return ShardReader::open(target).map(|_| true),
        (false, true) => return Ok(false),
        (false, false) => {
            return Err(other(target)(
                "is in the way and not packed: name another --out",
            ));
        }
        (true, false) => {}
    }
    // A damaged file is replaced.
    let Ok(mut there) = ShardReader::open(target) else {
        return Ok(false);
    };
    let mut here = ShardReader::open(source)?;
    let mut is_part = here.header() == there.header();
    while is_part && let Some(game) = there.next()? {
        is_part = here.next()?.as_ref() == Some(&game);
    }
    if !is_part {
        let what = format!(
            "has other games than {}: name another --out",
            source.display()
        );
        return Err(other(target)(what));
    }
    Ok(here.next()?.is_none())
}

/// Unpacks a file before it is written, and compares its games.
fn checked(path: &Path, bytes: Vec<u8>, games: &[GameRecord]) -> Result<ShardReader, ShardError> {
    let mut packed = ShardReader::over(path, bytes)?;
    for game in games {
        if packed.next()?.as_ref() != Some(game) {
            let what = "would not give the same games again; this is a bug, and nothing is changed";
            return Err(other(path)(what));
        }
    }
    Ok(packed)
}

impl Packed {
    /// Packs one shard.
    fn add(&mut self, source: &Path, target: &Path) -> Result<(), ShardError> {
        let mut reader = ShardReader::open(source)?;
        let (mut packer, mut games) = (reader.header().packer(), Vec::new());
        while let Some(game) = reader.next()? {
            let added = packer.add(&game);
            added.map_err(|ply| reader.broken(format!("move {ply} is illegal")))?;
            games.push(game);
        }
        let again = checked(target, packer.finish(), &games)?;
        write_whole(target, |file| file.write_all(again.bytes()))
            .map_err(failed(target, "cannot be written"))?;
        self.files += 1;
        self.games += reader.games();
        self.plies += games
            .iter()
            .map(|game| game.plies.len() as u64)
            .sum::<u64>();
        self.tails += reader.tail() as u64;
        self.bytes_before += (reader.bytes().len() - reader.tail()) as u64;
        self.bytes += again.bytes().len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::find_shards;
    use super::super::shard::{ShardHeader, ShardWriter};
    use super::super::tests::{ending, short_game};
    use super::*;

    const HEADER: ShardHeader = ShardHeader {
        seed: 3,
        first: 2000,
        nodes: 50,
    };

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    /// Adds games to the shard of a folder, whose number is now `games`.
    fn fill(folder: &Path, games: u64) -> PathBuf {
        let mut writer = ShardWriter::open(folder, HEADER).expect("a shard");
        while writer.games() < games {
            let game = if writer.games() % 3 == 1 {
                ending()
            } else {
                short_game()
            };
            writer.add(&game).expect("room");
        }
        folder.join(HEADER.file_name())
    }

    fn games(path: &Path) -> Vec<GameRecord> {
        let mut reader = ShardReader::open(path).expect("a shard");
        let mut games = Vec::new();
        while let Some(game) = reader.next().expect("whole games") {
            games.push(game);
        }
        assert_eq!((reader.header(), reader.tail()), (HEADER, 0));
        games
    }

    fn pack_all(from: &Path, to: &Path) -> Result<Packed, ShardError> {
        pack(&find_shards(&[from.to_owned()])?, to, |_| ())
    }

    #[test]
    fn a_packed_folder_has_the_same_games_and_evaluator_and_is_packed_once() {
        let (from, to) = (folder(), folder());
        let path = fill(from.path(), 5);
        fs::write(from.path().join("evaluator"), "some net\n").expect("a file");
        let first = pack_all(from.path(), to.path()).expect("packed");
        assert_eq!((first.files, first.skipped), (1, 0));
        assert_eq!((first.games, first.plies), (5, 20));
        let target = to.path().join(HEADER.file_name());
        assert_eq!(games(&target), games(&path));
        let evaluator = fs::read_to_string(to.path().join("evaluator"));
        assert_eq!(evaluator.expect("a file"), "some net\n");
        let again = pack_all(from.path(), to.path()).expect("packed");
        assert_eq!((again.files, again.skipped), (0, 1));
        fill(from.path(), 6);
        assert_eq!(pack_all(from.path(), to.path()).expect("packed").files, 1);
        assert_eq!(games(&target), games(&path));
    }

    #[test]
    fn a_folder_is_packed_in_place_and_continued() {
        let (packed, plain) = (folder(), folder());
        let path = fill(packed.path(), 4);
        let before = games(&path);
        pack_all(packed.path(), packed.path()).expect("packed");
        assert!(is_packed(&path).expect("a file"));
        assert_eq!(games(&path), before);
        assert_eq!(
            pack_all(packed.path(), packed.path())
                .expect("packed")
                .skipped,
            1
        );
        let mut damaged = fs::read(&path).expect("a file");
        damaged[60] ^= 1;
        fs::write(&path, &damaged).expect("a file");
        let error = pack_all(packed.path(), packed.path()).expect_err("damage");
        let name = path.display().to_string();
        assert!(error.to_string().starts_with(&name), "{error}");
        damaged[60] ^= 1;
        fs::write(&path, &damaged).expect("a file");
        fill(packed.path(), 4);
        assert!(is_packed(&path).expect("a file"), "no game was added");
        fill(packed.path(), 7);
        let whole = fs::read(fill(plain.path(), 7)).expect("a file");
        assert_eq!(fs::read(&path).expect("a file"), whole);
    }

    #[test]
    fn a_damaged_packed_file_is_named_and_packed_again() {
        let (from, to) = (folder(), folder());
        let path = fill(from.path(), 5);
        pack_all(from.path(), to.path()).expect("packed");
        let target = to.path().join(HEADER.file_name());
        let whole = fs::read(&target).expect("a file");
        for (end, flipped) in [
            (whole.len() - 1, 0),
            (40, 0),
            (whole.len(), 60),
            (whole.len(), 9),
        ] {
            let mut damaged = whole[..end].to_vec();
            damaged[flipped] ^= u8::from(flipped > 0);
            fs::write(&target, &damaged).expect("a file");
            let error = ShardReader::open(&target).expect_err("damage").to_string();
            let name = target.display().to_string();
            assert!(error.starts_with(&name), "{error}");
            assert!(pack_all(from.path(), to.path()).is_ok_and(|packed| packed.files == 1));
            assert_eq!(games(&target), games(&path));
        }
    }

    #[test]
    fn a_truncated_tail_is_left_out_and_counted() {
        let (from, to) = (folder(), folder());
        let path = fill(from.path(), 3);
        let bytes = fs::read(&path).expect("a file");
        fs::write(&path, &bytes[..bytes.len() - 5]).expect("a file");
        let packed = pack_all(from.path(), to.path()).expect("packed");
        assert_eq!(packed.games, 2);
        assert!(packed.tails > 0);
    }

    #[test]
    fn other_games_are_never_replaced() {
        let (from, to, third) = (folder(), folder(), folder());
        let path = fill(from.path(), 3);
        fill(to.path(), 3);
        let refused = |to: &Path| {
            pack_all(from.path(), to)
                .expect_err("in the way")
                .to_string()
        };
        assert!(refused(to.path()).contains("not packed"));
        fill(to.path(), 4);
        pack_all(to.path(), third.path()).expect("packed");
        assert!(refused(third.path()).contains("other games"));
        // As many games, but not the same.
        let (other, packed) = (folder(), folder());
        let mut writer = ShardWriter::open(other.path(), HEADER).expect("a shard");
        for _ in 0..3 {
            writer.add(&short_game()).expect("room");
        }
        pack_all(other.path(), packed.path()).expect("packed");
        assert!(refused(packed.path()).contains("other games"));
        let twice = [path.clone(), third.path().join(HEADER.file_name())];
        let error = pack(&twice, folder().path(), |_| ()).expect_err("one name");
        assert!(error.to_string().contains("different folders"), "{error}");
    }
}
