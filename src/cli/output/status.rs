//! The status of a running bot as lines for people. Pure.

use megaton::bot::{
    EventStreamStatus, GameStatus, GameStreamStatus, NameList, QuotaStatus, SourcesStatus, Status,
    TableFiles,
};

use super::{clock, count, field, or_dash};
use megaton::archive::dates::rough_duration;

pub(crate) fn lines(status: &Status) -> Vec<String> {
    let account = status.account.as_deref().unwrap_or("the bot");
    let mut lines = vec![format!(
        "{account} {}; version {}, up {}",
        status.doing(),
        status.version,
        rough_duration(status.uptime)
    )];
    let mut add = |about: &str, text: String| lines.push(field(about, text));
    for switch in &status.switches {
        add("switch", switch.clone());
    }
    add("stream", event_stream(&status.stream));
    add("slots", slots(status));
    for game in &status.games {
        add("game", one_game(game));
    }
    if status.correspondence.games > 0 {
        add("correspondence", status.correspondence.to_string());
    }
    if let Some(used) = &status.quota {
        add("quota", quota(used));
    }
    add("matchmaking", matchmaking(status));
    if !status.blocked.is_empty() {
        let blocked = status.blocked.join(", ");
        add("blocked", format!("{blocked} (by command)"));
    }
    for arena in &status.arenas {
        add("arena", arena.clone());
    }
    for (about, text) in status.sources.iter().flat_map(sources) {
        add(about, text);
    }
    if let Some(overhead) = status.overhead {
        add("overhead", format!("{overhead} ms per move, measured"));
    }
    for alert in &status.alerts {
        let since = rough_duration(alert.since);
        add(
            "ALERT",
            format!("{}: {} (for {since})", alert.kind, alert.text),
        );
    }
    lines
}

/// The text about a number of things, or nothing about none.
fn if_any(number: u64, text: String) -> String {
    if number == 0 { String::new() } else { text }
}

fn event_stream(stream: &EventStreamStatus) -> String {
    let lost = if_any(
        stream.lost,
        format!("; lost {}", count(stream.lost, "time")),
    );
    let openings = format!("; {} openings in ten minutes", stream.openings);
    let openings = if_any(stream.openings.saturating_sub(1) as u64, openings);
    let state = match (stream.received_ago, &stream.outage) {
        (Some(ago), _) => format!("open, last data {} s ago", ago / 1000),
        (None, Some(outage)) => format!("not open for {}: {outage}", rough_duration(outage.since)),
        (None, None) => "not open".to_owned(),
    };
    format!("{state}{lost}{openings}")
}

fn game_stream(stream: &GameStreamStatus) -> String {
    let reopened = count(stream.reopened, "reconnect");
    let again = if_any(stream.reopened, format!(", {reopened}"));
    let since = rough_duration(stream.since / 1000);
    match stream.received_ago {
        Some(ago) => format!(
            "stream open for {since}, last data {} s ago{again}",
            ago / 1000
        ),
        None => format!("STREAM not open for {since}{again}"),
    }
}

fn slots(status: &Status) -> String {
    let slots = &status.slots;
    let more = |count: usize, what: &str| if_any(count as u64, format!(", {count} {what}"));
    format!(
        "{} of {} taken{}{}",
        slots.taken,
        slots.all,
        more(slots.for_humans, "reserved for humans"),
        more(status.waiting, "waiting")
    )
}

fn one_game(game: &GameStatus) -> String {
    let stream = game_stream(&game.stream);
    if game.us.is_none() && game.opponent.is_empty() {
        return format!("{} not loaded yet; {stream}", game.id);
    }
    let us = game.us.as_deref().unwrap_or("unseen");
    let clocks = match (game.our_clock, game.their_clock) {
        (None, None) => String::new(),
        (ours, theirs) => {
            let [ours, theirs] = [ours, theirs].map(|left| or_dash(left.map(clock)));
            format!("  {ours} : {theirs}")
        }
    };
    let score = game.score.as_deref().map(|score| format!("  {score}"));
    format!(
        "{} {us} against {}, ply {}{clocks}{}, last move {} s ago; {stream}",
        game.id,
        game.opponent,
        game.ply,
        score.unwrap_or_default(),
        game.moved_ago / 1000
    )
}

