//! The configuration from outside: the example equals the defaults, and errors are helpful.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use megaton::config::{self, Config, ConfigError, Entry, Key, SECTIONS, Section, Takes};

const EXAMPLE: &str = include_str!("../config.example.toml");

/// The complaint about a text that must be refused.
fn complaint(text: &str) -> String {
    Config::parse(text).expect_err(text).to_string()
}

fn expect(text: &str, expected: &str) {
    let said = complaint(text);
    assert!(
        said.contains(expected),
        "{text}\n  said     {said}\n  expected {expected}"
    );
}

/// The path of every key in a text.
fn names(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let table: toml::Table = text.parse().expect("TOML");
    collect("", &table, &mut names);
    names
}

fn collect(path: &str, table: &toml::Table, names: &mut BTreeSet<String>) {
    for (name, value) in table {
        let path = format!("{path}.{name}");
        let first = value.as_array().and_then(|items| items.first());
        match first.unwrap_or(value).as_table() {
            Some(inner) => collect(&path, inner, names),
            None => drop(names.insert(path)),
        }
    }
}

fn keys() -> impl Iterator<Item = (&'static Section, &'static Key)> {
    let of = |section: &'static Section| section.keys.iter().map(move |key| (section, key));
    SECTIONS.iter().flat_map(of)
}

#[test]
fn the_example_is_exactly_the_defaults() {
    assert_eq!(Config::parse(EXAMPLE).unwrap(), Config::default());
    assert_eq!(Config::parse("").unwrap(), Config::default());
}

#[test]
fn the_example_the_settings_and_the_key_table_name_the_same_keys() {
    let settings = names(&toml::to_string(&Config::default()).unwrap());
    let table: BTreeSet<_> = keys()
        .map(|(section, key)| format!(".{}.{}", section.path, key.name))
        .collect();
    assert_eq!(names(EXAMPLE), settings);
    assert_eq!(table, settings);
    assert_eq!(keys().count(), table.len());
}

/// The default of a key, as it is written.
fn default_of(section: &Section, key: &Key) -> String {
    let written = toml::to_string(&Config::default()).expect("settings are TOML");
    let defaults: toml::Table = written.parse().expect("TOML");
    let mut table = &defaults;
    for part in section.path.split('.') {
        let value = &table[part];
        table = value.as_table().unwrap_or_else(|| {
            let first = value.get(0).expect("a section");
            first.as_table().expect("a section")
        });
    }
    table[key.name].to_string()
}

/// The range of a key as docs/configuration.md writes it; empty where words describe it.
fn range_of(key: &Key) -> String {
    match key.takes {
        Takes::Flag => "`true`, `false` |".to_owned(),
        Takes::Whole { min, max, .. } if max == i64::MAX => format!("from {min} |"),
        Takes::Whole { min, max, .. } => format!("{min} to {max} |"),
        Takes::Choice(words) => {
            let quoted: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
            format!("{} |", quoted.join(", "))
        }
        _ => String::new(),
    }
}

