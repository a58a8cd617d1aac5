//! The files of the page, embedded.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::http_common::{Asset, embedded, find};

static ASSETS: &[Asset] = embedded![
    "board":
    "actions.js",
    "app.js",
    "blast.js",
    "board.css",
    "board.js",
    "clock.js",
    "fen.js",
    "game.js",
    "gestures.js",
    "index.html",
    "logo.svg",
    "moves.js",
    "page.css",
    "pieces.js",
    "promotion.js",
    "seats.js",
    "squares.js",
    "start.css",
    "start.js",
    "theme.css",
    "wire.js",
    "words.js",
];

pub(super) async fn index() -> Response {
    answer("index.html")
}

pub(super) async fn asset(Path(name): Path<String>) -> Response {
    answer(&name)
}

fn answer(name: &str) -> Response {
    let Some((kind, bytes)) = find(ASSETS, name) else {
        return (StatusCode::NOT_FOUND, "404 - Resource not found").into_response();
    };
    let rules = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
             frame-ancestors 'none'",
        ),
    ];
    (rules, kind, bytes).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_page_is_embedded() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/board");
        let mut there: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        there.sort();
        let embedded: Vec<&str> = ASSETS.iter().map(|asset| asset.name).collect();
        assert_eq!(embedded, there);
    }
}
