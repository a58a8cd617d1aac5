//! One game: its turns, clocks and end.
//!
//! The referee trusts no player. It keeps the clocks itself, and a faulty player loses.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::adjudication::{Adjudicator, Ruling};
use super::limit::MoveLimit;
use super::player::{PlayedMove, Player, PlayerFault, TurnTime};
use super::record::{GameEnd, SearchEffort};
use super::stall_detector::StallDetector;
use crate::rules::{ByColor, Color, Game, Position, RepetitionRule};
use crate::tablebase::{OutcomeTables, TableRuling};

/// The conditions for both players.
#[derive(Clone, Debug)]
pub(super) struct GameTerms {
    pub(super) allowance: MoveLimit,
    /// The time by which a player may exceed its clock without a forfeit.
    pub(super) margin: Duration,
    /// The half-moves after which the game is drawn.
    pub(super) most_plies: usize,
    /// Whether agreeing scores may end a game.
    pub(super) adjudicates: bool,
}

#[derive(Clone, Debug)]
pub(super) struct PlayedGame {
    pub(super) game: Game,
    pub(super) scores: Vec<Option<i32>>,
    pub(super) depths: Vec<Option<u32>>,
    pub(super) winner: Option<Color>,
    pub(super) end: GameEnd,
    pub(super) fault: Option<PlayerFault>,
    pub(super) efforts: ByColor<SearchEffort>,
    /// Time in which the machine stalled, which counts on no clock.
    pub(super) still: Duration,
}

/// A running game.
struct RefereedGame<'a> {
    terms: &'a GameTerms,
    stalls: &'a StallDetector,
    played: PlayedGame,
    clocks: ByColor<Duration>,
    adjudicator: Adjudicator,
}

/// Plays a game to its end; none if the match was cancelled.
pub(super) fn play(
    start: Position,
    players: &mut ByColor<&mut dyn Player>,
    terms: &GameTerms,
    stalls: &StallDetector,
    called_off: &AtomicBool,
) -> Option<PlayedGame> {
    let mut table = RefereedGame::new(start, terms, stalls);
    for color in Color::ALL {
        if let Err(fault) = players[color].new_game() {
            return Some(table.forfeit(color, fault));
        }
    }
    loop {
        if called_off.load(Ordering::Relaxed) {
            return None;
        }
        if let Some((winner, end)) = table.over() {
            return Some(table.finish(winner, end));
        }
        let color = table.played.game.position().turn();
        if let Err(fault) = table.turn(color, players[color]) {
            return Some(table.forfeit(color, fault));
        }
    }
}

impl<'a> RefereedGame<'a> {
    fn new(start: Position, terms: &'a GameTerms, stalls: &'a StallDetector) -> Self {
        let base = match terms.allowance {
            MoveLimit::Clock { base, .. } => base,
            _ => Duration::ZERO,
        };
        Self {
            terms,
            stalls,
            played: PlayedGame {
                game: Game::from_position(start),
                scores: Vec::new(),
                depths: Vec::new(),
                winner: None,
                end: GameEnd::PlyLimit,
                fault: None,
                efforts: ByColor::default(),
                still: Duration::ZERO,
            },
            clocks: ByColor {
                white: base,
                black: base,
            },
            adjudicator: Adjudicator::default(),
        }
    }

    /// The winner and the reason, if the game has ended.
    fn over(&mut self) -> Option<(Option<Color>, GameEnd)> {
        let game = &self.played.game;
        if let Some(outcome) = game.outcome(RepetitionRule::Threefold) {
            return Some((outcome.winner(), outcome.into()));
        }
        let adjudicates = self.terms.adjudicates && game.ply() > 0;
        let position = game.position();
        let ruling = adjudicates.then(|| OutcomeTables::built_in().ruling(position));
        if let Some(ruling) = ruling.flatten() {
            return Some(match ruling {
                TableRuling::Won(color) => (Some(color), GameEnd::AdjudicatedWin),
                TableRuling::Drawn => (None, GameEnd::AdjudicatedDraw),
            });
        }
        if game.ply() >= self.terms.most_plies {
            return Some((None, GameEnd::PlyLimit));
        }
        if !adjudicates {
            return None;
        }
        let score = self.played.scores.last().copied().flatten();
        match self.adjudicator.hear(score, game.ply())? {
            Ruling::Won(color) => Some((Some(color), GameEnd::AdjudicatedWin)),
            Ruling::Drawn => Some((None, GameEnd::AdjudicatedDraw)),
        }
    }

