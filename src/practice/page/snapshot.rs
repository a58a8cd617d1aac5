//! The complete state of a game or challenge, as the server sends it to the page at every change.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::practice::challenge::{ChallengeState, ServerChallenge};
use crate::practice::game::{Played, PlayerSide, ServerGame};
use crate::practice::game_settings::{Status, TimeControl};
use crate::practice::state::ServerState;
use crate::practice::time::Millis;
use crate::rules::{Color, Position, UciStyle};

/// The content of the page.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own that the page shows"
)]
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Snapshot {
    phase: PagePhase,
    reason: Option<String>,
    game: Option<String>,
    color: &'static str,
    you: PlayerJson,
    opponent: PlayerJson,
    fen: String,
    turn: &'static str,
    ply: usize,
    legal: BTreeMap<String, Vec<String>>,
    promotions: Vec<String>,
    moves: Vec<MoveJson>,
    clock: ClockJson,
    status: Status,
    winner: Option<&'static str>,
    draw_offer: Option<&'static str>,
    /// Whether an offer of the player would count: the server ignores one soon after the last.
    may_offer_draw: bool,
    /// Whether neither side can win any more.
    insufficient: bool,
    /// Whether the player may propose a takeback, and whether one waits for an answer.
    may_take_back: bool,
    takeback_asked: bool,
    rating_diff: Option<Diffs>,
}

/// Its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum PagePhase {
    Waiting,
    Playing,
    Over,
    Declined,
}

#[derive(Clone, Debug, Serialize)]
struct PlayerJson {
    name: String,
    rating: i32,
    title: Option<&'static str>,
}

#[derive(Clone, Debug, Serialize)]
struct MoveJson {
    uci: String,
    san: String,
    fen: String,
    blast: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
struct ClockJson {
    white: u64,
    black: u64,
    running: Option<&'static str>,
    initial: u64,
    increment: u64,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Diffs {
    white: i32,
    black: i32,
}

/// One game in the list of games to watch.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WatchedGame {
    id: String,
    white: String,
    black: String,
    fen: String,
    last_move: Option<String>,
    ply: usize,
    status: Status,
}

impl WatchedGame {
    pub(super) fn of(game: &ServerGame) -> Self {
        Self {
            id: game.setup.id.clone(),
            white: game.player_side(Color::White).name.clone(),
            black: game.player_side(Color::Black).name.clone(),
            fen: game.position().fen(),
            last_move: game.record().last().map(|played| played.uci.clone()),
            ply: game.plies(),
            status: game.status(),
        }
    }
}

impl Snapshot {
    /// The game as `side` sees it; a spectator gets the same view without the right to move.
    pub(super) fn of_game(game: &ServerGame, side: Color, playing: bool, now: Millis) -> Self {
        let position = game.position();
        let (legal, promotions) = if playing && game.is_playing() && game.turn() == side {
            legal_moves(position)
        } else {
            (BTreeMap::new(), Vec::new())
        };
        let state = game.state(now);
        Self {
            phase: if game.is_playing() {
                PagePhase::Playing
            } else {
                PagePhase::Over
            },
            reason: None,
            game: Some(game.setup.id.clone()),
            color: side.as_str(),
            you: PlayerJson::at(game.player_side(side)),
            opponent: PlayerJson::at(game.player_side(!side)),
            fen: position.fen(),
            turn: game.turn().as_str(),
            ply: game.plies(),
            legal,
            promotions,
            moves: game.record().iter().map(MoveJson::of).collect(),
            clock: ClockJson {
                white: state.wtime,
                black: state.btime,
                running: game.clock().running().map(Color::as_str),
                ..ClockJson::status(game.setup.settings.time)
            },
            status: game.status(),
            winner: state.winner,
            draw_offer: match (state.wdraw, state.bdraw) {
                (true, _) => Some("white"),
                (_, true) => Some("black"),
                _ => None,
            },
            may_offer_draw: game.plies() >= 2 && game.may_offer_draw(side),
            insufficient: position.insufficient_material(),
            may_take_back: playing
                && game.is_playing()
                && game.allows_takebacks()
                && game.plies() >= 2,
            takeback_asked: game.takeback_proposed_by(side),
            rating_diff: game
                .rating_diffs
                .map(|[white, black]| Diffs { white, black }),
        }
    }

