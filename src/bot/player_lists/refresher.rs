//! The task that refreshes the lists from files and URLs.
//!
//! First it reads the names on disk: files, and the last good copies of URLs. A source that cannot
//! be read keeps its names; the failure is logged once until the source is readable again. A URL whose
//! list has become empty counts as one that cannot be read. Disks may hang: each file is read on a thread
//! of its own, and one that is late is taken when it comes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hasher as _;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet, spawn_blocking};
use tokio::time::{sleep_until, timeout, timeout_at};

use super::{ListContents, ParsedList, PlayerLists, read_names};
use crate::bot::settings::{BotTiming, Settings};
use crate::bot::status::NameList;
use crate::config::{Entry, without_query};
use crate::files::write_whole;
use crate::lichess::{FetchError, FetchedPage, HttpFetcher};

/// The most that is read of a file.
const MAX_FILE: u64 = 2 << 20;

/// The sources of the lists, in addition to the config.
#[derive(Clone, Debug, Default)]
pub struct ListSources {
    /// The data folder for copies; none to keep nothing.
    pub data: Option<PathBuf>,
}

/// The known state of the lists' files and URLs.
#[derive(Debug)]
pub struct ListRefresher {
    settings: Arc<Settings>,
    cache: ListCache,
    timing: BotTiming,
    contents: ListContents,
    /// The version tags of the known answers, by URL.
    etags: HashMap<String, String>,
    /// Errors already logged, by source.
    failing: BTreeMap<String, String>,
    /// When each was last read.
    read: HashMap<String, Instant>,
    states: watch::Sender<Arc<Vec<NameList>>>,
    pages: Option<HttpFetcher>,
    /// What is being read from the disk, and the keys of it.
    reading: JoinSet<DiskRead>,
    pending: BTreeSet<String>,
}

/// A source's key, and what the disk has of it; no names for a URL without a copy.
type DiskRead = (String, Result<Option<CachedList>, String>);

impl ListRefresher {
    /// Knows only the names in the config until it has read more.
    pub fn new(settings: Arc<Settings>, sources: &ListSources, timing: BotTiming) -> Self {
        let refresher = Self {
            settings,
            cache: ListCache::new(sources.data.as_deref()),
            timing,
            contents: ListContents::new(),
            etags: HashMap::new(),
            failing: BTreeMap::new(),
            read: HashMap::new(),
            states: watch::Sender::new(Arc::default()),
            pages: None,
            reading: JoinSet::new(),
            pending: BTreeSet::new(),
        };
        refresher.publish_states();
        refresher
    }

    /// The lists as currently known.
    pub fn lists(&self) -> PlayerLists {
        let rules = &self.settings.challenge;
        PlayerLists::of(rules, &self.settings.matchmaking.avoid, &self.contents)
    }

    /// The state of each list, for observers of a running refresher.
    pub fn states(&self) -> watch::Receiver<Arc<Vec<NameList>>> {
        self.states.subscribe()
    }

    /// Every file and URL with its names, or the reason why it cannot be read.
    pub fn state(&self) -> Vec<(String, Result<Arc<ParsedList>, String>)> {
        let places = self.entries().filter(|it| !matches!(it, Entry::Name(_)));
        let keys: BTreeSet<String> = places.map(ToString::to_string).collect();
        let states = keys.iter().map(|key| {
            let state = match (self.failing.get(key), self.contents.get(key)) {
                (Some(reason), _) => Err(reason.clone()),
                (None, Some(list)) => Ok(Arc::clone(list)),
                (None, None) => Err("not fetched yet".to_owned()),
            };
            (without_query(key).to_owned(), state)
        });
        states.collect()
    }

    /// Reads every file and fetches every URL once.
    pub async fn fetch_all(&mut self) {
        self.read_disk().await;
        for url in self.urls() {
            self.fetch(&url).await;
        }
    }