    fn turn(&mut self, color: Color, player: &mut dyn Player) -> Result<(), PlayerFault> {
        let turn = TurnTime {
            allowance: self.terms.allowance,
            clocks: self.clocks,
        };
        let asked = Instant::now();
        let choice = player.choose(&self.played.game, &turn);
        let answered = Instant::now();
        let still = self.stalls.between(asked, answered);
        self.played.still += still;
        let used = (answered - asked).saturating_sub(still);
        self.played.efforts[color].micros += used.as_micros() as u64;
        let choice = choice?;
        let counted = self.terms.allowance.time_of_nodes(choice.nodes);
        self.charge(color, counted.unwrap_or(used))?;
        if !self.played.game.position().is_legal(choice.mv) {
            return Err(PlayerFault::Illegal(choice.mv.to_string()));
        }
        self.note(color, &choice);
        self.played.game.push(choice.mv);
        Ok(())
    }

    /// Takes the time off the clock.
    fn charge(&mut self, color: Color, used: Duration) -> Result<(), PlayerFault> {
        let (left, increment) = match self.terms.allowance {
            MoveLimit::Nodes { .. } | MoveLimit::Depth(_) => return Ok(()),
            MoveLimit::Movetime(time) => (time, Duration::ZERO),
            MoveLimit::Clock { increment, .. } => (self.clocks[color], increment),
        };
        if used > left + self.terms.margin {
            return Err(PlayerFault::Time(used.saturating_sub(left)));
        }
        self.clocks[color] = left.saturating_sub(used) + increment;
        Ok(())
    }

    fn note(&mut self, color: Color, choice: &PlayedMove) {
        let sign = if color == Color::White { 1 } else { -1 };
        let score = choice.score.map(|score| sign * score.centipawns());
        self.played.scores.push(score);
        self.played.depths.push(choice.depth);
        self.played.efforts[color].nodes += choice.nodes;
    }

    fn finish(mut self, winner: Option<Color>, end: GameEnd) -> PlayedGame {
        self.played.winner = winner;
        self.played.end = end;
        self.played
    }

