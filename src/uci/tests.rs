//! Whole sessions, and malformed input.

use std::io::{self, BufReader, Read, Write};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use super::run;
use crate::engine::Evaluator;
use crate::engine::nnue::{BucketBy, Layout, Network, SCALE, Shape};

const GUARD: Duration = Duration::from_secs(20);
/// With one thread and with several.
const THREADS: [&str; 2] = ["isready", "setoption name Threads value 3"];

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The whole output for these lines of input.
fn talk(input: &str) -> String {
    let sink = Sink::default();
    run(input.as_bytes(), sink.clone(), Evaluator::default()).unwrap();
    let bytes = sink.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

fn last_line(text: &str) -> &str {
    text.trim_end().lines().last().unwrap_or_default()
}

/// The client of a running session, which writes and reads lines.
struct Talk {
    input: mpsc::Sender<Vec<u8>>,
    output: mpsc::Receiver<String>,
}

struct Incoming(mpsc::Receiver<Vec<u8>>);

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Ok(line) = self.0.recv() else {
            return Ok(0);
        };
        buffer[..line.len()].copy_from_slice(&line);
        Ok(line.len())
    }
}

struct Outgoing(mpsc::Sender<String>, Vec<u8>);

impl Write for Outgoing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.extend_from_slice(bytes);
        while let Some(end) = self.1.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.1.drain(..=end).collect();
            let _ = self
                .0
                .send(String::from_utf8(line).unwrap().trim_end().to_owned());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Talk {
    fn start() -> Talk {
        let (input, lines) = mpsc::channel();
        let (sender, output) = mpsc::channel();
        thread::spawn(move || {
            run(
                BufReader::new(Incoming(lines)),
                Outgoing(sender, Vec::new()),
                Evaluator::default(),
            )
        });
        Talk { input, output }
    }

    fn say(&self, line: &str) {
        self.input.send(format!("{line}\n").into_bytes()).unwrap();
    }

    /// Reads up to a line that starts with this text, and returns that line.
    fn expect(&self, start: &str) -> String {
        loop {
            let line = self.output.recv_timeout(GUARD).expect("an answer in time");
            if line.starts_with(start) {
                return line;
            }
            assert!(
                !line.starts_with("bestmove"),
                "unexpected {line} before {start}"
            );
        }
    }

    /// Asserts that the output so far is these lines.
    fn expect_silence_about(&self, start: &str) {
        thread::sleep(Duration::from_millis(40));
        for line in self.output.try_iter() {
            assert!(!line.starts_with(start), "too early: {line}");
        }
    }
}

#[test]
fn bench_searches_with_the_parameters_that_are_set() {
    let searched = |before: &str| {
        let text = talk(&format!("{before}\nbench 4\n"));
        let mut lines = text.lines();
        let nodes = lines.find(|line| line.starts_with("Nodes searched"));
        nodes.expect("a count of nodes").to_owned()
    };
    let usual = searched("isready");
    assert_eq!(searched("setoption name Hash value 1"), usual, "its own");
    assert_ne!(searched("setoption name rfp_margin value 40"), usual);
}

