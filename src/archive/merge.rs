//! Merging an imported game with what the archive knows of it.
//!
//! Pure. An import adds only what is missing; it never replaces what the bot saw itself.

use super::record::{EndingRecord, GameRecord};
use super::rows::keep_known;
use crate::lichess::Side;

/// What an imported game does to the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    New(Box<GameRecord>),
    /// Adds to the known game.
    More(Box<GameRecord>),
    /// Adds nothing.
    Known,
    /// Contradicts the known game with this id, which stays as it is.
    Contradicts,
}

/// Merges an imported game with the known one of the same id, if any.
pub fn merge(known: Option<GameRecord>, read: GameRecord) -> Merge {
    let Some(known) = known else {
        return Merge::New(Box::new(read));
    };
    let same = |one: &GameRecord, other: &GameRecord| {
        let pairs = one.moves.iter().zip(&other.moves);
        pairs.into_iter().all(|(one, other)| one.uci == other.uci)
    };
    if !same(&known, &read) || known.us.is_some() && read.us.is_some() && known.us != read.us {
        return Merge::Contradicts;
    }
    let mut merged = known.clone();
    let shorter = merged.moves.len() < read.moves.len();
    // An end that nobody saw is none.
    let ending = known.ending.clone().filter(EndingRecord::is_known);
    if shorter && ending.is_some() {
        return Merge::Contradicts;
    }
    if shorter {
        merged
            .moves
            .extend_from_slice(&read.moves[known.moves.len()..]);
    }
    // The known record takes only what it lacks.
    keep_known(&mut merged, read);
    for side in [Side::White, Side::Black] {
        if merged.player(side).name == "?" {
            let name = &mut merged.player_mut(side).name;
            name.clone_from(&known.player(side).name);
        }
    }
    merged.joined = known.joined;
    merged.origin = known.origin;
    merged.ending = ending.or(merged.ending);
    if merged == known {
        Merge::Known
    } else {
        Merge::More(Box::new(merged))
    }
}

/// The side of an account in a game.
pub fn side_of(game: &GameRecord, account: &str) -> Option<Side> {
    [Side::White, Side::Black].into_iter().find(|side| {
        let player = game.player(*side);
        player.id.as_deref() == Some(account) || player.name.eq_ignore_ascii_case(account)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::record::{MoveRecord, Origin};
    use crate::archive::tests::game;
    use crate::lichess::Status;

    fn read(id: &str) -> GameRecord {
        let mut read = game(id, 1000, "Nuke");
        read.origin = Origin::Imported;
        read.joined = 1_000_000;
        for made in &mut read.moves {
            *made = MoveRecord::bare(made.uci.clone());
        }
        read
    }

    #[test]
    fn a_file_adds_what_is_missing_and_changes_nothing() {
        let known = game("abcdefgh", 1000, "Nuke");
        assert_eq!(merge(Some(known.clone()), read("abcdefgh")), Merge::Known);
        let mut dated = read("abcdefgh");
        dated.ending.as_mut().unwrap().at -= 5000;
        assert_eq!(merge(Some(known.clone()), dated), Merge::Known);
        assert!(matches!(merge(None, read("abcdefgh")), Merge::New(_)));
        let mut cut = known.clone();
        cut.moves.truncate(2);
        cut.ending = None;
        cut.black.rating_diff = None;
        let Merge::More(more) = merge(Some(cut), read("abcdefgh")) else {
            panic!("it adds an end");
        };
        assert_eq!(more.moves[..2], known.moves[..2]);
        assert_eq!(more.moves.len(), 5);
        assert_eq!(
            (&more.ending, more.origin),
            (&known.ending, Origin::Incoming)
        );
    }

    #[test]
    fn an_end_that_nobody_saw_gives_way_to_the_real_one() {
        let seen = game("abcdefgh", 1000, "Nuke");
        for (status, moves) in [(Status::UnknownFinish, 5), (Status::Unknown, 2)] {
            let mut known = seen.clone();
            known.moves.truncate(moves);
            known.ending.as_mut().unwrap().status = status;
            known.ending.as_mut().unwrap().winner = None;
            let Merge::More(more) = merge(Some(known.clone()), read("abcdefgh")) else {
                panic!("it adds an end");
            };
            assert_eq!((&more.ending, more.moves.len()), (&seen.ending, 5));
            let mut blind = read("abcdefgh");
            blind.moves.truncate(moves);
            for ending in [None, known.ending.clone()] {
                blind.ending = ending;
                assert_eq!(merge(Some(known.clone()), blind.clone()), Merge::Known);
            }
        }
    }

    #[test]
    fn another_game_under_the_same_id_is_refused() {
        let known = game("abcdefgh", 1000, "Nuke");
        let mut other = read("abcdefgh");
        other.moves[1].uci = "h7h6".to_owned();
        assert_eq!(merge(Some(known.clone()), other), Merge::Contradicts);
        let mut longer = read("abcdefgh");
        longer.moves.push(MoveRecord::bare("h7h6"));
        assert_eq!(merge(Some(known.clone()), longer), Merge::Contradicts);
        let mut turned = read("abcdefgh");
        turned.us = Some(Side::Black);
        assert_eq!(merge(Some(known), turned), Merge::Contradicts);
    }

    #[test]
    fn an_account_is_found_in_any_letter_case() {
        let mut game = read("abcdefgh");
        assert_eq!(side_of(&game, "megaton"), Some(Side::White));
        game.white.id = None;
        assert_eq!(side_of(&game, "megaton"), Some(Side::White));
        assert_eq!(side_of(&game, "nuke"), Some(Side::Black));
        assert_eq!(side_of(&game, "nobody"), None);
    }
}