fn quota(used: &QuotaStatus) -> String {
    let kept = used.kept_for_incoming;
    let kept = if_any(
        kept.into(),
        format!(" ({kept} kept for incoming challenges)"),
    );
    format!(
        "{} of {} bot games{kept}, {} of {} challenge credits; {}",
        used.bot_games, used.bot_games_limit, used.credits, used.credits_limit, used.forecast
    )
}

fn matchmaking(status: &Status) -> String {
    let matchmaking = &status.matchmaking;
    let state = if matchmaking.enabled { "on" } else { "off" };
    let open = matchmaking.challenge.as_deref();
    let open = open.map(|id| format!(" ({id})")).unwrap_or_default();
    let series = matchmaking.series.as_deref();
    let series = series.map(|it| format!("; {it}")).unwrap_or_default();
    match matchmaking.doing.as_str() {
        "" => format!("{state}{open}{series}"),
        doing => format!("{state}: {doing}{open}{series}"),
    }
}

/// The net, the tablebases and the lists that the bot uses.
fn sources(sources: &SourcesStatus) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("net", sources.net.clone()),
        ("tablebase", tables(sources.tables.as_ref())),
    ];
    lines.extend(sources.lists.iter().map(|list| ("list", names(list))));
    lines
}

fn tables(tables: Option<&TableFiles>) -> String {
    let Some(tables) = tables else {
        return "none".to_owned();
    };
    let TableFiles {
        outcomes,
        distances,
        max_pieces,
        faulty,
        faults,
    } = tables;
    let found = format!("{outcomes} WDL and {distances} DTZ tables, up to {max_pieces} pieces");
    if *faulty == 0 {
        return found;
    }
    // A bad table also makes those unusable that lead to it.
    let among = if *faulty > faults.len() {
        ", among them"
    } else {
        ""
    };
    let faults = faults.join("; ");
    format!("{found}; {faulty} UNUSABLE{among}: {faults}")
}

fn names(list: &NameList) -> String {
    let (kind, names) = (&list.list, count(list.names as u64, "name"));
    let Some(source) = &list.source else {
        return format!("{kind}: {names} in the config");
    };
    let read = match list.read_ago {
        Some(ago) => format!("read {} ago", rough_duration(ago)),
        None => "not read since the start".to_owned(),
    };
    let error = list.error.as_deref();
    let error = error.map(|error| format!("; CANNOT BE READ: {error}"));
    let error = error.unwrap_or_default();
    let skipped = list.skipped.as_ref().map(|it| format!("; {it}"));
    let skipped = skipped.unwrap_or_default();
    format!("{kind}: {names} of {source}, {read}{skipped}{error}")
}

#[cfg(test)]
mod tests {
    use megaton::bot::{AlertStatus, BotPhase, CorrespondenceStatus, SlotStatus, StreamOutage};

    use super::*;

    #[test]
    fn a_status_is_a_few_lines() {
        let status = Status {
            version: "1.2.3".to_owned(),
            account: Some("Megaton".to_owned()),
            state: BotPhase::Playing,
            uptime: 90_061,
            stream: EventStreamStatus {
                open: true,
                received_ago: Some(2500),
                lost: 1,
                openings: 2,
                outage: None,
            },
            slots: SlotStatus {
                all: 8,
                taken: 1,
                for_humans: 2,
            },
            games: vec![GameStatus {
                id: "q7ZxVt2B".to_owned(),
                opponent: "Nuke".to_owned(),
                us: Some("white".to_owned()),
                ply: 24,
                our_clock: Some(151_000),
                their_clock: None,
                our_turn: false,
                score: Some("cp 35".to_owned()),
                moved_ago: 3000,
                stream: GameStreamStatus {
                    open: true,
                    since: 65_000,
                    received_ago: Some(4_000),
                    reopened: 2,
                },
            }],
            alerts: vec![AlertStatus {
                kind: "stolen".to_owned(),
                text: "stop one of them".to_owned(),
                since: 61,
            }],
            correspondence: CorrespondenceStatus {
                games: 3,
                to_move: 1,
                deadline: Some(9 * 3600 + 1800),
            },
            ..Status::default()
        };
        assert_eq!(
            lines(&status),
            [
                "Megaton accepts challenges; version 1.2.3, up 1 d 1 h",
                "stream      open, last data 2 s ago; lost 1 time; 2 openings in ten minutes",
                "slots       1 of 8 taken, 2 reserved for humans",
                "game        q7ZxVt2B white against Nuke, ply 24  2:31 : -  cp 35, last move 3 s ago; \
                 stream open for 1 min, last data 4 s ago, 2 reconnects",
                "correspondence 3 games, 1 to move, next deadline in 9 h",
                "matchmaking off",
                "ALERT       stolen: stop one of them (for 1 min)",
            ]
        );
    }

