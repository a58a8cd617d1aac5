//! What the fuzz targets do with their bytes; the tests replay the corpora through these too.

use megaton::rules::{Game, Position};

/// A FEN: whatever is accepted prints a FEN that reads back as the same position, and its moves
/// can be listed, judged and played.
pub fn fen(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(position) = Position::from_fen(text) else {
        return;
    };
    assert_eq!(Position::from_fen(&position.fen()), Ok(position));
    assert_eq!(position.key(), position.recomputed_key());
    let moves = position.legal_moves();
    assert_eq!(moves.len(), position.count_moves());
    let _ = position.outcome();
    for mv in moves {
        assert!(position.is_legal(mv));
        let child = position.play(mv);
        assert!(child.king(position.turn()).is_some());
        assert_eq!(child.key(), child.recomputed_key());
        assert_eq!(child.in_check(), position.gives_check(mv));
    }
}

/// Words as moves from the start position, each read as UCI and as SAN; what is accepted is played
/// and survives the other notation.
pub fn notation(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut game = Game::new();
    for word in text.split_ascii_whitespace() {
        let position = *game.position();
        let read = [position.parse_uci(word).ok(), position.parse_san(word).ok()];
        for mv in read.into_iter().flatten() {
            assert!(position.is_legal(mv));
            assert_eq!(position.parse_san(&position.san(mv)), Ok(mv));
            assert_eq!(position.parse_uci(&mv.to_string()), Ok(mv));
        }
        if let Some(mv) = read.into_iter().flatten().next() {
            game.push(mv);
        }
    }
    let _ = Game::from_uci_moves(text);
}
