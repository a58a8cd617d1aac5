//! The server, the account's credentials, and the folder of the bot's files.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config::units;

/// `[lichess]`: the server and the account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lichess {
    /// URL of the server, without a path.
    pub url: String,
    /// File that holds only the API token; `LICHESS_BOT_TOKEN` takes precedence. A relative path in a
    /// config file starts at that file's folder.
    #[serde(with = "units::path")]
    pub token_file: Option<PathBuf>,
    /// How Lichess staff reach the operator, sent with every request.
    #[serde(with = "units::text")]
    pub contact: Option<String>,
}

/// `[data]`: files of the bot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Data {
    /// Folder with a subfolder for each server; none stores nothing. A relative path in a config file
    /// starts at that file's folder.
    #[serde(with = "units::path")]
    pub folder: Option<PathBuf>,
    /// The control socket in the server's subfolder; none opens no socket.
    #[serde(with = "units::path")]
    pub socket: Option<PathBuf>,
}

impl Lichess {
    /// The name of this server's subfolder: its host, and its port if not the default.
    fn folder_name(&self) -> String {
        let parsed = reqwest::Url::parse(&self.url).ok();
        let host = parsed.as_ref().and_then(reqwest::Url::host_str);
        let host = host.unwrap_or("unknown").replace([':', '[', ']'], "_");
        match parsed.as_ref().and_then(reqwest::Url::port) {
            Some(port) => format!("{host}_{port}"),
            None => host,
        }
    }
}

impl Data {
    /// The subfolder of `server`, if the bot stores anything: daily games, ratings and names of one
    /// server do not apply to another.
    pub fn home(&self, server: &Lichess) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        Some(folder.join(server.folder_name()))
    }

    /// The path of the control socket of a bot on `server`, if it has one.
    pub fn socket_path(&self, server: &Lichess) -> Option<PathBuf> {
        let socket = self.socket.as_ref()?;
        match self.home(server) {
            Some(home) => Some(home.join(socket)),
            None => socket.is_absolute().then(|| socket.clone()),
        }
    }
}

impl Default for Lichess {
    fn default() -> Self {
        Self {
            url: "https://lichess.org".to_owned(),
            token_file: None,
            contact: None,
        }
    }
}

impl Default for Data {
    fn default() -> Self {
        Self {
            folder: Some("data".into()),
            socket: Some("control.sock".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_has_a_folder_of_its_own() {
        let rows = [
            ("https://lichess.org", "lichess.org"),
            ("https://lichess.dev/", "lichess.dev"),
            ("http://127.0.0.1:8642", "127.0.0.1_8642"),
            ("http://[::1]:9", "___1__9"),
        ];
        for (url, name) in rows {
            let server = Lichess {
                url: url.to_owned(),
                ..Lichess::default()
            };
            let home = Data::default().home(&server);
            assert_eq!(home, Some(PathBuf::from("data").join(name)));
        }
    }
}
