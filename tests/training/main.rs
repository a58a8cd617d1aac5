//! Games for training and samples of them, by the commands that a user types: the same bytes
//! whatever the threads and the cuts, no flaw unseen, and a clear word when there is no room.

#[cfg(feature = "train")]
mod train;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use megaton::engine::Evaluator;
use megaton::training::read_samples;
use rustix::process::{Pid, Signal, kill_process};

/// How long a test waits before it says that something hangs.
const GUARD: Duration = Duration::from_secs(60);

/// What a run said and whether it went well.
struct Ran {
    is_fine: bool,
    stdout: String,
    stderr: String,
}

fn run(command: &mut Command) -> Ran {
    let output = command
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert!(!stderr.contains("panicked"), "{stderr}");
    Ran {
        is_fine: output.status.success(),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr,
    }
}

fn megaton(arguments: &[&dyn AsRef<OsStr>]) -> Ran {
    run(Command::new(env!("CARGO_BIN_EXE_megaton")).args(arguments))
}

/// Six short games in three files.
fn datagen(folder: &Path, threads: &str) -> Ran {
    let ran = megaton(&[
        &"datagen",
        &"--out",
        &folder,
        &"--eval-file=classical",
        &"--nodes=30",
        &"--games=6",
        &"--shard-games=2",
        &"--threads",
        &threads,
    ]);
    assert!(ran.is_fine, "{}", ran.stderr);
    ran
}

/// Runs `datagen` with these options.
fn datagen_with(folder: &Path, options: &str) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_megaton"));
    command.arg("datagen").args(options.split(' '));
    run(command.arg("--out").arg(folder))
}

/// The names of all files in a folder, in order.
fn names(folder: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<OsString> = entries
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    names
}

/// The files of games in a folder, in order.
fn shards(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found: Vec<(PathBuf, Vec<u8>)> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "games"))
        .map(|path| (path.clone(), fs::read(path).expect("a file")))
        .collect();
    found.sort();
    found
}

fn bytes(folder: &Path) -> Vec<Vec<u8>> {
    shards(folder).into_iter().map(|(_, bytes)| bytes).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes_with_any_threads_and_stops() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, three) = (folder.path().join("one"), folder.path().join("three"));
    datagen(&one, "1");
    datagen(&three, "3");
    let whole = bytes(&one);
    assert_eq!(whole.len(), 3);
    assert_eq!(whole, bytes(&three));
    let (cut, length) = (shards(&one)[1].0.clone(), whole[1].len());
    for end in [0, 17, 32, 33, length / 2, length - 1] {
        fs::write(&cut, &whole[1][..end]).expect("a file");
        datagen(&one, "2");
        assert_eq!(bytes(&one), whole, "cut at {end}");
    }
    assert!(datagen(&one, "1").stdout.starts_with("0 games (6 existing"));
}

#[test]
fn a_killed_run_resumes_to_the_same_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let (whole, killed) = (folder.path().join("whole"), folder.path().join("killed"));
    let make = |out: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_megaton"));
        let settings = "--eval-file=classical --nodes=30 --games=24 --shard-games=6 --threads=2";
        command.arg("datagen").args(settings.split(' '));
        command.arg("--out").arg(out);
        command
    };
    let ran = run(&mut make(&whole));
    assert!(ran.is_fine, "{}", ran.stderr);
    let whole = bytes(&whole);
    let size = |files: &[Vec<u8>]| files.iter().map(Vec::len).sum::<usize>();
    fs::create_dir(&killed).expect("a folder");
    for part in 1..4 {
        let mut child = make(&killed)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let begun = Instant::now();
        while size(&bytes(&killed)) < part * size(&whole) / 4 {
            assert!(begun.elapsed() < GUARD, "no games");
            thread::sleep(Duration::from_millis(1));
        }
        child.kill().expect("our child");
        child.wait().expect("our child");
    }
    let ran = run(&mut make(&killed));
    assert!(ran.is_fine, "{}", ran.stderr);
    assert_eq!(bytes(&killed), whole);
}

