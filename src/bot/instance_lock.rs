//! One process per machine and account: a second one would take over the first one's event stream.
//!
//! The data folder has a lock of its own; this one holds across folders and system users. It is a
//! kernel name (abstract socket), not a file, and disappears with its process. A container with its
//! own network has its own names; there, and across machines, a stolen event stream reveals a
//! second process. Systems without such names rely on the folder lock.

#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::Sole;
#[cfg(target_os = "linux")]
pub(super) use linux::InstanceLock;

#[cfg(target_os = "linux")]
mod linux {
    use std::io::ErrorKind;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

    use crate::lichess::UserId;

    /// Maximum bytes of a name, after the NUL that makes it abstract (unix(7)).
    const LONGEST: usize = 107;

    /// Holds the account on this machine while it lives.
    #[derive(Debug)]
    pub(in crate::bot) struct InstanceLock {
        _name: Option<UnixListener>,
    }

    impl InstanceLock {
        /// Locks the account of that server, or returns the number of the process that holds it, if
        /// the system tells.
        pub(in crate::bot) fn take(server: &str, account: &UserId) -> Result<Self, Option<i32>> {
            let name = format!("megaton {account} {server}");
            let name = &name.as_bytes()[..name.len().min(LONGEST)];
            let unseen = |error| {
                tracing::debug!(%error, "cannot check whether another process plays as this account");
                Ok(Self { _name: None })
            };
            let address = match SocketAddr::from_abstract_name(name) {
                Ok(address) => address,
                Err(error) => return unseen(error),
            };
            match UnixListener::bind_addr(&address) {
                Ok(name) => Ok(Self { _name: Some(name) }),
                Err(error) if error.kind() == ErrorKind::AddrInUse => Err(holder(&address)),
                Err(error) => unseen(error),
            }
        }
    }

    fn holder(address: &SocketAddr) -> Option<i32> {
        let stream = UnixStream::connect_addr(address).ok()?;
        let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
        Some(peer.pid.as_raw_nonzero().get())
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use crate::lichess::UserId;

    #[derive(Debug)]
    pub(in crate::bot) struct Sole;

    impl InstanceLock {
        #[expect(clippy::unnecessary_wraps, reason = "it may fail on Linux")]
        pub(in crate::bot) fn take(_: &str, _: &UserId) -> Result<Self, Option<i32>> {
            Ok(Self)
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::lichess::UserId;

    #[test]
    fn an_account_is_locked_once_per_server_and_the_error_names_the_process() {
        let (me, other) = (UserId::new("sole-bot"), UserId::new("other-bot"));
        let server = "http://127.0.0.1:9";
        let sole = InstanceLock::take(server, &me).unwrap();
        let ours = i32::try_from(std::process::id()).unwrap();
        assert_eq!(InstanceLock::take(server, &me).unwrap_err(), Some(ours));
        assert!(InstanceLock::take(server, &other).is_ok());
        assert!(InstanceLock::take("http://127.0.0.1:10", &me).is_ok());
        drop(sole);
        assert!(InstanceLock::take(server, &me).is_ok());
        let long = "x".repeat(500);
        let _long = InstanceLock::take(&long, &me).unwrap();
        assert!(InstanceLock::take(&long, &me).is_err());
    }
}
