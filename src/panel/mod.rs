//! The operator's way to a running bot: a control socket in the data folder and its other end, and a
//! page.
//!
//! One line of JSON in, one line of JSON out. The panel passes on what it is told and knows nothing
//! of games; however many clients it has and whatever they send, the bot is never slowed.
//!
//! * `wire`: what goes over the socket
//! * `server`: the bot's end; `client`: the end of a command
//! * `reload`: the config, read again
//! * `http`: the page
//! * `watch`: one look at the bot a second, for anyone who wants to know how it is; `health`: what it
//!   means; `metrics`: figures; `service`: what systemd is told; `alerts`: messages to a webhook

mod alerts;
mod client;
mod health;
mod http;
mod metrics;
mod protocol;
mod reload;
mod server;
mod status_poller;
mod systemd;

pub use alerts::{Address, AddressError, Alerter, Alerts, WEBHOOK_VARIABLE};
pub use client::{Unreachable, ask};
pub use health::{Check, Health, HealthReport, SelfTest};
pub use http::{Http, HttpError, HttpSources, KeyError, Timeouts, check_password};
pub use metrics::{MetricSources, Metrics};
pub use protocol::{LONGEST, Request, Response, Secret};
pub use reload::{Reload, Reloader};
pub use server::{Panel, PanelError};
pub use status_poller::{LastStatus, StatusPoller, StatusWatch};
pub use systemd::attend;
