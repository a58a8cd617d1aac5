//! Attacks of bishops and rooks by magic multiplication.
//!
//! The compiler computes the table, so start-up costs nothing. The multipliers came from a random
//! search for sparse numbers that map every occupancy of a square's lines without a collision; a
//! test below proves that they do.

use super::{Bitboard, Square};

/// One direction of each line; the other is its opposite.
const DIAGONALS: [(i8, i8); 2] = [(1, 1), (-1, 1)];
const STRAIGHTS: [(i8, i8); 2] = [(1, 0), (0, 1)];

/// 64 bishop squares need 5,248 entries, 64 rook squares 102,400.
const TABLE_SIZE: usize = 5_248 + 102_400;

#[derive(Clone, Copy)]
struct Magic {
    mask: u64,
    factor: u64,
    offset: u32,
    shift: u32,
}

struct Magics {
    bishop: [Magic; 64],
    rook: [Magic; 64],
}

static MAGICS: Magics = {
    let (bishop, next) = lay_out(&BISHOP_FACTORS, DIAGONALS, 0);
    let (rook, end) = lay_out(&ROOK_FACTORS, STRAIGHTS, next);
    assert!(end as usize == TABLE_SIZE);
    Magics { bishop, rook }
};

static TABLE: [u64; TABLE_SIZE] = {
    let mut table = [0; TABLE_SIZE];
    fill(&mut table, &MAGICS.bishop, DIAGONALS);
    fill(&mut table, &MAGICS.rook, STRAIGHTS);
    table
};

/// The squares a bishop on `square` attacks, the first piece on each line included.
#[inline]
pub fn bishop_attacks(square: Square, occupied: Bitboard) -> Bitboard {
    look_up(&MAGICS.bishop[square.index()], occupied)
}

/// The squares a rook on `square` attacks, the first piece on each line included.
#[inline]
pub fn rook_attacks(square: Square, occupied: Bitboard) -> Bitboard {
    look_up(&MAGICS.rook[square.index()], occupied)
}

#[inline]
fn look_up(magic: &Magic, occupied: Bitboard) -> Bitboard {
    let pieces = occupied.0 & magic.mask;
    let slot = (pieces.wrapping_mul(magic.factor) >> magic.shift) as usize;
    Bitboard(TABLE[slot + magic.offset as usize])
}

const fn lay_out(factors: &[u64; 64], lines: [(i8, i8); 2], first: u32) -> ([Magic; 64], u32) {
    let mut magics = [Magic {
        mask: 0,
        factor: 0,
        offset: 0,
        shift: 0,
    }; 64];
    let mut offset = first;
    let mut square = 0;
    while square < 64 {
        let mut mask = 0;
        let mut line = 0;
        while line < 2 {
            let (file_step, rank_step) = lines[line];
            mask |= without_last(square as i8, (file_step, rank_step));
            mask |= without_last(square as i8, (-file_step, -rank_step));
            line += 1;
        }
        let bits = mask.count_ones();
        magics[square] = Magic {
            mask,
            factor: factors[square],
            offset,
            shift: 64 - bits,
        };
        offset += 1 << bits;
        square += 1;
    }
    (magics, offset)
}

/// Subtracting a slider from the pieces on its line flips the bits up to the first piece; the mirrored
/// board does the same downwards. No loop over squares, as the compiler has to run this.
const fn fill(table: &mut [u64; TABLE_SIZE], magics: &[Magic; 64], lines: [(i8, i8); 2]) {
    let mut square = 0;
    while square < 64 {
        let Magic {
            mask,
            factor,
            offset,
            shift,
        } = magics[square];
        let first = whole_line(square as i8, lines[0]);
        let second = whole_line(square as i8, lines[1]);
        let up = 2u64 << square;
        let down = 2u64 << (63 - square);
        let mut pieces = 0u64;
        loop {
            let (a, b) = (pieces & first, pieces & second);
            let (a_up, b_up) = (a.wrapping_sub(up), b.wrapping_sub(up));
            let a_down = a.reverse_bits().wrapping_sub(down).reverse_bits();
            let b_down = b.reverse_bits().wrapping_sub(down).reverse_bits();
            let slot = (pieces.wrapping_mul(factor) >> shift) as usize + offset as usize;
            table[slot] = (a_up ^ a_down) & first | (b_up ^ b_down) & second;
            pieces = pieces.wrapping_sub(mask) & mask;
            if pieces == 0 {
                break;
            }
        }
        square += 1;
    }
}

