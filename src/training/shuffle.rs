//! Turns games into samples: filtered, each position once, in random order across all games.
//!
//! Usable positions are numbered in the order of the games. Number and seed give each a random key; samples
//! are written in the order of their keys. So the file depends on games, filter and seed, never on the memory.
//!
//! Samples that do not fit into memory go through bucket files twice: split by position, so that duplicates
//! meet, and then by key, so that each bucket is sorted by itself.

use std::collections::HashSet;
use std::fs;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use fastrand::Rng;

use super::buckets::{BucketFolder, ENTRY, Entry};
use super::filter::Filter;
use super::sample::{Sample, write_head, write_sample};
use super::selfplay::mixed;
use super::shard::{ShardError, ShardReader, failed, other};
use crate::files::{AtomicFile, check_apart};

/// Out of this many games …
const VALIDATION_OF: u64 = 100;
/// The memory of a sample without buckets: its entry, and a hash in a table that grows.
const BYTES_IN_MEMORY: u64 = ENTRY as u64 + 32;
/// The memory of a sample in the largest bucket: its entry or its hash, and the variation of sizes.
const BYTES_IN_BUCKET: u64 = ENTRY as u64 + 8;
/// The most buckets: each is an open file with a buffer.
const MOST_BUCKETS: u64 = 200;

/// The settings of the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShuffleOptions {
    pub filter: Filter,
    /// The percentage of games for validation.
    pub validation: u64,
    /// Whether to keep duplicate positions.
    pub keep_duplicates: bool,
    pub seed: u64,
    /// The memory to use, in bytes. It does not change the samples or their order.
    pub memory: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shuffled {
    pub games: u64,
    pub samples: u64,
    /// The validation samples.
    pub validation: u64,
    /// Duplicate positions that were left out.
    pub duplicates: u64,
    /// The bucket files of each pass; 1 if everything fitted into memory.
    pub buckets: usize,
}

/// Writes the samples of all games of `shards` to `out` atomically, until `stop` is set. Calls `on_progress` with
/// the number of steps done and of all.
///
/// # Errors
///
/// The first flaw of a shard, too little memory, a failure to write `out` or its bucket files, or a stop.
pub fn shuffle(
    shards: &[PathBuf],
    out: &Path,
    options: &ShuffleOptions,
    stop: &AtomicBool,
    mut on_progress: impl FnMut(u64, u64),
) -> Result<Shuffled, ShardError> {
    let folder = out.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).map_err(failed(folder, "cannot be made"))?;
    check_apart(out, shards).map_err(failed(out, "cannot be written"))?;
    // From here on no other run can begin this file.
    let mut file = AtomicFile::create(out).map_err(failed(out, "cannot be written"))?;
    let mut plies = 0_u64;
    for path in shards {
        plies = plies.saturating_add(ShardReader::open(path)?.most_plies());
    }
    let buckets = buckets(plies, options.memory).map_err(other(out))?;
    let passes = if buckets == 1 || options.keep_duplicates {
        1
    } else {
        2
    };
    let mut run = Run {
        shards,
        options,
        stop,
        on_progress: &mut on_progress,
        done: 0,
        steps: shards.len() as u64 + passes * buckets as u64,
        made: Shuffled {
            buckets,
            ..Shuffled::default()
        },
    };
    if buckets == 1 {
        BucketFolder::remove(out)?;
        run.in_memory(out, &mut file)?;
    } else {
        run.in_buckets(out, buckets, &mut file)?;
    }
    file.commit().map_err(failed(out, "cannot be written"))?;
    Ok(run.made)
}

/// The number of buckets for games of this many plies.
fn buckets(plies: u64, memory: u64) -> Result<usize, String> {
    if plies.saturating_mul(BYTES_IN_MEMORY) <= memory {
        return Ok(1);
    }
    // The rest is for buffers, games and the program.
    let of_bucket = (memory / 4 * 3).max(1);
    let needed = plies.saturating_mul(BYTES_IN_BUCKET);
    let buckets = needed.div_ceil(of_bucket).max(2);
    if buckets > MOST_BUCKETS {
        let least = ((needed / MOST_BUCKETS / 3 * 4) >> 20) + 1;
        return Err(format!(
            "needs --memory {least} for games of {plies} plies: there are {MOST_BUCKETS} bucket files at most"
        ));
    }
    Ok(buckets as usize)
}

/// The positions met so far.
#[derive(Debug, Default)]
struct Seen {
    hashes: HashSet<u64>,
}

impl Seen {
    fn is_new(&mut self, sample: &Sample) -> bool {
        self.hashes.insert(hash(sample))
    }
}

