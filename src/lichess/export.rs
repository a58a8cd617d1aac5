//! Exported games, for games that ended while the bot was not looking.
//!
//! An export differs from the streams: the variant is a bare key, moves are in SAN, and a player's account is
//! one level deeper. It is not for play: the server withholds the last moves of a running game.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer};

use super::enums::{BySide, Side, Speed, Status, Variant};
use super::game_event::ClockSetting;
use super::ids::GameId;
use super::lenient_json::{epoch_ms, is_present, or_default, seconds};
use super::player::Player;

/// A game, finished or not.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportedGame {
    pub id: GameId,
    #[serde(rename = "variant.key|variant")]
    pub variant: Variant,
    pub speed: Speed,
    pub rated: bool,
    /// The clock; none in correspondence and unlimited games.
    #[serde(deserialize_with = "clock_in_seconds")]
    pub clock: Option<ClockSetting>,
    /// Days a move, in correspondence games.
    pub days_per_turn: Option<u32>,
    #[serde(rename = "status.name|status.id|status")]
    pub status: Option<Status>,
    pub winner: Option<Side>,
    #[serde(deserialize_with = "players")]
    pub players: BySide<Player>,
    /// The moves in SAN, separated by spaces.
    #[serde(deserialize_with = "or_default")]
    pub moves: String,
    /// The start position, unless it is the standard one.
    pub initial_fen: Option<String>,
    #[serde(deserialize_with = "epoch_ms")]
    pub created_at: Option<SystemTime>,
    /// When a move or another event last changed the game.
    #[serde(deserialize_with = "epoch_ms")]
    pub last_move_at: Option<SystemTime>,
    /// Whether it belongs to an arena.
    #[serde(rename = ".arena", deserialize_with = "is_of_arena")]
    pub arena: bool,
}

fn players<'de, D: Deserializer<'de>>(value: D) -> Result<BySide<Player>, D::Error> {
    let players: BySide<Option<Player>> = or_default(value)?;
    Ok(players.map(Option::unwrap_or_default))
}

/// The clock, which is in seconds here.
fn clock_in_seconds<'de, D: Deserializer<'de>>(value: D) -> Result<Option<ClockSetting>, D::Error> {
    #[derive(Deserialize)]
    struct SecondsClock {
        #[serde(deserialize_with = "seconds")]
        initial: Option<Duration>,
        #[serde(deserialize_with = "seconds")]
        increment: Option<Duration>,
    }
    let clock: Option<SecondsClock> = Option::deserialize(value)?;
    Ok(clock.and_then(|clock| {
        Some(ClockSetting {
            initial: clock.initial?,
            increment: clock.increment?,
        })
    }))
}

fn is_of_arena<'de, D: Deserializer<'de>>(game: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    struct ArenaOrigin {
        #[serde(rename = "arenaTour|tournament", deserialize_with = "is_present")]
        is_named: bool,
        source: Option<String>,
    }
    let origin = ArenaOrigin::deserialize(game)?;
    Ok(origin.is_named || origin.source.as_deref() == Some("arena"))
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
