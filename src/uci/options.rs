//! The options of the protocol: what is offered, and what a value means.

use std::io::{self, Write};
use std::time::Duration;

use crate::rules::UciStyle;

const HASH: (usize, usize, usize) = (16, 1, 65_536);
const OVERHEAD: (u64, u64, u64) = (10, 0, 5_000);
const LINES: (usize, usize, usize) = (1, 1, 256);

/// The settings of a session.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) hash_mb: usize,
    pub(super) overhead: Duration,
    pub(super) lines: usize,
    pub(super) style: UciStyle,
}

/// What a change of an option asks of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    None,
    ClearHash,
    ResizeHash,
}

impl Options {
    pub(super) const fn new() -> Options {
        Options {
            hash_mb: HASH.0,
            overhead: Duration::from_millis(OVERHEAD.0),
            lines: LINES.0,
            style: UciStyle::Standard,
        }
    }

    /// The list that answers `uci`.
    pub(super) fn list(output: &mut impl Write) -> io::Result<()> {
        writeln!(
            output,
            "option name UCI_Variant type combo default atomic var atomic"
        )?;
        writeln!(
            output,
            "option name Hash type spin default {} min {} max {}",
            HASH.0, HASH.1, HASH.2
        )?;
        writeln!(
            output,
            "option name Threads type spin default 1 min 1 max 1"
        )?;
        let (default, least, most) = OVERHEAD;
        writeln!(
            output,
            "option name Move Overhead type spin default {default} min {least} max {most}"
        )?;
        let (default, least, most) = LINES;
        writeln!(
            output,
            "option name MultiPV type spin default {default} min {least} max {most}"
        )?;
        writeln!(output, "option name Ponder type check default false")?;
        writeln!(output, "option name UCI_Chess960 type check default false")?;
        writeln!(output, "option name Clear Hash type button")
    }

    /// Set an option; an error says why not, and changes nothing.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<Effect, String> {
        match name.to_ascii_lowercase().as_str() {
            "hash" => {
                self.hash_mb = within(name, value, HASH.1, HASH.2)?;
                return Ok(Effect::ResizeHash);
            }
            "clear hash" => return Ok(Effect::ClearHash),
            "threads" => {
                within(name, value, 1, 1)?;
            }
            "move overhead" => {
                self.overhead = Duration::from_millis(within(name, value, OVERHEAD.1, OVERHEAD.2)?);
            }
            "multipv" => self.lines = within(name, value, LINES.1, LINES.2)?,
            "uci_chess960" => {
                self.style = if is_true(name, value)? {
                    UciStyle::KingTakesRook
                } else {
                    UciStyle::Standard
                };
            }
            "ponder" => {
                is_true(name, value)?;
            }
            "uci_variant" if value == "atomic" => {}
            "uci_variant" => return Err(format!("the only variant is atomic, not {value:?}")),
            _ => return Err(format!("no option {name:?}")),
        }
        Ok(Effect::None)
    }
}

fn within<T>(name: &str, value: &str, least: T, most: T) -> Result<T, String>
where
    T: std::str::FromStr + PartialOrd + std::fmt::Display,
{
    match value.parse::<T>() {
        Ok(number) if number >= least && number <= most => Ok(number),
        _ => Err(format!(
            "{name} takes a number from {least} to {most}, not {value:?}"
        )),
    }
}

fn is_true(name: &str, value: &str) -> Result<bool, String> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("{name} is true or false, not {value:?}")),
    }
}
