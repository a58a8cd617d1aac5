//! PGN written and read again: by our reader, by `shakmaty`, and with garbage in between.

use std::ops::ControlFlow;

use pgn_reader::{Nag, RawComment, RawTag, Reader, SanPlus, Visitor};
use proptest::prelude::*;
use shakmaty::Position as _;
use shakmaty::variant::Atomic;

use super::read::{PgnFault, PgnGames};
use super::write::{PgnOptions, pgn, pgn_reviewed};
use crate::archive::record::{GameRecord, MoveRecord, Origin, TimeControlRecord};
use crate::archive::review::{Mistake, ReviewRecord};
use crate::archive::tests::game;
use crate::engine::Score;
use crate::lichess::{Side, Speed, Status};

/// A game as Lichess exports it, with its engine's scores.
const LICHESS: &str = r#"[Event "rated atomic game"]
[Site "https://lichess.org/q7ZxVt2B"]
[Date "2026.11.21"]
[White "Nuke"]
[Black "Megaton"]
[Result "1-0"]
[GameId "q7ZxVt2B"]
[UTCDate "2026.11.21"]
[UTCTime "13:05:59"]
[WhiteElo "1900"]
[BlackElo "2000"]
[WhiteRatingDiff "+6"]
[BlackRatingDiff "-7"]
[BlackTitle "BOT"]
[Variant "Atomic"]
[TimeControl "180+2"]
[ECO "?"]
[Opening "?"]
[Termination "Normal"]

