//! The files of a config that hold secrets, and whether others can read them. Never opens one.

use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::settings::Config;

/// Where service managers and container runtimes put secrets, with rights of their own.
const MANAGED: [&str; 2] = ["/run/secrets", "/run/credentials"];

impl Config {
    /// The keys whose value is the path of a file with a secret.
    fn secret_files(&self) -> [(&'static str, Option<&PathBuf>); 4] {
        let alerts = &self.alerts;
        [
            ("[lichess] token_file", self.lichess.token_file.as_ref()),
            ("[panel] token_file", self.panel.token_file.as_ref()),
            ("[alerts] webhook_file", alerts.webhook_file.as_ref()),
            ("[alerts] heartbeat_file", alerts.heartbeat_file.as_ref()),
        ]
    }

    /// A warning for each secret that other users of this machine can read.
    pub fn exposed_secrets(&self) -> Vec<String> {
        let files = self.secret_files().into_iter();
        let files = files.filter_map(|(key, path)| Some((key, path?)));
        files.filter_map(|(key, path)| warning(key, path)).collect()
    }
}

fn warning(key: &str, path: &Path) -> Option<String> {
    if MANAGED.iter().any(|folder| path.starts_with(folder)) {
        return None;
    }
    let file = path.metadata().ok().filter(Metadata::is_file)?;
    let mode = file.permissions().mode() & 0o777;
    let shown = path.display();
    (mode & 0o077 != 0).then(|| {
        format!("{key}: others can read {shown} (mode {mode:03o}): run `chmod 600 {shown}`")
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    #[test]
    fn a_secret_that_others_can_read_is_named_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token.txt");
        fs::write(&path, "lip_verysecret").unwrap();
        let mut config = Config::default();
        config.lichess.token_file = Some(path.clone());
        for (mode, warned) in [(0o644, true), (0o640, true), (0o600, false), (0o400, false)] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let warnings = config.exposed_secrets();
            assert_eq!(!warnings.is_empty(), warned, "{mode:o}: {warnings:?}");
            for warning in warnings {
                assert!(warning.contains("[lichess] token_file") && warning.contains("chmod 600"));
                assert!(!warning.contains("verysecret"));
            }
        }
        assert_eq!(warning("a key", Path::new("/run/secrets/token")), None);
    }
}
