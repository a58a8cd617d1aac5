//! The configuration from outside: the example is the defaults, and what is wrong is said well.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use megaton::config::{Config, ConfigError, KEYS, Takes};

const EXAMPLE: &str = include_str!("../config.example.toml");

/// The complaint about a text that must be refused.
fn complaint(text: &str) -> String {
    Config::parse(text).expect_err(text).to_string()
}

fn names(text: &str) -> BTreeSet<(String, String)> {
    let table: toml::Table = text.parse().expect("TOML");
    table
        .iter()
        .flat_map(|(section, entries)| {
            let entries = entries.as_table().expect("a section").keys();
            entries.map(move |name| (section.clone(), name.clone()))
        })
        .collect()
}

#[test]
fn the_example_is_exactly_the_defaults() {
    assert_eq!(Config::parse(EXAMPLE).unwrap(), Config::default());
    assert_eq!(Config::parse("").unwrap(), Config::default());
}

#[test]
fn the_example_the_settings_and_the_key_table_name_the_same_keys() {
    let settings = names(&toml::to_string(&Config::default()).unwrap());
    let table: BTreeSet<_> = KEYS
        .iter()
        .map(|key| (key.section.to_owned(), key.name.to_owned()))
        .collect();
    assert_eq!(names(EXAMPLE), settings);
    assert_eq!(table, settings);
    assert_eq!(KEYS.len(), table.len());
}

#[test]
fn the_readme_lists_every_key_with_its_default() {
    let readme = include_str!("../README.md");
    let defaults: toml::Table = toml::to_string(&Config::default())
        .unwrap()
        .parse()
        .unwrap();
    let mut rows = readme.lines();
    for key in KEYS {
        let default = &defaults[key.section][key.name];
        let row = format!("| `{}` | `{default}` | ", key.name);
        assert!(
            rows.any(|line| line.contains(&row)),
            "README.md lacks, in its order: {row}"
        );
    }
}

#[test]
fn every_range_ends_where_its_key_says() {
    for key in KEYS {
        let Takes::Whole { min, max, .. } = key.takes else {
            continue;
        };
        let complain = |value: i128| {
            Config::parse(&format!("[{}]\n{} = {value}", key.section, key.name))
                .err()
                .map(|fault| fault.to_string())
                .filter(|text| !text.contains("impossible range"))
        };
        assert_eq!(complain(i128::from(min)), None);
        assert_eq!(complain(i128::from(max)), None);
        for value in [i128::from(min) - 1, i128::from(max) + 1] {
            let said = complain(value).expect("out of range");
            assert!(said.contains(key.name), "{said}");
        }
    }
}

#[test]
fn a_complaint_names_line_key_and_remedy() {
    let cases = [
        (
            "[engine]\nhsah = 64",
            "2: [engine] hsah: unknown key; did you mean `hash`?",
        ),
        (
            "\n[engin]\nhash = 64",
            "2: [engin]: unknown section; did you mean [engine]?",
        ),
        (
            "hash = 64",
            "1: hash: stands outside its section: put it under [engine]",
        ),
        (
            "[lichess]\nhash = 64",
            "2: [lichess] hash: does not belong here: put it under [engine]",
        ),
        (
            "[engine]\n\nhash = \"big\"",
            "3: [engine] hash: wants a whole number of megabytes from 1 to 65536, not \"big\"",
        ),
        (
            "[engine]\nhash = 0",
            "2: [engine] hash: wants a whole number of megabytes from 1 to 65536, not 0",
        ),
        ("[engine]\nhash = 1.5", "not 1.5"),
        (
            "[challenge]\nrated = \"yes\"",
            "2: [challenge] rated: wants true or false, not \"yes\"",
        ),
        (
            "[log]\nformat = \"xml\"",
            "wants one of \"text\", \"json\", not \"xml\"",
        ),
        (
            "[challenge]\nblock = \"someone\"",
            "wants a list of account names",
        ),
        (
            "[challenge]\nblock = [\"no name\"]",
            "\"no name\" is no account name",
        ),
        (
            "[challenge]\nmin_base = 300\nmax_base = 60",
            "2: [challenge] min_base: impossible range: min_base is above max_base",
        ),
        (
            "[game]\noverhead_ceiling = 50",
            "2: [game] overhead_ceiling: impossible range",
        ),
        (
            "[challenge]\nmax_base = 15\nmax_increment = 0",
            "impossible range: Lichess gives bots",
        ),
        ("[lichess]\nurl = \"lichess.org\"", "2: [lichess] url: "),
        (
            "[lichess]\nurl = \"https://lichess.org/api\"",
            "without a path",
        ),
        (
            "[lichess]\ncontact = \"me\\nX-Evil: 1\"",
            "[lichess] contact: goes into a header",
        ),
        ("engine = 3", "1: engine: is a section: write [engine]"),
        ("[[engine]]\nhash = 3", "engine: is a section"),
        ("[engine]\nhash = = 3", "2: this is not TOML"),
        (
            "[engine]\nhash = 3\nhash = 4",
            "3: this is not TOML: duplicate key",
        ),
    ];
    for (text, expected) in cases {
        let said = complaint(text);
        assert!(
            said.contains(expected),
            "{text}\n  said     {said}\n  expected {expected}"
        );
    }
}