    /// Keeps the lists fresh: reads files and URLs, publishes changes to `lists`, and follows the
    /// newest `settings`, whose own names wait for no source. What it publishes first is read from the
    /// disk, as far as the disk answers in time. Ends when either channel closes.
    pub async fn run(
        &mut self,
        settings: &mut watch::Receiver<Arc<Settings>>,
        lists: &watch::Sender<Arc<PlayerLists>>,
    ) {
        self.read_disk().await;
        self.publish_states();
        lists.send_replace(Arc::new(self.lists()));
        loop {
            tokio::select! {
                () = self.read_urls(lists) => {}
                changed = settings.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
                () = lists.closed() => return,
            }
            self.settings = Arc::clone(&settings.borrow_and_update());
            self.publish(lists);
            self.read_disk().await;
            self.publish(lists);
        }
    }

    /// Fetches every URL, then waits until all is to be read again.
    async fn read_urls(&mut self, lists: &watch::Sender<Arc<PlayerLists>>) {
        for url in self.urls() {
            self.fetch(&url).await;
            self.publish(lists);
        }
        let pause = self.timing.lists.mul_f64(0.75 + fastrand::f64() / 2.0);
        let end = tokio::time::Instant::now() + pause;
        while let Ok(Some(late)) = timeout_at(end, self.reading.join_next()).await {
            self.take(late);
            self.publish(lists);
        }
        sleep_until(end).await;
    }

    /// Publishes what has changed.
    fn publish(&self, lists: &watch::Sender<Arc<PlayerLists>>) {
        self.publish_states();
        let fresh = self.lists();
        lists.send_if_modified(|known| {
            let is_new = **known != fresh;
            if is_new {
                *known = Arc::new(fresh);
            }
            is_new
        });
    }

