//! The tables: their schema, and how each row is written and read back.
//!
//! A row replaces the one with the same key. A word that a later version may have written is skipped,
//! not an error.

use std::time::Duration;

use rusqlite::{Connection, Row, params};

use super::data::{
    Change, Cooldown, FinishedGame, GameMemory, GuardRow, GuardScope, Interaction, Limit,
    OpponentRow, Origin, QuotaUse, QuotaUseKind, RatedPause, State, TimeSpan,
};
use crate::experience::{LineMistake, PlayedLine};
use crate::lichess::{GameId, Side, UserId};
use crate::sqlite::{Column, Schema, Timestamp, replace, upsert};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Opponents whose totals are kept, the latest seen.
pub const MAX_OPPONENTS: usize = 20_000;
/// How long results are kept, beside the last two of each opponent.
const RESULTS_KEPT: Duration = Duration::from_secs(60 * 24 * 3600);
/// How far back whole results are read at the start.
const RESULTS_READ: Duration = Duration::from_secs(48 * 3600);

/// The games that count between two players (`FinishedGame::counts`), the latest first.
pub(super) const LAST_GAMES: &str = "
    SELECT game, row_number() OVER (PARTITION BY opponent ORDER BY at DESC, rowid DESC) AS nth
    FROM result
    WHERE opponent IS NOT NULL AND color IS NOT NULL AND plies >= 2 AND (winner IS NOT NULL
        OR status NOT IN ('created', 'started', 'aborted', 'noStart', 'unknownFinish', 'unknown'))";

