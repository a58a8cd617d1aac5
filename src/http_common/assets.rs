//! Files that are embedded in the program, and what they are served as.

use axum::http::{HeaderName, header};

#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Its name in the folder.
    pub name: &'static str,
    /// What is in it.
    pub bytes: &'static [u8],
}

/// The named files of a folder of `assets/`, as a `&[Asset]`.
#[macro_export]
macro_rules! embedded {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$($crate::http_common::Asset {
            name: $name,
            bytes: include_bytes!(
                concat!(env!("CARGO_MANIFEST_DIR"), "/assets/", $folder, "/", $name)
            ),
        }),*]
    };
}
pub use embedded;

/// The headers that tell what a file is.
pub type Kind = [(HeaderName, &'static str); 2];

/// A file of that name, with the headers that tell what it is.
pub fn find(folder: &[Asset], name: &str) -> Option<(Kind, &'static [u8])> {
    let asset = folder.iter().find(|asset| asset.name == name)?;
    let headers = [
        (header::CONTENT_TYPE, content_type(name)),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    Some((headers, asset.bytes))
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_served_as_what_it_is() {
        let folder: &[Asset] =
            embedded!["board": "index.html", "board.js", "theme.css", "logo.svg"];
        for (name, kind) in [
            ("index.html", "text/html; charset=utf-8"),
            ("board.js", "text/javascript; charset=utf-8"),
            ("theme.css", "text/css; charset=utf-8"),
            ("logo.svg", "image/svg+xml"),
        ] {
            let (headers, bytes) = find(folder, name).unwrap();
            assert_eq!(headers[0].1, kind);
            assert!(!bytes.is_empty());
        }
        assert!(find(folder, "../board/board.js").is_none());
    }
}
