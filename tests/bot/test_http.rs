//! A minimal HTTP/1.1 for the test server: requests with a length, replies, chunked streams.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::test_server::{Piece, Reply};

/// The pause between two blank lines of a stream.
const KEEP_ALIVE: Duration = Duration::from_millis(50);

/// Answers the requests of one connection, one after another.
pub(crate) async fn serve(
    mut socket: TcpStream,
    answer: impl Fn(&str, &str, &str) -> Reply + Send + 'static,
) {
    let _ = socket.set_nodelay(true);
    let mut buffer = Vec::new();
    while let Some(Asked { method, path, body }) = request(&mut socket, &mut buffer).await {
        match answer(&method, &path, &body) {
            Reply::Body(status, kind, body) => {
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                let whole = [head.as_bytes(), body.as_bytes()].concat();
                if socket.write_all(&whole).await.is_err() {
                    return;
                }
            }
            Reply::Stream(pieces) => return stream(socket, pieces).await,
            Reply::Break => return,
            Reply::Never => std::future::pending().await,
        }
    }
}

struct Asked {
    method: String,
    path: String,
    body: String,
}

async fn request(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Asked> {
    loop {
        if let Some(end) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            let length = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .and_then(|(_, value)| value.trim().parse().ok())
                .unwrap_or(0_usize);
            if buffer.len() >= end + 4 + length {
                let body = &buffer[end + 4..end + 4 + length];
                let body = String::from_utf8_lossy(body).into_owned();
                buffer.drain(..end + 4 + length);
                let mut words = head.split_ascii_whitespace();
                return Some(Asked {
                    method: words.next()?.to_owned(),
                    path: words.next()?.to_owned(),
                    body,
                });
            }
        }
        let mut chunk = [0; 4096];
        match socket.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => buffer.extend_from_slice(&chunk[..read]),
        }
    }
}

async fn stream(mut socket: TcpStream, mut pieces: mpsc::UnboundedReceiver<Piece>) {
    // The connection ends with the stream: said, or the client may send its next request on it.
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\n\
                connection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    if socket.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    loop {
        let line = match tokio::time::timeout(KEEP_ALIVE, pieces.recv()).await {
            Err(_) => "\n".to_owned(),
            Ok(Some(Piece::Line(line))) => line + "\n",
            Ok(Some(Piece::Garbage)) => "<html>bad gateway\n".to_owned(),
            Ok(Some(Piece::Silence)) => std::future::pending().await,
            Ok(Some(Piece::Cut) | None) => return,
            Ok(Some(Piece::End)) => {
                let _ = socket.write_all(b"0\r\n\r\n").await;
                return;
            }
        };
        let chunk = format!("{:x}\r\n{line}\r\n", line.len());
        if socket.write_all(chunk.as_bytes()).await.is_err() {
            return;
        }
    }
}
