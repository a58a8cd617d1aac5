//! The file of `[log] file`: a new one each day (UTC), of which a few are kept.
//!
//! A disk that fails costs lines of this file, never the log on stderr.

use std::error::Error as _;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use tracing_appender::rolling::{RollingFileAppender, Rotation};

use super::failure::{Failure, OrFailure as _};

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
        Ok(file) => Ok(Some(ReportingWriter::new(file))),
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

/// How a message about this file begins.
pub(super) fn cannot_write(path: &Path) -> String {
    format!("[log] file: cannot write to {}", path.display())
}

/// Why no link can be put there, if so.
pub(super) fn fault_in_link(path: &Path) -> Option<&'static str> {
    let is_other = path.symlink_metadata().is_ok_and(|it| !it.is_symlink());
    is_other.then_some("a link to the file of the day would replace what is there; move it away")
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

/// Logs the first of consecutive failures to write.
struct ReportingWriter<W> {
    inner: W,
    failing: bool,
}

impl<W> ReportingWriter<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            failing: false,
        }
    }
}

impl<W: Write> Write for ReportingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes);
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
