//! The files of the pages, embedded: their own, and the board that the practice page has too.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::auth::refusal;
use crate::http_common::{Asset, embedded, find};

/// What the pages take from the board's folder; the rest of it is the practice page.
static BOARD: &[Asset] = embedded![
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

static PANEL: &[Asset] = embedded![
    "panel":
    "card.js",
    "challenges.html",
    "challenges.js",
    "events.html",
    "events.js",
    "format.js",
    "game.html",
    "games.html",
    "games.js",
    "graph.js",
    "list.js",
    "live.html",
    "live.js",
    "login.html",
    "login.js",
    "notes.js",
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

pub(super) async fn challenges() -> Response {
    file(PANEL, "challenges.html")
}

pub(super) async fn events() -> Response {
    file(PANEL, "events.html")
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
    match find(folder, name) {
        Some(found) => found.into_response(),
        None => refusal(StatusCode::NOT_FOUND, "no such file"),
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
