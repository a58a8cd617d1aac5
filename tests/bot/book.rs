//! Moves from opening books: when a book is used, which move it gives, and what overrides it.

use std::collections::HashMap;
use std::sync::Arc;

use megaton::book::{BookMove, Books, PositionBook, SharedBooks};
use megaton::bot::Settings;
use megaton::bot::game::{GameEffect, Notification};
use megaton::config::BookSelection;
use megaton::engine::StopReason;
use megaton::experience::{Experience, LineMistake, LineResult, PlayedLine};
use megaton::lichess::Side;
use megaton::rules::{Color, Game, Position};
use proptest::prelude::*;

use super::harness::{Harness, active_search, ms, posted, state};

/// A book in memory: weighted moves after lines.
#[derive(Debug, Default)]
struct Lines(HashMap<u64, Vec<BookMove>>);

impl PositionBook for Lines {
    fn moves(&self, position: &Position) -> Vec<BookMove> {
        self.0.get(&position.key()).cloned().unwrap_or_default()
    }
}

fn book(entries: &[(&str, &str, u32)]) -> Arc<dyn PositionBook> {
    let mut lines = Lines::default();
    for (line, uci, weight) in entries {
        let game = Game::from_uci_moves(line).expect("a legal line");
        let mv = game.position().parse_uci(uci).expect("a legal move");
        let weight = *weight;
        let moves = lines.0.entry(game.position().key()).or_default();
        moves.push(BookMove { mv, weight });
    }
    Arc::new(lines)
}

const THEORY: [(&str, &str, u32); 4] = [
    ("", "g1f3", 90),
    ("", "e2e3", 10),
    ("g1f3", "f7f6", 5),
    ("g1f3", "g8h6", 1),
];

fn shared(books: Vec<Arc<dyn PositionBook>>) -> SharedBooks {
    let shared = SharedBooks::default();
    shared.set(Books::new(books));
    shared
}

fn harness(books: Vec<Arc<dyn PositionBook>>, change: impl FnOnce(&mut Settings)) -> Harness {
    let mut settings = Settings::default();
    change(&mut settings);
    let mut harness = Harness::with(Side::White, settings);
    harness.machine.set_books(shared(books), 7);
    harness
}

/// The move sent at once, if one is.
fn played(harness: &mut Harness, moves: &str) -> Option<String> {
    let actions = harness.open(moves);
    let sent = posted(&actions);
    assert_eq!(
        sent.is_none(),
        active_search(&actions).is_some(),
        "{actions:?}"
    );
    sent.map(|sent| sent.uci)
}

fn best(settings: &mut Settings) {
    settings.book.selection = BookSelection::Best;
}

#[test]
fn a_book_move_is_sent_at_once_and_recorded_as_one() {
    let mut harness = harness(vec![book(&THEORY)], best);
    assert_eq!(played(&mut harness, "").as_deref(), Some("g1f3"));
    let actions = harness.state("g1f3");
    let moved = actions.iter().find_map(|action| match action {
        GameEffect::Notify(Notification::Moved(moved)) => Some(moved.as_ref().clone()),
        _ => None,
    });
    let moved = moved.expect("the move is announced");
    let result = moved.result.expect("with its source");
    assert_eq!((result.ended, result.depth), (StopReason::Book, 0));
}

#[test]
fn at_a_human_pace_a_book_move_is_held_back_against_humans() {
    let line = "g1f3 f7f6";
    for bot in [false, true] {
        let mut harness = harness(vec![book(&[(line, "e2e3", 9)])], |settings| {
            settings.clock.human_pace = true;
        });
        harness.bot_opponent = bot;
        let actions = harness.open(line);
        assert!(active_search(&actions).is_none(), "{actions:?}");
        let sent = posted(&actions).or_else(|| {
            assert!(!bot, "it is sent at once");
            posted(&harness.wait(ms(3500)))
        });
        assert_eq!(posted(&actions).is_some(), bot);
        assert_eq!(sent.expect("a book move").uci, "e2e3");
    }
}

