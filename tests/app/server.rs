//! A loopback server that gives fixed answers and records requests.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::iter;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A loopback address that is free and stays so until a program is started there: its port is below
/// those that systems give to connections.
pub(super) fn free_address() -> SocketAddr {
    let mut ports = iter::repeat_with(|| fastrand::u16(20_000..32_000));
    let free = ports.find_map(|port| TcpListener::bind(("127.0.0.1", port)).ok());
    let free = free.expect("some port is free");
    free.local_addr().expect("an address")
}

/// What a path answers: status and body.
pub(super) type Answers = HashMap<&'static str, (u16, String)>;

/// A server on the loopback with fixed answers; it keeps the paths that were asked for.
pub(super) struct Server {
    pub(super) url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(super) fn start(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = answer(stream, &answers, &seen);
            }
        });
        Self { url, asked }
    }

    /// The same over TLS, as `localhost`; who does not trust its certificate asks nothing.
    pub(super) fn start_tls(answers: Answers, config: Arc<ServerConfig>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let tls = ServerConnection::new(Arc::clone(&config)).expect("a good config");
                let _ = answer(StreamOwned::new(tls, stream), &answers, &seen);
            }
        });
        let url = format!("https://localhost:{port}");
        Self { url, asked }
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic in the server").clone()
    }
}

/// One request on one connection.
fn answer(
    mut stream: impl Read + Write,
    answers: &Answers,
    seen: &Mutex<Vec<String>>,
) -> io::Result<()> {
    let mut reader = BufReader::new(&mut stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let path = first
        .split_whitespace()
        .nth(1)
        .unwrap_or_default()
        .to_owned();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        }
        if line.is_empty() {
            break;
        }
    }
    io::copy(&mut reader.take(length), &mut io::sink())?;
    let nothing = (404, r#"{"error":"Not found"}"#.to_owned());
    let (status, body) = answers.get(path.as_str()).unwrap_or(&nothing);
    seen.lock().expect("no panic in the server").push(path);
    let kind = if body.starts_with('<') {
        "text/html"
    } else {
        "application/json"
    };
    write!(
        stream,
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\
         \r\n\r\n{body}",
        body.len()
    )?;
    stream.flush()
}
