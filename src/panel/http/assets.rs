//! The files of the pages, embedded: their own, and the board that the practice page has too.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use include_dir::{Dir, include_dir};

use super::responses::refusal;
use crate::http_common::{BOARD, find};

static PANEL: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/assets/panel");

/// A page of the panel, such as `live.html`.
pub(super) fn page(name: &str) -> Response {
    file(&PANEL, name)
}

/// The page that asks for the password, in place of the requested one.
pub(super) fn login() -> Response {
    (StatusCode::UNAUTHORIZED, page("login.html")).into_response()
}

pub(super) async fn board(Path(name): Path<String>) -> Response {
    file(&BOARD, &name)
}

pub(super) async fn panel(Path(name): Path<String>) -> Response {
    file(&PANEL, &name)
}

fn file(folder: &'static Dir<'_>, name: &str) -> Response {
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
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert_eq!(page(&name).status(), StatusCode::OK, "{name}");
        }
    }

    #[test]
    fn imported_files_are_embedded() {
        let known = |path: &str| {
            let (folder, name) = path.rsplit_once('/').unwrap_or_default();
            let folder = match folder {
                "/assets/board" => &BOARD,
                "/assets/panel" => &PANEL,
                _ => return false,
            };
            folder.contains(name)
        };
        for (folder, assets) in [("board", &BOARD), ("panel", &PANEL)] {
            for asset in assets.files() {
                let text = String::from_utf8_lossy(asset.contents());
                for part in text.split('"').skip(1).step_by(2) {
                    let path = match part.strip_prefix("./") {
                        Some(name) => format!("/assets/{folder}/{name}"),
                        None if part.starts_with("/assets/") => part.to_owned(),
                        None => continue,
                    };
                    assert!(known(&path), "{} wants {path}", asset.path().display());
                }
            }
        }
    }
}