    fn forfeit(mut self, color: Color, fault: PlayerFault) -> PlayedGame {
        let end = GameEnd::from(&fault);
        self.played.fault = Some(fault);
        self.finish(Some(!color), end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Score;

    /// Plays a script: each move with a score, then fails.
    struct Script(Vec<(&'static str, i32)>, PlayerFault);

    impl Script {
        fn new(moves: &[(&'static str, i32)]) -> Self {
            let moves = moves.iter().rev().copied().collect();
            Self(moves, PlayerFault::Crash("the script is over".to_owned()))
        }
    }

    impl Player for Script {
        fn new_game(&mut self) -> Result<(), PlayerFault> {
            Ok(())
        }

        fn choose(&mut self, game: &Game, _: &TurnTime) -> Result<PlayedMove, PlayerFault> {
            let (text, score) = self.0.pop().ok_or_else(|| self.1.clone())?;
            let mv = game.position().parse_uci(text);
            Ok(PlayedMove {
                mv: mv.map_err(|error| PlayerFault::Illegal(error.to_string()))?,
                score: Some(Score::Cp(score)),
                depth: Some(3),
                nodes: 10,
            })
        }
    }

    fn terms() -> GameTerms {
        GameTerms {
            allowance: MoveLimit::Depth(1),
            margin: Duration::ZERO,
            most_plies: 400,
            adjudicates: false,
        }
    }

    fn referee<'a>(
        terms: &GameTerms,
        white: &'a mut dyn Player,
        black: &'a mut dyn Player,
    ) -> PlayedGame {
        let mut players = ByColor { white, black };
        play(
            Position::default(),
            &mut players,
            terms,
            &StallDetector::default(),
            &AtomicBool::new(false),
        )
        .unwrap()
    }

    #[test]
    fn an_explosion_wins_and_scores_are_seen_by_white() {
        let mut white = Script::new(&[("g1f3", 5), ("f3g5", 20), ("g5f7", 30_000)]);
        let mut black = Script::new(&[("a7a6", -7), ("a6a5", -9000)]);
        let played = referee(&terms(), &mut white, &mut black);
        assert_eq!(
            (played.winner, played.end),
            (Some(Color::White), GameEnd::Explosion)
        );
        let scores = [5, 7, 20, 9000, 30_000].map(Some);
        assert_eq!(played.scores, scores);
        assert_eq!(
            (played.efforts.white.nodes, played.efforts.black.nodes),
            (30, 20)
        );
    }

    #[test]
    fn faults_lose_and_are_distinguished() {
        let mut white = Script::new(&[("g1f3", 0)]);
        let mut black = Script::new(&[("e2e4", 0)]);
        let played = referee(&terms(), &mut white, &mut black);
        assert_eq!(
            (played.winner, played.end),
            (Some(Color::White), GameEnd::Illegal)
        );
        let (mut white, mut black) = (Script::new(&[]), Script::new(&[]));
        let played = referee(&terms(), &mut white, &mut black);
        assert_eq!(
            (played.winner, played.end),
            (Some(Color::Black), GameEnd::Crash)
        );
    }

    #[test]
    fn a_clock_that_runs_out_loses_beyond_the_margin_only() {
        let mut table_terms = terms();
        table_terms.allowance = MoveLimit::parse_clock("1+0.1").unwrap();
        table_terms.margin = Duration::from_millis(50);
        let stalls = StallDetector::default();
        let mut table = RefereedGame::new(Position::default(), &table_terms, &stalls);
        let millis = Duration::from_millis;
        assert_eq!(table.charge(Color::White, millis(700)), Ok(()));
        assert_eq!(table.clocks.white, millis(400));
        assert_eq!(table.charge(Color::White, millis(440)), Ok(()));
        assert_eq!(table.clocks.white, millis(100));
        let over = table.charge(Color::White, millis(151));
        assert_eq!(over, Err(PlayerFault::Time(millis(51))));
        assert_eq!(table.clocks.black, millis(1000));
    }

    #[test]
    fn the_limit_on_length_and_agreed_scores_end_games_when_asked_to() {
        let tour = [("g1f3", 2000), ("f3g1", 2000), ("b1c3", 2000)];
        let reply = [("g8f6", -2000), ("f6g8", -2000), ("b8c6", -2000)];
        let mut short = terms();
        short.most_plies = 3;
        let played = referee(&short, &mut Script::new(&tour), &mut Script::new(&reply));
        assert_eq!(
            (played.winner, played.end, played.game.ply()),
            (None, GameEnd::PlyLimit, 3)
        );
        let mut agreed = terms();
        agreed.adjudicates = true;
        let played = referee(&agreed, &mut Script::new(&tour), &mut Script::new(&reply));
        assert_eq!(played.winner, Some(Color::White));
        assert_eq!(
            (played.end, played.game.ply()),
            (GameEnd::AdjudicatedWin, 4)
        );
    }

    #[test]
    fn endgame_tables_end_a_game_with_few_pieces_when_asked_to() {
        for (adjudicates, end) in [(true, GameEnd::AdjudicatedWin), (false, GameEnd::PlyLimit)] {
            let mut white = Script::new(&[("h2h3", 0)]);
            let mut black = Script::new(&[]);
            let mut players = ByColor::<&mut dyn Player> {
                white: &mut white,
                black: &mut black,
            };
            let terms = GameTerms {
                adjudicates,
                most_plies: 1,
                ..terms()
            };
            let start = Position::from_fen("8/8/4k3/8/8/3K4/6PP/8 w - - 0 1").unwrap();
            let (stalls, going) = (StallDetector::default(), AtomicBool::new(false));
            let played = play(start, &mut players, &terms, &stalls, &going).unwrap();
            assert_eq!((played.end, played.game.ply()), (end, 1));
            assert_eq!(played.winner, adjudicates.then_some(Color::White));
        }
    }

    #[test]
    fn an_aborted_game_counts_for_nothing() {
        let (mut white, mut black) = (Script::new(&[]), Script::new(&[]));
        let mut players = ByColor::<&mut dyn Player> {
            white: &mut white,
            black: &mut black,
        };
        let called_off = AtomicBool::new(true);
        let played = play(
            Position::default(),
            &mut players,
            &terms(),
            &StallDetector::default(),
            &called_off,
        );
        assert!(played.is_none());
    }
}
