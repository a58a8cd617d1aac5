//! One process per account on a machine: a second one would take over the event stream.
//!
//! The data folder has a lock of its own; this one holds whatever the folders and users are. It is an
//! abstract socket name, not a file, so it disappears with its process. Containers with a network namespace
//! have their own names; there, and across machines, only a stolen event stream shows it. Other systems
//! have the folder's lock alone.

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

    /// A name may have so many bytes, behind a first one that makes it no path (unix(7)).
    const LONGEST: usize = 107;

    /// The account is ours on this machine as long as this lives.
    #[derive(Debug)]
    pub(in crate::bot) struct InstanceLock {
        _name: Option<UnixListener>,
    }

    impl InstanceLock {
        /// Takes the account of that server, unless another process has it: then its number, as far
        /// as the system tells.
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
    fn an_account_is_taken_once_a_server_and_the_refusal_names_the_process() {
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
