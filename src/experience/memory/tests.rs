//! The memory of lines: what is advised against, and its bounds.

use proptest::prelude::*;

use super::*;
use crate::experience::line::LineMistake;
use crate::rules::Color;

/// A sound line with White's moves at even plies.
const LINE: &str = "g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1g1 f8d6 f3d4 d6h2";

fn line(game: &str, opponent: &str, result: LineResult) -> PlayedLine {
    PlayedLine {
        game: game.to_owned(),
        opponent: Some(opponent.to_owned()),
        color: Color::White,
        result,
        moves: LINE.to_owned(),
        mistake: None,
        at: game.bytes().map(u64::from).sum(),
    }
}

fn blamed(game: &str, moves: &str, ply: usize, value: i32) -> PlayedLine {
    PlayedLine {
        moves: moves.to_owned(),
        mistake: Some(LineMistake {
            ply,
            value,
            better: None,
            reviewed: false,
        }),
        ..line(game, "farmer", LineResult::Loss)
    }
}

fn experience(lines: impl IntoIterator<Item = PlayedLine>) -> Experience {
    let mut experience = Experience::default();
    for line in lines {
        assert!(experience.learn(line).is_empty());
    }
    experience
}

/// The advice after these moves: move, value and penalty.
fn advice(experience: &Experience, moves: &str, opponent: &str) -> Vec<(String, Option<i32>, i32)> {
    let game = Game::from_uci_moves(moves).unwrap();
    let advice = experience.advice(game.position().key(), Some(opponent));
    advice
        .into_iter()
        .map(|it| (it.mv.to_string(), it.value, it.penalty))
        .collect()
}

#[test]
fn the_mistake_of_a_lost_game_is_avoided_against_anybody_and_the_moves_before_are_not() {
    let experience = experience([blamed("a", LINE, 6, -900)]);
    let before = "g1f3 f7f6 e2e3 e7e6 f1e2 d7d5";
    for opponent in ["farmer", "another"] {
        let found = advice(&experience, before, opponent);
        assert_eq!(found, [("e1g1".to_owned(), Some(-900), 0)]);
    }
    for earlier in ["", "g1f3 f7f6", "g1f3 f7f6 e2e3 e7e6"] {
        assert_eq!(advice(&experience, earlier, "farmer"), [], "{earlier}");
    }
    let theirs = advice(&experience, "g1f3", "farmer");
    assert_eq!(theirs, [], "the opponent's moves say nothing");
}

#[test]
fn a_line_that_an_opponent_won_twice_is_left_early_whatever_is_to_blame() {
    let other = "g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 f3d4 f8d6 d4b5 d6h2";
    let lost = [blamed("a", LINE, 6, -900), blamed("b", LINE, 4, -300)];
    let known = experience(lost.clone());
    let twice = [("g1f3".to_owned(), None, 2 * AGAINST_THIS)];
    assert_eq!(advice(&known, "", "farmer"), twice);
    assert_eq!(advice(&known, "", "another"), []);
    let [once, _] = lost;
    let two_lines = experience([once, blamed("b", other, 6, -900)]);
    assert_eq!(advice(&two_lines, "", "farmer"), []);
}

#[test]
fn the_same_position_by_another_order_is_recognized() {
    let experience = experience([blamed("a", LINE, 6, -900)]);
    let other_order = "e2e3 f7f6 g1f3 d7d5 f1e2 e7e6";
    assert_eq!(advice(&experience, other_order, "x").len(), 1);
}

#[test]
fn a_loss_without_a_mistake_counts_against_its_opponent_and_only_in_numbers_against_others() {
    let once = experience([line("a", "farmer", LineResult::Loss)]);
    assert_eq!(
        advice(&once, "", "farmer"),
        [("g1f3".to_owned(), None, AGAINST_THIS)]
    );
    assert_eq!(advice(&once, "", "another"), []);
    let thrice = ["a", "b", "c"].map(|game| line(game, "farmer", LineResult::Loss));
    let thrice = experience(thrice);
    assert_eq!(
        advice(&thrice, "", "another"),
        [("g1f3".to_owned(), None, 3 * AGAINST_OTHERS)]
    );
    assert_eq!(advice(&thrice, "", "farmer")[0].2, 3 * AGAINST_THIS);
}

#[test]
fn a_line_that_also_wins_is_not_avoided() {
    let lines = [
        line("a", "farmer", LineResult::Loss),
        line("b", "farmer", LineResult::Win),
        line("c", "farmer", LineResult::Time),
    ];
    assert_eq!(advice(&experience(lines), "", "farmer"), []);
}

#[test]
fn several_mistakes_in_one_position_blame_the_move_that_led_there() {
    let other = "g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 f3d4";
    let lines = [blamed("a", LINE, 6, -900), blamed("b", other, 6, -400)];
    let mut known = experience(lines);
    let found = advice(&known, "g1f3 f7f6 e2e3 e7e6", "anyone");
    assert_eq!(found, [("f1e2".to_owned(), None, AGAINST_THIS)]);
    let both = advice(&known, "g1f3 f7f6 e2e3 e7e6 f1e2 d7d5", "anyone");
    assert_eq!(both.len(), 2);
    assert_eq!(advice(&known, "g1f3 f7f6", "anyone"), []);
    let held = PlayedLine {
        moves: "g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 b1c3".to_owned(),
        ..line("c", "x", LineResult::Draw)
    };
    known.learn(held);
    let found = advice(&known, "g1f3 f7f6 e2e3 e7e6", "anyone");
    assert_eq!(found, [], "another move held there");
}

