//! Accepted connections that faults can cut: unwritten data is lost, and the client sees a reset.
//! While closed, the limit cuts all connections and accepts none.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use futures::task::AtomicWaker;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Accepts connections for the server.
#[derive(Debug)]
pub(super) struct Acceptor {
    pub(super) listener: TcpListener,
    pub(super) gate: Arc<ConnectionGate>,
}

impl Listener for Acceptor {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) if self.gate.is_closed() => {
                    let _ = stream.set_zero_linger();
                }
                Ok((stream, address)) => {
                    // A move is one small packet; waiting for more data would cost it 40 ms.
                    let _ = stream.set_nodelay(true);
                    let killer = self.gate.enter();
                    return (Connection { stream, killer }, address);
                }
                Err(error) => {
                    tracing::debug!(%error, "a connection was not accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Whether the server accepts connections, and the open ones.
#[derive(Debug)]
pub(super) struct ConnectionGate {
    inside: Mutex<Vec<Weak<CutSignal>>>,
    closed: watch::Sender<bool>,
}

impl Default for ConnectionGate {
    fn default() -> Self {
        Self {
            inside: Mutex::default(),
            closed: watch::Sender::new(false),
        }
    }
}

impl ConnectionGate {
    fn enter(&self) -> ConnectionKiller {
        let killer = ConnectionKiller::default();
        let mut inside = self.inside.lock();
        inside.retain(|cut| cut.strong_count() > 0);
        inside.push(Arc::downgrade(&killer.0));
        killer
    }

    /// Cuts every connection and accepts no new ones.
    pub(super) fn close(&self) {
        self.closed.send_replace(true);
        let inside = std::mem::take(&mut *self.inside.lock());
        for cut in inside.iter().filter_map(Weak::upgrade) {
            ConnectionKiller(cut).cut();
        }
    }

    /// Accepts connections again.
    pub(super) fn open(&self) {
        self.closed.send_replace(false);
    }

    pub(super) fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    /// Waits until connections are accepted again.
    pub(super) async fn opened(&self) {
        // The sender lives as long as the receiver is used.
        let _ = self.closed.subscribe().wait_for(|closed| !closed).await;
    }
}

#[derive(Debug, Default)]
struct CutSignal {
    done: AtomicBool,
    reader: AtomicWaker,
    writer: AtomicWaker,
}

/// Cuts the connection it belongs to.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectionKiller(Arc<CutSignal>);

impl ConnectionKiller {
    pub(super) fn cut(&self) {
        self.0.done.store(true, Ordering::Release);
        self.0.reader.wake();
        self.0.writer.wake();
    }
}

impl Connected<IncomingStream<'_, Acceptor>> for ConnectionKiller {
    fn connect_info(stream: IncomingStream<'_, Acceptor>) -> Self {
        stream.io().killer.clone()
    }
}

#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    killer: ConnectionKiller,
}

impl Connection {
    fn check(&self) -> io::Result<()> {
        if self.killer.0.done.load(Ordering::Acquire) {
            let _ = self.stream.set_zero_linger();
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(())
    }

    fn check_writing(&self, context: &Context<'_>) -> io::Result<()> {
        self.killer.0.writer.register(context.waker());
        self.check()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.killer.0.reader.register(context.waker());
        self.check()?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check_writing(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check_writing(context)?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check_writing(context)?;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
