//! The result of a soak, in lines for a person.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::practice::attribution::Attribution;
use crate::practice::report::{GameReport, ScheduleReport};
use crate::practice::traffic_log::Traffic;

/// The client's own limit on openings of the event stream in ten minutes.
const OPENINGS: usize = 20;
/// At most one game in this many may be excused by stalls; with more, nothing is proven.
const ONE_EXCUSED_IN: usize = 100;
/// Memory growth in kilobytes that counts as flat.
const FLAT: u64 = 64 * 1024;

/// The result of a soak.
#[derive(Clone, Debug, Default)]
pub struct SoakReport {
    /// Number of requested games.
    pub scheduled: ScheduleReport,
    /// Unrequested games.
    pub others: Vec<GameReport>,
    /// The client's traffic.
    pub traffic: Traffic,
    /// Injected faults by name, with counts.
    pub injected: BTreeMap<String, u64>,
    /// Resident kilobytes: before the first game, after a quarter, after half, and at the end.
    pub rss: Vec<u64>,
    /// Whether the bot ended after its games.
    pub ended_well: bool,
    /// The longest stall.
    pub longest_stall: Duration,
    /// How long it took.
    pub wall: Duration,
}

impl SoakReport {
    /// Every game that ended.
    pub fn games(&self) -> impl Iterator<Item = &GameReport> {
        self.scheduled.games.iter().chain(&self.others)
    }

    /// Games whose bad end is attributed to the client.
    pub fn lost_by_bot_faults(&self) -> Vec<&GameReport> {
        self.games()
            .filter(|game| game.attribution.is_ours())
            .collect()
    }

    /// Number of lost games attributed to the machine.
    pub fn excused(&self) -> usize {
        let excused = self
            .games()
            .filter(|game| matches!(game.attribution, Attribution::Machine(_)));
        excused.count()
    }

    /// Number of requested games that never began.
    pub fn never_begun(&self) -> usize {
        self.scheduled.asked - self.scheduled.games.len()
    }

    /// Whether the client lost nothing and respected the server's limits, and the machine was good
    /// enough to prove it.
    pub fn is_clean(&self) -> bool {
        self.complaints().is_empty()
    }

    /// Every failure, one line each.
    pub fn complaints(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let lost = self.lost_by_bot_faults().len();
        if lost > 0 {
            wrong.push(format!("{lost} games lost by the bot's fault"));
        }
        if self.never_begun() > 0 {
            wrong.push(format!("{} games never began", self.never_begun()));
        }
        let (excused, games) = (self.excused(), self.games().count());
        if is_no_proof(excused, games) {
            wrong.push(format!(
                "{excused} of {games} games are excused by a machine that stood still: \
                 this proves nothing"
            ));
        }
        if let [_, _, half, end] = self.rss[..]
            && has_grown(half, end)
        {
            wrong.push(format!(
                "memory grew from {} MB after half of the games to {} MB",
                half / 1024,
                end / 1024
            ));
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

/// Whether so many games were excused that the others prove nothing.
fn is_no_proof(excused: usize, games: usize) -> bool {
    excused * ONE_EXCUSED_IN > games
}

/// Whether memory, in kilobytes, grows with the games. After half of them all tables are full.
fn has_grown(half: u64, end: u64) -> bool {
    end > half + half / 2 && end > half + FLAT
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
        self.write_attribution(out)?;
        self.write_calls(out)?;
        self.write_recoveries(out)?;
        let injected: u64 = self.injected.values().sum();
        writeln!(out, "faults that struck: {injected}")?;
        for (name, count) in &self.injected {
            writeln!(out, "  {count:>6}  {name}")?;
        }
        let rss: Vec<String> = self
            .rss
            .iter()
            .map(|kb| format!("{} MB", kb / 1024))
            .collect();
        writeln!(out, "memory: {}", rss.join(", "))?;
        for game in self.lost_by_bot_faults() {
            write_trace(out, game)?;
        }
        for complaint in self.complaints() {
            writeln!(out, "WRONG: {complaint}")?;
        }
        Ok(())
    }
}

impl SoakReport {
    fn write_attribution(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut by: BTreeMap<String, usize> = BTreeMap::new();
        for game in self
            .games()
            .filter(|game| game.attribution != Attribution::Nobody)
        {
            *by.entry(game.attribution.to_string()).or_default() += 1;
        }
        writeln!(
            out,
            "lost by the bot's fault: {}",
            self.lost_by_bot_faults().len()
        )?;
        for (attribution, count) in by {
            writeln!(out, "  {count:>6}  {attribution}")?;
        }
        writeln!(
            out,
            "excused by a machine that stood still: {}",
            self.excused()
        )
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

fn write_trace(out: &mut fmt::Formatter<'_>, game: &GameReport) -> fmt::Result {
    writeln!(
        out,
        "game {} ({} against {}): {} after {} plies; {}",
        game.number,
        game.id,
        game.partner,
        game.status.name(),
        game.plies,
        game.attribution
    )?;
    for line in &game.trace {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::practice::game_settings::Status;
    use crate::rules::Color;

    use super::*;

    const MB: u64 = 1024;

    /// A report with this many clean and this many excused games.
    fn report(good: usize, excused: usize) -> SoakReport {
        let game = |number| GameReport {
            number,
            id: format!("game{number}"),
            arena: None,
            partner: "greedy".to_owned(),
            color: Color::White,
            status: Status::Timeout,
            winner: None,
            plies: 9,
            illegal: 0,
            out_of_turn: 0,
            calls: 9,
            attribution: if number < good {
                Attribution::Nobody
            } else {
                Attribution::Machine("it was gone until the opponent claimed")
            },
            trace: Vec::new(),
        };
        SoakReport {
            scheduled: ScheduleReport {
                asked: good + excused,
                games: (0..good + excused).map(game).collect(),
            },
            ended_well: true,
            ..SoakReport::default()
        }
    }

    #[test]
    fn games_excused_by_stalls_are_reported_and_too_many_prove_nothing() {
        for (good, excused, is_clean) in [
            (200, 0, true),
            (198, 2, true),
            (197, 3, false),
            (9, 1, false),
        ] {
            let report = report(good, excused);
            let text = report.to_string();
            let sent = format!("excused by a machine that stood still: {excused}\n");
            assert!(text.contains(&sent), "{text}");
            assert_eq!(report.is_clean(), is_clean, "{text}");
            assert_eq!(text.contains("this proves nothing"), !is_clean, "{text}");
            assert!(report.lost_by_bot_faults().is_empty(), "{text}");
        }
    }

    #[test]
    fn memory_growth_is_reported() {
        for (half, end, grows) in [
            (160, 140, false),
            (160, 160, false),
            (20, 84, false),
            (20, 85, true),
            (160, 240, false),
            (160, 241, true),
        ] {
            assert_eq!(has_grown(half * MB, end * MB), grows, "{half} MB, {end} MB");
        }
        // Without a figure from the system there is no failure to report.
        assert!(!has_grown(0, 0));
        let mut report = report(200, 0);
        report.rss = [10, 20, 30, 200].map(|mb| mb * MB).to_vec();
        let grown = "memory grew from 30 MB after half of the games to 200 MB";
        assert_eq!(report.complaints(), [grown]);
    }
}