1. Nf3 { [%eval 0.5] [%clk 0:03:00] } 1... a6?? { (0.5 → #1) Blunder. f6 was best. } { [%eval #1] [%clk 0:03:00] } (1... f6 2. e4) 2. Ng5 { [%clk 0:02:58] } 2... a5 $6 { [%clk 0:03:01] } 3. Nxf7# { [%clk 0:02:55] } 1-0


"#;

fn all(text: &[u8]) -> Vec<Result<GameRecord, PgnFault>> {
    PgnGames::new(text).map(Result::unwrap).collect()
}

#[track_caller]
fn one(text: &str) -> Result<GameRecord, String> {
    let mut games = all(text.as_bytes());
    assert_eq!(games.len(), 1, "{games:?}");
    games.remove(0).map_err(|fault| fault.to_string())
}

#[test]
fn a_lichess_export_is_read_completely() {
    let read = one(LICHESS).unwrap();
    assert_eq!((read.id.as_str(), read.rated), ("q7ZxVt2B", true));
    assert_eq!((read.speed, read.origin), (Speed::Blitz, Origin::Imported));
    assert_eq!(read.created, Some(1_795_266_359_000));
    assert!(read.black.is_bot() && read.white.title.is_none());
    assert_eq!(
        (read.white.rating, read.black.rating_diff),
        (Some(1900), Some(-7))
    );
    assert_eq!(read.opening(9), "g1f3 a7a6 f3g5 a6a5 g5f7");
    let ending = read.ending.as_ref().unwrap();
    assert_eq!(
        (ending.status, ending.winner),
        (Status::VariantEnd, Some(Side::White))
    );
    assert_eq!(ending.at, 1_795_266_359_000 + 4000 + 1000 + 5000);
    assert_eq!(read.moves[2].spent, Some(4000));
    assert_eq!(read.moves[1].white_score(1).unwrap().in_pawns(), "#1");
    assert_eq!(read.moves[4].clock, Some(175_000));
}

#[test]
fn what_is_known_of_a_date_counts() {
    for (date, time) in [
        ("2026.11.??", Some(1_793_538_359_000)),
        ("2026.??.??", Some(1_767_272_759_000)),
        ("????.??.??", None),
    ] {
        let read = one(&LICHESS.replace("2026.11.21", date)).unwrap();
        assert_eq!(read.created, time, "{date}");
    }
}

#[test]
fn a_rating_change_that_no_game_brings_is_not_read() {
    for diff in ["-2147483648", "5001", "x"] {
        let read = one(&LICHESS.replace("\"-7\"", &format!("\"{diff}\""))).unwrap();
        assert_eq!(read.black.rating_diff, None, "{diff}");
    }
}

#[test]
fn our_pgn_reads_back() {
    for (options, whole) in [
        (PgnOptions::default(), true),
        (
            PgnOptions {
                comments: true,
                lines: true,
                site: "http://127.0.0.1:8642/".to_owned(),
            },
            true,
        ),
        (
            PgnOptions {
                comments: false,
                ..PgnOptions::default()
            },
            false,
        ),
    ] {
        let written = game("abcdefgh", 1_795_266_359, "Nuke");
        let mut read = one(&pgn(&written, &options)).unwrap();
        let mut expected = written.clone();
        // PGN cannot express these.
        expected.us = None;
        expected.origin = Origin::Imported;
        expected.joined = expected.created.unwrap();
        for made in &mut expected.moves {
            *made = MoveRecord {
                clock: made.clock,
                spent: made.spent,
                score: made.score,
                depth: made.depth,
                source: made.source,
                ..MoveRecord::bare(made.uci.clone())
            };
            if !whole {
                *made = MoveRecord::bare(made.uci.clone());
            }
        }
        if !whole {
            read.control = TimeControlRecord::Unknown;
            expected.control = TimeControlRecord::Unknown;
        }
        assert_eq!(read, expected);
    }
}

/// A review of the game in these tests.
fn review() -> ReviewRecord {
    ReviewRecord {
        game: "abcdefgh".to_owned(),
        at: 9,
        program: "megaton".to_owned(),
        positions: 3,
        mistake: Some(Mistake {
            ply: 3,
            played: "a5".to_owned(),
            before: Score::Cp(-20),
            after: Score::Mate(-1),
            better: "f6".to_owned(),
            better_uci: "f7f6".to_owned(),
            depth: 20,
            line: vec!["f6".to_owned(), "Nxh7".to_owned()],
            refutation: Vec::new(),
        }),
        given_up: false,
    }
}

#[test]
fn a_marked_losing_move_is_read_as_the_move_that_was_played() {
    let written = game("abcdefgh", 1_795_266_359, "Nuke");
    let options = PgnOptions::default();
    let text = pgn_reviewed(&written, Some(&review()), &options);
    let words = text.replace('\n', " ");
    assert!(words.contains(" a5 $4 (2... f6 3. Nxh7) 3. "), "{text}");
    assert_eq!(one(&text).unwrap(), one(&pgn(&written, &options)).unwrap());
    let mut judge = Judge::default();
    let mut reader = Reader::new(text.as_bytes());
    reader.read_game(&mut judge).unwrap().unwrap();
    assert_eq!(judge.moves, ["g1f3", "a7a6", "f3g5", "a6a5", "g5f7"]);
    assert_eq!(judge.marks, 1);
}

/// Replays a game by the rules of `shakmaty`.
#[derive(Default)]
struct Judge {
    variant: String,
    clocks: usize,
    marks: usize,
    board: Atomic,
    moves: Vec<String>,
}

impl Visitor for Judge {
    type Tags = ();
    type Movetext = ();
    type Output = ();

    fn begin_tags(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn tag(&mut self, (): &mut (), name: &[u8], value: RawTag<'_>) -> ControlFlow<()> {
        if name == b"Variant" {
            self.variant = value.decode_utf8().unwrap().into_owned();
        }
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, (): ()) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn san(&mut self, (): &mut (), san: SanPlus) -> ControlFlow<()> {
        let mv = san.san.to_move(&self.board).expect("a legal move");
        self.moves
            .push(mv.to_uci(shakmaty::CastlingMode::Standard).to_string());
        self.board.play_unchecked(mv);
        ControlFlow::Continue(())
    }

    fn nag(&mut self, (): &mut (), nag: Nag) -> ControlFlow<()> {
        self.marks += usize::from(nag == Nag::BLUNDER);
        ControlFlow::Continue(())
    }

    fn comment(&mut self, (): &mut (), comment: RawComment<'_>) -> ControlFlow<()> {
        let comment = std::str::from_utf8(comment.as_bytes()).unwrap();
        self.clocks += usize::from(comment.contains("[%clk "));
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, (): ()) {}
}

#[test]
fn shakmaty_reads_what_we_write() {
    let played = include_str!("../../../tests/data/rules/games.jsonl");
    let mut judged = 0;
    for line in played.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let moves = line["moves"].as_str().unwrap();
        let mut written = game("abcdefgh", 5, "Nuke");
        written.moves = moves
            .split_whitespace()
            .map(|uci| MoveRecord {
                clock: Some(61_500),
                ..MoveRecord::bare(uci)
            })
            .collect();
        let text = pgn(&written, &PgnOptions::default());
        let mut judge = Judge::default();
        let mut reader = Reader::new(text.as_bytes());
        reader.read_game(&mut judge).unwrap().unwrap();
        assert!(!reader.has_more().unwrap());
        let ours: Vec<&str> = moves.split_whitespace().collect();
        assert_eq!(judge.moves, ours);
        assert_eq!(
            (judge.variant.as_str(), judge.clocks),
            ("Atomic", ours.len())
        );
        judged += 1;
    }
    assert!(judged > 0);
}

#[test]
fn garbage_costs_only_its_own_game() {
    let good = |id: &str| LICHESS.replace("q7ZxVt2B", id);
    let file = [
        good("goodgam1").into_bytes(),
        good("badmove1").replace("2. Ng5", "2. Nh8").into_bytes(),
        b"\xff\xfe\0\0 no PGN at all \x1b[31m\n%%%% ((((( {{{{{\n\n".to_vec(),
        good("goodgam2").into_bytes(),
        good("straywrd")
            .replace("2. Ng5", "2. @@!! Ng5")
            .into_bytes(),
        good("mistyped").replace("1. Nf3", "1. NF3").into_bytes(),
        good("cutoff00").replace(" 1-0\n\n", "\n\n").into_bytes(),
        good("wrongend").replace(" 1-0\n", " 0-1\n").into_bytes(),
        good("unclosed")
            .replace("0:02:55] }", "0:02:55]")
            .into_bytes(),
        good("tagbroke")
            .replace("[White \"Nuke\"]", "[White \"Nuke")
            .into_bytes(),
        good("nobodyis")
            .replace("[White \"Nuke\"]\n", "")
            .into_bytes(),
        good("standard").replace("Atomic", "Standard").into_bytes(),
        good("twoends0")
            .replace(" 1-0\n\n", " 1-0 1-0\n\n")
            .into_bytes(),
        good("goodgam3").into_bytes(),
    ]
    .concat();
    let read = all(&file);
    let good: Vec<&str> = read.iter().flatten().map(|game| game.id.as_str()).collect();
    assert_eq!(&good[..2], ["goodgam1", "goodgam2"]);
    assert_eq!(good.last(), Some(&"goodgam3"));
    for id in [
        "badmove1", "straywrd", "cutoff00", "wrongend", "unclosed", "nobodyis", "standard",
        "twoends0",
    ] {
        assert!(!good.contains(&id), "{id}");
    }
    let faults: Vec<String> = read
        .iter()
        .filter_map(|read| read.as_ref().err())
        .map(ToString::to_string)
        .collect();
    let all = faults.join("\n");
    for expected in [
        "line 24, game badmove1: half-move 3: no legal move is written Nh8",
        "line 47: this belongs to no game",
        "game straywrd: \"@@!!\" among its moves",
        "game mistyped: \"NF3\" among its moves",
        "game cutoff00: cut off: no result after its moves",
        "game wrongend: its last word is not the result in its tags",
        "game unclosed: unterminated comment",
        "game nobodyis: no player is named White",
        "Standard is played here, not atomic chess",
        "game twoends0: it ends twice",
    ] {
        assert!(all.contains(expected), "{expected}\n{all}");
    }
}

#[test]
fn the_tags_of_one_game_never_join_the_moves_of_another() {
    let (tags, _) = LICHESS.split_once("1. Nf3").unwrap();
    let lost_its_moves = tags.replace("q7ZxVt2B", "nomoves1");
    let read = all(format!("{lost_its_moves}{LICHESS}").as_bytes());
    assert_eq!(read.len(), 2, "{read:?}");
    let fault = read[0].as_ref().unwrap_err().to_string();
    assert!(
        fault.starts_with("line 1, game nomoves1: cut off"),
        "{fault}"
    );
    assert_eq!(read[1].as_ref().unwrap().id, "q7ZxVt2B");
    // Without a blank line the owner of the moves is ambiguous.
    let joined = format!("{}\n{LICHESS}", lost_its_moves.trim_end());
    let fault = one(&joined).unwrap_err();
    assert!(fault.contains("stands there twice"), "{fault}");
}

#[test]
fn a_file_cut_off_within_the_tags_of_a_game_is_not_one_of_another_variant() {
    let whole = LICHESS.find("[Variant").unwrap();
    let (tags, _) = LICHESS.split_at(whole);
    for cut in [tags, &tags[..tags.rfind('[').unwrap()], "[Event \"Rated"] {
        let fault = one(cut).unwrap_err();
        assert!(fault.starts_with("line 1"), "{fault}");
        assert!(!fault.contains("is played here"), "{fault}");
    }
    let standard = "[Event \"?\"]\n\n1. e4 e5 *\n";
    assert!(one(standard).unwrap_err().contains("Standard is played"));
}

#[test]
fn junk_after_a_tag_is_found() {
    let tag = "[Variant \"Atomic\"]";
    for junk in ["junk", "e9"] {
        let fault = one(&LICHESS.replace(tag, &format!("{tag} {junk}"))).unwrap_err();
        assert!(fault.contains(&format!("\"{junk}\" among")), "{fault}");
    }
    one(&LICHESS.replace(tag, &format!("{tag}  "))).unwrap();
}

#[test]
fn a_game_of_601_half_moves_is_read_and_no_longer_one() {
    let with = |last: &str| {
        let moves = "Nf3 Nf6 Ng1 Ng8 ".repeat(150) + last;
        let head = &LICHESS[..LICHESS.find("[Result").unwrap()];
        one(&format!("{head}[Variant \"Atomic\"]\n\n{moves} 1/2-1/2\n"))
    };
    assert_eq!(with("e4").unwrap().moves.len(), 601);
    assert!(
        with("e4 e5")
            .unwrap_err()
            .contains("more than 601 half-moves")
    );
}

#[test]
fn a_game_without_an_id_has_the_same_one_each_time() {
    let nameless = LICHESS
        .replace("[GameId \"q7ZxVt2B\"]\n", "")
        .replace("https://lichess.org/q7ZxVt2B", "Sometown");
    let first = one(&nameless).unwrap();
    assert_eq!(first, one(&nameless).unwrap());
    assert!(first.id.starts_with("pgn"));
    let other = one(&nameless.replace("Nuke", "Nuke2")).unwrap();
    assert_ne!(first.id, other.id);
}

#[test]
fn the_ending_agrees_with_tags_and_board() {
    let flag = LICHESS
        .replace(" 3. Nxf7# { [%clk 0:02:55] } 1-0", " 0-1")
        .replace("\"1-0\"", "\"0-1\"")
        .replace("\"Normal\"", "\"Time forfeit\"");
    let ending = one(&flag).unwrap().ending.unwrap();
    assert_eq!(
        (ending.status, ending.winner),
        (Status::OutOfTime, Some(Side::Black))
    );
    // A repetition that nobody claimed.
    let (tags, _) = LICHESS.split_once("1. Nf3").unwrap();
    let repeated = format!("{tags}1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 1-0\n");
    let ending = one(&repeated).unwrap().ending.unwrap();
    assert_eq!(
        (ending.status, ending.winner),
        (Status::Resign, Some(Side::White))
    );
    let aborted = LICHESS
        .split_once("1. Nf3")
        .map(|(tags, _)| {
            format!(
                "{}*\n",
                tags.replace("\"1-0\"", "\"*\"")
                    .replace("Normal", "Abandoned")
            )
        })
        .unwrap();
    let game = one(&aborted).unwrap();
    assert_eq!(game.ending.unwrap().status, Status::Aborted);
    assert!(game.moves.is_empty());
}

proptest! {
    #[test]
    fn arbitrary_bytes_cause_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), at in 0..LICHESS.len()) {
        let mut text = LICHESS.as_bytes().to_vec();
        text.splice(at..at, bytes);
        let read = all(&text);
        prop_assert!(!read.is_empty());
        // Every accepted game is legal.
        for game in read.into_iter().flatten() {
            let text = pgn(&game, &PgnOptions::default());
            prop_assert!(!text.contains("breaks off"));
        }
    }
}
