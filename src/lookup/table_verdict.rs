//! What a reply of the online tables means for the side to move, after it was checked.
//!
//! Pure. A reply that contradicts the rules of the game, itself, or the tables in the program is refused
//! as a whole: it never chooses a move.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::engine::Wdl;
use crate::lichess::{TableCategory, TableReply};
use crate::rules::{Draw, Move, Outcome, Position};

/// The moves that keep the result of a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableVerdict {
    pub wdl: Wdl,
    /// Plies to the next capture, pawn move or mate; 0 if unknown.
    pub plies: u32,
    /// At least one, the best first.
    pub kept: Vec<Move>,
}

/// Why a reply cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WrongReply {
    #[error("it lists {listed} moves, the position has {legal}")]
    OtherMoves { listed: usize, legal: usize },
    #[error("the move {0:?} is not legal")]
    IllegalMove(String),
    #[error("the move {0} is listed twice")]
    RepeatedMove(Move),
    #[error("the position is {root:?}, but after its first move {first:?}")]
    NotTheBest { root: Wdl, first: Wdl },
    #[error("after {mv} it says {said:?}, which is {known:?}")]
    Untrue { mv: Move, said: Wdl, known: Wdl },
}

/// Reads a reply; `None` if the tables do not know the position. `known` answers what the program knows
/// itself, for the side to move.
pub fn table_verdict(
    position: &Position,
    reply: &TableReply,
    known: impl Fn(&Position) -> Option<Wdl>,
) -> Result<Option<TableVerdict>, WrongReply> {
    let Some(root) = wdl(reply.category) else {
        return Ok(None);
    };
    let legal = position.legal_moves().len();
    if reply.moves.len() != legal || legal == 0 {
        let listed = reply.moves.len();
        return Err(WrongReply::OtherMoves { listed, legal });
    }
    let mut seen = BTreeSet::new();
    let mut moves = Vec::with_capacity(legal);
    for entry in &reply.moves {
        let shown = || WrongReply::IllegalMove(entry.uci.chars().take(10).collect());
        let mv = position.parse_uci(&entry.uci).map_err(|_| shown())?;
        if !seen.insert(mv.to_string()) {
            return Err(WrongReply::RepeatedMove(mv));
        }
        let Some(said) = wdl(entry.category).map(Wdl::reversed) else {
            return Ok(None);
        };
        let child = position.play(mv);
        check(&child, mv, said, &known)?;
        let distance = match child.halfmove_clock() {
            // The count restarts, and so does the distance.
            0 => Some(0),
            _ => entry.precise_dtz.or(entry.dtz).map(i32::unsigned_abs),
        };
        moves.push((mv, said, distance));
    }
    let (_, first, _) = moves[0];
    let best = moves.iter().map(|(_, said, _)| *said).max();
    if first != root || best != Some(root) {
        return Err(WrongReply::NotTheBest { root, first });
    }
    let distance = reply.precise_dtz.or(reply.dtz);
    Ok(Some(TableVerdict {
        wdl: root,
        plies: distance.map_or(0, i32::unsigned_abs),
        kept: kept(root, &moves),
    }))
}

/// The moves among which the search may choose: of a win those nearest to the end.
fn kept(root: Wdl, moves: &[(Move, Wdl, Option<u32>)]) -> Vec<Move> {
    let alike = moves.iter().filter(|(_, said, _)| *said == root);
    let nearest = moves[0].2;
    let is_kept = |distance: &Option<u32>| match root {
        Wdl::Draw | Wdl::Loss => true,
        Wdl::Win => nearest.is_some() && *distance == nearest,
        Wdl::CursedWin | Wdl::BlessedLoss => false,
    };
    let mut kept: Vec<Move> = vec![moves[0].0];
    let others = alike.filter(|(mv, _, distance)| *mv != moves[0].0 && is_kept(distance));
    kept.extend(others.map(|(mv, _, _)| *mv));
    kept
}

/// Compares the result of a move with the rules, and with what the program knows of the position after
/// it. The fifty-move rule may make a draw of either.
fn check(
    child: &Position,
    mv: Move,
    said: Wdl,
    known: impl Fn(&Position) -> Option<Wdl>,
) -> Result<(), WrongReply> {
    let truth = match child.outcome() {
        Some(Outcome::Win { .. }) => Some(Wdl::Win),
        // The tables have words of their own for it.
        Some(Outcome::Draw(Draw::FiftyMoves)) => None,
        Some(Outcome::Draw(_)) => Some(Wdl::Draw),
        None => known(child).map(Wdl::reversed),
    };
    match truth {
        Some(truth) if (truth as i8).signum() != (said as i8).signum() => Err(WrongReply::Untrue {
            mv,
            said,
            known: truth,
        }),
        _ => Ok(()),
    }
}

fn wdl(category: TableCategory) -> Option<Wdl> {
    match category {
        TableCategory::Win | TableCategory::SyzygyWin | TableCategory::MaybeWin => Some(Wdl::Win),
        TableCategory::CursedWin => Some(Wdl::CursedWin),
        TableCategory::Draw => Some(Wdl::Draw),
        TableCategory::BlessedLoss => Some(Wdl::BlessedLoss),
        TableCategory::Loss | TableCategory::SyzygyLoss | TableCategory::MaybeLoss => {
            Some(Wdl::Loss)
        }
        TableCategory::Unknown => None,
    }
}
