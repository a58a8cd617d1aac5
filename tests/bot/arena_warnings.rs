//! What the account state says of the arenas that the config asks for.

use std::sync::Arc;

use megaton::bot::{AccountEvent, Settings};

use crate::captured_log::CapturedLog;
use crate::fixture::Fixture;

#[test]
fn a_search_for_arenas_on_the_servers_list_alone_is_warned_of_once() {
    let warnings = |auto: bool, teams: &[&str], ids: &[&str]| {
        let log = CapturedLog::default();
        let _log = log.of_this_thread();
        let mut fixture = Fixture::with(|settings| {
            settings.arena.auto = auto;
            settings.arena.teams = teams.iter().map(|&team| team.to_owned()).collect();
            let ids = ids.iter().map(|id| id.parse().expect("an id"));
            settings.arena.ids = ids.collect();
        });
        for event in [AccountEvent::Pause, AccountEvent::Resume] {
            fixture.account.handle(&event, fixture.now);
        }
        log.lines(|line| line.contains("auto finds few arenas"))
            .len()
    };
    assert_eq!(warnings(true, &[], &[]), 1);
    assert_eq!(warnings(false, &[], &[]), 0);
    assert_eq!(warnings(true, &["bombers"], &[]), 0);
    assert_eq!(warnings(true, &[], &["aBcD1234"]), 0);
}

#[test]
fn a_reload_warns_of_a_search_for_arenas_only_when_it_brings_that_about() {
    let log = CapturedLog::default();
    let _log = log.of_this_thread();
    let mut fixture = Fixture::new(1);
    for (auto, teams, warnings) in [
        (true, &["bombers"][..], 0),
        (true, &[], 1),
        (true, &[], 1),
        (false, &[], 1),
        (true, &[], 2),
    ] {
        let mut settings = Settings::default();
        settings.arena.auto = auto;
        settings.arena.teams = teams.iter().map(|&team| team.to_owned()).collect();
        let reload = AccountEvent::Settings(Arc::new(settings));
        fixture.account.handle(&reload, fixture.now);
        let lines = log.lines(|line| line.contains("auto finds few arenas"));
        assert_eq!(lines.len(), warnings, "auto = {auto}, teams = {teams:?}");
    }
}

#[test]
fn a_team_that_the_bot_is_not_in_is_warned_of_once() {
    let log = CapturedLog::default();
    let _log = log.of_this_thread();
    let mut fixture = Fixture::with(|settings| {
        settings.arena.auto = true;
        settings.arena.teams = vec!["bombers".to_owned()];
    });
    let foreign = vec!["join the bombers".to_owned()];
    for _ in 0..3 {
        let listed = AccountEvent::ArenasListed(Vec::new(), foreign.clone());
        fixture.account.handle(&listed, fixture.now);
    }
    let warned = log.lines(|line| line.contains("WARN") && line.contains("join the bombers"));
    assert_eq!(warned.len(), 1, "{warned:?}");
}
