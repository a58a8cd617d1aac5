//! A file about each panic, for the search for its cause.
//!
//! The panicking thread notes where it is and goes on; a thread of its own writes the file. Nothing here
//! panics or makes a game wait. A report has the latest lines of the log, and no secret that the log
//! has not.

use std::backtrace::Backtrace;
use std::collections::{HashMap, VecDeque};
use std::env::consts::{ARCH, OS};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::panic::{self, PanicHookInfo};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use time::OffsetDateTime;
use time::macros::format_description;
use tokio::sync::broadcast;

/// Reports kept in a folder.
const MOST_KEPT: usize = 20;
/// How long a panic at the same place gets no further report.
const SAME_PLACE: Duration = Duration::from_secs(3600);
/// How long the log has for the lines that follow a panic: they say which task failed.
const AFTERMATH: Duration = Duration::from_millis(300);
/// How long the program waits at its end for reports.
const AT_END: Duration = Duration::from_secs(2);
/// Panics that may wait for the thread.
const MOST_WAITING: usize = 8;
/// Latest lines of the log in a report, and the bytes of each.
const LINES: usize = 60;
const LINE_BYTES: usize = 1000;

const PREFIX: &str = "crash-";
const SUFFIX: &str = ".txt";

/// The latest lines of the log. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct RecentLines(Arc<Mutex<VecDeque<Vec<u8>>>>);

impl RecentLines {
    /// A writer that notes each line before it passes it on.
    pub fn noting<W: Write>(&self, inner: W) -> impl Write + use<W> {
        NotingWriter {
            lines: self.clone(),
            inner,
        }
    }

    fn note(&self, line: &[u8]) {
        let mut lines = self.0.lock();
        if lines.len() >= LINES {
            lines.pop_front();
        }
        lines.push_back(line[..line.len().min(LINE_BYTES)].to_vec());
    }

    /// Each line without the escape sequences of a terminal.
    fn plain(&self) -> Vec<String> {
        let lines = self.0.lock().clone();
        let plain = |line: Vec<u8>| {
            let text = String::from_utf8_lossy(&line).into_owned();
            let mut parts = text.split('\u{1b}');
            let first = parts.next().unwrap_or_default().to_owned();
            let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, text)| text));
            (first + &rest.collect::<String>()).trim_end().to_owned()
        };
        lines.into_iter().map(plain).collect()
    }
}

struct NotingWriter<W> {
    lines: RecentLines,
    inner: W,
}

impl<W: Write> Write for NotingWriter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.lines.note(line);
        self.inner.write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A panic, as its thread saw it.
struct Crash {
    at: SystemTime,
    thread: String,
    place: String,
    message: String,
    /// None while the thread that reads backtraces is busy: both would wait for one lock.
    backtrace: Option<Backtrace>,
}

enum ReportRequest {
    Write(Box<Crash>),
    /// Answers once everything before it is written.
    Settle(SyncSender<()>),
}

/// The thread that writes reports. Dropping it waits a moment for those of the last panics.
#[derive(Debug)]
pub struct CrashReports(SyncSender<ReportRequest>);

impl CrashReports {
    /// From now on every panic of this process is reported in `folder`, which need not exist yet, after
    /// whatever has been done about panics so far. The receiver, and whoever subscribes anew with it, gets the
    /// path of each report.
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(
        folder: PathBuf,
        recent: RecentLines,
    ) -> io::Result<(Self, broadcast::Receiver<PathBuf>)> {
        let (sender, requests) = sync_channel(MOST_WAITING);
        let (written, paths) = broadcast::channel(MOST_WAITING);
        let busy = Arc::new(AtomicBool::new(false));
        let writer = ReportWriter {
            folder,
            recent,
            busy: Arc::clone(&busy),
            written,
        };
        let thread = thread::Builder::new().name("crash-reports".to_owned());
        thread.spawn(move || writer.run(&requests))?;
        set_hook(sender.clone(), busy);
        Ok((Self(sender), paths))
    }
}

impl Drop for CrashReports {
    fn drop(&mut self) {
        let (done, settled) = sync_channel(1);
        if self.0.try_send(ReportRequest::Settle(done)).is_ok() {
            // Whether or not it was in time, the program ends.
            let _ = settled.recv_timeout(AT_END);
        }
    }
}

fn set_hook(sender: SyncSender<ReportRequest>, busy: Arc<AtomicBool>) {
    let earlier = panic::take_hook();
    let reported = Mutex::new(HashMap::<String, Instant>::new());
    panic::set_hook(Box::new(move |panic| {
        earlier(panic);
        let place = panic.location().map(ToString::to_string);
        let place = place.unwrap_or_else(|| "unknown".to_owned());
        let now = Instant::now();
        let mut known = reported.lock();
        let is_recent = |last: &Instant| now.saturating_duration_since(*last) < SAME_PLACE;
        if known.get(&place).is_some_and(is_recent) {
            return;
        }
        known.insert(place.clone(), now);
        drop(known);
        let crash = Crash::new(panic, place, &busy);
        // A full queue loses a report.
        let _ = sender.try_send(ReportRequest::Write(Box::new(crash)));
    }));
}

impl Crash {
    fn new(panic: &PanicHookInfo<'_>, place: String, busy: &AtomicBool) -> Self {
        let thread = thread::current();
        Self {
            at: SystemTime::now(),
            thread: thread.name().unwrap_or("without a name").to_owned(),
            place,
            message: panic
                .payload_as_str()
                .unwrap_or("no reason given")
                .to_owned(),
            backtrace: (!busy.load(Ordering::Relaxed)).then(Backtrace::force_capture),
        }
    }
}

