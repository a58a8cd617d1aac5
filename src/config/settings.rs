//! The settings: one struct per section, with the default and the range of each key.
//!
//! A key is declared here and nowhere else: its name, type, default and range. Data with public fields,
//! and what follows from one section alone.

use std::marker::PhantomData;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::{Display, VariantNames};

use super::keys::Takes::{
    self, Address, Arenas, Choice, Choices, Entries, Files, Flag, Folders, Hosts, Line, Teams,
    Text, Times,
};
use super::keys::{Key, Section, whole};
use super::units::{EmptyIsNone, Millis, MillisLimit, PathOrNone, Seconds, limit, minutes};
use super::values::{ArenaId, CasualLevel, Entry, Hours, TimeRule};
use crate::lichess::{Speed, TimeControl, speed_of};

const BASE: (i64, i64) = (0, 10_800);
const INCREMENT: (i64, i64) = (0, 180);
const RATING: (i64, i64) = (0, 4000);
const COUNT: (i64, i64) = (0, 1_000_000);
const AT_LEAST_ONE: (i64, i64) = (1, 1_000_000);
const YEAR: i64 = 31_536_000;

/// Has the documentation of each key of a section, under its name.
struct About<T>(PhantomData<T>);

/// Declares sections. A line reads `key: type as "unit in the file" = default, value in the file;`, the
/// unit only where serde does not know it. A line without a value holds a section of its own.
macro_rules! sections {
    ($(
        $(#[$meta:meta])*
        $section:ident {
            $(
                $(#[doc = $doc:literal])*
                $key:ident: $type:ty $(as $unit:literal)? = $default:expr $(, $takes:expr)?;
            )*
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $section {
            $($(#[doc = $doc])* $(#[serde(with = $unit)])? pub $key: $type,)*
        }

        impl $section {
            const KEYS: &[Key] = &[$($(Key {
                name: stringify!($key),
                takes: $takes,
                about: About::<$section>::$key,
            },)?)*];
        }

        #[allow(non_upper_case_globals, dead_code, reason = "named as the keys are")]
        impl About<$section> {
            $(const $key: &str = concat!($($doc),*);)*
        }

        impl Default for $section {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }
    )*};
}

sections! {
    /// `[lichess]`: the server and the account.
    Lichess {
        /// URL of the server, without a path.
        url: String =
            "https://lichess.org".to_owned(), Text("a URL such as \"https://lichess.org\"");
        /// Send the token over `http://` to another machine.
        insecure: bool = false, Flag;
        /// Proxy for every request to another machine; by default that of the environment.
        proxy: Option<String> as "EmptyIsNone" =
            None, Text("a URL such as \"http://proxy.example.org:3128\", \"\" for the environment's");
        /// File that holds only the API token; `LICHESS_BOT_TOKEN` takes precedence. A relative path in a
        /// config file starts at that file's folder.
        token_file: Option<PathBuf> as "PathOrNone" =
            None, Text("the path of a file with the API token, in quotes");
        /// How Lichess staff reach the operator, sent with every request.
        contact: Option<String> as "EmptyIsNone" =
            None, Text("an email address or link in quotes, at most 100 plain characters");
    }

    /// `[data]`: files of the bot.
    Data {
        /// Folder with a subfolder for each server; none stores nothing. A relative path in a config file
        /// starts at that file's folder.
        folder: Option<PathBuf> as "PathOrNone" =
            Some("data".into()), Text("the path of a folder in quotes, \"\" for none");
        /// The control socket in the server's subfolder; none opens no socket.
        socket: Option<PathBuf> as "PathOrNone" =
            Some("control.sock".into()), Text("the name of a file in quotes, \"\" for none");
    }

    /// `[engine]`: resources and limits of the engine.
    Engine {
        /// Transposition table in megabytes, shared by all games.
        hash: usize = 256, whole((1, 65_536), "megabytes");
        /// Threads of all searches together; 0 for every core.
        threads: usize = 0, whole((0, 256), "threads (0: every core)");
        /// The evaluation: a net file, `classical`, or the default. A relative path in a config file starts
        /// at that file's folder.
        eval_file: Option<PathBuf> as "PathOrNone" =
            None,
            Text("the path of a net in quotes, \"classical\", or \"\" for the default");
        /// Folders with atomic Syzygy tablebases. A relative path in a config file starts at that file's
        /// folder.
        syzygy_path: Vec<PathBuf> = Vec::new(), Folders;
        /// Search on the opponent's time on cores that no other game needs.
        ponder: bool = false, Flag;
        /// Strength in casual games against humans outside arenas. All other games are played at full
        /// strength.
        casual_level: CasualLevel = CasualLevel::Full, Choice(CasualLevel::VARIANTS);
        /// For tests: node limit per move.
        nodes: Option<NonZeroU64> as "limit" =
            None, whole((0, i64::MAX), "nodes per move (0: no limit)");
        /// For tests: depth limit in plies.
        depth: Option<NonZeroU64> as "limit" = None, whole((0, 127), "plies (0: no limit)");
        /// For tests: time per move, instead of a share of the clock.
        movetime: Option<Duration> as "MillisLimit" =
            None, whole((0, 3_600_000), "milliseconds per move (0: no limit)");
    }

    /// `[challenge]`: which games are accepted, and how many at a time.
    Challenge {
        /// Concurrent games.
        concurrency: usize = 8, whole((1, 100), "games");
        /// Slots among them that only humans get.
        reserved_for_humans: usize = 0, whole((0, 100), "slots");
        /// Time that a challenge waits for a slot before the bot declines it.
        queue: Duration as "Seconds" = Duration::from_secs(15), whole((0, 120), "seconds");
        /// Challenges that may wait at the same time.
        queue_places: usize = 16, whole((0, 100), "places");
        /// Accounts whose challenges are declined.
        block: Vec<Entry> = Vec::new(), Entries;
        /// If not empty, only these accounts may challenge.
        allow: Vec<Entry> = Vec::new(), Entries;
        /// Accounts that bypass the rules of mode, time, rating and repetition, and the allow list; never
        /// the block list.
        welcome: Vec<Entry> = Vec::new(), Entries;
        /// The rules for humans.
        humans: Visitors = Visitors::default();
        /// The rules for bots.
        bots: Visitors = Visitors::default();
    }

    /// `[challenge.humans]` and `[challenge.bots]`: the rules for one kind of challenger.
    Visitors {
        /// Accept them at all.
        accept: bool = true, Flag;
        rated: bool = true, Flag;
        casual: bool = true, Flag;
        /// Minimum initial time.
        min_base: Duration as "Seconds" = Duration::ZERO, whole(BASE, "seconds");
        /// Maximum initial time.
        max_base: Duration as "Seconds" = Duration::from_secs(1800), whole(BASE, "seconds");
        /// Minimum increment.
        min_increment: Duration as "Seconds" = Duration::ZERO, whole(INCREMENT, "seconds");
        /// Maximum increment.
        max_increment: Duration as "Seconds" = Duration::from_secs(60), whole(INCREMENT, "seconds");
        /// If not empty, only these.
        times: Vec<TimeRule> = Vec::new(), Times;
        /// Longest game as Lichess estimates it: base and forty increments.
        max_duration: Duration as "minutes" =
            Duration::from_secs(180 * 60), whole((1, 600), "minutes");
        /// Accept bullet only with an increment.
        bullet_needs_increment: bool = false, Flag;
        /// Minimum rating of the challenger.
        min_rating: u32 = 0, whole(RATING, "points");
        /// Maximum rating of the challenger.
        max_rating: u32 = 4000, whole(RATING, "points");
        /// Maximum difference to our rating.
        max_rating_difference: u32 = 4000, whole(RATING, "points");
        /// Accept challengers with a provisional rating.
        provisional: bool = true, Flag;
        /// Our colour.
        color: ColorWish = ColorWish::Any, Choice(ColorWish::VARIANTS);
        /// Accept correspondence games.
        correspondence: bool = false, Flag;
        /// Accept games without a time limit.
        unlimited: bool = false, Flag;
        /// Minimum days per move.
        min_days: u32 = 1, whole((1, 14), "days");
        /// Maximum days per move.
        max_days: u32 = 14, whole((1, 14), "days");
        /// Concurrent games with one opponent; those without a clock count apart. A rematch takes the
        /// place of its game.
        at_once: u32 = 3, whole(AT_LEAST_ONE, "games");
        /// Challenges accepted from one opponent within `repeat_window`.
        repeats: u32 = 1000, whole(AT_LEAST_ONE, "challenges");
        repeat_window: Duration as "Seconds" =
            Duration::from_secs(3600), whole((1, 604_800), "seconds");
        /// Consecutive rematches with one opponent.
        rematches: u32 = 1000, whole(COUNT, "games");
        /// Games a day with one opponent.
        per_day: u32 = 1000, whole(AT_LEAST_ONE, "games");
        /// Games a day with all of them.
        total_per_day: u32 = 10_000, whole(AT_LEAST_ONE, "games");
    }

    /// `[limits]`: daily limits of Lichess, until its replies say otherwise.
    Limits {
        bot_games: u32 = 100, whole((0, 10_000), "games per day");
        /// Challenges sent: a bot costs one, a human five.
        challenge_credits: u32 = 200, whole((0, 10_000), "credits per day");
        /// Most percent of the bot games that are kept for incoming challenges.
        incoming_share: u32 = 50, whole((0, 100), "percent");
    }

    /// `[matchmaking]`: challenges that the bot sends.
    Matchmaking {
        /// Challenge other bots at all.
        enabled: bool = false, Flag;
        /// Time without a game before the first attempt.
        idle: Duration as "Seconds" = Duration::from_secs(300), whole((0, 86_400), "seconds");
        /// Minimum time between two attempts.
        spacing: Duration as "Seconds" = Duration::from_secs(60), whole((30, 86_400), "seconds");
        /// Continue while games run.
        during_games: bool = false, Flag;
        /// Time before the bot withdraws an unanswered challenge.
        timeout: Duration as "Seconds" = Duration::from_secs(20), whole((5, 60), "seconds");
        /// Order among suitable opponents.
        prefer: Prefer = Prefer::Nearest, Choice(Prefer::VARIANTS);
        /// Two games with each opponent, one with each colour.
        color_pairs: bool = true, Flag;
        /// Cooldown of an opponent after a first challenge without an answer; other reasons have a
        /// multiple of it. Doubles with each further one.
        cooldown: Duration as "Seconds" = Duration::from_secs(3600), whole((60, YEAR), "seconds");
        /// Maximum of that cooldown.
        cooldown_max: Duration as "Seconds" =
            Duration::from_secs(604_800), whole((60, YEAR), "seconds");
        /// Minimum number of atomic games of an opponent.
        min_games: u32 = 1, whole(COUNT, "games");
        /// Accounts never challenged, besides those that are blocked.
        avoid: Vec<Entry> = Vec::new(), Entries;
        /// Kinds of games to offer.
        profile: Vec<Profile> = vec![Profile::default()];
    }

    /// `[[matchmaking.profile]]`: one kind of game to offer.
    Profile {
        /// Its name in commands and in the log.
        name: String =
            "blitz".to_owned(), Text("a name of letters, digits, _ and -, in quotes");
        /// Initial time.
        base: Duration as "Seconds" = Duration::from_secs(180), whole(BASE, "seconds");
        /// Increment per move.
        increment: Duration as "Seconds" = Duration::from_secs(2), whole((0, 60), "seconds");
        /// Days per move, instead of a clock; 0 for the clock. Such a game is casual whatever `rated` says.
        days: u32 = 0, whole((0, 14), "days");
        rated: bool = true, Flag;
        /// Its frequency relative to the other profiles.
        weight: u32 = 1, whole((1, 1000), "parts");
        /// Minimum rating of the opponent.
        min_rating: u32 = 0, whole(RATING, "points");
        /// Maximum rating of the opponent.
        max_rating: u32 = 4000, whole(RATING, "points");
        /// Maximum difference to our rating.
        max_rating_difference: u32 = 600, whole(RATING, "points");
        /// Hours of the day, in UTC.
        hours: Hours = Hours::always(), Takes::Hours;
    }

    /// `[arena]`: tournaments that the bot joins.
    Arena {
        /// Join every atomic arena that admits bots and fits the rules below. Most arenas on the server's
        /// list admit none: `teams` and `ids` name those of users.
        auto: bool = false, Flag;
        /// Join these, whatever the rules below.
        ids: Vec<ArenaId> = Vec::new(), Arenas;
        /// Teams of the bot whose arenas count among those of `auto`.
        teams: Vec<String> = Vec::new(), Teams;
        /// Minimum initial time.
        min_base: Duration as "Seconds" = Duration::from_secs(60), whole(BASE, "seconds");
        /// Maximum initial time.
        max_base: Duration as "Seconds" = Duration::from_secs(600), whole(BASE, "seconds");
        /// Minimum increment.
        min_increment: Duration as "Seconds" = Duration::ZERO, whole(INCREMENT, "seconds");
        /// Maximum increment.
        max_increment: Duration as "Seconds" = Duration::from_secs(5), whole(INCREMENT, "seconds");
        rated_only: bool = true, Flag;
        /// Concurrent arenas.
        most: u32 = 1, whole((1, 10), "arenas");
        /// Hours of the day, in UTC.
        hours: Hours = Hours::always(), Takes::Hours;
    }

    /// `[clock]`: move overhead and reserve.
    Clock {
        /// Minimum overhead per move, whatever is measured.
        overhead_floor: Duration as "Millis" =
            Duration::from_millis(50), whole((0, 10_000), "milliseconds");
        /// Maximum overhead per move, whatever is measured.
        overhead_ceiling: Duration as "Millis" =
            Duration::from_secs(2), whole((0, 10_000), "milliseconds");
        /// Reserve in addition to the overhead.
        reserve: Duration as "Millis" =
            Duration::from_millis(500), whole((0, 10_000), "milliseconds");
        /// Minimum of that reserve on a short clock.
        reserve_least: Duration as "Millis" =
            Duration::from_millis(150), whole((0, 10_000), "milliseconds");
        /// Spend a human's time on moves against humans.
        human_pace: bool = false, Flag;
    }

    /// `[correspondence]`: games with days per move, or without a limit.
    Correspondence {
        /// Time between checks for games where the bot is to move: at most 4 hours, whatever it says,
        /// and at most 5 minutes while other games run.
        poll: Duration as "Seconds" = Duration::from_secs(300), whole((30, 86_400), "seconds");
        /// Thinking time per move.
        think: Duration as "Seconds" = Duration::from_secs(10), whole((1, 3600), "seconds");
    }

    /// `[game]`: the wait for a first move.
    Game {
        /// Time for a bot's first move before the bot aborts the game.
        abort_bots: Duration as "Seconds" = Duration::from_secs(30), whole((5, 600), "seconds");
        /// The same for humans.
        abort_humans: Duration as "Seconds" = Duration::from_secs(60), whole((5, 600), "seconds");
        /// Games in a day, aborted by either side while the opponent owed the first move, after which it gets a cooldown.
        abort_repeats: u32 = 3, whole((1, 1000), "games");
        /// Length of that cooldown.
        abort_rest: Duration as "Seconds" = Duration::from_secs(3600), whole((0, YEAR), "seconds");
    }

    /// `[draw]`: draws that the bot accepts and offers.
    Draw {
        /// Accept draws that humans offer.
        accept_humans: bool = true, Flag;
        /// Accept draws that bots offer.
        accept_bots: bool = true, Flag;
        /// Offer draws to humans.
        offer_humans: bool = false, Flag;
        /// Offer draws to bots.
        offer_bots: bool = false, Flag;
        /// A position is level when its score is at most this far from zero, in centipawns.
        score: u32 = 15, whole((0, 1000), "centipawns");
        /// Consecutive own moves with a level score.
        moves: u32 = 4, whole((1, 100), "moves");
        /// No draw before this many plies, unless endgame tables prove it.
        ply: u32 = 60, whole((2, 600), "plies");
        offers: u32 = 2, whole((0, 100), "offers per game");
    }

    /// `[resign]`: when the bot resigns.
    Resign {
        /// Resign lost games at all.
        enabled: bool = false, Flag;
        /// A position is lost when its score is this far below zero, in centipawns.
        score: u32 = 1500, whole((100, 20_000), "centipawns");
        /// Consecutive own moves with a lost score.
        moves: u32 = 4, whole((1, 100), "moves");
        /// Depth to which each of them must have been searched, in plies.
        depth: u32 = 10, whole((1, 127), "plies");
    }

    /// `[takeback]`: takebacks in casual games.
    Takeback {
        /// Takebacks per game granted to a human.
        humans: u32 = 1, whole((0, 1000), "takebacks per game");
        /// Takebacks per game granted to a bot.
        bots: u32 = 0, whole((0, 1000), "takebacks per game");
    }

    /// `[chat]`: messages of the bot. Each text is a template, see [`crate::config::Template`].
    Chat {
        humans: bool = true, Flag;
        bots: bool = false, Flag;
        /// To the opponent at the start; empty for none.
        greeting: String =
            "Good luck, {opponent}! I am {me}, an atomic engine. Type !help for commands.".to_owned(),
            Line;
        /// To the opponent at the end.
        goodbye: String = "Good game, {opponent}!".to_owned(), Line;
        /// To the spectators at the start.
        spectator_greeting: String = String::new(), Line;
        /// To the spectators at the end.
        spectator_goodbye: String = String::new(), Line;
        /// Answer commands such as `!help`.
        commands: bool = true, Flag;
        /// Minimum time between two messages in a game.
        pause: Duration as "Seconds" = Duration::from_secs(3), whole((1, 600), "seconds");
    }

    /// `[variety]`: how rated games deviate from the lines of the pair's last ones.
    Variety {
        /// Deviate from them at all.
        enabled: bool = true, Flag;
        plies: u32 = 20, whole((0, 20), "plies");
        /// Centipawns that another move may cost.
        loss: u32 = 25, whole((0, 1000), "centipawns");
        /// Random seed; 0 for a new one at each start.
        seed: u64 = 0, whole((0, i64::MAX), "any value (0: a new one at each start)");
    }

    /// `[experience]`: what earlier games teach about their lines.
    ExperienceRules {
        /// Avoid moves that lost earlier games, against anybody.
        enabled: bool = true, Flag;
        /// Centipawns that another move may cost where no single move lost the earlier game.
        loss: u32 = 60, whole((0, 1000), "centipawns");
    }

    /// `[book]`: moves that the bot plays from opening books.
    BookRules {
        /// Play from books at all.
        enabled: bool = true, Flag;
        /// Book files, the one with priority first. A relative path in a config file starts at that
        /// file's folder.
        files: Vec<PathBuf> = Vec::new(), Files;
        /// Play from the book in the program too, where those files have no move.
        built_in: bool = true, Flag;
        /// Choice among the moves of a position.
        selection: BookSelection =
            BookSelection::Weighted, Choice(BookSelection::VARIANTS);
        /// Only before this ply.
        max_ply: u32 = 40, whole((0, 600), "plies");
        /// Least weight of a move.
        min_weight: u32 = 1, whole((0, 65_535), "points");
        /// Only with more time than this on our clock.
        min_clock: Duration as "Seconds" = Duration::ZERO, whole((0, 10_800), "seconds");
        humans: bool = true, Flag;
        bots: bool = true, Flag;
        rated: bool = true, Flag;
        casual: bool = true, Flag;
    }

    /// `[online_tables]`: the endgame tables of Lichess, asked beside a search.
    OnlineTables {
        /// Ask them at all.
        enabled: bool = false, Flag;
        /// Their server, without a path; it gets no token.
        url: String =
            "https://tablebase.lichess.org".to_owned(), Text("a URL such as \"https://tablebase.lichess.org\"");
        /// With a clock, ask only while the bot has this much time left.
        min_clock: Duration as "Seconds" = Duration::from_secs(600), whole((60, 10_800), "seconds");
        /// Time after which a request is given up. No move waits for it.
        timeout: Duration as "Seconds" = Duration::from_secs(5), whole((1, 60), "seconds");
    }

    /// `[explorer]`: the opening explorer of Lichess, read while no game runs.
    Explorer {
        /// Read it at all.
        enabled: bool = false, Flag;
        /// Its server, without a path; it gets the token.
        url: String =
            "https://explorer.lichess.org".to_owned(), Text("a URL such as \"https://explorer.lichess.org\"");
        /// Read positions of fewer than this many plies.
        plies: u32 = 16, whole((1, 40), "plies");
        /// Games that a move needs to count.
        min_games: u64 = 20, whole(AT_LEAST_ONE, "games");
        /// Centipawns that a move may cost by our own search to be approved.
        loss: u32 = 30, whole((0, 1000), "centipawns");
        /// Nodes of each search that approves or refuses.
        nodes: u64 = 100_000, whole((1000, 100_000_000), "nodes");
        /// Games with an opponent that make it a regular one, whose openings are read; 0 for none.
        regulars: u32 = 5, whole(COUNT, "games (0: no opponent)");
        /// Positions that are kept.
        positions: usize = 10_000, whole((100, 1_000_000), "positions");
        /// Days after which a position is read again.
        days: u32 = 60, whole((1, 3650), "days");
    }

    /// `[guard]`: when rated games pause.
    Guard {
        /// Consecutive rated losses against one opponent.
        opponent_losses: u32 = 8, whole(AT_LEAST_ONE, "games");
        /// Consecutive rated losses against anyone.
        losses: u32 = 15, whole(AT_LEAST_ONE, "games");
        /// Rating points lost in 24 hours, single losses of more than 60 excluded.
        points: u32 = 150, whole(AT_LEAST_ONE, "points");
        /// Length of the pause.
        rest: Duration as "Seconds" = Duration::from_secs(86_400), whole((60, YEAR), "seconds");
    }

    /// `[shutdown]`: how the bot stops.
    ShutdownRules {
        /// Time to finish games in progress.
        drain: Duration as "Seconds" = Duration::from_secs(300), whole((0, 86_400), "seconds");
    }

    /// `[panel]`: the operator's page.
    Panel {
        /// Address and port; none serves no page.
        listen: Option<SocketAddr> as "EmptyIsNone" =
            Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 8650))), Address;
        /// File with the password for commands over HTTP and for every other request, those from this machine
        /// unless `trust_local` is set. A relative path in a config file starts at that file's folder.
        token_file: Option<PathBuf> as "PathOrNone" =
            None, Text("the path of a file with a password, in quotes");
        /// Further host names of the page, besides `localhost` and the listen address. Requests for these
        /// need the password.
        hosts: Vec<String> = Vec::new(), Hosts;
        /// Whether requests from this machine may read without the password.
        trust_local: bool = false, Flag;
        /// Whether everyone who reaches the page may watch the games, and nothing else.
        spectators: bool = false, Flag;
    }

    /// `[alerts]`: messages to a webhook.
    Alerts {
        /// File that holds only the URL, since most are secrets; `MEGATON_WEBHOOK` takes precedence. A
        /// relative path in a config file starts at that file's folder.
        webhook_file: Option<PathBuf> as "PathOrNone" =
            None, Text("the path of a file with the webhook URL, in quotes");
        format: AlertFormat = AlertFormat::Json, Choice(AlertFormat::VARIANTS);
        /// The chat that gets the messages, for Telegram.
        chat_id: Option<String> as "EmptyIsNone" =
            None, Text("the id of a Telegram chat in quotes, such as \"-1001234567890\"");
        /// Kinds of messages not to send.
        mute: Vec<String> = Vec::new(), Choices(MESSAGE_KINDS);
        /// File with a URL to request each minute while the bot is ready; `MEGATON_HEARTBEAT` takes
        /// precedence. A relative path in a config file starts at that file's folder.
        heartbeat_file: Option<PathBuf> as "PathOrNone" =
            None, Text("the path of a file with the heartbeat URL, in quotes");
        /// Maximum messages per hour.
        per_hour: usize = 12, whole((1, 1000), "messages per hour");
        /// Time without an event stream before a message.
        deaf: Duration as "Seconds" = Duration::from_secs(120), whole((10, 86_400), "seconds");
    }

    /// `[archive]`: stored games, challenges and events.
    Archive {
        /// Whether to archive at all; the bot's state does not depend on it.
        keep: bool = true, Flag;
        /// Days to keep games.
        games: u32 = 36_500, whole((1, 36_500), "days");
        /// Days to keep the engine's analysis of their moves.
        details: u32 = 36_500, whole((1, 36_500), "days");
        /// Days to keep challenges and events.
        events: u32 = 365, whole((1, 36_500), "days");
        /// Keep the raw traffic of each game as well, as long as events.
        wire: bool = false, Flag;
        /// Analyse lost and drawn games while idle.
        review: bool = true, Flag;
        /// Search time for each of their positions.
        review_time: Duration as "Millis" =
            Duration::from_secs(1), whole((10, 600_000), "milliseconds per position");
    }

    /// `[log]`: level, format and file of the log.
    Log {
        level: Level = Level::Info, Choice(Level::VARIANTS);
        format: Format = Format::Text, Choice(Format::VARIANTS);
        /// File to which `megaton run` logs as well; none for stderr alone. A relative path in a config
        /// file starts at that file's folder.
        file: Option<PathBuf> as "PathOrNone" =
            None, Text("the path of a file that ends in .log, in quotes");
        /// Most files kept, one a day.
        files: usize = 14, whole((2, 1000), "files");
    }
}

/// The colour that we want in a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ColorWish {
    Any,
    White,
    Black,
}

/// Order among suitable opponents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Prefer {
    /// The one whose rating is nearest to ours.
    Nearest,
    /// The one rated highest.
    Strongest,
    /// The one rated lowest.
    Weakest,
    /// The one against whom our results exceed what the ratings promise the most.
    Gain,
    Random,
}

