//! The state of a game and its moves.

use super::presence::Presence;
use super::{Played, Refusal};
use crate::practice::clock::Clock;
use crate::practice::game_settings::{GameSettings, Status, TimeControl};
use crate::practice::rating::Rating;
use crate::practice::time::{Millis, Timing};
use crate::practice::wire::GameState;
use crate::rules::{Color, Draw, Game, Move, Outcome, Position, Role, Win};

/// Beyond this many half-moves, the next move draws the game instead of being played.
const PLY_CAP: usize = 600;

/// One side of a game.
#[derive(Clone, Debug)]
pub(crate) struct PlayerSide {
    pub(crate) user: String,
    pub(crate) name: String,
    pub(crate) title: Option<&'static str>,
    /// The rating at the start of the game.
    pub(crate) rating: Rating,
    /// Whether this side lets the opponent take moves back.
    pub(crate) takebacks: bool,
    /// Four letters after the id of the game make the private id of this side.
    pub(crate) secret: String,
    /// Runs inside the server, so it is always present.
    pub(crate) task: bool,
}

impl PlayerSide {
    pub(crate) fn is_bot(&self) -> bool {
        self.title == Some("BOT")
    }
}

/// The setup of a game.
#[derive(Clone, Debug)]
pub(crate) struct GameSpec {
    pub(crate) id: String,
    pub(crate) settings: GameSettings,
    pub(crate) players: [PlayerSide; 2],
    pub(crate) timing: Timing,
    /// The arena of the game: no aborts, no takebacks, and a limit on first moves.
    pub(crate) arena: Option<String>,
}

/// An output of the referee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GameChange {
    /// A line for both players.
    State(GameState),
    /// A remark of the server in the players' room.
    Remark(&'static str),
    /// A takeback was carried out.
    TakenBack,
    /// One side is notified of the other's absence.
    Gone { to: Color, claim_in: Option<u64> },
    /// The last line has been sent.
    Over,
}

/// Refused moves, kept for the summary of a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RefusedMoves {
    pub(crate) illegal: u32,
    pub(crate) out_of_turn: u32,
}

/// A game in progress or finished.
#[derive(Debug)]
pub(crate) struct ServerGame {
    pub(crate) setup: GameSpec,
    pub(crate) created: Millis,
    pub(super) game: Game,
    pub(super) record: Vec<Played>,
    pub(super) spelled: String,
    pub(super) clock: Clock,
    pub(super) status: Status,
    pub(super) winner: Option<Color>,
    pub(super) offers: Offers,
    pub(super) presence: [Presence; 2],
    pub(super) faulty: [RefusedMoves; 2],
    pub(super) claim_due: Option<Millis>,
    /// When the current turn began.
    pub(super) turn_since: Millis,
    /// The side that aborted, resigned or claimed, or whose flag fell.
    pub(super) ended_by: Option<Color>,
    pub(super) changes: Vec<GameChange>,
    pub(crate) rating_diffs: Option<[i32; 2]>,
    pub(crate) rematch: Option<String>,
}

impl ServerGame {
    pub(crate) fn new(setup: GameSpec, now: Millis) -> Self {
        let presence = [0, 1].map(|side| Presence::new(setup.players[side].task, now));
        Self {
            clock: Clock::new(setup.settings.time, now).faster(setup.timing.clock_speed),
            created: now,
            game: Game::new(),
            record: Vec::new(),
            spelled: String::new(),
            status: Status::Started,
            winner: None,
            offers: Offers::default(),
            presence,
            faulty: Default::default(),
            claim_due: None,
            turn_since: now,
            ended_by: None,
            changes: Vec::new(),
            rating_diffs: None,
            rematch: None,
            setup,
        }
    }

    /// Takes the output since the last call.
    pub(crate) fn take_changes(&mut self) -> Vec<GameChange> {
        std::mem::take(&mut self.changes)
    }

    pub(crate) fn player_side(&self, side: Color) -> &PlayerSide {
        &self.setup.players[side.index()]
    }

    /// The side that `user` plays.
    pub(crate) fn side_of(&self, user: &str) -> Option<Color> {
        Color::ALL
            .into_iter()
            .find(|&side| self.player_side(side).user == user)
    }

    pub(crate) fn status(&self) -> Status {
        self.status
    }

    pub(crate) fn is_playing(&self) -> bool {
        self.status.is_playing()
    }

