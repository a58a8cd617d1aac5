//! Accepted connections that can be cut: what the server has not yet written is lost, and the
//! client sees a reset. Cutting exists for the faults alone.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// Accepts connections for the server.
#[derive(Debug)]
pub(super) struct Door(pub(super) TcpListener);

impl Listener for Door {
    type Io = Line;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Line, SocketAddr) {
        loop {
            match self.0.accept().await {
                Ok((stream, address)) => {
                    // A move is one small packet; waiting for more would cost it 40 ms.
                    let _ = stream.set_nodelay(true);
                    return (
                        Line {
                            stream,
                            cutter: Cutter::default(),
                        },
                        address,
                    );
                }
                Err(error) => {
                    tracing::debug!(%error, "a connection was not accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// Cuts the connection it belongs to.
#[derive(Clone, Debug, Default)]
pub(super) struct Cutter(Arc<AtomicBool>);

impl Cutter {
    pub(super) fn cut(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Connected<IncomingStream<'_, Door>> for Cutter {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        stream.io().cutter.clone()
    }
}

/// One connection.
#[derive(Debug)]
pub(super) struct Line {
    stream: TcpStream,
    cutter: Cutter,
}

impl Line {
    fn check(&self) -> io::Result<()> {
        if self.cutter.0.load(Ordering::Relaxed) {
            let _ = self.stream.set_zero_linger();
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(())
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
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
        self.check()?;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
