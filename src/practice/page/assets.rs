//! The files of the page, embedded.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use include_dir::{Dir, include_dir};

use crate::http_common::{BOARD, find};

static PAGE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/assets/practice");

pub(super) async fn index() -> Response {
    answer("index.html")
}

pub(super) async fn asset(Path(name): Path<String>) -> Response {
    answer(&name)
}

fn answer(name: &str) -> Response {
    let Some((kind, bytes)) = find(&PAGE, name).or_else(|| find(&BOARD, name)) else {
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
        for folder in ["assets/board", "assets/practice"] {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/").to_owned() + folder;
            for entry in std::fs::read_dir(folder).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                assert_eq!(answer(&name).status(), StatusCode::OK, "{name}");
            }
        }
    }
}