    pub(crate) fn winner(&self) -> Option<Color> {
        self.winner
    }

    pub(crate) fn position(&self) -> &Position {
        self.game.position()
    }

    pub(crate) fn game(&self) -> &Game {
        &self.game
    }

    pub(crate) fn record(&self) -> &[Played] {
        &self.record
    }

    pub(crate) fn plies(&self) -> usize {
        self.record.len()
    }

    pub(crate) fn turn(&self) -> Color {
        self.position().turn()
    }

    pub(crate) fn has_moved(&self, side: Color) -> bool {
        self.plies() > side.index()
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// When the current turn began, or the last one if the game is over.
    pub(crate) fn turn_since(&self) -> Millis {
        self.turn_since
    }

    /// The side that aborted, resigned or claimed, or whose flag fell; `None` if the board decided.
    pub(crate) fn ended_by(&self) -> Option<Color> {
        self.ended_by
    }

    /// The moves as the streams write them.
    pub(crate) fn spelled(&self) -> &str {
        &self.spelled
    }

    pub(crate) fn faulty(&self, side: Color) -> RefusedMoves {
        self.faulty[side.index()]
    }

    pub(super) fn involves_a_bot(&self) -> bool {
        self.setup.players.iter().any(PlayerSide::is_bot)
    }

    pub(super) fn has_bare_king(&self, side: Color) -> bool {
        self.position().by_color(side).count() == 1
    }

    /// The state as a line of the stream.
    pub(crate) fn state(&self, now: Millis) -> GameState {
        let increment = match self.setup.settings.time {
            TimeControl::Clock { increment, .. } => self.setup.timing.clock_ms(increment),
            _ => 0,
        };
        GameState {
            moves: self.spelled.clone(),
            wtime: self.clock.left(Color::White, now),
            btime: self.clock.left(Color::Black, now),
            winc: increment,
            binc: increment,
            wdraw: self.offers.draw_offered_by(Color::White),
            bdraw: self.offers.draw_offered_by(Color::Black),
            wtakeback: self.offers.takeback_proposed_by(Color::White),
            btakeback: self.offers.takeback_proposed_by(Color::Black),
            status: self.status,
            winner: self.winner.map(Color::as_str),
            expiration: self.expiration(now),
            rematch: self.rematch.clone(),
        }
    }

    pub(super) fn send_state(&mut self, now: Millis) {
        let state = self.state(now);
        self.changes.push(GameChange::State(state));
    }

    /// `side` plays `text`, with a draw offer before it if `offering`.
    ///
    /// "Done" does not mean that the move was played: the stream states the result.
    pub(crate) fn play(
        &mut self,
        side: Color,
        text: &str,
        offering: bool,
        now: Millis,
    ) -> Result<(), Refusal> {
        let parsed = Spelled::parse(text).ok_or_else(|| Refusal::InvalidUci(text.to_owned()))?;
        self.claim_if_due(now);
        if !self.is_playing() || self.turn() != side {
            self.faulty[side.index()].out_of_turn += 1;
            return Err(Refusal::NotYourTurn);
        }
        if self.clock.flagged(now).is_some() {
            self.flag_fell(side, now);
            return Ok(());
        }
        if offering {
            self.draw_yes(side, now);
            if !self.is_playing() {
                return Ok(());
            }
        }
        if self.plies() > PLY_CAP {
            self.finish(Status::Draw, None, now);
            return Ok(());
        }
        let Some(mv) = self.find(&parsed) else {
            // A client that got no reply to a move sends it again.
            let own_last = self.record.iter().rev().nth(1);
            let faulty = &mut self.faulty[side.index()];
            if own_last.is_some_and(|played| played.uci == text || played.stream_uci == text) {
                faulty.out_of_turn += 1;
            } else {
                faulty.illegal += 1;
            }
            return Err(Refusal::CannotMove {
                from: parsed.from,
                to: parsed.to,
            });
        };
        self.make(side, mv, now);
        Ok(())
    }

    /// The legal move with this spelling; a missing promotion letter means a queen.
    fn find(&self, spelled: &Spelled) -> Option<Move> {
        let position = self.position();
        let whole = format!("{}{}{}", spelled.from, spelled.to, spelled.promotion);
        position.parse_uci(&whole).ok().or_else(|| {
            let is_pawn = spelled.promotion.is_empty()
                && position
                    .piece_at(spelled.from.parse().ok()?)
                    .is_some_and(|piece| piece.role == Role::Pawn);
            if is_pawn {
                position.parse_uci(&format!("{whole}q")).ok()
            } else {
                None
            }
        })
    }

    fn make(&mut self, side: Color, mv: Move, now: Millis) {
        let played = Played::of(self.position(), mv);
        if !self.spelled.is_empty() {
            self.spelled.push(' ');
        }
        self.spelled.push_str(&played.stream_uci);
        self.record.push(played);
        self.game.push(mv);
        self.clock.press(side, self.plies(), now);
        self.turn_since = now;
        self.offers.end_takebacks();
        if let Some((status, winner)) = self.board_outcome() {
            self.finish(status, winner, now);
            return;
        }
        self.send_state(now);
        // As on Lichess, the state of the move still has the offer that the move declines.
        self.draw_no(side);
        if self.game.repetitions() >= 3 && self.involves_a_bot() {
            self.claim_due = Some(now + self.setup.timing.threefold_claim);
            self.claim_if_due(now);
        }
    }

    /// The result on the board, checked in the order of Lichess.
    fn board_outcome(&self) -> Option<(Status, Option<Color>)> {
        match self.position().outcome() {
            Some(Outcome::Win {
                winner,
                by: Win::Mate,
            }) => Some((Status::Mate, Some(winner))),
            Some(Outcome::Win {
                winner,
                by: Win::Explosion,
            }) => Some((Status::VariantEnd, Some(winner))),
            Some(Outcome::Draw(Draw::Stalemate)) => Some((Status::Stalemate, None)),
            Some(Outcome::Draw(_)) => Some((Status::Draw, None)),
            None => (self.game.repetitions() >= 5).then_some((Status::Draw, None)),
        }
    }

    /// The repetition claim that the server makes for a bot.
    pub(super) fn claim_if_due(&mut self, now: Millis) {
        if self.claim_due.is_some_and(|due| due <= now) && self.is_playing() {
            self.finish(Status::Draw, None, now);
        }
    }

    pub(super) fn finish(&mut self, status: Status, winner: Option<Color>, now: Millis) {
        self.clock.stop(now);
        self.status = status;
        self.winner = winner;
        self.claim_due = None;
        self.offers.clear();
        self.send_state(now);
        self.changes.push(GameChange::Over);
    }
}

/// Whether the text looks like coordinates of a move.
struct Spelled {
    from: String,
    to: String,
    promotion: String,
}

impl Spelled {
    fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let square = |at: usize| {
            (b'a'..=b'h').contains(&bytes[at]) && (b'1'..=b'8').contains(&bytes[at + 1])
        };
        let shaped = match bytes.len() {
            4 => true,
            5 => b"qrbnk".contains(&bytes[4]),
            _ => false,
        };
        (shaped && square(0) && square(2)).then(|| Self {
            from: text[..2].to_owned(),
            to: text[2..4].to_owned(),
            promotion: text[4..].to_owned(),
        })
    }
}

