//! Random positions: biased self-play from the start, and pieces placed at random with the odd
//! constellations of atomic chess made frequent. Everything follows from one seed.

use std::io::Write;

use fastrand::Rng;
use megaton::rules::{Color, Move, Position, Role, Square, king_attacks};

/// The seed of a test: `MEGATON_SEED`, or a fresh one. It is printed, so that a failure can be
/// repeated.
pub(crate) fn seed(test: &str) -> u64 {
    let given = std::env::var("MEGATON_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    let _ = writeln!(std::io::stderr(), "{test}: MEGATON_SEED={seed}");
    seed
}

/// What a random player likes to do.
#[derive(Debug, Clone, Copy)]
enum Taste {
    Anything,
    Captures,
    CapturesButNoWin,
    KingWalk,
    PawnMoves,
    Checks,
    Quiet,
}

const TASTES: [Taste; 7] = [
    Taste::Anything,
    Taste::Captures,
    Taste::CapturesButNoWin,
    Taste::KingWalk,
    Taste::PawnMoves,
    Taste::Checks,
    Taste::Quiet,
];

fn likes(taste: Taste, position: &Position, mv: Move) -> bool {
    let role = position.role_at(mv.from());
    match taste {
        Taste::Anything => true,
        Taste::Captures => position.is_capture(mv),
        Taste::CapturesButNoWin => position.is_capture(mv) && !position.explodes_king(mv),
        Taste::KingWalk => role == Some(Role::King),
        Taste::PawnMoves => role == Some(Role::Pawn),
        Taste::Checks => position.gives_check(mv),
        Taste::Quiet => !position.is_capture(mv) && role != Some(Role::Pawn),
    }
}

/// A legal move, more often one to the taste of this game.
fn choose(position: &Position, taste: Taste, rng: &mut Rng) -> Option<Move> {
    let moves = position.legal_moves();
    let liked: Vec<Move> = moves
        .iter()
        .copied()
        .filter(|&mv| likes(taste, position, mv))
        .collect();
    if rng.u8(..3) > 0 && !liked.is_empty() {
        return rng.choice(liked);
    }
    let modest: Vec<Move> = moves
        .iter()
        .copied()
        .filter(|&mv| !position.explodes_king(mv))
        .collect();
    if modest.is_empty() {
        rng.choice(moves)
    } else {
        rng.choice(modest)
    }
}

/// The moves of a random game of at most `plies` half-moves.
pub(crate) fn random_game(plies: usize, rng: &mut Rng) -> Vec<Move> {
    let taste = TASTES[rng.usize(..TASTES.len())];
    let mut position = Position::default();
    let mut moves = Vec::new();
    while moves.len() < plies {
        let Some(mv) = choose(&position, taste, rng) else {
            break;
        };
        moves.push(mv);
        position = position.play(mv);
    }
    moves
}

/// The positions of random games, finished ones included, as many as asked for.
pub(crate) fn from_games(count: usize, rng: &mut Rng) -> Vec<Position> {
    let mut found = Vec::with_capacity(count + 200);
    while found.len() < count {
        let mut position = Position::default();
        for mv in random_game(160, rng) {
            position = position.play(mv);
            found.push(position);
        }
    }
    found.truncate(count);
    found
}

/// A kind of constellation to place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scene {
    Endgame,
    Midgame,
    TouchingKings,
    Castling,
    EnPassant,
    Bishops,
    BareMinor,
    Closed,
    Promotion,
}

const SCENES: [Scene; 9] = [
    Scene::Endgame,
    Scene::Midgame,
    Scene::TouchingKings,
    Scene::Castling,
    Scene::EnPassant,
    Scene::Bishops,
    Scene::BareMinor,
    Scene::Closed,
    Scene::Promotion,
];

/// A board being filled; printed as a FEN, which may well be refused.
struct Sketch {
    board: [char; 64],
    turn: Color,
    rights: &'static str,
    ep: String,
}

impl Sketch {
    fn free_square(&self, rng: &mut Rng) -> Square {
        loop {
            let square = any_square(rng);
            if self.at(square) == ' ' {
                return square;
            }
        }
    }

    fn at(&self, square: Square) -> char {
        self.board[square.index()]
    }

    fn put(&mut self, letter: char, square: Square) {
        self.board[square.index()] = letter;
    }

    fn scatter(&mut self, letters: &str, count: usize, rng: &mut Rng) {
        for _ in 0..count {
            let letter = char::from(letters.as_bytes()[rng.usize(..letters.len())]);
            let square = self.free_square(rng);
            let stray = matches!(letter, 'p' | 'P') && matches!(square.rank(), 0 | 7);
            if !stray {
                self.put(letter, square);
            }
        }
    }

    fn fen(&self, rng: &mut Rng) -> String {
        let mut board = String::new();
        for rank in (0..8).rev() {
            for file in 0..8 {
                match self.at(Square::from_coords(file, rank)) {
                    ' ' => board.push('1'),
                    letter => board.push(letter),
                }
            }
            board.push(if rank == 0 { ' ' } else { '/' });
        }
        let clock = if rng.u8(..8) == 0 {
            100
        } else {
            rng.u32(..100)
        };
        let (turn, number) = (self.turn.char(), rng.u32(1..200));
        format!("{board}{turn} {} {} {clock} {number}", self.rights, self.ep)
    }
}