/// Choice among the moves of a book.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum BookSelection {
    /// The move of the greatest weight.
    Best,
    /// The greater its weight, the likelier a move.
    Weighted,
    /// Every move alike.
    Uniform,
}

/// Format of a webhook message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum AlertFormat {
    /// An object whose `text` and `content` chat services show.
    #[default]
    Json,
    Text,
    /// The call `sendMessage` of Telegram's Bot API.
    Telegram,
}

/// The kinds of messages, as they stand in brackets in each message.
pub const MESSAGE_KINDS: &[&str] = &[
    "token",
    "scopes",
    "closed",
    "marked",
    "barred",
    "stolen",
    "token-ends",
    "guard",
    "store",
    "archive",
    "secret",
    "deaf",
    "paused",
    "time",
    "engine",
    "event-loop",
    "crash",
    "service",
    "spent",
    "day",
    "rating",
    "ended",
];

/// How much is logged; each level holds those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, VariantNames, Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Level {
    Off,
    /// Needs the operator.
    Error,
    /// May need the operator.
    Warn,
    /// About a line per game.
    Info,
    /// About a line per move.
    Debug,
    /// Everything that goes over the wire, the token aside.
    Trace,
}

/// Format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Format {
    /// For a terminal.
    Text,
    /// One JSON object per line.
    Json,
}