/// The tables as the steps that create them; the application is "MGTN".
pub(super) const SCHEMA: Schema = Schema {
    application: 0x4d47_544e,
    steps: &[
        "
    CREATE TABLE spend (
        key TEXT PRIMARY KEY, at INTEGER NOT NULL, origin TEXT, begun INTEGER NOT NULL,
        credits INTEGER NOT NULL, opponent TEXT
    ) WITHOUT ROWID;
    CREATE TABLE server_limit (
        name TEXT PRIMARY KEY, learned INTEGER, learned_at INTEGER,
        closed_at INTEGER, closed_until INTEGER, strikes INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE cooldown (
        key TEXT PRIMARY KEY, at INTEGER NOT NULL, until INTEGER NOT NULL,
        failures INTEGER NOT NULL, reason TEXT
    ) WITHOUT ROWID;
    CREATE TABLE opponent (
        id TEXT PRIMARY KEY, wins INTEGER NOT NULL, draws INTEGER NOT NULL,
        losses INTEGER NOT NULL, rematches INTEGER NOT NULL,
        spent_at INTEGER, spent_until INTEGER, seen INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE result (
        game TEXT PRIMARY KEY, opponent TEXT, is_bot INTEGER NOT NULL, rated INTEGER NOT NULL,
        color TEXT, winner TEXT, status TEXT NOT NULL, plies INTEGER NOT NULL,
        opening TEXT NOT NULL, rating_diff INTEGER, at INTEGER NOT NULL
    );
    CREATE INDEX result_by_opponent ON result (opponent, at);
    CREATE INDEX result_by_time ON result (at);
    CREATE TABLE encounter (
        kind TEXT NOT NULL, id TEXT NOT NULL, opponent TEXT NOT NULL, is_bot INTEGER NOT NULL,
        at INTEGER NOT NULL, PRIMARY KEY (kind, id)
    ) WITHOUT ROWID;
    CREATE TABLE game (
        id TEXT PRIMARY KEY, at INTEGER NOT NULL, greeted INTEGER NOT NULL,
        greeted_spectators INTEGER NOT NULL, parted INTEGER NOT NULL,
        parted_spectators INTEGER NOT NULL, takebacks INTEGER NOT NULL,
        draw_offers INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE guard (
        scope TEXT PRIMARY KEY, losses INTEGER NOT NULL, counted_from INTEGER NOT NULL,
        rest_at INTEGER, rest_until INTEGER, reason TEXT
    ) WITHOUT ROWID;
    CREATE TABLE note (key TEXT PRIMARY KEY, note TEXT NOT NULL) WITHOUT ROWID;
",
        "
    CREATE TABLE line (
        game TEXT PRIMARY KEY, opponent TEXT, color TEXT NOT NULL, result TEXT NOT NULL,
        moves TEXT NOT NULL, mistake INTEGER, value INTEGER, better TEXT,
        reviewed INTEGER NOT NULL, at INTEGER NOT NULL
    ) WITHOUT ROWID;
    INSERT INTO line (game, opponent, color, result, moves, reviewed, at)
    SELECT game, opponent, color,
        CASE WHEN winner IS NULL THEN 'draw' WHEN winner = color THEN 'win'
            WHEN status IN ('timeout', 'outoftime') THEN 'time' ELSE 'loss' END,
        opening, 0, at
    FROM result
    WHERE color IS NOT NULL AND plies >= 2 AND (winner IS NOT NULL
        OR status NOT IN ('created', 'started', 'aborted', 'noStart', 'unknownFinish', 'unknown'));
",
    ],
};

/// Writes one change.
pub(super) fn write(db: &Connection, change: &Change) -> rusqlite::Result<()> {
    let delete = |table: &str, key: &String| {
        let sql = format!("DELETE FROM {table} WHERE key = ?1");
        db.prepare_cached(&sql)?.execute([key]).map(drop)
    };
    match change {
        Change::Spend(row) => write_spend(db, row),
        Change::Unspend(key) => delete("spend", key),
        Change::Limit(row) => replace(
            db,
            "server_limit",
            &[
                ("name", &row.name.as_str()),
                ("learned", &row.learned.map(|(most, _)| most)),
                ("learned_at", &row.learned.map(|(_, at)| at)),
                ("closed_at", &row.closed.map(|span| span.at)),
                ("closed_until", &row.closed.map(|span| span.until)),
                ("strikes", &row.strikes),
            ],
        ),
        Change::Cooldown(key, Some(row)) => replace(
            db,
            "cooldown",
            &[
                ("key", key),
                ("at", &row.span.at),
                ("until", &row.span.until),
                ("failures", &row.failures),
                ("reason", &row.reason),
            ],
        ),
        Change::Cooldown(key, None) => delete("cooldown", key),
        Change::Opponent(row) => replace(
            db,
            "opponent",
            &[
                ("id", &row.id.as_str()),
                ("wins", &row.wins),
                ("draws", &row.draws),
                ("losses", &row.losses),
                ("rematches", &row.rematches),
                ("spent_at", &row.spent.map(|span| span.at)),
                ("spent_until", &row.spent.map(|span| span.until)),
                ("seen", &row.seen),
            ],
        ),
        Change::Result(row) => write_result(db, row),
        Change::Encounter(row) => replace(
            db,
            "encounter",
            &[
                ("kind", &row.kind.as_str()),
                ("id", &row.id),
                ("opponent", &row.opponent.as_str()),
                ("is_bot", &row.is_bot),
                ("at", &row.at),
            ],
        ),
        Change::Game(id, at, row) => replace(
            db,
            "game",
            &[
                ("id", &id.as_str()),
                ("at", at),
                ("greeted", &row.greeted),
                ("greeted_spectators", &row.greeted_spectators),
                ("parted", &row.parted),
                ("parted_spectators", &row.parted_spectators),
                ("takebacks", &row.takebacks),
                ("draw_offers", &row.draw_offers),
            ],
        ),
        Change::Guard(row) => write_guard(db, row),
        Change::Note(key, Some(note)) => replace(db, "note", &[("key", key), ("note", note)]),
        Change::Note(key, None) => delete("note", key),
        Change::Line(row) => write_line(db, row),
        Change::DropLine(game) => {
            let mut drop_line = db.prepare_cached("DELETE FROM line WHERE game = ?1")?;
            drop_line.execute([game]).map(drop)
        }
        Change::Prune(now) => prune(db, *now),
    }
}

fn write_spend(db: &Connection, row: &QuotaUse) -> rusqlite::Result<()> {
    let (origin, begun, credits) = match row.what {
        QuotaUseKind::Game { origin, begun } => (Some(origin.as_str()), begun, 0),
        QuotaUseKind::Credits(credits) => (None, true, credits),
    };
    let row: [Column<'_>; 6] = [
        ("key", &row.key),
        ("at", &row.at),
        ("origin", &origin),
        ("begun", &begun),
        ("credits", &credits),
        ("opponent", &row.opponent.as_ref().map(UserId::as_str)),
    ];
    replace(db, "spend", &row)
}

/// Of a game that is known already, only the change of the rating can be news.
fn write_result(db: &Connection, row: &FinishedGame) -> rusqlite::Result<()> {
    let row: [Column<'_>; 11] = [
        ("game", &row.game.as_str()),
        ("opponent", &row.opponent.as_ref().map(UserId::as_str)),
        ("is_bot", &row.is_bot),
        ("rated", &row.rated),
        ("color", &row.color.map(Side::as_str)),
        ("winner", &row.winner.map(Side::as_str)),
        ("status", &row.status),
        ("plies", &row.plies),
        ("opening", &row.opening),
        ("rating_diff", &row.rating_diff),
        ("at", &row.at),
    ];
    upsert(db, "result", &row, &["rating_diff", "at"])
}

fn write_guard(db: &Connection, row: &GuardRow) -> rusqlite::Result<()> {
    let rest = row.rest.as_ref();
    let row: [Column<'_>; 6] = [
        ("scope", &row.scope.as_str()),
        ("losses", &row.losses),
        ("counted_from", &row.from),
        ("rest_at", &rest.map(|rest| rest.span.at)),
        ("rest_until", &rest.map(|rest| rest.span.until)),
        ("reason", &rest.map(|rest| rest.reason.as_str())),
    ];
    replace(db, "guard", &row)
}

fn write_line(db: &Connection, row: &PlayedLine) -> rusqlite::Result<()> {
    let mistake = row.mistake.as_ref();
    let row: [Column<'_>; 10] = [
        ("game", &row.game),
        ("opponent", &row.opponent),
        ("color", &Side::from(row.color).as_str()),
        ("result", &row.result.as_str()),
        ("moves", &row.moves),
        (
            "mistake",
            &mistake.and_then(|it| i64::try_from(it.ply).ok()),
        ),
        ("value", &mistake.map(|it| it.value)),
        ("better", &mistake.and_then(|it| it.better.as_deref())),
        ("reviewed", &mistake.is_some_and(|it| it.reviewed)),
        ("at", &i64::try_from(row.at).unwrap_or(i64::MAX)),
    ];
    replace(db, "line", &row)
}

/// Deletes old rows. Age counts from the latest row at most, so that a clock that is years ahead for
/// a moment does not cost everything.
fn prune(db: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    let millis = |length: Duration| i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
    db.prepare_cached(
        "DELETE FROM opponent WHERE seen <
             (SELECT seen FROM opponent ORDER BY seen DESC LIMIT 1 OFFSET ?1 - 1)",
    )?
    .execute([i64::try_from(MAX_OPPONENTS).unwrap_or(i64::MAX)])?;
    for (table, stamp, kept, but) in [
        ("spend", "at", DAY * 2, String::new()),
        ("encounter", "at", DAY * 7, String::new()),
        ("game", "at", DAY * 30, String::new()),
        ("cooldown", "until", DAY * 14, String::new()),
        (
            "result",
            "at",
            RESULTS_KEPT,
            format!("AND game NOT IN (SELECT game FROM ({LAST_GAMES}) WHERE nth <= 2)"),
        ),
    ] {
        let sql = format!(
            "DELETE FROM {table}
             WHERE {stamp} < (SELECT min(?1, max({stamp})) FROM {table}) - ?2 {but}"
        );
        db.prepare_cached(&sql)?
            .execute(params![now, millis(kept)])?;
    }
    db.prepare_cached(
        "DELETE FROM guard WHERE (losses = 0 AND ifnull(rest_until, 0) < ?1 - ?2)
             OR (scope <> '*' AND scope NOT IN (SELECT id FROM opponent))",
    )?
    .execute(params![now, millis(DAY)])?;
    Ok(())
}

/// Reads everything, once, when the bot starts.
pub(super) fn read(db: &Connection, now: Timestamp) -> rusqlite::Result<State> {
    let recent = now.before(RESULTS_READ).as_millis();
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
        lines: all(db, "SELECT * FROM line ORDER BY at, game", line)?,
    })
}

/// The note under a key.
pub(super) fn note(db: &Connection, key: &str) -> rusqlite::Result<String> {
    db.query_row("SELECT note FROM note WHERE key = ?", [key], |row| {
        row.get(0)
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

fn span(row: &Row<'_>, at: &str, until: &str) -> rusqlite::Result<Option<TimeSpan>> {
    let span: (Option<Timestamp>, Option<Timestamp>) = (row.get(at)?, row.get(until)?);
    Ok(span.0.zip(span.1).map(|(at, until)| TimeSpan { at, until }))
}

fn user(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<UserId>> {
    let name: Option<String> = row.get(column)?;
    Ok(name.as_deref().map(UserId::new))
}

fn side(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Side>> {
    let name: Option<String> = row.get(column)?;
    let sides = [Side::White, Side::Black].into_iter();
    Ok(name.and_then(|name| sides.clone().find(|side| side.as_str() == name)))
}

fn spend(row: &Row<'_>) -> rusqlite::Result<Option<QuotaUse>> {
    let origin: Option<String> = row.get("origin")?;
    let begun = row.get("begun")?;
    let what = match origin {
        None => QuotaUseKind::Credits(row.get("credits")?),
        Some(origin) => QuotaUseKind::Game {
            origin: origin.parse().unwrap_or(Origin::Incoming),
            begun,
        },
    };
    Ok(Some(QuotaUse {
        key: row.get("key")?,
        at: row.get("at")?,
        what,
        opponent: user(row, "opponent")?,
    }))
}

fn limit(row: &Row<'_>) -> rusqlite::Result<Option<Limit>> {
    let name: String = row.get("name")?;
    let Ok(name) = name.parse() else {
        return Ok(None);
    };
    let learned: Option<u32> = row.get("learned")?;
    let learned = match learned {
        Some(most) => Some((most, row.get("learned_at")?)),
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
            at: row.get("at")?,
            until: row.get("until")?,
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
        seen: row.get("seen")?,
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
        at: row.get("at")?,
    }))
}

fn encounter(row: &Row<'_>) -> rusqlite::Result<Option<Interaction>> {
    let kind: String = row.get("kind")?;
    let (Some(kind), Some(opponent)) = (kind.parse().ok(), user(row, "opponent")?) else {
        return Ok(None);
    };
    Ok(Some(Interaction {
        id: row.get("id")?,
        kind,
        opponent,
        is_bot: row.get("is_bot")?,
        at: row.get("at")?,
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
    Ok(Some((GameId::new(id), row.get("at")?, game)))
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
        from: row.get("counted_from")?,
        rest,
    }))
}

/// A row of unknown words or numbers is skipped.
fn line(row: &Row<'_>) -> rusqlite::Result<Option<PlayedLine>> {
    let result: String = row.get("result")?;
    let (Some(side), Ok(result)) = (side(row, "color")?, result.parse()) else {
        return Ok(None);
    };
    let (ply, value): (Option<i64>, Option<i32>) = (row.get("mistake")?, row.get("value")?);
    let mistake = match (ply.and_then(|ply| usize::try_from(ply).ok()), value) {
        (Some(ply), Some(value)) => Some(LineMistake {
            ply,
            value,
            better: row.get("better")?,
            reviewed: row.get("reviewed")?,
        }),
        _ => None,
    };
    let at: i64 = row.get("at")?;
    Ok(Some(PlayedLine {
        game: row.get("game")?,
        opponent: row.get("opponent")?,
        color: side.into(),
        result,
        moves: row.get("moves")?,
        mistake,
        at: u64::try_from(at).unwrap_or(0),
    }))
}
