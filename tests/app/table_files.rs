//! `megaton tables` on files of tables that are incomplete or cannot be written.

use std::fs;
use std::path::Path;

use super::program::megaton;

#[test]
fn statistics_of_a_cut_file_name_what_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let cut = folder.path().join("cut.bin").display().to_string();
    let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/tables/outcomes.bin");
    let bytes = fs::read(whole).expect("the program's tables");
    fs::write(&cut, &bytes[..5000]).expect("a file");
    let ran = megaton(&["tables", "stats", &cut]);
    assert_eq!(ran.status, Some(1), "{}{}", ran.stdout, ran.stderr);
    let (rows, faults): (Vec<&str>, Vec<&str>) =
        ran.stdout.lines().partition(|line| !line.contains(": "));
    assert!(faults[0].ends_with(": the file is cut"), "{faults:?}");
    for fault in faults {
        let name = fault.split(':').next().expect("a name");
        let row = format!("{name} ");
        assert!(!rows.iter().any(|line| line.starts_with(&row)), "{fault}");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_found_before_the_tables_are_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("missing/tables.bin");
    let ran = megaton(&["tables", "generate", "--out", &out.display().to_string()]);
    assert_eq!(ran.status, Some(2), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("--out"), "{}", ran.stderr);
}