#[test]
fn a_folder_with_games_of_another_evaluator_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    datagen(folder.path(), "1");
    let before = bytes(folder.path());
    let ran = megaton(&[
        &"datagen",
        &"--out",
        &folder.path(),
        &"--nodes=30",
        &"--games=8",
        &"--shard-games=2",
    ]);
    assert!(!ran.is_fine, "{}", ran.stdout);
    for id in [Evaluator::classical().id(), Evaluator::default().id()] {
        assert!(ran.stderr.contains(&id), "{}", ran.stderr);
    }
    assert_eq!(bytes(folder.path()), before);
}

#[test]
fn another_number_of_games_a_file_is_refused_with_the_right_one() {
    let folder = tempfile::tempdir().expect("a folder");
    datagen(folder.path(), "1");
    let whole = bytes(folder.path());
    let with = |size: u32, seed: u32| {
        let choice = format!("--games=6 --shard-games={size} --seed={seed}");
        datagen_with(
            folder.path(),
            &format!("--eval-file=classical --nodes=30 {choice}"),
        )
    };
    let refuse = |size: u32| {
        let before = bytes(folder.path());
        let ran = with(size, 1);
        assert!(!ran.is_fine, "{size}: {}", ran.stdout);
        let remedy = "use --shard-games 2, or another folder";
        assert!(ran.stderr.contains(remedy), "{size}: {}", ran.stderr);
        assert_eq!(bytes(folder.path()), before, "{size}");
    };
    for size in [1, 3, 2000] {
        refuse(size);
    }
    for (path, _) in &shards(folder.path())[1..] {
        fs::remove_file(path).expect("a file");
    }
    refuse(1);
    datagen(folder.path(), "2");
    assert_eq!(bytes(folder.path()), whole);
    let other_games = with(3, 2);
    assert!(other_games.is_fine, "{}", other_games.stderr);
}

#[test]
fn a_refused_node_limit_leaves_the_folder_to_the_right_one() {
    let folder = tempfile::tempdir().expect("a folder");
    datagen(folder.path(), "1");
    let whole = bytes(folder.path());
    // The first file was broken, and the folder is too old to name its evaluator.
    fs::remove_file(&shards(folder.path())[0].0).expect("a file");
    fs::remove_file(folder.path().join("evaluator")).expect("a file");
    let before = names(folder.path());
    let options = "--eval-file=classical --nodes=31 --games=6 --shard-games=2 --threads=1";
    let refused = datagen_with(folder.path(), options);
    assert!(!refused.is_fine, "{}", refused.stdout);
    let reason = "30 nodes a move, now 31";
    assert!(refused.stderr.contains(reason), "{}", refused.stderr);
    assert_eq!(names(folder.path()), before);
    datagen(folder.path(), "1");
    assert_eq!(bytes(folder.path()), whole);
}

/// A run that does not outlive its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_second_signal_ends_a_game_of_hours() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = "--eval-file=classical --nodes=10000000 --games=1 --threads=1";
    let mut command = Command::new(env!("CARGO_BIN_EXE_megaton"));
    command.arg("datagen").args(options.split(' '));
    let child = command
        .arg("--out")
        .arg(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut running = Running(child.expect("the program starts"));
    let begun = Instant::now();
    while !bytes(folder.path()).iter().any(|file| file.len() >= 32) {
        assert!(begun.elapsed() < GUARD, "no file of games");
        thread::sleep(Duration::from_millis(1));
    }
    // Two of one kind may arrive as one.
    for signal in [Signal::INT, Signal::TERM] {
        kill_process(Pid::from_child(&running.0), signal).expect("it runs");
    }
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = running.0.try_wait().expect("our child") {
            break status;
        }
        assert!(begun.elapsed() < GUARD, "the second signal does nothing");
        thread::sleep(Duration::from_millis(1));
    };
    let mut stderr = String::new();
    let mut pipe = running.0.stderr.take().expect("a pipe");
    pipe.read_to_string(&mut stderr).expect("text");
    // Without an exit status there was a signal that nobody listened to.
    assert!(status.code().is_some(), "{status}: {stderr}");
    assert!(
        status.success() || stderr.contains("the same command continues"),
        "{status}: {stderr}"
    );
}

