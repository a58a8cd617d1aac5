//! Converts the server's types to records. Pure.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::archive::{
    ChallengeRecord, ChallengeVerdict, Direction, EndingRecord, GameRecord, Millis, MoveRecord,
    Origin, PlayerRecord, TimeControlRecord,
};
use crate::lichess::{
    Challenge, ClockSetting, ColorChoice, ExportedGame, GameFull, GameId, Player, Side, Speed,
    Status, TimeControl, UserId, Variant,
};
use crate::rules::Game;

/// The first line of a game's stream, without its moves.
#[derive(Clone, Debug)]
pub(in crate::bot) struct Header(pub(super) GameRecord);

impl Header {
    /// Converts a game's first line; `None` for other variants.
    pub(in crate::bot) fn of(game: &GameId, full: &GameFull) -> Option<Self> {
        let atomic = matches!(full.variant, Variant::Atomic | Variant::Unknown);
        if !atomic || !full.starts_as_usual() {
            return None;
        }
        let arena = full.tournament.is_some();
        Some(Self(GameRecord {
            id: game.to_string(),
            white: player(&full.white),
            black: player(&full.black),
            rated: full.rated,
            speed: full.speed,
            control: control_of(full.clock, full.days_per_turn, full.speed),
            created: full.created_at.map(epoch),
            origin: if arena {
                Origin::Arena
            } else {
                Origin::Unknown
            },
            tournament: full.tournament.clone(),
            program: Some(concat!("megaton ", env!("CARGO_PKG_VERSION")).to_owned()),
            ..GameRecord::default()
        }))
    }
}

fn control_of(clock: Option<ClockSetting>, days: Option<u32>, speed: Speed) -> TimeControlRecord {
    match (clock, days) {
        (Some(clock), _) => TimeControlRecord::Clock {
            initial: millis(clock.initial),
            increment: millis(clock.increment),
        },
        (None, Some(days)) => TimeControlRecord::Days(days),
        (None, None) if speed == Speed::Correspondence => TimeControlRecord::Unlimited,
        (None, None) => TimeControlRecord::Unknown,
    }
}

fn player(player: &Player) -> PlayerRecord {
    PlayerRecord {
        id: player.id.as_ref().map(ToString::to_string),
        name: player.display_name(),
        title: player.title.clone(),
        rating: player.rating,
        provisional: player.provisional,
        rating_diff: player.rating_diff,
    }
}

/// A challenge as `me` sees it at this time.
pub(super) fn challenge(challenge: &Challenge, me: &UserId, at: Millis) -> ChallengeRecord {
    let by_us = challenge.challenger.as_ref().and_then(|it| it.id.as_ref()) == Some(me);
    let (direction, other) = if by_us {
        (Direction::Out, &challenge.dest_user)
    } else {
        (Direction::In, &challenge.challenger)
    };
    let theirs = match challenge.color {
        ColorChoice::White => Some(Side::White),
        ColorChoice::Black => Some(Side::Black),
        _ => challenge.final_color,
    };
    ChallengeRecord {
        id: challenge.id.to_string(),
        at,
        direction,
        user: player(&other.clone().unwrap_or_default()),
        rated: challenge.rated,
        variant: challenge.variant.as_str().to_owned(),
        speed: challenge.speed,
        control: control(challenge.time_control),
        color: if by_us {
            theirs
        } else {
            theirs.map(Side::other)
        },
        verdict: ChallengeVerdict::Waiting,
        reason: None,
        rule: None,
        why: None,
        settled: None,
    }
}

fn control(control: TimeControl) -> TimeControlRecord {
    match control {
        TimeControl::Clock { limit, increment } => TimeControlRecord::Clock {
            initial: millis(limit),
            increment: millis(increment),
        },
        TimeControl::Correspondence { days } => TimeControlRecord::Days(days),
        TimeControl::Unlimited => TimeControlRecord::Unlimited,
        TimeControl::Unknown => TimeControlRecord::Unknown,
    }
}

/// A game that ended unseen, from its export; `game` is its replay.
pub(super) fn exported(export: &ExportedGame, us: Side, game: &Game, now: Millis) -> GameRecord {
    let created = export.created_at.map(epoch);
    let ended = export.last_move_at.map(epoch).or(created);
    let mut record = GameRecord {
        id: export.id.to_string(),
        white: player(export.players.of(Side::White)),
        black: player(export.players.of(Side::Black)),
        us: Some(us),
        rated: export.rated,
        speed: export.speed,
        control: control_of(export.clock, export.days_per_turn, export.speed),
        initial_fen: export.initial_fen.clone(),
        created,
        joined: created.unwrap_or(now),
        origin: if export.arena {
            Origin::Arena
        } else {
            Origin::Unknown
        },
        ending: Some(EndingRecord {
            status: export.status.unwrap_or(Status::Unknown),
            winner: export.winner,
            at: ended.unwrap_or(now).min(now),
        }),
        ..GameRecord::default()
    };
    let moves = game.moves().iter().zip(game.positions());
    record.moves = moves
        .map(|(&mv, before)| MoveRecord {
            san: Some(before.san(mv)),
            ..MoveRecord::bare(mv.to_string())
        })
        .collect();
    record
}

/// A duration in milliseconds.
pub(in crate::bot) fn millis(time: Duration) -> Millis {
    Millis::try_from(time.as_millis()).unwrap_or(Millis::MAX)
}

/// Milliseconds since the Unix epoch.
pub(in crate::bot) fn epoch(time: SystemTime) -> Millis {
    time.duration_since(UNIX_EPOCH).map_or(0, millis)
}