#[test]
fn the_configuration_page_lists_every_key_with_default_and_range_and_no_other() {
    let page = include_str!("../docs/configuration.md");
    let mut expected = Vec::new();
    for section in SECTIONS {
        let title = section.title();
        // The keys for bots are those for humans: one row refers to them.
        if section.path == "challenge.bots" {
            expected.push(format!("| `{title}` | | | | "));
            continue;
        }
        for key in section.keys {
            let (default, range) = (default_of(section, key), range_of(key));
            expected.push(format!(
                "| `{title}` | `{}` | `{default}` | {range}",
                key.name
            ));
        }
    }
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| `["))
        .collect();
    for (row, start) in rows.iter().zip(&expected) {
        assert!(
            row.starts_with(start),
            "docs/configuration.md says\n  {row}\nwhere the settings want\n  {start}"
        );
    }
    assert_eq!(rows.len(), expected.len(), "docs/configuration.md");
}

#[test]
fn every_range_ends_where_its_key_says() {
    for (section, key) in keys() {
        let Takes::Whole { min, max, .. } = key.takes else {
            continue;
        };
        let complain = |value: i128| {
            Config::parse(&format!("{}\n{} = {value}", section.title(), key.name))
                .err()
                .map(|fault| fault.to_string())
                .filter(|text| text.contains("must be"))
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
fn an_error_about_the_page_or_alerts_names_line_key_and_remedy() {
    let cases = [
        (
            "[panel]\nlisten = \"0.0.0.0:8650\"\ntoken_file = \"x\"\ntrust_local = true",
            "4: [panel] trust_local: requests for 0.0.0.0:8650 may come from other machines",
        ),
        (
            "[alerts]\nformat = \"telegram\"",
            "2: [alerts] format: \"telegram\" needs chat_id",
        ),
        (
            "[alerts]\nchat_id = \"-1001234\"",
            "2: [alerts] chat_id: is for Telegram",
        ),
        (
            "[alerts]\nformat = \"telegram\"\nchat_id = \"my chat\"",
            "3: [alerts] chat_id: is not the id of a chat",
        ),
        (
            "[alerts]\nmute = [\"deaf\", \"dead\"]",
            "2: [alerts] mute: \"dead\" is none of token, scopes",
        ),
    ];
    for (text, expected) in cases {
        expect(text, expected);
    }
}

#[test]
fn an_error_names_line_key_and_remedy() {
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
            "1: hash: is outside its section: put it under [engine]",
        ),
        (
            "[lichess]\nhash = 64",
            "2: [lichess] hash: does not belong here: put it under [engine]",
        ),
        (
            "[engine]\n\nhash = \"big\"",
            "3: [engine] hash: must be a whole number of megabytes from 1 to 65536, not \"big\"",
        ),
        (
            "[engine]\nhash = 0",
            "2: [engine] hash: must be a whole number of megabytes from 1 to 65536, not 0",
        ),
        ("[engine]\nhash = 1.5", "not 1.5"),
        (
            "[challenge.bots]\nrated = \"yes\"",
            "2: [challenge.bots] rated: must be true or false, not \"yes\"",
        ),
        (
            "[log]\nformat = \"xml\"",
            "must be one of \"text\", \"json\", not \"xml\"",
        ),
        (
            "[challenge]\nblock = \"someone\"",
            "must be a list of account names",
        ),
        (
            "[challenge]\nblock = [\"fine\",\n  \"no name\"]",
            "3: [challenge] block: \"no name\" is not an account name",
        ),
        ("[lichess]\nurl = \"lichess.org\"", "2: [lichess] url: "),
        (
            "[log]\nfile = \"data/games\"",
            "2: [log] file: write a name that ends in .log",
        ),
        (
            "[explorer]\nurl = \"https://explorer.example.org\"",
            "2: [explorer] url: \"https://explorer.example.org\": it gets the token, so its host must be",
        ),
        (
            "[online_tables]\nurl = \"http://tablebase.lichess.org\"",
            "it must begin with https://; http:// is for this machine only",
        ),
        ("[online_tables]\nmin_clock = 10", "from 60 to 10800"),
        (
            "[lichess]\nurl = \"https://lichess.org/api\"",
            "without a path",
        ),
        (
            "[challenge.bots]\nrepeat_window = 2592000",
            "repeat_window: must be a whole number of seconds from 1 to 604800",
        ),
        (
            "[panel]\nlisten = \"8650\"",
            "2: [panel] listen: is not an address and port",
        ),
        (
            "[panel]\n\nlisten = \"0.0.0.0:8650\"",
            "3: [panel] listen: 0.0.0.0:8650 can be reached from other machines: set token_file",
        ),
        (
            "[panel]\nhosts = [\"localhost\", \"bot.example.org\"]",
            "2: [panel] hosts: requests for bot.example.org need a password: set token_file",
        ),
        (
            "[panel]\nhosts = [\"https://bot.example.org\"]",
            "2: [panel] hosts: is not a host name",
        ),
        ("engine = 3", "1: engine: is a section: write [engine]"),
        ("[[engine]]\nhash = 3", "engine: is a section"),
        ("[engine]\nhash = = 3", "2: invalid TOML"),
        (
            "[engine]\nhash = 3\nhash = 4",
            "3: invalid TOML: duplicate key hash: keep one",
        ),
        (
            "[panel]\n[engine]\n[panel]",
            "3: invalid TOML: duplicate key panel: keep one",
        ),
    ];
    for (text, expected) in cases {
        expect(text, expected);
    }
}

#[test]
fn text_without_quotes_and_a_missing_value_are_named() {
    for (text, expected) in [
        (
            "[log]\nlevel = info # or debug",
            "2: invalid TOML: invalid float, expected `inf`; text needs quotes: key = \"text\"",
        ),
        (
            "[panel]\nlisten = 127.0.0.1:8650",
            "; text needs quotes: key = \"text\"",
        ),
        (
            "[challenge]\nqueue = # empty\nat_once = 2",
            "; the value is missing",
        ),
    ] {
        expect(text, expected);
    }
}

#[test]
fn the_explorer_gets_no_token_of_another_server() {
    let text = |server: &str, explorer: &str, enabled: bool| {
        format!(
            "[lichess]\nurl = \"{server}\"\n[explorer]\nurl = \"{explorer}\"\nenabled = {enabled}"
        )
    };
    let (lichess, explorer) = ("https://lichess.org", "https://explorer.lichess.org");
    let (other, here) = ("https://lichess.example.org", "http://127.0.0.1:8650");
    for (server, explorer, enabled) in [
        (lichess, explorer, true),
        (lichess, here, true),
        (here, here, true),
        (other, here, true),
        (other, explorer, false),
        (here, explorer, false),
    ] {
        let parsed = Config::parse(&text(server, explorer, enabled));
        assert!(parsed.is_ok(), "{server} {explorer}: {parsed:?}");
    }
    for server in [other, here, "https://lichess.org.example.org"] {
        let expected = format!(
            "5: [explorer] enabled: {explorer} would get the token of {server}: set it to false"
        );
        expect(&text(server, explorer, true), &expected);
    }
}

#[test]
fn a_contact_is_fit_for_a_header_and_no_account_name() {
    let cases = [
        (
            "[lichess]\ncontact = \"me\\nX-Evil: 1\"",
            "[lichess] contact: goes into a header",
        ),
        (
            "[lichess]\ncontact = \"@lukas:matrix.org\"",
            "2: [lichess] contact: Lichess would read \"as:matrix\" as an account name",
        ),
        (
            "[lichess]\ncontact = \"my Lichess User: Some-one\"",
            "2: [lichess] contact: Lichess would read \"User: Some-one\" as an account name",
        ),
    ];
    for (text, expected) in cases {
        expect(text, expected);
    }
}

#[test]
fn sections_within_sections_are_named_as_they_are_written() {
    let cases = [
        (
            "[challenge]\nrated = true",
            "2: [challenge] rated: does not belong here: put it under [challenge.humans] or \
             [challenge.bots]",
        ),
        (
            "[challenge]\nhumans = false",
            "2: challenge.humans: is a section: write [challenge.humans] on a line of its own",
        ),
        (
            "[challenge.human]\nrated = true",
            "1: [challenge.human]: unknown section; did you mean [challenge.humans]?",
        ),
        (
            "[challenge.others]\nrated = true",
            "[challenge.others]: unknown section; the sections are [challenge.humans], \
             [challenge.bots]",
        ),
        (
            "[challenge.bots]\nmin_bsae = 1",
            "2: [challenge.bots] min_bsae: unknown key; did you mean `min_base`?",
        ),
        (
            "challenge.bots.min_base = -1",
            "1: [challenge.bots] min_base: must be",
        ),
        (
            "[matchmaking.profile]\nbase = 1",
            "write [[matchmaking.profile]]",
        ),
        (
            "[matchmaking]\nprofile = [1]",
            "write [[matchmaking.profile]]",
        ),
        (
            "[[matchmaking.profile]]\nname = \"a\"\n[[matchmaking.profile]]\nbsae = 60",
            "4: [[matchmaking.profile]] bsae: unknown key; did you mean `base`?",
        ),
        (
            "[[matchmaking.profile]]\n[[matchmaking.profile]]\nname = \"b\"\nweight = 0",
            "4: [[matchmaking.profile]] weight: must be a whole number of parts from 1 to 1000",
        ),
        ("[engine.more]\nhash = 1", "[engine] more: unknown key"),
        (
            "accept = true",
            "put it under [challenge.humans] or [challenge.bots]",
        ),
    ];
    for (text, expected) in cases {
        expect(text, expected);
    }
}

#[test]
fn contradictory_settings_are_reported() {
    let cases = [
        (
            "[challenge.humans]\nmin_base = 300\nmax_base = 60".to_owned(),
            "2: [challenge.humans] min_base: impossible range: min_base is above max_base",
        ),
        (
            "[challenge.bots]\nmax_rating = 1500\nmin_rating = 1600".to_owned(),
            "3: [challenge.bots] min_rating: impossible range",
        ),
        (
            "[clock]\noverhead_ceiling = 40".to_owned(),
            "2: [clock] overhead_ceiling: impossible range",
        ),
        (
            "[challenge.bots]\nmax_base = 15\nmax_increment = 0".to_owned(),
            "impossible range: Lichess allows bots",
        ),
        (
            "[challenge.bots]\nmin_base = 3600\nmax_base = 3600\nmax_duration = 30".to_owned(),
            "4: [challenge.bots] max_duration: impossible range",
        ),
        (
            "[challenge.humans]\nrated = false\ncasual = false".to_owned(),
            "3: [challenge.humans] casual: neither rated nor casual",
        ),
        (
            "[challenge.humans]\ncasual = false\nunlimited = true".to_owned(),
            "3: [challenge.humans] unlimited: Lichess rates no atomic game without a clock",
        ),
        (
            "[challenge.humans]\nmin_base = 60\ntimes = [\"blitz\", \"0.5+0\"]".to_owned(),
            "3: [challenge.humans] times: \"0.5+0\" can never be played",
        ),
        (
            "[challenge.bots]\nmax_duration = 5\ntimes = [\"blitz\", \"rapid\"]".to_owned(),
            "3: [challenge.bots] times: \"rapid\" can never be played",
        ),
        (
            "[challenge.humans]\nmin_increment = 5\ntimes = [\"bullet\"]".to_owned(),
            "3: [challenge.humans] times: \"bullet\" can never be played",
        ),
        (
            "[challenge.humans]\ntimes = [\"0.25+0\", \"3\"]".to_owned(),
            "2: [challenge.humans] times: \"3\" is not a time control",
        ),
        (
            "[challenge.humans]\ntimes = [\"0.25+0\"]".to_owned(),
            "2: [challenge.humans] times: \"0.25+0\" can never be played",
        ),
        (
            "[challenge.bots]\nbullet_needs_increment = true\ntimes = [\"3+0\", \"1+0\"]"
                .to_owned(),
            "3: [challenge.bots] times: \"1+0\" can never be played",
        ),
        (
            "[challenge.bots]\ncorrespondence = true\nmin_days = 8\nmax_days = 9".to_owned(),
            "3: [challenge.bots] min_days: Lichess offers 1, 2, 3, 5, 7, 10 or 14 days",
        ),
        (
            "[challenge]\nconcurrency = 2\nreserved_for_humans = 2".to_owned(),
            "3: [challenge] reserved_for_humans: bots are accepted but all 2 slots are reserved",
        ),
        (
            "[challenge]\nreserved_for_humans = 1\n[challenge.humans]\naccept = false".to_owned(),
            "2: [challenge] reserved_for_humans: slots are reserved for humans, but",
        ),
    ];
    for (text, expected) in cases {
        expect(&text, expected);
    }
}

#[test]
fn contradictory_matchmaking_chat_and_draw_settings_are_reported() {
    let profile = |keys: &str| format!("[[matchmaking.profile]]\n{keys}");
    let cases = [
        (
            "[matchmaking]\nenabled = true\nprofile = []".to_owned(),
            "2: [matchmaking] enabled: no kind of game to offer",
        ),
        (
            "[arena]\nmin_base = 0\nmax_increment = 0\nmax_base = 29".to_owned(),
            "4: [arena] max_base: impossible range: Lichess allows bots no clock so short",
        ),
        (
            "[data]\nsocket = \"games.db-wal\"".to_owned(),
            "2: [data] socket: it needs a name of its own",
        ),
        (
            "[data]\nsocket = \"..\"".to_owned(),
            "2: [data] socket: it needs a name of its own",
        ),
        (
            "[arena]\nteams = [\"bombers\"]".to_owned(),
            "2: [arena] teams: the bot looks for arenas of teams only with auto = true",
        ),
        (
            "[arena]\nauto = true\nteams = [\"the bombers\"]".to_owned(),
            "3: [arena] teams: \"the bombers\" is not a team",
        ),
        (
            profile("days = 4"),
            "2: [[matchmaking.profile]] days: Lichess does not offer 4 days per move",
        ),
        (
            profile("base = 61"),
            "2: [[matchmaking.profile]] base: Lichess does not offer 61+2 seconds",
        ),
        (
            profile("base = 15\nincrement = 0"),
            "2: [[matchmaking.profile]] base: bots may not play 15+0 seconds",
        ),
        (
            profile("base = 0\nincrement = 1"),
            "2: [[matchmaking.profile]] base: Lichess never rates 0+1 seconds",
        ),
        (
            profile("name = \"a\"\n[[matchmaking.profile]]\nname = \"A\""),
            "4: [[matchmaking.profile]] name: there is another profile \"A\"",
        ),
        (
            profile("name = \"a\"\n[[matchmaking.profile]]\nmin_rating = 4000\nmax_rating = 9"),
            "4: [[matchmaking.profile]] min_rating: impossible range",
        ),
        (
            profile("hours = \"8\""),
            "2: [[matchmaking.profile]] hours: \"8\": hours are written",
        ),
        (
            "[draw]\naccept_bots = false\noffer_bots = true".to_owned(),
            "3: [draw] offer_bots: the bot would offer draws but never accept them",
        ),
        (
            "[chat]\ngreeting = \"Hi {oponent}\"".to_owned(),
            "2: [chat] greeting: {oponent} is not a placeholder",
        ),
        (
            format!("[chat]\ngoodbye = \"{}{{me}}\"", "x".repeat(111)),
            "2: [chat] goodbye: 141 characters",
        ),
        (
            "[arena]\nids = [\"x\"]".to_owned(),
            "2: [arena] ids: \"x\" is not a tournament",
        ),
    ];
    for (text, expected) in cases {
        expect(&text, expected);
    }
}

#[test]
fn no_depth_that_a_search_cannot_reach_is_accepted_for_resigning() {
    let parse = |depth: u32| Config::parse(&format!("[resign]\ndepth = {depth}"));
    assert_eq!(parse(127).expect("the deepest search").resign.depth, 127);
    let said = complaint("[resign]\ndepth = 128");
    assert!(said.contains("1 to 127"), "{said}");
}

#[test]
fn an_address_in_place_of_its_file_is_refused_and_never_repeated() {
    for (key, secret) in [
        ("webhook_file", "https://hooks.example.org/T0/Sesame"),
        ("webhook_file", "1234567:AAHSesame"),
        ("heartbeat_file", "https://ping.example.org/Sesame"),
    ] {
        let said = complaint(&format!("[alerts]\n{key} = \"{secret}\""));
        let names = format!("[alerts] {key}");
        assert!(said.starts_with("2: ") && said.contains(&names), "{said}");
        assert!(said.contains("the path of a file"), "{said}");
        assert!(!said.contains("Sesame"), "{said}");
    }
}

#[test]
fn a_token_in_the_config_is_refused_and_never_repeated() {
    let secret = "lip_Sesame0penSesame0pen";
    for text in [
        format!("[lichess]\ntoken = \"{secret}\""),
        format!("token = \"{secret}\""),
        format!("[lichess]\ntoken_file = \"{secret}\""),
        format!("[lichess]\ncontact = \"{secret}\""),
        format!("[lichess]\n{secret} = 1"),
        format!("[challenge]\nblock = [\"{secret}\"]"),
        format!("[challenge.bots]\ncolor = \"{secret}\""),
        format!("[[matchmaking.profile]]\nname = \"{secret}\""),
        format!("[chat]\ngreeting = \"psst: {secret}!\""),
        format!("[matchmaking]\navoid = [\"https://me:{secret}@example.org/\"]"),
    ] {
        let said = complaint(&text);
        assert!(
            said.contains("token_file") && said.contains("LICHESS_BOT_TOKEN"),
            "{said}"
        );
        assert!(!said.contains("Sesame"), "{said}");
    }
    for text in [
        "[lichess]\nurl = \"https://me:Sesame@lichess.dev:port\"".to_owned(),
        format!("token = {secret}"),
        secret.to_owned(),
        format!("[lichess\n{secret}"),
    ] {
        assert!(!complaint(&text).contains("Sesame"), "{text}");
    }
}

#[test]
fn names_that_begin_like_a_token_are_accepted() {
    for name in [
        "lio_messi",
        "lip_of_twenty_chars1",
        "lip_oftwentycharacte",
        "lip_service_for_bots_only",
        "lip_abcdefghijklmnop_qrstuvwxy",
        "lip_abcdefghijklmnop-qrstuvwxy",
    ] {
        assert!(name.len() <= 30, "the longest name of an account");
        Config::parse(&format!("[challenge]\nblock = [\"{name}\"]")).expect(name);
    }
    let team = "[arena]\nauto = true\nteams = [\"lip_readers_of_the_world\"]";
    Config::parse(team).expect("a team");
    Config::parse("[lichess]\ntoken_file = \"lip_token.txt\"").expect("a file");
}

#[test]
fn a_token_is_refused_even_if_it_is_cut_or_more_follows() {
    let token = "lip_Sesame0penSesame0pen";
    let cut = &token[..21];
    for text in [cut, &format!("{token}_2"), &format!("{token}Lichess")] {
        let said = complaint(&format!("[challenge]\nblock = [\"{text}\"]"));
        assert!(said.contains("token_file"), "{said}");
        assert!(!said.contains("Sesame"), "{said}");
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
fn blocked_names_match_in_any_case() {
    let config = Config::parse("[challenge]\nblock = [\"SomeOne\"]").unwrap();
    assert!(config.challenge.blocks("someone"));
    assert!(!config.challenge.blocks("someoneelse"));
}

#[test]
fn a_relative_token_file_is_relative_to_the_config_folder() {
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
fn relative_paths_are_relative_to_the_config_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    fs::write(
        &path,
        "[challenge]\nblock = [\"file:block.txt\", \"someone\"]",
    )
    .unwrap();
    let config = Config::read(&path).unwrap();
    assert_eq!(
        config.challenge.block,
        [
            Entry::File(folder.path().join("block.txt")),
            Entry::Name("someone".to_owned())
        ]
    );
    let socket = config.data.socket_path(&config.lichess).unwrap();
    assert_eq!(socket, folder.path().join("data/lichess.org/control.sock"));
    let none = Config::parse("[data]\nfolder = \"\"").unwrap();
    assert_eq!(none.data.socket_path(&none.lichess), None);
}

#[test]
fn a_missing_config_is_named() {
    let error = Config::read(Path::new("nowhere/config.toml")).unwrap_err();
    assert!(matches!(error, ConfigError::Unreadable { .. }));
    assert!(error.to_string().contains("nowhere/config.toml"));
}

#[test]
fn a_config_that_is_not_utf_8_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    fs::write(&path, b"[engine]\nhash = 16 # \xff\n").unwrap();
    let error = Config::read(&path).unwrap_err().to_string();
    assert!(error.contains("line 2 is not UTF-8"), "{error}");
}

proptest::proptest! {
    #[test]
    fn arbitrary_configs_cause_no_panic(text in "\\PC*") {
        let _ = Config::parse(&text);
    }

    #[test]
    fn written_configs_read_back(hash in 1_usize..1000, base in 0_u64..10_000, nodes in 0_u64..9) {
        let mut config = Config::default();
        config.engine.hash = hash;
        config.engine.nodes = std::num::NonZeroU64::new(nodes);
        config.challenge.humans.max_base = std::time::Duration::from_secs(base);
        let text = toml::to_string(&config).unwrap();
        proptest::prop_assert_eq!(Config::parse(&text).unwrap(), config);
    }
}

#[test]
fn a_net_is_a_file_beside_the_config_or_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    let rows = [
        ("", None),
        ("classical", Some("classical".into())),
        ("nets/own.net", Some(folder.path().join("nets/own.net"))),
    ];
    for (written, read) in rows {
        fs::write(&path, format!("[engine]\neval_file = \"{written}\"")).unwrap();
        assert_eq!(Config::read(&path).unwrap().engine.eval_file, read);
    }
}

#[test]
fn table_folders_are_relative_to_the_config_and_need_not_exist() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    fs::write(&path, "[engine]\nsyzygy_path = [\"four\"]").unwrap();
    let config = Config::read(&path).unwrap();
    assert_eq!(config.engine.syzygy_path, [folder.path().join("four")]);
    for (wrong, what) in [
        ("\"four\"", "must be a list of folders such as"),
        ("[4]", "must be a list of folders such as"),
        ("[\"\"]", "must not be an empty path"),
    ] {
        let error = Config::parse(&format!("[engine]\nsyzygy_path = {wrong}")).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("syzygy_path") && error.contains(what),
            "{error}"
        );
    }
}

/// What the schema says against a text, as `where: what`.
fn schema_errors(text: &str) -> Vec<String> {
    let schema = jsonschema::draft7::new(&config::schema()).expect("a schema");
    let config: toml::Table = text.parse().expect("TOML");
    let config = serde_json::to_value(config).expect("JSON");
    let errors = schema.iter_errors(&config);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[test]
fn the_schema_accepts_the_example_and_points_at_what_is_wrong_in_a_config() {
    assert_eq!(schema_errors(EXAMPLE), Vec::<String>::new());
    assert_eq!(schema_errors(""), Vec::<String>::new());
    let cases = [
        ("[engine]\nhsah = 1", "/engine: ", "hsah"),
        ("[engin]", ": ", "engin"),
        ("[engine]\nhash = 0", "/engine/hash: ", "minimum of 1"),
        (
            "[engine]\nhash = 65537",
            "/engine/hash: ",
            "maximum of 65536",
        ),
        ("[engine]\nhash = 1.5", "/engine/hash: ", "integer"),
        ("[engine]\nponder = 1", "/engine/ponder: ", "boolean"),
        ("[log]\nformat = \"xml\"", "/log/format: ", "xml"),
        (
            "[challenge.bots]\nmax_days = 15",
            "/challenge/bots/max_days: ",
            "maximum of 14",
        ),
        ("[challenge]\nblock = \"me\"", "/challenge/block: ", "array"),
        (
            "[book]\nfiles = [\"\"]",
            "/book/files/0: ",
            "shorter than 1",
        ),
        (
            "[matchmaking.profile]\nbase = 1",
            "/matchmaking/profile: ",
            "array",
        ),
        (
            "[[matchmaking.profile]]\nbsae = 1",
            "/matchmaking/profile/0: ",
            "bsae",
        ),
    ];
    for (text, place, what) in cases {
        let errors = schema_errors(text);
        assert_eq!(errors.len(), 1, "{text}: {errors:?}");
        let found = errors[0].starts_with(place) && errors[0].contains(what);
        assert!(found, "{text}: {errors:?}");
    }
}

#[test]
fn the_schema_describes_every_key_with_range_and_default() {
    let schema = config::schema();
    let hash = &schema["properties"]["engine"]["properties"]["hash"];
    assert_eq!(
        hash.to_string(),
        r#"{"default":256,"description":"Transposition table in megabytes, shared by all games. Takes a whole number of megabytes from 1 to 65536.","maximum":65536,"minimum":1,"type":"integer"}"#
    );
}

/// `MEGATON_BLESS=1 cargo test --test config schema` writes the file anew.
#[test]
fn the_schema_beside_the_example_is_the_one_that_is_made_from_the_settings() {
    let named = EXAMPLE.lines().next().expect("a first line");
    let named = named.strip_prefix("#:schema ./").expect("a schema first");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(named);
    let made = format!("{:#}\n", config::schema());
    if std::env::var_os("MEGATON_BLESS").is_some() {
        fs::write(&path, &made).expect("written");
    }
    let kept = fs::read_to_string(&path).expect("a schema");
    assert_eq!(kept, made, "{}", path.display());
}

#[test]
fn the_token_goes_neither_in_the_clear_to_another_machine_nor_to_a_proxy_with_a_password() {
    for (text, expected) in [
        (
            "[lichess]\nurl = \"http://lichess.org\"",
            "2: [lichess] url: http:// to another machine sends the token",
        ),
        (
            "[lichess]\nproxy = \"http://me:secret@proxy.example.org\"",
            "2: [lichess] proxy: it must not contain a user name or password",
        ),
        (
            "[lichess]\nproxy = \"proxy:3128\"",
            "2: [lichess] proxy: it must begin with http://",
        ),
        (
            "[explorer]\nurl = \"https://me:secret@explorer.lichess.org\"",
            "2: [explorer] url: \"explorer.lichess.org\": it must not contain a user name or password",
        ),
    ] {
        expect(text, expected);
    }
    let allowed = "[lichess]\nurl = \"http://lichess.example.org\"\ninsecure = true";
    assert!(Config::parse(allowed).is_ok());
}

#[test]
fn games_without_a_clock_are_asked_for_as_casual_ones() {
    let text = "[[matchmaking.profile]]\nname = \"post\"\ndays = 3\nrated = true\n\
                [[matchmaking.profile]]\nname = \"fast\"\n";
    let config = Config::parse(text).unwrap();
    let rated: Vec<bool> = config
        .matchmaking
        .profile
        .iter()
        .map(|it| it.rated)
        .collect();
    assert_eq!(rated, [false, true]);
}

#[test]
fn a_slash_at_the_end_of_the_url_makes_no_difference() {
    let url = |url: &str| {
        Config::parse(&format!("[lichess]\nurl = \"{url}\"\n"))
            .unwrap()
            .lichess
            .url
    };
    assert_eq!(url("https://lichess.org/"), url("https://lichess.org"));
}
