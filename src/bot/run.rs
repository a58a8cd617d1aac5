//! Start-up and exit of the bot: builds its parts, identifies the account, and reports what keeps
//! it from playing.
//!
//! Waits out anything that time may fix; only permanent errors end the bot.

use std::path::Path;
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::account_check::final_refusal;
use super::background;
use super::bot_event::BotEvent;
use super::commands::MATCHMAKING;
use super::context::{BotError, BotOptions, Shutdown};
use super::control::{Command, CommandReceiver, Reply};
use super::event_bus::EventBus;
use super::event_loop::EventLoop;
use super::player_lists::ListSources;
use super::settings::Settings;
use super::state::StateRules;
use super::status::{EventStreamStatus, SourcesStatus, Status, StreamOutage};
use super::supervisor::{RestartBackoff, catch_panic};
use crate::engine::Pool;
use crate::lichess::{Account, Client};
use crate::store::OWNER_NOTE;

/// Refusals in a row at the start, at growing intervals, until the next one is final.
const REFUSALS: u32 = 4;

/// Plays until `shutdown`, without operator commands.
///
/// # Errors
/// When the account cannot play, for a reason that time cannot fix.
pub async fn run(options: BotOptions, shutdown: Shutdown) -> Result<(), BotError> {
    run_commanded(options, shutdown, CommandReceiver::none()).await
}

/// Plays until `shutdown` or a command to end.
///
/// # Errors
/// When the account cannot play, for a reason that time cannot fix.
pub async fn run_commanded(
    options: BotOptions,
    shutdown: Shutdown,
    mut commands: CommandReceiver,
) -> Result<(), BotError> {
    let client = options.client.clone();
    let event_log = options.event_bus.event_log().clone();
    let pause = options.timing.limited_note;
    let failures = publish_failures(commands.take_failures(), options.event_bus.clone());
    let outcome = tokio::select! {
        outcome = Box::pin(serve(options, shutdown, commands)) => outcome,
        () = background::log_rate_limits(&client, &event_log, pause) => unreachable!("it logs for ever"),
        () = failures => unreachable!("it listens for ever"),
    };
    background::log_rate_limits_now(&client, &event_log);
    outcome
}

/// Refuses a data folder that has another owner than this account.
///
/// # Errors
/// [`BotError::ForeignFolder`].
pub fn check_owner(folder: &Path, owner: Option<String>, us: &Account) -> Result<(), BotError> {
    match owner {
        Some(owner) if owner != us.id.as_str() => Err(BotError::ForeignFolder {
            folder: folder.to_owned(),
            owner,
            account: us.username.clone(),
        }),
        _ => Ok(()),
    }
}

/// Publishes the failures of the engine's self-test and of services, as long as the bot runs.
async fn publish_failures(mut failures: mpsc::UnboundedReceiver<BotEvent>, event_bus: EventBus) {
    while let Some(failure) = failures.recv().await {
        event_bus.publish(failure);
    }
    // No sender is left.
    std::future::pending::<()>().await;
}

/// The bot from its first call to its end.
async fn serve(
    mut options: BotOptions,
    shutdown: Shutdown,
    mut commands: CommandReceiver,
) -> Result<(), BotError> {
    let mut settings = None;
    let failure = LastFailure::default();
    let identified = tokio::select! {
        biased;
        () = shutdown.now.cancelled() => return Ok(()),
        () = shutdown.drain.cancelled() => return Ok(()),
        () = wait_for_drain(&mut commands, &mut settings, &options.pool, &failure) => return Ok(()),
        account = identify(&options.client, &failure) => account?,
    };
    // A folder that names no owner is of a version that noted none.
    if let Some(folder) = &options.lists.data {
        check_owner(folder, options.state.note(OWNER_NOTE), &identified)?;
    }
    let owner = Some(identified.id.to_string());
    options.state.set_note(OWNER_NOTE, owner);
    if let Some(settings) = settings {
        options.state.set_note(MATCHMAKING, None);
        options.state.set_rules(StateRules::from(&settings));
        options.settings = settings;
    }
    let lock = || lock_account(options.client.server(), &identified);
    let _sole = options.exclusive.then(lock).transpose()?;
    tracing::info!(account = %identified.username, "playing");
    // A large future: boxed, to keep the caller's small.
    let lists = options.lists.clone();
    let event_loop = Box::new(EventLoop::new(options, &identified, commands, &shutdown));
    let event_loop = tokio::select! {
        biased;
        () = shutdown.now.cancelled() => return Ok(()),
        outcome = Box::pin(run_with_restarts(event_loop, &lists, &identified, &shutdown.drain)) => outcome?,
    };
    if event_loop.hands_over() {
        // Running clocks do not wait for chat.
        shutdown.upgrade.cancel();
        return Ok(());
    }
    tokio::select! {
        biased;
        () = shutdown.now.cancelled() => {}
        () = event_loop.shut_down() => {}
    }
    Ok(())
}

