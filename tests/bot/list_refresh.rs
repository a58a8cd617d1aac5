//! Player lists from a test server: fetched without the token, kept when a fetch fails, bounded in
//! size, time and redirects.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use megaton::bot::{BotTiming, ListRefresher, ListSources, NameList, PlayerLists, Settings};
use megaton::lichess::UserId;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The server's reaction to the next request; the last one repeats.
#[derive(Clone, Debug)]
enum Page {
    Whole(String),
    /// A head, then names without an end.
    Endless,
    Silence,
}

fn page(etag: &str, text: &str) -> Page {
    Page::Whole(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\netag: {etag}\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{text}",
        text.len()
    ))
}

fn status(line: &str) -> Page {
    Page::Whole(format!(
        "HTTP/1.1 {line}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    ))
}

struct Library {
    url: String,
    heads: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Library {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Library {
    async fn open(pages: impl IntoIterator<Item = Page>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("a bound socket");
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        let mut pages: VecDeque<Page> = pages.into_iter().collect();
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let next = match pages.len() {
                    0 => Page::Silence,
                    1 => pages[0].clone(),
                    _ => pages.pop_front().expect("one of several"),
                };
                tokio::spawn(answer(socket, next, Arc::clone(&seen)));
            }
        });
        Self {
            url: format!("http://{address}/list"),
            heads,
            task,
        }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("no panic").clone()
    }
}

async fn answer(mut socket: TcpStream, page: Page, heads: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    while !head.ends_with(b"\r\n\r\n") {
        match socket.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(read) => head.extend_from_slice(&chunk[..read]),
        }
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    heads.lock().expect("no panic").push(head);
    match page {
        Page::Whole(text) => {
            let _ = socket.write_all(text.as_bytes()).await;
        }
        Page::Endless => {
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
            while socket.write_all(&b"someone\n".repeat(512)).await.is_ok() {}
        }
        Page::Silence => std::future::pending().await,
    }
}

/// A file on a disk that hangs: whoever opens it waits.
pub(crate) struct HangingFile(PathBuf);

impl HangingFile {
    pub(crate) fn new(path: &Path) -> Self {
        let mode = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, path, FileType::Fifo, mode, 0).expect("a named pipe");
        Self(path.to_owned())
    }

    /// The disk answers: the file holds this.
    pub(crate) fn answer(&self, text: &str) {
        let pipe = File::options().read(true).write(true).open(&self.0);
        let mut pipe = pipe.expect("our pipe");
        pipe.write_all(text.as_bytes()).expect("it has room");
        let file = self.0.with_extension("answer");
        fs::write(&file, text).expect("a file");
        fs::rename(file, &self.0).expect("our pipe");
    }
}

impl Drop for HangingFile {
    /// The runtime waits for its threads, also where a test has failed.
    fn drop(&mut self) {
        let _pipe = File::options().read(true).write(true).open(&self.0);
        // Whoever comes later finds no pipe to wait at.
        let _ = fs::remove_file(&self.0);
    }
}

pub(crate) fn in_file(path: &Path) -> String {
    format!("file:{}", path.display())
}

/// A refresher running on one block list.
struct Kept {
    lists: watch::Receiver<Arc<PlayerLists>>,
    settings: watch::Sender<Arc<Settings>>,
    states: watch::Receiver<Arc<Vec<NameList>>>,
    _task: JoinHandle<()>,
}

fn settings(block: &[&str]) -> Arc<Settings> {
    Arc::new(plain_settings(block))
}

fn plain_settings(block: &[&str]) -> Settings {
    let mut settings = Settings::default();
    let entries = block.iter().map(|entry| entry.parse());
    settings.challenge.block = entries.collect::<Result<_, _>>().expect("good entries");
    settings
}

fn keep(block: &[&str], data: Option<&Path>) -> Kept {
    let settings = settings(block);
    let sources = ListSources {
        data: data.map(Path::to_owned),
    };
    let timing = BotTiming {
        lists: Duration::from_millis(20),
        ..impatient()
    };
    keep_at(settings, &sources, &timing)
}

fn impatient() -> BotTiming {
    BotTiming {
        list_page: Duration::from_millis(500),
        list_file: Duration::from_millis(500),
        ..BotTiming::default()
    }
}

fn keep_at(settings: Arc<Settings>, sources: &ListSources, timing: &BotTiming) -> Kept {
    let mut keeper = ListRefresher::new(Arc::clone(&settings), sources, *timing);
    let (told, lists) = watch::channel(Arc::new(keeper.lists()));
    let states = keeper.states();
    let (settings, mut rules) = watch::channel(settings);
    Kept {
        lists,
        settings,
        states,
        _task: tokio::spawn(async move { keeper.run(&mut rules, &told).await }),
    }
}

impl Kept {
    async fn until(&mut self, is_so: impl Fn(&PlayerLists) -> bool) {
        let wait = self.lists.wait_for(|lists| is_so(lists));
        let waited = tokio::time::timeout(Duration::from_secs(20), wait).await;
        waited.expect("in time").expect("the keeper lives");
    }

