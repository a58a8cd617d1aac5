//! Chat commands and their answers.
//!
//! Only the few commands listed here are answered; any other line is conversation. Evaluations are
//! for spectators, never for the opponent.

use std::time::Duration;

use super::conversation::{GameFacts, Players};
use crate::engine::Score;
use crate::lichess::{Room, Side};

/// The prefix of a command.
const MARK: char = '!';

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChatCommand {
    Help,
    Name,
    /// The engine's evaluation; spectators only.
    Eval,
    Clock,
    /// The score of past games against the opponent.
    Stats,
    Ping,
}

impl ChatCommand {
    /// The command in a line, if any, in any letter case.
    pub(super) fn read(line: &str) -> Option<Self> {
        let word = line.trim_start().strip_prefix(MARK)?;
        let word = word.split_whitespace().next()?;
        let known = [
            ("help", Self::Help),
            ("commands", Self::Help),
            ("name", Self::Name),
            ("eval", Self::Eval),
            ("clock", Self::Clock),
            ("stats", Self::Stats),
            ("ping", Self::Ping),
        ];
        known
            .into_iter()
            .find(|(name, _)| word.eq_ignore_ascii_case(name))
            .map(|(_, command)| command)
    }
}

/// Who sent a command, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChatSender {
    /// The room of the command, and of the answer.
    pub(super) room: Room,
    /// Whether the sender is the opponent.
    pub(super) plays: bool,
}

impl ChatSender {
    fn may_see_evals(self) -> bool {
        self.room == Room::Spectator && !self.plays
    }
}

pub(super) fn answer(
    command: ChatCommand,
    sender: ChatSender,
    about: &Players,
    facts: &GameFacts,
) -> String {
    match command {
        ChatCommand::Help if sender.may_see_evals() => {
            "I answer !name, !eval, !clock, !stats and !ping.".to_owned()
        }
        ChatCommand::Help => "I answer !name, !clock, !stats and !ping.".to_owned(),
        ChatCommand::Name => format!(
            "I am {}, playing atomic chess with {} {}.",
            about.me, about.engine, about.version
        ),
        ChatCommand::Eval if sender.may_see_evals() => eval(about.us, facts),
        ChatCommand::Eval => "I keep my opinion to myself while we play.".to_owned(),
        ChatCommand::Clock => clocks(facts),
        ChatCommand::Stats => stats(&about.opponent, facts),
        ChatCommand::Ping => "Pong!".to_owned(),
    }
}

/// The last score from White's point of view.
fn eval(us: Side, facts: &GameFacts) -> String {
    let Some(opinion) = facts.opinion else {
        return "I have not thought about this game yet.".to_owned();
    };
    let sign = if us == Side::White { 1 } else { -1 };
    let score = match opinion.score {
        Score::Cp(score) => format!("{:+.2}", f64::from(score.saturating_mul(sign)) / 100.0),
        // Mate in 0 is a lost game, and a zero carries no sign.
        Score::Mate(0) if us == Side::White => "#-0".to_owned(),
        Score::Mate(0) => "#0".to_owned(),
        Score::Mate(moves) => format!("#{}", moves.saturating_mul(sign)),
    };
    format!(
        "{score} for White at depth {} (move {}).",
        opinion.depth,
        opinion.ply / 2 + 1
    )
}

fn clocks(facts: &GameFacts) -> String {
    match (facts.clocks.white, facts.clocks.black) {
        (Some(white), Some(black)) => {
            format!(
                "White has {}, Black has {}.",
                minutes(white),
                minutes(black)
            )
        }
        _ => "No clock has run yet.".to_owned(),
    }
}

/// Clock format: `1:05`, below ten seconds `0:07.3`, above an hour `1:02:05`.
fn minutes(left: Duration) -> String {
    let seconds = left.as_secs();
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{rest:02}")
    } else if seconds < 10 {
        format!("0:{rest:02}.{}", left.subsec_millis() / 100)
    } else {
        format!("{minutes}:{rest:02}")
    }
}

fn stats(opponent: &str, facts: &GameFacts) -> String {
    let Some(tally) = facts.tally else {
        return format!("I remember no games against {opponent}.");
    };
    let (wins, draws, losses) = (tally.wins, tally.draws, tally.losses);
    match wins.saturating_add(draws).saturating_add(losses) {
        0 => format!("This is our first game, {opponent}."),
        games => format!(
            "Against {opponent} I have {} from {games}: won {wins}, drawn {draws}, lost {losses}.",
            points(wins, draws)
        ),
    }
}

