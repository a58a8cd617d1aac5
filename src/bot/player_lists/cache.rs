//! The last good copy of an address's names, on disk, so that a start without a network still knows
//! whom to keep out.
//!
//! One file an address, written whole and then put in place. A copy that cannot be read is as good
//! as none.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::lichess::UserId;

/// The names that an address had, and the mark that it gave them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CachedList {
    pub(super) url: String,
    /// What the server calls this version of it.
    pub(super) etag: Option<String>,
    pub(super) names: Vec<UserId>,
}

/// Where the copies are; nowhere, if nothing is to be kept on disk.
#[derive(Clone, Debug, Default)]
pub(super) struct ListCache(Option<PathBuf>);

impl ListCache {
    /// A shelf in the data folder.
    pub(super) fn new(data: Option<&Path>) -> Self {
        Self(data.map(|data| data.join("lists")))
    }

    /// The copy of an address, if there is a good one.
    pub(super) fn read(&self, url: &str) -> Option<CachedList> {
        let text = fs::read_to_string(self.place(url)?).ok()?;
        let copy: CachedList = serde_json::from_str(&text).ok()?;
        (copy.url == url).then_some(copy)
    }

    /// Puts a copy in place of the last one.
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

/// A number for a file's name (FNV-1a). Two addresses with the same number take the file from each
/// other, and the one without it is fetched.
fn number(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
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
    fn a_copy_comes_back_whole_and_for_its_own_address_only() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ListCache::new(Some(folder.path()));
        assert_eq!(cache.read("https://a"), None);
        cache.write(&copy("https://a")).unwrap();
        cache.write(&copy("https://b")).unwrap();
        assert_eq!(cache.read("https://a"), Some(copy("https://a")));
        assert_eq!(cache.read("https://c"), None);
    }

    #[test]
    fn a_torn_copy_is_none() {
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
