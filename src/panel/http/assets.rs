//! The files of the pages, embedded: their own, and the board that the practice page has too.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::gate::refusal;

/// A file of a page.
struct Asset {
    name: &'static str,
    bytes: &'static [u8],
}

macro_rules! assets {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(Asset {
            name: $name,
            bytes: include_bytes!(
                concat!(env!("CARGO_MANIFEST_DIR"), "/assets/", $folder, "/", $name)
            ),
        }),*]
    };
}

/// What the pages take from the board's folder; the rest of it is the practice page.
static BOARD: &[Asset] = assets![
    "board":
    "blast.js",
    "board.css",
    "board.js",
    "clock.js",
    "fen.js",
    "gestures.js",
    "logo.svg",
    "moves.js",
    "page.css",
    "pieces.js",
    "promotion.js",
    "seats.js",
    "squares.js",
    "theme.css",
    "words.js",
];

static PANEL: &[Asset] = assets![
    "panel":
    "card.js",
    "format.js",
    "game.html",
    "games.html",
    "games.js",
    "graph.js",
    "live.html",
    "live.js",
    "login.html",
    "login.js",
    "opponents.html",
    "opponents.js",
    "panel.css",
    "record.js",
    "results.js",
    "shell.js",
    "steer.js",
    "wire.js",
];

pub(super) async fn live() -> Response {
    file(PANEL, "live.html")
}

pub(super) async fn game() -> Response {
    file(PANEL, "game.html")
}

pub(super) async fn games() -> Response {
    file(PANEL, "games.html")
}

pub(super) async fn opponents() -> Response {
    file(PANEL, "opponents.html")
}

/// The page that asks for the password, in the place of the one that was asked for.
pub(super) fn door() -> Response {
    (StatusCode::UNAUTHORIZED, file(PANEL, "login.html")).into_response()
}

pub(super) async fn board(Path(name): Path<String>) -> Response {
    file(BOARD, &name)
}

pub(super) async fn panel(Path(name): Path<String>) -> Response {
    file(PANEL, &name)
}

fn file(folder: &[Asset], name: &str) -> Response {
    let Some(asset) = folder.iter().find(|asset| asset.name == name) else {
        return refusal(StatusCode::NOT_FOUND, "there is no such file");
    };
    let headers = [
        (header::CONTENT_TYPE, content_type(name)),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, asset.bytes).into_response()
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
    fn every_file_of_the_panel_is_embedded() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/panel");
        let mut there: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        there.sort();
        let embedded: Vec<&str> = PANEL.iter().map(|asset| asset.name).collect();
        assert_eq!(embedded, there);
    }

    #[test]
    fn what_a_file_imports_is_embedded_too() {
        let known = |path: &str| {
            let (folder, name) = path.rsplit_once('/').unwrap_or_default();
            let folder = match folder {
                "/assets/board" => BOARD,
                "/assets/panel" => PANEL,
                _ => return false,
            };
            folder.iter().any(|asset| asset.name == name)
        };
        for (folder, assets) in [("board", BOARD), ("panel", PANEL)] {
            for asset in assets {
                let text = String::from_utf8_lossy(asset.bytes);
                for part in text.split('"').skip(1).step_by(2) {
                    let path = match part.strip_prefix("./") {
                        Some(name) => format!("/assets/{folder}/{name}"),
                        None if part.starts_with("/assets/") => part.to_owned(),
                        None => continue,
                    };
                    assert!(known(&path), "{} wants {path}", asset.name);
                }
            }
        }
    }
}
