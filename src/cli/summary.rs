//! What the config and the account mean for a bot, as lines for people. Pure.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use megaton::bot::ParsedList;
use megaton::config::{
    Arena, Challenge, Chat, Config, Engine, Matchmaking, Profile, Template, Visitors, Words,
};
use megaton::engine::Evaluator;
use megaton::lichess::{Account, PLAY_SCOPE, TokenInfo, estimate};
use megaton::tablebase::Syzygy;

use super::output::count_in_words;

const DAY: u64 = 24 * 3600;
/// A token that expires within this time deserves a warning.
const EXPIRES_SOON: Duration = Duration::from_secs(30 * DAY);

/// The rules for a challenger that the summary puts into words; of the others it names those that are not as usual.
const IN_WORDS: &str = "accept rated casual min_base max_base min_increment max_increment";

const fn mode(rated: bool) -> &'static str {
    if rated { "rated" } else { "casual" }
}

/// Which challenges the config accepts: a line for each kind of challenger, one for both if alike.
pub(super) fn accepts(challenge: &Challenge) -> Vec<String> {
    let Challenge { humans, bots, .. } = challenge;
    let kinds = if humans == bots {
        vec![("bots and humans", humans)]
    } else {
        vec![("humans", humans), ("bots", bots)]
    };
    let kinds = kinds.into_iter();
    let lines = kinds.filter_map(|(who, rules)| welcomes(who, rules));
    let mut lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return vec!["no challenges: [challenge] accepts neither humans nor bots".to_owned()];
    }
    let (games, lists) = (challenge.concurrency, lists(challenge));
    lines.push(format!("up to {games} games at a time{lists}"));
    lines
}

fn welcomes(who: &str, rules: &Visitors) -> Option<String> {
    let modes = match (rules.accept, rules.rated, rules.casual) {
        (true, true, true) => "rated and casual",
        (true, true, false) => "rated",
        (true, false, true) => "casual",
        _ => return None,
    };
    let range = |least: Duration, most: Duration| match (least.as_secs(), most.as_secs()) {
        (least, most) if least == most => least.to_string(),
        (least, most) => format!("{least} to {most}"),
    };
    let table = |rules: &Visitors| toml::Table::try_from(rules).unwrap_or_default();
    let (mut others, usual) = (table(rules), table(&Visitors::default()));
    let is_said = |key: &str| IN_WORDS.split(' ').any(|it| it == key);
    others.retain(|key, value| !is_said(key) && usual.get(key) != Some(value));
    let others = others.iter();
    let others = others.map(|(key, value)| format!("; {key} = {value}"));
    Some(format!(
        "{modes} atomic against {who}; initial time {} s, increment {} s{}",
        range(rules.min_base, rules.max_base),
        range(rules.min_increment, rules.max_increment),
        others.collect::<String>(),
    ))
}

/// The account lists that are not empty.
fn lists(challenge: &Challenge) -> String {
    let lists = [
        ("block", &challenge.block),
        ("allow", &challenge.allow),
        ("welcome", &challenge.welcome),
    ];
    let lists = lists.iter().filter(|(_, list)| !list.is_empty());
    lists.fold(String::new(), |text, (name, list)| {
        let entries = count_in_words(list.len(), "entry", "entries");
        format!("{text}, {entries} on the {name} list")
    })
}

/// What the lists' files and addresses contain.
pub(super) fn lists_read(state: &[(String, Result<Arc<ParsedList>, String>)]) -> Vec<String> {
    let line = |(list, read): &(String, Result<Arc<ParsedList>, String>)| match read {
        Ok(read) => {
            let names = count_in_words(read.names.len(), "name", "names");
            let skipped = read.skipped.as_ref();
            let skipped = skipped.map(|it| ("WARNING: ", format!("; {it}")));
            let (warning, skipped) = skipped.unwrap_or_default();
            format!("{warning}{list}: {names}{skipped}")
        }
        Err(reason) => format!("WARNING: {list}: {reason}"),
    };
    state.iter().map(line).collect()
}