    fn by_list(&self) -> [(&'static str, &Vec<Entry>); 4] {
        let rules = &self.settings.challenge;
        [
            ("block", &rules.block),
            ("allow", &rules.allow),
            ("welcome", &rules.welcome),
            ("avoid", &self.settings.matchmaking.avoid),
        ]
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.by_list().into_iter().flat_map(|(_, entries)| entries)
    }

    fn publish_states(&self) {
        let mut states = Vec::new();
        for (list, entries) in self.by_list() {
            let is_name = |entry: &&Entry| matches!(entry, Entry::Name(_));
            let (names, places): (Vec<_>, Vec<_>) = entries.iter().partition(is_name);
            if !names.is_empty() {
                states.push(NameList {
                    list: list.to_owned(),
                    names: names.len(),
                    ..NameList::default()
                });
            }
            let keys = places.iter().map(ToString::to_string);
            states.extend(keys.map(|key| self.state_of(list, &key)));
        }
        self.states.send_replace(Arc::new(states));
    }

    fn state_of(&self, list: &str, key: &str) -> NameList {
        let known = self.contents.get(key);
        NameList {
            list: list.to_owned(),
            source: Some(without_query(key).to_owned()),
            names: self.known(key),
            read: self.read.get(key).copied(),
            read_ago: None,
            error: self.failing.get(key).cloned(),
            skipped: known.and_then(|list| list.skipped.clone()),
        }
    }

    /// The number of names known from a source.
    fn known(&self, key: &str) -> usize {
        self.contents.get(key).map_or(0, |list| list.names.len())
    }

    fn urls(&self) -> BTreeSet<String> {
        let urls = self.entries().filter_map(|entry| match entry {
            Entry::Url(url) => Some(url.clone()),
            _ => None,
        });
        urls.collect()
    }

    /// Reads files and, for URLs not fetched yet, the last good copies. What the disk does not give in
    /// time keeps the known names.
    pub async fn read_disk(&mut self) {
        let entries: Vec<Entry> = self.entries().cloned().collect();
        for entry in entries {
            let key = entry.to_string();
            let skip = match &entry {
                Entry::Name(_) => true,
                Entry::File(_) => false,
                Entry::Url(_) => self.contents.contains_key(&key),
            };
            if skip || !self.pending.insert(key.clone()) {
                continue;
            }
            let cache = self.cache.clone();
            self.reading
                .spawn_blocking(move || (key, on_disk(&entry, &cache)));
        }
        let deadline = tokio::time::Instant::now() + self.timing.list_file;
        while let Ok(Some(read)) = timeout_at(deadline, self.reading.join_next()).await {
            self.take(read);
        }
        for key in self.pending.clone() {
            self.complain(&key, "the disk does not answer");
        }
    }

    /// Takes in what the disk gave.
    fn take(&mut self, read: Result<DiskRead, JoinError>) {
        let (key, outcome) = match read {
            Ok(read) => read,
            Err(error) => {
                tracing::error!(%error, "reading a list of names failed");
                // Which one is not known: all are read again.
                return self.pending.clear();
            }
        };
        self.pending.remove(&key);
        let is_url = key.contains("://");
        match outcome {
            // A copy is older than anything fetched.
            Ok(Some(copy)) if is_url => {
                self.failing.remove(&key);
                if !self.contents.contains_key(&key) {
                    self.contents.insert(key.clone(), Arc::new(copy.list));
                    self.etags.extend(copy.etag.map(|etag| (key, etag)));
                }
            }
            Ok(Some(read)) => self.learn(&key, read.list),
            Ok(None) => drop(self.failing.remove(&key)),
            Err(reason) => self.complain(&key, &reason),
        }
    }

    async fn fetch(&mut self, url: &str) {
        match self.ask(url).await {
            Ok(FetchedPage::Same) => self.recovered(url),
            Ok(FetchedPage::New { text, etag }) => match read_names(&text) {
                // Rather a fault of the server than a list from which everybody was taken.
                Ok(list) if list.names.is_empty() && self.known(url) > 0 => {
                    self.complain(url, "it has become empty");
                }
                Ok(list) => {
                    self.etags.remove(url);
                    self.etags
                        .extend(etag.clone().map(|etag| (url.to_owned(), etag)));
                    self.learn(url, list.clone());
                    self.put_by(url, etag, list).await;
                }
                Err(error) => self.complain(url, &error.to_string()),
            },
            Err(error) => self.complain(url, &error.to_string()),
        }
    }

    async fn ask(&mut self, url: &str) -> Result<FetchedPage, FetchError> {
        let pages = if let Some(pages) = &self.pages {
            pages.clone()
        } else {
            let proxy = self.settings.lichess.proxy.as_deref();
            let pages = HttpFetcher::new(proxy, self.timing.list_page)?;
            self.pages.insert(pages).clone()
        };
        // A version tag is valid only together with its names.
        let known = self.contents.contains_key(url);
        let etag = self.etags.get(url).filter(|_| known);
        pages.read(url, etag.map(String::as_str)).await
    }

    async fn put_by(&self, url: &str, etag: Option<String>, list: ParsedList) {
        let copy = CachedList {
            url: url.to_owned(),
            etag,
            list,
        };
        let cache = self.cache.clone();
        let write = async { spawn_blocking(move || cache.write(&copy)).await? };
        let error = match timeout(self.timing.list_file, write).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the disk does not answer".to_owned(),
        };
        let list = without_query(url);
        tracing::warn!(list, error, "cannot keep a copy of the list");
    }

    fn learn(&mut self, key: &str, read: ParsedList) {
        self.recovered(key);
        let known = self.contents.get(key);
        if known.is_none_or(|known| **known != read) {
            let (list, names) = (without_query(key), read.names.len());
            tracing::info!(list, names, "read a list of names");
            if let Some(skipped) = &read.skipped {
                tracing::warn!(list, skipped, "some lines of a list are ignored");
            }
            self.contents.insert(key.to_owned(), Arc::new(read));
        }
    }

    fn recovered(&mut self, key: &str) {
        self.read.insert(key.to_owned(), Instant::now());
        if self.failing.remove(key).is_some() {
            tracing::info!(list = without_query(key), "list readable again");
        }
    }

    fn complain(&mut self, key: &str, reason: &str) {
        let before = self.failing.insert(key.to_owned(), reason.to_owned());
        if before.is_none() {
            let (list, kept) = (without_query(key), self.known(key));
            tracing::warn!(list, reason, kept, "cannot read a list of names");
        }
    }
}