/// All settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The server, the token and a contact.
    pub lichess: Lichess,
    /// Files of the bot.
    pub data: Data,
    /// Resources and limits of the engine.
    pub engine: Engine,
    /// Which games are accepted, and how many at a time.
    pub challenge: Challenge,
    /// Daily limits of Lichess.
    pub limits: Limits,
    /// Challenges that the bot sends.
    pub matchmaking: Matchmaking,
    /// Tournaments that the bot joins.
    pub arena: Arena,
    /// Move overhead and reserve.
    pub clock: Clock,
    /// Correspondence and unlimited games.
    pub correspondence: Correspondence,
    /// Limits on the wait for a first move.
    pub game: Game,
    /// Draws that the bot accepts and offers.
    pub draw: Draw,
    pub resign: Resign,
    /// Takebacks that the bot grants.
    pub takeback: Takeback,
    pub chat: Chat,
    /// Variation of openings.
    pub variety: Variety,
    /// What earlier games teach about their lines.
    pub experience: ExperienceRules,
    /// Moves from opening books.
    pub book: BookRules,
    /// The endgame tables of Lichess.
    pub online_tables: OnlineTables,
    /// The opening explorer of Lichess.
    pub explorer: Explorer,
    /// Limits on losses in rated games.
    pub guard: Guard,
    pub shutdown: ShutdownRules,
    /// The operator's page.
    pub panel: Panel,
    /// Messages to a webhook.
    pub alerts: Alerts,
    /// The archive of games, challenges and events.
    pub archive: Archive,
    /// The log.
    pub log: Log,
}