    /// A challenge that is not a game yet, or never will be.
    pub(super) fn of_challenge(state: &ServerState, challenge: &ServerChallenge) -> Self {
        let start = Position::default();
        let (phase, reason) = match challenge.status {
            ChallengeState::Declined(reason) => {
                (PagePhase::Declined, Some(reason.text().to_owned()))
            }
            ChallengeState::Canceled => (
                PagePhase::Declined,
                Some("The challenge was withdrawn.".to_owned()),
            ),
            _ => (PagePhase::Waiting, None),
        };
        Self {
            phase,
            reason,
            game: None,
            color: challenge.color.as_str(),
            you: PlayerJson::of(state, &challenge.challenger),
            opponent: PlayerJson::of(state, &challenge.dest),
            fen: start.fen(),
            turn: "white",
            ply: 0,
            legal: BTreeMap::new(),
            promotions: Vec::new(),
            moves: Vec::new(),
            clock: ClockJson::status(challenge.request.settings.time),
            status: Status::Started,
            winner: None,
            draw_offer: None,
            may_offer_draw: false,
            insufficient: false,
            may_take_back: false,
            takeback_asked: false,
            rating_diff: None,
        }
    }
}

impl PlayerJson {
    fn at(player_side: &PlayerSide) -> Self {
        Self {
            name: player_side.name.clone(),
            rating: player_side.rating.shown(),
            title: player_side.title,
        }
    }

    fn of(state: &ServerState, user: &str) -> Self {
        let account = state.account(user);
        Self {
            name: state.name_of(user),
            rating: account.map_or(1500, |account| account.rating.shown()),
            title: account.and_then(crate::practice::account::Account::title),
        }
    }
}

impl MoveJson {
    fn of(played: &Played) -> Self {
        Self {
            uci: played.uci.clone(),
            san: played.san.clone(),
            fen: played.fen.clone(),
            blast: played.blast.iter().map(ToString::to_string).collect(),
        }
    }
}

impl ClockJson {
    /// The clock before it runs.
    fn status(time: TimeControl) -> Self {
        let (initial, increment) = match time {
            TimeControl::Clock { limit, increment } => {
                (u64::from(limit) * 1000, u64::from(increment) * 1000)
            }
            TimeControl::Correspondence { days } => (u64::from(days) * 86_400_000, 0),
            TimeControl::Unlimited => (0, 0),
        };
        Self {
            white: initial,
            black: initial,
            running: None,
            initial,
            increment,
        }
    }
}

/// Where every piece can go, and which of these moves promote.
fn legal_moves(position: &Position) -> (BTreeMap<String, Vec<String>>, Vec<String>) {
    let mut legal: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut promotions = Vec::new();
    for mv in position.legal_moves() {
        let uci = mv.uci(UciStyle::Standard).to_string();
        let (from, to) = (&uci[..2], &uci[2..4]);
        let targets = legal.entry(from.to_owned()).or_default();
        if !targets.iter().any(|target| target == to) {
            targets.push(to.to_owned());
            if mv.promotion().is_some() {
                promotions.push(uci[..4].to_owned());
            }
        }
    }
    (legal, promotions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promotion_is_one_target_and_marked() {
        let position = Position::from_fen("8/4P3/1k6/8/8/8/8/R3K3 w Q - 0 1").unwrap();
        let (legal, promotions) = legal_moves(&position);
        assert_eq!(legal["e7"], ["e8"]);
        assert_eq!(promotions, ["e7e8"]);
        assert!(
            legal["e1"].contains(&"c1".to_owned()),
            "castling is the king's step"
        );
    }
}
