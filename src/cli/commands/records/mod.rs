//! Commands that read the archive or add to it.
//!
//! * `games`, `game`, `stats`: games; `challenges`, `events`: everything else; `export`, `import`: PGN;
//!   `backup`, `prune`; `experience`, `review`: what the bot learns
//! * `filters`: which games a command is about

pub(crate) mod backup;
pub(crate) mod challenges;
pub(crate) mod events;
pub(crate) mod experience;
pub(crate) mod export;
mod filters;
pub(crate) mod game;
pub(crate) mod games;
pub(crate) mod import;
pub(crate) mod prune;
pub(crate) mod review;
pub(crate) mod stats;

use megaton::archive::PlayerRecord;

/// Characters of a game's id.
const GAME_ID: usize = 8;
/// Characters of the id in a player's own URL of a game.
const PLAYER_ID: usize = 12;

/// The id in what was typed: an id or its beginning, or a URL of the game, which may name the side and
/// the move and have a player's own id.
fn id_of(typed: &str) -> &str {
    let url = typed.split(['#', '?']).next().unwrap_or(typed);
    let parts = url.trim_end_matches('/').rsplit('/');
    let mut parts = parts.skip_while(|part| ["white", "black"].contains(part));
    let id = parts.next().unwrap_or(typed);
    if id.len() == PLAYER_ID {
        id.get(..GAME_ID).unwrap_or(id)
    } else {
        id
    }
}

/// A player's title and name.
fn named(player: &PlayerRecord) -> String {
    let name = match player.name.as_str() {
        "" => "?",
        name => name,
    };
    match &player.title {
        Some(title) => format!("{title} {name}"),
        None => name.to_owned(),
    }
}

/// A player's rating and how the game changed it.
fn rated(player: &PlayerRecord) -> String {
    let sign = if player.provisional { "?" } else { "" };
    match (player.rating, player.rating_diff) {
        (Some(rating), Some(diff)) => format!("{rating}{sign} {diff:+}"),
        (Some(rating), None) => format!("{rating}{sign}"),
        (None, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::id_of;

    #[test]
    fn an_address_of_a_game_has_its_id() {
        for typed in [
            "q7ZxVt2B",
            "q7ZxVt2BkM4s",
            "https://lichess.org/q7ZxVt2B",
            "https://lichess.org/q7ZxVt2BkM4s",
            "lichess.org/q7ZxVt2B/black#12",
            "https://lichess.org/q7ZxVt2B/white/?x=y",
            "http://127.0.0.1:8650/game/q7ZxVt2B",
        ] {
            assert_eq!(id_of(typed), "q7ZxVt2B", "{typed}");
        }
        for beginning in ["q7Z", "white", ""] {
            assert_eq!(id_of(beginning), beginning);
        }
    }
}
