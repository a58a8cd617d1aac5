//! How games look to those who ask for them afterwards: as JSON, and as PGN.

use std::fmt::Write as _;

use crate::practice::game::{ServerGame, color_name};
use crate::practice::game_settings::{Status, TimeControl};
use crate::practice::wire::{
    ExportArena, ExportClock, ExportJson, ExportPlayer, ExportPlayers, ExportUser,
};
use crate::rules::Color;

use super::ServerState;

/// The last half-moves of a game under way, withheld so that no one cheats with them.
const WITHHELD: usize = 3;
/// Moves that a game's length is estimated by.
const ESTIMATED_MOVES: u32 = 40;

impl ServerState {
    /// A game for export, with its moves if they are wanted.
    pub(crate) fn export(&self, id: &str, with_moves: bool) -> Option<ExportJson> {
        let round = &self.table(id)?.round;
        let setup = &round.setup;
        let (clock, days_per_turn) = match setup.terms.time {
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
            rated: setup.terms.rated,
            variant: "atomic",
            speed: setup.terms.time.speed(),
            perf: "atomic",
            created_at: round.created.0,
            last_move_at: round.turn_since().0,
            status: round.status(),
            source: if arena_tour.is_some() {
                "arena"
            } else {
                "friend"
            },
            players: ExportPlayers {
                white: player(round, Color::White),
                black: player(round, Color::Black),
            },
            winner: round.winner().map(color_name),
            moves: with_moves.then(|| shown(round).join(" ")),
            clock,
            days_per_turn,
            arena_tour,
        })
    }

    /// The same game as PGN.
    pub(crate) fn export_pgn(&self, id: &str) -> Option<String> {
        let round = &self.table(id)?.round;
        let result = result(round);
        let mut pgn = String::new();
        let rated = if round.setup.terms.rated {
            "Rated"
        } else {
            "Casual"
        };
        for (tag, text) in [
            ("Event", format!("{rated} atomic game")),
            ("Site", format!("{}/{id}", self.url)),
            ("White", round.seat(Color::White).name.clone()),
            ("Black", round.seat(Color::Black).name.clone()),
            ("Result", result.to_owned()),
            ("Variant", "Atomic".to_owned()),
        ] {
            // Writing to a text cannot fail.
            let _ = writeln!(pgn, "[{tag} \"{text}\"]");
        }
        pgn.push('\n');
        for (ply, san) in shown(round).into_iter().enumerate() {
            if ply % 2 == 0 {
                let _ = write!(pgn, "{}. ", ply / 2 + 1);
            }
            let _ = write!(pgn, "{san} ");
        }
        let _ = writeln!(pgn, "{result}\n");
        Some(pgn)
    }
}

fn player(round: &ServerGame, side: Color) -> ExportPlayer {
    let seat = round.seat(side);
    ExportPlayer {
        user: ExportUser {
            name: seat.name.clone(),
            title: seat.title,
            id: seat.user.clone(),
        },
        rating: seat.rating.shown(),
        rating_diff: round.rating_diffs.map(|diffs| diffs[side.index()]),
        provisional: seat.rating.is_provisional(),
    }
}

/// The moves that are shown to anyone, in SAN.
fn shown(round: &ServerGame) -> Vec<&str> {
    let record = round.record();
    let withheld = if round.is_playing() { WITHHELD } else { 0 };
    let shown = record.len().saturating_sub(withheld);
    record[..shown].iter().map(|it| it.san.as_str()).collect()
}

fn result(round: &ServerGame) -> &'static str {
    match (round.winner(), round.status()) {
        (Some(Color::White), _) => "1-0",
        (Some(Color::Black), _) => "0-1",
        (None, Status::Aborted) => "*",
        (None, _) if round.is_playing() => "*",
        (None, _) => "1/2-1/2",
    }
}
