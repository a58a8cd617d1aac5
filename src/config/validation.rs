//! Contradictions: settings that are valid alone and make no sense together.
//!
//! Pure; every finding names the key to change and the remedy.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use reqwest::Url;

use super::settings::{AlertFormat, Config, Profile, Visitors};
use super::values::{self, TimeRule};
use crate::lichess::{Speed, estimate, is_lichess, is_this_machine, speed_of};

/// Longest contact in the user agent, in characters.
const MAX_CONTACT: usize = 100;
/// Shortest estimated game (base plus forty increments) that Lichess lets bots play.
const SHORTEST_GAME: Duration = Duration::from_secs(30);
const TOO_SHORT: &str = "impossible range: Lichess allows bots no clock so short; max_base plus 40 times \
                         max_increment must reach 30 seconds";
/// Files of the data folder that the bot needs itself.
const OWN_FILES: [&str; 3] = ["games.db", "state.db", "lock"];
/// Largest increment that Lichess allows in an outgoing challenge.
const MAX_INCREMENT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setting {
    /// Path of its section.
    pub(super) section: &'static str,
    /// Its number among sections of this path.
    pub(super) index: usize,
    /// Name within the section.
    pub(super) key: &'static str,
}

/// A setting, and the error text.
pub(super) type Contradiction = (Setting, String);
/// Whether the file sets a key; otherwise it has its default.
type IsSet<'a> = &'a dyn Fn(&Setting) -> bool;

/// The first contradiction in a config.
pub(super) fn contradiction(config: &Config, is_set: IsSet<'_>) -> Option<Contradiction> {
    in_texts(config)
        .or_else(|| in_ranges(config, is_set))
        .or_else(|| in_visitors("challenge.humans", &config.challenge.humans, is_set))
        .or_else(|| in_visitors("challenge.bots", &config.challenge.bots, is_set))
        .or_else(|| in_slots(config, is_set))
        .or_else(|| in_matchmaking(config, is_set))
        .or_else(|| in_arenas(config, is_set))
        .or_else(|| in_socket(config))
        .or_else(|| in_profiles(&config.matchmaking.profile, is_set))
        .or_else(|| in_draws(config, is_set))
        .or_else(|| in_panel(config))
        .or_else(|| in_alerts(config))
        .or_else(|| in_log(config))
}

impl Config {
    /// Why matchmaking, if it is enabled, can never send a challenge.
    pub fn matchmaking_fault(&self) -> Option<String> {
        let nowhere = |_: &Setting| false;
        let fault = in_slots(self, &nowhere).or_else(|| in_matchmaking(self, &nowhere));
        fault
            .filter(|_| self.matchmaking.enabled)
            .map(|(_, what)| what)
    }
}

const fn at(section: &'static str, key: &'static str) -> Setting {
    Setting {
        section,
        index: 0,
        key,
    }
}

/// The first of some settings that the file sets: the error points there.
fn pick<const N: usize>(is_set: IsSet<'_>, settings: [Setting; N]) -> Setting {
    let found = settings.iter().find(|setting| is_set(setting));
    *found.unwrap_or(&settings[0])
}

fn in_texts(config: &Config) -> Option<Contradiction> {
    let lichess = &config.lichess;
    if let Some(what) = fault_in_url(&lichess.url, lichess.insecure) {
        return Some((at("lichess", "url"), what));
    }
    if let Some(what) = lichess.proxy.as_deref().and_then(fault_in_proxy) {
        return Some((at("lichess", "proxy"), what.to_owned()));
    }
    let (server, explorer) = (&lichess.url, &config.explorer.url);
    for (section, url, takes_token) in [
        ("online_tables", &config.online_tables.url, false),
        ("explorer", explorer, true),
    ] {
        if let Some(what) = crate::lichess::fault_in_lookup_url(url, takes_token) {
            // What stands before the @ may be a password.
            let shown = url.rsplit_once('@').map_or(url.as_str(), |it| it.1);
            return Some((at(section, "url"), format!("\"{shown}\": {what}")));
        }
    }
    let leads = |url: &str, there: fn(&Url) -> bool| Url::parse(url).is_ok_and(|it| there(&it));
    let is_safe = leads(explorer, is_this_machine) || leads(server, is_lichess);
    if config.explorer.enabled && !is_safe {
        let what = format!("{explorer} would get the token of {server}: set it to false");
        return Some((at("explorer", "enabled"), what));
    }
    let contact = config.lichess.contact.as_deref().unwrap_or_default();
    let plain = |c: char| c == ' ' || (c.is_ascii_graphic() && !matches!(c, '(' | ')'));
    if contact.len() > MAX_CONTACT || !contact.chars().all(plain) {
        let what = "goes into a header: at most 100 plain characters, without ( and )";
        return Some((at("lichess", "contact"), what.to_owned()));
    }
    if let Some(name) = crate::lichess::account_in_contact(contact) {
        let what = format!(
            "Lichess would read \"{name}\" as an account name and refuse the token: write it another way"
        );
        return Some((at("lichess", "contact"), what));
    }
    None
}

