//! The archive commands: lists, one game, PGN import and export, statistics, backup, pruning.

use std::fs;
use std::path::PathBuf;

use megaton::archive::{
    ArchiveEntry, Database, EndingRecord, EventRecord, FILE_NAME, GameRecord, Mistake, MoveRecord,
    Origin, PlayerRecord, ReviewRecord, Source, TimeControlRecord,
};
use megaton::engine::Score;
use megaton::lichess::{Side, Speed, Status};
use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

use super::program::{Ran, megaton};

pub(super) const DAY: u64 = 24 * 3600 * 1000;
/// 2026-11-21 13:05:59.
pub(super) const BEGAN: u64 = 1_795_266_359_000;

/// A folder with a config, and an archive where a bot on that server keeps it.
pub(super) struct Ground {
    folder: TempDir,
}

impl Ground {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let config = "[lichess]\nurl = \"http://127.0.0.1:9\"\n";
        fs::write(folder.path().join("config.toml"), config).expect("a config");
        Self { folder }
    }

    /// Adds lines to the config.
    pub(super) fn append_config(&self, text: &str) {
        let path = self.folder.path().join("config.toml");
        let config = fs::read_to_string(&path).expect("a config");
        fs::write(&path, config + text).expect("a config");
    }

    pub(super) fn archive(&self) -> PathBuf {
        self.folder.path().join("data/127.0.0.1_9").join(FILE_NAME)
    }

    pub(super) fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    pub(super) fn keep(&self, entries: &[ArchiveEntry]) {
        fs::create_dir_all(self.archive().parent().expect("a folder")).expect("a folder");
        let mut disk = Database::open(&self.archive(), BEGAN).expect("an archive");
        disk.commit(entries).expect("it is written");
    }

    /// Runs a command on it.
    pub(super) fn run(&self, arguments: &[&str]) -> Ran {
        let config = self.file("config.toml");
        megaton(&[&[arguments[0], "--config", &config], &arguments[1..]].concat())
    }

    #[track_caller]
    pub(super) fn told(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.status, Some(0), "{arguments:?}: {}", ran.stderr);
        ran.stdout
    }

    /// Three games: won, lost on the clock while a stream was lost, and running.
    pub(super) fn with_games() -> Self {
        let ground = Self::new();
        let mut lost = game("lost0002", BEGAN + DAY);
        lost.moves.pop();
        lost.white.rating_diff = Some(-9);
        "Blast".clone_into(&mut lost.black.name);
        lost.black.id = Some("blast".to_owned());
        lost.ending = Some(EndingRecord {
            status: Status::OutOfTime,
            winner: Some(Side::Black),
            at: BEGAN + DAY + 20_000,
        });
        let mut running = game("runs0003", BEGAN + 2 * DAY);
        running.ending = None;
        running.moves.truncate(3);
        let event = EventRecord {
            at: BEGAN + DAY + 10_000,
            kind: "stream".to_owned(),
            text: "lost: reset by peer".to_owned(),
            game: Some("lost0002".to_owned()),
        };
        ground.keep(&[
            ArchiveEntry::Game(game("won00001", BEGAN).into()),
            ArchiveEntry::Game(lost.into()),
            ArchiveEntry::Game(running.into()),
            ArchiveEntry::Event(event.into()),
        ]);
        ground
    }
}