/// A line from a square to the edge, its last square left out: a piece there blocks nothing.
const fn without_last(square: i8, (file_step, rank_step): (i8, i8)) -> u64 {
    let mut set = 0;
    let (mut file, mut rank) = ((square & 7) + file_step, (square >> 3) + rank_step);
    while on_board(file, rank) && on_board(file + file_step, rank + rank_step) {
        set |= 1 << (rank * 8 + file);
        file += file_step;
        rank += rank_step;
    }
    set
}

/// All squares of a line through a square, the square itself left out.
const fn whole_line(square: i8, (file_step, rank_step): (i8, i8)) -> u64 {
    let mut set = 0;
    let mut sign = -1;
    while sign <= 1 {
        let (file_step, rank_step) = (sign * file_step, sign * rank_step);
        let (mut file, mut rank) = ((square & 7) + file_step, (square >> 3) + rank_step);
        while on_board(file, rank) {
            set |= 1 << (rank * 8 + file);
            file += file_step;
            rank += rank_step;
        }
        sign += 2;
    }
    set
}

const fn on_board(file: i8, rank: i8) -> bool {
    (file | rank) & !7 == 0
}

#[rustfmt::skip]
const ROOK_FACTORS: [u64; 64] = [
    0x8080_0082_2c10_4000, 0x0140_0020_0040_1000, 0x2100_0900_1020_0044, 0x0080_1000_0800_8004,
    0x0a00_1492_0030_2008, 0x0300_0208_0100_2400, 0x2300_4a00_0881_0004, 0x0200_0442_0080_2904,
    0x84a0_8000_2040_0088, 0x0800_4040_0020_1000, 0x4880_8080_2000_1000, 0x9002_8008_0010_0080,
    0x0010_8004_0280_0800, 0x0052_0084_4810_1200, 0x0409_0004_2100_1600, 0x4100_8027_5100_0080,
    0x00c0_2080_0040_0088, 0x0130_1040_2000_4004, 0x0002_4100_1820_0300, 0x0000_8280_0800_1002,
    0x0200_8080_0800_0400, 0x0042_0080_8002_0400, 0x4200_0400_0208_1001, 0x0100_0200_2408_8841,
    0x0000_4002_8000_8022, 0x0004_400c_8020_0086, 0x2000_2082_0042_0010, 0x0120_1000_8008_0080,
    0x0088_0008_8080_0400, 0xa200_0400_8080_0200, 0x3024_1004_0001_8208, 0x0c00_2142_0002_8914,
    0x0280_0020_0040_0046, 0x0010_4010_8100_2105, 0x0200_1020_0100_4100, 0x0080_8208_0280_1000,
    0x0000_8008_0080_0400, 0x1402_0010_0404_0020, 0x0002_8001_0080_0200, 0x4040_2582_4200_0504,
    0x2000_8030_4000_8000, 0x2691_0028_8202_0040, 0x04c1_0020_0011_0040, 0x0111_0010_0021_0008,
    0x1001_0010_0801_0004, 0x0002_0004_0080_8002, 0x0901_0002_0001_0004, 0x0004_0040_8402_0001,
    0x201d_0120_8242_0200, 0x0000_4010_0020_0040, 0xd008_4812_0020_8200, 0x0042_8008_0110_0480,
    0x0100_0400_0800_8080, 0x0000_1040_0420_0801, 0x0008_8002_0001_0080, 0x8000_2100_804c_0200,
    0x0440_800a_2013_0041, 0x0206_0486_4300_2012, 0x5500_0810_2001_0041, 0x1800_0500_2138_9001,
    0x0002_0004_1020_0802, 0x0011_0008_0204_0001, 0x0008_1058_0100_8224, 0x0122_0100_2414_8442,
];