#[test]
fn the_bot_ponders_on_the_reply_that_the_book_expects() {
    let mut book_entries = THEORY.to_vec();
    book_entries.push(("g1f3 f7f6", "e2e3", 9));
    book_entries.push(("g1f3 f7f6 e2e3", "e7e6", 2));
    let mut harness = harness(vec![book(&book_entries)], |settings| {
        best(settings);
        settings.engine.ponder = true;
    });
    assert_eq!(played(&mut harness, "g1f3 f7f6").as_deref(), Some("e2e3"));
    let actions = harness.state("g1f3 f7f6 e2e3");
    let pondered = actions.iter().find_map(|action| match action {
        GameEffect::Ponder { reply, .. } => Some(reply.to_string()),
        _ => None,
    });
    assert_eq!(pondered.as_deref(), Some("e7e6"));
    let actions = harness.state("g1f3 f7f6 e2e3 e7e6");
    assert!(active_search(&actions).is_some(), "out of book: it thinks");
}

#[test]
fn a_book_is_used_only_where_the_rules_allow() {
    type Change = fn(&mut Settings, &mut bool, &mut bool);
    let rows: [(&str, Change, bool); 8] = [
        ("as it is", |_, _, _| (), true),
        ("off", |it, _, _| it.book.enabled = false, false),
        ("humans", |it, _, _| it.book.humans = false, false),
        (
            "bots",
            |it, bot, _| (it.book.bots, *bot) = (false, true),
            false,
        ),
        (
            "other bots",
            |it, bot, _| (it.book.humans, *bot) = (false, true),
            true,
        ),
        (
            "casual",
            |it, _, casual| (it.book.casual, *casual) = (false, true),
            false,
        ),
        ("rated", |it, _, _| it.book.rated = false, false),
        ("ply", |it, _, _| it.book.max_ply = 0, false),
    ];
    for (name, change, expected) in rows {
        let (mut bot, mut casual) = (false, false);
        let mut harness = harness(vec![book(&THEORY)], |it| change(it, &mut bot, &mut casual));
        (harness.bot_opponent, harness.casual) = (bot, casual);
        assert_eq!(played(&mut harness, "").is_some(), expected, "{name}");
    }
}

#[test]
fn the_clock_the_weight_and_the_depth_bound_the_book() {
    let line = [("g1f3 f7f6", "e2e3", 9)];
    let at = |change: fn(&mut Settings)| {
        let mut harness = harness(vec![book(&line)], change);
        played(&mut harness, "g1f3 f7f6").is_some()
    };
    assert!(at(|_| ()));
    assert!(!at(|it| it.book.min_weight = 10));
    assert!(at(|it| it.book.min_weight = 9));
    assert!(!at(|it| it.book.max_ply = 2));
    assert!(at(|it| it.book.max_ply = 3));
    assert!(!at(
        |it| it.book.min_clock = std::time::Duration::from_secs(180)
    ));
    assert!(at(
        |it| it.book.min_clock = std::time::Duration::from_secs(170)
    ));
}

#[test]
fn the_first_book_that_has_a_move_wins() {
    let first = book(&[("", "e2e3", 1)]);
    let second = book(&[("", "g1f3", 1000), ("g1f3 f7f6", "e2e3", 1)]);
    let mut both = harness(vec![first.clone(), second.clone()], |_| ());
    assert_eq!(played(&mut both, "").as_deref(), Some("e2e3"));
    let mut deeper = harness(vec![first.clone(), second.clone()], |_| ());
    assert_eq!(played(&mut deeper, "g1f3 f7f6").as_deref(), Some("e2e3"));
    let mut floor = harness(vec![first, second], |it| it.book.min_weight = 2);
    assert_eq!(
        played(&mut floor, "").as_deref(),
        Some("g1f3"),
        "a light move does not hide the next book"
    );
}

