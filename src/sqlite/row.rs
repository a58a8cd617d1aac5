//! Writing one row.

use rusqlite::{Connection, ToSql, params_from_iter};

/// The name of a column and its value.
pub type Column<'a> = (&'a str, &'a dyn ToSql);

/// Writes a row. Where a row with the same key exists, only the columns in `updated` change; all of
/// them if `updated` is empty.
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
    let updated = if updated.is_empty() { &names } else { updated };
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
