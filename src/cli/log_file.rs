//! The file of `[log] file`: a new one each day (UTC), of which a few are kept.
//!
//! A disk that fails, or a day of too many lines, costs lines of this file, never the log on stderr.

use std::error::Error as _;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use megaton::archive::dates;
use tracing_appender::rolling::{RollingFileAppender, Rotation};

use super::failure::{Failure, OrFailure as _};
use super::writable::fault_in_folder;

/// Bytes of a day's file: a fault that repeats itself for a day must not fill the disk.
const MOST_A_DAY: u64 = 256 << 20;

/// Opens the file of today, `PATH.yyyy-mm-dd`, to which `path` becomes a link. At most `kept` of them
/// remain. None if the disk is full: that must not keep the bot from playing.
pub(super) fn open(
    path: &Path,
    kept: usize,
) -> Result<Option<impl Write + Send + 'static>, Failure> {
    let what = cannot_write(path);
    // The link must lead to the file from wherever it is read.
    let path = std::path::absolute(path).or_setup(&what)?;
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Failure::setup(format!("{what}: it names no file")));
    };
    if let Some(fault) = fault_in_link(&path) {
        return Err(Failure::setup(format!("{what}: {fault}")));
    }
    let name = name.to_string_lossy();
    match open_today(folder, &name, kept) {
        Ok(file) => {
            let written = path.metadata().map_or(0, |file| file.len());
            Ok(Some(ReportingWriter::new(file, written)))
        }
        Err(error) if is_full(&error) => {
            let _ = writeln!(io::stderr().lock(), "megaton: warning: {what}: {error}");
            Ok(None)
        }
        Err(error) => Err(Failure::setup(format!("{what}: {error}"))),
    }
}

fn open_today(folder: &Path, name: &str, kept: usize) -> io::Result<RollingFileAppender> {
    fs::create_dir_all(folder)?;
    let file = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix(name)
        .latest_symlink(name)
        .max_log_files(kept)
        .build(folder);
    file.map_err(|error| {
        let cause = error.source();
        let cause = cause.and_then(|cause| cause.downcast_ref::<io::Error>());
        io::Error::new(cause.map_or(ErrorKind::Other, io::Error::kind), error)
    })
}

/// Fails with a reason if `open` could not write there. Creates nothing.
pub(super) fn check(path: &Path) -> Result<(), String> {
    let fault = fault_in_link(path).map(str::to_owned);
    let fault = fault.or_else(|| fault_in_folder(path.parent()?));
    let failed = |fault: String| Err(format!("{}: {fault}", cannot_write(path)));
    fault.map_or(Ok(()), failed)
}

/// How a message about this file begins.
fn cannot_write(path: &Path) -> String {
    format!("[log] file: cannot write to {}", path.display())
}

/// Why no link can be put there, if so.
fn fault_in_link(path: &Path) -> Option<&'static str> {
    let is_other = path.symlink_metadata().is_ok_and(|it| !it.is_symlink());
    is_other.then_some("a link to the file of the day would replace what is there; move it away")
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

fn today() -> u64 {
    dates::now() / dates::DAY
}

/// Takes [`MOST_A_DAY`] bytes a day, and logs the first of consecutive failures to write.
struct ReportingWriter<W> {
    inner: W,
    failing: bool,
    /// Days since the epoch.
    day: u64,
    /// Bytes of that day's file; `u64::MAX` once a line was left out.
    written: u64,
}

impl<W> ReportingWriter<W> {
    fn new(inner: W, written: u64) -> Self {
        Self {
            inner,
            failing: false,
            day: today(),
            written,
        }
    }

    /// Whether this much more is written on this day.
    fn admits(&mut self, bytes: usize, day: u64) -> bool {
        let before = if self.day == day { self.written } else { 0 };
        let written = before.saturating_add(bytes as u64);
        let admits = written <= MOST_A_DAY;
        self.day = day;
        // A shorter line that would fit must not follow a gap.
        self.written = if admits { written } else { u64::MAX };
        admits
    }
}

impl<W: Write> Write for ReportingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if self.admits(bytes.len(), today()) {
            self.inner.write(bytes)
        } else {
            let full = format!(
                "{} MB are the most of a day, the next begins at midnight UTC",
                MOST_A_DAY >> 20
            );
            Err(io::Error::new(ErrorKind::QuotaExceeded, full))
        };
        // Before the line that reports it comes back here.
        let failed_before = std::mem::replace(&mut self.failing, written.is_err());
        if let Err(error) = &written
            && !failed_before
        {
            tracing::error!(
                %error,
                "[log] file: cannot be written, lines are lost; the log on stderr continues"
            );
        }
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_day_takes_no_more_lines_and_the_next_day_does() {
        let day = today();
        let mut file = ReportingWriter::new(io::sink(), MOST_A_DAY - 100);
        assert!(file.admits(60, day));
        assert!(!file.admits(60, day));
        assert!(!file.admits(1, day), "lines after a gap");
        assert!(file.admits(60, day + 1));
        let mut full = ReportingWriter::new(Vec::<u8>::new(), MOST_A_DAY);
        let error = full.write(b"one more").unwrap_err();
        assert_eq!(
            error.to_string(),
            "256 MB are the most of a day, the next begins at midnight UTC"
        );
        assert!(full.inner.is_empty());
    }
}
