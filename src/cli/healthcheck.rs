//! `megaton healthcheck`: whether a bot runs and is well, for containers and scripts.

use std::io::{self, Write};

use megaton::panel::{self, HealthReport, Request};

use super::failure::Failure;
use super::setup::BotArgs;

/// Check whether a running bot is alive, or ready for games
///
/// Alive: the bot answers and its engine solves a test position; otherwise restart it. Ready: it
/// also receives events, accepts games and can write to its disk. Exit status: 0 yes, 1 no, 2
/// unreadable config.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton healthcheck
  megaton healthcheck --ready
  megaton healthcheck --json | jq .checks")]
pub(super) struct Args {
    /// Check readiness, not only liveness
    #[arg(long)]
    ready: bool,
    /// Print every check as one JSON object
    #[arg(long)]
    json: bool,
    /// Print nothing; answer by exit status only
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    #[command(flatten)]
    bot: BotArgs,
}

impl Args {
    pub(super) fn execute(&self) -> Result<(), Failure> {
        let report = match self.report() {
            Err(Failure::Failed(_)) if self.quiet => return Err(Failure::Told),
            other => other?,
        };
        let well = if self.ready {
            report.ready
        } else {
            report.alive
        };
        if !self.quiet {
            self.say(&report, well)?;
        }
        if well { Ok(()) } else { Err(Failure::Told) }
    }

    fn report(&self) -> Result<HealthReport, Failure> {
        let socket = self
            .bot
            .socket()?
            .ok_or_else(|| Failure::setup("the config disables the control socket: see [data]"))?;
        let answer = panel::ask(&socket, &Request::Health {});
        let answer = answer.map_err(|error| Failure::Failed(error.into()))?;
        answer.health.ok_or_else(|| Failure::failed(answer.text))
    }

    fn say(&self, report: &HealthReport, well: bool) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        if self.json {
            let text = serde_json::to_string(report).map_err(anyhow::Error::from)?;
            writeln!(out, "{text}")?;
            return Ok(());
        }
        let what = if self.ready { "ready" } else { "alive" };
        let not = if well { "" } else { "not " };
        writeln!(out, "{not}{what}")?;
        for check in &report.checks {
            let mark = if check.ok { "ok   " } else { "WRONG" };
            writeln!(out, "{mark} {:<8} {}", check.name, check.text)?;
        }
        Ok(())
    }
}