#[rustfmt::skip]
const BISHOP_FACTORS: [u64; 64] = [
    0x00c0_c141_0404_8080, 0x2402_1809_0400_8408, 0xc221_2121_0206_001c, 0x3808_2040_4815_0000,
    0x0221_1040_0691_0080, 0x0821_1042_1000_0000, 0x2000_8821_1010_0100, 0x0002_0046_0250_020c,
    0x0000_4005_2802_1440, 0x4000_1050_0200_5050, 0x0200_1001_0041_0410, 0x000a_2404_0994_0200,
    0x1110_4404_2000_0400, 0x0020_0601_04e0_010a, 0x0810_0884_1120_11b0, 0x0300_0201_0108_4200,
    0x0820_0410_2001_0110, 0xc80a_6050_0c48_2480, 0x2001_0462_020c_0100, 0x0058_0084_2046_1004,
    0xb082_0044_0094_0814, 0x1801_0002_005a_4200, 0x0400_a101_0088_2030, 0x0101_0822_0042_0230,
    0x0020_0980_9002_0880, 0x1001_1022_0410_c200, 0x0011_9000_4804_20a0, 0x8810_0400_0044_0008,
    0x0200_8401_8280_2004, 0x5010_1440_0382_5000, 0x0022_0058_0c04_020c, 0x0624_1840_0900_4240,
    0x0004_8404_4040_1000, 0x0082_08d4_0020_0909, 0x0000_1048_1024_0802, 0x0800_4808_0022_0a00,
    0x8020_0284_0002_8020, 0x0104_0282_0084_9800, 0x0042_1800_4a21_0400, 0x40c4_2400_2004_8080,
    0x0004_1002_0800_1020, 0x000a_0890_0402_0840, 0x4843_0110_9000_0a08, 0x2008_a92a_4400_0800,
    0x0208_1801_0440_3400, 0x0020_0200_4040_0a00, 0x4420_c822_0080_0852, 0x9290_1102_1084_0420,
    0x0030_4242_20a0_0080, 0x0880_8404_0104_0020, 0x2000_060a_0104_0200, 0x8100_2880_4202_1000,
    0x0802_0140_0826_2408, 0x0000_2004_1000_8240, 0xb010_3121_0104_0008, 0x0250_1010_84a0_802c,
    0x0100_208c_1008_0200, 0x9004_8024_0248_0402, 0x5000_0210_8410_8800, 0x1040_4000_1042_0200,
    0x2800_0400_1002_0210, 0x8000_0020_0401_0208, 0x4041_1050_1000_8094, 0x48c8_2000_9401_10e0,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(square: i8, occupied: u64, lines: [(i8, i8); 2]) -> u64 {
        let mut set = 0;
        for (file_step, rank_step) in lines.into_iter().flat_map(|(f, r)| [(f, r), (-f, -r)]) {
            let (mut file, mut rank) = ((square & 7) + file_step, (square >> 3) + rank_step);
            while on_board(file, rank) {
                set |= 1 << (rank * 8 + file);
                if occupied >> (rank * 8 + file) & 1 != 0 {
                    break;
                }
                file += file_step;
                rank += rank_step;
            }
        }
        set
    }

    #[test]
    fn no_two_occupancies_clash() {
        for (magics, lines) in [(&MAGICS.bishop, DIAGONALS), (&MAGICS.rook, STRAIGHTS)] {
            for square in Square::all() {
                let magic = &magics[square.index()];
                let mut occupied = 0u64;
                loop {
                    let walked = walk(square.index() as i8, occupied, lines);
                    assert_eq!(look_up(magic, Bitboard(occupied)).0, walked, "{square}");
                    occupied = occupied.wrapping_sub(magic.mask) & magic.mask;
                    if occupied == 0 {
                        break;
                    }
                }
            }
        }
    }

    #[test]
    fn pieces_off_the_lines_do_not_matter() {
        let occupied = Bitboard(0x0012_3456_789a_bcde);
        for square in Square::all() {
            let rook = walk(square.index() as i8, occupied.0, STRAIGHTS);
            let bishop = walk(square.index() as i8, occupied.0, DIAGONALS);
            assert_eq!(rook_attacks(square, occupied).0, rook);
            assert_eq!(bishop_attacks(square, occupied).0, bishop);
        }
    }
}
