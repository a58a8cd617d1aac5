//! Records as rows; the moves of a game have a row of their own.
//!
//! Statements only. A game written again keeps what only the earlier record knew. Columns for lists
//! and statistics are computed here, once, on writing.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::move_codec::{fill_in, pack, unpack};
use super::record::{
    ChallengeRecord, ChallengeVerdict, Direction, EndingRecord, EventRecord, GameRecord, Millis,
    MoveRecord, Origin, Outcome, PlayerRecord, TimeControlRecord, WireRecord,
};
use super::sql_enums;
use crate::lichess::{Side, Speed, Status};
use crate::sqlite::{Column, replace, upsert};

/// Plies by which games are grouped in openings.
pub const OPENING_PLIES: usize = 6;
/// A move is hurried if less time than this is left.
const HURRY: Millis = 10_000;
/// Most pieces of traffic kept of a game.
const MAX_WIRE: i64 = 4000;
/// Longest one, in bytes.
const MAX_WIRE_TEXT: usize = 16 * 1024;

/// Writes a game. What an earlier row knows and this record does not is kept.
pub(super) fn write_game(db: &Connection, game: &GameRecord) -> rusqlite::Result<()> {
    match read_game(db, &game.id)? {
        None => {
            insert_game(db, game)?;
            was_accepted(db, game)
        }
        Some(known) => {
            let mut game = game.clone();
            keep_known(&mut game, known);
            insert_game(db, &game)
        }
    }
}

/// Marks the challenge of a game as accepted, if it was recorded as lapsed while the bot was
/// away.
fn was_accepted(db: &Connection, game: &GameRecord) -> rusqlite::Result<()> {
    let mut accept = db.prepare_cached(
        "UPDATE challenge SET verdict = ?2, why = NULL, settled = ?3
        WHERE id = ?1 AND verdict IN (?4, ?5, ?6)",
    )?;
    accept.execute(params![
        game.id,
        ChallengeVerdict::Accepted.as_str(),
        number(game.began()),
        ChallengeVerdict::Canceled.as_str(),
        ChallengeVerdict::Waiting.as_str(),
        ChallengeVerdict::Failed.as_str()
    ])?;
    Ok(())
}

/// Takes over from an earlier record what a later one does not know.
pub(super) fn keep_known(game: &mut GameRecord, known: GameRecord) {
    fill_in(&mut game.moves, known.moves);
    for side in [Side::White, Side::Black] {
        let earlier = match side {
            Side::White => &known.white,
            Side::Black => &known.black,
        };
        let player = game.player_mut(side);
        if player.id.is_none() && player.name.is_empty() {
            *player = earlier.clone();
        }
        player.title = player.title.take().or_else(|| earlier.title.clone());
        player.rating = player.rating.or(earlier.rating);
        player.rating_diff = player.rating_diff.or(earlier.rating_diff);
    }
    game.us = game.us.or(known.us);
    game.created = game.created.or(known.created);
    if known.joined > 0 {
        game.joined = known.joined;
    }
    if game.speed == Speed::Unknown {
        game.speed = known.speed;
    }
    if game.control == TimeControlRecord::Unknown {
        game.control = known.control;
    }
    if matches!(game.origin, Origin::Unknown | Origin::Imported) {
        game.origin = known.origin;
    }
    game.tournament = game.tournament.take().or(known.tournament);
    game.program = game.program.take().or(known.program);
    // The first one is the one that the bot saw; an export gives the time of the last move.
    let counts = |end: &EndingRecord| game.ending.is_none() || end.is_known();
    game.ending = known.ending.filter(counts).or_else(|| game.ending.take());
}

fn insert_game(db: &Connection, game: &GameRecord) -> rusqlite::Result<()> {
    let (white, black) = (&game.white, &game.black);
    let us = game.us.map(|us| game.player(us));
    let opponent = game.opponent();
    let clocks = clocks(game);
    let ending = game.ending.as_ref();
    let winner = ending.and_then(|ending| ending.winner);
    let row: [Column<'_>; 38] = [
        ("id", &game.id),
        ("began", &number(game.began())),
        ("created", &game.created.map(number)),
        ("joined", &number(game.joined)),
        ("ended", &ending.map(|ending| number(ending.at))),
        ("us", &game.us.map(Side::as_str)),
        ("white_id", &white.id),
        ("white_name", &white.name),
        ("white_title", &white.title),
        ("white_rating", &white.rating),
        ("white_provisional", &white.provisional),
        ("white_diff", &white.rating_diff),
        ("black_id", &black.id),
        ("black_name", &black.name),
        ("black_title", &black.title),
        ("black_rating", &black.rating),
        ("black_provisional", &black.provisional),
        ("black_diff", &black.rating_diff),
        ("rated", &game.rated),
        ("speed", &game.speed.as_str()),
        ("control", &sql_enums::of_control(game.control)),
        ("fen", &game.initial_fen),
        ("origin", &<&str>::from(game.origin)),
        ("tournament", &game.tournament),
        ("program", &game.program),
        ("status", &ending.map(|ending| ending.status.as_str())),
        ("winner", &winner.map(Side::as_str)),
        ("plies", &(game.moves.len() as i64)),
        ("result", &game.our_outcome().map(Outcome::as_str)),
        ("opponent", &opponent.map(PlayerRecord::key)),
        ("opponent_bot", &opponent.is_some_and(PlayerRecord::is_bot)),
        ("opening", &game.opening(OPENING_PLIES)),
        ("rating", &us.and_then(|us| us.rating)),
        ("diff", &us.and_then(|us| us.rating_diff)),
        ("opponent_rating", &opponent.and_then(|it| it.rating)),
        ("least_clock", &clocks.least.map(number)),
        ("hurried", &clocks.hurried),
        ("lag", &clocks.lag.map(number)),
    ];
    replace(db, "game", &row)?;
    let mut moves = db.prepare_cached(
        "INSERT OR REPLACE INTO moves (game, packed)
        VALUES ((SELECT n FROM game WHERE id = ?1), ?2)",
    )?;
    moves.execute(params![game.id, pack(&game.moves)])?;
    Ok(())
}

