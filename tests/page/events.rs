//! Earlier challenges and events on the pages, with and without an archive.

use std::path::Path;
use std::sync::Arc;

use fantoccini::key::Key;
use megaton::archive::{
    ArchiveEntry, ChallengeRecord, ChallengeVerdict, Database, Direction, EventRecord,
    PlayerRecord, TimeControlRecord,
};
use megaton::lichess::Speed;
use serde_json::{Value, json};

use super::access::ask;
use super::browser::{Browser, Screen};
use super::fixture::{World, local, locked};
use super::{bounded, programs};

fn challenge(id: &str, at: u64, verdict: ChallengeVerdict) -> ArchiveEntry {
    ArchiveEntry::Challenge(Arc::new(ChallengeRecord {
        id: id.to_owned(),
        at,
        direction: Direction::In,
        user: PlayerRecord {
            id: Some("nuke".to_owned()),
            name: "Nuke".to_owned(),
            ..PlayerRecord::default()
        },
        rated: true,
        variant: "atomic".to_owned(),
        speed: Speed::Blitz,
        control: TimeControlRecord::Clock {
            initial: 180_000,
            increment: 2000,
        },
        color: None,
        verdict,
        reason: Some("later".to_owned()),
        rule: None,
        why: Some("all slots are taken".to_owned()),
        settled: None,
        json: None,
    }))
}

fn event(at: u64, kind: &str, game: Option<&str>) -> ArchiveEntry {
    ArchiveEntry::Event(Arc::new(EventRecord {
        at,
        kind: kind.to_owned(),
        text: format!("something <b>bold</b> of {kind}"),
        game: game.map(str::to_owned),
    }))
}

/// Sixty challenges and sixty events, two of each moment.
fn kept(file: &Path) {
    let mut entries = Vec::new();
    for n in 0..60_u64 {
        let verdict = if n.is_multiple_of(10) {
            ChallengeVerdict::Declined
        } else {
            ChallengeVerdict::Canceled
        };
        entries.push(challenge(&format!("asked{n:03}"), 1000 + n / 2, verdict));
        entries.push(if n.is_multiple_of(10) {
            event(1000 + n / 2, "limited", Some("draw0001"))
        } else {
            event(1000 + n / 2, "stream", None)
        });
    }
    Database::open(file, 1).unwrap().commit(&entries).unwrap();
}

