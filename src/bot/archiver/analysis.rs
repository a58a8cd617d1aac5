//! Analyses lost and drawn games, on spare cores.
//!
//! While no game runs, if it can: when a game begins the search is dropped, and results so far wait for
//! the next idle time. A bot that is never idle reviews a game now and then beside its games, one search
//! in the background at a time. A game with a failed search is given up: an answer without a search must
//! not count, and no game may block the others. What a review finds is learned at once.

use std::time::Duration;

use tokio::time::timeout;

use super::{millis, now};
use crate::archive::{
    ArchiveError, GameRecord, LESSONS, LESSONS_AT_ONCE, Millis, Mistake, ReviewRecord, Writer,
};
use crate::bot::event_log::EventLog;
use crate::bot::state::BotState;
use crate::bot::supervisor::catch_panic;
use crate::engine::{Engine, Limits, Pool, Score, SearchResult, StopReason};
use crate::experience::{FALL, HOLDS, drop_of};
use crate::lichess::Side;
use crate::rules::Game;

/// Older games are not reviewed.
const RECENT: Duration = Duration::from_secs(30 * 24 * 3600);
/// After this many searches dropped while no game runs, give the game up.
const MAX_DROPPED: u32 = 3;

/// When and how to review games.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnalysisRules {
    /// Search time per position.
    pub time: Duration,
    /// A search without an answer for this many times `time` is dropped. In the background it gets
    /// only spare core time.
    pub patience: u32,
    /// Idle time required before a review.
    pub idle: Duration,
    /// Pause when there was nothing to review.
    pub again: Duration,
    /// After so long without idle time, review a game while others run.
    pub busy: Duration,
}

impl Default for AnalysisRules {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(1),
            patience: 30,
            idle: Duration::from_secs(20),
            again: Duration::from_secs(60),
            busy: Duration::from_secs(300),
        }
    }
}

/// Whether games run beside a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReviewMode {
    /// None: a review ends when one begins.
    Quiet,
    /// Some, and there was no idle time for long.
    Busy,
}

/// Reviews games as long as the archive is open.
pub(super) async fn review(
    writer: Writer,
    event_log: EventLog,
    pool: Pool,
    state: BotState,
    rules: AnalysisRules,
) {
    let reviewer = Reviewer {
        analyzer: GameAnalyzer {
            event_log,
            pool,
            rules: rules.clone(),
        },
        writer,
        state,
    };
    loop {
        let mode = reviewer.analyzer.wait_for_quiet().await;
        let since = now().saturating_sub(millis(RECENT));
        let outcome = reviewer.one(since, mode).await;
        if let Err(error) = &outcome {
            tracing::debug!(%error, "cannot review games");
        }
        if !outcome.unwrap_or(false) {
            tokio::time::sleep(rules.again).await;
        }
    }
}

/// Reviews one game at once, in a process that plays none.
pub async fn review_game(game: &GameRecord, pool: &Pool, rules: &AnalysisRules) -> ReviewRecord {
    let analyzer = GameAnalyzer {
        event_log: EventLog::default(),
        pool: pool.clone(),
        rules: rules.clone(),
    };
    analyzer.analyse(game, ReviewMode::Quiet).await
}

/// Learns from the archive as long as it is open: from the latest games when the bot starts, then from
/// each review, whichever process wrote it.
pub(super) async fn learn(writer: Writer, state: BotState, again: Duration) {
    let mut since = now();
    let (mut before, mut left) = (Millis::MAX, LESSONS);
    while left > 0 {
        let page = writer.ask(move |disk| disk.played_lines(before, LESSONS_AT_ONCE));
        match page.await {
            Ok((lines, Some(last))) => {
                for line in lines {
                    state.learn_news(line);
                }
                before = last;
                left = left.saturating_sub(LESSONS_AT_ONCE);
            }
            Ok((_, None)) => break,
            Err(error) => {
                tracing::debug!(%error, "cannot learn from the archive");
                tokio::time::sleep(again).await;
            }
        }
    }
    loop {
        let page = writer.ask(move |disk| disk.reviewed_lines(since, LESSONS_AT_ONCE));
        let (lines, last) = page.await.unwrap_or_default();
        let is_news = lines.len() == LESSONS_AT_ONCE && last > Some(since);
        for line in lines {
            state.learn_news(line);
        }
        since = last.map_or(since, |last| last.max(since));
        if !is_news {
            tokio::time::sleep(again).await;
        }
    }
}