/// A hash of the position, without its labels.
fn hash(sample: &Sample) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(sample.board())
}

impl Shuffled {
    /// Counts a sample that stays.
    fn keep(&mut self, sample: &Sample) {
        self.samples += 1;
        self.validation += u64::from(sample.is_for_validation());
    }

    /// Whether a position is met for the first time; counts it either way.
    fn admits(&mut self, sample: &Sample, seen: &mut Seen) -> bool {
        let is_new = seen.is_new(sample);
        if is_new {
            self.keep(sample);
        } else {
            self.duplicates += 1;
        }
        is_new
    }
}

struct Run<'a> {
    shards: &'a [PathBuf],
    options: &'a ShuffleOptions,
    stop: &'a AtomicBool,
    on_progress: &'a mut dyn FnMut(u64, u64),
    done: u64,
    steps: u64,
    made: Shuffled,
}

impl Run<'_> {
    fn in_memory(&mut self, out: &Path, file: &mut AtomicFile) -> Result<(), ShardError> {
        let (mut entries, mut seen) = (Vec::new(), Seen::default());
        let keep_duplicates = self.options.keep_duplicates;
        self.read_games(out, |made, entry| {
            if keep_duplicates {
                made.keep(&entry.sample);
                entries.push(entry);
            } else if made.admits(&entry.sample, &mut seen) {
                entries.push(entry);
            }
            Ok(())
        })?;
        drop(seen);
        write_head(file, entries.len() as u64)
            .and_then(|()| write_sorted(file, &mut entries))
            .map_err(failed(out, "cannot be written"))?;
        self.step();
        Ok(())
    }

    fn in_buckets(
        &mut self,
        out: &Path,
        count: usize,
        file: &mut AtomicFile,
    ) -> Result<(), ShardError> {
        let fail = || failed(out, "cannot be made");
        let folder = BucketFolder::new(out)?;
        let mut by_key = folder.buckets("key", count).map_err(fail())?;
        if self.options.keep_duplicates {
            self.read_games(out, |made, entry| {
                made.keep(&entry.sample);
                by_key.add(bucket_of(entry.key, count), entry)
            })?;
        } else {
            let mut by_position = folder.buckets("position", count).map_err(fail())?;
            self.read_games(out, |_, entry| {
                by_position.add(bucket_of(hash(&entry.sample), count), entry)
            })?;
            for bucket in by_position.finish().map_err(fail())? {
                let mut seen = Seen::default();
                let distribute = |entry: Entry| {
                    self.go_on()?;
                    if self.made.admits(&entry.sample, &mut seen) {
                        by_key.add(bucket_of(entry.key, count), entry)?;
                    }
                    Ok(())
                };
                bucket.read(distribute).map_err(fail())?;
                self.step();
            }
        }
        write_head(file, self.made.samples).map_err(fail())?;
        for bucket in by_key.finish().map_err(fail())? {
            self.go_on().map_err(fail())?;
            let mut entries = bucket.load().map_err(fail())?;
            write_sorted(file, &mut entries).map_err(fail())?;
            self.step();
        }
        Ok(())
    }

    /// Passes every usable position to `take`.
    fn read_games(
        &mut self,
        out: &Path,
        mut take: impl FnMut(&mut Shuffled, Entry) -> io::Result<()>,
    ) -> Result<(), ShardError> {
        let fail = || failed(out, "cannot be made");
        let mut number = 0;
        for path in self.shards {
            let mut reader = ShardReader::open(path)?;
            let header = reader.header();
            while let Some(game) = reader.next()? {
                self.go_on().map_err(fail())?;
                let id = header.seed
                    ^ (header.first + reader.games()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let is_apart = Rng::with_seed(id).u64(..VALIDATION_OF) < self.options.validation;
                let usable = self.options.filter.usable(&game);
                let illegal = |ply| reader.broken(format!("move {ply} is illegal"));
                for usable in usable.map_err(illegal)? {
                    let sample = Sample::of(
                        &usable.position,
                        usable.label,
                        game.result,
                        usable.ply,
                        is_apart,
                    );
                    let key = mixed(self.options.seed, number);
                    number += 1;
                    take(&mut self.made, Entry { key, sample }).map_err(fail())?;
                }
                self.made.games += 1;
            }
            self.step();
        }
        Ok(())
    }

    fn step(&mut self) {
        self.done += 1;
        (self.on_progress)(self.done, self.steps);
    }

    fn go_on(&self) -> io::Result<()> {
        if self.stop.load(Relaxed) {
            return Err(io::Error::other("the run was stopped"));
        }
        Ok(())
    }
}

