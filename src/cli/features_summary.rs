//! What is switched on beyond accepting challenges, and what it needs, in lines for a person. Pure.

use megaton::config::{Arena, Chat, Config, Matchmaking, Profile, Template, Words};
use megaton::lichess::{estimate, speed_of};

/// The games that it looks for itself.
pub(super) fn looks(config: &Config) -> Vec<String> {
    let Matchmaking {
        enabled, profile, ..
    } = &config.matchmaking;
    if !enabled {
        return vec!["matchmaking off: [matchmaking] enabled = false".to_owned()];
    }
    let mut lines: Vec<String> = profile.iter().map(one_profile).collect();
    lines.push(budget(config));
    lines
}

fn one_profile(profile: &Profile) -> String {
    let rated = if profile.rated { "rated" } else { "casual" };
    let (base, increment) = (profile.base, profile.increment);
    let hours = match profile.hours.to_string() {
        hours if hours == "0-24" => String::new(),
        hours => format!(", hours {hours} UTC"),
    };
    format!(
        "{}: {rated} {}, {} + {} s, opponents rated {} to {} within {} points{hours}",
        profile.name,
        speed_of(base, increment).as_str(),
        base.as_secs(),
        increment.as_secs(),
        profile.min_rating,
        profile.max_rating,
        profile.max_rating_difference,
    )
}

/// What the day allows, and whether the pace would go beyond it.
fn budget(config: &Config) -> String {
    let (limits, search) = (&config.limits, &config.matchmaking);
    let share = limits.bot_games - limits.bot_games * limits.incoming_share.min(100) / 100;
    let shortest = search
        .profile
        .iter()
        .map(|it| estimate(it.base, it.increment));
    let round = search.idle.max(search.spacing) + shortest.min().unwrap_or_default();
    let possible = 86_400 / round.as_secs().max(1);
    let text = format!(
        "at most {share} outgoing games a day ({} allowed, {} percent reserved for incoming)",
        limits.bot_games, limits.incoming_share
    );
    if possible > u64::from(share) {
        format!("{text}; spread over the day, since {possible} would be possible")
    } else {
        text
    }
}

/// The tournaments that it joins.
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
    if !arena.ids.is_empty() {
        let ids: Vec<String> = arena.ids.iter().map(ToString::to_string).collect();
        lines.push(format!("joins {}", ids.join(", ")));
    }
    if lines.is_empty() {
        lines.push("joins none".to_owned());
    }
    lines
}

/// The scopes that what is switched on asks for beside `bot:play`, and what for.
pub(super) fn scopes(config: &Config) -> Vec<(&'static str, &'static str)> {
    let arena = &config.arena;
    let mut scopes = Vec::new();
    if arena.auto || !arena.ids.is_empty() {
        scopes.push(("tournament:write", "to join arenas, as [arena] says"));
    }
    if arena.ids.iter().any(|arena| arena.team.is_some()) {
        scopes.push((
            "team:write",
            "to join the team of an arena, as [arena] says",
        ));
    }
    scopes
}

/// What it says in a game, filled in.
pub(super) fn chat(chat: &Chat, me: &str) -> Vec<String> {
    let words = Words {
        me,
        opponent: "Opponent",
        engine: "Megaton",
        version: env!("CARGO_PKG_VERSION"),
    };
    let whom = match (chat.humans, chat.bots) {
        (true, true) => "to humans and bots",
        (true, false) => "to humans",
        (false, true) => "to bots",
        (false, false) => return vec!["no greetings".to_owned()],
    };
    let lines = [&chat.greeting, &chat.goodbye];
    let said = lines.iter().filter(|line| !line.is_empty());
    let said: Vec<String> = said
        .map(|line| format!("\"{}\"", Template(line).fill(&words)))
        .collect();
    if said.is_empty() {
        return vec!["no greetings".to_owned()];
    }
    vec![format!("{whom}: {}", said.join(" and "))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_off_is_said_in_a_line() {
        let config = Config::default();
        assert!(looks(&config)[0].starts_with("matchmaking off"));
        assert_eq!(arenas(&config.arena), ["joins none"]);
        assert!(scopes(&config).is_empty());
    }

    #[test]
    fn the_pace_is_measured_against_the_days_share() {
        let mut config = Config::default();
        config.matchmaking.enabled = true;
        let said = looks(&config);
        assert_eq!(
            said[0],
            "blitz: rated blitz, 180 + 2 s, opponents rated 0 to 4000 within 600 points"
        );
        assert!(said[1].starts_with("at most 50 games a day"), "{said:?}");
        assert!(said[1].contains("154 would be possible"), "{said:?}");
        config.matchmaking.idle = std::time::Duration::from_secs(3600);
        assert!(!looks(&config)[1].contains("would be possible"));
    }

    #[test]
    fn arenas_name_the_scopes_they_need() {
        let mut config = Config::default();
        config.arena.ids = vec!["aBcD1234:my-team".parse().unwrap()];
        assert_eq!(arenas(&config.arena), ["joins aBcD1234:my-team"]);
        let scopes: Vec<_> = scopes(&config)
            .into_iter()
            .map(|(scope, _)| scope)
            .collect();
        assert_eq!(scopes, ["tournament:write", "team:write"]);
    }

    #[test]
    fn greetings_are_shown_filled_in() {
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
