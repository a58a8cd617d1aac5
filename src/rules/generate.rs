//! Generation of the legal moves.
//!
//! One generator feeds any [`Sink`]: a move list or a counter. It yields only legal moves: what can
//! be decided for a whole set of squares is decided with sets, the rest by the general test of
//! `legality` per move.

use super::castling::CastlingSquares;
use super::legality::{push, third_rank};
use super::{
    Bitboard, CastlingSide, Color, Move, MoveList, Position, Role, Square, between, bishop_attacks,
    king_attacks, knight_attacks, line, pawn_attacks, rook_attacks,
};

/// Which moves are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    All,
    Noisy,
    Quiet,
}

impl Stage {
    #[inline]
    fn captures(self) -> bool {
        self != Self::Quiet
    }

    #[inline]
    fn quiets(self) -> bool {
        self != Self::Noisy
    }
}

/// Receives the moves as they are generated, whole sets at a time.
pub(crate) trait Sink {
    /// Moves of one piece, not a pawn, to each of the squares.
    fn piece(&mut self, from: Square, targets: Bitboard);
    /// Pawn moves to each of the squares, each from `to - step`; not to a back rank.
    fn pawns(&mut self, targets: Bitboard, step: i8);
    /// Promotions on each of the squares to each of the kinds, each from `to - step`.
    fn promotions(&mut self, targets: Bitboard, step: i8, roles: &[Role]);
    /// A single castling or en-passant move.
    fn special(&mut self, mv: Move);
}

#[inline]
fn behind(to: Square, step: i8) -> Square {
    Square::masked((to.index() as i8).wrapping_sub(step) as u8)
}

impl Sink for MoveList {
    #[inline]
    fn piece(&mut self, from: Square, targets: Bitboard) {
        for to in targets {
            self.special(Move::normal(from, to));
        }
    }

    #[inline]
    fn pawns(&mut self, targets: Bitboard, step: i8) {
        for to in targets {
            self.special(Move::normal(behind(to, step), to));
        }
    }

    #[inline]
    fn promotions(&mut self, targets: Bitboard, step: i8, roles: &[Role]) {
        for to in targets {
            for &role in roles {
                self.special(Move::promoting(behind(to, step), to, role));
            }
        }
    }

    #[inline]
    fn special(&mut self, mv: Move) {
        // No position that a FEN may hold has more moves than fit.
        let fits = self.try_push(mv).is_ok();
        debug_assert!(fits);
    }
}

/// Counts moves without making a list of them.
pub(crate) struct Count(pub(crate) usize);

impl Sink for Count {
    #[inline]
    fn piece(&mut self, _: Square, targets: Bitboard) {
        self.0 += targets.count();
    }

    #[inline]
    fn pawns(&mut self, targets: Bitboard, _: i8) {
        self.0 += targets.count();
    }

    #[inline]
    fn promotions(&mut self, targets: Bitboard, _: i8, roles: &[Role]) {
        self.0 += targets.count() * roles.len();
    }

    #[inline]
    fn special(&mut self, _: Move) {
        self.0 += 1;
    }
}

/// State shared by the whole generation.
struct Frame {
    us: Color,
    king: Square,
    enemy_king: Square,
    /// Enemy pieces that may be captured at all: not next to our king, not their king.
    prey: Bitboard,
    /// Targets that any piece off the danger lines may capture.
    free_prey: Bitboard,
    /// Targets next to the enemy king: any capture of them wins.
    winning_prey: Bitboard,
    /// Target squares of quiet moves: all empty squares, or the way of a lone checker.
    landing: Bitboard,
    occupied: Bitboard,
}

impl Position {
    /// Every legal move; none if a king is missing.
    ///
    /// Draws by material, by counting or by repetition do not end the list.
    pub fn legal_moves(&self) -> MoveList {
        let mut list = MoveList::new();
        self.generate(Stage::All, &mut list);
        list
    }

    /// Appends the legal captures (all promotions by capture included) and quiet queen promotions.
    ///
    /// The four promotions by one capture lead to the same position: a search needs one of them.
    pub fn noisy_moves(&self, list: &mut MoveList) {
        self.generate(Stage::Noisy, list);
    }

