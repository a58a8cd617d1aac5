//! A second implementation of the draws by material and by closed position, and of pawn legality
//! under them: slow, on a plain letter board, sharing nothing with the library.

use std::collections::HashMap;

type Spot = (i8, i8);

/// A board of FEN letters by (file, rank).
#[derive(Clone)]
pub(crate) struct Board {
    men: HashMap<Spot, char>,
    white_to_move: bool,
    ep: Option<Spot>,
}

fn is_white(letter: char) -> bool {
    letter.is_ascii_uppercase()
}

fn around((file, rank): Spot) -> impl Iterator<Item = Spot> {
    (-1..=1)
        .flat_map(move |f| (-1..=1).map(move |r| (file + f, rank + r)))
        .filter(move |&spot| spot != (file, rank))
}

impl Board {
    pub(crate) fn read(fen: &str) -> Self {
        let fields: Vec<&str> = fen.split(' ').collect();
        let mut men = HashMap::new();
        for (row, text) in fields[0].split('/').enumerate() {
            let mut file = 0;
            for letter in text.chars() {
                if let Some(gap) = letter.to_digit(10) {
                    file += gap as i8;
                } else {
                    men.insert((file, 7 - row as i8), letter);
                    file += 1;
                }
            }
        }
        let ep = fields[3].as_bytes();
        let ep = (ep.len() == 2).then(|| ((ep[0] - b'a') as i8, (ep[1] - b'1') as i8));
        Self {
            men,
            white_to_move: fields[1] == "w",
            ep,
        }
    }

    fn king(&self, white: bool) -> Option<Spot> {
        let letter = if white { 'K' } else { 'k' };
        self.men
            .iter()
            .find(|&(_, &man)| man == letter)
            .map(|(&spot, _)| spot)
    }

    /// Whether a piece of this side, not its king, attacks a spot.
    fn attacks(&self, white: bool, target: Spot) -> bool {
        self.men.iter().any(|(&from, &man)| {
            is_white(man) == white && self.reaches(from, man.to_ascii_lowercase(), white, target)
        })
    }

    fn reaches(&self, from: Spot, kind: char, white: bool, target: Spot) -> bool {
        let (df, dr) = (target.0 - from.0, target.1 - from.1);
        let straight = (df == 0) != (dr == 0);
        let diagonal = df.abs() == dr.abs() && df != 0;
        let lined = match kind {
            'p' => return df.abs() == 1 && dr == if white { 1 } else { -1 },
            'n' => return df.abs() * dr.abs() == 2,
            'b' => diagonal,
            'r' => straight,
            'q' => straight || diagonal,
            _ => false,
        };
        let steps = df.abs().max(dr.abs());
        lined
            && (1..steps).all(|step| {
                let on_way = (from.0 + df.signum() * step, from.1 + dr.signum() * step);
                !self.men.contains_key(&on_way)
            })
    }

    /// The board after a pawn goes from one spot to another, blast included.
    fn after(&self, from: Spot, to: Spot) -> Self {
        let mut next = self.clone();
        let pawn = next.men.remove(&from).expect("a pawn");
        let en_passant = self.ep == Some(to) && from.0 != to.0;
        if en_passant {
            next.men.remove(&(to.0, from.1));
        }
        if next.men.remove(&to).is_some() || en_passant {
            for spot in around(to) {
                if next
                    .men
                    .get(&spot)
                    .is_some_and(|&man| !matches!(man, 'p' | 'P'))
                {
                    next.men.remove(&spot);
                }
            }
        } else {
            next.men.insert(to, pawn);
        }
        next
    }

    fn allows(&self, white: bool) -> bool {
        match (self.king(white), self.king(!white)) {
            (None, _) => false,
            (_, None) => true,
            (Some(own), Some(enemy)) => {
                around(own).any(|spot| spot == enemy) || !self.attacks(!white, own)
            }
        }
    }

    fn pawn_has_move(&self, from: Spot, white: bool) -> bool {
        let ahead = if white { 1 } else { -1 };
        let mut targets = Vec::new();
        let one = (from.0, from.1 + ahead);
        if !self.men.contains_key(&one) {
            targets.push(one);
            let two = (from.0, from.1 + 2 * ahead);
            if from.1 == (if white { 1 } else { 6 }) && !self.men.contains_key(&two) {
                targets.push(two);
            }
        }
        for to in [(from.0 - 1, one.1), (from.0 + 1, one.1)] {
            let takes = self.men.get(&to).is_some_and(|&man| is_white(man) != white);
            if takes || self.ep == Some(to) && white == self.white_to_move {
                targets.push(to);
            }
        }
        targets
            .into_iter()
            .any(|to| self.after(from, to).allows(white))
    }

    fn pawn_is_stuck(&self, from: Spot, white: bool) -> bool {
        let front = (from.0, from.1 + if white { 1 } else { -1 });
        matches!(self.men.get(&front), Some('p' | 'P')) && !self.pawn_has_move(from, white)
    }

    fn is_closed(&self) -> bool {
        let all_still = self.men.iter().all(|(&spot, &man)| match man {
            'k' | 'K' | 'b' | 'B' => true,
            'p' | 'P' => self.pawn_is_stuck(spot, is_white(man)),
            _ => false,
        });
        let shade = |spot: &Spot| (spot.0 + spot.1) % 2;
        let bishops: Vec<_> = self
            .men
            .iter()
            .filter(|&(_, &man)| matches!(man, 'b' | 'B'))
            .collect();
        let Some(&(first, &owner)) = bishops.first() else {
            return all_still;
        };
        let enemy_pawn = if is_white(owner) { 'p' } else { 'P' };
        all_still
            && bishops
                .iter()
                .all(|&(spot, &man)| man == owner && shade(spot) == shade(first))
            && self
                .men
                .iter()
                .all(|(spot, &man)| man != enemy_pawn || shade(spot) != shade(first))
    }

    fn material_is_drawn(&self) -> bool {
        let letters: String = self.men.values().collect();
        let count = |white| {
            letters
                .chars()
                .filter(|&man| is_white(man) == white)
                .count()
        };
        let only = |kinds: &str| {
            letters
                .chars()
                .all(|man| kinds.contains(man.to_ascii_lowercase()))
        };
        if count(true) >= 2 && count(false) >= 2 {
            let shades: Vec<i8> = self
                .men
                .iter()
                .filter(|&(_, &man)| matches!(man, 'b' | 'B'))
                .map(|(spot, _)| (spot.0 + spot.1) % 2)
                .collect();
            return letters.len() == 4 && shades.len() == 2 && shades[0] != shades[1];
        }
        if only("kn") {
            letters.len() <= 4
        } else {
            only("krbn") && letters.len() <= 3
        }
    }

    pub(crate) fn is_insufficient(&self) -> bool {
        self.king(true).is_some()
            && self.king(false).is_some()
            && (self.material_is_drawn() || self.is_closed())
    }
}