fn any_square(rng: &mut Rng) -> Square {
    Square::new(rng.u8(..64)).expect("below 64")
}

/// One random constellation as a FEN; some are refused by any reader.
pub(crate) fn placement(rng: &mut Rng) -> String {
    let scene = SCENES[rng.usize(..SCENES.len())];
    let turn = if rng.bool() {
        Color::White
    } else {
        Color::Black
    };
    let mut sketch = Sketch {
        board: [' '; 64],
        turn,
        rights: "-",
        ep: "-".to_owned(),
    };
    place_kings(scene, &mut sketch, rng);
    match scene {
        Scene::Endgame => sketch.scatter("pPnNbBrRqQ", 6, rng),
        Scene::Midgame => {
            let men = rng.usize(10..26);
            sketch.scatter("pppPPPnNbBrRqQ", men, rng);
        }
        Scene::TouchingKings => {
            let men = rng.usize(1..14);
            sketch.scatter("pPnNbBrRqQ", men, rng);
        }
        Scene::Castling => place_castling(&mut sketch, rng),
        Scene::EnPassant => place_en_passant(&mut sketch, rng),
        Scene::Bishops => {
            let men = rng.usize(1..5);
            sketch.scatter("bB", men, rng);
        }
        Scene::BareMinor => {
            let men = rng.usize(..5);
            let letters = ["nN", "bB", "rR", "nNbB", "nNbBrRqQ", "N", "b"];
            sketch.scatter(letters[rng.usize(..letters.len())], men, rng);
        }
        Scene::Closed => place_rams(&mut sketch, rng),
        Scene::Promotion => place_promotions(&mut sketch, rng),
    }
    sketch.fen(rng)
}

fn place_kings(scene: Scene, sketch: &mut Sketch, rng: &mut Rng) {
    let castling = scene == Scene::Castling;
    let white = if castling && rng.bool() {
        Square::E1
    } else {
        any_square(rng)
    };
    sketch.put('K', white);
    let close = scene == Scene::TouchingKings || rng.u8(..4) == 0;
    let near = king_attacks(white);
    let black = if castling && white != Square::E8 && rng.bool() {
        Square::E8
    } else if close {
        rng.choice(near).expect("a neighbour")
    } else {
        sketch.free_square(rng)
    };
    sketch.put('k', black);
}

fn place_castling(sketch: &mut Sketch, rng: &mut Rng) {
    sketch.rights = "KQkq";
    for (letter, square) in [
        ('R', Square::A1),
        ('R', Square::H1),
        ('r', Square::A8),
        ('r', Square::H8),
    ] {
        if sketch.at(square) == ' ' && rng.u8(..4) > 0 {
            sketch.put(letter, square);
        }
    }
    let men = rng.usize(..10);
    sketch.scatter("pPnNbBrRqQ", men, rng);
}

fn place_en_passant(sketch: &mut Sketch, rng: &mut Rng) {
    let (passer, taker, rank) = match sketch.turn {
        Color::White => ('p', 'P', 4),
        Color::Black => ('P', 'p', 3),
    };
    let file = rng.u8(..8);
    let men = rng.usize(..12);
    sketch.scatter("pPnNbBrRqQ", men, rng);
    for (letter, file) in [
        (passer, file),
        (taker, file.wrapping_sub(1)),
        (taker, file + 1),
    ] {
        if file < 8 && rng.u8(..5) > 0 {
            let square = Square::from_coords(file, rank);
            if !matches!(sketch.at(square), 'k' | 'K') {
                sketch.put(letter, square);
            }
        }
    }
    let behind = if sketch.turn == Color::White { 5 } else { 2 };
    sketch.ep = Square::from_coords(file, behind).to_string();
}

fn place_rams(sketch: &mut Sketch, rng: &mut Rng) {
    for _ in 0..rng.usize(1..5) {
        let (file, rank) = (rng.u8(..8), rng.u8(1..6));
        let (low, high) = (
            Square::from_coords(file, rank),
            Square::from_coords(file, rank + 1),
        );
        if sketch.at(low) == ' ' && sketch.at(high) == ' ' {
            sketch.put('P', low);
            sketch.put('p', high);
        }
    }
    let men = rng.usize(..3);
    let letters = ["b", "B", "bB", "bBpP"];
    sketch.scatter(letters[rng.usize(..letters.len())], men, rng);
}

fn place_promotions(sketch: &mut Sketch, rng: &mut Rng) {
    for _ in 0..rng.usize(1..5) {
        let (letter, rank) = if rng.bool() { ('P', 6) } else { ('p', 1) };
        let square = Square::from_coords(rng.u8(..8), rank);
        if sketch.at(square) == ' ' {
            sketch.put(letter, square);
        }
    }
    let men = rng.usize(2..12);
    sketch.scatter("nNbBrRqQ", men, rng);
}

/// Placed positions that a FEN reader accepts, as many as asked for.
pub(crate) fn from_placements(count: usize, rng: &mut Rng) -> Vec<Position> {
    let mut found = Vec::with_capacity(count);
    while found.len() < count {
        if let Ok(position) = Position::from_fen(&placement(rng)) {
            found.push(position);
        }
    }
    found
}

/// Half from games, half placed.
pub(crate) fn mixed(count: usize, rng: &mut Rng) -> Vec<Position> {
    let mut positions = from_games(count / 2, rng);
    positions.extend(from_placements(count - positions.len(), rng));
    positions
}