#[test]
fn a_token_in_the_config_is_refused_and_never_repeated() {
    let secret = "lip_Sesame0pen";
    for text in [
        format!("[lichess]\ntoken = \"{secret}\""),
        format!("token = \"{secret}\""),
        format!("[lichess]\ntoken_file = \"{secret}\""),
        format!("[lichess]\ncontact = \"{secret}\""),
        format!("[lichess]\n{secret} = 1"),
        format!("[challenge]\nblock = [\"{secret}\"]"),
    ] {
        let said = complaint(&text);
        assert!(
            said.contains("token_file") && said.contains("LICHESS_BOT_TOKEN"),
            "{said}"
        );
        assert!(!said.contains("Sesame"), "{said}");
    }
    for text in [
        format!("token = {secret}"),
        secret.to_owned(),
        format!("[lichess\n{secret}"),
    ] {
        assert!(!complaint(&text).contains("Sesame"), "{text}");
    }
}

#[test]
fn numbers_that_mean_no_limit_become_none() {
    let config = Config::parse("[engine]\nnodes = 1\ndepth = 0x10\nmovetime = 250").unwrap();
    assert_eq!(config.engine.nodes.unwrap().get(), 1);
    assert_eq!(config.engine.depth.unwrap().get(), 16);
    assert_eq!(config.engine.movetime.unwrap().as_millis(), 250);
    assert_eq!(Config::default().engine.nodes, None);
}

#[test]
fn blocked_names_are_found_whatever_their_capitals() {
    let config = Config::parse("[challenge]\nblock = [\"SomeOne\"]").unwrap();
    assert!(config.challenge.blocks("someone"));
    assert!(!config.challenge.blocks("someoneelse"));
}

#[test]
fn a_relative_token_file_starts_at_the_folder_of_the_config() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    fs::write(&path, "[lichess]\ntoken_file = \"secret.txt\"").unwrap();
    let config = Config::read(&path).unwrap();
    assert_eq!(
        config.lichess.token_file.unwrap(),
        folder.path().join("secret.txt")
    );
}

#[test]
fn a_missing_config_is_named() {
    let error = Config::read(Path::new("nowhere/config.toml")).unwrap_err();
    assert!(matches!(error, ConfigError::Unreadable { .. }));
    assert!(error.to_string().contains("nowhere/config.toml"));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC*") {
        let _ = Config::parse(&text);
    }

    #[test]
    fn what_is_written_is_read_back(hash in 1_usize..1000, base in 0_u64..10_000, nodes in 0_u64..9) {
        let mut config = Config::default();
        config.engine.hash = hash;
        config.engine.nodes = std::num::NonZeroU64::new(nodes);
        config.challenge.max_base = std::time::Duration::from_secs(base);
        let text = toml::to_string(&config).unwrap();
        proptest::prop_assert_eq!(Config::parse(&text).unwrap(), config);
    }
}