// Draw offers and takebacks: always answered with "done", whatever their effect.

/// Half-moves before an offer can be repeated.
const PLIES_BETWEEN_OFFERS: usize = 20;

/// The pending offers of both sides.
#[derive(Clone, Debug, Default)]
pub(super) struct Offers {
    draw: [DrawOffer; 2],
    takeback: [Takeback; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct DrawOffer {
    pending: bool,
    last_at_ply: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Takeback {
    pending: bool,
    declined: u32,
    not_before: Millis,
}

impl Offers {
    pub(super) fn draw_offered_by(&self, side: Color) -> bool {
        self.draw[side.index()].pending
    }

    pub(super) fn takeback_proposed_by(&self, side: Color) -> bool {
        self.takeback[side.index()].pending
    }

    /// Either side has moved.
    fn end_takebacks(&mut self) {
        for takeback in &mut self.takeback {
            takeback.pending = false;
        }
    }

    pub(super) fn clear(&mut self) {
        self.end_takebacks();
        for draw in &mut self.draw {
            draw.pending = false;
        }
    }
}

impl ServerGame {
    /// `side` offers a draw, accepts one, or claims a repetition on the board.
    pub(crate) fn draw_yes(&mut self, side: Color, now: Millis) {
        if !self.is_playing() || self.plies() < 2 {
            return;
        }
        if self.has_bare_king(!side) {
            self.finish(Status::InsufficientMaterialClaim, None, now);
        } else if self.game.repetitions() >= 3 {
            self.finish(Status::Draw, None, now);
        } else if self.offers.draw_offered_by(!side) {
            self.changes.push(GameChange::Remark("Draw offer accepted"));
            self.finish(Status::Draw, None, now);
        } else if self.may_offer_draw(side) {
            let ply = self.plies();
            self.offers.draw[side.index()] = DrawOffer {
                pending: true,
                last_at_ply: Some(ply),
            };
            self.changes.push(GameChange::Remark(match side {
                Color::White => "White offers draw",
                Color::Black => "Black offers draw",
            }));
            self.send_state(now);
        }
    }

    /// Whether an offer of `side` would count.
    pub(crate) fn may_offer_draw(&self, side: Color) -> bool {
        let offer = self.offers.draw[side.index()];
        let rested = offer
            .last_at_ply
            .is_none_or(|ply| self.plies() > ply + PLIES_BETWEEN_OFFERS);
        !offer.pending && rested
    }

    /// `side` declines the opponent's offer. Only a chat line reports it.
    pub(crate) fn draw_no(&mut self, side: Color) {
        if self.is_playing() && std::mem::take(&mut self.offers.draw[(!side).index()].pending) {
            self.changes.push(GameChange::Remark(match side {
                Color::White => "White declines draw",
                Color::Black => "Black declines draw",
            }));
        }
    }

    /// Both sides allow takebacks from now on.
    pub(crate) fn allow_takebacks(&mut self) {
        self.setup
            .players
            .iter_mut()
            .for_each(|player_side| player_side.takebacks = true);
    }

    /// Whether takebacks can be proposed at all.
    pub(crate) fn allows_takebacks(&self) -> bool {
        let players = &self.setup.players;
        self.setup.arena.is_none() && players.iter().all(|player_side| player_side.takebacks)
    }

    /// Whether `side` waits for the answer to its proposal.
    pub(crate) fn takeback_proposed_by(&self, side: Color) -> bool {
        self.offers.takeback_proposed_by(side)
    }

    /// `side` proposes a takeback, or accepts one.
    pub(crate) fn takeback_yes(&mut self, side: Color, now: Millis) {
        if !self.is_playing() {
            return;
        }
        if self.offers.takeback_proposed_by(!side) {
            self.take_back_for(!side, now);
            return;
        }
        let allowed = self.allows_takebacks();
        let proposal = &mut self.offers.takeback[side.index()];
        if allowed && self.record.len() >= 2 && !proposal.pending && proposal.not_before <= now {
            proposal.pending = true;
            self.changes.push(GameChange::Remark("Takeback sent"));
            self.send_state(now);
        }
    }

    /// `side` declines the opponent's proposal or withdraws its own.
    pub(crate) fn takeback_no(&mut self, side: Color, now: Millis) {
        if !self.is_playing() {
            return;
        }
        let theirs = &mut self.offers.takeback[(!side).index()];
        if theirs.pending {
            theirs.pending = false;
            theirs.declined += 1;
            let rest = 10 * u64::from(theirs.declined).pow(2);
            theirs.not_before = now + self.setup.timing.seconds(rest);
            self.changes.push(GameChange::Remark("Takeback declined"));
            self.send_state(now);
        } else if std::mem::take(&mut self.offers.takeback[side.index()].pending) {
            self.changes.push(GameChange::Remark("Takeback cancelled"));
            self.send_state(now);
        }
    }

    /// Back to the turn of `proposer`.
    fn take_back_for(&mut self, proposer: Color, now: Millis) {
        let turn = self.turn();
        let undone = if turn == proposer { 2 } else { 1 };
        self.game.takeback(undone);
        self.record
            .truncate(self.record.len().saturating_sub(undone));
        let words: Vec<&str> = self
            .record
            .iter()
            .map(|played| played.stream_uci.as_str())
            .collect();
        self.spelled = words.join(" ");
        self.offers.clear();
        self.claim_due = None;
        self.clock.take_back(turn, undone, self.plies(), now);
        self.turn_since = now;
        self.changes.push(GameChange::Remark("Takeback accepted"));
        self.changes.push(GameChange::TakenBack);
        self.send_state(now);
    }
}
