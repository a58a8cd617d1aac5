//! Writing one row.

use rusqlite::{Connection, ToSql, params_from_iter};

/// The name of a column and its value.
pub type Column<'a> = (&'a str, &'a dyn ToSql);

/// Writes a row; replaces the one with the same key.
///
/// # Errors
/// When the file cannot be written.
pub fn replace(db: &Connection, table: &str, row: &[Column<'_>]) -> rusqlite::Result<()> {
    let names: Vec<&str> = row.iter().map(|(name, _)| *name).collect();
    upsert(db, table, row, &names)
}

/// Writes a row. Of an existing row with the same key, only the columns in `updated` change.
///
/// # Errors
/// When the file cannot be written.
pub fn upsert(
    db: &Connection,
    table: &str,
    row: &[Column<'_>],
    updated: &[&str],
) -> rusqlite::Result<()> {
    let names: Vec<&str> = row.iter().map(|(name, _)| *name).collect();
    let updated: Vec<String> = updated
        .iter()
        .map(|name| format!("{name} = excluded.{name}"))
        .collect();
    let sql = format!(
        "INSERT INTO {table} ({}) VALUES ({}) ON CONFLICT DO UPDATE SET {}",
        names.join(", "),
        vec!["?"; names.len()].join(", "),
        updated.join(", ")
    );
    let values = params_from_iter(row.iter().map(|(_, value)| value));
    db.prepare_cached(&sql)?.execute(values)?;
    Ok(())
}
