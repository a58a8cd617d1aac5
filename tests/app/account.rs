//! `check` and `upgrade-account` against a server with scripted answers.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::process::Stdio;

use super::program::command;
use super::server::{Server, free_address};

const TOKEN: &str = "lip_Sesame0pen";
const BOT: &str = r#"{"id":"megaton","username":"Megaton","title":"BOT","count":{"all":12},
    "profile":{"bio":"plays atomic"},"perfs":{"atomic":{"games":9,"rating":2100,"rd":80,"prog":1}}}"#;
const HUMAN: &str = r#"{"id":"megaton","username":"Megaton","count":{"all":0},"perfs":{}}"#;

fn tested(scopes: &str) -> (u16, String) {
    let info = format!(r#"{{"userId":"megaton","scopes":"{scopes}","expires":null}}"#);
    (200, format!(r#"{{"{TOKEN}":{info}}}"#))
}

/// A server with this account and a token of these scopes.
fn server(scopes: &str, account: &str) -> Server {
    Server::start(HashMap::from([
        ("/api/token/test", tested(scopes)),
        ("/api/account", (200, account.to_owned())),
        (
            "/api/bot/account/upgrade",
            (200, r#"{"ok":true}"#.to_owned()),
        ),
    ]))
}

/// Starts a command against a server, types `input`, and gives status, stdout and stderr.
fn ask(url: &str, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    ask_with("", url, arguments, input)
}

/// The same with these sections in the config.
fn ask_with(
    sections: &str,
    url: &str,
    arguments: &[&str],
    input: &str,
) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config.toml");
    fs::write(folder.path().join("token"), format!("{TOKEN}\n")).expect("a token file");
    fs::write(
        &config,
        format!("[lichess]\nurl = \"{url}\"\ntoken_file = \"token\"\n{sections}"),
    )
    .expect("a config");
    let mut child = command(arguments)
        .args(["--config", &config.display().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("its input");
    // The program may end without reading.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert!(
        !out.contains("Sesame") && !err.contains("Sesame"),
        "token shown: {out}{err}"
    );
    assert!(
        !err.contains("panicked") && !err.contains("backtrace"),
        "{err}"
    );
    (output.status.code(), out, err)
}

#[test]
fn check_says_what_would_happen() {
    let server = server("bot:play,challenge:read,challenge:write", BOT);
    let (status, out, err) = ask(&server.url, &["check"], "");
    assert_eq!((status, err.as_str()), (Some(0), ""));
    for line in [
        "token       belongs to megaton, scopes: bot:play challenge:read challenge:write",
        "account     Megaton, title BOT, atomic 2100",
        "accepts     rated and casual atomic against bots and humans",
        "result      `megaton run` plays as Megaton",
    ] {
        assert!(out.contains(line), "{out}");
    }
    assert_eq!(server.asked(), ["/api/token/test", "/api/account"]);
}

#[test]
fn check_names_the_teams_that_the_account_is_not_in() {
    let server = Server::start(HashMap::from([
        ("/api/token/test", tested("bot:play,tournament:write")),
        ("/api/account", (200, BOT.to_owned())),
        (
            "/api/team/of/megaton",
            (200, r#"[{"id":"bombers","name":"Bombers"}]"#.to_owned()),
        ),
    ]));
    let teams = "[arena]\nauto = true\nteams = [\"bombers\", \"lichess-bots\"]\n";
    let (status, out, err) = ask_with(teams, &server.url, &["check"], "");
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let warning = "WARNING: [arena] teams: the account is not a member of lichess-bots: \
                   `megaton team join lichess-bots`";
    assert!(out.contains(warning), "{out}");
    assert_eq!(out.matches("not a member").count(), 1, "{out}");
}

#[test]
fn nothing_that_a_server_says_steers_the_terminal() {
    let clears = "\\u001b[2J\\u0007";
    let named = |account: &str| account.replace("Megaton", &format!("Mega{clears}ton"));
    let good = server(&format!("bot:play,{clears}"), &named(BOT));
    let (status, out, err) = ask(&good.url, &["check"], "");
    assert_eq!(status, Some(0), "{err}");
    assert!(out.contains("account     Mega[2Jton, title BOT"), "{out}");
    assert!(!out.contains(['\u{1b}', '\u{7}']), "{out:?}");
    let human = server("bot:play", &named(HUMAN));
    for account in [&human, &good] {
        let (_, out, err) = ask(&account.url, &["upgrade-account"], "Mega[2Jton\n");
        assert!(out.contains("Mega[2Jton is a bot account"), "{out} {err}");
        assert!(!out.contains(['\u{1b}', '\u{7}']), "{out:?}");
    }
}

#[test]
fn check_names_what_keeps_the_bot_from_playing() {
    let limited = r#"{"error":"slow down","ratelimit":{"key":"x","seconds":77}}"#.to_owned();
    let page = "<html><body>502 Bad Gateway</body></html>".to_owned();
    let refusal = |status, text: &str| (status, format!(r#"{{"error":"{text}"}}"#));
    let with = |test: (u16, String), account: (u16, String)| {
        Server::start(HashMap::from([
            ("/api/token/test", test),
            ("/api/account", account),
        ]))
    };
    let good = || tested("bot:play");
    let cases = [
        (server("challenge:read", BOT), "lacks the scope bot:play"),
        (server("bot:play", HUMAN), "megaton upgrade-account"),
        (
            with((200, format!(r#"{{"{TOKEN}":null}}"#)), good()),
            "does not know the token",
        ),
        (
            with(good(), refusal(401, "user agent mismatch")),
            "denies access to this token: refused with status 401: user agent mismatch",
        ),
        (with(good(), refusal(403, "Missing scope")), "Missing scope"),
        (with((429, limited.clone()), good()), "wait 77 s"),
        (with(good(), (429, limited)), "wait 77 s"),
        (with((502, page.clone()), good()), "failing (status 502"),
        (with(good(), (503, page)), "failing (status 503"),
        (
            with(good(), (404, "no".to_owned())),
            "is [lichess] url right?",
        ),
        (
            with(good(), (200, "[]".to_owned())),
            "is [lichess] url right?",
        ),
    ];
    for (server, expected) in cases {
        let (status, out, err) = ask(&server.url, &["check"], "");
        // Status 2 is a setup that cannot work, and no trouble that passes.
        let passes = expected.starts_with("wait") || expected.starts_with("failing");
        assert_eq!(
            status,
            Some(2 - i32::from(passes)),
            "{expected}: {out}{err}"
        );
        assert!(err.contains(expected), "expected {expected}: {err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    }
}

#[test]
fn check_names_what_the_website_must_have_set() {
    let set = "\"bio\":\"plays atomic\"";
    for (bio, is_empty) in [
        (set, false),
        ("\"bio\":\"\"", true),
        ("\"bio\":\" \"", true),
        ("", true),
    ] {
        let account = BOT.replace(set, bio);
        let server = server("bot:play,challenge:read,challenge:write", &account);
        let (status, out, err) = ask(&server.url, &["check"], "");
        assert_eq!(status, Some(0), "neither keeps it from playing: {err}");
        // The server does not tell who may challenge: it is named whatever the account is like.
        let challenges = "website     not checked: set Preferences, Privacy, so that other players can always challenge the bot";
        assert!(out.contains(challenges), "{out}");
        let empty = "account     the profile is empty";
        assert_eq!(out.contains(empty), is_empty, "{bio}: {out}");
    }
}

#[test]
fn check_continues_if_the_server_does_not_test_tokens() {
    let server = Server::start(HashMap::from([("/api/account", (200, BOT.to_owned()))]));
    let (status, out, err) = ask(&server.url, &["check"], "");
    assert_eq!(status, Some(0), "{err}");
    assert!(out.contains("token       valid"), "{out}");
}

#[test]
fn check_says_that_there_is_no_network() {
    let closed = free_address();
    for url in [
        format!("http://{closed}"),
        "https://no-such-host.invalid".to_owned(),
    ] {
        let (status, _, err) = ask(&url, &["check"], "");
        assert_eq!(status, Some(1), "{err}");
        assert!(err.contains(&format!("cannot reach {url}")), "{err}");
        assert!(
            err.contains("try again later (`megaton run` does so itself)"),
            "{err}"
        );
    }
}

#[test]
fn a_token_file_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config.toml");
    for (line, expected) in [
        ("token_file = \"no-such-file\"", "no-such-file"),
        ("token_file = \".\"", "cannot read the token file"),
        ("", "LICHESS_BOT_TOKEN"),
    ] {
        fs::write(
            &config,
            format!("[lichess]\nurl = \"http://127.0.0.1:9\"\n{line}\n"),
        )
        .expect("a config");
        for name in ["run", "check", "upgrade-account"] {
            let ran = super::program::megaton(&[name, "--config", &config.display().to_string()]);
            assert_eq!(ran.status, Some(2), "{name}: {}", ran.stderr);
            assert!(ran.stderr.contains(expected), "{name}: {}", ran.stderr);
            assert_eq!(ran.stderr.lines().count(), 1, "{name}: {}", ran.stderr);
        }
    }
}

#[test]
fn an_account_is_upgraded_only_when_its_name_is_typed() {
    let upgrade = "/api/bot/account/upgrade".to_owned();
    for (arguments, input, done) in [
        (&["upgrade-account"][..], "megaton\n", true),
        (&["upgrade-account", "--yes"], "", true),
        (&["upgrade-account"], "yes\n", false),
        (&["upgrade-account"], "", false),
    ] {
        let server = server("bot:play", HUMAN);
        let (status, out, err) = ask(&server.url, arguments, input);
        assert_eq!(status, Some(i32::from(!done)), "{out}{err}");
        assert_eq!(server.asked().contains(&upgrade), done, "{out}{err}");
        assert_eq!(
            out.contains("FOR GOOD"),
            !arguments.contains(&"--yes"),
            "{out}"
        );
    }
}

#[test]
fn an_account_that_cannot_be_upgraded_is_left_alone() {
    let played = HUMAN.replace("\"all\":0", "\"all\":3");
    for (server, status, expected) in [
        (server("bot:play", &played), 2, "has played 3 games"),
        (
            server("challenge:read", HUMAN),
            2,
            "lacks the scope bot:play",
        ),
        (server("bot:play", BOT), 0, "is a bot account already"),
    ] {
        let (code, out, err) = ask(&server.url, &["upgrade-account", "--yes"], "");
        assert_eq!(code, Some(status), "{out}{err}");
        assert!(format!("{out}{err}").contains(expected), "{out}{err}");
        assert!(!server.asked().iter().any(|path| path.contains("upgrade")));
    }
}
