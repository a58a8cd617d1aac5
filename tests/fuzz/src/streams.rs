//! What the fuzz targets of the streams do with their bytes; a test replays the corpora through it.

use megaton::lichess::{Event, GameEvent, GameState, JsonMismatch, Side};

/// A line of the event stream: whatever it holds is understood, in part or not, and what was left
/// out can be logged.
#[allow(dead_code, reason = "each target uses one of the two")]
pub(crate) fn event_line(data: &[u8]) {
    let Ok(line) = std::str::from_utf8(data) else {
        return;
    };
    match Event::from_line(line) {
        Ok(read) => read.dropped.iter().for_each(can_be_logged),
        Err(mismatch) => can_be_logged(&mismatch),
    }
}

/// A line of a game's stream, likewise; what is understood of its state makes sense.
#[allow(dead_code, reason = "each target uses one of the two")]
pub(crate) fn game_line(data: &[u8]) {
    let Ok(line) = std::str::from_utf8(data) else {
        return;
    };
    match GameEvent::from_line(line) {
        Ok(read) => {
            read.dropped.iter().for_each(can_be_logged);
            match &read.value {
                GameEvent::Full(full) => makes_sense(&full.state),
                GameEvent::State(state) => makes_sense(state),
                _ => {}
            }
        }
        Err(mismatch) => can_be_logged(&mismatch),
    }
}

fn makes_sense(state: &GameState) {
    assert_eq!(state.ply(), state.move_list().count());
    assert!(state.move_list().all(|uci| !uci.is_empty()));
    assert_ne!(state.status.is_playing(), state.status.is_over());
    for side in [Side::White, Side::Black] {
        let left = state.time(side).unwrap_or_default();
        assert!(left.checked_add(state.increment(side)).is_some());
    }
    if let Some(expiration) = state.expiration {
        assert!(expiration.left() <= expiration.to_move);
    }
}

fn can_be_logged(mismatch: &JsonMismatch) {
    let text = mismatch.to_string();
    assert!(text.chars().count() < 500, "{text}");
    assert!(!text.chars().any(char::is_control), "{text}");
    assert!(!mismatch.path.is_empty());
}
