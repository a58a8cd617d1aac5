//! The files of the pages, embedded in the program, and the headers that they are served with.

use axum::http::{HeaderName, header};
use include_dir::{Dir, include_dir};

/// The board and everything else that both pages share.
pub static BOARD: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/assets/board");

/// The headers of a file.
pub type Headers = [(HeaderName, &'static str); 2];

/// The file of that name with its headers.
pub fn find(folder: &'static Dir<'_>, name: &str) -> Option<(Headers, &'static [u8])> {
    let file = folder.get_file(name)?;
    let headers = [
        (header::CONTENT_TYPE, content_type(name)),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    Some((headers, file.contents()))
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
    fn a_file_is_served_with_its_content_type() {
        static PAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/assets/panel");
        for (folder, name, kind) in [
            (&PAGES, "live.html", "text/html; charset=utf-8"),
            (&BOARD, "board.js", "text/javascript; charset=utf-8"),
            (&BOARD, "theme.css", "text/css; charset=utf-8"),
            (&BOARD, "logo.svg", "image/svg+xml"),
        ] {
            let (headers, bytes) = find(folder, name).unwrap();
            assert_eq!(headers[0].1, kind);
            assert!(!bytes.is_empty());
        }
        assert!(find(&BOARD, "../board/board.js").is_none());
    }
}
