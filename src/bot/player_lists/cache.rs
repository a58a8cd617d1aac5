//! The last good copy of each URL's names, on disk, so that a start without a network still knows
//! the blocked players.
//!
//! One file per URL, written completely, then renamed into place. An unreadable copy counts as
//! none.

use std::fs;
use std::hash::Hasher as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::lichess::UserId;

/// The names at a URL, and the version tag of that answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CachedList {
    pub(super) url: String,
    /// The server's tag of this version.
    pub(super) etag: Option<String>,
    pub(super) names: Vec<UserId>,
}

/// The directory of the copies; none to keep nothing on disk.
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
        let draft = place.with_extension("new");
        let mut file = fs::File::create(&draft)?;
        file.write_all(serde_json::to_string(copy)?.as_bytes())?;
        file.sync_all()?;
        drop(file);
        fs::rename(draft, place)
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
            names: vec![UserId::new("blastcap")],
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