/// Two settings of a section, and whether the first is above the second.
struct OrderedPair {
    section: &'static str,
    index: usize,
    keys: [&'static str; 2],
    wrong: bool,
}

fn pair<T: PartialOrd + Copy>(
    section: &'static str,
    keys: [&'static str; 2],
    low: T,
    high: T,
) -> OrderedPair {
    OrderedPair {
        section,
        index: 0,
        keys,
        wrong: low > high,
    }
}

fn in_ranges(config: &Config, is_set: IsSet<'_>) -> Option<Contradiction> {
    let pair = pairs(config).into_iter().find(|pair| pair.wrong)?;
    let [low, high] = pair.keys;
    let named = |key| Setting {
        section: pair.section,
        index: pair.index,
        key,
    };
    let what = format!("impossible range: {low} is above {high}; lower one or raise the other");
    Some((pick(is_set, [named(low), named(high)]), what))
}

fn pairs(config: &Config) -> Vec<OrderedPair> {
    const BASE: [&str; 2] = ["min_base", "max_base"];
    const INCREMENT: [&str; 2] = ["min_increment", "max_increment"];
    const RATING: [&str; 2] = ["min_rating", "max_rating"];
    const DAYS: [&str; 2] = ["min_days", "max_days"];
    const OVERHEAD: [&str; 2] = ["overhead_floor", "overhead_ceiling"];
    const RESERVE: [&str; 2] = ["reserve_least", "reserve"];
    const COOLDOWN: [&str; 2] = ["cooldown", "cooldown_max"];
    let (arena, clock, seek) = (&config.arena, &config.clock, &config.matchmaking);
    let (floor, ceiling) = (clock.overhead_floor, clock.overhead_ceiling);
    let mut pairs = vec![
        pair("arena", BASE, arena.min_base, arena.max_base),
        pair("arena", INCREMENT, arena.min_increment, arena.max_increment),
        pair("clock", OVERHEAD, floor, ceiling),
        pair("clock", RESERVE, clock.reserve_least, clock.reserve),
        pair("matchmaking", COOLDOWN, seek.cooldown, seek.cooldown_max),
    ];
    for (section, rules) in [
        ("challenge.humans", &config.challenge.humans),
        ("challenge.bots", &config.challenge.bots),
    ] {
        pairs.extend([
            pair(section, BASE, rules.min_base, rules.max_base),
            pair(section, INCREMENT, rules.min_increment, rules.max_increment),
            pair(section, RATING, rules.min_rating, rules.max_rating),
            pair(section, DAYS, rules.min_days, rules.max_days),
        ]);
    }
    let ratings = |it: &Profile| pair("matchmaking.profile", RATING, it.min_rating, it.max_rating);
    for (index, profile) in seek.profile.iter().enumerate() {
        let ratings = ratings(profile);
        pairs.push(OrderedPair { index, ..ratings });
    }
    pairs
}

/// Rules that accept no challenger, or no game.
fn in_visitors(
    section: &'static str,
    rules: &Visitors,
    is_set: IsSet<'_>,
) -> Option<Contradiction> {
    if !rules.accept {
        return None;
    }
    let said = |keys: [&'static str; 2], what: &str| {
        Some((
            pick(is_set, keys.map(|key| at(section, key))),
            what.to_owned(),
        ))
    };
    if !rules.rated && !rules.casual {
        let what = "neither rated nor casual games are accepted: to play none at all, set \
                    accept = false";
        return said(["casual", "rated"], what);
    }
    let shortest = estimate(rules.min_base, rules.min_increment);
    let longest = estimate(rules.max_base, rules.max_increment);
    if longest < SHORTEST_GAME {
        return said(["max_base", "max_increment"], TOO_SHORT);
    }
    if shortest > rules.max_duration {
        let what = "impossible range: the shortest clock allowed, min_base plus 40 times \
                    min_increment, is longer than max_duration";
        return said(["max_duration", "min_base"], what);
    }
    let days = rules.min_days..=rules.max_days;
    if rules.correspondence && !values::DAYS.iter().any(|offered| days.contains(offered)) {
        let what = "Lichess offers 1, 2, 3, 5, 7, 10 or 14 days a move, none of them in this range";
        return said(["min_days", "max_days"], what);
    }
    if (rules.correspondence || rules.unlimited) && !rules.casual {
        let what = "Lichess rates no atomic game without a clock: set casual = true";
        return said(["correspondence", "unlimited"], what);
    }
    let rank = |estimate| speed_of(estimate, Duration::ZERO) as u8;
    let speeds = rank(shortest.max(SHORTEST_GAME))..=rank(longest.min(rules.max_duration));
    let lengths = SHORTEST_GAME..=rules.max_duration;
    let barred = rules.bullet_needs_increment;
    let outside = rules.times.iter().find(|time| match time {
        TimeRule::Speed(speed) => !speeds.contains(&(*speed as u8)),
        TimeRule::Exact { base, increment } => {
            !(rules.min_base..=rules.max_base).contains(base)
                || !(rules.min_increment..=rules.max_increment).contains(increment)
                || !lengths.contains(&estimate(*base, *increment))
                || barred && increment.is_zero() && rank(*base) <= Speed::Bullet as u8
        }
    })?;
    let what = format!(
        "\"{outside}\" can never be played: it is outside min_base to max_base, min_increment to \
         max_increment or max_duration, below the 30 seconds that Lichess demands of bots, or \
         without the increment of bullet_needs_increment"
    );
    said(["times", "max_base"], &what)
}

/// Slots that no opponent can ever get.
fn in_slots(config: &Config, is_set: IsSet<'_>) -> Option<Contradiction> {
    let challenge = &config.challenge;
    let reserved = challenge.reserved_for_humans;
    let keys = ["reserved_for_humans", "concurrency"].map(|key| at("challenge", key));
    if reserved > 0 && !challenge.humans.accept {
        let what = "slots are reserved for humans, but [challenge.humans] accept = false";
        return Some((keys[0], what.to_owned()));
    }
    let (who, more) = if challenge.bots.accept {
        (
            "bots are accepted but",
            "set [challenge.bots] accept = false, ",
        )
    } else if config.matchmaking.enabled {
        ("[matchmaking] is enabled but", "")
    } else {
        return None;
    };
    if reserved < challenge.concurrency {
        return None;
    }
    let what = format!(
        "{who} all {} slots are reserved for humans: {more}reserve fewer or raise concurrency",
        challenge.concurrency
    );
    Some((pick(is_set, keys), what))
}

fn in_matchmaking(config: &Config, is_set: IsSet<'_>) -> Option<Contradiction> {
    if !config.matchmaking.enabled {
        return None;
    }
    let enabled = at("matchmaking", "enabled");
    if config.matchmaking.profile.is_empty() {
        let what = "no kind of game to offer: add a [[matchmaking.profile]]";
        return Some((enabled, what.to_owned()));
    }
    let limits = &config.limits;
    for (key, least) in [
        ("bot_games", limits.bot_games),
        ("challenge_credits", limits.challenge_credits),
    ] {
        if least == 0 {
            let what = format!("with {key} = 0 [matchmaking] can never send a challenge");
            return Some((pick(is_set, [at("limits", key), enabled]), what));
        }
    }
    None
}

fn in_socket(config: &Config) -> Option<Contradiction> {
    let socket = config.data.socket.as_deref()?.to_str()?;
    let is_taken = OWN_FILES.iter().any(|own| socket.starts_with(own)) || socket.ends_with("..");
    let what = "it needs a name of its own, such as control.sock: games.db, state.db and lock are the bot's data";
    is_taken.then(|| (at("data", "socket"), what.to_owned()))
}

fn in_arenas(config: &Config, is_set: IsSet<'_>) -> Option<Contradiction> {
    let arena = &config.arena;
    if estimate(arena.max_base, arena.max_increment) < SHORTEST_GAME {
        let keys = ["max_base", "max_increment"].map(|key| at("arena", key));
        return Some((pick(is_set, keys), TOO_SHORT.to_owned()));
    }
    let what = "the bot looks for arenas of teams only with auto = true";
    let idle = !config.arena.teams.is_empty() && !config.arena.auto;
    idle.then(|| (at("arena", "teams"), what.to_owned()))
}

/// What to do about each team of `[arena] teams` that is not one of the account's.
pub fn foreign_teams(teams: &[String], ours: &[String]) -> Vec<String> {
    let foreign = teams.iter().filter(|team| !ours.contains(team));
    let remedy = |team: &String| {
        format!("[arena] teams: the account is not a member of {team}: `megaton team join {team}`")
    };
    foreign.map(remedy).collect()
}

/// Profiles that Lichess does not offer, or that have the same name.
fn in_profiles(profiles: &[Profile], is_set: IsSet<'_>) -> Option<Contradiction> {
    for (index, profile) in profiles.iter().enumerate() {
        let said = |keys: [&'static str; 2], what: String| {
            let settings = keys.map(|key| Setting {
                index,
                ..at("matchmaking.profile", key)
            });
            Some((pick(is_set, settings), what))
        };
        let Profile {
            base,
            increment,
            days,
            ..
        } = *profile;
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let name = &profile.name;
        if name.is_empty() || name.len() > 40 || !name.chars().all(word) {
            let what = "a name must have 1 to 40 letters, digits, _ or -";
            return said(["name", "name"], what.to_owned());
        }
        let twin = |other: &Profile| other.name.eq_ignore_ascii_case(name);
        if profiles[..index].iter().any(twin) {
            let what = format!("there is another profile \"{name}\": give each its own name");
            return said(["name", "base"], what);
        }
        if days > 0 {
            if !values::DAYS.contains(&days) {
                let what = format!(
                    "Lichess does not offer {days} days per move: write 1, 2, 3, 5, 7, 10 or 14, \
                     or 0 for a clock"
                );
                return said(["days", "days"], what);
            }
            continue;
        }
        let clock = format!("{}+{} seconds", base.as_secs(), increment.as_secs());
        if !values::is_offered(base, increment, MAX_INCREMENT) {
            let what = format!(
                "Lichess does not offer {clock}: base is 0, 15, 30, 45, 60, 90 or whole minutes \
                 up to 10800, and base or increment is above 0"
            );
            return said(["base", "increment"], what);
        }
        if estimate(base, increment) < SHORTEST_GAME {
            let what = format!(
                "bots may not play {clock}: base plus 40 times increment must reach 30 seconds"
            );
            return said(["base", "increment"], what);
        }
        if profile.rated && !values::may_be_rated(base, increment) {
            let what = format!("Lichess never rates {clock}: set rated = false or another clock");
            return said(["rated", "base"], what);
        }
    }
    None
}

/// Draws that the bot would offer but not accept.
fn in_draws(config: &Config, is_set: IsSet<'_>) -> Option<Contradiction> {
    let draw = &config.draw;
    let sides = [
        (
            "offer_humans",
            draw.offer_humans,
            "accept_humans",
            draw.accept_humans,
        ),
        (
            "offer_bots",
            draw.offer_bots,
            "accept_bots",
            draw.accept_bots,
        ),
    ];
    for (offer, offers, accept, accepts) in sides {
        if offers && !accepts {
            let what =
                format!("the bot would offer draws but never accept them: set {accept} = true");
            return Some((pick(is_set, [at("draw", offer), at("draw", accept)]), what));
        }
        if offers && draw.offers == 0 {
            let what = format!("{offer} = true with offers = 0 never offers a draw");
            let settings = [at("draw", "offers"), at("draw", offer)];
            return Some((pick(is_set, settings), what));
        }
    }
    None
}

/// A page that other machines can reach needs a password.
fn in_panel(config: &Config) -> Option<Contradiction> {
    let listen = config.panel.listen?;
    if config.panel.trust_local && !listen.ip().is_loopback() {
        let what = format!(
            "requests for {listen} may come from other machines, so none is trusted: listen at \
             127.0.0.1:{} or remove trust_local",
            listen.port()
        );
        return Some((at("panel", "trust_local"), what));
    }
    if config.panel.token_file.is_some() {
        return None;
    }
    if listen.ip().is_loopback() {
        let is_here = |name: &str| {
            let address = name.parse::<IpAddr>();
            name == "localhost" || address.is_ok_and(|address| address.is_loopback())
        };
        let name = config.panel.hosts.iter().find(|name| !is_here(name))?;
        let what = format!(
            "requests for {name} need a password: set token_file to the path of a file with one"
        );
        return Some((at("panel", "hosts"), what));
    }
    let what = format!(
        "{listen} can be reached from other machines: set token_file to the path of a file with a \
         password, or listen at 127.0.0.1:{}",
        listen.port()
    );
    Some((at("panel", "listen"), what))
}

/// Telegram needs a chat, and nothing else takes one.
fn in_alerts(config: &Config) -> Option<Contradiction> {
    let telegram = config.alerts.format == AlertFormat::Telegram;
    let Some(chat) = &config.alerts.chat_id else {
        let what = "\"telegram\" needs chat_id: the id of the chat that gets the messages, such as \
                    \"-1001234567890\" or \"@channel\"";
        return telegram.then(|| (at("alerts", "format"), what.to_owned()));
    };
    let number = chat.strip_prefix('-').unwrap_or(chat);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = chat.len() > 1 && chat.starts_with('@');
    let problem = if !telegram {
        "is for Telegram: set format = \"telegram\" or remove chat_id"
    } else if !is_number && !is_name {
        "is not the id of a chat: write it like \"-1001234567890\" or \"@channel\""
    } else {
        return None;
    };
    Some((at("alerts", "chat_id"), problem.to_owned()))
}

fn in_log(config: &Config) -> Option<Contradiction> {
    // The files of earlier days, which are deleted, are those whose name begins with this one.
    let is_log = |file: &Path| file.extension().is_some_and(|it| it == "log");
    let wrong = config.log.file.as_deref().is_some_and(|it| !is_log(it));
    let what = "write a name that ends in .log, such as \"megaton.log\"";
    wrong.then(|| (at("log", "file"), what.to_owned()))
}

/// The error in the server URL, if any.
fn fault_in_url(url: &str, insecure: bool) -> Option<String> {
    let example = "write it like \"https://lichess.org\"";
    let Ok(parsed) = Url::parse(url) else {
        // What stands before the @ may be a password.
        let shown = url.rsplit('@').next()?;
        return Some(format!("\"{shown}\" is not a URL: {example}"));
    };
    if !matches!(parsed.scheme(), "http" | "https") || !parsed.has_host() {
        return Some(format!("it must begin with https:// or http://: {example}"));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Some(format!(
            "it must not contain a user name or password: {example}"
        ));
    }
    if parsed.path() != "/" || parsed.query().is_some() || parsed.fragment().is_some() {
        return Some(format!(
            "it must end with the host, without a path: {example}"
        ));
    }
    if parsed.scheme() == "http" && !is_this_machine(&parsed) && !insecure {
        return Some(format!(
            "http:// to another machine sends the token for everyone on the way to read: {example}, \
             or allow it with insecure = true"
        ));
    }
    None
}

/// The error in the address of a proxy, if any. Does not repeat it.
fn fault_in_proxy(url: &str) -> Option<&'static str> {
    let Ok(parsed) = Url::parse(url) else {
        return Some("it is not a URL: write it like \"http://proxy.example.org:3128\"");
    };
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Some(
            "it must not contain a user name or password: put such an address into the variable \
             HTTPS_PROXY instead",
        );
    }
    let is_bare = parsed.path() == "/" && parsed.query().is_none() && parsed.fragment().is_none();
    (!matches!(parsed.scheme(), "http" | "https") || !is_bare)
        .then_some("it must begin with http:// or https:// and end with the host and port")
}
