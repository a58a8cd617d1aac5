//! The operator's access to a running bot: a control socket in the data folder, its client, and a page.
//!
//! One line of JSON in, one line of JSON out. The panel forwards commands and knows nothing of games;
//! no number of clients can slow the bot.
//!
//! * `protocol`: the messages on the socket
//! * `control_socket`: the bot's end; `client`: a command's end
//! * `reload`: rereads the config, and the `secrets`
//! * `successor`: the program that an upgrade starts
//! * `http`: the page
//! * `status_poller`: reads the bot's status once a second for all readers; `health`: what it means;
//!   `metrics`; `systemd`: notifications and watchdog; `alerts`: webhook messages
//! * `crash_reports`: a file about each panic; `fault`: a service that panics, for tests

mod alerts;
mod client;
mod control_socket;
mod crash_reports;
#[cfg(test)]
mod fault;
mod health;
mod http;
mod metrics;
mod protocol;
mod reload;
mod secrets;
mod status_poller;
mod successor;
mod systemd;

pub use alerts::{
    Address, AddressError, Alerter, Alerts, Delivery, HEARTBEAT_VARIABLE, WEBHOOK_VARIABLE,
};
pub use client::{Unreachable, ask};
pub use control_socket::{ControlSocket, ControlSocketError};
pub use crash_reports::{CrashReports, RecentLines, crash_reports};
pub use health::{Check, Health, HealthReport, SelfTest};
pub use http::{Http, HttpError, HttpSources, KeyError, Password, Timeouts, check_password};
pub use metrics::{MetricSources, Metrics};
pub use protocol::{LONGEST, LONGEST_UPGRADE, Request, Response, Secret};
pub use reload::{ConfigCheck, Reload, Reloader};
pub use secrets::Secrets;
pub use status_poller::{LastStatus, StatusPoller, StatusWatch};
pub use successor::installed_program;
pub use systemd::{Attended, attend};
