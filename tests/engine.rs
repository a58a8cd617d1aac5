//! The engine as its users see it: mates, draws, limits, stops and faults.

use megaton::engine::{EngineOptions, Limits, Pool};
use megaton::rules::Game;

#[test]
fn a_search_to_a_depth_reports_every_iteration() {
    let engine = Pool::new(&EngineOptions {
        hash_mb: 1,
        threads: 1,
    })
    .lease();
    let (sender, reports) = std::sync::mpsc::channel();
    let report = move |info: &megaton::engine::Info| sender.send(info.depth).unwrap();
    let thought = engine
        .think_with(&Game::new(), Limits::depth(4), report)
        .wait();
    assert_eq!(thought.depth, 4);
    assert_eq!(reports.iter().collect::<Vec<_>>(), [1, 2, 3, 4]);
}
