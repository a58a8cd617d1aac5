//! Tunings of a made-up game: the journal, interruptions and workers, without a search.

use std::fs;
use std::sync::atomic::AtomicU64;

use serde_json::json;

use super::*;
use crate::engine::Tunable;

const STEPS: u64 = 40;

fn parameter(name: &'static str, start: i32) -> TunedParameter {
    let tunable = Tunable {
        name,
        default: start,
        least: 0,
        most: 1000,
        step: 5,
        origin: "a test",
    };
    TunedParameter::new(tunable, start)
}

fn heading() -> Heading {
    json!({ "megaton_tuning": 1 }).as_object().unwrap().clone()
}

/// The side that is nearer to the optimum wins, but now and then it does not.
fn game(step: u64, sides: &[SideValues; 2]) -> FinishedStep {
    let [up, down] = sides.each_ref().map(|side| {
        let distances = side.iter().zip([300, 400]);
        distances
            .map(|((_, value), best)| (value - best).abs())
            .sum::<i32>()
    });
    let sign = if step % 5 == 3 { -1 } else { 1 };
    FinishedStep {
        step,
        points: sign * 2 * (down - up).signum(),
        forfeits: u64::from(step == 7),
    }
}

/// Tunes with a journal, and stops after so many further steps.
fn tune_some(path: &Path, workers: usize, most: u64) -> Result<Spsa, MatchError> {
    let options = SpsaOptions {
        steps: STEPS,
        gain: 0.1,
        seed: 3,
    };
    let spsa = Spsa::new(options, vec![parameter("a", 100), parameter("b", 900)]);
    let shared = SharedTuning::open(spsa, path, &heading(), |_| ())?;
    let (interrupt, played) = (AtomicBool::new(most == 0), AtomicU64::new(0));
    run(
        shared,
        workers,
        &interrupt,
        &AtomicBool::new(false),
        |step, sides| {
            let before = played.fetch_add(1, Ordering::Relaxed);
            interrupt.store(before + 1 >= most, Ordering::Relaxed);
            Ok(Some(game(step, sides)))
        },
    )
}

#[test]
fn an_interrupted_tuning_ends_like_an_uninterrupted_one() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    let uninterrupted = tune_some(&whole, 1, u64::MAX).unwrap();
    assert_eq!((uninterrupted.done, uninterrupted.forfeits), (STEPS, 1));
    assert!(
        uninterrupted.parameters[0].result() > 105,
        "{uninterrupted:?}"
    );
    for most in [0, 1, 7, 30, 100] {
        tune_some(&parts, 1, most).unwrap();
    }
    assert_eq!(fs::read(&parts).unwrap(), fs::read(&whole).unwrap());
    assert_eq!(tune_some(&parts, 1, 0).unwrap(), uninterrupted);
}

#[test]
fn a_journal_cut_at_any_byte_leads_to_the_same_result() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let uninterrupted = tune_some(&path, 1, u64::MAX).unwrap();
    let whole = fs::read(&path).unwrap();
    for cut in 0..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        assert_eq!(
            tune_some(&path, 1, u64::MAX).unwrap(),
            uninterrupted,
            "{cut}"
        );
    }
    assert_eq!(fs::read(&path).unwrap(), whole);
}

#[test]
fn several_workers_play_every_step_once_and_their_journal_gives_the_same_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    tune_some(&path, 3, 11).unwrap();
    let tuned = tune_some(&path, 3, u64::MAX).unwrap();
    assert_eq!(tuned.done, STEPS);
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count() as u64, STEPS + 1);
    assert_eq!(tune_some(&path, 3, 0).unwrap(), tuned);
}

#[test]
fn a_journal_with_an_impossible_step_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    for (line, what) in [
        (r#"{"step":0,"points":1}"#, "step 0 is there twice"),
        (r#"{"step":40,"points":1}"#, "step 40 "),
        (r#"{"step":1,"points":3}"#, "step 1 "),
        (r#"{"step":1,"points":-2147483648}"#, "step 1 "),
        (r#"{"pair":1}"#, "line 3: no step"),
    ] {
        let heading = serde_json::Value::Object(heading());
        let text = format!("{heading}\n{{\"step\":0,\"points\":1}}\n{line}\n");
        fs::write(&path, text).unwrap();
        let error = tune_some(&path, 1, 1).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    fs::write(&path, "{\"megaton_match\":1}\n").unwrap();
    let error = tune_some(&path, 1, 1).unwrap_err().to_string();
    assert!(
        error.contains("of another tuning: megaton_match was 1"),
        "{error}"
    );
}

#[test]
fn a_failed_game_ends_the_tuning_with_its_error() {
    let folder = tempfile::tempdir().unwrap();
    let options = SpsaOptions {
        steps: STEPS,
        gain: 0.1,
        seed: 3,
    };
    let spsa = Spsa::new(options, vec![parameter("a", 100)]);
    let path = folder.path().join("journal");
    let shared = SharedTuning::open(spsa, &path, &heading(), |_| ()).unwrap();
    let called_off = AtomicBool::new(false);
    let ran = run(
        shared,
        2,
        &AtomicBool::new(false),
        &called_off,
        |step, sides| match step {
            5 => Err(MatchError::Setup("no memory".to_owned())),
            _ if called_off.load(Ordering::Relaxed) => Ok(None),
            _ => Ok(Some(game(step, sides))),
        },
    );
    assert_eq!(ran.unwrap_err().to_string(), "no memory");
}

#[test]
fn parameters_are_selected_by_name_and_by_the_beginning_of_names() {
    let clock = MoveLimit::parse_clock("2+0.02").unwrap();
    let nodes = MoveLimit::Depth(3);
    let select = |names: &[&str], limit| {
        let all = ["lmr_pv", "lmr_check", "rfp_margin", "time_drop_most"];
        let all = all.map(|name| parameter(name, 100)).to_vec();
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let found = selected(all, &names, limit).map_err(|error| error.to_string())?;
        Ok::<_, String>(found.iter().map(|it| it.tunable.name).collect::<Vec<_>>())
    };
    assert_eq!(
        select(&["rfp_margin", "lmr_*", "lmr_pv"], &nodes).unwrap(),
        ["lmr_pv", "lmr_check", "rfp_margin"]
    );
    assert_eq!(select(&["*"], &nodes).unwrap().len(), 3);
    assert_eq!(select(&["*"], &clock).unwrap().len(), 4);
    assert!(
        select(&["lmr"], &nodes)
            .unwrap_err()
            .contains("no parameter \"lmr\"")
    );
    assert!(select(&["time_*"], &nodes).unwrap_err().contains("--tc"));
    assert!(select(&[], &clock).is_err());
}
