//! What the config and the account mean for a bot, in lines for a person. Pure.

use std::time::{Duration, SystemTime};

use megaton::config::{Challenge, Engine, Visitors};
use megaton::engine::Evaluator;
use megaton::lichess::{Account, TokenInfo};
use megaton::tablebase::Syzygy;

/// The scope without which nothing works.
pub(super) const PLAY_SCOPE: &str = "bot:play";
/// Scopes that are of use beside it, and what for.
const USEFUL_SCOPES: [(&str, &str); 2] = [
    ("challenge:read", "to list pending challenges"),
    ("challenge:write", "to challenge others"),
];
/// Less than this left of a token's life is worth a warning.
const ENDS_SOON: Duration = Duration::from_secs(30 * 24 * 3600);

/// Which challenges the config accepts: a line for each kind of challenger, one for both if alike.
pub(super) fn accepts(challenge: &Challenge) -> Vec<String> {
    let Challenge { humans, bots, .. } = challenge;
    let mut lines = Vec::new();
    if humans == bots {
        lines.extend(welcomes("bots and humans", humans));
    } else {
        lines.extend(welcomes("humans", humans));
        lines.extend(welcomes("bots", bots));
    }
    if lines.is_empty() {
        return vec!["no challenges: [challenge] accepts neither humans nor bots".to_owned()];
    }
    lines.push(format!(
        "up to {} games at a time{}",
        challenge.concurrency,
        lists(challenge)
    ));
    lines
}

fn welcomes(who: &str, rules: &Visitors) -> Option<String> {
    let modes = either(rules.rated, "rated", rules.casual, "casual");
    let modes = modes.filter(|_| rules.accept)?;
    Some(format!(
        "{modes} atomic against {who}; initial time {} s, increment {} s",
        span(rules.min_base, rules.max_base),
        span(rules.min_increment, rules.max_increment),
    ))
}

/// The lists of accounts that are not empty.
fn lists(challenge: &Challenge) -> String {
    let lists = [
        ("block", &challenge.block),
        ("allow", &challenge.allow),
        ("welcome", &challenge.welcome),
    ];
    let lists = lists.iter().filter(|(_, list)| !list.is_empty());
    lists.fold(String::new(), |said, (name, list)| {
        format!(
            "{said}, {} on the {name} list",
            count(list.len(), "entry", "entries")
        )
    })
}

/// What was read of the lists' files and addresses.
pub(super) fn lists_read(state: &[(String, Result<usize, String>)]) -> Vec<String> {
    let line = |(list, read): &(String, Result<usize, String>)| match read {
        Ok(names) => format!("{list}: {}", count(*names, "name", "names")),
        Err(reason) => format!("WARNING: {list}: {reason}"),
    };
    state.iter().map(line).collect()
}

fn count(number: usize, one: &str, more: &str) -> String {
    match number {
        1 => format!("one {one}"),
        number => format!("{number} {more}"),
    }
}

/// Where the server is.
pub(super) fn server(url: &str) -> Vec<String> {
    let mut lines = vec![url.to_owned()];
    let host = url.strip_prefix("http://").unwrap_or_default();
    let here = ["localhost", "127.", "[::1]"]
        .iter()
        .any(|start| host.starts_with(start));
    if !host.is_empty() && !here {
        lines.push("WARNING: http:// sends the token unencrypted; use https://".to_owned());
    }
    lines
}

/// Which endgame tables there are.
pub(super) fn tables(tables: Option<&Syzygy>) -> Vec<String> {
    let Some(tables) = tables else {
        return vec!["none: [engine] syzygy_path names no folder".to_owned()];
    };
    let refused = tables.refused().iter();
    let refused = refused.map(|file| format!("WARNING: {file}"));
    std::iter::once(tables.found().to_string())
        .chain(refused)
        .collect()
}

