//! Incremental accumulators equal those from scratch.

use super::*;
use crate::engine::nnue::{BucketBy, Layout, SCALE, Shape, Simd};
use crate::rules::{Game, Move};

fn net(layout: Layout, hidden: usize, simd: Simd) -> Arc<Network> {
    let shape = Shape {
        layout,
        hidden,
        buckets: 8,
        bucket_by: BucketBy::Pieces,
        scale: SCALE,
    };
    Arc::new(Network::noise(shape, 11).unwrap().with_simd(simd))
}

fn nets() -> Vec<Arc<Network>> {
    let simds = Simd::available().flat_map(|simd| {
        let layouts = Layout::ALL.into_iter();
        layouts.flat_map(move |layout| [32, 160].map(|hidden| net(layout, hidden, simd)))
    });
    simds.collect()
}

/// A random walk like a search: down, up, null moves, evaluating some positions.
fn walk(network: &Arc<Network>, seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut accumulators = Accumulators::new(network, 24);
    let mut line = vec![Position::default()];
    for _ in 0..400 {
        let position = *line.last().unwrap();
        let moves: Vec<Move> = position
            .legal_moves()
            .into_iter()
            .filter(|&mv| !position.explodes_king(mv))
            .collect();
        let ply = line.len() - 1;
        if rng.u8(..4) != 0 {
            let expected = network.evaluate(&position);
            assert_eq!(accumulators.evaluate(&position, ply), expected);
        }
        match rng.u8(..8) {
            0..=1 if ply > 0 => {
                line.pop();
            }
            2 if ply < 23 && !position.in_check() => line.push(position.pass()),
            _ if ply < 23 && !moves.is_empty() => {
                line.push(position.play(moves[rng.usize(..moves.len())]));
            }
            // A new root, as after the opponent's move.
            _ => drop(line.drain(..ply)),
        }
    }
}

#[test]
fn incremental_accumulators_equal_refreshed_ones() {
    for network in nets() {
        for seed in 0..6 {
            walk(&network, seed);
        }
    }
}

#[test]
fn castling_promotion_en_passant_and_blasts_are_each_one_step() {
    let rows = [
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1g1", [2, 2]),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "e8c8", [2, 2]),
        ("8/P6k/8/8/8/8/8/K7 w - - 0 1", "a7a8q", [1, 1]),
        ("4k3/2n5/8/3pP3/2r5/8/8/K7 w - d6 0 2", "e5d6", [0, 3]),
        ("4k3/8/8/2pnp3/2PpP3/8/8/3RK3 w - - 0 1", "d1d4", [0, 3]),
        ("4k3/8/8/8/8/8/8/3RK3 w - - 0 1", "d1d4", [1, 1]),
    ];
    for (fen, uci, expected) in rows {
        let position = Position::from_fen(fen).unwrap();
        let child = position.play(position.parse_uci(uci).unwrap());
        let mut difference = Difference::default();
        let [before, after] = [&position, &child].map(|&position| SeenBoard {
            position,
            marks: Marks::NONE,
        });
        difference.set(&after, &before, after.changed(&before));
        let counted = [difference.more.len(), difference.fewer.len()];
        assert_eq!(counted, expected, "{fen} {uci}");
        for network in nets() {
            let mut accumulators = Accumulators::new(&network, 3);
            for (ply, position) in [&position, &child].into_iter().enumerate() {
                let expected = network.evaluate(position);
                assert_eq!(
                    accumulators.evaluate(position, ply),
                    expected,
                    "{fen} {uci}"
                );
            }
        }
    }
}

#[test]
fn a_piece_replaced_by_one_of_the_other_side_is_noticed() {
    let boards = [
        "4k3/8/8/8/8/8/8/R3K3 w - - 0 1",
        "4k3/8/8/8/8/8/8/r3K3 w - - 0 1",
    ];
    let boards = boards.map(|fen| Position::from_fen(fen).unwrap());
    let network = net(Layout::Plain, 32, Simd::Plain);
    let mut accumulators = Accumulators::new(&network, 2);
    for board in boards.iter().chain(&boards) {
        assert_eq!(accumulators.evaluate(board, 1), network.evaluate(board));
    }
}

#[test]
fn a_position_without_a_king_has_no_value() {
    let game = Game::from_uci_moves("g1f3 a7a6 f3g5 a6a5 g5f7").unwrap();
    let network = net(Layout::Plain, 32, Simd::best());
    let mut accumulators = Accumulators::new(&network, 1);
    assert_eq!(accumulators.evaluate(game.position(), 0), None);
}