struct ReportWriter {
    folder: PathBuf,
    recent: RecentLines,
    busy: Arc<AtomicBool>,
    written: broadcast::Sender<PathBuf>,
}

impl ReportWriter {
    fn run(self, requests: &Receiver<ReportRequest>) {
        for request in requests {
            let crash = match request {
                ReportRequest::Write(crash) => crash,
                ReportRequest::Settle(done) => {
                    let _ = done.send(());
                    continue;
                }
            };
            thread::sleep(AFTERMATH);
            self.busy.store(true, Ordering::Relaxed);
            let written = self.write(&crash);
            self.busy.store(false, Ordering::Relaxed);
            match written {
                Ok(path) => {
                    tracing::error!(path = %path.display(), "crash report written");
                    let _ = self.written.send(path);
                }
                Err(error) => tracing::error!(%error, "cannot write a crash report"),
            }
        }
    }

    fn write(&self, crash: &Crash) -> io::Result<PathBuf> {
        fs::create_dir_all(&self.folder)?;
        let (mut file, path) = create(&self.folder, crash.at)?;
        file.write_all(self.text(crash).as_bytes())?;
        for old in crash_reports(&self.folder).iter().skip(MOST_KEPT) {
            fs::remove_file(old)?;
        }
        Ok(path)
    }

    fn text(&self, crash: &Crash) -> String {
        let at = OffsetDateTime::from(crash.at);
        let build = if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        };
        let backtrace = crash.backtrace.as_ref().map(ToString::to_string);
        format!(
            "megaton {version}, {build}, {OS} {ARCH}\n\
             time:    {at}\n\
             process: {process}\n\
             thread:  {thread}\n\
             place:   {place}\n\
             message: {message}\n\n\
             Backtrace:\n{backtrace}\n\n\
             Latest lines of the log:\n{lines}\n",
            version = env!("CARGO_PKG_VERSION"),
            process = std::process::id(),
            thread = crash.thread,
            place = crash.place,
            message = crash.message,
            backtrace = backtrace
                .as_deref()
                .unwrap_or("none: several panics at once"),
            lines = self.recent.plain().join("\n"),
        )
    }
}

/// A file that does not exist yet, named by this time.
fn create(folder: &Path, at: SystemTime) -> io::Result<(File, PathBuf)> {
    let format = format_description!("[year][month][day]-[hour][minute][second]");
    let at = OffsetDateTime::from(at).format(&format);
    let at = at.map_err(io::Error::other)?;
    let mut number = 1;
    loop {
        let path = folder.join(format!("{PREFIX}{at}-{number}{SUFFIX}"));
        let mut options = OpenOptions::new();
        match options.write(true).create_new(true).mode(0o600).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < 9 => number += 1,
            opened => return Ok((opened?, path)),
        }
    }
}

/// The reports in a folder, the latest first.
pub fn crash_reports(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_report = |name: &str| name.starts_with(PREFIX) && name.ends_with(SUFFIX);
    let reports = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_report));
    let mut reports: Vec<PathBuf> = reports.map(|entry| entry.path()).collect();
    reports.sort_unstable_by(|a, b| b.cmp(a));
    reports
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(folder: &Path) -> ReportWriter {
        ReportWriter {
            folder: folder.to_owned(),
            recent: RecentLines::default(),
            busy: Arc::default(),
            written: broadcast::channel(1).0,
        }
    }

    fn crash(at: u64) -> Crash {
        Crash {
            at: SystemTime::UNIX_EPOCH + Duration::from_secs(at),
            thread: "search".to_owned(),
            place: "src/engine/x.rs:1:2".to_owned(),
            message: "an injected fault".to_owned(),
            backtrace: Some(Backtrace::force_capture()),
        }
    }

    #[test]
    fn a_report_has_the_panic_its_backtrace_and_the_latest_lines_of_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let writer = writer(&folder.path().join("data"));
        let mut log = writer.recent.noting(io::sink());
        for number in 0..=LINES {
            let line = format!("\u{1b}[2mline {number}\u{1b}[0m of the log\n");
            log.write_all(line.as_bytes()).unwrap();
        }
        log.write_all("é".repeat(5000).as_bytes()).unwrap();
        let path = writer.write(&crash(0)).unwrap();
        let name = path.file_name().and_then(|name| name.to_str());
        assert_eq!(name, Some("crash-19700101-000000-1.txt"));
        let text = fs::read_to_string(path).unwrap();
        for part in [
            concat!("megaton ", env!("CARGO_PKG_VERSION")),
            "1970-01-01",
            "thread:  search",
            "place:   src/engine/x.rs:1:2",
            "message: an injected fault",
            "megaton::panel::crash_reports::tests::",
            "\nline 2 of the log\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("\nline 1 of the log"), "only the latest");
        assert!(text.len() < 200_000, "{}", text.len());
    }

    #[test]
    fn only_the_latest_reports_are_kept_and_other_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("crash-course.md"), "").unwrap();
        let writer = writer(folder.path());
        for at in 0..30 {
            writer.write(&crash(at / 2)).unwrap();
        }
        let kept = crash_reports(folder.path());
        assert_eq!(kept.len(), MOST_KEPT);
        let ends = [&kept[0], &kept[MOST_KEPT - 1]].map(|path| path.to_string_lossy());
        assert!(ends[0].ends_with("000014-2.txt"), "{ends:?}");
        assert!(ends[1].ends_with("000005-1.txt"), "{ends:?}");
        assert!(folder.path().join("crash-course.md").exists());
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error_and_no_panic() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(writer(&file).write(&crash(0)).is_err());
        assert!(crash_reports(&file).is_empty());
    }
}