/// Locks the account on this machine.
fn lock_account(server: &str, account: &Account) -> Result<InstanceLock, BotError> {
    InstanceLock::take(server, &account.id).map_err(|pid| BotError::Taken {
        account: account.username.clone(),
        pid,
    })
}

/// Runs the event loop until the bot ends, restarting it after panics.
async fn run_with_restarts(
    mut event_loop: Box<EventLoop>,
    lists: &ListSources,
    account: &Account,
    drain: &CancellationToken,
) -> Result<Box<EventLoop>, BotError> {
    let mut backoff = RestartBackoff::new(event_loop.context.timing.revive);
    loop {
        match catch_panic(event_loop.run(drain)).await {
            Ok(outcome) => return outcome.map(|()| event_loop),
            Err(reason) => event_loop.restart(lists, account, reason),
        }
        backoff.wait().await;
    }
}

/// Why the account is not known yet, and when it is asked for again.
type LastFailure = Mutex<Option<(String, Instant)>>;

/// Answers commands before the bot is connected, until one requests the end.
async fn wait_for_drain(
    commands: &mut CommandReceiver,
    settings: &mut Option<Settings>,
    pool: &Pool,
    failure: &LastFailure,
) {
    let begun = Instant::now();
    loop {
        let order = commands.next().await;
        let reply = match &order.command {
            Command::Status => Reply::Status(Box::new(Status {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                uptime: begun.elapsed().as_secs(),
                stream: EventStreamStatus {
                    outage: failure
                        .lock()
                        .as_ref()
                        .map(|(reason, next)| StreamOutage::new(reason, begun, Some(*next))),
                    ..EventStreamStatus::default()
                },
                sources: Some(SourcesStatus::of(pool, &[])),
                ..Status::default()
            })),
            Command::Reload(reloaded) => {
                *settings = Some(Settings::clone(reloaded));
                Reply::done("reloaded")
            }
            Command::Drain => {
                order.answer(Reply::done("stopped before it began to play"));
                return;
            }
            _ => Reply::refused("not connected to the server yet"),
        };
        order.answer(reply);
    }
}

/// Fetches the account; retries as long as the network takes, and as long as a refusal may be a
/// mistake.
async fn identify(client: &Client, failure: &LastFailure) -> Result<Account, BotError> {
    let timing = client.timing().clone();
    let mut pause = timing.event_backoff;
    let mut refusals = 0;
    loop {
        let error = match client.account().await {
            Ok(account) => return check_playable(account),
            Err(error) => error,
        };
        let is_refused = error.is_unauthorized() || error.is_forbidden();
        // A web page is no word of the server.
        let counts = is_refused && !error.is_page();
        refusals = if counts { refusals + 1 } else { 0 };
        if counts {
            let token = client.test_token().await;
            // After 1 + 2 + 3 + 4 minutes.
            let lasts = refusals > REFUSALS;
            if let Some(fatal) = final_refusal(&error, Some(&token), lasts) {
                return Err(fatal);
            }
        }
        let (wait, what) = if is_refused {
            let wait = timing.minute * refusals.max(1);
            (wait, "the server refuses the token for now")
        } else {
            let jittered = pause.mul_f64(0.5 + fastrand::f64() / 2.0);
            // Games may be running: a server that is back must be found soon.
            pause = pause.mul_f64(1.5).min(timing.unreached_backoff_max);
            let wait = jittered.max(error.wait().unwrap_or_default());
            (wait, "cannot reach the server")
        };
        *failure.lock() = Some((error.to_string(), Instant::now() + wait));
        // Refusals by pages, and outages, may never end.
        if counts || client.is_news(format!("start: {error}")) {
            tracing::warn!(%error, ?wait, "{what}");
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            // Another token, whose refusals count anew.
            _ = client.doubted() => refusals = 0,
        }
    }
}

fn check_playable(account: Account) -> Result<Account, BotError> {
    if account.disabled {
        return Err(BotError::Closed(account.username));
    }
    if !account.is_bot() {
        return Err(BotError::NotABot(account.username));
    }
    Ok(account)
}

#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::InstanceLock;
#[cfg(target_os = "linux")]
pub(super) use linux::InstanceLock;