    /// Appends the legal moves that `noisy_moves` leaves out.
    pub fn quiet_moves(&self, list: &mut MoveList) {
        self.generate(Stage::Quiet, list);
    }

    /// How many legal moves there are; much cheaper than listing them.
    pub fn count_moves(&self) -> usize {
        let mut count = Count(0);
        self.generate(Stage::All, &mut count);
        count.0
    }

    #[inline]
    pub(crate) fn generate<S: Sink>(&self, stage: Stage, sink: &mut S) {
        let Some(frame) = self.frame() else { return };
        self.generate_pawns(&frame, stage, sink);
        self.generate_pieces(&frame, stage, sink);
        if stage.quiets() {
            self.generate_king(&frame, sink);
        }
    }

    #[inline]
    fn frame(&self) -> Option<Frame> {
        let us = self.turn();
        let (king, enemy_king) = (self.king(us)?, self.king(!us)?);
        let occupied = self.occupied();
        let prey = self.them() - king_attacks(king) - enemy_king;
        let winning_prey = prey & king_attacks(enemy_king);
        let free_prey = if self.checkers.any() {
            winning_prey
        } else {
            let shields = self.danger & (occupied - self.by_role(Role::Pawn));
            winning_prey | (prey - shields.smear() - self.danger)
        };
        let landing = self.quiet_answers(king) - occupied;
        Some(Frame {
            us,
            king,
            enemy_king,
            prey,
            free_prey,
            winning_prey,
            landing,
            occupied,
        })
    }

    /// The captures one piece may make among the squares it attacks.
    #[inline]
    fn captures_of(&self, frame: &Frame, from: Square, attacked: Bitboard) -> Bitboard {
        let prey = attacked & frame.prey;
        if prey.is_empty() {
            return prey;
        }
        let free = if self.danger.contains(from) {
            frame.winning_prey
        } else {
            frame.free_prey
        };
        let mut legal = prey & free;
        for to in prey - free {
            if self.is_safe_without(self.blast_at(to) | from, frame.king) {
                legal |= to;
            }
        }
        legal
    }

    /// Target squares of one piece, not a pawn.
    #[inline]
    fn targets_of(
        &self,
        frame: &Frame,
        stage: Stage,
        from: Square,
        attacked: Bitboard,
    ) -> Bitboard {
        let mut targets = Bitboard::EMPTY;
        if stage.captures() {
            targets |= self.captures_of(frame, from, attacked);
        }
        if stage.quiets() {
            let mut quiet = attacked & frame.landing;
            if self.pinned.contains(from) {
                quiet &= line(frame.king, from);
            }
            targets |= quiet;
        }
        targets
    }

    #[inline]
    fn generate_pieces<S: Sink>(&self, frame: &Frame, stage: Stage, sink: &mut S) {
        let ours = self.us();
        let queens = self.by_role(Role::Queen);
        for from in ours & self.by_role(Role::Knight) {
            sink.piece(
                from,
                self.targets_of(frame, stage, from, knight_attacks(from)),
            );
        }
        for from in ours & (self.by_role(Role::Bishop) | queens) {
            let attacked = bishop_attacks(from, frame.occupied);
            sink.piece(from, self.targets_of(frame, stage, from, attacked));
        }
        for from in ours & (self.by_role(Role::Rook) | queens) {
            let attacked = rook_attacks(from, frame.occupied);
            sink.piece(from, self.targets_of(frame, stage, from, attacked));
        }
    }

    #[inline]
    fn generate_pawns<S: Sink>(&self, frame: &Frame, stage: Stage, sink: &mut S) {
        let pawns = self.us() & self.by_role(Role::Pawn);
        self.generate_pushes(frame, stage, pawns, sink);
        if !stage.captures() {
            return;
        }
        let west = if frame.us == Color::White { 7 } else { -9 };
        self.generate_pawn_captures(frame, pawns - Bitboard::FILE_A, west, sink);
        self.generate_pawn_captures(frame, pawns - Bitboard::FILE_H, west + 2, sink);
        if let Some(to) = self.ep {
            for from in pawn_attacks(!frame.us, to) & pawns {
                if self.is_safe_ep(from, to) {
                    sink.special(Move::en_passant(from, to));
                }
            }
        }
    }

