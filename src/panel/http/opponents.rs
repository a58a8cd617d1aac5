//! How it went against each opponent. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::archive::{GameRecord, Millis, Outcome};
use crate::lichess::Status;

/// What there was with an opponent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Opponent {
    id: String,
    name: String,
    title: Option<String>,
    /// Theirs, when the last game began.
    rating: Option<i32>,
    games: usize,
    wins: usize,
    draws: usize,
    losses: usize,
    /// Games that we lost on time.
    timeouts: usize,
    /// What these games did to our rating.
    change: i32,
    /// When the last one began.
    last: Millis,
}

/// Opponents, counted game by game in any order.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally(BTreeMap<String, Opponent>);

impl Tally {
    pub(super) fn count(&mut self, record: &GameRecord) {
        let (Some(us), Some(them), Some(ending)) = (record.us, record.opponent(), &record.ending)
        else {
            return;
        };
        let id = them.id.clone().unwrap_or_else(|| them.name.to_lowercase());
        let outcome = record.our_outcome();
        let lost = outcome == Some(Outcome::Loss);
        let mut one = Opponent {
            games: 1,
            wins: usize::from(outcome == Some(Outcome::Win)),
            draws: usize::from(outcome == Some(Outcome::Draw)),
            losses: usize::from(lost),
            timeouts: usize::from(lost && ending.status == Status::OutOfTime),
            change: record.player(us).rating_diff.unwrap_or(0),
            last: record.began(),
            ..Opponent::default()
        };
        one.id.clone_from(&id);
        one.name.clone_from(&them.name);
        one.title.clone_from(&them.title);
        one.rating = them.rating;
        self.join(id, one);
    }

    /// Takes over what was counted elsewhere.
    pub(super) fn add(&mut self, other: Self) {
        for (id, one) in other.0 {
            self.join(id, one);
        }
    }

    fn join(&mut self, id: String, one: Opponent) {
        let known = self.0.entry(id).or_default();
        known.games += one.games;
        known.wins += one.wins;
        known.draws += one.draws;
        known.losses += one.losses;
        known.timeouts += one.timeouts;
        known.change += one.change;
        if one.last >= known.last {
            known.last = one.last;
            known.id = one.id;
            known.name = one.name;
            known.title = one.title;
            known.rating = one.rating;
        }
    }

    pub(super) fn opponents(self) -> Vec<Opponent> {
        self.0.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{EndingRecord, PlayerRecord};
    use crate::lichess::Side;

    #[test]
    fn wins_draws_losses_and_flags_are_counted_wherever_they_were_found() {
        let game = |began, rating, status, winner| GameRecord {
            us: Some(Side::White),
            joined: began,
            black: PlayerRecord {
                id: Some("other".to_owned()),
                name: "Other".to_owned(),
                rating: Some(rating),
                ..PlayerRecord::default()
            },
            ending: Some(EndingRecord {
                status,
                winner,
                at: began,
            }),
            ..GameRecord::default()
        };
        let (mut late, mut early) = (Tally::default(), Tally::default());
        late.count(&game(30, 1600, Status::OutOfTime, Some(Side::Black)));
        early.count(&game(20, 1500, Status::Draw, None));
        early.count(&game(10, 1400, Status::VariantEnd, Some(Side::White)));
        early.count(&GameRecord::default());
        late.add(early);
        let opponents = late.opponents();
        assert_eq!(opponents.len(), 1);
        let one = &opponents[0];
        assert_eq!(
            (one.wins, one.draws, one.losses, one.timeouts),
            (1, 1, 1, 1)
        );
        assert_eq!((one.rating, one.last, one.games), (Some(1600), 30, 3));
    }
}