    fn blocks(&self, name: &str) -> bool {
        let lists = self.lists.borrow();
        lists.blocked_by(&UserId::new(name)).is_some()
    }
}

fn blocks(lists: &PlayerLists, name: &str) -> bool {
    lists.blocked_by(&UserId::new(name)).is_some()
}

async fn until_asked(reader: &Library, times: usize) {
    let wait = async {
        while reader.heads().len() < times {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), wait).await;
    waited.expect("asked so often");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_is_fetched_without_the_token_and_again_by_its_etag() {
    let reader = Library::open([
        page("\"one\"", "# stallers\nBlastCap\n"),
        status("304 Not Modified"),
        status("304 Not Modified"),
        page("\"two\"", "nuke\n"),
    ])
    .await;
    let mut kept = keep(&[&reader.url, "Inline"], None);
    assert!(kept.blocks("inline") && !kept.blocks("blastcap"));
    kept.until(|lists| blocks(lists, "BLASTCAP")).await;
    kept.until(|lists| blocks(lists, "nuke")).await;
    assert!(!kept.blocks("blastcap") && kept.blocks("inline"));
    let heads = reader.heads();
    assert!(!heads[0].contains("if-none-match"));
    for head in &heads[1..4] {
        assert!(head.contains("if-none-match: \"one\""), "{head}");
    }
    for head in &heads {
        assert!(
            !head.contains("authorization") && !head.contains("lip_"),
            "{head}"
        );
        assert!(head.starts_with("get /list http/1.1"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_fails_keeps_its_names_across_a_restart_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let html = "<html>moved</html>";
    let failures = [
        status("500 Oops"),
        status("404 Not Found"),
        page("\"x\"", html),
        page("\"y\"", "this is no list\nof names at all\n"),
        page("\"z\"", ""),
        Page::Endless,
        Page::Silence,
    ];
    for failure in failures {
        let reader = Library::open([page("\"one\"", "blastcap\n"), failure.clone()]).await;
        let mut kept = keep(&[&reader.url], Some(folder.path()));
        kept.until(|lists| blocks(lists, "blastcap")).await;
        until_asked(&reader, 3).await;
        assert!(kept.blocks("blastcap"), "{failure:?}");
        drop(kept);
        // Without a network: the copy blocks.
        let url = reader.url.clone();
        drop(reader);
        let mut kept = keep(&[&url], Some(folder.path()));
        kept.until(|lists| blocks(lists, "blastcap")).await;
        let elsewhere = keep(&[&url], None);
        assert!(!elsewhere.blocks("blastcap"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_becomes_empty_keeps_its_names_and_its_etag_and_says_so() {
    let nobody = "# nobody any more\n";
    let reader = Library::open([page("\"one\"", "blastcap\n"), page("\"two\"", nobody)]).await;
    let mut kept = keep(&[&reader.url], None);
    let says_so = |states: &Arc<Vec<NameList>>| {
        states[0].error.as_deref() == Some("it has become empty") && states[0].names == 1
    };
    let wait = kept.states.wait_for(says_so);
    let waited = tokio::time::timeout(Duration::from_secs(60), wait).await;
    drop(waited.expect("in time").expect("the keeper lives"));
    assert!(kept.blocks("blastcap"));
    until_asked(&reader, 3).await;
    let last = reader.heads().pop().expect("several");
    assert!(last.contains("if-none-match: \"one\""), "{last}");
    // A list may have no names yet.
    let begun = Library::open([page("\"one\"", nobody)]).await;
    let rules = settings(&[&begun.url]);
    let mut keeper = ListRefresher::new(rules, &ListSources::default(), BotTiming::default());
    keeper.fetch_all().await;
    let read = keeper.state().remove(0).1;
    assert_eq!(read.map(|list| list.names.len()), Ok(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_few_redirects_are_followed_and_a_loop_is_not() {
    let hop = || {
        Page::Whole(
            "HTTP/1.1 302 Found\r\nlocation: /list\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                .to_owned(),
        )
    };
    let reader = Library::open([hop(), hop(), page("\"one\"", "blastcap\n")]).await;
    let mut kept = keep(&[&reader.url], None);
    kept.until(|lists| blocks(lists, "blastcap")).await;
    let circle = Library::open([hop()]).await;
    let kept = keep(&[&circle.url], None);
    until_asked(&circle, 12).await;
    assert_eq!(**kept.lists.borrow(), PlayerLists::default());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_of_another_machine_is_fetched_through_the_proxy_of_the_config() {
    let proxy = Library::open([status("403 Forbidden")]).await;
    // An address of documentation (RFC 5737), where nobody is.
    let mut settings = plain_settings(&["https://192.0.2.1/list"]);
    settings.lichess.proxy = Some(proxy.url.trim_end_matches("/list").to_owned());
    let mut keeper = ListRefresher::new(
        Arc::new(settings),
        &ListSources::default(),
        BotTiming::default(),
    );
    keeper.fetch_all().await;
    let heads = proxy.heads();
    assert!(
        heads[0].starts_with("connect 192.0.2.1:443 http/1.1\r\n"),
        "{heads:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_state_shows_successful_and_failed_reads() {
    let reader = Library::open([page("\"one\"", "blastcap\nnuke\n")]).await;
    let settings = settings(&[&reader.url, "file:/nowhere/at/all.txt", "inline"]);
    let mut keeper = ListRefresher::new(settings, &ListSources::default(), BotTiming::default());
    let address = reader.url.as_str();
    let state = keeper.state();
    assert_eq!(
        state[1],
        (address.into(), Err("not fetched yet".to_owned()))
    );
    keeper.fetch_all().await;
    let state = keeper.state();
    assert_eq!(state.len(), 2);
    assert_eq!(state[0].0, "file:/nowhere/at/all.txt");
    let reason = state[0].1.as_ref().expect_err("no such file");
    assert!(reason.starts_with("No such file"), "{reason}");
    assert_eq!(state[1].0, address);
    assert_eq!(state[1].1.as_ref().map(|list| list.names.len()), Ok(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_state_of_each_list_is_visible_while_it_is_refreshed() {
    let reader = Library::open([page("\"one\"", "blastcap\nnuke\n"), status("500 Oops")]).await;
    let mut kept = keep(&["one", &reader.url, "file:/nowhere.txt", "two"], None);
    let failed =
        |states: &Arc<Vec<NameList>>| states[1].read.is_some() && states[1].error.is_some();
    let wait = kept.states.wait_for(failed);
    let waited = tokio::time::timeout(Duration::from_secs(60), wait).await;
    let states = Arc::clone(&waited.expect("in time").expect("the keeper lives"));
    let names: Vec<usize> = states.iter().map(|state| state.names).collect();
    assert_eq!(names, [2, 2, 0], "{states:?}");
    assert!(states.iter().all(|state| state.list == "block"));
    assert_eq!((&states[0].source, &states[0].error), (&None, &None));
    assert_eq!(states[1].source.as_deref(), Some(reader.url.as_str()));
    let error = states[2].error.as_deref().expect("no such file");
    assert!(error.starts_with("No such file"), "{error}");
    assert_eq!(states[2].read, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_rules_are_read_at_once_and_files_as_they_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("foes.txt");
    std::fs::write(&file, "blastcap\n").expect("written");
    let entry = format!("file:{}", file.display());
    let mut kept = keep(&["someone"], None);
    assert!(kept.blocks("someone"));
    kept.settings
        .send(settings(&[&entry]))
        .expect("the keeper lives");
    kept.until(|lists| blocks(lists, "blastcap") && !blocks(lists, "someone"))
        .await;
    std::fs::write(&file, "nuke\n").expect("written");
    kept.until(|lists| blocks(lists, "nuke")).await;
    std::fs::remove_file(&file).expect("removed");
    kept.settings
        .send(settings(&[&entry, "another"]))
        .expect("the keeper lives");
    kept.until(|lists| blocks(lists, "another")).await;
    assert!(kept.blocks("nuke"), "what is gone keeps its names");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_added_to_the_config_wait_for_no_server_that_hangs() {
    let reader = Library::open([Page::Silence]).await;
    let patient = BotTiming {
        list_page: Duration::from_secs(3600),
        ..impatient()
    };
    let rules = settings(&[&reader.url]);
    let mut kept = keep_at(rules, &ListSources::default(), &patient);
    until_asked(&reader, 1).await;
    kept.settings
        .send(settings(&[&reader.url, "someone"]))
        .expect("the keeper lives");
    kept.until(|lists| blocks(lists, "someone")).await;
    until_asked(&reader, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_added_to_the_config_wait_for_no_disk_that_hangs() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("foes");
    let _disk = HangingFile::new(&file);
    let patient = BotTiming {
        list_file: Duration::from_secs(3600),
        ..impatient()
    };
    let mut kept = keep_at(settings(&["nuke"]), &ListSources::default(), &patient);
    kept.until(|lists| blocks(lists, "nuke")).await;
    kept.settings
        .send(settings(&[&in_file(&file), "someone"]))
        .expect("the keeper lives");
    kept.until(|lists| blocks(lists, "someone")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_on_a_disk_that_hangs_keeps_its_names_and_is_taken_when_it_comes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, other) = (folder.path().join("foes"), folder.path().join("others"));
    fs::write(&file, "blastcap\n").expect("written");
    fs::write(&other, "nuke\n").expect("written");
    let rules = settings(&[&in_file(&file)]);
    let mut kept = keep_at(rules, &ListSources::default(), &impatient());
    kept.until(|lists| blocks(lists, "blastcap")).await;
    fs::remove_file(&file).expect("removed");
    let disk = HangingFile::new(&file);
    kept.settings
        .send(settings(&[&in_file(&file), &in_file(&other)]))
        .expect("the keeper lives");
    kept.until(|lists| blocks(lists, "nuke")).await;
    assert!(kept.blocks("blastcap"), "what was known is in force");
    let error = kept.states.borrow()[0].error.clone();
    assert_eq!(error.as_deref(), Some("the disk does not answer"));
    disk.answer("fuse\n");
    kept.until(|lists| blocks(lists, "fuse")).await;
    assert!(!kept.blocks("blastcap"));
    assert_eq!(kept.states.borrow()[0].error, None);
}
