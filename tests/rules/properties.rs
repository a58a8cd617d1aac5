//! What must hold of any position and any input.

use fastrand::Rng;
use megaton::rules::{Game, Move, MoveList, Position, QuietAttacks, Role, UciStyle};
use proptest::prelude::*;

use crate::sampling;

/// A position by its seed: reached in a game or placed.
fn position() -> impl Strategy<Value = Position> {
    (any::<u64>(), any::<bool>()).prop_map(|(seed, placed)| {
        let mut rng = Rng::with_seed(seed);
        if placed {
            return sampling::from_placements(1, &mut rng)[0];
        }
        let plies = rng.usize(..120);
        let moves = sampling::random_game(plies, &mut rng);
        moves
            .into_iter()
            .fold(Position::default(), |position, mv| position.play(mv))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn incremental_keys_equal_recomputed_ones(seed in any::<u64>()) {
        let mut position = Position::default();
        for mv in sampling::random_game(100, &mut Rng::with_seed(seed)) {
            position = position.play(mv);
            prop_assert_eq!(position.key(), position.recomputed_key());
            // Reading builds everything anew: all keys, checkers, pins and danger lines.
            let read = Position::from_fen(&position.fen()).unwrap();
            if position.halfmove_clock() <= 100 {
                prop_assert!(read == position, "{}", position);
            }
        }
    }

    #[test]
    fn a_printed_fen_reads_back_as_the_same_position(position in position()) {
        prop_assert_eq!(Position::from_fen(&position.fen()), Ok(position));
    }

    #[test]
    fn moves_survive_uci_and_san(position in position()) {
        for mv in position.legal_moves() {
            for style in [UciStyle::Standard, UciStyle::KingTakesRook] {
                let uci = mv.uci(style).to_string();
                prop_assert_eq!(position.parse_uci(&uci), Ok(mv), "{} {}", position, uci);
            }
            let san = position.san(mv);
            prop_assert_eq!(position.parse_san(&san), Ok(mv), "{} {}", position, san);
            prop_assert_eq!(Move::from_bits(mv.bits()), mv);
        }
    }

    #[test]
    fn stages_and_counts_make_up_the_whole(position in position()) {
        let mut staged = MoveList::new();
        position.noisy_moves(&mut staged);
        for &mv in &staged {
            let queening = mv.promotion() == Some(Role::Queen);
            prop_assert!(position.is_capture(mv) || queening);
        }
        let noisy = staged.len();
        position.quiet_moves(&mut staged);
        for &mv in &staged[noisy..] {
            prop_assert!(!position.is_capture(mv));
        }
        let mut all = position.legal_moves();
        prop_assert_eq!(position.count_moves(), all.len());
        all.sort();
        staged.sort();
        prop_assert_eq!(staged, all);
    }

    #[test]
    fn a_move_does_what_was_predicted(position in position()) {
        for mv in position.legal_moves() {
            let child = position.play(mv);
            let us = position.turn();
            prop_assert_eq!(position.gives_check(mv), child.in_check(), "{} {}", position, mv);
            prop_assert_eq!(position.explodes_king(mv), child.king(!us).is_none());
            prop_assert!(child.king(us).is_some());
            let gone = position.blast(mv);
            prop_assert_eq!(gone.any(), position.is_capture(mv));
            if gone.any() {
                prop_assert_eq!(position.occupied() - gone, child.occupied());
                prop_assert!(gone.is_subset(position.occupied()));
            }
        }
    }

    #[test]
    fn explosions_are_seen_before_they_happen(position in position()) {
        let wins = |position: &Position| {
            position.legal_moves().into_iter().any(|mv| position.explodes_king(mv))
        };
        prop_assert_eq!(position.can_explode(), wins(&position), "{}", position);
        let passed = position.pass();
        let attacked = position.attacks_by(!position.turn(), position.occupied());
        prop_assert_eq!(position.is_threatened(), wins(&passed), "{}", position);
        prop_assert_eq!(position.is_threatened_with(attacked), wins(&passed), "{}", position);
        prop_assert_eq!(passed.key(), passed.recomputed_key());
    }

    #[test]
    fn a_quiet_move_that_does_not_parry_leaves_the_explosion_possible(seed in any::<u64>()) {
        let mut position = Position::default();
        for mv in sampling::random_game(100, &mut Rng::with_seed(seed)) {
            position = position.play(mv);
            let attacked = position.attacks_by(!position.turn(), position.occupied());
            let [from, to] = position.parries(attacked);
            let moves = if position.is_threatened() { position.legal_moves() } else { MoveList::new() };
            for &mv in &moves {
                let by_king = position.role_at(mv.from()) == Some(Role::King);
                let may_parry = from.contains(mv.from()) || to.contains(mv.to());
                if !may_parry && !by_king && !position.is_capture(mv) {
                    prop_assert!(position.play(mv).can_explode(), "{} {}", position, mv);
                }
            }
        }
    }

    #[test]
    fn attacks_of_quiet_moves_are_those_of_the_position_after_it(position in position()) {
        quiet_attacks_agree(&position);
    }

    #[test]
    fn takebacks_restore_the_game(seed in any::<u64>(), back in 0..80usize) {
        let mut rng = Rng::with_seed(seed);
        let mut game = Game::new();
        for mv in sampling::random_game(60, &mut rng) {
            game.push(mv);
        }
        let line: Vec<String> = game.moves().iter().map(ToString::to_string).collect();
        let left = game.ply().saturating_sub(back);
        let short = Game::from_uci_moves(&line[..left].join(" ")).unwrap();
        game.takeback(back);
        prop_assert_eq!(game.ply(), left);
        prop_assert_eq!(game.position(), short.position());
        prop_assert_eq!(game.keys(), short.keys());
        prop_assert_eq!(game.repetitions(), short.repetitions());
    }

    #[test]
    fn arbitrary_text_causes_no_parser_panic(text in any::<String>(), bytes in any::<Vec<u8>>()) {
        let position = Position::default();
        for text in [text.as_str(), &String::from_utf8_lossy(&bytes)] {
            let _ = Position::from_fen(text);
            let _ = position.parse_uci(text);
            let _ = position.parse_san(text);
            let _ = Game::from_uci_moves(text);
        }
    }

    #[test]
    fn small_typos_cause_no_parser_panic(
        position in position(), at in any::<prop::sample::Index>(), letter in any::<char>(),
    ) {
        let spoil = |text: &str| {
            let mut letters: Vec<char> = text.chars().collect();
            let index = at.index(letters.len());
            letters[index] = letter;
            letters.into_iter().collect::<String>()
        };
        if let Ok(read) = Position::from_fen(&spoil(&position.fen())) {
            prop_assert_eq!(Position::from_fen(&read.fen()), Ok(read));
        }
        for mv in position.legal_moves() {
            let _ = position.parse_uci(&spoil(&mv.to_string()));
            let _ = position.parse_san(&spoil(&position.san(mv)));
        }
    }
}

/// Compares what is said of the quiet moves with the positions they lead to.
pub(crate) fn quiet_attacks_agree(position: &Position) {
    let mut moves = MoveList::new();
    position.quiet_moves(&mut moves);
    let Some(attacks) = QuietAttacks::of(position) else {
        assert!(moves.is_empty(), "{position}");
        return;
    };
    let fuses = position.fuses(position.turn());
    for mv in moves {
        let child = position.play(mv);
        let role = position.role_at(mv.from()).expect("a piece moves");
        let attacks_fuse = role != Role::King
            && fuses.into_iter().any(|fuse| {
                let attackers = child.attackers_to(fuse, child.occupied());
                attackers.contains(mv.to())
            });
        assert_eq!(
            attacks.gives_check(mv, role),
            child.in_check(),
            "{position} {mv}"
        );
        assert_eq!(
            attacks.attacks_fuse(mv, role),
            attacks_fuse,
            "{position} {mv}"
        );
        assert_eq!(position.attacks_fuse(mv), attacks_fuse, "{position} {mv}");
    }
}

#[test]
fn any_sixteen_bits_are_legal_exactly_when_generated() {
    let mut rng = Rng::with_seed(sampling::seed("sixteen bits"));
    let mut positions = sampling::mixed(300, &mut rng);
    positions.push(Position::default());
    for position in positions {
        let generated = position.legal_moves();
        let judged: Vec<Move> = (0..=u16::MAX)
            .map(Move::from_bits)
            .filter(|&mv| position.is_legal(mv))
            .collect();
        let mut sorted = generated.clone();
        sorted.sort();
        assert_eq!(judged, sorted.to_vec(), "{position}");
    }
}