/// Our clock in a game.
#[derive(Default)]
struct Clocks {
    /// The least time after a move of ours.
    least: Option<Millis>,
    /// Moves after which less than ten seconds, and less than a tenth of the initial time, were
    /// left.
    hurried: u32,
    /// Maximum move overhead.
    lag: Option<Millis>,
}

fn clocks(game: &GameRecord) -> Clocks {
    let short = match game.control {
        TimeControlRecord::Clock { initial, .. } => (initial / 10).min(HURRY),
        _ => 0,
    };
    let mut clocks = Clocks::default();
    for (ply, made) in game.moves.iter().enumerate() {
        if Some(GameRecord::mover(ply)) != game.us {
            continue;
        }
        clocks.lag = clocks.lag.max(made.lag);
        if let Some(clock) = made.clock {
            clocks.least = Some(clocks.least.map_or(clock, |least| least.min(clock)));
            clocks.hurried += u32::from(clock < short);
        }
    }
    clocks
}

/// The columns that `game_of` reads, in its order.
pub(super) const GAME_COLUMNS: &str = "
    n, id, created, joined, ended, us,
    white_id, white_name, white_title, white_rating, white_provisional, white_diff,
    black_id, black_name, black_title, black_rating, black_provisional, black_diff,
    rated, speed, control, fen, origin, tournament, program, status, winner";
/// The number of these columns.
pub(super) const GAME_WIDTH: usize = 27;

/// Reads a record, without its moves.
pub(super) fn game_of(row: &Row<'_>) -> rusqlite::Result<GameRecord> {
    let status: Option<String> = row.get(25)?;
    let winner = sql_enums::word(row, 26)?;
    let ended: Option<i64> = row.get(4)?;
    Ok(GameRecord {
        id: row.get(1)?,
        white: player_of(row, 6)?,
        black: player_of(row, 12)?,
        us: sql_enums::word(row, 5)?,
        rated: row.get(18)?,
        speed: Speed::from_word(&row.get::<_, String>(19)?),
        control: sql_enums::control(&row.get::<_, String>(20)?),
        initial_fen: row.get(21)?,
        created: row.get::<_, Option<i64>>(2)?.map(moment),
        joined: moment(row.get(3)?),
        origin: sql_enums::word(row, 22)?.unwrap_or_default(),
        tournament: row.get(23)?,
        program: row.get(24)?,
        moves: Vec::new(),
        ending: status.map(|status| EndingRecord {
            status: Status::from_word(&status),
            winner,
            at: ended.map(moment).unwrap_or_default(),
        }),
    })
}

fn player_of(row: &Row<'_>, first: usize) -> rusqlite::Result<PlayerRecord> {
    Ok(PlayerRecord {
        id: row.get(first)?,
        name: row.get(first + 1)?,
        title: row.get(first + 2)?,
        rating: row.get(first + 3)?,
        provisional: row.get(first + 4)?,
        rating_diff: row.get(first + 5)?,
    })
}

/// Reads a game with its moves.
pub(super) fn read_game(db: &Connection, id: &str) -> rusqlite::Result<Option<GameRecord>> {
    let sql = format!("SELECT {GAME_COLUMNS} FROM game WHERE id = ?1");
    let mut found = db.prepare_cached(&sql)?;
    let found = found.query_row([id], |row| Ok((row.get(0)?, game_of(row)?)));
    let Some((n, mut game)) = found.optional()? else {
        return Ok(None);
    };
    game.moves = read_moves(db, n)?;
    Ok(Some(game))
}

/// Reads the moves of the game with this number.
pub(super) fn read_moves(db: &Connection, n: i64) -> rusqlite::Result<Vec<MoveRecord>> {
    let mut packed = db.prepare_cached("SELECT packed FROM moves WHERE game = ?1")?;
    let packed: Option<String> = packed.query_row([n], |row| row.get(0)).optional()?;
    Ok(packed.as_deref().map(unpack).unwrap_or_default())
}

