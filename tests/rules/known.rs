//! Perft counts that several engines agree on, and cases that have gone wrong elsewhere.

use megaton::rules::Position;

const KNOWN: [(&str, &[u64]); 9] = [
    (
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        &[20, 400, 8_902, 197_326, 4_864_979],
    ),
    (
        "rn2kb1r/1pp1p2p/p2q1pp1/3P4/2P3b1/4PN2/PP3PPP/R2QKB1R b KQkq - 0 1",
        &[40, 1_238, 45_237, 1_434_825],
    ),
    (
        "rn1qkb1r/p5pp/2p5/3p4/N3P3/5P2/PPP4P/R1BQK3 w Qkq - 0 1",
        &[28, 833, 23_353, 714_499],
    ),
    (
        "r1b1kb1r/pp1n1p1p/2p1p1p1/q2p4/3P1P2/2N1P3/PP1B2PP/R2QKB1R w KQkq - 0 10",
        &[36, 1_336, 47_753, 1_709_436],
    ),
    (
        "r3k2r/1P3b1p/p3p1p1/2ppPn2/3P1P2/2N2N2/PP4pP/R1B1K2R w KQkq d6 0 15",
        &[36, 1_131, 35_254, 1_023_903],
    ),
    (
        "r2qk2r/ppp2ppp/2n1b3/3pP3/1b1P4/2N1KN2/PPP3PP/R1BQ1B1R b kq - 0 9",
        &[43, 1_444, 59_537, 1_999_343],
    ),
    // Kings that touch.
    (
        "8/2p1p3/3k4/3K1p1R/1P6/4P1r1/5P2/8 w - - 0 30",
        &[20, 383, 7_110, 127_661],
    ),
    // In check, queen against rooks.
    (
        "4rk2/p1p2p1p/1p1p2p1/8/3PK3/2P1P3/P4qPP/R6R w - - 0 24",
        &[2, 77, 1_442, 51_748],
    ),
    // Two checkers, both blown up by a pawn.
    ("8/4K2P/5bk1/3pq3/3P4/8/8/8 w - - 3 46", &[4, 94]),
];

#[test]
fn perft_counts_are_what_other_engines_count() {
    for (fen, counts) in KNOWN {
        let position = Position::from_fen(fen).unwrap();
        for (depth, &nodes) in (1..).zip(counts) {
            assert_eq!(position.perft(depth), nodes, "{fen} at depth {depth}");
        }
    }
}

#[test]
fn a_divide_adds_up_to_its_perft() {
    let position = Position::default();
    let divide = position.divide(3);
    assert_eq!(divide.len(), 20);
    assert_eq!(divide.iter().map(|&(_, nodes)| nodes).sum::<u64>(), 8_902);
    assert!(position.divide(0).is_empty());
}
