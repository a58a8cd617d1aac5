//! A board as text: pieces and squares, the last move and its explosion. Pure.
//!
//! With colours the squares have a background; without, brackets mark the last move.

use megaton::rules::{Bitboard, Color, Move, Piece, Position, Square};

const LIGHT: &str = "\x1b[48;5;180m";
const DARK: &str = "\x1b[48;5;137m";
const MOVED: &str = "\x1b[48;5;143m";
const BLAST: &str = "\x1b[48;5;173m";
const WHITE_PIECE: &str = "\x1b[1;38;5;231m";
const BLACK_PIECE: &str = "\x1b[1;38;5;16m";
const PLAIN: &str = "\x1b[0m";

#[derive(Clone, Copy, Debug)]
pub(crate) struct BoardStyle {
    pub(crate) color: bool,
    /// Letters instead of chess symbols.
    pub(crate) ascii: bool,
    /// The side at the bottom.
    pub(crate) below: Color,
}

/// The board as lines. `last` is the last move and the position before it.
pub(crate) fn lines(
    position: &Position,
    last: Option<(&Position, Move)>,
    look: BoardStyle,
) -> Vec<String> {
    let mut moved = Bitboard::default();
    let mut blast = Bitboard::default();
    if let Some((before, mv)) = last {
        moved = [mv.from(), mv.to()].into_iter().collect();
        // Nothing explodes on the square that the capturing piece left.
        blast = before.blast(mv) & !Bitboard::from_square(mv.from());
    }
    let in_order = |index: u8, turned: bool| if turned { 7 - index } else { index };
    let turned = look.below == Color::Black;
    let mut lines = Vec::new();
    for row in 0..8 {
        let rank = in_order(7 - row, turned);
        let mut line = format!("{} ", rank + 1);
        for column in 0..8 {
            let square = Square::from_coords(in_order(column, turned), rank);
            let place = (moved.contains(square), blast.contains(square));
            line.push_str(&cell(position.piece_at(square), square, place, look));
        }
        if look.color {
            line.push_str(PLAIN);
        }
        lines.push(line);
    }
    let files = (0..8).map(|column| char::from(b'a' + in_order(column, turned)));
    let files: Vec<String> = files.map(|file| format!(" {file} ")).collect();
    lines.push(format!("  {}", files.concat()).trim_end().to_owned());
    lines
}

fn cell(
    piece: Option<Piece>,
    square: Square,
    (moved, blast): (bool, bool),
    look: BoardStyle,
) -> String {
    let sign = match piece {
        Some(piece) if look.ascii => piece.char(),
        Some(piece) => symbol(piece, look.color),
        None if blast => '*',
        None if look.color => ' ',
        None => '.',
    };
    if !look.color {
        return if moved {
            format!("[{sign}]")
        } else {
            format!(" {sign} ")
        };
    }
    let ground = match (moved, blast) {
        (true, _) => MOVED,
        (_, true) => BLAST,
        _ if square.is_light() => LIGHT,
        _ => DARK,
    };
    let ink = match piece.map(|piece| piece.color) {
        Some(Color::White) => WHITE_PIECE,
        _ => BLACK_PIECE,
    };
    format!("{ground}{ink} {sign} ")
}

/// The symbol of a piece. With colours, the text colour shows the side, and filled symbols are easier
/// to read.
fn symbol(piece: Piece, painted: bool) -> char {
    let filled = match piece.char().to_ascii_lowercase() {
        'p' => '♟',
        'n' => '♞',
        'b' => '♝',
        'r' => '♜',
        'q' => '♛',
        _ => '♚',
    };
    if painted || piece.color == Color::Black {
        return filled;
    }
    // In Unicode the outlined symbols come six places before the filled ones.
    char::from_u32(filled as u32 - 6).unwrap_or(filled)
}

#[cfg(test)]
mod tests {
    use megaton::rules::Game;

    use super::*;

    #[test]
    fn a_board_shows_the_last_move_and_its_blast() {
        let game = Game::from_uci_moves("g1f3 a7a6 f3g5 a6a5 g5f7").unwrap();
        let positions = game.positions();
        let last = Some((&positions[4], game.moves()[4]));
        let look = BoardStyle {
            color: false,
            ascii: true,
            below: Color::White,
        };
        let drawn = lines(game.position(), last, look);
        assert_eq!(drawn[0], "8  r  n  b  q  *  *  *  r ");
        assert_eq!(drawn[1], "7  .  p  p  p  p [*] p  p ");
        assert_eq!(drawn[3], "5  p  .  .  .  .  . [.] . ");
        assert_eq!(drawn[8], "   a  b  c  d  e  f  g  h");
        let turned = lines(
            game.position(),
            None,
            BoardStyle {
                below: Color::Black,
                ..look
            },
        );
        assert_eq!(turned[0], "1  R  .  B  K  Q  B  N  R ");
        assert_eq!(turned[8], "   h  g  f  e  d  c  b  a");
        let signs = lines(
            &Position::default(),
            None,
            BoardStyle {
                ascii: false,
                ..look
            },
        );
        assert_eq!(signs[7], "1  ♖  ♘  ♗  ♕  ♔  ♗  ♘  ♖ ");
        let painted = lines(
            &Position::default(),
            None,
            BoardStyle {
                color: true,
                ascii: false,
                ..look
            },
        );
        assert!(painted[0].ends_with(PLAIN) && painted[0].contains('♛'));
    }
}