/// Every section, in the order of `config.example.toml`.
pub const SECTIONS: &[Section] = &[
    Section::one("lichess", Lichess::KEYS),
    Section::one("data", Data::KEYS),
    Section::one("engine", Engine::KEYS),
    Section::one("challenge", Challenge::KEYS),
    Section::one("challenge.humans", Visitors::KEYS),
    Section::one("challenge.bots", Visitors::KEYS),
    Section::one("limits", Limits::KEYS),
    Section::one("matchmaking", Matchmaking::KEYS),
    Section {
        path: "matchmaking.profile",
        many: true,
        keys: Profile::KEYS,
    },
    Section::one("arena", Arena::KEYS),
    Section::one("clock", Clock::KEYS),
    Section::one("correspondence", Correspondence::KEYS),
    Section::one("game", Game::KEYS),
    Section::one("draw", Draw::KEYS),
    Section::one("resign", Resign::KEYS),
    Section::one("takeback", Takeback::KEYS),
    Section::one("chat", Chat::KEYS),
    Section::one("variety", Variety::KEYS),
    Section::one("experience", ExperienceRules::KEYS),
    Section::one("book", BookRules::KEYS),
    Section::one("online_tables", OnlineTables::KEYS),
    Section::one("explorer", Explorer::KEYS),
    Section::one("guard", Guard::KEYS),
    Section::one("shutdown", ShutdownRules::KEYS),
    Section::one("panel", Panel::KEYS),
    Section::one("alerts", Alerts::KEYS),
    Section::one("archive", Archive::KEYS),
    Section::one("log", Log::KEYS),
];