#[test]
fn the_first_signal_says_what_the_run_waits_for_and_how_to_leave_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_megaton"));
    command.args(["datagen", "--eval-file=classical", "--nodes=30"]);
    let child = command
        .arg("--out")
        .arg(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut running = Running(child.expect("the program starts"));
    let begun = Instant::now();
    while !bytes(folder.path()).iter().any(|file| file.len() > 32) {
        assert!(begun.elapsed() < GUARD, "no game");
        thread::sleep(Duration::from_millis(1));
    }
    kill_process(Pid::from_child(&running.0), Signal::INT).expect("it runs");
    let mut stderr = String::new();
    let mut pipe = running.0.stderr.take().expect("a pipe");
    pipe.read_to_string(&mut stderr).expect("text");
    assert!(running.0.wait().expect("our child").success(), "{stderr}");
    assert!(stderr.contains("again leaves at once"), "{stderr}");
}

#[test]
fn verify_finds_a_changed_byte_and_says_where() {
    let folder = tempfile::tempdir().expect("a folder");
    datagen(folder.path(), "2");
    let verify = || megaton(&[&"data", &"verify", &folder.path()]);
    let sound = verify();
    assert!(sound.stdout.starts_with("6 games"), "{}", sound.stdout);
    let (path, whole) = shards(folder.path()).remove(1);
    for place in [9, 25, 30, 32, 33, 34, 40, whole.len() / 2, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[place] ^= 4;
        fs::write(&path, &changed).expect("a file");
        let ran = verify();
        assert!(!ran.is_fine, "byte {place} changed: {}", ran.stdout);
        let name = path.display().to_string();
        assert!(ran.stderr.contains(&name), "{}", ran.stderr);
        assert!(ran.stderr.contains("byte"), "{}", ran.stderr);
    }
}

#[test]
fn samples_match_the_statistics_and_are_reproducible() {
    let folder = tempfile::tempdir().expect("a folder");
    datagen(folder.path(), "2");
    let shuffle = |name: &str, more: &str| {
        let out = folder.path().join(name);
        let half = "--validation=50";
        let ran = megaton(&[
            &"data",
            &"shuffle",
            &folder.path(),
            &"--out",
            &out,
            &half,
            &more,
        ]);
        assert!(ran.is_fine, "{}", ran.stderr);
        (read_samples(&out).expect("samples"), ran.stdout)
    };
    let (once, told) = shuffle("once.samples", "--seed=4");
    let (all, _) = shuffle("all.samples", "--keep-duplicates");
    // No games are replaced by their samples.
    let (shard, before) = shards(folder.path()).swap_remove(0);
    let ran = megaton(&[&"data", &"shuffle", &folder.path(), &"--out", &shard]);
    assert!(!ran.is_fine && ran.stderr.contains("name another"));
    assert_eq!(fs::read(&shard).expect("games"), before);
    assert!(told.starts_with(&format!("{} samples", once.len())));
    assert_eq!(once, shuffle("again.samples", "--seed=4").0);
    let stats = megaton(&[&"data", &"stats", &folder.path()]).stdout;
    let usable = format!("usable       {} (", all.len());
    let before = format!("{} of them are duplicates", all.len() - once.len());
    assert!(
        stats.contains(&usable) && stats.contains(&before),
        "{stats}"
    );
    assert!(once.windows(2).any(|pair| pair[0].ply() > pair[1].ply()));
    assert!(once.iter().all(|sample| sample.score().abs() <= 2500));
}

