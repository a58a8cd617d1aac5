//! The tables of the state, as the steps that make them.

use crate::sqlite::Schema;

/// Files of the state: "MGTN".
pub(super) const SCHEMA: Schema = Schema {
    application: 0x4d47_544e,
    steps: &["
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
"],
};