/// What the engine may use.
pub(super) fn engine(engine: &Engine, evaluator: &Evaluator) -> String {
    let cores = match engine.cores() {
        1 => "one core".to_owned(),
        more => format!("{more} cores"),
    };
    let limits = [
        engine.nodes.map(|nodes| format!("{nodes} nodes")),
        engine.depth.map(|depth| format!("depth {depth}")),
        engine
            .movetime
            .map(|time| format!("{} ms", time.as_millis())),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let limited = match limits.as_slice() {
        [] => String::new(),
        limits => format!("; each move limited to {} (for tests)", limits.join(", ")),
    };
    let evaluation = evaluator.id();
    format!(
        "{} MB hash, {cores}, evaluation {evaluation}{limited}",
        engine.hash
    )
}

/// Whose token it is and what it allows; `wanted` are the scopes that the config asks for.
pub(super) fn token(token: &TokenInfo, wanted: &[(&str, &str)], now: SystemTime) -> Vec<String> {
    let mut lines = vec![format!(
        "belongs to {}, scopes: {}",
        token.user,
        token.scopes.join(" ")
    )];
    for (scope, what_for) in USEFUL_SCOPES {
        if !token.allows(scope) {
            lines.push(format!(
                "lacks {scope}, useful {what_for}; not needed to play"
            ));
        }
    }
    for (scope, what_for) in wanted {
        if !token.allows(scope) {
            lines.push(format!("WARNING: lacks {scope}, needed {what_for}"));
        }
    }
    let Some(end) = token.expires else {
        return lines;
    };
    match end.duration_since(now) {
        Ok(left) if left < ENDS_SOON => {
            lines.push(format!(
                "WARNING: expires in {}: create a new one in time",
                days(left)
            ));
        }
        Ok(left) => lines.push(format!("expires in {}", days(left))),
        Err(_) => lines.push("WARNING: expired".to_owned()),
    }
    lines
}

/// Who the account is.
pub(super) fn account(account: &Account) -> Vec<String> {
    let title = account.title.as_deref().unwrap_or("no");
    let rating = account
        .atomic()
        .and_then(|perf| perf.rating.map(|rating| (perf, rating)));
    let rating = match rating {
        Some((perf, rating)) if perf.provisional => format!("atomic {rating}, provisional"),
        Some((_, rating)) => format!("atomic {rating}"),
        None => "no atomic game yet".to_owned(),
    };
    let mut lines = vec![format!("{}, title {title}, {rating}", account.username)];
    if account.is_bot() && account.bio.as_deref().unwrap_or_default().trim().is_empty() {
        lines.push(
            "the profile is empty: Lichess asks bots to state what they are and who runs them"
                .to_owned(),
        );
    }
    lines
}

/// What keeps this token and account from playing, if anything, and what to do.
pub(super) fn obstacle(url: &str, token: Option<&TokenInfo>, account: &Account) -> Option<String> {
    let name = &account.username;
    if let Some(token) = token.filter(|token| !token.allows(PLAY_SCOPE)) {
        let have = match token.scopes.as_slice() {
            [] => "none".to_owned(),
            scopes => scopes.join(" "),
        };
        return Some(format!(
            "the token lacks the scope {PLAY_SCOPE} (it has: {have}); create a new token with it at {url}/account/oauth/token/create?scopes[]={PLAY_SCOPE}"
        ));
    }
    if account.disabled {
        return Some(format!("the account {name} is closed"));
    }
    if account.tos_violation {
        return Some(format!(
            "the account {name} is flagged for a terms of service violation; see {url}/contact"
        ));
    }
    if !account.is_bot() {
        return Some(format!(
            "{name} is not a bot account; upgrade it, permanently, with \
             `megaton upgrade-account`"
        ));
    }
    None
}

fn either(one: bool, first: &str, other: bool, second: &str) -> Option<String> {
    match (one, other) {
        (true, true) => Some(format!("{first} and {second}")),
        (true, false) => Some(first.to_owned()),
        (false, true) => Some(second.to_owned()),
        (false, false) => None,
    }
}

fn span(least: Duration, most: Duration) -> String {
    if least == most {
        return least.as_secs().to_string();
    }
    format!("{} to {}", least.as_secs(), most.as_secs())
}

fn days(left: Duration) -> String {
    match left.as_secs() / (24 * 3600) {
        0 => "less than a day".to_owned(),
        1 => "a day".to_owned(),
        days => format!("{days} days"),
    }
}

#[cfg(test)]
mod tests {
    use megaton::config::Config;
    use megaton::lichess::UserId;

    use super::*;

    fn token_with(scopes: &[&str]) -> TokenInfo {
        TokenInfo {
            user: UserId::new("megaton"),
            scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
            expires: None,
        }
    }

    fn account_titled(title: Option<&str>) -> Account {
        Account {
            id: UserId::new("megaton"),
            username: "Megaton".to_owned(),
            title: title.map(str::to_owned),
            perfs: std::collections::HashMap::new(),
            games: None,
            created_at: None,
            bio: None,
            disabled: false,
            tos_violation: false,
        }
    }

    #[test]
    fn what_is_accepted_is_said_in_one_line() {
        let mut config = Config::default().challenge;
        config.concurrency = 4;
        assert_eq!(
            accepts(&config),
            [
                "rated and casual atomic against bots and humans; initial time 0 to 1800 s, \
                 increment 0 to 60 s",
                "up to 4 games at a time"
            ]
        );
        config.bots.casual = false;
        config.bots.min_increment = config.bots.max_increment;
        config.humans.accept = false;
        config.block.push("someone".parse().unwrap());
        assert_eq!(
            accepts(&config),
            [
                "rated atomic against bots; initial time 0 to 1800 s, increment 60 s",
                "up to 4 games at a time, one entry on the block list"
            ]
        );
        config.bots.accept = false;
        assert!(accepts(&config)[0].starts_with("no challenges: "));
    }

    #[test]
    fn each_obstacle_names_what_is_missing_and_what_to_do() {
        let url = "https://lichess.org";
        let bot = account_titled(Some("BOT"));
        let good = token_with(&["bot:play"]);
        assert_eq!(obstacle(url, Some(&good), &bot), None);
        assert_eq!(obstacle(url, None, &bot), None);
        let scope = obstacle(url, Some(&token_with(&["msg:write"])), &bot).unwrap();
        assert!(
            scope.contains("lacks the scope bot:play (it has: msg:write)"),
            "{scope}"
        );
        let title = obstacle(url, Some(&good), &account_titled(None)).unwrap();
        assert!(title.contains("megaton upgrade-account"), "{title}");
        let closed = Account {
            disabled: true,
            ..account_titled(Some("BOT"))
        };
        assert!(
            obstacle(url, Some(&good), &closed)
                .unwrap()
                .contains("is closed")
        );
        let marked = Account {
            tos_violation: true,
            ..account_titled(Some("BOT"))
        };
        assert!(
            obstacle(url, Some(&good), &marked)
                .unwrap()
                .contains("terms of service")
        );
    }

    #[test]
    fn a_token_that_ends_soon_is_warned_of() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let ending = |seconds: u64| TokenInfo {
            expires: Some(now + Duration::from_secs(seconds)),
            ..token_with(&["bot:play", "challenge:read", "challenge:write"])
        };
        let last = |info: &TokenInfo| token(info, &[], now).pop().unwrap();
        assert_eq!(last(&ending(300 * 86_400)), "expires in 300 days");
        assert!(last(&ending(86_400)).starts_with("WARNING: expires in a day"));
        assert_eq!(
            token(&ending(9), &[], now + Duration::from_secs(60))
                .pop()
                .unwrap(),
            "WARNING: expired"
        );
    }

    #[test]
    fn a_scope_that_the_config_asks_for_is_missed() {
        let wanted = [("tournament:write", "to join arenas")];
        let said = token(&token_with(&["bot:play"]), &wanted, SystemTime::UNIX_EPOCH);
        let missed = "WARNING: lacks tournament:write, needed to join arenas";
        assert!(said.iter().any(|line| line == missed), "{said:?}");
        let good = token_with(&["bot:play", "tournament:write"]);
        let said = token(&good, &wanted, SystemTime::UNIX_EPOCH);
        assert!(
            !said.iter().any(|line| line.starts_with("WARNING")),
            "{said:?}"
        );
    }

    #[test]
    fn a_token_that_travels_in_the_open_is_warned_of() {
        assert_eq!(server("https://lichess.org").len(), 1);
        assert_eq!(server("http://127.0.0.1:8080").len(), 1);
        assert!(server("http://lichess.org")[1].starts_with("WARNING"));
    }

    #[test]
    fn test_limits_are_pointed_out() {
        let mut settings = Config::default().engine;
        settings.threads = 3;
        let classical = Evaluator::classical();
        assert_eq!(
            engine(&settings, &classical),
            "256 MB hash, 3 cores, evaluation classical"
        );
        settings.nodes = std::num::NonZeroU64::new(9);
        assert!(
            engine(&settings, &classical).ends_with("each move limited to 9 nodes (for tests)")
        );
    }
}