#[test]
fn packed_games_serve_every_command_like_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let (plain, packed) = (folder.path().join("plain"), folder.path().join("packed"));
    datagen(&plain, "2");
    let pack = || megaton(&[&"data", &"pack", &plain, &"--out", &packed]);
    let told = pack();
    let expected = "3 files packed (0 already), 6 games";
    assert!(
        told.stdout.starts_with(expected),
        "{}{}",
        told.stdout,
        told.stderr
    );
    assert!(pack().stdout.starts_with("0 files packed (3 already)"));
    let size = |folder: &Path| bytes(folder).iter().map(Vec::len).sum::<usize>();
    assert!(size(&packed) < size(&plain));
    let both = |command: &dyn Fn(&Path) -> Vec<u8>| {
        assert_eq!(command(&plain), command(&packed));
    };
    both(&|from| {
        let ran = megaton(&[&"data", &"verify", &from]);
        assert!(ran.is_fine, "{}", ran.stderr);
        ran.stdout.into_bytes()
    });
    both(&|from| {
        let stats = megaton(&[&"data", &"stats", &from]).stdout;
        let of_games = |line: &&str| !line.starts_with("files") && !line.starts_with("plies");
        let lines: Vec<&str> = stats.lines().filter(of_games).collect();
        assert!(lines.len() > 3, "{stats}");
        lines.join("\n").into_bytes()
    });
    both(&|from| {
        let out = folder.path().join("some.samples");
        let ran = megaton(&[&"data", &"shuffle", &from, &"--out", &out, &"--memory=64"]);
        assert!(ran.is_fine, "{}", ran.stderr);
        fs::read(&out).expect("samples")
    });
    let kept = bytes(&packed);
    assert!(
        datagen(&packed, "2")
            .stdout
            .starts_with("0 games (6 existing")
    );
    assert_eq!(bytes(&packed), kept);
    let (path, whole) = shards(&packed).remove(1);
    fs::write(&path, &whole[..whole.len() - 1]).expect("a file");
    for command in [["data", "verify"], ["data", "stats"]] {
        let ran = megaton(&[&command[0], &command[1], &packed]);
        assert!(!ran.is_fine, "{}", ran.stdout);
        let name = path.display().to_string();
        assert!(ran.stderr.contains(&name), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("pack its games again"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn games_from_endings_and_positions_serve_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let (games, list) = (folder.path().join("games"), folder.path().join("some.epd"));
    let positions = "# castling and en passant\n\
                     r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 9\n\
                     4k3/pp4pp/8/8/2pP4/8/PP4PP/4K3 b KQkq d3; id \"one\";\n";
    fs::write(&list, positions).expect("a file");
    let generate = |starts: &str, more: &str| {
        let common = "datagen --eval-file=classical --nodes=30 --games=12 --shard-games=4";
        let mut command = Command::new(env!("CARGO_BIN_EXE_megaton"));
        command.args(common.split(' ')).arg("--out").arg(&games);
        let starts = format!("--starts={}={starts}", list.display());
        run(command.arg(starts).arg(more))
    };
    let made = generate("0.5", "--endings=0.4");
    assert!(made.is_fine, "{}", made.stderr);
    let (whole, (cut, _)) = (bytes(&games), shards(&games).remove(2));
    assert!(
        whole
            .iter()
            .any(|bytes| bytes.windows(6).any(|some| some == b"KQkq -"))
    );
    fs::write(&cut, &whole[2][..whole[2].len() / 2]).expect("a file");
    assert!(generate("0.5", "--endings=0.4").is_fine);
    assert_eq!(bytes(&games), whole);
    let refused = generate("0.5", "--endings=0.3");
    assert!(refused.stderr.contains("0.4 endings"), "{}", refused.stderr);
    let too_many = generate("0.8", "--endings=0.3");
    assert!(
        too_many.stderr.contains("1 is the most"),
        "{}",
        too_many.stderr
    );
    let packed = folder.path().join("packed");
    assert!(megaton(&[&"data", &"pack", &games, &"--out", &packed]).is_fine);
    let mut samples = Vec::new();
    for from in [&games, &packed] {
        let verified = megaton(&[&"data", &"verify", from]);
        assert!(
            verified.stdout.starts_with("12 games"),
            "{}",
            verified.stderr
        );
        let out = folder.path().join("some.samples");
        assert!(megaton(&[&"data", &"shuffle", from, &"--out", &out]).is_fine);
        samples.push(fs::read(&out).expect("samples"));
    }
    assert_eq!(samples[0], samples[1]);
    fs::write(&list, "8/8/8/8/8/8/8/K6k w - - 0 1\nnonsense\n").expect("a file");
    let wrong = generate("0.1", "--endings=0").stderr;
    assert!(
        wrong.contains("some.epd") && wrong.contains("line"),
        "{wrong}"
    );
}

#[test]
fn an_impossible_folder_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "in the way").expect("a file");
    let ran = megaton(&[&"datagen", &"--games=1", &"--out", &file.join("games")]);
    assert!(!ran.is_fine);
    assert!(
        ran.stderr.contains("file/games: cannot be made"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_full_disk_is_reported_and_written_games_stay_valid() {
    let folder = tempfile::tempdir().expect("a folder");
    // A limit on the size of files stands for the disk.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" datagen --out \"$1\" \
                  --eval-file classical --nodes 30 --games 40 --threads 1";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_megaton")]);
    let ran = run(shell.arg(folder.path()));
    assert!(!ran.is_fine);
    assert!(ran.stderr.contains("cannot be written"), "{}", ran.stderr);
    let verified = megaton(&[&"data", &"verify", &folder.path()]);
    assert!(verified.is_fine, "{}", verified.stderr);
    assert!(
        verified.stdout.contains("0 bytes of truncated tails"),
        "{}",
        verified.stdout
    );
}

