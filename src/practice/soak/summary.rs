//! What came of a soak, in lines for a person.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::practice::blame::Blame;
use crate::practice::journal::Traffic;
use crate::practice::report::{GameReport, Report};

/// The client's own bound on openings of the event stream in ten minutes.
const OPENINGS: usize = 20;

/// What came of a soak.
#[derive(Clone, Debug, Default)]
pub struct SoakReport {
    /// The games that were asked for.
    pub scheduled: Report,
    /// Games that began without being asked for.
    pub others: Vec<GameReport>,
    /// What the client asked.
    pub traffic: Traffic,
    /// What struck, and how often.
    pub struck: BTreeMap<String, u64>,
    /// Resident kilobytes: before the first game, after a quarter, after half, and at the end.
    pub rss: Vec<u64>,
    /// Whether the bot came to its end when its games were over.
    pub ended_well: bool,
    /// How long the machine stood still at worst.
    pub longest_stall: Duration,
    /// How long it took.
    pub wall: Duration,
}

impl SoakReport {
    /// Every game that ended.
    pub fn games(&self) -> impl Iterator<Item = &GameReport> {
        self.scheduled.games.iter().chain(&self.others)
    }

    /// The games that the client is to blame for.
    pub fn lost_through_us(&self) -> Vec<&GameReport> {
        self.games().filter(|game| game.blame.is_ours()).collect()
    }

    /// How many games were asked for and never began.
    pub fn never_begun(&self) -> usize {
        self.scheduled.asked - self.scheduled.games.len()
    }

    /// Whether nothing was lost through the client, and it kept to the server's limits.
    pub fn is_clean(&self) -> bool {
        self.complaints().is_empty()
    }

    /// Everything that is wrong, one line each.
    pub fn complaints(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let lost = self.lost_through_us().len();
        if lost > 0 {
            wrong.push(format!("{lost} games lost through us"));
        }
        if self.never_begun() > 0 {
            wrong.push(format!("{} games never began", self.never_begun()));
        }
        if !self.traffic.too_soon.is_empty() {
            let first = &self.traffic.too_soon[0];
            let count = self.traffic.too_soon.len();
            wrong.push(format!("{count} calls too soon after a 429: {first}"));
        }
        if self.traffic.most_openings > OPENINGS {
            let openings = self.traffic.most_openings;
            wrong.push(format!("{openings} event streams in ten minutes"));
        }
        if !self.ended_well {
            wrong.push("the bot did not end after its last game".to_owned());
        }
        wrong
    }
}

impl fmt::Display for SoakReport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.scheduled)?;
        writeln!(
            out,
            "games beyond the schedule: {}; wall time {:.1} s; the machine stood still for {:?} at worst",
            self.others.len(),
            self.wall.as_secs_f64(),
            self.longest_stall
        )?;
        self.write_blame(out)?;
        self.write_calls(out)?;
        self.write_recoveries(out)?;
        let struck: u64 = self.struck.values().sum();
        writeln!(out, "faults that struck: {struck}")?;
        for (name, count) in &self.struck {
            writeln!(out, "  {count:>6}  {name}")?;
        }
        let rss: Vec<String> = self
            .rss
            .iter()
            .map(|kb| format!("{} MB", kb / 1024))
            .collect();
        writeln!(out, "memory: {}", rss.join(", "))?;
        for game in self.lost_through_us() {
            write_story(out, game)?;
        }
        for complaint in self.complaints() {
            writeln!(out, "WRONG: {complaint}")?;
        }
        Ok(())
    }
}

impl SoakReport {
    fn write_blame(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut by: BTreeMap<String, usize> = BTreeMap::new();
        for game in self.games().filter(|game| game.blame != Blame::Nobody) {
            *by.entry(game.blame.to_string()).or_default() += 1;
        }
        writeln!(out, "lost through us: {}", self.lost_through_us().len())?;
        for (blame, count) in by {
            writeln!(out, "  {count:>6}  {blame}")?;
        }
        Ok(())
    }

    fn write_calls(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let games = self.games().count().max(1) as f64;
        let moves: usize = self.games().map(|game| game.plies.div_ceil(2)).sum();
        let total: u64 = self.traffic.calls.values().sum();
        writeln!(
            out,
            "requests: {total}, {:.1} a game, for {moves} moves",
            total as f64 / games
        )?;
        for (place, count) in &self.traffic.calls {
            writeln!(
                out,
                "  {count:>6}  {place} ({:.2} a game)",
                *count as f64 / games
            )?;
        }
        let gap = self.traffic.least_gap.unwrap_or_default();
        writeln!(
            out,
            "limits: {} answers of 429, at least {gap:?} to the next call; {} too soon; \
             at most {} event streams in ten minutes",
            self.traffic.limited,
            self.traffic.too_soon.len(),
            self.traffic.most_openings
        )
    }

    fn write_recoveries(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "streams lost and opened again (times, p50, p99, longest):"
        )?;
        for (how, times) in &self.traffic.recoveries {
            let mut times = times.clone();
            times.sort_unstable();
            let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
            writeln!(
                out,
                "  {:>6}  {how}: {:?}, {:?}, {:?}",
                times.len(),
                at(0.5),
                at(0.99),
                at(1.0)
            )?;
        }
        if self.traffic.still_lost > 0 {
            writeln!(out, "  {:>6}  not opened again", self.traffic.still_lost)?;
        }
        Ok(())
    }
}

fn write_story(out: &mut fmt::Formatter<'_>, game: &GameReport) -> fmt::Result {
    writeln!(
        out,
        "game {} ({} against {}): {} after {} plies; {}",
        game.number,
        game.id,
        game.partner,
        game.status.name(),
        game.plies,
        game.blame
    )?;
    for line in &game.story {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}