/// The section of this path.
pub(super) fn section(path: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.path == path)
}

/// The direct subsections of a section; the top-level ones for "".
pub(super) fn within(path: &str) -> impl Iterator<Item = &'static Section> {
    SECTIONS
        .iter()
        .filter(move |section| section.split().0 == path)
}

impl Lichess {
    /// The name of this server's subfolder: its host, and its port if not the default.
    fn folder_name(&self) -> String {
        let parsed = reqwest::Url::parse(&self.url).ok();
        let host = parsed.as_ref().and_then(reqwest::Url::host_str);
        let host = host.unwrap_or("unknown").replace([':', '[', ']'], "_");
        match parsed.as_ref().and_then(reqwest::Url::port) {
            Some(port) => format!("{host}_{port}"),
            None => host,
        }
    }
}

impl Engine {
    /// Whether any limit of every search is set. Otherwise the clock alone decides.
    pub fn limits_search(&self) -> bool {
        self.nodes.is_some() || self.depth.is_some() || self.movetime.is_some()
    }

    /// The threads of all searches: the setting, or every core of the machine.
    pub fn cores(&self) -> usize {
        if self.threads > 0 {
            return self.threads;
        }
        thread::available_parallelism().map_or(1, usize::from)
    }
}

impl Data {
    /// The subfolder of `server`, if the bot stores anything: daily games, ratings and names of one
    /// server do not apply to another.
    pub fn home(&self, server: &Lichess) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        Some(folder.join(server.folder_name()))
    }

    /// The path of the control socket of a bot on `server`, if it has one.
    pub fn socket_path(&self, server: &Lichess) -> Option<PathBuf> {
        let socket = self.socket.as_ref()?;
        match self.home(server) {
            Some(home) => Some(home.join(socket)),
            None => socket.is_absolute().then(|| socket.clone()),
        }
    }
}

