//! How a match stands, in a line while it is played and in a table at its end.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

use megaton::match_runner::{Forfeits, Match, MatchReport, MatchScore, Sprt, Tally};

/// The state of a match in one line.
pub(super) fn line(contest: &Match, standing: &MatchScore) -> String {
    let tally = &standing.tally;
    let Some(elo) = elo(tally) else {
        return "no complete pair yet".to_owned();
    };
    let mut line = format!("{} games  {}  Elo {elo}", tally.games(), counts(tally));
    if let (Some(sprt), Some(ratio)) = (&contest.sprt, standing.ratio) {
        // Writing to a string cannot fail.
        let _ = write!(line, "  LLR {}", likelihood(sprt, ratio));
    }
    for (name, forfeits) in ["A", "B"].iter().zip(&standing.forfeits) {
        if forfeits.total() > 0 {
            let _ = write!(line, "  {name} forfeited {}", forfeits.total());
        }
    }
    line
}

/// The whole of it, for the end.
pub(super) fn write(
    out: &mut impl Write,
    contest: &Match,
    report: &MatchReport,
    time: Duration,
) -> io::Result<()> {
    let (standing, tally) = (&report.score, &report.score.tally);
    for (name, player) in ["A", "B"].iter().zip(&contest.players) {
        writeln!(out, "{name:<11}{player}")?;
    }
    writeln!(out, "limit      {}", contest.allowance)?;
    writeln!(
        out,
        "games      {} of {}, from {} openings, seed {}",
        tally.games(),
        2 * contest.pairs,
        contest.openings.len(),
        contest.seed
    )?;
    writeln!(out, "W-D-L      {}", counts(tally))?;
    writeln!(
        out,
        "pairs      {:?} with 0, ½, 1, 1½, 2 points",
        tally.pairs
    )?;
    if let (Some(estimate), Some(elo)) = (tally.estimate(), elo(tally)) {
        writeln!(out, "score      {:.1}%", 100.0 * estimate.score)?;
        writeln!(out, "Elo        {elo}")?;
    }
    if let (Some(sprt), Some(ratio), Some(verdict)) =
        (&contest.sprt, standing.ratio, report.verdict)
    {
        writeln!(out, "LLR        {}: {verdict}", likelihood(sprt, ratio))?;
    }
    for (name, forfeits) in ["A", "B"].iter().zip(&standing.forfeits) {
        writeln!(out, "forfeits {name} {}", faults(forfeits))?;
    }
    if standing.dropped > 0 {
        writeln!(out, "dropped    {} pairs with a forfeit", standing.dropped)?;
    }
    if standing.still_games > 0 {
        let (games, worst) = (standing.still_games, standing.stillest_ms);
        writeln!(
            out,
            "machine    stalled in {games} games, at most {worst} ms in one; not charged to a clock"
        )?;
    }
    for (name, speed) in ["A", "B"].iter().zip(&standing.speed) {
        let rate = speed.nodes_per_second().unwrap_or(0);
        let depth = speed.median_depth();
        let depth = depth.map_or_else(|| "unknown".to_owned(), |depth| depth.to_string());
        writeln!(out, "speed {name}    {rate} nodes/s, median depth {depth}")?;
    }
    let ends: Vec<String> = standing
        .ends
        .iter()
        .map(|(end, count)| format!("{} {count}", end.words()))
        .collect();
    writeln!(out, "ends       {}", ends.join(", "))?;
    writeln!(
        out,
        "White      {:.1}%, games of {:.0} plies, {:.0} s",
        100.0 * standing.white_score(),
        standing.mean_plies(),
        time.as_secs_f64()
    )
}

fn counts(tally: &Tally) -> String {
    format!("{}-{}-{}", tally.wins, tally.draws, tally.losses)
}

fn elo(tally: &Tally) -> Option<String> {
    let estimate = tally.estimate()?;
    let (elo, margin) = (estimate.elo, estimate.margin());
    let (low, high) = (estimate.low, estimate.high);
    Some(format!("{elo:+.1} ± {margin:.1} [{low:+.1}, {high:+.1}]"))
}

fn likelihood(sprt: &Sprt, ratio: f64) -> String {
    let bound = Sprt::bound();
    format!("{ratio:+.2} (-{bound:.2}, {bound:.2}) {sprt}")
}

fn faults(forfeits: &Forfeits) -> String {
    let Forfeits {
        illegal,
        crashes,
        hangs,
        time,
    } = forfeits;
    format!("{illegal} illegal, {crashes} crashes, {hangs} hangs, {time} on time")
}