/// A game lost by its first move.
fn lost(first: &str) -> PlayedLine {
    PlayedLine {
        game: "a".to_owned(),
        opponent: Some("anyone".to_owned()),
        color: Color::White,
        result: LineResult::Loss,
        moves: format!("{first} f7f6"),
        mistake: Some(LineMistake {
            ply: 0,
            value: -800,
            better: None,
            reviewed: true,
        }),
        at: 1,
    }
}

#[test]
fn a_book_move_that_cost_a_game_is_not_played_again() {
    let with = |entries: &[(&str, &str, u32)]| {
        let mut harness = harness(vec![book(entries)], best);
        let mut experience = Experience::default();
        experience.learn(lost("g1f3"));
        harness.machine.set_experience(Arc::new(experience));
        played(&mut harness, "")
    };
    assert_eq!(with(&THEORY).as_deref(), Some("e2e3"), "another book move");
    assert_eq!(with(&THEORY[..1]), None, "the engine thinks");
}

/// A game of ours that began with this move and ended like that without a mistake.
fn ended(number: u64, first: &str, result: LineResult) -> PlayedLine {
    PlayedLine {
        game: format!("game {number}"),
        opponent: Some(format!("opponent {number}")),
        color: Color::White,
        result,
        moves: format!("{first} f7f6"),
        mistake: None,
        at: number,
    }
}

#[test]
fn results_of_own_games_shift_the_choice_and_a_few_shift_it_little() {
    let share = |games: u64| {
        let mut experience = Experience::default();
        for number in 0..games {
            experience.learn(ended(2 * number, "g1f3", LineResult::Draw));
            experience.learn(ended(2 * number + 1, "e2e3", LineResult::Win));
        }
        let experience = Arc::new(experience);
        let alike = [("", "g1f3", 10), ("", "e2e3", 10)];
        let played = (0..400).filter(|seed| {
            let mut harness = harness(vec![book(&alike)], |_| ());
            harness.machine.set_experience(Arc::clone(&experience));
            let books = shared(vec![book(&alike)]);
            harness.machine.set_books(books, *seed);
            played(&mut harness, "").as_deref() == Some("e2e3")
        });
        played.count()
    };
    let (none, few, many) = (share(0), share(2), share(100));
    assert!((160..=240).contains(&none), "{none} of 400");
    assert!((160..=250).contains(&few), "{few} of 400");
    assert!(many > 230, "{many} of 400");
}

#[test]
fn a_rated_game_leaves_an_earlier_one_within_the_book() {
    let with = |entries: &[(&str, &str, u32)], rated: bool| {
        let mut harness = harness(vec![book(entries)], best);
        harness.casual = !rated;
        harness.machine.avoid(["g1f3 f7f6"], 7);
        played(&mut harness, "")
    };
    assert_eq!(with(&THEORY, false).as_deref(), Some("g1f3"));
    assert_eq!(with(&THEORY, true).as_deref(), Some("e2e3"));
    assert_eq!(with(&THEORY[..1], true), None, "the engine varies");
}

#[test]
fn the_only_good_move_is_played_again_where_a_later_one_can_differ() {
    let with = |entries: &[(&str, &str, u32)], earlier: &[&str], plies: u32, max_ply: u32| {
        let mut harness = harness(vec![book(entries)], |it| {
            it.variety.plies = plies;
            it.book.max_ply = max_ply;
        });
        harness.bot_opponent = true;
        harness.machine.avoid(earlier.iter().copied(), 7);
        played(&mut harness, "").is_some()
    };
    let one = ["g1f3 f7f6 e2e3 e7e6 a2a3"];
    let both = [one[0], "g1f3 f7f6 d2d3 e7e6 a2a3"];
    let only = [("", "g1f3", 9), ("g1f3 f7f6", "e2e3", 9)];
    let two = [only[0], only[1], ("g1f3 f7f6", "d2d3", 9)];
    assert!(with(&two, &one, 20, 40), "two good moves later");
    assert!(with(&two, &one, 3, 3));
    assert!(!with(&two, &one, 2, 40), "too late");
    assert!(!with(&two, &one, 20, 2), "beyond the book's last move");
    assert!(!with(&only, &one, 20, 40), "no choice later");
    assert!(!with(&two, &both, 20, 40), "both were played");
}

