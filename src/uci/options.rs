//! The UCI options and the meaning of their values.

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::book::OwnBook;
use crate::engine::{Evaluator, SearchParams, TUNABLES, Tablebases};
use crate::rules::UciStyle;
use crate::tablebase::{BuiltIn, Syzygy, tablebases};

const HASH: Spin = Spin::new(16, 1, 65_536);
const OVERHEAD: Spin = Spin::new(10, 0, 5_000);
const THREADS: Spin = Spin::new(1, 1, 64);
const LINES: Spin = Spin::new(1, 1, 256);

const PROBE_DEPTH: Spin = Spin::new(1, 1, 100);
const PROBE_LIMIT: Spin = Spin::new(7, 0, 7);

/// In centipawns. The value for games; analysis is neutral.
const CONTEMPT: Spin = Spin::new(10, -100, 100);

/// A number with its bounds.
struct Spin {
    default: i64,
    least: i64,
    most: i64,
}

impl Spin {
    const fn new(default: i64, least: i64, most: i64) -> Spin {
        Spin {
            default,
            least,
            most,
        }
    }

    fn list(&self, name: &str, output: &mut impl Write) -> io::Result<()> {
        let Spin {
            default,
            least,
            most,
        } = self;
        writeln!(
            output,
            "option name {name} type spin default {default} min {least} max {most}"
        )
    }

    fn read(&self, name: &str, value: &str) -> Result<i64, String> {
        let Spin { least, most, .. } = self;
        match value.parse() {
            Ok(number) if (*least..=*most).contains(&number) => Ok(number),
            _ => Err(format!(
                "{name} takes a number from {least} to {most}, not {value:?}"
            )),
        }
    }
}

/// The settings of a session.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) hash_mb: usize,
    pub(super) threads: usize,
    pub(super) overhead: Duration,
    pub(super) lines: usize,
    pub(super) contempt: i32,
    pub(super) style: UciStyle,
    pub(super) evaluator: Evaluator,
    pub(super) params: SearchParams,
    pub(super) book: OwnBook,
    built_in: BuiltIn,
    syzygy: Option<Arc<Syzygy>>,
    probe_depth: u32,
    probe_limit: usize,
    fifty_moves: bool,
}

/// What the session has to do after a change of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    None,
    ClearHash,
    NewEngine,
    /// Create a new engine, with the tables that this text describes.
    NewTables(String),
}

impl Options {
    pub(super) fn new(evaluator: Evaluator) -> Options {
        Options {
            hash_mb: HASH.default as usize,
            threads: THREADS.default as usize,
            overhead: Duration::from_millis(OVERHEAD.default as u64),
            lines: LINES.default as usize,
            contempt: CONTEMPT.default as i32,
            style: UciStyle::Standard,
            evaluator,
            params: SearchParams::default(),
            book: OwnBook::default(),
            built_in: BuiltIn::On,
            syzygy: None,
            probe_depth: PROBE_DEPTH.default as u32,
            probe_limit: PROBE_LIMIT.default as usize,
            fifty_moves: true,
        }
    }

    /// The tablebases to probe, and their settings.
    pub(super) fn tables(&self) -> Option<Tablebases> {
        let tables = tablebases(self.built_in, self.syzygy.clone())?
            .with_depth(self.probe_depth)
            .with_limit(self.probe_limit)
            .with_fifty_moves(self.fifty_moves);
        Some(tables)
    }