#[test]
fn a_move_that_held_in_many_games_is_left_only_against_the_one_who_refuted_it_until_a_review() {
    let mut known = experience([blamed("a", LINE, 0, -200)]);
    let fine = ["b", "c", "d"].map(|game| line(game, "x", LineResult::Win));
    for line in fine {
        known.learn(line);
    }
    assert_eq!(advice(&known, "", "another"), []);
    assert_eq!(advice(&known, "", "farmer").len(), 1);
    let mut reviewed = blamed("a", LINE, 0, -200);
    reviewed.mistake.as_mut().unwrap().reviewed = true;
    known.learn(reviewed);
    assert_eq!(advice(&known, "", "another").len(), 1);
}

#[test]
fn a_late_mistake_is_avoided_and_the_moves_between_it_and_the_window_take_no_room() {
    // Without captures no king explodes.
    let mut game = Game::new();
    let mut random = fastrand::Rng::with_seed(5);
    while game.ply() < 61 {
        let position = *game.position();
        let mut legal: Vec<Move> = position.legal_moves().to_vec();
        legal.retain(|&mv| !position.is_capture(mv) && !position.play(mv).legal_moves().is_empty());
        game.push(legal[random.usize(..legal.len())]);
    }
    let moves: Vec<String> = game.moves().iter().map(ToString::to_string).collect();
    let known = experience([blamed("a", &moves.join(" "), 60, -900)]);
    assert_eq!(advice(&known, &moves[..60].join(" "), "x").len(), 1);
    assert!(known.positions.len() <= WINDOW / 2 + 2);
}

#[test]
fn a_review_replaces_what_the_game_showed() {
    let mut known = experience([blamed("a", LINE, 6, -900)]);
    let mut reviewed = blamed("a", LINE, 4, -300);
    reviewed.mistake.as_mut().unwrap().reviewed = true;
    assert!(known.learn(reviewed).is_empty());
    assert_eq!(known.len(), 1);
    assert_eq!(
        advice(&known, "g1f3 f7f6 e2e3 e7e6 f1e2 d7d5", "x"),
        [],
        "no longer blamed"
    );
    assert_eq!(
        advice(&known, "g1f3 f7f6 e2e3 e7e6", "x"),
        [("f1e2".to_owned(), Some(-300), 0)]
    );
}

#[test]
fn a_line_that_cannot_be_replayed_is_dropped() {
    let mut known = Experience::default();
    let broken = PlayedLine {
        moves: "e2e5 nonsense".to_owned(),
        ..line("a", "x", LineResult::Loss)
    };
    assert_eq!(known.learn(broken), ["a"]);
    assert!(known.is_empty());
}

#[test]
fn the_oldest_lines_go_and_losses_stay_longer_than_wins() {
    let mut known = Experience::default();
    let mut gone = Vec::new();
    for number in 0..MOST + 30 {
        for result in [LineResult::Loss, LineResult::Win] {
            let game = format!("{number}{}", result.as_str());
            gone.extend(known.learn(PlayedLine {
                at: number as u64,
                moves: "g1f3 f7f6 e2e3".to_owned(),
                ..line(&game, "x", result)
            }));
        }
    }
    assert_eq!((known.len(), gone.len()), (2 * MOST, 60));
    assert!(known.line("29loss").is_none() && known.line("30loss").is_some());
    let mut wins = experience([line("a", "x", LineResult::Loss)]);
    for number in 0..MOST + 30 {
        wins.learn(PlayedLine {
            at: 10_000 + number as u64,
            moves: "g1f3".to_owned(),
            ..line(&number.to_string(), "x", LineResult::Win)
        });
    }
    assert!(wins.line("a").is_some(), "the only loss");
    assert_eq!(wins.len(), MOST + 1);
}

/// Random legal lines from seeds.
fn random_line(seed: u64, plies: usize) -> String {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut game = Game::new();
    for _ in 0..plies {
        let legal = game.position().legal_moves();
        if legal.is_empty() {
            break;
        }
        game.push(legal[random.usize(..legal.len())]);
    }
    let moves: Vec<String> = game.moves().iter().map(ToString::to_string).collect();
    moves.join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is learned, in any order and again, the index agrees with the lines, advice names
    /// legal moves only, and a forgotten line leaves nothing behind.
    #[test]
    fn advice_is_legal_and_follows_from_the_lines_alone(
        games in proptest::collection::vec((0_u64..6, 0_u64..4, 0_usize..30, -999_i32..0, any::<bool>()), 1..20),
    ) {
        let mut known = Experience::default();
        for (number, seed, ply, value, white) in games {
            let lost = PlayedLine {
                color: if white { Color::White } else { Color::Black },
                ..blamed(&number.to_string(), &random_line(seed, 30), ply, value)
            };
            known.learn(lost);
        }
        let fresh = {
            let mut fresh = Experience::default();
            for line in known.lines.values().rev() {
                fresh.learn(line.as_ref().clone());
            }
            fresh
        };
        for line in known.lines.values() {
            let game = line.replay().unwrap();
            for position in game.positions() {
                let advice = known.advice(position.key(), Some("farmer"));
                for it in &advice {
                    prop_assert!(position.is_legal(it.mv));
                }
                let moves = |advice: &[Advice]| advice.iter().map(|it| (it.mv, it.value, it.penalty)).collect::<Vec<_>>();
                let again = fresh.advice(position.key(), Some("farmer"));
                prop_assert_eq!(moves(&advice), moves(&again), "whatever the order");
            }
        }
        let games: Vec<String> = known.times.keys().cloned().collect();
        for game in games {
            known.forget(&game);
        }
        prop_assert!(known.is_empty() && known.positions.is_empty() && known.losses == 0);
    }
}
