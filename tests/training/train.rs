//! The loop of docs/training.md by its five commands, small: games, samples, a net, openings, a match.
//! Only where the program was built with the feature `train`.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::megaton;

fn fine(arguments: &[&dyn AsRef<OsStr>]) -> String {
    let ran = megaton(arguments);
    assert!(ran.is_fine, "{}", ran.stderr);
    ran.stdout
}

/// Plays games of the classical evaluation into a folder.
fn play(folder: &Path, games: &str) {
    fine(&[
        &"datagen",
        &"--out",
        &folder,
        &"--eval-file=classical",
        &"--nodes=50",
        &games,
    ]);
}

#[test]
fn a_lost_net_comes_back_and_samples_of_another_shuffle_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let (games, samples, net) = (at("games"), at("some.samples"), at("some.net"));
    play(&games, "--games=10");
    let shuffle = |out: &Path, choice: &str| {
        fine(&[&"data", &"shuffle", &games, &"--out", &out, &choice]);
        fs::metadata(out).expect("samples").len()
    };
    let resume: &[&dyn AsRef<OsStr>] = &[&"--resume"];
    let train = |samples: &Path, more: &[&dyn AsRef<OsStr>]| {
        let arguments: [&dyn AsRef<OsStr>; 9] = [
            &"train",
            &samples,
            &"--out",
            &net,
            &"--hidden=32",
            &"--buckets=1",
            &"--epochs=1",
            &"--batch=256",
            &"--threads=2",
        ];
        megaton(&[&arguments, more].concat())
    };
    let size = shuffle(&samples, "--seed=1");
    let first = train(&samples, resume);
    assert!(first.is_fine, "{}", first.stderr);
    let whole = fs::read(&net).expect("a net");
    fs::remove_file(&net).expect("a net");
    let checkpoint = fs::read(at("some.net.checkpoint")).expect("a checkpoint");
    let anew = train(&samples, &[]);
    assert!(!anew.is_fine, "{}", anew.stdout);
    let reason = "some.net.checkpoint exists";
    assert!(anew.stderr.contains(reason), "{}", anew.stderr);
    assert!(fs::read(at("some.net.checkpoint")).expect("it") == checkpoint);
    let again = train(&samples, resume);
    assert!(again.is_fine, "{}", again.stderr);
    assert!(fs::read(&net).expect("the net again") == whole);
    fs::remove_file(at("some.net.checkpoint")).expect("a checkpoint");
    let alone = train(&samples, resume);
    assert!(!alone.is_fine, "{}", alone.stdout);
    for reason in ["some.net exists", "some.net.checkpoint to resume from"] {
        assert!(alone.stderr.contains(reason), "{}", alone.stderr);
    }
    fs::write(at("some.net.checkpoint"), &checkpoint).expect("the checkpoint again");

    let other = at("other").join("some.samples");
    fs::create_dir(at("other")).expect("a folder");
    for choice in ["--seed=2", "--look-ahead=0"] {
        assert_eq!(shuffle(&other, choice), size, "{choice}");
        let refused = train(&other, resume);
        assert!(!refused.is_fine, "{choice}: {}", refused.stdout);
        let reason = "a training on other data: some.samples";
        assert!(refused.stderr.contains(reason), "{}", refused.stderr);
    }
}

#[test]
fn five_commands_lead_from_nothing_to_a_net_that_was_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let (games, samples, openings) = (at("gen0"), at("gen0.samples"), at("openings.epd"));
    play(&games, "--games=40");
    fine(&[
        &"data",
        &"shuffle",
        &games,
        &"--out",
        &samples,
        &"--validation=20",
    ]);
    let train = |net: &str| {
        let out = at(net);
        let told = fine(&[
            &"train",
            &samples,
            &"--out",
            &out,
            &"--hidden=32",
            &"--buckets=1",
            &"--epochs=3",
            &"--batch=256",
            &"--threads=2",
        ]);
        (fs::read(&out).expect("a net"), told)
    };
    let (net, told) = train("net0.net");
    assert!(told.lines().count() > 3, "an epoch a line: {told}");
    assert_eq!(train("again.net").0, net, "the same choices, the same net");
    let curve = fs::read_to_string(at("net0.net.csv")).expect("the curve");
    assert_eq!(
        curve.lines().count(),
        4,
        "a heading and three epochs: {curve}"
    );

    let checkpoint = at("net0.net.checkpoint");
    let (warm_net, wider, of_net) = (at("net1.net"), at("wider.net"), at("of-net.net"));
    let from = |checkpoint: &Path, out: &Path, hidden: &str| {
        let hidden = format!("--hidden={hidden}");
        megaton(&[
            &"train",
            &samples,
            &"--from",
            &checkpoint,
            &"--buckets=1",
            &"--epochs=1",
            &"--threads=2",
            &"--out",
            &out,
            &hidden,
        ])
    };
    let starts = [
        (&checkpoint, &warm_net, "32"),
        (&checkpoint, &wider, "64"),
        (&at("net0.net"), &of_net, "32"),
    ];
    for (start, net, hidden) in starts {
        let warm = from(start, net, hidden);
        assert!(warm.is_fine && net.exists(), "{}", warm.stderr);
    }
    let refused = from(&at("wider.net.checkpoint"), &at("narrower.net"), "32");
    assert!(!refused.is_fine, "a narrower net has other weights");
    let reason = "a net of 64 hidden units, more than --hidden 32";
    assert!(refused.stderr.contains(reason), "{}", refused.stderr);

    fine(&[&"openings", &"--count=4", &"--seed=1", &"--out", &openings]);
    let ours = format!("self:evalfile={}", at("net0.net").display());
    let told = fine(&[
        &"match",
        &ours,
        &"self:evalfile=classical",
        &"--nodes=200",
        &"--games=8",
        &"--openings",
        &openings,
    ]);
    assert!(told.contains("8 of 8"), "{told}");
}