pub(super) fn game(id: &str, began: u64) -> GameRecord {
    let own = |uci: &str, after: u64, clock: u64, score: i32| MoveRecord {
        at: Some(began + after),
        clock: Some(clock),
        spent: Some(900),
        score: Some(Score::Cp(score)),
        depth: Some(12),
        source: Source::Engine,
        line: uci.to_owned(),
        ..MoveRecord::bare(uci)
    };
    let theirs = |uci: &str, after: u64| MoveRecord {
        at: Some(began + after),
        clock: Some(170_000),
        spent: Some(2000),
        ..MoveRecord::bare(uci)
    };
    GameRecord {
        id: id.to_owned(),
        white: PlayerRecord {
            id: Some("megaton".to_owned()),
            name: "Megaton".to_owned(),
            title: Some("BOT".to_owned()),
            rating: Some(2000),
            rating_diff: Some(5),
            ..PlayerRecord::default()
        },
        black: PlayerRecord {
            id: Some("nuke".to_owned()),
            name: "Nuke".to_owned(),
            rating: Some(1900),
            ..PlayerRecord::default()
        },
        us: Some(Side::White),
        rated: true,
        speed: Speed::Blitz,
        control: TimeControlRecord::Clock {
            initial: 180_000,
            increment: 2000,
        },
        created: Some(began),
        joined: began,
        origin: Origin::Incoming,
        moves: vec![
            own("g1f3", 1000, 180_000, 35),
            theirs("a7a6", 2000),
            own("f3g5", 3000, 150_000, 600),
            theirs("a6a5", 4000),
            own("g5f7", 5000, 140_000, 32_000),
        ],
        ending: Some(EndingRecord {
            status: Status::VariantEnd,
            winner: Some(Side::White),
            at: began + 6000,
        }),
        ..GameRecord::default()
    }
}