#[test]
fn an_evaluation_can_be_selected_and_a_bad_choice_keeps_the_old_one() {
    let shape = Shape {
        layout: Layout::Plain,
        hidden: 32,
        buckets: 1,
        bucket_by: BucketBy::Pieces,
        scale: SCALE,
    };
    let net = Network::noise(shape, 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a net.net");
    std::fs::write(&path, net.to_bytes()).unwrap();
    let text = talk(&format!(
        "setoption name EvalFile value classical\neval\n\
         setoption name EvalFile value {}\neval\n\
         setoption name EvalFile value no/such.net\neval\ngo depth 3\n",
        path.display()
    ));
    let said: Vec<&str> = text.lines().collect();
    assert!(said[0].contains("classical"), "{text}");
    assert!(said[1].contains(&net.id()) && said[3] == said[1], "{text}");
    assert!(said[2].starts_with("info string error: cannot read the net no/such.net"));
    assert!(text.contains("bestmove"));
}

#[test]
fn it_introduces_itself_with_its_options() {
    let text = talk("uci\nisready\n");
    for option in [
        "UCI_Variant type combo default atomic var atomic",
        "Hash type spin",
        "Threads type spin default 1 min 1 max 64",
        "Move Overhead type spin default 10",
        "MultiPV type spin default 1",
        "Contempt type spin default 10 min -100 max 100",
        "EvalFile type string default <empty>",
        "Ponder type check",
        "UCI_Chess960 type check",
        "Clear Hash type button",
    ] {
        assert!(text.contains(&format!("option name {option}")), "{option}");
    }
    assert!(text.starts_with("id name Megaton ") && text.contains("\nuciok\n"));
    assert_eq!(last_line(&text), "readyok");
}

#[test]
fn perft_is_divided_and_summed() {
    let text = talk("position startpos\ngo perft 3\n");
    assert!(
        text.contains("e2e4: 438\n") || text.contains("e2e4: "),
        "{text}"
    );
    assert_eq!(text.lines().filter(|line| line.contains(": ")).count(), 21);
    assert_eq!(last_line(&text), "Nodes searched: 8902");
}

#[test]
fn a_finished_game_has_no_moves() {
    for fen in [
        "8/8/8/8/8/8/8/K7 b - - 0 1",
        "4k3/4Q3/8/8/8/8/8/4K3 b - - 1 1",
    ] {
        let text = talk(&format!("position fen {fen}\ngo perft 1\ngo depth 3\n"));
        assert!(text.contains("Nodes searched: 0\n"), "{text}");
        assert!(text.ends_with("\ninfo depth 0 score mate 0 nodes 0\nbestmove (none)\n"));
    }
}

#[test]
fn an_only_move_on_a_clock_has_a_score_too() {
    let text = talk("position fen 8/8/8/8/8/8/5r2/K6k w - - 0 1\ngo wtime 60000 btime 60000\n");
    assert_eq!(last_line(&text), "bestmove a1b1");
    let info = text
        .lines()
        .rfind(|line| line.starts_with("info depth 0 score cp -"));
    assert!(
        info.is_some_and(|line| line.ends_with(" pv a1b1")),
        "{text}"
    );
}

#[test]
fn a_position_is_displayed_for_programs() {
    let text = talk("position startpos moves g1f3 a7a6 f3g5 a6a5\nd\n");
    assert!(text.contains("\nFen: rnbqkbnr/1ppppppp/8/p5N1/8/8/PPPPPPPP/RNBQKB1R w KQkq - 0 3\n"));
    assert!(text.contains("\nCheck: no\nResult: none\nSan: "));
    assert!(text.contains(" g5f7=Nxf7# "));
    let won = talk("position startpos moves g1f3 a7a6 f3g5 a6a5 g5f7\nd\neval\n");
    assert!(
        won.contains("\nResult: white\nSan:\n") && won.contains("Evaluation: none"),
        "{won}"
    );
    let mated = talk("position fen 4k3/4Q3/8/8/8/8/8/4K3 b - - 1 1\nd\n");
    assert!(mated.contains("\nCheck: yes\nResult: white\n"));
}

#[test]
fn a_refused_position_leaves_the_old_one_but_is_not_searched() {
    let before = "position startpos moves e2e4\n";
    for bad in [
        "position fen 8/8/8/8/8/8/8/8 w - - 0 1",
        "position fen nonsense",
        "position fen",
        "position startpos moves e2e4 e2e4",
        "position",
    ] {
        let text = talk(&format!("{before}{bad}\nd\n"));
        assert!(text.contains("info string error: "), "{bad}: {text}");
        assert!(
            text.contains("\nFen: rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b"),
            "{bad}"
        );
        // An answer would pass for one about the position that was refused. That is no command at all.
        let text = talk(&format!("{before}{bad}\ngo depth 1\n"));
        let is_searched = last_line(&text) != "bestmove (none)";
        assert_eq!(is_searched, bad == "position", "{bad}: {text}");
        let text = talk(&format!("{bad}\n{before}go depth 1\n"));
        assert_ne!(last_line(&text), "bestmove (none)", "{bad}: {text}");
    }
}

#[test]
fn an_infinite_search_of_a_refused_position_is_answered_at_its_end() {
    for (go, end) in [("go infinite", "stop"), ("go ponder wtime 1", "ponderhit")] {
        let text = talk(&format!("position fen nonsense\n{go}\nd\n{end}\nuci\n"));
        let at = |start| {
            text.find(start)
                .unwrap_or_else(|| panic!("{start}: {text}"))
        };
        assert!(at("\nFen: ") < at("\nbestmove (none)"), "{text}");
        assert!(at("\nbestmove (none)") < at("\nuciok"), "{text}");
        assert_eq!(text.matches("bestmove").count(), 1, "{text}");
    }
}

#[test]
fn castling_is_read_in_both_spellings_and_written_as_asked() {
    let fen = "position fen r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1 moves";
    for spelling in ["e1g1", "e1h1"] {
        let text = talk(&format!("{fen} {spelling}\nd\n"));
        assert!(
            text.contains("\nFen: r3k2r/8/8/8/8/8/8/R4RK1 b kq - 1 1\n"),
            "{spelling}"
        );
    }
    let standard = talk(&format!("{fen}\ngo depth 2 searchmoves e1h1\n"));
    assert!(
        last_line(&standard).starts_with("bestmove e1g1"),
        "{standard}"
    );
    let other = talk(&format!(
        "setoption name UCI_Chess960 value true\n{fen}\ngo depth 2 searchmoves e1g1\n"
    ));
    assert!(last_line(&other).starts_with("bestmove e1h1"), "{other}");
}

#[test]
fn every_limit_ends_with_a_best_move() {
    for go in [
        "go depth 3",
        "go nodes 500",
        "go movetime 20",
        "go wtime 100 btime 100",
        "go wtime 0 btime 0 winc 0 binc 0",
        "go wtime -20 btime -20",
        "go wtime 1000 btime 1000 winc 10 binc 10 movestogo 1",
        "go mate 1 depth 4",
        "go searchmoves a2a3 depth 2",
        "go searchmoves z9z9 depth 2",
    ] {
        for threads in THREADS {
            let text = talk(&format!("{threads}\nposition startpos\n{go}\n"));
            assert!(last_line(&text).starts_with("bestmove "), "{go}: {text}");
            assert!(
                !text.contains("(none)") && !text.contains("option"),
                "{go}: {text}"
            );
        }
    }
}

#[test]
fn an_info_line_has_every_field() {
    let text = talk("go depth 3\n");
    let line = text
        .lines()
        .rfind(|line| line.starts_with("info depth 3 "))
        .unwrap();
    for field in [
        "seldepth",
        "multipv 1",
        "score cp",
        "nodes",
        "nps",
        "hashfull",
        "time",
        "pv",
    ] {
        assert!(line.contains(&format!(" {field} ")), "{field} in {line}");
    }
}

#[test]
fn isready_is_answered_during_a_search() {
    let talk = Talk::start();
    talk.say("position startpos");
    talk.say("go infinite");
    talk.say("isready");
    talk.expect("readyok");
    talk.expect_silence_about("bestmove");
    talk.say("stop");
    talk.expect("bestmove ");
    talk.say("quit");
}

#[test]
fn an_infinite_search_runs_on_no_clock() {
    let talk = Talk::start();
    talk.say("position startpos");
    talk.say("go infinite wtime 1 btime 1");
    talk.expect("info depth 8 ");
    talk.say("stop");
    talk.expect("bestmove ");
}

#[test]
fn pondering_answers_after_the_hit_only() {
    for threads in THREADS {
        let talk = Talk::start();
        talk.say(threads);
        talk.say("position startpos moves e2e4");
        // The second search is done long before it may report.
        for go in ["go ponder wtime 50 btime 50", "go ponder depth 2"] {
            talk.say(go);
            talk.expect_silence_about("bestmove");
            talk.say("ponderhit");
            talk.expect("bestmove ");
        }
        talk.say("go ponder wtime 50 btime 50");
        talk.say("stop");
        talk.expect("bestmove ");
    }
}

#[test]
fn a_search_without_an_end_is_stopped_by_the_end_of_the_input() {
    for go in [
        "go ponder wtime 900000 btime 900000",
        "go ponder\nponderhit",
        "go infinite",
        "go",
    ] {
        let text = talk(&format!("position startpos\n{go}\n"));
        assert!(last_line(&text).starts_with("bestmove "), "{go}: {text}");
    }
}

#[test]
fn a_limited_search_finishes_before_the_next_command_that_needs_the_engine() {
    for next in [
        "go depth 2",
        "setoption name Hash value 8",
        "ucinewgame",
        "go perft 1",
    ] {
        let text = talk(&format!("position startpos\ngo depth 9\n{next}\n"));
        let depth = text.find("\ninfo depth 9 ").expect(next);
        assert!(text[depth..].contains("\nbestmove "), "{next}: {text}");
    }
}

#[test]
fn go_mate_ends_with_the_length_of_the_mate() {
    let position = "position fen rnb1k1nr/pp1pppbp/1qp5/6p1/8/PP1P3P/1BPKPPP1/RNQ2BNR b kq - 2 7";
    for threads in THREADS {
        let text = talk(&format!("{threads}\n{position}\ngo mate 2\n"));
        assert!(text.contains(" score mate 2 "), "{text}");
        assert!(last_line(&text).starts_with("bestmove "), "{text}");
    }
}

/// The tables know longer ways to the next capture or pawn move, after which they see a win.
#[test]
fn go_mate_finds_mates_that_the_tables_do_not_need() {
    for (fen, moves) in [
        ("8/2P2k2/8/2K3Q1/8/8/8/8 w - - 0 1", 2),
        ("8/4P3/5k2/6R1/K7/8/8/8 w - - 0 1", 3),
    ] {
        let text = talk(&format!("position fen {fen}\ngo mate {moves}\n"));
        assert!(text.contains(&format!(" score mate {moves} ")), "{text}");
    }
}

#[test]
fn several_lines_are_shown_where_the_tables_prefer_one() {
    for fen in [
        "8/7r/8/6K1/8/k4P2/8/8 b - - 0 1",
        "8/1Q6/8/8/8/8/K1p5/3k4 b - - 0 1",
    ] {
        let text = talk(&format!(
            "setoption name MultiPV value 4\nposition fen {fen}\ngo depth 4\n"
        ));
        let ranks = |line: &&str| line.starts_with("info depth 4 ");
        let lines: Vec<&str> = text.lines().filter(ranks).collect();
        assert_eq!(lines.len(), 4, "{text}");
        let first = lines[0].split(" pv ").nth(1).unwrap();
        let first = first.split(' ').next().unwrap();
        assert!(last_line(&text).starts_with(&format!("bestmove {first}")));
        // Once more with one line: the first of several is the move of the tables.
        let alone = talk(&format!("position fen {fen}\ngo depth 4\n"));
        let score = |text: &str| {
            text.split(" score ")
                .nth(1)
                .map(|it| it.split(" nodes").next().unwrap().to_owned())
        };
        let told = |text: &str| {
            text.lines()
                .rfind(|line| line.contains(" multipv 1 "))
                .and_then(score)
        };
        assert_eq!(told(&text), told(&alone), "{text}\n{alone}");
    }
}

#[test]
fn the_last_line_before_the_move_begins_with_it() {
    for fen in [
        "8/7r/8/6K1/8/k4P2/8/8 w - - 0 80",
        "rnbqkbnr/p1p1p1pp/1p1p1p2/8/PP1P4/5N2/2P1PPPP/RNBQKB1R b KQkq - 0 1",
    ] {
        for nodes in (1000..20_000).step_by(1900) {
            let text = talk(&format!(
                "setoption name BuiltInTables value false\nposition fen {fen}\ngo nodes {nodes}\n"
            ));
            let best = last_line(&text).split(' ').nth(1).unwrap().to_owned();
            let told = text
                .lines()
                .rfind(|line| line.starts_with("info depth"))
                .unwrap();
            assert!(told.contains(&format!(" pv {best}")), "{nodes}: {text}");
        }
    }
}

#[test]
fn a_last_score_that_is_only_a_bound_is_told_as_one() {
    // An iteration finds another best move, and the node limit ends its second search.
    let fen = "4k3/2np4/8/4P3/2r5/8/8/K7 b - - 0 1";
    let mut bounds = 0;
    for nodes in (2000..6000).step_by(100) {
        let text = talk(&format!("position fen {fen}\ngo nodes {nodes}\n"));
        let told = text
            .lines()
            .rfind(|line| line.starts_with("info depth"))
            .unwrap();
        let (_, line) = told.split_once(" pv ").unwrap();
        if told.contains(" cp ") && !line.contains(' ') {
            assert!(told.contains(" lowerbound "), "{nodes}: {text}");
            bounds += 1;
        }
    }
    assert!(bounds > 0, "no search ended on a bound");
}

#[test]
fn a_bound_is_told_with_the_depth_of_its_own_iteration() {
    let text = talk("position startpos\ngo movetime 3000\n");
    let mut finished = 0;
    for line in text.lines().filter(|line| line.starts_with("info depth")) {
        let depth: u32 = line.split(' ').nth(2).unwrap().parse().unwrap();
        if line.contains("bound") {
            assert!(depth > finished, "{text}");
        } else {
            finished = depth;
        }
    }
}

#[test]
fn on_a_finished_position_too_only_stop_ends_an_endless_search() {
    for (go, end) in [
        ("go infinite", "stop"),
        ("go ponder wtime 60000 btime 60000", "stop"),
        ("go ponder wtime 60000 btime 60000", "ponderhit"),
    ] {
        let talk = Talk::start();
        talk.say("position fen 4k3/4Q3/8/8/8/8/8/4K3 b - - 1 1");
        talk.say(go);
        talk.expect_silence_about("bestmove");
        talk.say(end);
        talk.expect("bestmove (none)");
    }
}

/// A writer whose reader leaves after some lines.
struct Leaving(usize);

impl Write for Leaving {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_search_ends_when_the_input_has_ended_and_no_one_reads_its_lines() {
    for go in ["go mate 9", "go depth 99", "go movetime 3600000"] {
        let (done, waiting) = mpsc::channel();
        thread::spawn(move || {
            let input = format!("position startpos\n{go}\n");
            let _ = run(input.as_bytes(), Leaving(9), Evaluator::default());
            let _ = done.send(());
        });
        assert_eq!(waiting.recv_timeout(GUARD), Ok(()), "{go}");
    }
}

#[test]
fn several_lines_and_chosen_moves_go_with_any_number_of_threads() {
    for threads in THREADS {
        let text = talk(&format!(
            "{threads}\nsetoption name MultiPV value 3\nposition startpos\n\
             go depth 5 searchmoves a2a3 h2h3\n"
        ));
        let lines = text
            .lines()
            .filter(|line| line.starts_with("info depth 5 "));
        let ranks: Vec<bool> = lines.map(|line| line.contains(" multipv 1 ")).collect();
        assert_eq!(ranks, [true, false], "two moves are two lines: {text}");
        assert!(
            ["bestmove a2a3", "bestmove h2h3"]
                .iter()
                .any(|best| last_line(&text).starts_with(best)),
            "{text}"
        );
    }
}

#[test]
fn threads_and_memory_can_be_changed_and_cleared_between_searches() {
    let talk = Talk::start();
    for line in [
        "setoption name Threads value 3",
        "setoption name Hash value 64",
        "setoption name Clear Hash",
        "ucinewgame",
        "setoption name Threads value 64",
        "setoption name Threads value 1",
    ] {
        talk.say("go infinite");
        talk.say(line);
        talk.expect("bestmove ");
        talk.say("isready");
        talk.expect("readyok");
    }
    talk.say("setoption name Threads value 65");
    talk.expect("info string error: Threads takes a number from 1 to 64");
}

#[test]
fn each_go_gets_its_own_best_move_in_order() {
    let talk = Talk::start();
    talk.say("go infinite");
    talk.say("go infinite");
    talk.expect("bestmove ");
    talk.say("setoption name Hash value 2");
    talk.expect("bestmove ");
    talk.say("go depth 2");
    talk.expect("bestmove ");
}

#[test]
fn unknown_options_and_bad_values_are_harmless() {
    let text = talk(
        "setoption name Nonsense value 3\nsetoption name Hash value -1\nsetoption name Hash\n\
         setoption\nsetoption name UCI_Variant value atomic\nsetoption name Threads value 1\n\
         setoption name Clear Hash\nsetoption name MultiPV value 2\nucinewgame\ngo depth 2\n",
    );
    assert_eq!(text.matches("info string error: ").count(), 4, "{text}");
    assert!(text.contains(" multipv 2 ") && last_line(&text).starts_with("bestmove "));
}

#[test]
fn garbage_input_is_ignored() {
    let mut random = fastrand::Rng::with_seed(3);
    let words = [
        "position",
        "fen",
        "startpos",
        "moves",
        "e2e4",
        "e7e8q",
        "setoption",
        "name",
        "value",
        "d",
        "eval",
        "stop",
        "ponderhit",
        "-1",
        "99999999999999999999",
        "\u{fffd}",
        "\0",
        "uci",
        "debug",
        "register",
        "8/8/8/8/8/8/8/8",
        "w",
        "KQkq",
        "isready",
        "ucinewgame",
        "MultiPV",
        "go nodes 9",
    ];
    let mut input = Vec::new();
    for _ in 0..400 {
        for _ in 0..random.usize(..6) {
            input.extend_from_slice(words[random.usize(..words.len())].as_bytes());
            input.push(b' ');
        }
        input.extend((0..random.usize(..4)).map(|_| random.u8(..)));
        input.push(b'\n');
    }
    input.extend_from_slice(b"isready");
    let sink = Sink::default();
    run(&input[..], sink.clone(), Evaluator::default()).unwrap();
    let text = String::from_utf8_lossy(&sink.0.lock().unwrap()).into_owned();
    assert_eq!(last_line(&text), "readyok");
}

#[test]
fn unreadable_tables_are_named_and_the_engine_continues() {
    let folder = tempfile::tempdir().unwrap();
    let text = talk(&format!(
        "uci\nsetoption name SyzygyPath value /no/such/tables\n\
         setoption name SyzygyPath value {}\n\
         setoption name SyzygyProbeLimit value 9\n\
         setoption name Syzygy50MoveRule value maybe\n\
         setoption name SyzygyProbeDepth value 3\n\
         setoption name SyzygyPath value <empty>\ngo depth 3\n",
        folder.path().display()
    ));
    for line in [
        "option name BuiltInTables type check default true",
        "option name SyzygyPath type string default <empty>",
        "option name SyzygyProbeDepth type spin default 1 min 1 max 100",
        "option name SyzygyProbeLimit type spin default 7 min 0 max 7",
        "option name Syzygy50MoveRule type check default true",
        "info string error: SyzygyPath: /no/such/tables: ",
        "no atomic tables",
        "info string error: SyzygyProbeLimit takes a number from 0 to 7",
        "info string error: Syzygy50MoveRule is true or false",
        "info string tables: none",
        " tbhits 0 ",
        "bestmove",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn a_book_answers_at_once_only_if_it_is_switched_on_and_never_in_an_analysis() {
    let searched = talk("go depth 3\n");
    assert!(searched.contains("info depth"), "{searched}");
    let known = talk("setoption name OwnBook value true\ngo depth 3\n");
    assert!(known.starts_with("bestmove g1"), "{known}");
    let analysed = talk("setoption name OwnBook value true\ngo depth 3 searchmoves a2a3\n");
    assert!(analysed.contains("bestmove a2a3"), "{analysed}");
    let wrong = talk("setoption name BookFile value no/such.bin\nquit\n");
    assert!(wrong.contains("error: BookFile: no/such.bin"), "{wrong}");
}