impl Challenge {
    /// Whether an account is blocked by name in the config itself; files and URLs aside.
    pub fn blocks(&self, account: &str) -> bool {
        self.block.iter().any(|entry| entry.is_name(account))
    }

    /// The rules for bots, or those for humans.
    pub fn rules_for(&self, is_bot: bool) -> &Visitors {
        if is_bot { &self.bots } else { &self.humans }
    }
}

impl Profile {
    pub fn time_control(&self) -> TimeControl {
        match self.days {
            0 => TimeControl::Clock {
                limit: self.base,
                increment: self.increment,
            },
            days => TimeControl::Correspondence { days },
        }
    }

    pub fn speed(&self) -> Speed {
        match self.days {
            0 => speed_of(self.base, self.increment),
            _ => Speed::Correspondence,
        }
    }
}

impl BookRules {
    /// Whether books may be used in a game of this kind.
    pub fn applies(&self, to_bot: bool, rated: bool) -> bool {
        let opponent = if to_bot { self.bots } else { self.humans };
        let mode = if rated { self.rated } else { self.casual };
        self.enabled && opponent && mode
    }
}

impl Draw {
    /// Whether the bot may accept a draw offer of a bot, or of a human.
    pub fn accepts(&self, from_bot: bool) -> bool {
        if from_bot {
            self.accept_bots
        } else {
            self.accept_humans
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_has_its_own_folder() {
        let rows = [
            ("https://lichess.org", "lichess.org"),
            ("https://lichess.dev/", "lichess.dev"),
            ("http://127.0.0.1:8642", "127.0.0.1_8642"),
            ("http://[::1]:9", "___1__9"),
        ];
        for (url, name) in rows {
            let server = Lichess {
                url: url.to_owned(),
                ..Lichess::default()
            };
            let home = Data::default().home(&server);
            assert_eq!(home, Some(PathBuf::from("data").join(name)));
        }
    }
}
