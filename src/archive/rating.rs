//! Our rating from one rated game to the next. Pure.

use super::record::{GameRecord, Millis};

/// A rated game and what it did to our rating.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RatedGame {
    /// When it began.
    pub began: Millis,
    /// When it ended.
    pub ended: Millis,
    /// Our rating when it began.
    pub before: i32,
    /// What it did to that.
    pub diff: i32,
}

impl RatedGame {
    /// None while it runs, and where nothing is known of our rating.
    pub fn of(record: &GameRecord) -> Option<Self> {
        let player = record.player(record.us?);
        Some(Self {
            began: record.began(),
            ended: record.ending.as_ref()?.at,
            before: player.rating?,
            diff: player.rating_diff?,
        })
    }
}

/// When each game ended and our rating after it, in that order. Of games at the same time each knows
/// only the rating that it began with, so that there the differences count.
pub fn follow(mut games: Vec<RatedGame>) -> Vec<(Millis, i32)> {
    games.sort_by_key(|game| game.ended);
    let mut last: Option<(Millis, i32)> = None;
    let points = games.iter().map(|game| {
        let before = match last {
            Some((ended, rating)) if game.began < ended => rating,
            _ => game.before,
        };
        let rating = before.saturating_add(game.diff);
        last = Some((game.ended, rating));
        (game.ended, rating)
    });
    points.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rating_follows_games_that_were_played_at_the_same_time() {
        let game = |began, ended, before, diff| RatedGame {
            began,
            ended,
            before,
            diff,
        };
        let games = vec![
            game(40, 50, 1530, -5),
            game(0, 10, 1500, 10),
            game(20, 30, 1510, 8),
            game(21, 35, 1510, 12),
        ];
        assert_eq!(
            follow(games),
            [(10, 1510), (30, 1518), (35, 1530), (50, 1525)]
        );
    }
}