struct Reviewer {
    analyzer: GameAnalyzer,
    writer: Writer,
    state: BotState,
}

struct GameAnalyzer {
    event_log: EventLog,
    pool: Pool,
    rules: AnalysisRules,
}

impl Reviewer {
    /// Reviews one game; false if there is none left.
    async fn one(&self, since: Millis, mode: ReviewMode) -> Result<bool, ArchiveError> {
        let event_log = &self.analyzer.event_log;
        if event_log.write_errors().borrow().is_some() {
            // The result could not be stored.
            return Ok(false);
        }
        let next = self.writer.ask(move |disk| disk.next_unreviewed(since));
        let Some(game) = next.await? else {
            return Ok(false);
        };
        // A game that cannot be reviewed must not block the others.
        let outcome = catch_panic(self.analyzer.analyse(&game, mode)).await;
        let mut review = outcome.unwrap_or_else(|reason| {
            tracing::error!(game = game.id, reason, "game review failed");
            let mut review = blank(&game);
            review.given_up = true;
            review
        });
        review.at = now();
        let found = review.describe();
        let line = game.played_line(Some(&review));
        self.writer
            .ask(move |disk| disk.keep_review(&review))
            .await?;
        if let Some(line) = line {
            self.state.learn_news(line);
        }
        event_log.reviewed(&game.id);
        tracing::info!(
            game = game.id,
            result = game.result(),
            found,
            "game reviewed"
        );
        Ok(true)
    }
}

impl GameAnalyzer {
    async fn analyse(&self, game: &GameRecord, mut mode: ReviewMode) -> ReviewRecord {
        let mut review = blank(game);
        let Some(mut blunder_search) = BlunderSearch::new(game) else {
            return review;
        };
        let mut engine = None;
        let mut dropped = 0;
        while let Some(position) = blunder_search.next() {
            let lease = engine.get_or_insert_with(|| self.pool.lease());
            match self.search(lease, &position, mode).await {
                PositionAnalysis::Found(result) => blunder_search.answer(&result),
                PositionAnalysis::Interrupted => {
                    engine = None;
                    mode = self.wait_for_quiet().await;
                }
                // The games need all cores: that says nothing about this one.
                PositionAnalysis::Silent if mode == ReviewMode::Busy => {
                    engine = None;
                    tokio::time::sleep(self.rules.again).await;
                }
                PositionAnalysis::Silent if dropped + 1 < MAX_DROPPED => {
                    dropped += 1;
                    engine = None;
                }
                PositionAnalysis::Silent | PositionAnalysis::Failed => {
                    review.given_up = true;
                    break;
                }
            }
        }
        review.positions = blunder_search.searched();
        if !review.given_up {
            review.mistake = blunder_search.mistake();
        }
        review
    }

    async fn search(&self, engine: &Engine, game: &Game, mode: ReviewMode) -> PositionAnalysis {
        let limits = Limits {
            movetime: Some(self.rules.time),
            background: true,
            ..Limits::default()
        };
        let search = engine.think(game, limits);
        let patience = self.rules.time.saturating_mul(self.rules.patience);
        tokio::select! {
            result = timeout(patience, search.answer()) => {
                PositionAnalysis::of(result.ok().and_then(Result::ok))
            }
            () = wait_for_games(&self.event_log), if mode == ReviewMode::Quiet => {
                PositionAnalysis::Interrupted
            }
        }
    }

    /// Waits until no game has run for a while, or for as long as a busy bot does.
    async fn wait_for_quiet(&self) -> ReviewMode {
        let quiet = wait_for_quiet(&self.event_log, self.rules.idle);
        match timeout(self.rules.busy, quiet).await {
            Ok(()) => ReviewMode::Quiet,
            Err(_) => ReviewMode::Busy,
        }
    }
}

