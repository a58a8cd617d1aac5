//! Our rating from one rated game to the next. Pure.

use super::record::{GameRecord, Millis};

/// A rated game and what it did to our rating.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RatedGame {
    pub began: Millis,
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

/// When each game ended and our rating after it, in that order. A game knows the rating that it began
/// with: what other games did meanwhile is added. So one that is not among these moves no more than
/// those beside it.
pub fn follow(mut games: Vec<RatedGame>) -> Vec<(Millis, i32)> {
    games.sort_by_key(|game| game.ended);
    let mut sum = 0_i32;
    // What the first so many did, none at first.
    let mut sums = vec![sum];
    for game in &games {
        sum = sum.saturating_add(game.diff);
        sums.push(sum);
    }
    let points = games.iter().enumerate().map(|(n, game)| {
        let known = games[..n].partition_point(|other| other.ended <= game.began);
        let done = sums[n + 1].saturating_sub(sums[known]);
        (game.ended, game.before.saturating_add(done))
    });
    points.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(began: Millis, ended: Millis, before: i32, diff: i32) -> RatedGame {
        RatedGame {
            began,
            ended,
            before,
            diff,
        }
    }

    #[test]
    fn the_rating_follows_games_that_were_played_at_the_same_time() {
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

    #[test]
    fn games_that_are_not_in_the_list_make_no_drift() {
        // Two or three at a time; every second one is lost, and not in the list.
        let won = (0..500).map(|n| game(20 * n, 20 * n + 25, 1500, 5));
        let highest = follow(won.collect()).into_iter().map(|(_, rating)| rating);
        assert_eq!(highest.max(), Some(1510));
    }
}
