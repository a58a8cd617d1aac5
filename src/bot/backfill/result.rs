//! What an exported game counts as. Pure.

use crate::bot::game::{Ending, OPENING};
use crate::bot::state::StartedGame;
use crate::lichess::{ExportedGame, Player, Side, Status, UserId, Variant};
use crate::rules::Game;
use crate::store::{FinishedGame, Timestamp};

/// A game whose end the bot did not see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissedGame {
    /// The start, in case the bot did not see it either.
    pub started: StartedGame,
    /// The result to store in the bot state.
    pub finished: FinishedGame,
    /// The event to publish.
    pub ending: Ending,
    /// The game as the server exported it.
    pub export: ExportedGame,
}

/// How an exported game concerns the bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MissedResult {
    /// It continues, or its end is not reported.
    Running,
    /// The bot does not play in it.
    Foreign,
    Over(Box<MissedGame>),
}

/// Reads an exported game as `me`.
pub(super) fn read(export: &ExportedGame, me: &UserId, now: Timestamp) -> MissedResult {
    let is_me = |side: &Side| export.players.of(*side).id.as_ref() == Some(me);
    let Some(us) = [Side::White, Side::Black].into_iter().find(is_me) else {
        return MissedResult::Foreign;
    };
    let Some(status) = export.status.filter(|status| Status::is_over(*status)) else {
        return MissedResult::Running;
    };
    let opponent = export.players.of(us.other());
    let is_bot = opponent.is_bot() || opponent.is_ai();
    let game = replayed(export);
    let plies = export.moves.split_ascii_whitespace().count();
    let opening = game.moves().iter().take(OPENING);
    let opening: Vec<String> = opening.map(ToString::to_string).collect();
    let ended = export
        .last_move_at
        .or(export.created_at)
        .map(Timestamp::from);
    MissedResult::Over(Box::new(MissedGame {
        started: StartedGame {
            game: export.id.clone(),
            opponent: opponent.id.clone(),
            is_bot,
            origin: None,
            arena: export.arena,
            rematch: false,
        },
        finished: FinishedGame {
            game: export.id.clone(),
            opponent: opponent.id.clone(),
            is_bot,
            rated: export.rated,
            color: Some(us),
            winner: export.winner,
            status: status.as_str().to_owned(),
            plies: u32::try_from(plies).unwrap_or(u32::MAX),
            opening: opening.join(" "),
            rating_diff: export.players.of(us).rating_diff,
            // The server's clock may be ahead.
            at: ended.map_or(now, |at| at.min(now)),
        },
        ending: Ending {
            game: export.id.clone(),
            status: Some(status),
            winner: export.winner,
            us: Some(us),
            opponent: Player::display_name(opponent),
            plies,
            fen: game.position().fen(),
        },
        export: export.clone(),
    }))
}

/// The replayed game, as far as its moves can be read.
pub(in crate::bot) fn replayed(export: &ExportedGame) -> Game {
    let mut game = Game::new();
    if export.variant != Variant::Atomic || export.initial_fen.is_some() {
        return game;
    }
    for san in export.moves.split_ascii_whitespace() {
        match game.position().parse_san(san) {
            Ok(played) => game.push(played),
            Err(error) => {
                tracing::warn!(game = %export.id, ply = game.moves().len(), %error, "cannot be replayed");
                break;
            }
        }
    }
    game
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::lichess::{BySide, GameId, Speed};

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn player(name: &str, title: Option<&str>, diff: i32) -> Player {
        Player {
            id: Some(UserId::new(name)),
            name: Some(name.to_owned()),
            title: title.map(str::to_owned),
            rating_diff: Some(diff),
            ..Player::default()
        }
    }

    fn export() -> ExportedGame {
        ExportedGame {
            id: GameId::new("q7ZxVt2B"),
            variant: Variant::Atomic,
            speed: Speed::Blitz,
            rated: true,
            clock: None,
            days_per_turn: None,
            status: Some(Status::Resign),
            winner: Some(Side::Black),
            players: BySide {
                white: player("Foe", Some("BOT"), -6),
                black: player("Me", Some("BOT"), 7),
            },
            moves: "Nf3 f6 e3 e6 Be2 d5 O-O".to_owned(),
            initial_fen: None,
            created_at: None,
            last_move_at: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_799_999_999)),
            arena: false,
        }
    }

    fn over(export: &ExportedGame) -> MissedGame {
        match read(export, &UserId::new("me"), NOW) {
            MissedResult::Over(missed) => *missed,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_ended_game_counts_as_if_its_end_had_been_seen() {
        let MissedGame {
            started,
            finished,
            ending,
            export: _,
        } = over(&export());
        assert_eq!(started.opponent, Some(UserId::new("foe")));
        assert!(started.is_bot && finished.is_bot && finished.rated);
        assert_eq!(finished.color, Some(Side::Black));
        assert_eq!((finished.winner, finished.plies), (Some(Side::Black), 7));
        assert_eq!(finished.rating_diff, Some(7));
        assert_eq!(finished.at, Timestamp::from_millis(1_799_999_999_000));
        assert_eq!(finished.status, "resign");
        // The same notation as for a game played to its end.
        let mut played = Game::new();
        played
            .push_uci_moves("g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1g1")
            .unwrap();
        let spelled: Vec<_> = played.moves().iter().map(ToString::to_string).collect();
        assert_eq!(finished.opening, spelled.join(" "));
        assert_eq!(ending.fen, played.position().fen());
        assert_eq!((ending.result(), ending.opponent.as_str()), ("0-1", "Foe"));
    }

    #[test]
    fn a_server_clock_ahead_ends_no_game_in_the_future() {
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(1_900_000_000);
        let ahead = ExportedGame {
            last_move_at: Some(later),
            ..export()
        };
        assert_eq!(over(&ahead).finished.at, NOW);
    }

    #[test]
    fn a_running_or_foreign_game_counts_for_nothing() {
        let running = ExportedGame {
            status: Some(Status::Started),
            ..export()
        };
        let me = UserId::new("me");
        assert_eq!(read(&running, &me, NOW), MissedResult::Running);
        let unknown = ExportedGame {
            status: None,
            ..export()
        };
        assert_eq!(read(&unknown, &me, NOW), MissedResult::Running);
        let other = UserId::new("somebody");
        assert_eq!(read(&export(), &other, NOW), MissedResult::Foreign);
    }

    #[test]
    fn unreadable_moves_cost_the_opening_and_not_the_result() {
        let odd = ExportedGame {
            moves: "Nf3 Qxh9 e3".to_owned(),
            ..export()
        };
        let finished = over(&odd).finished;
        assert_eq!((finished.opening.as_str(), finished.plies), ("g1f3", 3));
        let other = ExportedGame {
            variant: Variant::Standard,
            ..export()
        };
        assert_eq!(over(&other).finished.opening, "");
    }

    #[test]
    fn an_aborted_game_has_no_result() {
        let aborted = ExportedGame {
            status: Some(Status::Aborted),
            winner: None,
            moves: "Nf3".to_owned(),
            ..export()
        };
        let missed = over(&aborted);
        assert!(!missed.finished.counts());
        assert_eq!(missed.ending.result(), "*");
    }
}
