//! Where the server is, who is asking, and where the bot keeps what it knows.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config::units;

/// `[lichess]`: where Lichess is and who is asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lichess {
    /// Address of the server, without a path.
    pub url: String,
    /// File that holds the API token and nothing else. `LICHESS_BOT_TOKEN` goes before it. A
    /// relative path in a file is read from that file's folder.
    #[serde(with = "units::path")]
    pub token_file: Option<PathBuf>,
    /// How the server's people reach the operator, sent with every request.
    #[serde(with = "units::text")]
    pub contact: Option<String>,
}

/// `[data]`: what is kept on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Data {
    /// Folder of all that is kept; none keeps nothing. A relative path in a file is read from that
    /// file's folder.
    #[serde(with = "units::path")]
    pub folder: Option<PathBuf>,
    /// The control socket, within the folder; none opens none.
    #[serde(with = "units::path")]
    pub socket: Option<PathBuf>,
}

impl Data {
    /// Where the control socket is, if there is one.
    pub fn socket_path(&self) -> Option<PathBuf> {
        let socket = self.socket.as_ref()?;
        match &self.folder {
            Some(folder) => Some(folder.join(socket)),
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