fn points(wins: u32, draws: u32) -> String {
    let points = f64::from(wins) + f64::from(draws) / 2.0;
    format!("{points}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::chat::conversation::{EngineEval, ScoreTally};
    use crate::lichess::BySide;

    fn about() -> Players {
        Players::between(
            "x".repeat(30).as_str(),
            "y".repeat(30).as_str(),
            Side::Black,
        )
    }

    const SPECTATOR: ChatSender = ChatSender {
        room: Room::Spectator,
        plays: false,
    };
    const OPPONENT: ChatSender = ChatSender {
        room: Room::Player,
        plays: true,
    };

    #[test]
    fn a_command_is_one_known_word_in_any_letter_case() {
        let rows = [
            ("!help", Some(ChatCommand::Help)),
            ("  !HeLp me", Some(ChatCommand::Help)),
            ("!commands", Some(ChatCommand::Help)),
            ("!EVAL", Some(ChatCommand::Eval)),
            ("!ping!", None),
            ("help", None),
            ("! help", Some(ChatCommand::Help)),
            ("!", None),
            ("", None),
            ("say !help", None),
            ("!helpme", None),
            ("!$(reboot)", None),
        ];
        for (line, command) in rows {
            assert_eq!(ChatCommand::read(line), command, "{line:?}");
        }
    }

    #[test]
    fn the_opponent_gets_no_eval_in_any_room() {
        let facts = GameFacts {
            opinion: Some(EngineEval {
                score: Score::Cp(123),
                depth: 17,
                ply: 20,
            }),
            ..GameFacts::default()
        };
        let reply = |sender| answer(ChatCommand::Eval, sender, &about(), &facts);
        assert_eq!(reply(SPECTATOR), "-1.23 for White at depth 17 (move 11).");
        for sender in [
            OPPONENT,
            ChatSender {
                room: Room::Spectator,
                plays: true,
            },
            ChatSender {
                room: Room::Player,
                plays: false,
            },
        ] {
            assert!(!reply(sender).contains("1.23"), "{sender:?}");
            assert!(!answer(ChatCommand::Help, sender, &about(), &facts).contains("eval"));
        }
    }

    #[test]
    fn clocks_are_formatted_like_clocks() {
        let ms = Duration::from_millis;
        let rows = [
            (0, "0:00.0"),
            (7349, "0:07.3"),
            (65_000, "1:05"),
            (3_725_000, "1:02:05"),
        ];
        for (left, text) in rows {
            assert_eq!(minutes(ms(left)), text);
        }
        assert_eq!(clocks(&GameFacts::default()), "No clock has run yet.");
    }

    #[test]
    fn every_answer_fits_a_line_with_the_longest_names_and_numbers() {
        let facts = GameFacts {
            opinion: Some(EngineEval {
                score: Score::Mate(i32::MIN),
                depth: u32::MAX,
                ply: usize::MAX,
            }),
            clocks: BySide {
                white: Some(Duration::MAX),
                black: Some(Duration::MAX),
            },
            tally: Some(ScoreTally {
                wins: 99_999,
                draws: 99_999,
                losses: 99_999,
            }),
        };
        for command in [
            ChatCommand::Help,
            ChatCommand::Name,
            ChatCommand::Eval,
            ChatCommand::Clock,
            ChatCommand::Stats,
            ChatCommand::Ping,
        ] {
            for sender in [SPECTATOR, OPPONENT] {
                let text = answer(command, sender, &about(), &facts);
                assert!(text.chars().count() <= 140, "{text}");
                assert!(!text.starts_with(MARK), "bots must not answer each other");
            }
        }
    }

    #[test]
    fn stats_count_half_points() {
        let facts = |tally| GameFacts {
            tally,
            ..GameFacts::default()
        };
        let tally = ScoreTally {
            wins: 3,
            draws: 1,
            losses: 2,
        };
        let text = stats("blastcap", &facts(Some(tally)));
        assert_eq!(
            text,
            "Against blastcap I have 3.5 from 6: won 3, drawn 1, lost 2."
        );
        let first = stats("blastcap", &facts(Some(ScoreTally::default())));
        assert_eq!(first, "This is our first game, blastcap.");
        assert!(stats("blastcap", &facts(None)).contains("remember no games"));
    }
}