#[test]
fn books_that_are_read_during_a_game_serve_its_next_move() {
    let mut harness = harness(vec![], best);
    let books = SharedBooks::default();
    harness.machine.set_books(books.clone(), 7);
    assert_eq!(posted(&harness.open("g1f3")), None, "their turn");
    books.set(Books::new(vec![book(&[("g1f3 f7f6", "e2e3", 1)])]));
    let sent = posted(&harness.state("g1f3 f7f6"));
    assert_eq!(sent.expect("at once").uci, "e2e3");
}

#[test]
fn a_book_move_that_repeats_a_position_is_left_to_the_search() {
    let shuffle = "g1f3 g8f6 f3g1";
    let entries = [
        ("g1f3", "g8f6", 1),
        ("g1f3 g8f6 f3g1", "f6g8", 9),
        ("g1f3 g8f6 f3g1", "e7e6", 1),
    ];
    let mut harness = Harness::new(Side::Black);
    let books = shared(vec![book(&entries)]);
    harness.machine.set_books(books, 7);
    assert_eq!(played(&mut harness, shuffle).as_deref(), Some("e7e6"));
    let mut only = Harness::new(Side::Black);
    only.machine.set_books(shared(vec![book(&entries[..2])]), 7);
    assert_eq!(played(&mut only, shuffle), None);
}

#[test]
fn an_explosion_of_the_king_is_never_missed_for_a_book_move() {
    let line = "g1f3 a7a6 f3g5 a6a5";
    let mut harness = harness(vec![book(&[(line, "h2h3", 9)])], |_| ());
    assert_eq!(played(&mut harness, line), None);
}

#[test]
fn a_refused_book_move_is_not_sent_again() {
    use megaton::bot::game::{CallOutcome, GameInput};
    let mut harness = harness(vec![book(&THEORY)], best);
    let sent = posted(&harness.open("")).expect("a book move");
    let refused = CallOutcome::Refused {
        status: 400,
        text: "illegal".into(),
    };
    harness.apply(GameInput::Posted {
        request_id: sent.request_id,
        answer: refused,
    });
    let full = harness.full(state(""));
    let actions = harness.open_with(full, harness.now);
    assert_eq!(
        posted(&actions).map(|sent| sent.uci).as_deref(),
        Some("e2e3")
    );
}

proptest! {
    /// Whatever a book claims: what is sent is legal, heavy enough and among its moves.
    #[test]
    fn what_a_book_says_is_bounded(
        weights in proptest::collection::vec(0_u32..50, 20),
        min_weight in prop_oneof![Just(0), 0_u32..50],
        seed in any::<u64>(),
        selection in 0_usize..3,
    ) {
        let position = Position::default();
        let legal = position.legal_moves();
        let mut lines = Lines::default();
        let moves: Vec<BookMove> = legal.iter().zip(&weights).map(|(&mv, &weight)| BookMove { mv, weight }).collect();
        lines.0.insert(position.key(), moves.clone());
        let selection = [BookSelection::Best, BookSelection::Weighted, BookSelection::Uniform][selection];
        let mut harness = harness(vec![], |it| {
            it.book.selection = selection;
            it.book.min_weight = min_weight;
        });
        harness.machine.set_books(shared(vec![Arc::new(lines)]), seed);
        let sent = played(&mut harness, "");
        let least = min_weight.max(1);
        let fit = |it: &&BookMove| it.weight >= least;
        let most = moves.iter().filter(fit).map(|it| it.weight).max();
        prop_assert_eq!(sent.is_some(), most.is_some());
        if let Some(sent) = sent {
            let found = moves.iter().find(|it| it.mv.to_string() == sent).expect("a move of the book");
            prop_assert!(found.weight >= least);
            prop_assert!(selection != BookSelection::Best || Some(found.weight) == most);
        }
    }
}