/// What the disk has of an entry: the names in a file, or the copy of a URL.
fn on_disk(entry: &Entry, cache: &ListCache) -> Result<Option<CachedList>, String> {
    match entry {
        Entry::Name(_) => Ok(None),
        Entry::Url(url) => Ok(cache.read(url)),
        Entry::File(path) => {
            let list = read_file(path)?;
            Ok(Some(CachedList {
                list,
                ..CachedList::default()
            }))
        }
    }
}

fn read_file(path: &Path) -> Result<ParsedList, String> {
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = file.take(MAX_FILE + 1).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_FILE {
        return Err(format!("longer than {} kilobytes", MAX_FILE / 1024));
    }
    read_names(&text).map_err(|error| error.to_string())
}

/// The names at a URL, and the version tag of that answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CachedList {
    pub(super) url: String,
    /// The server's tag of this version.
    pub(super) etag: Option<String>,
    #[serde(flatten)]
    pub(super) list: ParsedList,
}

/// The directory with the last good copy of each URL's names, so that a start without a network
/// still knows the blocked players; none to keep nothing on disk.
///
/// One file per URL, written completely, then renamed into place. An unreadable copy counts as
/// none.
#[derive(Clone, Debug, Default)]
pub(super) struct ListCache(Option<PathBuf>);

impl ListCache {
    /// A cache in the data folder.
    pub(super) fn new(data: Option<&Path>) -> Self {
        Self(data.map(|data| data.join("lists")))
    }

    /// The copy of a URL, if there is a readable one.
    pub(super) fn read(&self, url: &str) -> Option<CachedList> {
        let text = fs::read_to_string(self.place(url)?).ok()?;
        let copy: CachedList = serde_json::from_str(&text).ok()?;
        (copy.url == url).then_some(copy)
    }

    /// Replaces the copy of a URL.
    pub(super) fn write(&self, copy: &CachedList) -> io::Result<()> {
        let (Some(folder), Some(place)) = (&self.0, self.place(&copy.url)) else {
            return Ok(());
        };
        fs::create_dir_all(folder)?;
        let text = serde_json::to_string(copy)?;
        write_whole(&place, |file| file.write_all(text.as_bytes()))
    }

    fn place(&self, url: &str) -> Option<PathBuf> {
        let folder = self.0.as_ref()?;
        Some(folder.join(format!("{:016x}.json", number(url))))
    }
}

/// A number for a file name (FNV-1a). URLs with the same number overwrite each other's file, and
/// the one without a copy is fetched.
fn number(text: &str) -> u64 {
    let mut hasher = fnv::FnvHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(url: &str) -> CachedList {
        CachedList {
            url: url.to_owned(),
            etag: Some("\"1\"".to_owned()),
            list: read_names("blastcap\na b\n").unwrap(),
        }
    }

    #[test]
    fn a_copy_is_restored_whole_and_only_for_its_own_url() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ListCache::new(Some(folder.path()));
        assert_eq!(cache.read("https://a"), None);
        cache.write(&copy("https://a")).unwrap();
        cache.write(&copy("https://b")).unwrap();
        assert_eq!(cache.read("https://a"), Some(copy("https://a")));
        assert_eq!(cache.read("https://c"), None);
    }

    #[test]
    fn a_truncated_copy_counts_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ListCache::new(Some(folder.path()));
        cache.write(&copy("https://a")).unwrap();
        let place = cache.place("https://a").unwrap();
        let text = fs::read_to_string(&place).unwrap();
        for end in 0..text.len() {
            fs::write(&place, &text[..end]).unwrap();
            assert_eq!(cache.read("https://a"), None, "{end}");
        }
    }

    #[test]
    fn without_a_folder_nothing_is_kept_and_nothing_fails() {
        let cache = ListCache::new(None);
        cache.write(&copy("https://a")).unwrap();
        assert_eq!(cache.read("https://a"), None);
    }
}
