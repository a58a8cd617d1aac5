//! Bucket files: samples on disk, split so that each part fits into memory.
//!
//! They are in a folder beside the output, which is removed on success and on an error. A killed run leaves it
//! behind; the next run for the same output removes its files. Errors name the file.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use super::folder::{FolderLock, lock};
use super::sample::Sample;
use super::shard::{ShardError, failed};

/// The buffer of each file, in bytes.
const BUFFER: usize = 128 << 10;
/// The bytes of an entry: key and sample.
pub(super) const ENTRY: usize = 8 + Sample::SIZE;
/// The ending of the folder, after the name of the output.
const FOLDER: &str = "buckets";
/// The extension of a bucket file.
const ENDING: &str = "bucket";

/// A sample with its place in the random order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: u64,
    pub(super) sample: Sample,
}

impl Entry {
    fn to_bytes(self) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        bytes[..8].copy_from_slice(&self.key.to_le_bytes());
        bytes[8..].copy_from_slice(self.sample.bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; ENTRY]) -> Entry {
        let (mut key, mut sample) = ([0; 8], [0; Sample::SIZE]);
        key.copy_from_slice(&bytes[..8]);
        sample.copy_from_slice(&bytes[8..]);
        Entry {
            key: u64::from_le_bytes(key),
            sample: Sample::from_bytes(sample),
        }
    }
}

/// The folder of the bucket files of one run.
#[derive(Debug)]
pub(super) struct BucketFolder {
    path: PathBuf,
    /// Locks other processes out.
    _lock: FolderLock,
}

impl BucketFolder {
    /// Removes what a killed run for this output file has left.
    pub(super) fn remove(out: &Path) -> Result<(), ShardError> {
        if out.with_added_extension(FOLDER).exists() {
            drop(BucketFolder::new(out)?);
        }
        Ok(())
    }

    /// Makes the folder for an output file, or empties that of a killed run.
    pub(super) fn new(out: &Path) -> Result<BucketFolder, ShardError> {
        let path = out.with_added_extension(FOLDER);
        fs::create_dir_all(&path).map_err(failed(&path, "cannot be made"))?;
        let folder = BucketFolder {
            _lock: lock(&path)?,
            path,
        };
        let emptied = folder.empty();
        emptied.map_err(failed(&folder.path, "cannot be emptied"))?;
        Ok(folder)
    }

    /// Creates this many bucket files.
    pub(super) fn buckets(&self, kind: &str, count: usize) -> io::Result<Buckets> {
        let create = |number| {
            let path = self.path.join(format!("{kind}-{number:04}.{ENDING}"));
            let file = File::create(&path).map_err(naming(&path))?;
            Ok(BucketWriter {
                file: BufWriter::with_capacity(BUFFER, file),
                bucket: Bucket { path, entries: 0 },
            })
        };
        let files = (0..count).map(create).collect::<io::Result<Vec<_>>>()?;
        Ok(Buckets { files })
    }

    fn empty(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == ENDING) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

impl Drop for BucketFolder {
    fn drop(&mut self) {
        // What cannot be removed stays; the next run for the same output removes it.
        let _ = self.empty();
        let _ = fs::remove_file(self.path.join("lock"));
        let _ = fs::remove_dir(&self.path);
    }
}

/// Bucket files open for writing.
#[derive(Debug)]
pub(super) struct Buckets {
    files: Vec<BucketWriter>,
}

#[derive(Debug)]
struct BucketWriter {
    file: BufWriter<File>,
    bucket: Bucket,
}

impl Buckets {
    /// Adds an entry to the bucket of this number.
    pub(super) fn add(&mut self, number: usize, entry: Entry) -> io::Result<()> {
        let writer = &mut self.files[number];
        let written = writer.file.write_all(&entry.to_bytes());
        written.map_err(naming(&writer.bucket.path))?;
        writer.bucket.entries += 1;
        Ok(())
    }

    /// Completes the files.
    pub(super) fn finish(self) -> io::Result<Vec<Bucket>> {
        let finish = |mut writer: BucketWriter| {
            writer.file.flush().map_err(naming(&writer.bucket.path))?;
            Ok(writer.bucket)
        };
        self.files.into_iter().map(finish).collect()
    }
}

/// A complete bucket file.
#[derive(Debug)]
pub(super) struct Bucket {
    path: PathBuf,
    entries: u64,
}

impl Bucket {
    /// Passes the entries to `take` in the order in which they were added, and removes the file.
    pub(super) fn read(self, mut take: impl FnMut(Entry) -> io::Result<()>) -> io::Result<()> {
        let named = || naming(&self.path);
        let file = File::open(&self.path).map_err(named())?;
        let mut file = BufReader::with_capacity(BUFFER, file);
        let mut bytes = [0; ENTRY];
        for _ in 0..self.entries {
            file.read_exact(&mut bytes).map_err(named())?;
            take(Entry::from_bytes(&bytes))?;
        }
        fs::remove_file(&self.path).map_err(named())
    }

    /// Reads all entries into memory, and removes the file.
    pub(super) fn load(self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::with_capacity(self.entries as usize);
        self.read(|entry| {
            entries.push(entry);
            Ok(())
        })?;
        Ok(entries)
    }
}

/// Adds the path to an error.
fn naming(path: &Path) -> impl FnOnce(io::Error) -> io::Error + use<> {
    let path = path.to_owned();
    move |error| {
        let kind = match error.kind() {
            // Callers would try again.
            ErrorKind::Interrupted => ErrorKind::Other,
            kind => kind,
        };
        io::Error::new(kind, format!("{}: {error}", path.display()))
    }
}
