//! One record, one row (and the moves of a game another): how each thing is written and read back.
//!
//! Statements only. A game written again keeps what only the earlier record knew; what lists and
//! statistics ask for is worked out here, once, when it is written.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::move_codec::{fill_in, pack, unpack};
use super::record::{
    ChallengeRecord, ChallengeVerdict, EndingRecord, EventRecord, GameRecord, Millis, PlayerRecord,
    TimeControlRecord,
};
use super::sql_enums;
use crate::lichess::{Side, Speed, Status};

/// Half-moves by which games are grouped in openings.
pub const OPENING_PLIES: usize = 6;
/// On a clock below this a move is hurried.
const HURRY: Millis = 10_000;

const WRITE_GAME: &str = "
    INSERT INTO game (
        id, began, created, joined, ended, us,
        white_id, white_name, white_title, white_rating, white_provisional, white_diff,
        black_id, black_name, black_title, black_rating, black_provisional, black_diff,
        rated, speed, control, fen, origin, tournament, program, status, winner, plies,
        result, opponent, opponent_bot, opening, rating, diff, opponent_rating,
        least_clock, hurried, lag
    ) VALUES (
        ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
        ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38
    ) ON CONFLICT (id) DO UPDATE SET
        began = excluded.began, created = excluded.created, joined = excluded.joined,
        ended = excluded.ended, us = excluded.us, white_id = excluded.white_id,
        white_name = excluded.white_name, white_title = excluded.white_title,
        white_rating = excluded.white_rating, white_provisional = excluded.white_provisional,
        white_diff = excluded.white_diff, black_id = excluded.black_id,
        black_name = excluded.black_name, black_title = excluded.black_title,
        black_rating = excluded.black_rating, black_provisional = excluded.black_provisional,
        black_diff = excluded.black_diff, rated = excluded.rated, speed = excluded.speed,
        control = excluded.control, fen = excluded.fen, origin = excluded.origin,
        tournament = excluded.tournament, program = excluded.program, status = excluded.status,
        winner = excluded.winner, plies = excluded.plies, result = excluded.result,
        opponent = excluded.opponent, opponent_bot = excluded.opponent_bot,
        opening = excluded.opening, rating = excluded.rating, diff = excluded.diff,
        opponent_rating = excluded.opponent_rating, least_clock = excluded.least_clock,
        hurried = excluded.hurried, lag = excluded.lag
    RETURNING n";

/// Writes a game; what an earlier row knows and this record does not stays known.
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

