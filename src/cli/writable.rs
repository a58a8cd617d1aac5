//! Whether the bot could write in a folder, asked without creating anything there.

use std::path::Path;

use rustix::fs::{Access, access};

/// Why the bot could not write files in this folder, if so.
pub(super) fn fault_in_folder(folder: &Path) -> Option<String> {
    // The bot creates what is missing below the first folder that exists.
    let existing = folder.ancestors().find(|place| place.exists());
    let existing = existing.filter(|place| !place.as_os_str().is_empty());
    let existing = existing.unwrap_or(Path::new("."));
    if !existing.is_dir() {
        return Some(format!("{} is not a folder", existing.display()));
    }
    access(existing, Access::WRITE_OK | Access::EXEC_OK)
        .is_err()
        .then(|| {
            format!(
                "{} is not writable: this user cannot write to {}",
                folder.display(),
                existing.display()
            )
        })
}
