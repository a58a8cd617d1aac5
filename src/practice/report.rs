//! The result of a schedule, and whether the bot made mistakes.

use std::collections::BTreeMap;
use std::fmt;

use crate::rules::Color;

use super::attribution::Attribution;
use super::game::ServerGame;
use super::game_settings::Status;
use super::traffic_log::GameTrace;

/// One game, from the bot's side.
#[derive(Clone, Debug)]
pub struct GameReport {
    /// The index in the schedule, from zero.
    pub number: usize,
    pub id: String,
    /// The arena of the game.
    pub arena: Option<String>,
    /// The opponent of the bot.
    pub partner: String,
    pub color: Color,
    pub status: Status,
    pub winner: Option<Color>,
    pub plies: usize,
    /// Illegal moves that the bot posted.
    pub illegal: u32,
    /// Moves that the bot posted out of turn, or that were on the board already.
    pub out_of_turn: u32,
    /// Requests of the bot that belong to this game.
    pub calls: u32,
    /// Which side caused the end.
    pub attribution: Attribution,
    /// The trace, if the bot is at fault: one line per event, milliseconds first.
    pub trace: Vec<String>,
}

/// All games of a schedule.
#[derive(Clone, Debug, Default)]
pub struct ScheduleReport {
    /// Number of games scheduled.
    pub asked: usize,
    pub games: Vec<GameReport>,
}

impl GameReport {
    /// The report of a game with the bot on `side`.
    pub(super) fn of(
        game: &ServerGame,
        side: Color,
        attribution: Attribution,
        trace: &GameTrace,
    ) -> Self {
        let faulty = game.faulty(side);
        let sent = |lines: &GameTrace| -> Vec<String> {
            let since = |at: super::time::Millis| (at - game.created).as_millis();
            let lines = lines.lines.iter();
            lines
                .map(|(at, line)| format!("{:>7} ms  {line}", since(*at)))
                .collect()
        };
        Self {
            number: 0,
            id: game.setup.id.clone(),
            arena: game.setup.arena.clone(),
            partner: game.player_side(!side).name.clone(),
            color: side,
            status: game.status(),
            winner: game.winner(),
            plies: game.plies(),
            illegal: faulty.illegal,
            out_of_turn: faulty.out_of_turn,
            calls: trace.calls,
            trace: if attribution.is_ours() {
                sent(trace)
            } else {
                Vec::new()
            },
            attribution,
        }
    }

    fn is_lost(&self) -> bool {
        self.winner == Some(!self.color)
    }

    /// Whether the bot played it to a regular end.
    pub fn is_clean(&self) -> bool {
        self.attribution == Attribution::Nobody
    }
}

impl ScheduleReport {
    fn count(&self, holds: impl Fn(&GameReport) -> bool) -> usize {
        self.games.iter().filter(|game| holds(game)).count()
    }

    /// Games the bot won.
    pub fn won(&self) -> usize {
        self.count(|game| game.winner == Some(game.color))
    }

    /// Games the bot lost.
    pub fn lost(&self) -> usize {
        self.count(GameReport::is_lost)
    }

    /// Games played without a winner.
    pub fn drawn(&self) -> usize {
        self.count(|game| game.winner.is_none() && game.status != Status::Aborted)
    }

    /// Whether every game was played to its end: no illegal move, no loss on time, none abandoned.
    pub fn is_clean(&self) -> bool {
        self.games.len() == self.asked && self.games.iter().all(GameReport::is_clean)
    }
}

impl fmt::Display for ScheduleReport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let begun = self.games.len();
        writeln!(
            out,
            "{begun} of {} games: {} won, {} drawn, {} lost",
            self.asked,
            self.won(),
            self.drawn(),
            self.lost()
        )?;
        let mut endings: BTreeMap<&str, usize> = BTreeMap::new();
        for game in &self.games {
            *endings.entry(game.status.name()).or_default() += 1;
        }
        let endings: Vec<String> = endings
            .into_iter()
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        writeln!(out, "endings: {}", endings.join(", "))?;
        let plies: usize = self.games.iter().map(|game| game.plies).sum();
        let sum = |number: fn(&GameReport) -> u32| self.games.iter().map(number).sum::<u32>();
        writeln!(
            out,
            "plies: {plies}; illegal moves: {}; moves out of turn: {}; lost on time: {}; aborted: {}",
            sum(|game| game.illegal),
            sum(|game| game.out_of_turn),
            self.count(|game| game.status == Status::Outoftime && game.is_lost()),
            self.count(|game| game.status == Status::Aborted),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(status: Status, winner: Option<Color>) -> GameReport {
        GameReport {
            number: 0,
            id: "abcdefgh".to_owned(),
            arena: None,
            partner: "RandomPartner".to_owned(),
            color: Color::White,
            status,
            winner,
            plies: 12,
            illegal: 0,
            out_of_turn: 0,
            calls: 20,
            attribution: Attribution::Nobody,
            trace: Vec::new(),
        }
    }

    fn blamed(status: Status, winner: Option<Color>) -> GameReport {
        GameReport {
            attribution: Attribution::Client("its flag fell"),
            ..game(status, winner)
        }
    }

    fn report(games: Vec<GameReport>) -> ScheduleReport {
        ScheduleReport {
            asked: games.len(),
            games,
        }
    }

    #[test]
    fn a_lost_game_is_clean_and_one_lost_by_a_bot_fault_is_not() {
        assert!(report(vec![game(Status::Mate, Some(Color::Black))]).is_clean());
        assert!(report(vec![game(Status::Outoftime, Some(Color::White))]).is_clean());
        assert!(!report(vec![blamed(Status::Outoftime, Some(Color::Black))]).is_clean());
        assert!(!report(vec![blamed(Status::Aborted, None)]).is_clean());
        assert!(
            !ScheduleReport {
                asked: 2,
                games: vec![game(Status::Draw, None)]
            }
            .is_clean()
        );
    }

    #[test]
    fn the_summary_counts_what_happened() {
        let text = report(vec![
            game(Status::VariantEnd, Some(Color::White)),
            game(Status::Draw, None),
            game(Status::VariantEnd, Some(Color::Black)),
        ])
        .to_string();
        assert!(
            text.starts_with("3 of 3 games: 1 won, 1 drawn, 1 lost\n"),
            "{text}"
        );
        assert!(text.contains("draw 1, variantEnd 2"), "{text}");
    }
}