    /// The list of options for the answer to `uci`.
    pub(super) fn list(output: &mut impl Write) -> io::Result<()> {
        writeln!(
            output,
            "option name UCI_Variant type combo default atomic var atomic"
        )?;
        HASH.list("Hash", output)?;
        THREADS.list("Threads", output)?;
        OVERHEAD.list("Move Overhead", output)?;
        LINES.list("MultiPV", output)?;
        CONTEMPT.list("Contempt", output)?;
        writeln!(output, "option name EvalFile type string default <empty>")?;
        writeln!(output, "option name BuiltInTables type check default true")?;
        writeln!(output, "option name SyzygyPath type string default <empty>")?;
        PROBE_DEPTH.list("SyzygyProbeDepth", output)?;
        PROBE_LIMIT.list("SyzygyProbeLimit", output)?;
        writeln!(
            output,
            "option name Syzygy50MoveRule type check default true"
        )?;
        writeln!(output, "option name OwnBook type check default false")?;
        writeln!(output, "option name BookFile type string default <empty>")?;
        writeln!(output, "option name Ponder type check default false")?;
        writeln!(output, "option name UCI_Chess960 type check default false")?;
        writeln!(output, "option name Clear Hash type button")?;
        for it in TUNABLES {
            let range = Spin::new(it.default.into(), it.least.into(), it.most.into());
            range.list(it.name, output)?;
        }
        Ok(())
    }

    /// Sets an option; an error says why it cannot, and changes nothing.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<Effect, String> {
        match name.to_ascii_lowercase().as_str() {
            "hash" => {
                self.hash_mb = HASH.read(name, value)? as usize;
                return Ok(Effect::NewEngine);
            }
            "clear hash" => return Ok(Effect::ClearHash),
            "threads" => {
                self.threads = THREADS.read(name, value)? as usize;
                return Ok(Effect::NewEngine);
            }
            "move overhead" => {
                self.overhead = Duration::from_millis(OVERHEAD.read(name, value)? as u64);
            }
            "evalfile" => {
                // UCI writes an empty text as "<empty>".
                let name = if value == "<empty>" { "" } else { value };
                self.evaluator =
                    Evaluator::named(Path::new(name)).map_err(|error| error.to_string())?;
                return Ok(Effect::NewEngine);
            }
            "builtintables" => {
                self.built_in = if is_true(name, value)? {
                    BuiltIn::On
                } else {
                    BuiltIn::Off
                };
                return Ok(Effect::NewEngine);
            }
            "syzygypath" => return self.open_tables(value),
            "syzygyprobedepth" => {
                self.probe_depth = PROBE_DEPTH.read(name, value)? as u32;
                return Ok(self.changed_tables());
            }
            "syzygyprobelimit" => {
                self.probe_limit = PROBE_LIMIT.read(name, value)? as usize;
                return Ok(self.changed_tables());
            }
            "syzygy50moverule" => {
                self.fifty_moves = is_true(name, value)?;
                return Ok(self.changed_tables());
            }
            "contempt" => self.contempt = CONTEMPT.read(name, value)? as i32,
            "multipv" => self.lines = LINES.read(name, value)? as usize,
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
            _ => {
                if let Some(set) = self.book.set(name, value) {
                    return set.map(|()| Effect::None);
                }
                return match self.params.set(name, value) {
                    Some(set) => set.map(|()| Effect::NewEngine),
                    None => Err(format!("no option {name:?}")),
                };
            }
        }
        Ok(Effect::None)
    }

    /// Folders are separated as in the system's path lists: by `:`, on Windows by `;`.
    fn open_tables(&mut self, value: &str) -> Result<Effect, String> {
        // GUIs and the protocol write an empty text like this.
        if matches!(value, "" | "<empty>") {
            self.syzygy = None;
            return Ok(Effect::NewTables("none".to_owned()));
        }
        let folders: Vec<PathBuf> = env::split_paths(value)
            .filter(|folder| !folder.as_os_str().is_empty())
            .collect();
        let syzygy = Syzygy::open(&folders).map_err(|error| format!("SyzygyPath: {error}"))?;
        let mut said = syzygy.found().to_string();
        for refused in syzygy.refused() {
            said.push_str("; passed over: ");
            said.push_str(refused);
        }
        self.syzygy = Some(Arc::new(syzygy));
        Ok(Effect::NewTables(said))
    }

    /// The change for the session after a change of tablebase settings.
    fn changed_tables(&self) -> Effect {
        match self.tables() {
            Some(_) => Effect::NewEngine,
            None => Effect::None,
        }
    }
}

fn is_true(name: &str, value: &str) -> Result<bool, String> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("{name} is true or false, not {value:?}")),
    }
}
