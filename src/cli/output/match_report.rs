//! The state of a match in a line while it is played, and its result at the end.

use std::fmt::Write as _;
use std::time::Duration;

use megaton::match_runner::{Estimate, Forfeits, Match, MatchReport, MatchScore, Sprt, Tally};

const PLAYERS: [&str; 2] = ["A", "B"];

/// The state of a match in one line.
pub(crate) fn line(contest: &Match, score: &MatchScore) -> String {
    let tally = &score.tally;
    let Some(elo) = elo(tally) else {
        return "no complete pair yet".to_owned();
    };
    let mut line = format!("{} games  {}  Elo {elo}", tally.games(), counts(tally));
    if let (Some(sprt), Some(ratio)) = (&contest.sprt, score.ratio) {
        // Writing to a string cannot fail.
        let _ = write!(line, "  LLR {}", likelihood(sprt, ratio));
    }
    for (name, forfeits) in PLAYERS.iter().zip(&score.forfeits) {
        if forfeits.total() > 0 {
            let _ = write!(line, "  {name} forfeited {}", forfeits.total());
        }
    }
    line
}

/// The result of a match.
pub(crate) fn text(contest: &Match, report: &MatchReport, time: Duration) -> String {
    let (score, tally) = (&report.score, &report.score.tally);
    let mut text = String::new();
    let mut add = |label: &str, what: String| {
        let _ = writeln!(text, "{label:<10} {what}");
    };
    for (name, player) in PLAYERS.iter().zip(&contest.players) {
        add(name, player.to_string());
    }
    add("limit", contest.allowance.to_string());
    let games = format!(
        "{} of {}, from {} openings, seed {}",
        tally.games(),
        2 * contest.pairs,
        contest.openings.len(),
        contest.seed
    );
    add("games", games);
    add("W-D-L", counts(tally));
    add(
        "pairs",
        format!("{:?} with 0, ½, 1, 1½, 2 points", tally.pairs),
    );
    if let (Some(estimate), Some(elo)) = (tally.estimate(), elo(tally)) {
        add("score", format!("{:.1}%", 100.0 * estimate.score));
        add("Elo", elo);
    }
    if let (Some(sprt), Some(ratio), Some(verdict)) = (&contest.sprt, score.ratio, report.verdict) {
        add("LLR", format!("{}: {verdict}", likelihood(sprt, ratio)));
    }
    for (name, forfeits) in PLAYERS.iter().zip(&score.forfeits) {
        add(&format!("forfeits {name}"), faults(forfeits));
    }
    if score.dropped > 0 {
        add("dropped", format!("{} pairs with a forfeit", score.dropped));
    }
    if score.still_games > 0 {
        let (games, worst) = (score.still_games, score.stillest_ms);
        let stalled =
            format!("stalled in {games} games, at most {worst} ms in one; not charged to a clock");
        add("machine", stalled);
    }
    for (name, speed) in PLAYERS.iter().zip(&score.speed) {
        let rate = speed.nodes_per_second().unwrap_or(0);
        let depth = speed.median_depth();
        let depth = depth.map_or_else(|| "unknown".to_owned(), |depth| depth.to_string());
        add(
            &format!("speed {name}"),
            format!("{rate} nodes/s, median depth {depth}"),
        );
    }
    let ends = score.ends.iter();
    let ends = ends.map(|(end, count)| format!("{} {count}", end.words()));
    let ends: Vec<String> = ends.collect();
    add("ends", ends.join(", "));
    let white = format!(
        "{:.1}%, games of {:.0} plies, {:.0} s",
        100.0 * score.white_score(),
        score.mean_plies(),
        time.as_secs_f64()
    );
    add("White", white);
    text
}

fn counts(tally: &Tally) -> String {
    format!("{}-{}-{}", tally.wins, tally.draws, tally.losses)
}

fn elo(tally: &Tally) -> Option<String> {
    let estimate @ Estimate { elo, low, high, .. } = tally.estimate()?;
    let interval = |margin| format!(" ± {margin:.1} [{low:+.1}, {high:+.1}]");
    let interval = estimate.margin().map(interval).unwrap_or_default();
    Some(format!("{elo:+.1}{interval}"))
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
