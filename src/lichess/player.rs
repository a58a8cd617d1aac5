//! Players of a game, both ends of a challenge, and our account.
//!
//! Compare ids, never names: a name may carry a title in front.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use super::ids::UserId;
use super::lenient_json::{FromObject, JsonMismatch, Object};

/// The title prefix some events put before a name.
const BOT_PREFIX: &str = "BOT ";

/// A player as games and challenges show one. An anonymous player has nothing; the server's own
/// engine has a level only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Player {
    /// Who it is; none for anonymous players and the server's engine.
    pub id: Option<UserId>,
    /// The name for display, without a title.
    pub name: Option<String>,
    /// `"BOT"`, `"GM"` and so on.
    pub title: Option<String>,
    /// The rating in the perf at hand.
    pub rating: Option<i32>,
    /// Whether that rating is provisional.
    pub provisional: bool,
    /// How the game changed the rating, where that is told.
    pub rating_diff: Option<i32>,
    /// The level of the server's own engine.
    pub ai_level: Option<u8>,
    /// Whether the user is online, where that is told.
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

    /// A name to show for anyone, the nameless too.
    pub fn display_name(&self) -> String {
        match (&self.name, &self.id, self.ai_level) {
            (Some(name), _, _) => name.clone(),
            (None, Some(id), _) => id.to_string(),
            (None, None, Some(level)) => format!("AI level {level}"),
            (None, None, None) => "Anonymous".to_owned(),
        }
    }
}

impl FromObject for Player {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        let name: Option<String> = object
            .optional("name")
            .or_else(|| object.optional("username"));
        let mut title: Option<String> = object.optional("title");
        let name = name.map(|name| match name.strip_prefix(BOT_PREFIX) {
            Some(bare) => {
                title.get_or_insert_with(|| "BOT".to_owned());
                bare.to_owned()
            }
            None => name,
        });
        let ai_level = object.small("aiLevel").or_else(|| object.small("ai"));
        let id: Option<String> = object.optional("id");
        let id = match (id, &name, ai_level) {
            (Some(id), _, _) => Some(UserId::new(&id)),
            // A name alone still identifies a user, unless it is the engine's or no one's.
            (None, Some(name), None) if !object.has("id") => Some(UserId::new(name)),
            _ => None,
        };
        Ok(Self {
            id,
            name,
            title,
            rating: object.small("rating"),
            provisional: object.flag("provisional"),
            rating_diff: object.small("ratingDiff"),
            ai_level,
            online: object.flag("online"),
            lag: object.small("lag"),
        })
    }
}

/// One rating of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Perf {
    /// Games behind the rating.
    pub games: u32,
    pub rating: Option<i32>,
    pub deviation: Option<i32>,
    /// Change over the last games.
    pub progress: Option<i32>,
    /// Whether the rating is provisional.
    pub provisional: bool,
}

impl FromObject for Perf {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        Ok(Self {
            games: object.small("games").unwrap_or(0),
            rating: object.small("rating"),
            deviation: object.small("rd"),
            progress: object.small("prog"),
            provisional: object.flag("prov"),
        })
    }
}

/// A user account: our own, or one of the list of bots online.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub id: UserId,
    /// The name as its owner writes it.
    pub username: String,
    /// `"BOT"` once the account is a bot's.
    pub title: Option<String>,
    /// Ratings by perf key. A key is absent where nothing has been played.
    pub perfs: HashMap<String, Perf>,
    /// All games ever played, where that is told.
    pub games: Option<u32>,
    /// When the account was made.
    pub created_at: Option<SystemTime>,
    /// The text of the profile, where there is one.
    pub bio: Option<String>,
    /// Whether the account has been closed.
    pub disabled: bool,
    /// Whether the account is marked for breaking the terms.
    pub tos_violation: bool,
}

impl Account {
    /// Whether this is a bot account.
    pub fn is_bot(&self) -> bool {
        self.title.as_deref() == Some("BOT")
    }

    /// The rating in atomic, once any has been played.
    pub fn atomic(&self) -> Option<&Perf> {
        self.perfs.get("atomic")
    }
}

impl FromObject for Account {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        let id: String = object.required("id")?;
        let username = object.optional("username");
        let perfs = object.object("perfs").map_or_else(HashMap::new, |perfs| {
            let keys: Vec<String> = perfs.keys().map(str::to_owned).collect();
            let read = |key: String| perfs.nested(&key).map(|perf| (key, perf));
            keys.into_iter().filter_map(read).collect()
        });
        Ok(Self {
            username: username.unwrap_or_else(|| id.clone()),
            id: UserId::new(&id),
            title: object.optional("title"),
            perfs,
            games: object.object("count").and_then(|count| count.small("all")),
            created_at: object.count("createdAt").map(from_epoch_ms),
            bio: object.object("profile").and_then(|p| p.optional("bio")),
            disabled: object.flag("disabled"),
            tos_violation: object.flag("tosViolation"),
        })
    }
}

/// Where a user is at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    pub id: UserId,
    /// `"BOT"`, `"GM"` and so on.
    pub title: Option<String>,
    /// Whether they are there.
    pub online: bool,
    /// Whether they play a game.
    pub playing: bool,
}

impl Presence {
    /// Whether this is a bot account.
    pub fn is_bot(&self) -> bool {
        self.title.as_deref() == Some("BOT")
    }
}

impl FromObject for Presence {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        let id: String = object.required("id")?;
        // Asked for more, the server puts the game in the place of a bare yes.
        let playing = match object.raw("playing") {
            Some(raw) => raw != "false",
            None => object.has("playingId"),
        };
        Ok(Self {
            id: UserId::new(&id),
            title: object.optional("title"),
            online: object.flag("online"),
            playing,
        })
    }
}

/// What a token is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenInfo {
    /// Whose token it is.
    pub user: UserId,
    pub scopes: Vec<String>,
    /// When it ends, if it does.
    pub expires: Option<SystemTime>,
}

impl TokenInfo {
    /// Whether the token allows `class`.
    pub fn allows(&self, class: &str) -> bool {
        self.scopes.iter().any(|have| have == class)
    }
}

impl FromObject for TokenInfo {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        let user: String = object.required("userId")?;
        let scopes: Option<String> = object.optional("scopes");
        let scopes = scopes.unwrap_or_default();
        let words = scopes.split(',').map(str::trim);
        Ok(Self {
            user: UserId::new(&user),
            scopes: words
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect(),
            expires: object.count("expires").map(from_epoch_ms),
        })
    }
}

/// A moment given in milliseconds since 1970.
pub(super) fn from_epoch_ms(ms: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH
        .checked_add(Duration::from_millis(ms))
        .unwrap_or(SystemTime::UNIX_EPOCH)
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
    fn the_engine_of_the_server_and_nobody_have_no_id() {
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
