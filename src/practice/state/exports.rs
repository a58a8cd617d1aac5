//! Exports of games as JSON and as PGN.

use std::fmt::Write as _;

use crate::practice::game::ServerGame;
use crate::practice::game_settings::{Status, TimeControl};
use crate::practice::wire::{
    ExportArena, ExportClock, ExportJson, ExportPlayer, ExportPlayers, ExportUser,
};
use crate::rules::Color;

use super::ServerState;

/// Half-moves of a running game withheld from its export, against cheating.
const WITHHELD: usize = 3;
/// Moves in the estimate of a game's length.
const ESTIMATED_MOVES: u32 = 40;

impl ServerState {
    /// The export of a game, with its moves if requested.
    pub(crate) fn export(&self, id: &str, with_moves: bool) -> Option<ExportJson> {
        let game = &self.entry(id)?.game;
        let setup = &game.setup;
        let (clock, days_per_turn) = match setup.settings.time {
            TimeControl::Clock { limit, increment } => {
                let total_time = limit + ESTIMATED_MOVES * increment;
                let clock = ExportClock {
                    initial: limit,
                    increment,
                    total_time,
                };
                (Some(clock), None)
            }
            TimeControl::Correspondence { days } => (None, Some(days)),
            TimeControl::Unlimited => (None, None),
        };
        let arena_tour = setup.arena.as_ref().map(|arena| ExportArena {
            id: arena.clone(),
            name: self
                .arenas
                .get(arena)
                .map_or_else(String::new, |field| field.plan.name.clone()),
        });
        Some(ExportJson {
            id: setup.id.clone(),
            rated: setup.settings.rated,
            variant: "atomic",
            speed: setup.settings.time.speed(),
            perf: "atomic",
            created_at: game.created.0,
            last_move_at: game.turn_since().0,
            status: game.status(),
            source: if arena_tour.is_some() {
                "arena"
            } else {
                "friend"
            },
            players: ExportPlayers {
                white: player(game, Color::White),
                black: player(game, Color::Black),
            },
            winner: game.winner().map(Color::as_str),
            moves: with_moves.then(|| shown(game).join(" ")),
            clock,
            days_per_turn,
            arena_tour,
        })
    }

    /// The same game as PGN.
    pub(crate) fn export_pgn(&self, id: &str) -> Option<String> {
        let game = &self.entry(id)?.game;
        let result = result(game);
        let mut pgn = String::new();
        let rated = if game.setup.settings.rated {
            "Rated"
        } else {
            "Casual"
        };
        for (tag, text) in [
            ("Event", format!("{rated} atomic game")),
            ("Site", format!("{}/{id}", self.url)),
            ("White", game.player_side(Color::White).name.clone()),
            ("Black", game.player_side(Color::Black).name.clone()),
            ("Result", result.to_owned()),
            ("Variant", "Atomic".to_owned()),
        ] {
            // Writing to a string cannot fail.
            let _ = writeln!(pgn, "[{tag} \"{text}\"]");
        }
        pgn.push('\n');
        for (ply, san) in shown(game).into_iter().enumerate() {
            if ply % 2 == 0 {
                let _ = write!(pgn, "{}. ", ply / 2 + 1);
            }
            let _ = write!(pgn, "{san} ");
        }
        let _ = writeln!(pgn, "{result}\n");
        Some(pgn)
    }
}

fn player(game: &ServerGame, side: Color) -> ExportPlayer {
    let player_side = game.player_side(side);
    ExportPlayer {
        user: ExportUser {
            name: player_side.name.clone(),
            title: player_side.title,
            id: player_side.user.clone(),
        },
        rating: player_side.rating.shown(),
        rating_diff: game.rating_diffs.map(|diffs| diffs[side.index()]),
        provisional: player_side.rating.is_provisional(),
    }
}

/// The moves visible to anyone, in SAN.
fn shown(game: &ServerGame) -> Vec<&str> {
    let record = game.record();
    let withheld = if game.is_playing() { WITHHELD } else { 0 };
    let shown = record.len().saturating_sub(withheld);
    record[..shown].iter().map(|it| it.san.as_str()).collect()
}

fn result(game: &ServerGame) -> &'static str {
    match (game.winner(), game.status()) {
        (Some(Color::White), _) => "1-0",
        (Some(Color::Black), _) => "0-1",
        (None, Status::Aborted) => "*",
        (None, _) if game.is_playing() => "*",
        (None, _) => "1/2-1/2",
    }
}
