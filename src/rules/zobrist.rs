//! Random numbers for position keys: constants, so that keys are the same in every build.

use super::{CastlingRights, Square};

struct Zobrist {
    pieces: [[u64; 64]; 16],
    castling: [u64; 16],
    ep_file: [u64; 8],
    black_to_move: u64,
}

static ZOBRIST: Zobrist = {
    let mut state = 0x4d65_6761_746f_6e00;
    let mut pieces = [[0; 64]; 16];
    let mut code = 0;
    while code < 16 {
        let mut square = 0;
        while square < 64 {
            pieces[code][square] = mix(&mut state);
            square += 1;
        }
        code += 1;
    }
    let mut castling = [0; 16];
    let mut index = 1;
    while index < 16 {
        castling[index] = mix(&mut state);
        index += 1;
    }
    let mut ep_file = [0; 8];
    let mut file = 0;
    while file < 8 {
        ep_file[file] = mix(&mut state);
        file += 1;
    }
    Zobrist {
        pieces,
        castling,
        ep_file,
        black_to_move: mix(&mut state),
    }
};

/// One step of a well-mixed counter.
const fn mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut value = *state;
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[inline]
pub(crate) fn code_key(code: u8, square: Square) -> u64 {
    ZOBRIST.pieces[(code & 15) as usize][square.index()]
}

#[inline]
pub(crate) fn castling_key(rights: CastlingRights) -> u64 {
    ZOBRIST.castling[rights.index()]
}

#[inline]
pub(crate) fn ep_key(square: Square) -> u64 {
    ZOBRIST.ep_file[square.file() as usize]
}

#[inline]
pub(crate) fn side_key() -> u64 {
    ZOBRIST.black_to_move
}