/// The bucket of a number: equal parts of all numbers, in order.
fn bucket_of(number: u64, count: usize) -> usize {
    ((u128::from(number) * count as u128) >> 64) as usize
}

fn write_sorted(file: &mut impl io::Write, entries: &mut [Entry]) -> io::Result<()> {
    entries.sort_unstable_by_key(|entry| entry.key);
    entries
        .iter()
        .try_for_each(|entry| write_sample(file, &entry.sample))
}

#[cfg(test)]
mod tests {
    use super::super::record::GameResult;
    use super::super::shard::{ShardHeader, ShardWriter};
    use super::super::tests::{ending, game_by};
    use super::super::{find_shards, read_samples};
    use super::*;
    use crate::rules::Position;

    /// Enough for all games of these tests.
    const PLENTY: u64 = 1 << 30;
    /// Enough for some buckets.
    const SCANT: u64 = 60 << 10;

    /// Three files of random games, in which some positions occur more than once.
    fn games() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let mut rng = Rng::with_seed(3);
        for first in [0, 40, 80] {
            let header = ShardHeader {
                seed: 5,
                first,
                nodes: 50,
            };
            let mut writer = ShardWriter::open(folder.path(), header).expect("a shard");
            for number in 0..40 {
                let start = if number < 8 { ending().start } else { None };
                let choices: Vec<(u8, i16)> =
                    (0..40).map(|_| (rng.u8(..4), rng.i16(-900..900))).collect();
                let start = start.map_or_else(Position::default, |start| *start);
                let game = game_by(start, &choices, GameResult::Drawn);
                writer.add(&game).expect("room");
            }
        }
        folder
    }

    fn options(memory: u64) -> ShuffleOptions {
        ShuffleOptions {
            filter: Filter::default(),
            validation: 20,
            keep_duplicates: false,
            seed: 9,
            memory,
        }
    }

    fn run(folder: &Path, options: &ShuffleOptions) -> Result<Shuffled, ShardError> {
        let shards = find_shards(&[folder.to_owned()]).expect("shards");
        let (mut last, mut all) = (0, 0);
        let never = AtomicBool::new(false);
        let made = shuffle(
            &shards,
            &folder.join("out"),
            options,
            &never,
            |done, steps| {
                assert_eq!(done, last + 1);
                (last, all) = (done, steps);
            },
        )?;
        assert_eq!(last, all, "all steps were reported");
        Ok(made)
    }

    fn out(folder: &Path) -> Vec<Sample> {
        read_samples(&folder.join("out")).expect("samples")
    }

    /// The samples by the definition: all, or the first of each position, in the order of the games.
    fn expected(folder: &Path, keep_duplicates: bool) -> Vec<[u8; Sample::SIZE]> {
        let (mut samples, mut boards) = (Vec::new(), HashSet::new());
        for path in find_shards(&[folder.to_owned()]).expect("shards") {
            let mut reader = ShardReader::open(&path).expect("a shard");
            while let Some(game) = reader.next().expect("whole games") {
                for usable in Filter::default().usable(&game).expect("legal moves") {
                    let (label, ply) = (usable.label, usable.ply);
                    let sample = Sample::of(&usable.position, label, game.result, ply, false);
                    if keep_duplicates || boards.insert(sample.board()) {
                        samples.push(*sample.bytes());
                    }
                }
            }
        }
        samples.sort_unstable();
        samples
    }

    /// The samples without the mark of those for validation, in order of their bytes.
    fn plain(samples: &[Sample]) -> Vec<[u8; Sample::SIZE]> {
        let mut plain: Vec<_> = samples.iter().map(|sample| *sample.bytes()).collect();
        for sample in &mut plain {
            sample[27] = 0;
        }
        plain.sort_unstable();
        plain
    }

    #[test]
    fn a_missing_folder_is_made_before_the_games_are_read() {
        let folder = games();
        let shards = find_shards(&[folder.path().to_owned()]).expect("shards");
        for (name, memory) in [("whole", PLENTY), ("split", SCANT)] {
            let place = folder.path().join(name);
            let out = place.join("out");
            let never = AtomicBool::new(false);
            let made = shuffle(&shards, &out, &options(memory), &never, |_, _| {
                assert!(place.is_dir(), "{name}");
            });
            assert!(made.is_ok() && out.is_file(), "{name}: {made:?}");
        }
    }

    #[test]
    fn the_file_is_the_same_with_any_memory_and_has_the_first_of_each_position() {
        let folder = games();
        for keep_duplicates in [false, true] {
            let with = |memory| ShuffleOptions {
                keep_duplicates,
                ..options(memory)
            };
            let whole = run(folder.path(), &with(PLENTY)).expect("samples");
            let samples = out(folder.path());
            assert_eq!(whole.buckets, 1);
            assert_eq!(plain(&samples), expected(folder.path(), keep_duplicates));
            let all = expected(folder.path(), true).len();
            assert_eq!(whole.duplicates as usize, all - samples.len());
            assert_eq!(whole.duplicates == 0, keep_duplicates);
            let apart = samples.iter().filter(|sample| sample.is_for_validation());
            assert_eq!(whole.validation as usize, apart.count());
            for memory in [SCANT, 2 * SCANT] {
                let split = run(folder.path(), &with(memory)).expect("samples");
                assert!(split.buckets >= 3, "{split:?}");
                let buckets = whole.buckets;
                assert_eq!(Shuffled { buckets, ..split }, whole);
                assert_eq!(out(folder.path()), samples);
            }
        }
    }

    #[test]
    fn another_seed_gives_another_order_of_the_same_samples() {
        let folder = games();
        run(folder.path(), &options(SCANT)).expect("samples");
        let one = out(folder.path());
        let other = ShuffleOptions {
            seed: 10,
            ..options(SCANT)
        };
        run(folder.path(), &other).expect("samples");
        let other = out(folder.path());
        assert_ne!(one, other);
        assert_eq!(plain(&one), plain(&other));
        let rising = one.windows(2).filter(|pair| pair[0].ply() < pair[1].ply());
        let share = rising.count() as f64 / one.len() as f64;
        assert!((0.4..0.6).contains(&share), "in random order: {share}");
    }

    #[test]
    fn temporary_files_are_gone_after_success_stop_and_error() {
        let folder = games();
        let buckets = folder.path().join("out.buckets");
        let left = || buckets.exists() || folder.path().join("out.part").exists();
        let leave = || {
            fs::create_dir(&buckets).expect("a folder");
            fs::write(buckets.join("position-0199.bucket"), "of a killed run").expect("a file");
        };
        leave();
        run(folder.path(), &options(PLENTY)).expect("samples");
        assert!(!left());
        leave();
        let shards = find_shards(&[folder.path().to_owned()]).expect("shards");
        let stop = AtomicBool::new(false);
        let shuffled = |stop_at: u64| {
            stop.store(false, Relaxed);
            let made = shuffle(
                &shards,
                &folder.path().join("out"),
                &options(SCANT),
                &stop,
                |done, _| {
                    assert!(buckets.exists());
                    stop.store(done == stop_at, Relaxed);
                },
            );
            assert!(!left());
            made
        };
        let made = shuffled(0).expect("samples");
        let files = shards.len() as u64;
        for stop_at in [1, files, files + made.buckets as u64] {
            let error = shuffled(stop_at).expect_err("stopped").to_string();
            assert!(
                error.contains("out: cannot be made: the run was stopped"),
                "{error}"
            );
        }
        let mut bytes = fs::read(&shards[2]).expect("a file");
        bytes[100] ^= 1;
        fs::write(&shards[2], &bytes).expect("a file");
        let error = shuffled(0).expect_err("a flaw").to_string();
        assert!(error.contains(&shards[2].display().to_string()), "{error}");
    }

    #[test]
    fn an_output_that_cannot_be_written_is_found_before_the_games_are_read() {
        let folder = games();
        let shards = [folder.path().join("missing.games")];
        let refused = |out: &Path| {
            let never = AtomicBool::new(false);
            let made = shuffle(&shards, out, &options(PLENTY), &never, |_, _| ());
            made.expect_err("refused").to_string()
        };
        let error = refused(folder.path());
        assert!(error.contains("cannot be written"), "{error}");
        let out = folder.path().join("out");
        let other = AtomicFile::create(&out).expect("a file");
        let error = refused(&out);
        assert!(error.contains("another process"), "{error}");
        drop(other);
        let error = refused(&out);
        assert!(error.contains("missing.games"), "{error}");
    }

    #[test]
    fn too_little_memory_is_refused_with_what_is_needed() {
        let error = buckets(3_000_000_000, 64 << 20).expect_err("too little");
        assert!(error.contains("needs --memory 916 for"), "{error}");
        assert_eq!(buckets(3_000_000_000, 916 << 20), Ok(200));
        assert_eq!(buckets(28_000_000, 2048 << 20), Ok(1));
        assert_eq!(buckets(280_000_000, 2048 << 20), Ok(9));
        assert_eq!(buckets(0, 0), Ok(1));
    }
}