    #[test]
    fn net_tables_and_lists_are_shown_with_their_errors() {
        let list = NameList {
            list: "block".to_owned(),
            source: Some("https://example.org/foes".to_owned()),
            names: 12,
            read_ago: Some(7200),
            error: Some("status 500".to_owned()),
            skipped: Some("line 3 is no account name".to_owned()),
            ..NameList::default()
        };
        let named = NameList {
            list: "allow".to_owned(),
            names: 1,
            ..NameList::default()
        };
        let mut told = SourcesStatus {
            net: "classical".to_owned(),
            tables: None,
            lists: vec![list, named],
        };
        let line = |told: &SourcesStatus, index: usize| sources(told)[index].1.clone();
        assert_eq!(line(&told, 0), "classical");
        assert_eq!(line(&told, 1), "none");
        assert_eq!(
            line(&told, 2),
            "block: 12 names of https://example.org/foes, read 2 h 0 min ago; line 3 is no \
             account name; CANNOT BE READ: status 500"
        );
        assert_eq!(line(&told, 3), "allow: 1 name in the config");
        told.tables = Some(TableFiles {
            outcomes: 35,
            distances: 34,
            max_pieces: 4,
            faulty: 1,
            faults: vec!["KQvK.atbz: it is corrupt".to_owned()],
        });
        assert_eq!(
            line(&told, 1),
            "35 WDL and 34 DTZ tables, up to 4 pieces; 1 UNUSABLE: KQvK.atbz: it is corrupt"
        );
        if let Some(tables) = &mut told.tables {
            tables.faulty = 37;
        }
        assert_eq!(
            line(&told, 1),
            "35 WDL and 34 DTZ tables, up to 4 pieces; 37 UNUSABLE, among them: \
             KQvK.atbz: it is corrupt"
        );
    }

    #[test]
    fn the_remaining_quota_is_shown() {
        let status = Status {
            quota: Some(QuotaStatus {
                bot_games: 12,
                bot_games_limit: 100,
                kept_for_incoming: 7,
                credits: 30,
                credits_limit: 200,
                forecast: "lasts the day".to_owned(),
                closed_until: None,
            }),
            ..Status::default()
        };
        let today = "quota       12 of 100 bot games (7 kept for incoming challenges), 30 of 200 challenge \
                     credits; lasts the day";
        let told = lines(&status);
        assert!(told.iter().any(|line| line == today), "{told:?}");
    }

    #[test]
    fn a_bot_without_network_says_so() {
        let said = lines(&Status::default());
        assert!(
            said[0].contains("is not connected to the server yet"),
            "{said:?}"
        );
        assert_eq!(said[1], "stream      not open");
    }

    #[test]
    fn a_bot_whose_event_stream_is_down_says_why() {
        let outage = StreamOutage {
            reason: "the stream did not open: status 503".to_owned(),
            since: 185,
            next_try: 12,
        };
        let mut status = Status {
            state: BotPhase::Playing,
            ..Status::default()
        };
        status.stream.outage = Some(outage);
        let said = lines(&status);
        let down = "is not connected: its event stream is down";
        assert!(said[0].contains(down), "{said:?}");
        assert_eq!(
            said[1],
            "stream      not open for 3 min: the stream did not open: status 503; next try in 12 s"
        );
    }
}
