//! Reading everything that was kept, once, when the bot starts.
//!
//! A word that a later program may have written is skipped, not an error.

use std::time::Duration;

use rusqlite::{Connection, Row};

use super::data::{
    Cooldown, FinishedGame, GameMemory, GuardRow, GuardScope, Interaction, InteractionKind, Limit,
    LimitName, OpponentRow, Origin, QuotaUse, QuotaUseKind, RatedPause, State, TimeSpan,
};
use super::rows::{LAST_GAMES, millis};
use super::timestamp::Timestamp;
use crate::lichess::{GameId, Side, UserId};

/// Whole results at hand after a start.
const RESULTS_AT_HAND: Duration = Duration::from_secs(48 * 3600);

pub(super) fn everything(db: &Connection, now: Timestamp) -> rusqlite::Result<State> {
    let recent = millis(now.before(RESULTS_AT_HAND));
    let results = format!(
        "SELECT * FROM result WHERE at >= {recent}
             OR game IN (SELECT game FROM ({LAST_GAMES}) WHERE nth <= 2)
         ORDER BY at, rowid"
    );
    Ok(State {
        spends: all(db, "SELECT * FROM spend ORDER BY at", spend)?,
        limits: all(db, "SELECT * FROM server_limit", limit)?,
        cooldowns: all(db, "SELECT * FROM cooldown ORDER BY key", cooldown)?,
        opponents: all(db, "SELECT * FROM opponent ORDER BY id", opponent)?,
        results: all(db, &results, result)?,
        encounters: all(db, "SELECT * FROM encounter ORDER BY at", encounter)?,
        games: all(db, "SELECT * FROM game ORDER BY at", game)?,
        guards: all(db, "SELECT * FROM guard", guard)?,
        notes: all(db, "SELECT * FROM note ORDER BY key", |row| {
            Ok(Some((row.get("key")?, row.get("note")?)))
        })?,
    })
}

fn all<T>(
    db: &Connection,
    sql: &str,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<Option<T>>,
) -> rusqlite::Result<Vec<T>> {
    let mut statement = db.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.extend(read(row)?);
    }
    Ok(found)
}

fn moment(row: &Row<'_>, column: &str) -> rusqlite::Result<Timestamp> {
    let millis: i64 = row.get(column)?;
    Ok(Timestamp::from_millis(millis.max(0).unsigned_abs()))
}

fn span(row: &Row<'_>, at: &str, until: &str) -> rusqlite::Result<Option<TimeSpan>> {
    let known: Option<i64> = row.get(at)?;
    if known.is_none() {
        return Ok(None);
    }
    Ok(Some(TimeSpan {
        at: moment(row, at)?,
        until: moment(row, until)?,
    }))
}

fn user(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<UserId>> {
    let name: Option<String> = row.get(column)?;
    Ok(name.as_deref().map(UserId::new))
}

fn side(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Side>> {
    let name: Option<String> = row.get(column)?;
    Ok(match name.as_deref() {
        Some("white") => Some(Side::White),
        Some("black") => Some(Side::Black),
        _ => None,
    })
}

pub(super) fn name_of(side: Side) -> &'static str {
    match side {
        Side::White => "white",
        Side::Black => "black",
    }
}

pub(super) fn name_of_origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Incoming => "incoming",
        Origin::Outgoing => "outgoing",
    }
}

fn spend(row: &Row<'_>) -> rusqlite::Result<Option<QuotaUse>> {
    let origin: Option<String> = row.get("origin")?;
    let begun = row.get("begun")?;
    let what = match origin.as_deref() {
        None => QuotaUseKind::Credits(row.get("credits")?),
        Some("outgoing") => QuotaUseKind::Game {
            origin: Origin::Outgoing,
            begun,
        },
        Some(_) => QuotaUseKind::Game {
            origin: Origin::Incoming,
            begun,
        },
    };
    Ok(Some(QuotaUse {
        key: row.get("key")?,
        at: moment(row, "at")?,
        what,
        opponent: user(row, "opponent")?,
    }))
}

fn limit(row: &Row<'_>) -> rusqlite::Result<Option<Limit>> {
    let name: String = row.get("name")?;
    let Some(name) = LimitName::from_name(&name) else {
        return Ok(None);
    };
    let learned: Option<u32> = row.get("learned")?;
    let learned = match learned {
        Some(most) => Some((most, moment(row, "learned_at")?)),
        None => None,
    };
    Ok(Some(Limit {
        name,
        learned,
        closed: span(row, "closed_at", "closed_until")?,
        strikes: row.get("strikes")?,
    }))
}

fn cooldown(row: &Row<'_>) -> rusqlite::Result<Option<(String, Cooldown)>> {
    let cooldown = Cooldown {
        span: TimeSpan {
            at: moment(row, "at")?,
            until: moment(row, "until")?,
        },
        failures: row.get("failures")?,
        reason: row.get("reason")?,
    };
    Ok(Some((row.get("key")?, cooldown)))
}

fn opponent(row: &Row<'_>) -> rusqlite::Result<Option<OpponentRow>> {
    let id: String = row.get("id")?;
    Ok(Some(OpponentRow {
        id: UserId::new(&id),
        wins: row.get("wins")?,
        draws: row.get("draws")?,
        losses: row.get("losses")?,
        rematches: row.get("rematches")?,
        spent: span(row, "spent_at", "spent_until")?,
        seen: moment(row, "seen")?,
    }))
}

fn result(row: &Row<'_>) -> rusqlite::Result<Option<FinishedGame>> {
    let id: String = row.get("game")?;
    Ok(Some(FinishedGame {
        game: GameId::new(id),
        opponent: user(row, "opponent")?,
        is_bot: row.get("is_bot")?,
        rated: row.get("rated")?,
        color: side(row, "color")?,
        winner: side(row, "winner")?,
        status: row.get("status")?,
        plies: row.get("plies")?,
        opening: row.get("opening")?,
        rating_diff: row.get("rating_diff")?,
        at: moment(row, "at")?,
    }))
}

fn encounter(row: &Row<'_>) -> rusqlite::Result<Option<Interaction>> {
    let kind: String = row.get("kind")?;
    let (Some(kind), Some(opponent)) = (InteractionKind::from_name(&kind), user(row, "opponent")?)
    else {
        return Ok(None);
    };
    Ok(Some(Interaction {
        id: row.get("id")?,
        kind,
        opponent,
        is_bot: row.get("is_bot")?,
        at: moment(row, "at")?,
    }))
}

fn game(row: &Row<'_>) -> rusqlite::Result<Option<(GameId, Timestamp, GameMemory)>> {
    let id: String = row.get("id")?;
    let game = GameMemory {
        greeted: row.get("greeted")?,
        greeted_spectators: row.get("greeted_spectators")?,
        parted: row.get("parted")?,
        parted_spectators: row.get("parted_spectators")?,
        takebacks: row.get("takebacks")?,
        draw_offers: row.get("draw_offers")?,
    };
    Ok(Some((GameId::new(id), moment(row, "at")?, game)))
}

fn guard(row: &Row<'_>) -> rusqlite::Result<Option<GuardRow>> {
    let scope: String = row.get("scope")?;
    let reason: Option<String> = row.get("reason")?;
    let rest = span(row, "rest_at", "rest_until")?.map(|span| RatedPause {
        span,
        reason: reason.unwrap_or_default(),
    });
    Ok(Some(GuardRow {
        scope: GuardScope::from_name(&scope),
        losses: row.get("losses")?,
        from: moment(row, "counted_from")?,
        rest,
    }))
}
