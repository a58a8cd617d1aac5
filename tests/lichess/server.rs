//! A minimal scripted server: answers byte by byte, late, broken, or not at all.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use megaton::lichess::{Client, ClientOptions, Timing, Token};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;
use tokio::task::JoinHandle;

/// The token of every test; it must turn up in the header and nowhere else.
pub(crate) const SECRET: &str = "lip_verysecret";

/// What the server does on a connection after it has read a request.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Writes these bytes.
    Send(Vec<u8>),
    /// Pauses.
    Wait(Duration),
    /// Waits until as many requests meet here as the barrier is for.
    Meet(Arc<Barrier>),
    /// Ends the connection in good order.
    Close,
    /// Breaks the connection.
    Reset,
    /// Stays silent for good.
    Hang,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// `GET /path?query`.
    pub(crate) line: String,
    /// Header lines, names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: String,
    /// The connection it came over, counted from zero.
    pub(crate) connection: usize,
}

impl Request {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// What it does for each request; not a type of its own for each test, which takes long to build.
type Script = Box<dyn Fn(&Request) -> Vec<Step> + Send + Sync>;

/// A running server; it ends with this value.
pub(crate) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// A server that does what `script` says for each request.
    pub(crate) async fn start(
        script: impl Fn(&Request) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        Self::following(Box::new(script)).await
    }

    async fn following(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let script = Arc::new(script);
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            for connection in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                let (script, seen) = (Arc::clone(&script), Arc::clone(&seen));
                connections.spawn(async move {
                    serve(stream, connection, &script, &seen).await;
                });
            }
        });
        Self {
            address,
            requests,
            task,
        }
    }

    /// A server that answers everything with `body` and `status`.
    pub(crate) async fn answering(status: &'static str, kind: &'static str, body: &str) -> Self {
        let reply = reply(status, kind, body);
        Self::start(move |_| vec![Step::Send(reply.clone())]).await
    }

    /// A server whose every answer is a stream that continues as these steps say.
    pub(crate) async fn streaming(steps: Vec<Step>) -> Self {
        Self::start(move |_| {
            let mut all = vec![Step::Send(STREAM_HEAD.into())];
            all.extend(steps.iter().cloned());
            all
        })
        .await
    }

    /// Its address, for a URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What has been asked so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// A client of this server, its patience a fiftieth of the usual.
    pub(crate) fn client(&self) -> Client {
        client(&self.url(), Timing::default().faster(50))
    }
}

/// A client with the secret token.
pub(crate) fn client(url: &str, timing: Timing) -> Client {
    Client::new(ClientOptions {
        base_url: url.to_owned(),
        token: Token::parse(SECRET, "the test").unwrap(),
        contact: Some("operator@example.org".to_owned()),
        timing,
    })
    .unwrap()
}

/// The head of an endless answer that ends with the connection.
pub(crate) const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\nconnection: close\r\n\r\n";

/// A whole answer.
pub(crate) fn reply(status: &str, kind: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// The answer to a command that worked.
pub(crate) fn ok() -> Vec<Step> {
    vec![Step::Send(reply(
        "200 OK",
        "application/json",
        r#"{"ok":true}"#,
    ))]
}

async fn serve(
    mut stream: TcpStream,
    connection: usize,
    script: &Script,
    seen: &Mutex<Vec<Request>>,
) {
    while let Some(request) = read_request(&mut stream, connection).await {
        seen.lock().unwrap().push(request.clone());
        for step in script(&request) {
            match step {
                Step::Send(bytes) => {
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                    stream.flush().await.unwrap();
                }
                Step::Wait(time) => tokio::time::sleep(time).await,
                Step::Meet(barrier) => {
                    barrier.wait().await;
                }
                Step::Close => return,
                Step::Reset => {
                    stream.set_zero_linger().unwrap();
                    return;
                }
                Step::Hang => std::future::pending().await,
            }
        }
    }
}

async fn read_request(stream: &mut TcpStream, connection: usize) -> Option<Request> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        let mut buffer = [0; 4096];
        let read = stream.read(&mut buffer).await.ok()?;
        if read == 0 {
            return None;
        }
        bytes.extend_from_slice(&buffer[..read]);
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let line = lines.next()?.trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(key, value)| (key.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(key, _)| key == "content-length");
    let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = bytes[head_end + 4..].to_vec();
    let missing = length - body.len();
    let mut rest = vec![0; missing];
    stream.read_exact(&mut rest).await.ok()?;
    body.extend(rest);
    Some(Request {
        line,
        headers,
        body: String::from_utf8(body).unwrap(),
        connection,
    })
}
