//! The tables of the archive, as the steps that create them.

use crate::sqlite::Schema;

/// The application is "MGTA".
///
/// A row of `game` holds everything that lists and statistics need, so that they never read moves.
/// The indexes `game_by_time` and `game_by_opponent` hold what the statistics need, so that they
/// never read rows either. An arena has few games; their rows are read.
pub(super) const SCHEMA: Schema = Schema {
    application: 0x4d47_5441,
    steps: &["
    CREATE TABLE game (
        n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
        began INTEGER NOT NULL, created INTEGER, joined INTEGER NOT NULL, ended INTEGER,
        us TEXT,
        white_id TEXT, white_name TEXT NOT NULL, white_title TEXT, white_rating INTEGER,
        white_provisional INTEGER NOT NULL, white_diff INTEGER,
        black_id TEXT, black_name TEXT NOT NULL, black_title TEXT, black_rating INTEGER,
        black_provisional INTEGER NOT NULL, black_diff INTEGER,
        rated INTEGER NOT NULL, speed TEXT NOT NULL, control TEXT NOT NULL,
        fen TEXT, origin TEXT NOT NULL, tournament TEXT, program TEXT,
        status TEXT, winner TEXT, plies INTEGER NOT NULL,
        result TEXT, opponent TEXT, opponent_bot INTEGER NOT NULL, opening TEXT NOT NULL,
        rating INTEGER, diff INTEGER, opponent_rating INTEGER,
        least_clock INTEGER, hurried INTEGER NOT NULL, lag INTEGER
    );
    CREATE TABLE moves (game INTEGER PRIMARY KEY, packed TEXT NOT NULL);
    CREATE INDEX game_by_time ON game (
        began, result, us, opponent, opponent_bot, speed, rated, status, opening, rating, diff,
        opponent_rating, plies, least_clock, hurried
    );
    CREATE INDEX game_by_opponent ON game (opponent, began);
    CREATE INDEX game_by_status ON game (status, result, began);
    CREATE TABLE challenge (
        n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL,
        direction TEXT NOT NULL, user_id TEXT, user_name TEXT NOT NULL, user_title TEXT,
        user_rating INTEGER, user_provisional INTEGER NOT NULL, rated INTEGER NOT NULL,
        variant TEXT NOT NULL, speed TEXT NOT NULL, control TEXT NOT NULL, color TEXT,
        verdict TEXT NOT NULL, reason TEXT, rule TEXT, why TEXT, settled INTEGER
    );
    CREATE INDEX challenge_by_time ON challenge (at);
    CREATE TABLE event (
        n INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL,
        game TEXT
    );
    CREATE INDEX event_by_time ON event (at);
    CREATE INDEX event_by_game ON event (game, at) WHERE game IS NOT NULL;
", "
    CREATE TABLE review (game TEXT PRIMARY KEY, at INTEGER NOT NULL, data TEXT NOT NULL) WITHOUT ROWID;
    CREATE TRIGGER review_goes AFTER DELETE ON game BEGIN
        DELETE FROM review WHERE game = old.id;
    END;
", "
    DROP INDEX game_by_time;
    CREATE INDEX game_by_time ON game (
        began, result, us, opponent, opponent_bot, speed, rated, status, opening, rating, diff,
        opponent_rating, plies, least_clock, hurried, ended, origin
    );
", "
    DROP INDEX game_by_opponent;
    CREATE INDEX game_by_opponent ON game (
        opponent, began, result, us, opponent_bot, speed, rated, status, opening, diff,
        opponent_rating
    );
", "
    CREATE INDEX game_by_tournament ON game (tournament, began) WHERE tournament IS NOT NULL;
    CREATE INDEX event_by_kind ON event (kind, at);
", "
    CREATE INDEX review_by_time ON review (at);
", "
    CREATE TABLE challenge_json (id TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;
    CREATE TRIGGER challenge_json_goes AFTER DELETE ON challenge BEGIN
        DELETE FROM challenge_json WHERE id = old.id;
    END;
    CREATE TABLE wire (
        n INTEGER PRIMARY KEY, game TEXT NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL,
        text TEXT NOT NULL
    );
    CREATE INDEX wire_by_game ON wire (game);
    CREATE INDEX wire_by_time ON wire (at);
    CREATE TRIGGER wire_goes AFTER DELETE ON game BEGIN
        DELETE FROM wire WHERE game = old.id;
    END;
", "
    UPDATE event SET kind = 'alert' WHERE kind = 'alarm';
    UPDATE event SET kind = 'alert-over' WHERE kind = 'alarm-over';
    UPDATE event SET kind = 'event-loop' WHERE kind = 'porter';
    UPDATE challenge SET rule = CASE rule WHEN 'Alarm' THEN 'Alert' ELSE 'NoSlot' END
    WHERE rule IN ('Alarm', 'NoSeat');
"],
};

#[cfg(test)]
mod tests;