/// A challenge of which it was thought that nothing came, while the bot was away, has become this game.
fn was_accepted(db: &Connection, game: &GameRecord) -> rusqlite::Result<()> {
    let mut accept = db.prepare_cached(
        "UPDATE challenge SET verdict = ?2, why = NULL, settled = ?3
        WHERE id = ?1 AND verdict IN (?4, ?5)",
    )?;
    accept.execute(params![
        game.id,
        ChallengeVerdict::Accepted.as_str(),
        number(game.began()),
        ChallengeVerdict::Canceled.as_str(),
        ChallengeVerdict::Waiting.as_str()
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
    if known.joined > 0 && known.joined < game.joined {
        game.joined = known.joined;
    }
    if game.speed == Speed::Unknown {
        game.speed = known.speed;
    }
    if game.control == TimeControlRecord::Unknown {
        game.control = known.control;
    }
    if matches!(
        game.origin,
        super::Origin::Unknown | super::Origin::Imported
    ) {
        game.origin = known.origin;
    }
    game.tournament = game.tournament.take().or(known.tournament);
    game.program = game.program.take().or(known.program);
    game.ending = game.ending.take().or(known.ending);
}

fn insert_game(db: &Connection, game: &GameRecord) -> rusqlite::Result<()> {
    let (white, black) = (&game.white, &game.black);
    let us = game.us.map(|us| game.player(us));
    let opponent = game.opponent();
    let clocks = clocks(game);
    let ending = game.ending.as_ref();
    let mut insert = db.prepare_cached(WRITE_GAME)?;
    let n: i64 = insert.query_row(
        params![
            game.id,
            number(game.began()),
            game.created.map(number),
            number(game.joined),
            ending.map(|ending| number(ending.at)),
            game.us.map(Side::as_str),
            white.id,
            white.name,
            white.title,
            white.rating,
            white.provisional,
            white.rating_diff,
            black.id,
            black.name,
            black.title,
            black.rating,
            black.provisional,
            black.rating_diff,
            game.rated,
            game.speed.as_str(),
            sql_enums::of_control(game.control),
            game.initial_fen,
            sql_enums::of_origin(game.origin),
            game.tournament,
            game.program,
            ending.map(|ending| ending.status.as_str()),
            ending.and_then(|ending| ending.winner).map(Side::as_str),
            game.moves.len() as i64,
            game.our_outcome().map(sql_enums::of_outcome),
            opponent.map(|opponent| opponent
                .id
                .clone()
                .unwrap_or_else(|| opponent.name.to_lowercase())),
            opponent.is_some_and(PlayerRecord::is_bot),
            game.opening(OPENING_PLIES),
            us.and_then(|us| us.rating),
            us.and_then(|us| us.rating_diff),
            opponent.and_then(|opponent| opponent.rating),
            clocks.least.map(number),
            clocks.hurried,
            clocks.lag.map(number),
        ],
        |row| row.get(0),
    )?;
    let mut moves =
        db.prepare_cached("INSERT OR REPLACE INTO moves (game, packed) VALUES (?1, ?2)")?;
    moves.execute(params![n, pack(&game.moves)])?;
    Ok(())
}

/// How our clock fared in a game.
struct Clocks {
    /// The least it showed after a move of ours.
    least: Option<Millis>,
    /// Moves after which less than ten seconds, and less than a tenth of the clock at the start, were left.
    hurried: u32,
    /// The most that a move cost beside our thinking.
    lag: Option<Millis>,
}

fn clocks(game: &GameRecord) -> Clocks {
    let short = match game.control {
        TimeControlRecord::Clock { initial, .. } => (initial / 10).min(HURRY),
        _ => 0,
    };
    let mut clocks = Clocks {
        least: None,
        hurried: 0,
        lag: None,
    };
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
/// How many they are.
pub(super) const GAME_WIDTH: usize = 27;

/// A record without its moves.
pub(super) fn game_of(row: &Row<'_>) -> rusqlite::Result<GameRecord> {
    let status: Option<String> = row.get(25)?;
    let winner: Option<String> = row.get(26)?;
    let ended: Option<i64> = row.get(4)?;
    let us: Option<String> = row.get(5)?;
    Ok(GameRecord {
        id: row.get(1)?,
        white: player_of(row, 6)?,
        black: player_of(row, 12)?,
        us: us.as_deref().and_then(sql_enums::side),
        rated: row.get(18)?,
        speed: Speed::from_word(&row.get::<_, String>(19)?),
        control: sql_enums::control(&row.get::<_, String>(20)?),
        initial_fen: row.get(21)?,
        created: row.get::<_, Option<i64>>(2)?.map(moment),
        joined: moment(row.get(3)?),
        origin: sql_enums::origin(&row.get::<_, String>(22)?),
        tournament: row.get(23)?,
        program: row.get(24)?,
        moves: Vec::new(),
        ending: status.map(|status| EndingRecord {
            status: Status::from_word(&status),
            winner: winner.as_deref().and_then(sql_enums::side),
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

/// A game with its moves, if it is kept.
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

/// The moves of the game with this number.
pub(super) fn read_moves(
    db: &Connection,
    n: i64,
) -> rusqlite::Result<Vec<super::record::MoveRecord>> {
    let mut packed = db.prepare_cached("SELECT packed FROM moves WHERE game = ?1")?;
    let packed: Option<String> = packed.query_row([n], |row| row.get(0)).optional()?;
    Ok(packed.as_deref().map(unpack).unwrap_or_default())
}

/// Writes a challenge; a later verdict replaces an earlier one.
pub(super) fn write_challenge(db: &Connection, asked: &ChallengeRecord) -> rusqlite::Result<()> {
    let user = &asked.user;
    let mut insert = db.prepare_cached(
        "INSERT INTO challenge (
            id, at, direction, user_id, user_name, user_title, user_rating, user_provisional, rated,
            variant, speed, control, color, verdict, reason, rule, why, settled
        ) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
        ON CONFLICT (id) DO UPDATE SET
            verdict = excluded.verdict, reason = excluded.reason, rule = excluded.rule,
            why = excluded.why, settled = excluded.settled",
    )?;
    insert.execute(params![
        asked.id,
        number(asked.at),
        sql_enums::of_direction(asked.direction),
        user.id,
        user.name,
        user.title,
        user.rating,
        user.provisional,
        asked.rated,
        asked.variant,
        asked.speed.as_str(),
        sql_enums::of_control(asked.control),
        asked.color.map(Side::as_str),
        asked.verdict.as_str(),
        asked.reason,
        asked.rule,
        asked.why,
        asked.settled.map(number),
    ])?;
    Ok(())
}

/// The columns that `challenge_of` reads, in its order.
pub(super) const CHALLENGE_COLUMNS: &str = "
    id, at, direction, user_id, user_name, user_title, user_rating, user_provisional, rated,
    variant, speed, control, color, verdict, reason, rule, why, settled";

/// A challenge as it was written.
pub(super) fn challenge_of(row: &Row<'_>) -> rusqlite::Result<ChallengeRecord> {
    let color: Option<String> = row.get(12)?;
    Ok(ChallengeRecord {
        id: row.get(0)?,
        at: moment(row.get(1)?),
        direction: sql_enums::direction(&row.get::<_, String>(2)?),
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
        color: color.as_deref().and_then(sql_enums::side),
        verdict: sql_enums::verdict(&row.get::<_, String>(13)?),
        reason: row.get(14)?,
        rule: row.get(15)?,
        why: row.get(16)?,
        settled: row.get::<_, Option<i64>>(17)?.map(moment),
    })
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

/// An event as it was written.
pub(super) fn event_of(row: &Row<'_>) -> rusqlite::Result<EventRecord> {
    Ok(EventRecord {
        at: moment(row.get(0)?),
        kind: row.get(1)?,
        text: row.get(2)?,
        game: row.get(3)?,
    })
}

/// A moment or a span as it stands in the file.
pub(super) fn number(millis: Millis) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}

pub(super) fn moment(number: i64) -> Millis {
    Millis::try_from(number).unwrap_or_default()
}