#[test]
fn games_are_listed_in_three_forms_and_by_every_filter() {
    let ground = Ground::with_games();
    let table = ground.told(&["games"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4, "{table}");
    assert!(lines[0].starts_with("started"), "{table}");
    assert!(
        lines[1].contains("runs0003") && lines[1].contains("running"),
        "{table}"
    );
    assert!(
        lines[2].contains("lost") && lines[2].contains("2000 -9"),
        "{table}"
    );
    assert!(
        lines[3].starts_with("2026-11-21 13:05  won00001  won"),
        "{table}"
    );
    let json: Value =
        serde_json::from_str(&ground.told(&["games", "--format", "json"])).expect("JSON");
    assert_eq!(json[2]["result"], "win");
    assert_eq!(json[1]["status"], "outoftime");
    assert_eq!(json[0]["ended"], Value::Null);
    assert_eq!(json[2]["url"], "http://127.0.0.1:9/won00001");
    let csv = ground.told(&["games", "--format", "csv", "--oldest", "--limit", "1"]);
    assert!(
        csv.starts_with("id,began,ended,result,us,opponent,"),
        "{csv}"
    );
    assert!(csv.contains("\nwon00001,2026-11-21T13:05:59Z,"), "{csv}");
    for (filter, expected) in [
        (&["--lost-on-time"][..], "lost0002"),
        (&["--opponent", "BLAST"], "lost0002"),
        (&["--result", "win"], "won00001"),
        (&["--result", "running"], "runs0003"),
        (&["--ended", "variantEnd"], "won00001"),
        (&["--until", "2026-11-22"], "won00001"),
        (
            &["--since", "2026-11-22T00:00", "--result", "loss"],
            "lost0002",
        ),
        (
            &[
                "--color",
                "white",
                "--rated",
                "--humans",
                "--speed",
                "blitz",
                "--opening",
                "1. Nf3 a6 2.Ng5 a5 3.Nxf7",
                "--result",
                "win",
            ],
            "won00001",
        ),
    ] {
        let told = ground.told(&[&["games"], filter].concat());
        assert!(
            told.lines().count() == 2 && told.contains(expected),
            "{filter:?}: {told}"
        );
    }
    assert_eq!(ground.told(&["games", "--bots"]), "no such games\n");
    assert_eq!(
        ground.told(&["games", "--bots", "--format", "json"]),
        "[]\n"
    );
    for wrong in [
        &["games", "--since", "yesterday"][..],
        &["games", "--opening", "Nf9"],
        &["games", "--speed", "fast"],
        &["games", "--ended", "badly"],
    ] {
        let ran = ground.run(wrong);
        assert_eq!(ran.status, Some(2), "{wrong:?}");
        assert!(
            ran.stderr.contains(wrong[2]) || ran.stderr.contains("use one of"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn a_game_is_shown_with_board_graphs_and_result() {
    let ground = Ground::with_games();
    let shown = ground.told(&["game", "won00001", "--ascii"]);
    for expected in [
        "won00001  rated blitz 3+2  2026-11-21 13:05  http://127.0.0.1:9/won00001",
        "white  BOT Megaton  2000 +5  (us)",
        "won: a king exploded, 1-0 after 0 min 6 s",
        "8  r  n  b  q  *  *  *  r",
        "score from white's view",
        "winning",
        "Nxf7#",
        "+320.00",
    ] {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
    let part = ground.told(&[
        "game",
        "http://127.0.0.1:9/won00001",
        "--ply",
        "1",
        "--ascii",
    ]);
    assert!(
        part.contains("after half-move 1: rnbqkbnr/pppppppp/8/8/8/5N2/"),
        "{part}"
    );
    let lost = ground.told(&["game", "lost"]);
    assert!(
        lost.contains("lost on time: stream lost (lost: reset by peer, 10.0 s"),
        "{lost}"
    );
    assert!(
        !lost.contains('\u{1b}'),
        "no colours where no terminal is: {lost}"
    );
    let json: Value =
        serde_json::from_str(&ground.told(&["game", "won00001", "--json"])).expect("JSON");
    assert_eq!(json["moves"][4]["san"], "Nxf7#");
    for (arguments, said) in [
        (&["game", "nothere1"][..], "there is no game nothere1"),
        (
            &["game", "won00001", "--ply", "6"],
            "the game has 5 half-moves",
        ),
    ] {
        let ran = ground.run(arguments);
        assert_eq!(ran.status, Some(2));
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
}

#[test]
fn no_export_replaces_the_archive() {
    let ground = Ground::with_games();
    let (archive, link) = (ground.archive(), ground.file("link"));
    std::os::unix::fs::symlink(&archive, &link).expect("a link");
    let games = ground.told(&["games"]);
    for out in [&archive.display().to_string(), &link] {
        let ran = ground.run(&["export", "--out", out]);
        assert_eq!(ran.status, Some(2));
        let why = "this very file is used here: name another";
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
    assert_eq!(ground.told(&["games"]), games);
}

#[test]
fn exported_games_are_imported_once() {
    let ground = Ground::with_games();
    let pgn = ground.file("all.pgn");
    let told = ground.run(&["export", "--out", &pgn, "--lines"]);
    assert!(told.stderr.contains("3 games written"), "{}", told.stderr);
    assert_eq!(
        ground.told(&["export", "--result", "win"]),
        ground.told(&["export", "won00001"])
    );
    // Into the archive that they come from: nothing is new.
    let again = ground.told(&["import", &pgn]);
    assert!(
        again.starts_with("0 games new, 0 completed, 3 already known"),
        "{again}"
    );
    // Into another one, twice.
    let other = Ground::new();
    let ran = other.run(&["import", &pgn]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("--account NAME"), "{}", ran.stderr);
    let dry = other.told(&["import", "--account", "MEGATON", "--dry-run", &pgn]);
    assert!(dry.starts_with("3 games would be new"), "{dry}");
    let data = other.folder.path().join("data");
    assert!(!data.exists(), "neither left anything behind");
    let first = other.told(&["import", "--account", "Megaton", &pgn]);
    assert!(first.starts_with("3 games new"), "{first}");
    let rows = other.told(&["games", "--format", "csv"]);
    let second = other.told(&["import", &pgn]);
    assert!(
        second.starts_with("0 games new, 0 completed, 3 already known"),
        "{second}"
    );
    assert_eq!(other.told(&["games", "--format", "csv"]), rows);
    assert!(
        rows.contains("imported") && rows.contains("won00001"),
        "{rows}"
    );
    let theirs = other.run(&["import", "--account", "somebody", &pgn]);
    assert!(
        theirs.stdout.contains("3 skipped: not played by somebody"),
        "{}",
        theirs.stdout
    );
}

#[test]
fn a_dry_import_counts_a_game_that_occurs_twice_as_a_real_one_does() {
    let ground = Ground::with_games();
    let once = ground.told(&["export"]);
    let pgn = ground.file("twice.pgn");
    fs::write(&pgn, [once.as_str(), "\n", &once].concat()).expect("a file");
    let other = Ground::new();
    let import = ["import", "--account", "Megaton", &pgn];
    let dry = other.told(&[&import[..], &["--dry-run"]].concat());
    let real = other.told(&import);
    assert!(
        real.starts_with("3 games new, 0 completed, 3 already known"),
        "{real}"
    );
    let counts = |told: &str| told.split(", in ").next().map(str::to_owned);
    assert_eq!(counts(&dry.replace("would be ", "")), counts(&real));
}

#[test]
fn a_game_is_exported_by_id_unless_a_filter_excludes_it() {
    let ground = Ground::with_games();
    for filter in [&["--result", "loss"][..], &["--since", "7d"]] {
        let ran = ground.run(&[&["export", "won00001"], filter].concat());
        assert_eq!(ran.status, Some(2), "{filter:?}");
        assert!(
            ran.stderr.contains("ids cannot be combined with filters"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn the_losing_move_that_was_found_stands_in_the_export() {
    let ground = Ground::with_games();
    let review = ReviewRecord {
        game: "won00001".to_owned(),
        at: BEGAN,
        program: "megaton".to_owned(),
        positions: 3,
        mistake: Some(Mistake {
            ply: 2,
            played: "Ng5".to_owned(),
            before: Score::Cp(300),
            after: Score::Cp(-300),
            better: "e3".to_owned(),
            better_uci: "e2e3".to_owned(),
            depth: 20,
            line: vec!["e3".to_owned(), "e6".to_owned()],
            refutation: Vec::new(),
        }),
        given_up: false,
    };
    let mut disk = Database::open(&ground.archive(), BEGAN).expect("an archive");
    disk.keep_review(&review).expect("it is written");
    let all = ground.told(&["export"]).replace('\n', " ");
    assert!(all.contains(" 2. Ng5 $4 {"), "{all}");
    assert!(all.contains(" (2. e3 e6) 2... a5 "), "{all}");
    assert_eq!(all.matches('$').count(), 1, "{all}");
    let bare = ground.told(&["export", "won00001", "--bare"]);
    assert!(bare.contains("2. Ng5 a5"), "{bare}");
}

#[test]
fn pruning_details_warns_where_games_were_imported() {
    let ground = Ground::with_games();
    let pgn = ground.file("all.pgn");
    ground.told(&["export", "--out", &pgn]);
    let other = Ground::new();
    other.keep(&[]);
    let mut disk = Database::open(&other.archive(), BEGAN).expect("an archive");
    let thinned = BEGAN + 9 * DAY;
    disk.set_thinned(0, thinned).expect("it is written");
    other.told(&["import", "--account", "Megaton", &pgn]);
    let thinned = disk.thinned().expect("it is read");
    assert_eq!(thinned, BEGAN - BEGAN % DAY, "as far as nothing came in");
}

#[test]
fn a_game_whose_end_the_bot_missed_is_completed_by_an_import() {
    let seen = Ground::with_games();
    let text = seen.told(&["export", "won00001"]);
    let ground = Ground::new();
    let mut missed = game("won00001", BEGAN);
    missed.moves.truncate(2);
    missed.ending = Some(EndingRecord {
        status: Status::UnknownFinish,
        winner: None,
        at: BEGAN + 6000,
    });
    ground.keep(&[ArchiveEntry::Game(missed.into())]);
    assert!(ground.told(&["games"]).contains("unknownFinish"));
    let file = ground.file("a.pgn");
    fs::write(&file, &text).expect("a file");
    let told = ground.told(&["import", "--account", "Megaton", &file]);
    assert!(told.starts_with("0 games new, 1 completed"), "{told}");
    assert_eq!(
        ground.told(&["games", "--result", "win"]).lines().count(),
        2
    );
    let again = ground.told(&["import", &file]);
    let known = "0 games new, 0 completed, 1 already known";
    assert!(again.starts_with(known), "{again}");
}

#[test]
fn garbage_in_a_pgn_is_named_and_the_rest_is_imported() {
    let ground = Ground::with_games();
    let text = ground.told(&["export", "--result", "win"]);
    let good = text.replace("won00001", "fresh001");
    let bad = text.replace("won00001", "broken02").replace("Ng5", "Ng9");
    let file = ground.file("mixed.pgn");
    fs::write(
        &file,
        format!(
            "{good}\u{0}\u{1b}[2J garbage\n\n{bad}{}",
            text.replace("won00001", "fresh003")
        ),
    )
    .expect("a file");
    let ran = ground.run(&["import", &file]);
    assert_eq!(ran.status, Some(1), "{}", ran.stdout);
    assert!(ran.stdout.starts_with("2 games new"), "{}", ran.stdout);
    assert!(ran.stdout.contains("2 skipped: broken"), "{}", ran.stdout);
    let named = "game broken02: \"Ng9\" among its moves";
    assert!(ran.stderr.contains(named), "{}", ran.stderr);
    assert!(ran.stderr.contains("; half-move 3: "), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("this belongs to no game"),
        "{}",
        ran.stderr
    );
    assert!(ground.told(&["games"]).contains("fresh003"));
    // The same moves under a known id, but for one: what is known stays.
    let other = text
        .replace(" a6 ", " h6 ")
        .replace("1... a6", "1... h6")
        .replace("2... a5", "2... h5");
    fs::write(&file, other).expect("a file");
    let ran = ground.run(&["import", &file]);
    assert!(
        ran.stderr
            .contains(", line 1, game won00001: contradicts the archived game"),
        "{}",
        ran.stderr
    );
}

#[test]
fn games_that_the_archive_refused_are_not_counted_as_imported() {
    let ground = Ground::with_games();
    let text = ground.told(&["export", "--result", "win"]);
    let file = ground.file("refused.pgn");
    // More than one batch.
    let games = (0..300).map(|n| text.replace("won00001", &format!("full{n:04}")));
    fs::write(&file, games.collect::<String>()).expect("a file");
    let archive = Connection::open(ground.archive()).expect("an archive");
    archive
        .execute_batch(
            "CREATE TRIGGER full BEFORE INSERT ON game WHEN new.id = 'full0250'
             BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END",
        )
        .expect("a trigger");
    let ran = ground.run(&["import", &file]);
    assert_ne!(ran.status, Some(0));
    assert!(ran.stderr.contains("disk is full"), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("200 games new"), "{}", ran.stdout);
    let kept: u32 = archive
        .query_row(
            "SELECT count(*) FROM game WHERE id LIKE 'full%'",
            [],
            |it| it.get(0),
        )
        .expect("a count");
    assert_eq!(kept, 200);
}

#[test]
fn statistics_are_printed_as_tables_json_and_csv() {
    let ground = Ground::with_games();
    let table = ground.told(&["stats", "--ascii"]);
    for expected in [
        "2 games, 0 without a result, 1 running",
        "total       2    1      0     1      50.0      -4",
        "1.Nf3 a6 2.Ng5 a5 3.Nxf7#",
        "rating: 2005 on 2026-11-21, 1991 on 2026-11-22",
        "causes of losses: stream lost 1",
        "game stream disconnects",
    ] {
        assert!(table.contains(expected), "{expected}\n{table}");
    }
    let json: Value =
        serde_json::from_str(&ground.told(&["stats", "--format", "json"])).expect("JSON");
    assert_eq!(json["total"]["games"], 2);
    assert_eq!(json["time_losses"][0]["cause"], "stream");
    let csv = ground.told(&["stats", "--by", "opponent", "--format", "csv"]);
    assert!(csv.starts_with("opponent,games,won,drawn,lost,"), "{csv}");
    assert!(
        csv.contains("\nblast,1,0,0,1,0.0,-9,1900,human,0,2026-11-22\n"),
        "{csv}"
    );
    assert_eq!(ground.run(&["stats", "--format", "csv"]).status, Some(2));
}

#[test]
fn a_backup_is_readable_and_old_games_are_pruned_on_command() {
    let ground = Ground::with_games();
    let copy = ground.file("copy.db");
    assert!(ground.told(&["backup", &copy]).contains("copy.db"));
    let ran = ground.run(&["backup", &copy]);
    assert_eq!(ran.status, Some(1));
    assert!(
        ran.stderr.contains("the file exists already"),
        "{}",
        ran.stderr
    );
    let dry = ground.told(&["prune", "--older-than", "2026-11-22", "--dry-run"]);
    assert!(
        dry.starts_with("would delete 1 games from before 2026-11-22 00:00"),
        "{dry}"
    );
    // The one that runs stays, however old it is.
    let dry = ground.told(&["prune", "--older-than", "2027-01-01", "--dry-run"]);
    assert!(
        dry.starts_with("would delete 2 games from before 2027-01-01"),
        "{dry}"
    );
    let details = ["prune", "--older-than", "2027-01-01", "--details"];
    let dry = ground.told(&[&details[..], &["--dry-run"]].concat());
    assert!(
        dry.starts_with("would delete the details of up to 2 games"),
        "{dry}"
    );
    let gone = ground.told(&["prune", "--older-than", "2026-11-23", "--details"]);
    assert_eq!(gone, "deleted the details of 2 games\n");
    assert!(!ground.told(&["game", "won00001"]).contains("score from"));
    let gone = ground.told(&["prune", "--older-than", "2026-11-22", "--yes"]);
    assert!(gone.starts_with("deleted 1 games, 0 challenges"), "{gone}");
    assert!(!ground.told(&["games"]).contains("won00001"));
    let kept = megaton(&["games", "--archive", &copy]);
    assert!(kept.stdout.contains("won00001"), "{}", kept.stdout);
}

#[test]
fn an_unusable_archive_is_named_and_left_alone() {
    let ground = Ground::new();
    let ran = ground.run(&["games"]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("there is no archive"), "{}", ran.stderr);
    let circle = ground.file("circle.db");
    std::os::unix::fs::symlink("circle.db", &circle).expect("a link");
    for command in [
        &["games"][..],
        &["stats"],
        &["import", "/dev/null"],
        &["import", "--dry-run", "--account", "x", "/dev/null"],
    ] {
        let ran = megaton(&[command, &["--archive", &circle]].concat());
        assert_eq!(ran.status, Some(1), "{command:?}: {}", ran.stderr);
        let said = "circle.db: Too many levels of symbolic links";
        assert!(ran.stderr.contains(said), "{command:?}: {}", ran.stderr);
    }
    let file = ground.file("broken.db");
    fs::write(&file, "no database, but somebody's only copy of something").expect("a file");
    for command in [
        &["games"][..],
        &["stats"],
        &["import", "--account", "x", "/dev/null"],
    ] {
        let ran = megaton(&[command, &["--archive", &file]].concat());
        assert_eq!(ran.status, Some(2), "{command:?}");
        assert!(
            ran.stderr
                .contains("broken.db is damaged or not an archive"),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(fs::read_to_string(&file).expect("it is there").len(), 50);
}