/// Goes through a whole list, seven at a time.
async fn leafed_through(house: &World, path: &str) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    loop {
        let on = all.last().map_or_else(String::new, |last| {
            format!("&before={}&after={}", last["at"], last["n"])
        });
        let page = ask(house, &format!("GET {path}?limit=7{on}"), &[], "").await;
        let page = page.json().as_array().cloned().unwrap();
        if page.is_empty() {
            return all;
        }
        assert!(page.len() <= 7, "{path}: {}", page.len());
        all.extend(page);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn challenges_and_events_of_the_archive_are_listed_page_by_page() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("games.db");
        kept(&file);
        let house = World::open_on(&local(), Some(file)).await;
        let get = async |path: &str| ask(&house, &format!("GET {path}"), &[], "").await;
        for path in ["/api/challenges", "/api/events"] {
            let whole = get(path).await.json();
            assert_eq!(whole.as_array().map(Vec::len), Some(60), "{path}");
            assert_eq!(whole[0]["at"], 1029, "{path}: the latest first");
            assert_eq!(json!(leafed_through(&house, path).await), whole, "{path}");
            let before = get(&format!("{path}?before=1001")).await.json();
            assert_eq!(before.as_array().map(Vec::len), Some(2), "{path}");
            let wrong = get(&format!("{path}?limit=many")).await;
            assert_eq!(wrong.status, 400, "{path}: {wrong:?}");
        }
        let declined = get("/api/challenges?verdict=declined&opponent=NUKE&direction=in");
        let declined = declined.await.json();
        assert_eq!(declined.as_array().map(Vec::len), Some(6));
        assert_eq!(declined[0]["id"], "asked050");
        assert_eq!(declined[0]["time"], "3+2");
        assert_eq!(declined[0]["why"], "all slots are taken");
        for none in ["verdict=failed", "opponent=nobody", "direction=out"] {
            let none = get(&format!("/api/challenges?{none}")).await.json();
            assert_eq!(none, json!([]));
        }
        let limited = get("/api/events?kind=limited&limit=2").await.json();
        assert_eq!(limited.as_array().map(Vec::len), Some(2));
        assert_eq!(limited[0]["game"], "draw0001");
        let about = get("/api/events?game=draw0001").await.json();
        assert_eq!(about.as_array().map(Vec::len), Some(6));
        assert_eq!(get("/api/events?kind=alert").await.json(), json!([]));
        let kinds = get("/api/kinds").await.json();
        assert_eq!(kinds, json!(["limited", "stream"]));
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_archive_the_entries_in_memory_are_listed() {
    bounded(async {
        let house = World::open().await;
        // The bot writes down that it is online.
        let online = async || {
            let events = ask(&house, "GET /api/events?kind=online", &[], "").await;
            (events.status, events.json())
        };
        while online().await == (200, json!([])) {
            tokio::task::yield_now().await;
        }
        let (status, events) = online().await;
        assert_eq!((status, &events[0]["kind"]), (200, &json!("online")));
        let kinds = ask(&house, "GET /api/kinds", &[], "").await.json();
        let kinds = kinds.as_array().unwrap();
        let online = kinds.iter().filter(|it| **it == "online").count();
        assert_eq!(online, 1, "each is named once: {kinds:?}");
        let after = format!("before={}&after={}", events[0]["at"], events[0]["n"]);
        let none = ask(
            &house,
            &format!("GET /api/events?{after}&kind=online"),
            &[],
            "",
        )
        .await;
        assert_eq!(none.json(), json!([]));
        let none = ask(&house, "GET /api/challenges", &[], "").await;
        assert_eq!((none.status, none.json()), (200, json!([])));
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_require_the_password_and_an_unreadable_archive_is_reported() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let rotten = folder.path().join("rotten.db");
        std::fs::write(&rotten, "no database").unwrap();
        let house = World::open_on(&locked(folder.path()), Some(rotten)).await;
        let elsewhere = [("x-forwarded-for", "192.0.2.7")];
        for path in [
            "/api/challenges",
            "/api/events",
            "/api/kinds",
            "/challenges",
            "/events",
        ] {
            let stranger = ask(&house, &format!("GET {path}"), &elsewhere, "").await;
            assert_eq!(stranger.status, 401, "{path}: {stranger:?}");
        }
        for path in ["/challenges", "/events"] {
            let page = ask(&house, &format!("GET {path}"), &[], "").await;
            assert_eq!(page.status, 200, "{path}: {page:?}");
            let rule = "content-security-policy: default-src 'none'; script-src 'self'";
            assert!(page.head.contains(rule), "{path}: {}", page.head);
            let refused = ask(&house, &format!("GET /api{path}"), &[], "").await;
            assert_eq!(refused.status, 503, "{path}: {refused:?}");
            let text = "the archive cannot be read right now: see the log";
            assert_eq!(refused.json()["text"], text, "{path}");
        }
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_can_be_paged_on_a_phone() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("games.db");
        kept(&file);
        let house = World::open_on(&local(), Some(file)).await;
        let browser = Browser::open(&programs, Screen::Phone).await;
        let page = browser.visitor();
        for (name, filter, value) in [
            ("challenges", "f-verdict", "declined"),
            ("events", "f-kind", "limited"),
        ] {
            browser.client.goto(house.panel()).await.unwrap();
            page.until("document.querySelector('.state.playing')").await;
            // By the navigation, as a person comes to it.
            page.click(&format!(".bar nav a[href='/{name}']")).await;
            let rows = format!("document.querySelectorAll('#{name} tbody tr').length");
            page.until(&format!("{rows} === 50")).await;
            let wide = "document.documentElement.scrollWidth <= innerWidth";
            assert_eq!(page.look(wide).await, json!(true), "{name} sticks out");
            let current = "document.querySelector('.bar nav [aria-current]').pathname";
            assert_eq!(page.look(current).await, json!(format!("/{name}")));
            // With the keyboard; anyone who stood on the button that goes away stands on the list.
            page.look("document.querySelector('#more').focus()").await;
            page.keys(&[Key::Enter]).await;
            page.until(&format!("{rows} === 60")).await;
            page.until(&format!("document.activeElement.id === '{name}'"))
                .await;
            assert_eq!(page.text("#said").await, "60 listed, and no more");
            let spoken = format!(
                "[...document.querySelectorAll('#{name} :is(tr, td, th, table)')]
                    .every((it) => it.getAttribute('role'))"
            );
            assert_eq!(page.look(&spoken).await, json!(true), "roles of {name}");
            let choose = format!(
                "(() => {{ const field = document.getElementById('{filter}');
                    field.value = '{value}';
                    field.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"
            );
            page.look(&choose).await;
            page.until(&format!("{rows} === 6")).await;
            let address = page.look("location.search").await;
            assert!(address.as_str().unwrap().contains(value), "{address}");
        }
        // What the archive holds is text, whatever is in it, and a game can be gone to.
        let text = "something <b>bold</b> of limited draw0001";
        assert_eq!(page.text("#events td.why").await, text);
        let game = "document.querySelector('#events td.why a').pathname";
        assert_eq!(page.look(game).await, json!("/game/draw0001"));
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_event_filter_offers_the_existing_kinds() {
    let Some(programs) = programs() else { return };
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("games.db");
        kept(&file);
        let house = World::open_on(&local(), Some(file)).await;
        let browser = Browser::open(&programs, Screen::Desk).await;
        let page = browser.visitor();
        let offered =
            "[...document.querySelectorAll('#f-kind option')].map((it) => it.textContent)";
        // A kind of which nothing is kept is a view too, and not the list of all.
        for (kind, kinds, rows) in [
            ("limited", json!(["any", "limited", "stream"]), 6),
            ("start", json!(["any", "limited", "stream", "start"]), 0),
        ] {
            let url = format!("{}/events?kind={kind}", house.panel());
            browser.client.goto(&url).await.unwrap();
            page.until("document.querySelector('#events table, #events p')")
                .await;
            page.until(&format!("JSON.stringify({offered}) === '{kinds}'"))
                .await;
            let chosen = "document.querySelector('#f-kind').value";
            assert_eq!(page.look(chosen).await, json!(kind));
            let listed = "document.querySelectorAll('#events tbody tr').length";
            assert_eq!(page.look(listed).await, json!(rows));
        }
        assert_eq!(browser.complaints().await, Vec::<String>::new());
        browser.close().await;
        house.close().await;
    })
    .await;
}