    #[inline]
    fn generate_pushes<S: Sink>(&self, frame: &Frame, stage: Stage, pawns: Bitboard, sink: &mut S) {
        // A pinned pawn may advance only towards or away from its king.
        let movable = pawns - (self.pinned - Bitboard::file(frame.king.file()));
        let one = push(frame.us, movable) - frame.occupied;
        let two = push(frame.us, one & third_rank(frame.us)) & frame.landing;
        let one = one & frame.landing;
        let step = if frame.us == Color::White { 8 } else { -8 };
        let promoting = one & Bitboard::BACK_RANKS;
        if stage.quiets() {
            sink.pawns(one - promoting, step);
            sink.pawns(two, 2 * step);
        }
        if promoting.any() {
            let (queen, others) = Role::PROMOTIONS.split_at(1);
            if stage.captures() {
                sink.promotions(promoting, step, queen);
            }
            if stage.quiets() {
                sink.promotions(promoting, step, others);
            }
        }
    }

    #[inline]
    fn generate_pawn_captures<S: Sink>(
        &self,
        frame: &Frame,
        pawns: Bitboard,
        step: i8,
        sink: &mut S,
    ) {
        let prey = shift(pawns, step) & frame.prey;
        if prey.is_empty() {
            return;
        }
        let by_free = shift(pawns - self.danger, step);
        let mut legal = prey & (frame.winning_prey | (frame.free_prey & by_free));
        for to in prey - legal {
            if self.is_safe_without(self.blast_at(to) | behind(to, step), frame.king) {
                legal |= to;
            }
        }
        let promoting = legal & Bitboard::BACK_RANKS;
        sink.pawns(legal - promoting, step);
        if promoting.any() {
            sink.promotions(promoting, step, &Role::PROMOTIONS);
        }
    }

    #[inline]
    fn generate_king<S: Sink>(&self, frame: &Frame, sink: &mut S) {
        let steps = king_attacks(frame.king) - frame.occupied;
        let beside = king_attacks(frame.enemy_king);
        let mut legal = steps & beside;
        if (steps - beside).any() {
            legal |= steps - self.attacks_by(!frame.us, frame.occupied ^ frame.king);
        }
        sink.piece(frame.king, legal);
        if self.rights.any(frame.us) {
            for side in CastlingSide::ALL {
                if let Some(mv) = self.castling_move(side) {
                    sink.special(mv);
                }
            }
        }
    }
}

#[inline]
fn shift(set: Bitboard, step: i8) -> Bitboard {
    if step > 0 {
        set << step as u32
    } else {
        set >> step.unsigned_abs() as u32
    }
}

impl Position {
    /// The castling move on a wing, if it is legal now.
    ///
    /// Each square of the king's way must be free of attacks or next to the enemy king, judged with
    /// the king off the board; on the goal square the rook stands on its new square already.
    pub(crate) fn castling_move(&self, side: CastlingSide) -> Option<Move> {
        let us = self.turn();
        if !self.castling_rights().has(us, side) {
            return None;
        }
        let squares = CastlingSquares::new(us, side);
        let occupied = self.occupied();
        if between(squares.king_from, squares.rook_from).intersects(occupied) {
            return None;
        }
        let beside_king = self.king(!us).map_or(Bitboard::EMPTY, king_attacks);
        let safe = |square, occupied| {
            beside_king.contains(square)
                || (self.attackers_to(square, occupied) & self.by_color(!us))
                    .is_subset(self.by_role(Role::King))
        };
        let lifted = occupied ^ squares.king_from;
        let goal_board = lifted ^ squares.rook_from ^ squares.rook_to;
        let legal = safe(squares.king_from, lifted)
            && between(squares.king_from, squares.king_to)
                .into_iter()
                .all(|sq| safe(sq, lifted))
            && safe(squares.king_to, goal_board);
        legal.then(|| Move::castling(squares.king_from, squares.king_to))
    }
}
