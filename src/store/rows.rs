//! One change, one statement: how each thing that is kept is written.
//!
//! Statements only; a row replaces the one of the same key.

use std::time::Duration;

use rusqlite::{Connection, params};

use super::data::{
    Change, FinishedGame, GameMemory, GuardRow, Interaction, Limit, OpponentRow, QuotaUse,
    QuotaUseKind,
};
use super::load::{name_of, name_of_origin};
use super::timestamp::Timestamp;
use crate::lichess::{GameId, UserId};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// How long results are kept, beside the last two of each opponent.
pub(super) const RESULTS_KEPT: Duration = Duration::from_secs(60 * 24 * 3600);

/// The games that count between two players (`FinishedGame::counts`), the latest first.
pub(super) const LAST_GAMES: &str = "
    SELECT game, row_number() OVER (PARTITION BY opponent ORDER BY at DESC, rowid DESC) AS nth
    FROM result
    WHERE opponent IS NOT NULL AND color IS NOT NULL AND plies >= 2 AND (winner IS NOT NULL
        OR status NOT IN ('created', 'started', 'aborted', 'noStart', 'unknownFinish', 'unknown'))";

pub(super) fn write(db: &Connection, change: &Change) -> rusqlite::Result<()> {
    match change {
        Change::Spend(row) => spend(db, row),
        Change::Unspend(key) => delete(db, "DELETE FROM spend WHERE key = ?1", key),
        Change::Limit(row) => limit(db, row),
        Change::Cooldown(key, Some(rest)) => run(
            db,
            "INSERT OR REPLACE INTO cooldown (key, at, until, failures, reason)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                key,
                millis(rest.span.at),
                millis(rest.span.until),
                rest.failures,
                rest.reason
            ],
        ),
        Change::Cooldown(key, None) => delete(db, "DELETE FROM cooldown WHERE key = ?1", key),
        Change::Opponent(row) => opponent(db, row),
        Change::Result(row) => result(db, row),
        Change::Encounter(row) => encounter(db, row),
        Change::Game(id, at, row) => game(db, id, *at, row),
        Change::Guard(row) => guard(db, row),
        Change::Note(key, Some(note)) => run(
            db,
            "INSERT OR REPLACE INTO note (key, note) VALUES (?1, ?2)",
            params![key, note],
        ),
        Change::Note(key, None) => delete(db, "DELETE FROM note WHERE key = ?1", key),
        Change::Prune(now) => prune(db, *now),
    }
}

fn run(db: &Connection, sql: &str, values: impl rusqlite::Params) -> rusqlite::Result<()> {
    db.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

fn delete(db: &Connection, sql: &str, key: &str) -> rusqlite::Result<()> {
    run(db, sql, [key])
}

pub(super) fn millis(moment: Timestamp) -> i64 {
    i64::try_from(moment.as_millis()).unwrap_or(i64::MAX)
}

fn spend(db: &Connection, row: &QuotaUse) -> rusqlite::Result<()> {
    let (origin, begun, credits) = match row.what {
        QuotaUseKind::Game { origin, begun } => (Some(name_of_origin(origin)), begun, 0),
        QuotaUseKind::Credits(credits) => (None, true, credits),
    };
    run(
        db,
        "INSERT OR REPLACE INTO spend (key, at, origin, begun, credits, opponent)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            row.key,
            millis(row.at),
            origin,
            begun,
            credits,
            row.opponent.as_ref().map(UserId::as_str)
        ],
    )
}

fn limit(db: &Connection, row: &Limit) -> rusqlite::Result<()> {
    run(
        db,
        "INSERT OR REPLACE INTO server_limit
             (name, learned, learned_at, closed_at, closed_until, strikes)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            row.name.as_str(),
            row.learned.map(|(most, _)| most),
            row.learned.map(|(_, at)| millis(at)),
            row.closed.map(|span| millis(span.at)),
            row.closed.map(|span| millis(span.until)),
            row.strikes
        ],
    )
}

fn opponent(db: &Connection, row: &OpponentRow) -> rusqlite::Result<()> {
    run(
        db,
        "INSERT OR REPLACE INTO opponent
             (id, wins, draws, losses, rematches, spent_at, spent_until, seen)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            row.id.as_str(),
            row.wins,
            row.draws,
            row.losses,
            row.rematches,
            row.spent.map(|span| millis(span.at)),
            row.spent.map(|span| millis(span.until)),
            millis(row.seen)
        ],
    )
}

fn result(db: &Connection, row: &FinishedGame) -> rusqlite::Result<()> {
    run(
        db,
        "INSERT INTO result (game, opponent, is_bot, rated, color, winner, status, plies, opening,
                             rating_diff, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
         ON CONFLICT (game) DO UPDATE SET rating_diff = excluded.rating_diff, at = excluded.at",
        params![
            row.game.as_str(),
            row.opponent.as_ref().map(UserId::as_str),
            row.is_bot,
            row.rated,
            row.color.map(name_of),
            row.winner.map(name_of),
            row.status,
            row.plies,
            row.opening,
            row.rating_diff,
            millis(row.at)
        ],
    )
}

fn encounter(db: &Connection, row: &Interaction) -> rusqlite::Result<()> {
    run(
        db,
        "INSERT OR REPLACE INTO encounter (kind, id, opponent, is_bot, at)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            row.kind.as_str(),
            row.id,
            row.opponent.as_str(),
            row.is_bot,
            millis(row.at)
        ],
    )
}

fn game(db: &Connection, id: &GameId, at: Timestamp, row: &GameMemory) -> rusqlite::Result<()> {
    run(
        db,
        "INSERT OR REPLACE INTO game (id, at, greeted, greeted_spectators, parted,
                                      parted_spectators, takebacks, draw_offers)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            id.as_str(),
            millis(at),
            row.greeted,
            row.greeted_spectators,
            row.parted,
            row.parted_spectators,
            row.takebacks,
            row.draw_offers
        ],
    )
}

fn guard(db: &Connection, row: &GuardRow) -> rusqlite::Result<()> {
    let rest = row.rest.as_ref();
    run(
        db,
        "INSERT OR REPLACE INTO guard (scope, losses, counted_from, rest_at, rest_until, reason)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            row.scope.as_str(),
            row.losses,
            millis(row.from),
            rest.map(|rest| millis(rest.span.at)),
            rest.map(|rest| millis(rest.span.until)),
            rest.map(|rest| rest.reason.as_str())
        ],
    )
}

/// Takes away what is old. Age is measured from the latest row at most: a clock that is years ahead
/// for a moment must not cost everything.
fn prune(db: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    for (table, stamp, kept) in [
        ("spend", "at", DAY * 2),
        ("encounter", "at", DAY * 7),
        ("game", "at", DAY * 30),
        ("cooldown", "until", DAY * 14),
    ] {
        let sql = format!(
            "DELETE FROM {table}
             WHERE {stamp} < (SELECT min(?1, max({stamp})) FROM {table}) - ?2"
        );
        run(db, &sql, params![millis(now), span(kept)])?;
    }
    let results = format!(
        "DELETE FROM result WHERE at < (SELECT min(?1, max(at)) FROM result) - ?2
             AND game NOT IN (SELECT game FROM ({LAST_GAMES}) WHERE nth <= 2)"
    );
    run(db, &results, params![millis(now), span(RESULTS_KEPT)])?;
    run(
        db,
        "DELETE FROM guard WHERE losses = 0 AND ifnull(rest_until, 0) < ?1 - ?2",
        params![millis(now), span(DAY)],
    )
}

fn span(length: Duration) -> i64 {
    i64::try_from(length.as_millis()).unwrap_or(i64::MAX)
}