#[test]
fn a_disk_that_is_full_at_the_beginning_of_a_file_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    datagen(folder.path(), "1");
    let before = names(folder.path());
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" datagen --out \"$1\" \
                  --eval-file classical --nodes 30 --games 8 --shard-games 2 --threads 1";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_megaton")]);
    let ran = run(shell.arg(folder.path()));
    assert!(!ran.is_fine);
    assert!(ran.stderr.contains("cannot be written"), "{}", ran.stderr);
    assert_eq!(names(folder.path()), before);
    let verified = megaton(&[&"data", &"verify", &folder.path()]);
    assert!(
        verified.stdout.starts_with("6 games"),
        "{}",
        verified.stderr
    );
}

#[test]
fn a_kill_at_the_beginning_of_a_file_leaves_none_that_is_refused_and_the_next_run_continues() {
    let folder = tempfile::tempdir().expect("a folder");
    datagen(folder.path(), "1");
    let before = names(folder.path());
    let options = "--eval-file classical --nodes 30 --games 8 --shard-games 2 --threads 1";
    // The signal of the limit kills at the first byte of the fourth file.
    let script = format!("ulimit -f 0; exec \"$0\" datagen --out \"$1\" {options}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_megaton")]);
    let status = shell.arg(folder.path()).status().expect("the shell starts");
    assert_eq!(status.code(), None, "killed");
    let verified = megaton(&[&"data", &"verify", &folder.path()]);
    assert!(
        verified.stdout.starts_with("6 games"),
        "{}",
        verified.stderr
    );
    let mut resume = Command::new(env!("CARGO_BIN_EXE_megaton"));
    resume.args(["datagen", "--out"]).arg(folder.path());
    let resumed = run(resume.args(options.split(' ')));
    assert!(
        resumed.stdout.starts_with("2 games (6 existing)"),
        "{}",
        resumed.stdout
    );
    assert_eq!(names(folder.path()).len(), before.len() + 1);
}
