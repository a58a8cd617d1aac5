//! Players of a game, both ends of a challenge, and our account.
//!
//! Compare ids, never names: a name may start with a title.

use std::collections::HashMap;
use std::time::SystemTime;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::ids::UserId;
use super::lenient_json::{epoch_ms, name, or_default, plain_name};

/// The title prefix some events put before a name.
const BOT_PREFIX: &str = "BOT ";

/// A player of a game or a challenge. An anonymous player has no field set; the server's own engine only
/// has a level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "PlayerFields")]
pub struct Player {
    /// None for anonymous players and the server's engine.
    pub id: Option<UserId>,
    /// The name for display, without a title.
    pub name: Option<String>,
    /// `"BOT"`, `"GM"` and so on.
    pub title: Option<String>,
    /// The rating in the perf at hand.
    pub rating: Option<i32>,
    pub provisional: bool,
    /// The effect of the game on the rating, where known.
    pub rating_diff: Option<i32>,
    /// The level of the server's own engine.
    pub ai_level: Option<u8>,
    pub online: bool,
    /// Quality of the user's connection, 1 (bad) to 4 (good).
    pub lag: Option<u8>,
}

impl Player {
    /// Whether this is a bot account.
    pub fn is_bot(&self) -> bool {
        self.title.as_deref() == Some("BOT")
    }

    /// Whether this is the server's own engine.
    pub fn is_ai(&self) -> bool {
        self.ai_level.is_some()
    }

    /// A name to show for any player.
    pub fn display_name(&self) -> String {
        match (&self.name, &self.id, self.ai_level) {
            (Some(name), _, _) => name.clone(),
            (None, Some(id), _) => id.to_string(),
            (None, None, Some(level)) => format!("AI level {level}"),
            (None, None, None) => "Anonymous".to_owned(),
        }
    }
}

/// A player on the wire, where an export puts the user one level deeper.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlayerFields {
    #[serde(rename = "id|user.id")]
    id: Option<UserId>,
    #[serde(rename = "id?")]
    has_id: bool,
    #[serde(rename = "name|username|user.name|user.username")]
    name: Option<String>,
    #[serde(rename = "title|user.title")]
    title: Option<String>,
    rating: Option<i32>,
    provisional: bool,
    rating_diff: Option<i32>,
    #[serde(rename = "aiLevel|ai")]
    ai_level: Option<u8>,
    online: bool,
    lag: Option<u8>,
}

impl From<PlayerFields> for Player {
    fn from(fields: PlayerFields) -> Self {
        let mut title = fields.title.map(|title| plain_name(&title));
        let name = fields.name.map(|name| match name.strip_prefix(BOT_PREFIX) {
            Some(bare) => {
                title.get_or_insert_with(|| "BOT".to_owned());
                plain_name(bare)
            }
            None => plain_name(&name),
        });
        // A name alone identifies a user as well, unless the player is an engine or anonymous.
        let is_named = !fields.has_id && fields.ai_level.is_none();
        let by_name = name.as_deref().filter(|_| is_named).map(UserId::new);
        Self {
            id: fields.id.or(by_name),
            name,
            title,
            rating: fields.rating,
            provisional: fields.provisional,
            rating_diff: fields.rating_diff,
            ai_level: fields.ai_level,
            online: fields.online,
            lag: fields.lag,
        }
    }
}

/// One rating of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Perf {
    /// Games behind the rating.
    #[serde(deserialize_with = "or_default")]
    pub games: u32,
    pub rating: Option<i32>,
    #[serde(rename = "rd")]
    pub deviation: Option<i32>,
    /// Change over the last games.
    #[serde(rename = "prog")]
    pub progress: Option<i32>,
    #[serde(rename = "prov")]
    pub provisional: bool,
}

/// A user account: our own, or one of the list of bots online.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    pub id: UserId,
    /// The name in its owner's spelling.
    #[serde(rename = "username|id", deserialize_with = "name")]
    pub username: String,
    /// `"BOT"` once the account is a bot's.
    pub title: Option<String>,
    /// Ratings by perf key; absent where the user has not played.
    pub perfs: HashMap<String, Perf>,
    /// The number of all games ever played.
    #[serde(rename = "count.all")]
    pub games: Option<u32>,
    #[serde(deserialize_with = "epoch_ms")]
    pub created_at: Option<SystemTime>,
    /// The text of the profile, where there is one.
    #[serde(rename = "profile.bio")]
    pub bio: Option<String>,
    /// Whether the account is closed.
    pub disabled: bool,
    /// Whether the account is marked for breaking the terms.
    pub tos_violation: bool,
}

