//! A game as its export shows it, for games that ended unseen.
//!
//! It differs from the streams: the variant is a bare key, moves are in SAN, and a player's account is one
//! level deeper. Never for play: the last moves of a running game are withheld.

use std::time::{Duration, SystemTime};

use super::enums::{BySide, Side, Speed, Status, Variant};
use super::game_event::ClockSetting;
use super::ids::GameId;
use super::lenient_json::{FromObject, JsonMismatch, Object};
use super::player::{Player, from_epoch_ms};

/// A game, finished or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedGame {
    pub id: GameId,
    pub variant: Variant,
    pub speed: Speed,
    /// Whether ratings were at stake.
    pub rated: bool,
    /// The clock; none in correspondence and unlimited games.
    pub clock: Option<ClockSetting>,
    /// Days a move, in correspondence games.
    pub days_per_turn: Option<u32>,
    /// How it stands or how it ended.
    pub status: Option<Status>,
    pub winner: Option<Side>,
    pub players: BySide<Player>,
    /// The moves in SAN, spaces between.
    pub moves: String,
    /// Where it began, unless at the usual place.
    pub initial_fen: Option<String>,
    /// When it was made.
    pub created_at: Option<SystemTime>,
    /// When something happened in it last.
    pub last_move_at: Option<SystemTime>,
    /// Whether it belongs to an arena.
    pub arena: bool,
}

impl FromObject for ExportedGame {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        let id: String = object.required("id")?;
        let players = object.object("players");
        let player = |side: Side| {
            let player = players.as_ref().and_then(|both| both.object(side.as_str()));
            player.as_ref().map(seated).unwrap_or_default()
        };
        let arena = object.has("arenaTour") || object.has("tournament");
        Ok(Self {
            id: GameId::new(id),
            variant: object
                .word_within("variant", "key")
                .unwrap_or(Variant::Unknown),
            speed: object.word("speed").unwrap_or(Speed::Unknown),
            rated: object.flag("rated"),
            clock: object.object("clock").as_ref().and_then(clock),
            days_per_turn: object.small("daysPerTurn"),
            status: object.word_within("status", "name"),
            winner: object.optional("winner"),
            players: BySide {
                white: player(Side::White),
                black: player(Side::Black),
            },
            moves: object.optional("moves").unwrap_or_default(),
            initial_fen: object.optional("initialFen"),
            created_at: object.count("createdAt").map(from_epoch_ms),
            last_move_at: object.count("lastMoveAt").map(from_epoch_ms),
            arena: arena || object.optional::<String>("source").as_deref() == Some("arena"),
        })
    }
}

/// The clock, in seconds here.
fn clock(object: &Object<'_>) -> Option<ClockSetting> {
    Some(ClockSetting {
        initial: Duration::from_secs(object.count("initial")?),
        increment: Duration::from_secs(object.count("increment")?),
    })
}

/// One side: the account within, and what the game did to its rating beside it.
fn seated(object: &Object<'_>) -> Player {
    let user: Option<Player> = object.nested("user");
    Player {
        rating: object.small("rating"),
        rating_diff: object.small("ratingDiff"),
        provisional: object.flag("provisional"),
        ai_level: object.small("aiLevel"),
        ..user.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lichess::UserId;
    use crate::lichess::lenient_json::read;

    #[test]
    fn a_finished_game_is_read_as_the_server_exports_it() {
        let json = r#"{"id":"q7ZxVt2B","rated":true,"variant":"atomic","speed":"blitz",
            "perf":"atomic","createdAt":1800000000000,"lastMoveAt":1800000060000,
            "status":"resign","source":"friend","players":{
            "white":{"user":{"name":"Foe","title":"BOT","id":"foe"},"rating":1800,"ratingDiff":-6},
            "black":{"user":{"name":"Me","id":"me"},"rating":1700,"ratingDiff":7,"provisional":true}},
            "winner":"black","moves":"Nf3 f6","clock":{"initial":180,"increment":2,"totalTime":260}}"#;
        let read = read::<ExportedGame>(json).unwrap();
        assert_eq!(read.dropped, []);
        let game = read.value;
        assert_eq!(game.id, GameId::new("q7ZxVt2B"));
        assert_eq!((game.variant, game.rated), (Variant::Atomic, true));
        assert_eq!(game.status, Some(Status::Resign));
        assert_eq!((game.winner, game.arena), (Some(Side::Black), false));
        let (foe, us) = (&game.players.white, &game.players.black);
        assert_eq!(foe.id, Some(UserId::new("foe")));
        assert!(foe.is_bot() && !us.is_bot() && us.provisional);
        assert_eq!((foe.rating_diff, us.rating_diff), (Some(-6), Some(7)));
        assert_eq!(game.speed, Speed::Blitz);
        let clock = game.clock.unwrap();
        assert_eq!(
            (clock.initial.as_secs(), clock.increment.as_secs()),
            (180, 2)
        );
        assert_eq!(game.moves, "Nf3 f6");
        assert!(game.last_move_at > game.created_at);
    }

    #[test]
    fn nameless_players_and_missing_fields_are_no_error() {
        let json = r#"{"id":"q7ZxVt2B","status":"aborted","players":{"white":{},
            "black":{"aiLevel":3}},"arenaTour":{"id":"x","name":"y"}}"#;
        let game = read::<ExportedGame>(json).unwrap().value;
        assert_eq!(game.players.white.id, None);
        assert!(game.players.black.is_ai() && game.arena);
        assert_eq!((game.moves.as_str(), game.winner), ("", None));
        assert!(read::<ExportedGame>("{}").is_err());
    }
}