/// Writes a challenge; of a known one only the verdict changes, and JSON that was missing is added.
pub(super) fn write_challenge(db: &Connection, asked: &ChallengeRecord) -> rusqlite::Result<()> {
    let user = &asked.user;
    let row: [Column<'_>; 18] = [
        ("id", &asked.id),
        ("at", &number(asked.at)),
        ("direction", &<&str>::from(asked.direction)),
        ("user_id", &user.id),
        ("user_name", &user.name),
        ("user_title", &user.title),
        ("user_rating", &user.rating),
        ("user_provisional", &user.provisional),
        ("rated", &asked.rated),
        ("variant", &asked.variant),
        ("speed", &asked.speed.as_str()),
        ("control", &sql_enums::of_control(asked.control)),
        ("color", &asked.color.map(Side::as_str)),
        ("verdict", &asked.verdict.as_str()),
        ("reason", &asked.reason),
        ("rule", &asked.rule),
        ("why", &asked.why),
        ("settled", &asked.settled.map(number)),
    ];
    let updated = ["verdict", "reason", "rule", "why", "settled"];
    upsert(db, "challenge", &row, &updated)?;
    if let Some(json) = &asked.json {
        let mut kept =
            db.prepare_cached("INSERT OR IGNORE INTO challenge_json (id, json) VALUES (?1, ?2)")?;
        kept.execute(params![asked.id, json])?;
    }
    Ok(())
}

/// The columns that `challenge_of` reads, in its order.
pub(super) const CHALLENGE_COLUMNS: &str = "
    id, at, direction, user_id, user_name, user_title, user_rating, user_provisional, rated,
    variant, speed, control, color, verdict, reason, rule, why, settled";

/// Reads a challenge.
pub(super) fn challenge_of(row: &Row<'_>) -> rusqlite::Result<ChallengeRecord> {
    Ok(ChallengeRecord {
        id: row.get(0)?,
        at: moment(row.get(1)?),
        direction: sql_enums::word(row, 2)?.unwrap_or(Direction::In),
        user: PlayerRecord {
            id: row.get(3)?,
            name: row.get(4)?,
            title: row.get(5)?,
            rating: row.get(6)?,
            provisional: row.get(7)?,
            rating_diff: None,
        },
        rated: row.get(8)?,
        variant: row.get(9)?,
        speed: Speed::from_word(&row.get::<_, String>(10)?),
        control: sql_enums::control(&row.get::<_, String>(11)?),
        color: sql_enums::word(row, 12)?,
        verdict: sql_enums::word(row, 13)?.unwrap_or_default(),
        reason: row.get(14)?,
        rule: row.get(15)?,
        why: row.get(16)?,
        settled: row.get::<_, Option<i64>>(17)?.map(moment),
        json: None,
    })
}

/// Writes a piece of traffic. Of a game with very many only the first are kept; of a very long one
/// its length.
pub(super) fn write_wire(db: &Connection, line: &WireRecord) -> rusqlite::Result<()> {
    let mut kept = db.prepare_cached(
        "INSERT INTO wire (game, at, kind, text) SELECT ?1, ?2, ?3, ?4
        WHERE (SELECT count(*) FROM wire WHERE game = ?1) < ?5",
    )?;
    let text = match line.text.len() {
        length if length > MAX_WIRE_TEXT => &format!("({length} bytes)"),
        _ => &line.text,
    };
    kept.execute(params![
        line.game,
        number(line.at),
        line.kind,
        text,
        MAX_WIRE
    ])?;
    Ok(())
}

/// Reads the traffic of a game in its order.
pub(super) fn read_wire(db: &Connection, game: &str) -> rusqlite::Result<Vec<WireRecord>> {
    let mut found =
        db.prepare_cached("SELECT game, at, kind, text FROM wire WHERE game = ?1 ORDER BY n")?;
    let rows = found.query_map([game], |row| {
        Ok(WireRecord {
            game: row.get(0)?,
            at: moment(row.get(1)?),
            kind: row.get(2)?,
            text: row.get(3)?,
        })
    })?;
    rows.collect()
}

pub(super) fn write_event(db: &Connection, event: &EventRecord) -> rusqlite::Result<()> {
    let mut insert =
        db.prepare_cached("INSERT INTO event (at, kind, text, game) VALUES (?1, ?2, ?3, ?4)")?;
    insert.execute(params![
        number(event.at),
        event.kind,
        event.text,
        event.game
    ])?;
    Ok(())
}

/// The columns that `event_of` reads, in its order.
pub(super) const EVENT_COLUMNS: &str = "at, kind, text, game";

/// Reads an event.
pub(super) fn event_of(row: &Row<'_>) -> rusqlite::Result<EventRecord> {
    Ok(EventRecord {
        at: moment(row.get(0)?),
        kind: row.get(1)?,
        text: row.get(2)?,
        game: row.get(3)?,
    })
}

/// A moment or a duration as the file stores it.
pub(super) fn number(millis: Millis) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}

pub(super) fn moment(number: i64) -> Millis {
    Millis::try_from(number).unwrap_or_default()
}