#[cfg(target_os = "linux")]
mod linux {
    use std::io::ErrorKind;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};

    use rustix::net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with,
    };

    use crate::lichess::UserId;

    /// Maximum bytes of a name, after the NUL that makes it abstract (unix(7)).
    const LONGEST: usize = 107;

    /// Holds the account on this machine while it lives. One process per machine and account: a
    /// second one would take over the first one's event stream.
    ///
    /// The data folder has a lock of its own; this one holds across folders and system users. It is
    /// a kernel name (abstract socket), not a file, and disappears with its process. A container
    /// with its own network has its own names; there, and across machines, a stolen event stream
    /// reveals a second process. Systems without such names rely on the folder lock.
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
            let address = SocketAddr::from_abstract_name(name);
            match address.and_then(|address| UnixListener::bind_addr(&address)) {
                Ok(name) => Ok(Self { _name: Some(name) }),
                Err(error) if error.kind() == ErrorKind::AddrInUse => Err(holder(name)),
                Err(error) => {
                    tracing::debug!(%error, "cannot check whether another process plays as this account");
                    Ok(Self { _name: None })
                }
            }
        }
    }

    /// Never waits: who holds the name need not accept.
    fn holder(name: &[u8]) -> Option<i32> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let stream = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
        connect(&stream, &SocketAddrUnix::new_abstract_name(name).ok()?).ok()?;
        let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
        Some(peer.pid.as_raw_nonzero().get())
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use crate::lichess::UserId;

    #[derive(Debug)]
    pub(in crate::bot) struct InstanceLock;

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
        let exclusive = InstanceLock::take(server, &me).unwrap();
        let ours = i32::try_from(std::process::id()).unwrap();
        assert_eq!(InstanceLock::take(server, &me).unwrap_err(), Some(ours));
        assert!(InstanceLock::take(server, &other).is_ok());
        assert!(InstanceLock::take("http://127.0.0.1:10", &me).is_ok());
        drop(exclusive);
        assert!(InstanceLock::take(server, &me).is_ok());
        let long = "x".repeat(500);
        let _long = InstanceLock::take(&long, &me).unwrap();
        assert!(InstanceLock::take(&long, &me).is_err());
    }

    #[test]
    fn a_holder_that_accepts_nobody_delays_nothing() {
        use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
        let socket = || {
            let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
            rustix::net::socket_with(family, kind, SocketFlags::NONBLOCK, None).unwrap()
        };
        let name = SocketAddrUnix::new_abstract_name(b"megaton deaf-bot there").unwrap();
        let deaf = socket();
        rustix::net::bind(&deaf, &name).unwrap();
        rustix::net::listen(&deaf, 0).unwrap();
        let mut waiting = Vec::new();
        loop {
            waiting.push(socket());
            if rustix::net::connect(&waiting[waiting.len() - 1], &name).is_err() {
                break;
            }
        }
        let (done, taken) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let deaf = UserId::new("deaf-bot");
            done.send(InstanceLock::take("there", &deaf).unwrap_err())
        });
        let taken = taken.recv_timeout(std::time::Duration::from_secs(60));
        assert_eq!(taken, Ok(None));
    }
}

#[cfg(test)]
mod self_test_tests {
    use std::time::Duration;

    use super::*;
    use crate::bot::control::channel;
    use crate::bot::settings::BotTiming;
    use crate::bot::state::BotState;
    use crate::engine::EngineOptions;
    use crate::lichess::{ClientOptions, Timing, Token};

    #[tokio::test]
    async fn a_failed_engine_self_test_is_published_and_logged_even_without_a_server() {
        let client = Client::new(ClientOptions {
            base_url: "http://127.0.0.1:9".to_owned(),
            token: Token::parse("lip_x", "the test").unwrap(),
            contact: None,
            timing: Timing::default(),
        });
        let event_bus = EventBus::new();
        let options = BotOptions {
            exclusive: false,
            client: client.unwrap(),
            pool: Pool::new(&EngineOptions {
                hash_mb: 1,
                ..EngineOptions::default()
            }),
            settings: Settings::default(),
            state: BotState::nowhere(),
            lists: ListSources::default(),
            timing: BotTiming::default(),
            event_bus: event_bus.clone(),
        };
        let (control, commands) = channel();
        let mut news = event_bus.subscribe();
        control.engine_failed("it plays a2a3");
        control.engine_failed("and b2b3");
        let running = tokio::spawn(run_commanded(options, Shutdown::default(), commands));
        for expected in ["it plays a2a3", "and b2b3"] {
            let told = tokio::time::timeout(Duration::from_secs(60), news.recv()).await;
            let BotEvent::EngineFailed { reason } = told.unwrap().unwrap() else {
                panic!("other news");
            };
            assert_eq!(reason, expected);
        }
        let noted = event_bus.event_log().events(2);
        assert!(
            noted.iter().all(|noted| noted.kind == "engine"),
            "{noted:?}"
        );
        assert!(noted[0].text.ends_with("and b2b3"), "{noted:?}");
        running.abort();
    }
}
