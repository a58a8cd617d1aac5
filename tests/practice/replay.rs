//! Recorded games over the move endpoint: the server must end them as the record does.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;

use crate::client::{server, start_game, two_bots};

/// Every so many-th game that ends at the third occurrence, as games of bots do.
const EVERY: usize = 80;

#[tokio::test]
async fn recorded_games_end_over_http_as_recorded() {
    let shared = std::env::var_os("MEGATON_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    let Ok(file) = std::fs::File::open(shared.join("positions/games.jsonl.gz")) else {
        writeln!(
            std::io::stderr(),
            "SKIPPED recorded games: no {}",
            shared.display()
        )
        .unwrap();
        return;
    };
    let games: Vec<serde_json::Value> = BufReader::new(flate2::read::GzDecoder::new(file))
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .filter(|game: &serde_json::Value| game["repetition_rule"] == 3)
        .collect();
    let server = server().await;
    let (white, black) = two_bots(&server);
    for game in games.iter().step_by(EVERY) {
        let id = start_game(&white, &black, &[("clock.limit", "10800")]).await;
        for (ply, uci) in game["moves"].as_str().unwrap().split(' ').enumerate() {
            let mover = if ply % 2 == 0 { &white } else { &black };
            mover.play(&id, uci).await.ok();
        }
        let mut stream = white.game(&id).await;
        let state = stream.next().await["state"].clone();
        let status = match game["termination"].as_str().unwrap() {
            "explosion" => "variantEnd",
            "checkmate" => "mate",
            "stalemate" => "stalemate",
            _ => "draw",
        };
        let winner = match game["result"].as_str().unwrap() {
            "1-0" => Some("white"),
            "0-1" => Some("black"),
            _ => None,
        };
        assert_eq!(state["status"], status, "{game}");
        assert_eq!(state["winner"].as_str(), winner, "{game}");
    }
}