pub(super) fn server(url: &str) -> Vec<String> {
    let mut lines = vec![url.to_owned()];
    let host = url.strip_prefix("http://").unwrap_or_default();
    let is_here = ["localhost", "127.", "[::1]"]
        .iter()
        .any(|start| host.starts_with(start));
    if !host.is_empty() && !is_here {
        lines.push("WARNING: http:// sends the token unencrypted; use https://".to_owned());
    }
    lines
}

/// The built-in endgame tables, and those that were found.
pub(super) fn tables(tables: Option<&Syzygy>) -> Vec<String> {
    let Some(tables) = tables else {
        let none =
            "built-in, up to 4 pieces; no Syzygy files: [engine] syzygy_path names no folder";
        return vec![none.to_owned()];
    };
    let refused = tables.refused().iter();
    let refused = refused.map(|file| format!("WARNING: {file}"));
    let found = format!("built-in, up to 4 pieces; Syzygy: {}", tables.found());
    std::iter::once(found).chain(refused).collect()
}

/// The engine's memory, cores, evaluation and limits.
pub(super) fn engine(engine: &Engine, evaluator: &Evaluator) -> String {
    let movetime = engine.movetime.map(|time| time.as_millis());
    let limits = [
        engine.nodes.map(|nodes| format!("{nodes} nodes")),
        engine.depth.map(|depth| format!("depth {depth}")),
        movetime.map(|time| format!("{time} ms")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let limited = if limits.is_empty() {
        String::new()
    } else {
        format!("; each move limited to {} (for tests)", limits.join(", "))
    };
    let level = engine.casual_level.of_game(false, false);
    let casual = level.map_or_else(String::new, |level| {
        format!("; casual games against humans at level {}", level.name)
    });
    let cores = count_in_words(engine.cores(), "core", "cores");
    let (hash, evaluation) = (engine.hash, evaluator.id());
    format!("{hash} MB hash, {cores}, evaluation {evaluation}{limited}{casual}")
}

/// Whose token it is and what it allows; `wanted` are the scopes that the config needs.
pub(super) fn token(token: &TokenInfo, wanted: &[(&str, &str)], now: SystemTime) -> Vec<String> {
    let scopes = token.scopes.join(" ");
    let mut lines = vec![format!("belongs to {}, scopes: {scopes}", token.user)];
    if !token.allows("challenge:read") {
        let lacks = "lacks challenge:read, useful to list pending challenges; not needed to play";
        lines.push(lacks.to_owned());
    }
    for (scope, purpose) in wanted.iter().filter(|(scope, _)| !token.allows(scope)) {
        lines.push(format!("WARNING: lacks {scope}, needed {purpose}"));
    }
    if let Some(end) = token.expires {
        lines.push(match end.duration_since(now) {
            Ok(left) if left < EXPIRES_SOON => {
                let days = days(left);
                format!("WARNING: expires in {days}: create a new one in time")
            }
            Ok(left) => format!("expires in {}", days(left)),
            Err(_) => "WARNING: expired".to_owned(),
        });
    }
    lines
}

fn days(left: Duration) -> String {
    match left.as_secs() / DAY {
        0 => "less than a day".to_owned(),
        1 => "a day".to_owned(),
        days => format!("{days} days"),
    }
}

pub(super) fn account(account: &Account) -> Vec<String> {
    let title = account.title.as_deref().unwrap_or("no");
    let atomic = account
        .atomic()
        .and_then(|perf| Some((perf.rating?, perf.provisional)));
    let rating = match atomic {
        Some((rating, true)) => format!("atomic {rating}, provisional"),
        Some((rating, false)) => format!("atomic {rating}"),
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

/// What keeps this token and account from playing, and what to do.
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
    (!account.is_bot()).then(|| {
        format!(
            "{name} is not a bot account; upgrade it, permanently, with `megaton upgrade-account`"
        )
    })
}

/// The games that the bot looks for itself.
pub(super) fn matchmaking(config: &Config) -> Vec<String> {
    let Matchmaking {
        enabled, profile, ..
    } = &config.matchmaking;
    if !enabled {
        return vec!["off: [matchmaking] enabled = false".to_owned()];
    }
    let profiles = profile.iter().map(one_profile);
    profiles.chain([budget(config)]).collect()
}

fn one_profile(profile: &Profile) -> String {
    let clock = match profile.days {
        0 => format!(
            "{} + {} s",
            profile.base.as_secs(),
            profile.increment.as_secs()
        ),
        1 => "a day per move".to_owned(),
        days => format!("{days} days per move"),
    };
    let hours = match profile.hours.to_string() {
        hours if hours == "0-24" => String::new(),
        hours => format!(", hours {hours} UTC"),
    };
    format!(
        "{}: {} {}, {clock}, opponents rated {} to {} within {} points{hours}",
        profile.name,
        mode(profile.rated),
        profile.speed().as_str(),
        profile.min_rating,
        profile.max_rating,
        profile.max_rating_difference,
    )
}

/// The daily limit, and whether matchmaking could exceed it.
fn budget(config: &Config) -> String {
    let (limits, search) = (&config.limits, &config.matchmaking);
    let (all, reserved) = (limits.bot_games, limits.incoming_share);
    let games = search.profile.iter().filter(|it| it.days == 0);
    let shortest = games.map(|it| estimate(it.base, it.increment)).min();
    let round = search.idle.max(search.spacing) + shortest.unwrap_or_default();
    let possible = DAY / round.as_secs().max(1);
    let text = format!(
        "at most {all} games against bots a day, of which up to {reserved} percent are kept for incoming challenges while bots come"
    );
    if possible > u64::from(all) {
        format!("{text}; spread over the day, since {possible} would be possible")
    } else {
        text
    }
}

/// The arenas that the bot joins.
pub(super) fn arenas(arena: &Arena) -> Vec<String> {
    let mut lines = Vec::new();
    if arena.auto {
        let rated = if arena.rated_only { "rated " } else { "" };
        lines.push(format!(
            "joins {rated}atomic arenas for bots: initial time {} to {} s, increment {} to {} s, hours {} UTC, {} at a time",
            arena.min_base.as_secs(),
            arena.max_base.as_secs(),
            arena.min_increment.as_secs(),
            arena.max_increment.as_secs(),
            arena.hours,
            arena.most
        ));
    }
    if !arena.teams.is_empty() {
        lines.push(format!("among them those of {}", arena.teams.join(", ")));
    }
    if !arena.ids.is_empty() {
        let ids: Vec<String> = arena.ids.iter().map(ToString::to_string).collect();
        lines.push(format!("joins {}", ids.join(", ")));
    }
    if lines.is_empty() {
        lines.push("joins none".to_owned());
    }
    lines
}

/// The scopes that the config needs besides [`PLAY_SCOPE`], and what for. No bot joins a team:
/// `megaton team` does.
pub(super) fn scopes(config: &Config) -> Vec<(&'static str, &'static str)> {
    let joins = config.arena.auto || !config.arena.ids.is_empty();
    let scope = joins.then_some(("tournament:write", "to join arenas, as [arena] says"));
    scope.into_iter().collect()
}

/// The greetings, filled in.
pub(super) fn chat(chat: &Chat, me: &str) -> Vec<String> {
    let words = Words {
        me,
        opponent: "Opponent",
        engine: "Megaton",
        version: env!("CARGO_PKG_VERSION"),
    };
    let greetings = [&chat.greeting, &chat.goodbye].into_iter();
    let greetings = greetings.filter(|line| !line.is_empty());
    let greetings = greetings.map(|line| format!("\"{}\"", Template(line).fill(&words)));
    let greetings: Vec<String> = greetings.collect();
    let who = match (chat.humans, chat.bots) {
        _ if greetings.is_empty() => return vec!["no greetings".to_owned()],
        (true, true) => "to humans and bots",
        (true, false) => "to humans",
        (false, true) => "to bots",
        (false, false) => return vec!["no greetings".to_owned()],
    };
    vec![format!("{who}: {}", greetings.join(" and "))]
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
    fn accepted_challenges_are_summarized_in_one_line() {
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
        config.bots.times = vec!["1+0".parse().unwrap()];
        config.bots.bullet_needs_increment = true;
        config.bots.min_rating = 1500;
        assert_eq!(
            accepts(&config)[0],
            "rated atomic against bots; initial time 0 to 1800 s, increment 60 s; \
             bullet_needs_increment = true; min_rating = 1500; times = [\"1+0\"]"
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
    fn a_token_that_expires_soon_causes_a_warning() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let ending = |seconds: u64| TokenInfo {
            expires: Some(now + Duration::from_secs(seconds)),
            ..token_with(&["bot:play", "challenge:read"])
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
    fn a_token_that_plays_and_lists_challenges_lacks_nothing() {
        let info = token_with(&["bot:play", "challenge:read"]);
        let said = token(&info, &[], SystemTime::UNIX_EPOCH);
        assert!(!said.iter().any(|line| line.contains("lacks")), "{said:?}");
    }

    #[test]
    fn a_missing_scope_that_the_config_needs_is_reported() {
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
    fn a_token_sent_unencrypted_causes_a_warning() {
        assert_eq!(server("https://lichess.org").len(), 1);
        assert_eq!(server("http://127.0.0.1:8080").len(), 1);
        assert!(server("http://lichess.org")[1].starts_with("WARNING"));
    }

    #[test]
    fn test_limits_are_reported() {
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

    #[test]
    fn disabled_features_are_listed_in_one_line() {
        let config = Config::default();
        assert!(matchmaking(&config)[0].starts_with("off: "));
        assert_eq!(arenas(&config.arena), ["joins none"]);
        assert!(scopes(&config).is_empty());
    }

    #[test]
    fn the_pace_is_compared_with_the_daily_share() {
        let mut config = Config::default();
        config.matchmaking.enabled = true;
        let said = matchmaking(&config);
        assert_eq!(
            said[0],
            "blitz: rated blitz, 180 + 2 s, opponents rated 0 to 4000 within 600 points"
        );
        assert!(
            said[1].starts_with("at most 100 games against bots a day"),
            "{said:?}"
        );
        assert!(said[1].contains("154 would be possible"), "{said:?}");
        config.matchmaking.idle = std::time::Duration::from_secs(3600);
        assert!(!matchmaking(&config)[1].contains("would be possible"));
    }

    #[test]
    fn arenas_name_the_scope_they_need() {
        let mut config = Config::default();
        config.arena.ids = vec!["aBcD1234:my-team".parse().unwrap()];
        assert_eq!(arenas(&config.arena), ["joins aBcD1234:my-team"]);
        config.arena.auto = true;
        config.arena.teams = vec!["bombers".to_owned(), "lichess-bots".to_owned()];
        let said = arenas(&config.arena);
        assert!(said[0].starts_with("joins rated atomic arenas"), "{said:?}");
        assert_eq!(said[1], "among them those of bombers, lichess-bots");
        let scopes: Vec<_> = scopes(&config)
            .into_iter()
            .map(|(scope, _)| scope)
            .collect();
        // It is for the operator to join the team.
        assert_eq!(scopes, ["tournament:write"]);
    }

    #[test]
    fn greetings_are_shown_expanded() {
        let config = Config::default();
        let said = chat(&config.chat, "Megaton");
        assert!(
            said[0].starts_with("to humans: \"Good luck, Opponent! I am Megaton"),
            "{said:?}"
        );
        let quiet = Chat {
            humans: false,
            ..Chat::default()
        };
        assert_eq!(chat(&quiet, "Megaton"), ["no greetings"]);
    }
}