/// Waits until a game runs.
pub(in crate::bot) async fn wait_for_games(event_log: &EventLog) {
    let mut changes = event_log.changes();
    while event_log.running_count() == 0 {
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Waits until no game has run for so long.
pub(in crate::bot) async fn wait_for_quiet(event_log: &EventLog, idle: Duration) {
    let mut changes = event_log.changes();
    loop {
        while event_log.running_count() > 0 {
            if changes.changed().await.is_err() {
                return;
            }
        }
        if timeout(idle, wait_for_games(event_log)).await.is_err() {
            return;
        }
    }
}

/// An empty review of a game.
fn blank(game: &GameRecord) -> ReviewRecord {
    ReviewRecord {
        game: game.id.clone(),
        at: now(),
        program: concat!("megaton ", env!("CARGO_PKG_VERSION")).to_owned(),
        positions: 0,
        mistake: None,
        given_up: false,
    }
}

/// Outcome of a search.
#[derive(Debug)]
enum PositionAnalysis {
    Found(Box<SearchResult>),
    /// It failed; its answer is just some legal move.
    Failed,
    /// No answer for far too long, or none from a search.
    Silent,
    Interrupted,
}

impl PositionAnalysis {
    fn of(result: Option<SearchResult>) -> Self {
        match result {
            Some(result) if result.ended == StopReason::Failed => Self::Failed,
            // It got no core in its time: the answer is a guess.
            Some(result) if result.depth == 0 && result.ended != StopReason::NoMove => Self::Silent,
            Some(result) => Self::Found(Box::new(result)),
            None => Self::Silent,
        }
    }
}

/// At or above this a game is better than level.
const BETTER: i32 = 150;
/// Maximum positions searched per game.
const MOST: usize = 80;
/// Moves of a line to store.
const LINE: usize = 8;

/// Which move cost a game: what to search next, and what the answers mean. Pure.
///
/// The bot's positions are searched from the last to the first, each scored for best play. If the
/// score drops across a move of the bot, that move gave it away. In a lost game the last position
/// that was not yet lost counts; in a drawn one the greatest drop from better than level.
#[derive(Debug)]
pub(super) struct BlunderSearch {
    game: Game,
    us: Side,
    lost: bool,
    flagged: bool,
    /// The ply of the next position to search; `None` when done.
    next: Option<usize>,
    /// The score after the bot's move at the next ply, and the line from there.
    after: Option<Eval>,
    searched: usize,
    found: Option<(i32, Mistake)>,
}

/// A position's score for the bot, and the line from there.
#[derive(Clone, Debug)]
struct Eval {
    score: Score,
    line: Vec<String>,
}

impl BlunderSearch {
    /// Starts on a game that the bot did not win; `None` if it cannot be replayed.
    pub(super) fn new(record: &GameRecord) -> Option<Self> {
        let us = record.us?;
        let ending = record.ending.as_ref()?;
        let moves: Vec<&str> = record.moves.iter().map(|made| made.uci.as_str()).collect();
        let game = Game::from_uci_moves(&moves.join(" ")).ok()?;
        let last = (0..game.ply())
            .rev()
            .find(|ply| GameRecord::mover(*ply) == us);
        // The last position comes first, which says what the bot's last move led to; a decided one says nothing.
        let is_over = game.position().outcome().is_some();
        let next = last.map(|last| if is_over { last + 1 } else { game.ply() });
        Some(Self {
            game,
            us,
            lost: ending.winner == Some(us.other()),
            flagged: ending.status.is_time_forfeit(),
            next,
            after: None,
            searched: 0,
            found: None,
        })
    }

    /// The game up to the next position to search.
    pub(super) fn next(&self) -> Option<Game> {
        let ply = self.next?;
        let mut game = self.game.clone();
        game.takeback(self.game.ply() - ply);
        Some(game)
    }

    /// Number of positions searched.
    pub(super) fn searched(&self) -> usize {
        self.searched
    }

    /// Records the search result of the requested position.
    pub(super) fn answer(&mut self, result: &SearchResult) {
        let Some(ply) = self.next else { return };
        self.searched += 1;
        let position = self.game.positions()[ply];
        let score = result.score;
        let ours = GameRecord::mover(ply) == self.us;
        let mut worth = Eval {
            score: if ours { score } else { score.turned() },
            line: position.san_line(result.line.iter().copied().take(LINE)),
        };
        if ours {
            self.check_move(ply, result, &worth);
            // The bot's move before is refuted by the reply that led here.
            if let Some(reply) = ply.checked_sub(1) {
                let before = self.game.positions()[reply];
                worth.line.insert(0, before.san(self.game.moves()[reply]));
                worth.line.truncate(LINE);
            }
        }
        self.after = Some(worth);
        let step = if ours { 2 } else { 1 };
        let decided = self.lost && self.found.is_some() && self.holds();
        let rest = ply.checked_sub(step);
        self.next = rest.filter(|_| !decided && self.searched < MOST);
    }

    /// Whether the position just scored was not lost yet: earlier mistakes do not matter.
    fn holds(&self) -> bool {
        self.after
            .as_ref()
            .is_some_and(|worth| worth.score.centipawns() >= HOLDS)
    }

    /// Whether the bot's move at `ply` gave something away.
    fn check_move(&mut self, ply: usize, result: &SearchResult, before: &Eval) {
        let (Some(after), Some(better)) = (&self.after, result.best) else {
            return;
        };
        let position = self.game.positions()[ply];
        let played = self.game.moves()[ply];
        let fall = drop_of(before.score.centipawns(), after.score.centipawns());
        let matters = self.lost || before.score.centipawns() >= BETTER;
        if better == played || fall < FALL || !matters {
            return;
        }
        // In a lost game the last position that held counts, whatever was given away before.
        let held = self.lost && before.score.centipawns() >= HOLDS;
        let known = self.found.as_ref().map(|(fall, _)| *fall);
        if !held && known.is_some_and(|known| fall <= known) {
            return;
        }
        let mistake = Mistake {
            ply,
            played: position.san(played),
            before: before.score,
            after: after.score,
            better: position.san(better),
            better_uci: better.to_string(),
            depth: result.depth,
            line: before.line.clone(),
            refutation: after.line.clone(),
        };
        self.found = Some((fall, mistake));
    }

    /// The move that cost the point, if a single one did.
    pub(super) fn mistake(self) -> Option<Mistake> {
        let (_, mistake) = self.found?;
        // A player who loses on time in a fair position lost by that.
        let fair = mistake.after.centipawns() >= HOLDS;
        (!(self.flagged && fair)).then_some(mistake)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{EngineOptions, SingleThread};

    #[test]
    fn an_answer_without_a_search_is_none() {
        let options = EngineOptions {
            hash_mb: 1,
            ..EngineOptions::default()
        };
        let mut solo = SingleThread::new(&options);
        let mut think = |game: &Game, nodes| Some(solo.think(game, &Limits::nodes(nodes)));
        let analysed = |result| matches!(PositionAnalysis::of(result), PositionAnalysis::Found(_));
        assert!(!analysed(think(&Game::new(), 1)), "a guess");
        assert!(analysed(think(&Game::new(), 3000)));
        let over = Game::from_uci_moves("g1f3 f7f6 f3d4 a7a6 d4e6 a6a5 e6d8").unwrap();
        assert!(analysed(think(&over, 1)), "there is nothing to search");
    }
}

#[cfg(test)]
mod blunder_search_tests {
    use std::time::Duration;

    use super::*;
    use crate::archive::{EndingRecord, MoveRecord};
    use crate::engine::{Score, StopReason};
    use crate::lichess::Status;

    const MOVES: &str = "g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1g1 f8d6 f3d4 d6h2";

    fn record(winner: Option<Side>, status: Status) -> GameRecord {
        GameRecord {
            us: Some(Side::White),
            moves: MOVES.split(' ').map(MoveRecord::bare).collect(),
            ending: Some(EndingRecord {
                status,
                winner,
                at: 1,
            }),
            ..GameRecord::default()
        }
    }

    /// Scores White's positions by ply; searches until done and returns the searched plies.
    fn inquire(record: &GameRecord, value: impl Fn(usize) -> i32) -> (Vec<usize>, Option<Mistake>) {
        let mut blunder_search = BlunderSearch::new(record).unwrap();
        let mut asked = Vec::new();
        while let Some(game) = blunder_search.next() {
            let ply = game.ply();
            asked.push(ply);
            let white = value(ply);
            let best = game.position().legal_moves().first().copied();
            blunder_search.answer(&SearchResult {
                best,
                ponder: None,
                score: Score::Cp(if ply.is_multiple_of(2) { white } else { -white }),
                depth: 7,
                seldepth: 9,
                nodes: 1,
                time: Duration::ZERO,
                line: best.into_iter().collect(),
                ranking: Vec::new(),
                by_tables: false,
                ended: StopReason::Time,
            });
        }
        (asked, blunder_search.mistake())
    }

    #[test]
    fn the_last_moment_at_which_a_lost_game_held_is_found() {
        let lost = record(Some(Side::Black), Status::VariantEnd);
        let (asked, mistake) = inquire(&lost, |ply| if ply >= 8 { -900 } else { -20 });
        assert_eq!(asked, [9, 8, 6], "no further back than needed");
        let mistake = mistake.unwrap();
        assert_eq!((mistake.ply, mistake.played.as_str()), (6, "O-O"));
        assert_eq!(mistake.before, Score::Cp(-20));
        assert_eq!(mistake.after, Score::Cp(-900));
        assert_eq!(mistake.line.len(), 1);
        let [reply, ..] = &mistake.refutation[..] else {
            panic!("a refutation");
        };
        assert_eq!((reply.as_str(), mistake.refutation.len()), ("Bd6", 2));
    }

    #[test]
    fn the_position_in_which_time_ran_out_says_what_the_last_move_was_worth() {
        let mut flagged = record(Some(Side::Black), Status::OutOfTime);
        flagged.moves.truncate(8);
        // The opponent could have won after the last move, and did not see it.
        let (asked, mistake) = inquire(&flagged, |ply| if ply == 7 { -900 } else { 50 });
        assert_eq!((asked[0], mistake), (8, None));
    }

    #[test]
    fn a_game_lost_on_the_clock_alone_has_no_losing_move() {
        for status in Status::TIME_FORFEITS {
            let lost = record(Some(Side::Black), status);
            let (_, mistake) = inquire(&lost, |ply| if ply >= 6 { 100 } else { 400 });
            assert_eq!(mistake, None, "{status:?}");
        }
    }

    #[test]
    fn of_a_draw_the_move_that_let_the_win_go_counts() {
        let drawn = record(None, Status::Draw);
        let values = [0, 0, 30, 30, 600, 500, 450, 20, 10, 0, 0];
        let (asked, mistake) = inquire(&drawn, |ply| values[ply]);
        assert_eq!(asked.last(), Some(&0), "all of it is looked at");
        assert_eq!(mistake.unwrap().ply, 6);
        let (_, level) = inquire(&drawn, |ply| if ply > 4 { -300 } else { 0 });
        assert_eq!(level, None, "a lucky draw cost nothing");
    }

    #[test]
    fn a_game_lost_from_the_start_blames_its_greatest_drop() {
        let lost = record(Some(Side::Black), Status::Resign);
        let values = [
            -200, -200, -200, -200, -250, -600, -600, -900, -900, -900, -900,
        ];
        let (_, mistake) = inquire(&lost, |ply| values[ply]);
        assert_eq!(mistake.unwrap().ply, 4);
    }

    #[test]
    fn a_game_that_cannot_be_replayed_is_skipped() {
        let mut odd = record(Some(Side::Black), Status::Resign);
        odd.moves[3].uci = "zzzz".to_owned();
        assert!(BlunderSearch::new(&odd).is_none());
        let empty = GameRecord {
            moves: Vec::new(),
            ..record(Some(Side::Black), Status::Resign)
        };
        assert!(BlunderSearch::new(&empty).unwrap().next().is_none());
    }
}