impl Account {
    /// Whether this is a bot account.
    pub fn is_bot(&self) -> bool {
        self.title.as_deref() == Some("BOT")
    }

    /// The rating in atomic, if the user has played any.
    pub fn atomic(&self) -> Option<&Perf> {
        self.perfs.get("atomic")
    }
}

/// Whether a user is online and playing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Presence {
    pub id: UserId,
    /// `"BOT"`, `"GM"` and so on.
    pub title: Option<String>,
    pub online: bool,
    /// Whether the user is playing a game.
    #[serde(rename = "playing|playingId", deserialize_with = "is_playing")]
    pub playing: bool,
}

impl Presence {
    /// Whether this is a bot account.
    pub fn is_bot(&self) -> bool {
        self.title.as_deref() == Some("BOT")
    }
}

/// On request, the server puts the game in the place of a bare `true`.
fn is_playing<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    let playing: Option<Value> = Option::deserialize(value)?;
    Ok(playing.is_some_and(|playing| playing != Value::Bool(false)))
}

/// The owner and rights of a token.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TokenInfo {
    /// The owner.
    #[serde(rename = "userId")]
    pub user: UserId,
    #[serde(deserialize_with = "comma_separated")]
    pub scopes: Vec<String>,
    /// When it ends, if it does.
    #[serde(deserialize_with = "epoch_ms")]
    pub expires: Option<SystemTime>,
}

/// The scope that every bot needs.
pub const PLAY_SCOPE: &str = "bot:play";

impl TokenInfo {
    /// Whether the token allows `class`.
    pub fn allows(&self, class: &str) -> bool {
        self.scopes.iter().any(|have| have == class)
    }
}

fn comma_separated<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    let text: String = or_default(value)?;
    let words = text.split(',').map(str::trim);
    Ok(words
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::super::lenient_json::read;
    use super::*;

    fn player(json: &str) -> Player {
        read(json).unwrap().value
    }

    #[test]
    fn a_title_before_the_name_is_a_title() {
        let bot = player(r#"{"id":"nukeengine","username":"BOT NukeEngine","rating":2240}"#);
        assert_eq!(bot.name.as_deref(), Some("NukeEngine"));
        assert!(bot.is_bot());
        assert_eq!(bot.id, Some(UserId::new("nukeengine")));
    }

    #[test]
    fn a_name_is_short_and_has_no_control_characters() {
        let long = "x".repeat(70_000);
        for prefix in ["", "BOT "] {
            let json = format!(r#"{{"name":"{prefix}a\n\u001b[2J{long}","title":"G\u0007M"}}"#);
            let player = player(&json);
            let name = player.name.unwrap();
            assert!(name.starts_with("a[2Jx") && name.len() == 60, "{name}");
            assert_eq!(player.title.as_deref(), Some("GM"));
        }
        let account = read::<Account>(r#"{"id":"a","username":"A\u001b[2J"}"#).unwrap();
        assert_eq!(account.value.username, "A[2J");
    }

    #[test]
    fn the_servers_engine_and_anonymous_players_have_no_id() {
        let ai = player(r#"{"id":null,"username":"Stockfish level 3","ai":3}"#);
        assert!(ai.is_ai() && ai.id.is_none());
        let ai = player(r#"{"aiLevel":3}"#);
        assert_eq!(
            (ai.ai_level, ai.display_name()),
            (Some(3), "AI level 3".into())
        );
        let nobody = player("{}");
        assert_eq!(nobody, Player::default());
        assert_eq!(nobody.display_name(), "Anonymous");
    }

    #[test]
    fn an_account_without_perfs_or_counts_is_an_account() {
        let read = read::<Account>(r#"{"id":"MegaTon"}"#).unwrap();
        assert_eq!(read.value.id, UserId::new("megaton"));
        assert!(read.value.atomic().is_none() && read.dropped.is_empty());
    }

    #[test]
    fn a_bad_perf_costs_that_perf_only() {
        let json = r#"{"id":"a","perfs":{"atomic":{"games":3,"rating":1500,"rd":200,"prog":0,
            "prov":true},"storm":7}}"#;
        let read = read::<Account>(json).unwrap();
        assert_eq!(read.value.atomic().map(|perf| perf.games), Some(3));
        assert_eq!(read.dropped[0].path, "perfs.storm");
    }

    #[test]
    fn a_token_lists_its_scopes() {
        let json = r#"{"userId":"x","scopes":"bot:play, challenge:read","expires":null}"#;
        let token = read::<TokenInfo>(json).unwrap().value;
        assert!(token.allows("bot:play") && token.allows("challenge:read"));
        assert!(!token.allows("bot") && token.expires.is_none());
    }
}
