//! The chat of one game: game events and chat lines in, messages to send out.
//!
//! Pure. The bot greets and says goodbye once per game, across restarts too: [`ChatState`] holds
//! what was already sent. It sends nothing before its first move is on the server's list.

use std::sync::Arc;
use std::time::{Duration, Instant};

use strum::EnumString;

use super::sender::ReplyLimit;
use super::{ChatMessage, MessageKind, sendable};
use crate::bot::game::{Ending, FIRST_PLIES, GameSetup, MovePlayed};
use crate::bot::settings::Settings;
use crate::bot::state::OpponentRecord;
use crate::bot::status::Occupancy;
use crate::config::{Template, Words};
use crate::engine::{Score, SearchResult};
use crate::lichess::{BySide, ChatLine, GameId, Room, Side, Status, UserId};
use crate::rules::Move;

/// The name under which the server itself writes.
const SERVER: &str = "lichess";
const ENGINE: &str = "Megaton";
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Players {
    pub setup: GameSetup,
    /// The level below full strength at which the bot plays this game, if it does.
    pub level: Option<&'static str>,
}

/// The messages already sent in a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChatState {
    pub greeted: bool,
    pub parted: bool,
}

/// The facts that answers may use.
#[derive(Debug, Default)]
pub(super) struct GameFacts {
    /// The engine's evaluation of the bot's last move.
    pub(super) opinion: Option<EngineEval>,
    /// Both clocks in the last state.
    pub(super) clocks: BySide<Option<Duration>>,
    pub(super) now: Circumstances,
}

/// What a conversation looks up only when someone asks.
#[derive(Clone, Debug, Default)]
pub(in crate::bot) struct Circumstances {
    /// The earlier games against the opponent.
    pub(in crate::bot) record: Option<OpponentRecord>,
    pub(in crate::bot) occupancy: Occupancy,
    /// The time on both clocks of the running game that has the least of it.
    pub(in crate::bot) least_clocks: Option<Duration>,
    /// How much longer the bot would wait for the opponent's first move, if it may ask for that.
    pub(in crate::bot) more_time: Option<Duration>,
}

/// The engine's evaluation of one of the bot's moves.
#[derive(Clone, Debug)]
pub(super) struct EngineEval {
    pub(super) score: Score,
    pub(super) depth: u32,
    pub(super) ply: usize,
    /// The expected moves, in UCI, from the bot's own on.
    pub(super) line: String,
}

#[derive(Debug)]
pub struct Conversation {
    game: GameId,
    settings: Arc<Settings>,
    about: Option<Players>,
    chat_state: ChatState,
    facts: GameFacts,
    reply_limit: ReplyLimit,
}

impl Conversation {
    /// Starts with the messages already sent in this game.
    pub fn new(game: GameId, settings: Arc<Settings>, chat_state: ChatState) -> Self {
        Self {
            reply_limit: ReplyLimit::new(settings.chat.pause),
            game,
            settings,
            about: None,
            chat_state,
            facts: GameFacts::default(),
        }
    }

    pub fn chat_state(&self) -> ChatState {
        self.chat_state
    }

    /// Sets the players once they are known.
    pub fn introduce(&mut self, about: Players) {
        self.about = Some(about);
    }

    /// Handles a move on the server's list. The bot greets at its own first move.
    pub fn moved(&mut self, moved: &MovePlayed) -> Vec<ChatMessage> {
        self.facts.clocks = moved.clocks;
        // A book move says nothing of what the engine thinks.
        let thought = |it: &&SearchResult| it.depth > 0 || it.by_tables;
        if let (true, Some(result)) = (moved.ours, moved.result.as_ref().filter(thought)) {
            self.facts.opinion = Some(EngineEval {
                score: result.score,
                depth: result.depth,
                ply: moved.ply,
                line: uci_line(&result.line),
            });
        }
        if !moved.ours || moved.ply >= FIRST_PLIES || self.chat_state.greeted || !self.greets() {
            return Vec::new();
        }
        self.chat_state.greeted = true;
        let chat = &self.settings.chat;
        let mut lines = self.both_rooms(
            &chat.greeting,
            &chat.spectator_greeting,
            MessageKind::Greeting,
        );
        lines.extend(self.level_note());
        lines
    }

    /// Tells a greeted opponent that the bot does not play at full strength, if so.
    fn level_note(&self) -> Option<ChatMessage> {
        let level = self.about.as_ref()?.level?;
        let text =
            format!("In this casual game I play at level \"{level}\", not at full strength.");
        let greets = !self.settings.chat.greeting.is_empty();
        self.line(Room::Player, &text, MessageKind::Greeting)
            .filter(|_| greets)
    }

    pub fn ended(&mut self, ending: &Ending) -> Vec<ChatMessage> {
        let played = !matches!(ending.status, None | Some(Status::Aborted));
        if !played || ending.plies < FIRST_PLIES || self.chat_state.parted || !self.greets() {
            return Vec::new();
        }
        self.chat_state.parted = true;
        let chat = &self.settings.chat;
        self.both_rooms(&chat.goodbye, &chat.spectator_goodbye, MessageKind::Goodbye)
    }

    /// Handles a chat line. Calls `circumstances` only for a command.
    pub(in crate::bot) fn handle_event(
        &mut self,
        line: &ChatLine,
        circumstances: impl FnOnce() -> Circumstances,
        now: Instant,
    ) -> Option<ChatMessage> {
        let about = self.about.as_ref()?;
        let author = UserId::new(&line.username);
        let ours = author == UserId::new(&about.setup.me);
        if !self.settings.chat.commands || ours || author.as_str() == SERVER {
            return None;
        }
        let command = ChatCommand::read(&line.text)?;
        if !self.reply_limit.admits(&author, now) {
            return None;
        }
        let sender = ChatSender {
            room: line.room,
            plays: about.setup.opponent_id.as_ref() == Some(&author),
        };
        self.facts.now = circumstances();
        let more_time = self.facts.now.more_time;
        let grants = command == ChatCommand::Wait && sender.plays && more_time.is_some();
        let kind = if grants {
            MessageKind::MoreTime
        } else {
            MessageKind::Answer
        };
        let text = answer(command, sender, about, &self.facts);
        self.line(line.room, &text, kind)
    }

    /// Whether the operator wants this kind of opponent greeted.
    fn greets(&self) -> bool {
        let chat = &self.settings.chat;
        self.about.as_ref().is_some_and(|Players { setup, .. }| {
            let wanted = if setup.opponent_is_bot {
                chat.bots
            } else {
                chat.humans
            };
            // The server's own engine reads nothing.
            wanted && !setup.opponent_is_ai
        })
    }

    fn both_rooms(&self, player: &str, spectator: &str, kind: MessageKind) -> Vec<ChatMessage> {
        let Some(about) = &self.about else {
            return Vec::new();
        };
        let words = Words {
            me: &about.setup.me,
            opponent: &about.setup.opponent,
            engine: ENGINE,
            version: VERSION,
        };
        [(Room::Player, player), (Room::Spectator, spectator)]
            .into_iter()
            .filter_map(|(room, text)| self.line(room, &Template(text).fill(&words), kind))
            .collect()
    }

    fn line(&self, room: Room, text: &str, kind: MessageKind) -> Option<ChatMessage> {
        Some(ChatMessage {
            game: self.game.clone(),
            room,
            text: sendable(text)?,
            kind,
            pause: self.settings.chat.pause,
            outcome_sender: None,
        })
    }
}

/// The prefix of a command.
const MARK: char = '!';

/// A chat command. Only these are answered; any other line is conversation. Evaluations are for
/// spectators, never for the opponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString)]
#[strum(serialize_all = "lowercase", ascii_case_insensitive)]
pub(super) enum ChatCommand {
    #[strum(serialize = "help", serialize = "commands")]
    Help,
    Name,
    /// The engine's evaluation; spectators only.
    Eval,
    /// The moves that the engine expects; spectators only.
    Pv,
    Clock,
    /// The score of past games against the opponent.
    Stats,
    /// How many games run and challenges wait.
    Queue,
    /// More time for the opponent's first move; otherwise when a slot may become free.
    Wait,
    Ping,
}

impl ChatCommand {
    /// The command in a line, if any, in any letter case.
    pub(super) fn read(line: &str) -> Option<Self> {
        let word = line.trim_start().strip_prefix(MARK)?;
        word.split_whitespace().next()?.parse().ok()
    }
}

/// Who sent a command, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChatSender {
    /// The room of the command, and of the answer.
    pub(super) room: Room,
    /// Whether the sender is the opponent.
    pub(super) plays: bool,
}

impl ChatSender {
    fn may_see_evals(self) -> bool {
        self.room == Room::Spectator && !self.plays
    }
}

pub(super) fn answer(
    command: ChatCommand,
    sender: ChatSender,
    about: &Players,
    facts: &GameFacts,
) -> String {
    match command {
        ChatCommand::Help if sender.may_see_evals() => {
            "I answer !name, !eval, !pv, !clock, !stats, !queue, !wait and !ping.".to_owned()
        }
        ChatCommand::Help => "I answer !name, !clock, !stats, !queue, !wait and !ping.".to_owned(),
        ChatCommand::Name => format!(
            "I am {}, playing atomic chess with {ENGINE} {VERSION}{}.",
            about.setup.me,
            about
                .level
                .map(|level| format!(" at level \"{level}\""))
                .unwrap_or_default()
        ),
        ChatCommand::Eval if sender.may_see_evals() => eval(about.setup.us, facts),
        ChatCommand::Pv if sender.may_see_evals() => line(facts),
        ChatCommand::Eval | ChatCommand::Pv => {
            "I keep my opinion to myself while we play.".to_owned()
        }
        ChatCommand::Clock => clocks(facts),
        ChatCommand::Stats => stats(&about.setup.opponent, facts),
        ChatCommand::Queue => queue(facts.now.occupancy),
        ChatCommand::Wait => match facts.now.more_time.filter(|_| sender.plays) {
            Some(more) => format!("I wait {} longer for your first move.", minutes(more)),
            None => next_slot(&facts.now),
        },
        ChatCommand::Ping => "Pong!".to_owned(),
    }
}

/// The last score from White's point of view.
fn eval(us: Side, facts: &GameFacts) -> String {
    let Some(opinion) = &facts.opinion else {
        return "I have not thought about this game yet.".to_owned();
    };
    let sign = if us == Side::White { 1 } else { -1 };
    let score = match opinion.score {
        Score::Cp(score) => format!("{:+.2}", f64::from(score.saturating_mul(sign)) / 100.0),
        // Mate in 0 is a lost game, and a zero carries no sign.
        Score::Mate(0) if us == Side::White => "#-0".to_owned(),
        Score::Mate(0) => "#0".to_owned(),
        Score::Mate(moves) => format!("#{}", moves.saturating_mul(sign)),
    };
    format!(
        "{score} for White at depth {} (move {}).",
        opinion.depth,
        opinion.ply / 2 + 1
    )
}

/// The expected moves from the bot's last move on.
fn line(facts: &GameFacts) -> String {
    match &facts.opinion {
        Some(opinion) if !opinion.line.is_empty() => {
            format!("From move {} on: {}", opinion.ply / 2 + 1, opinion.line)
        }
        _ => "I have no line in mind.".to_owned(),
    }
}

/// So many moves of a line are told; more would not fit.
const LINE_MOVES: usize = 12;

fn uci_line(line: &[Move]) -> String {
    let moves = line.iter().take(LINE_MOVES).map(Move::to_string);
    moves.collect::<Vec<_>>().join(" ")
}

fn clocks(facts: &GameFacts) -> String {
    match (facts.clocks.white, facts.clocks.black) {
        (Some(white), Some(black)) => {
            format!(
                "White has {}, Black has {}.",
                minutes(white),
                minutes(black)
            )
        }
        _ => "No clock has run yet.".to_owned(),
    }
}

/// Clock format: `1:05`, below ten seconds `0:07.3`, above an hour `1:02:05`.
fn minutes(left: Duration) -> String {
    let seconds = left.as_secs();
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{rest:02}")
    } else if seconds < 10 {
        format!("0:{rest:02}.{}", left.subsec_millis() / 100)
    } else {
        format!("{minutes}:{rest:02}")
    }
}

fn queue(occupancy: Occupancy) -> String {
    let (slots, taken) = (occupancy.slots, occupancy.taken);
    let waiting = match occupancy.waiting {
        0 => "no challenge waits".to_owned(),
        1 => "one challenge waits".to_owned(),
        waiting => format!("{waiting} challenges wait"),
    };
    let closed = if occupancy.open {
        ""
    } else {
        " I take no new games at present."
    };
    format!("{taken} of my {slots} slots are taken, {waiting}.{closed}")
}

/// When a game may become possible.
fn next_slot(now: &Circumstances) -> String {
    let occupancy = now.occupancy;
    match now.least_clocks {
        _ if !occupancy.open => "I take no new games at present.".to_owned(),
        _ if occupancy.taken < occupancy.slots => "I have a slot free: challenge me.".to_owned(),
        // Increments make it longer.
        Some(left) => format!(
            "Every slot is taken; the game nearest to its end has {} on its clocks.",
            minutes(left)
        ),
        None => "Every slot is taken; I do not know for how long.".to_owned(),
    }
}

fn stats(opponent: &str, facts: &GameFacts) -> String {
    let Some(record) = &facts.now.record else {
        return format!("I remember no games against {opponent}.");
    };
    let (wins, draws, losses) = (record.wins, record.draws, record.losses);
    match wins.saturating_add(draws).saturating_add(losses) {
        0 => format!("This is our first game, {opponent}."),
        games => format!(
            "Against {opponent} I have {} from {games}: won {wins}, drawn {draws}, lost {losses}.",
            f64::from(wins) + f64::from(draws) / 2.0
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Position;

    fn settings() -> Settings {
        let mut settings = Settings::default();
        settings.chat.greeting = "Hello {opponent}, {me} here".into();
        settings.chat.spectator_greeting = "Welcome to {engine}".into();
        settings.chat.goodbye = "Bye {opponent}".into();
        settings
    }

    impl Players {
        /// Two human players.
        pub(super) fn between(me: &str, opponent: &str, us: Side) -> Self {
            let setup = GameSetup {
                us,
                me: me.to_owned(),
                opponent: opponent.to_owned(),
                opponent_id: Some(UserId::new(opponent)),
                opponent_is_bot: false,
                opponent_is_ai: false,
                rating_lead: None,
                rated: false,
                clocked: true,
                arena: false,
            };
            Self { setup, level: None }
        }
    }

    fn introduced(settings: Settings, chat_state: ChatState) -> Conversation {
        let mut conversation = Conversation::new(GameId::new("g1"), Arc::new(settings), chat_state);
        conversation.introduce(Players::between("Megaton", "BlastCap", Side::White));
        conversation
    }

    fn moved(ply: usize, ours: bool) -> MovePlayed {
        MovePlayed {
            ply,
            before: Position::default(),
            played: Position::default().legal_moves()[0],
            ours,
            result: None,
            clocks: BySide::default(),
        }
    }

    fn ending(status: Option<Status>, plies: usize) -> Ending {
        Ending {
            game: GameId::new("g1"),
            status,
            winner: None,
            us: Some(Side::White),
            opponent: "BlastCap".into(),
            plies,
            fen: String::new(),
        }
    }

    fn says(room: Room, username: &str, text: &str) -> ChatLine {
        ChatLine {
            room,
            username: username.into(),
            text: text.into(),
        }
    }

    fn texts(lines: &[ChatMessage]) -> Vec<(Room, &str)> {
        lines.iter().map(|line| (line.room, &*line.text)).collect()
    }

    #[test]
    fn both_rooms_are_greeted_once_and_only_after_our_first_move() {
        let mut conversation = introduced(settings(), ChatState::default());
        assert!(conversation.moved(&moved(1, false)).is_empty());
        let greeting = conversation.moved(&moved(0, true));
        assert_eq!(
            texts(&greeting),
            [
                (Room::Player, "Hello BlastCap, Megaton here"),
                (Room::Spectator, "Welcome to Megaton"),
            ]
        );
        assert!(conversation.moved(&moved(0, true)).is_empty(), "a takeback");
        assert!(conversation.moved(&moved(2, true)).is_empty());
    }

    #[test]
    fn a_book_move_is_no_opinion_of_the_engine() {
        let mut conversation = introduced(settings(), ChatState::default());
        let mut told = |depth, score| {
            let result = SearchResult {
                depth,
                score: Score::Cp(score),
                ..SearchResult::default()
            };
            conversation.moved(&MovePlayed {
                result: Some(result),
                ..moved(2, true)
            });
            eval(Side::White, &conversation.facts)
        };
        assert_eq!(told(0, 0), "I have not thought about this game yet.");
        assert_eq!(told(9, 25), "+0.25 for White at depth 9 (move 2).");
        assert_eq!(told(0, 0), "+0.25 for White at depth 9 (move 2).");
    }

    #[test]
    fn a_resumed_game_is_not_greeted_again() {
        let chat_state = ChatState {
            greeted: true,
            parted: true,
        };
        let mut conversation = introduced(settings(), chat_state);
        assert!(conversation.moved(&moved(0, true)).is_empty());
        assert!(
            conversation
                .ended(&ending(Some(Status::Mate), 20))
                .is_empty()
        );
        // No chat is recorded, but the game is long in progress.
        let mut conversation = introduced(settings(), ChatState::default());
        assert!(conversation.moved(&moved(24, true)).is_empty());
    }

    #[test]
    fn goodbye_is_sent_once_and_only_in_games_that_were_played() {
        let rows = [
            (None, 30, 0),
            (Some(Status::Aborted), 1, 0),
            (Some(Status::Mate), 20, 1),
        ];
        for (status, plies, lines) in rows {
            let mut conversation = introduced(settings(), ChatState::default());
            assert_eq!(conversation.ended(&ending(status, plies)).len(), lines);
            assert!(conversation.ended(&ending(status, plies)).is_empty());
        }
    }

    #[test]
    fn only_the_configured_kinds_of_opponents_are_greeted() {
        for (is_bot, reads, bots, humans, lines) in [
            (false, true, false, true, 2),
            (false, true, true, false, 0),
            (true, true, false, true, 0),
            (true, true, true, false, 2),
            (true, false, true, true, 0),
        ] {
            let mut settings = settings();
            settings.chat.bots = bots;
            settings.chat.humans = humans;
            let mut conversation = introduced(settings, ChatState::default());
            let mut about = Players::between("Megaton", "BlastCap", Side::White);
            about.setup.opponent_is_bot = is_bot;
            about.setup.opponent_is_ai = !reads;
            conversation.introduce(about);
            assert_eq!(conversation.moved(&moved(0, true)).len(), lines);
        }
    }

    #[test]
    fn answers_go_to_the_room_they_were_asked_in() {
        let mut conversation = introduced(settings(), ChatState::default());
        let now = Instant::now();
        for room in [Room::Player, Room::Spectator] {
            let line = conversation.handle_event(
                &says(room, "BlastCap", "!ping"),
                Circumstances::default,
                now,
            );
            assert_eq!(line.map(|line| line.room), Some(room));
        }
    }

    #[test]
    fn messages_of_the_bot_and_the_server_are_ignored() {
        let mut conversation = introduced(settings(), ChatState::default());
        for name in ["Megaton", "megaton", "lichess", "Lichess"] {
            let line = says(Room::Player, name, "!help");
            let answer = conversation.handle_event(&line, Circumstances::default, Instant::now());
            assert!(answer.is_none(), "{name}");
        }
    }

    #[test]
    fn commands_can_be_switched_off() {
        let mut settings = settings();
        settings.chat.commands = false;
        let mut conversation = introduced(settings, ChatState::default());
        let line = says(Room::Player, "BlastCap", "!help");
        let answer = conversation.handle_event(&line, Circumstances::default, Instant::now());
        assert!(answer.is_none());
    }

    #[test]
    fn the_opponent_gets_no_eval_under_any_spelling_of_its_name() {
        let mut conversation = introduced(settings(), ChatState::default());
        let now = Instant::now();
        for name in ["BlastCap", "blastcap", "BLASTCAP"] {
            let line = says(Room::Spectator, name, "!eval");
            let answer = conversation
                .handle_event(&line, Circumstances::default, now)
                .map(|line| line.text);
            assert!(answer.is_some_and(|text| text.contains("keep my opinion")));
        }
    }

    #[test]
    fn a_flood_of_commands_gets_a_few_answers() {
        let mut conversation = introduced(settings(), ChatState::default());
        let line = says(Room::Player, "BlastCap", "!stats");
        let now = Instant::now();
        let answers = (0..500).filter(|_| {
            conversation
                .handle_event(&line, Circumstances::default, now)
                .is_some()
        });
        assert_eq!(answers.count(), 4);
    }
}

#[cfg(test)]
mod commands_tests {
    use super::*;
    use crate::bot::chat::conversation::EngineEval;
    use crate::lichess::BySide;

    fn about() -> Players {
        Players::between(
            "x".repeat(30).as_str(),
            "y".repeat(30).as_str(),
            Side::Black,
        )
    }

    const SPECTATOR: ChatSender = ChatSender {
        room: Room::Spectator,
        plays: false,
    };
    const OPPONENT: ChatSender = ChatSender {
        room: Room::Player,
        plays: true,
    };

    #[test]
    fn a_command_is_one_known_word_in_any_letter_case() {
        let rows = [
            ("!help", Some(ChatCommand::Help)),
            ("  !HeLp me", Some(ChatCommand::Help)),
            ("!commands", Some(ChatCommand::Help)),
            ("!EVAL", Some(ChatCommand::Eval)),
            ("!ping!", None),
            ("help", None),
            ("! help", Some(ChatCommand::Help)),
            ("!", None),
            ("", None),
            ("say !help", None),
            ("!helpme", None),
            ("!$(reboot)", None),
        ];
        for (line, command) in rows {
            assert_eq!(ChatCommand::read(line), command, "{line:?}");
        }
    }

    #[test]
    fn the_opponent_gets_no_eval_in_any_room() {
        let facts = GameFacts {
            opinion: Some(EngineEval {
                score: Score::Cp(123),
                depth: 17,
                ply: 20,
                line: "g1f3 f7f6".to_owned(),
            }),
            ..GameFacts::default()
        };
        let reply = |sender| answer(ChatCommand::Eval, sender, &about(), &facts);
        let line = |sender| answer(ChatCommand::Pv, sender, &about(), &facts);
        assert_eq!(reply(SPECTATOR), "-1.23 for White at depth 17 (move 11).");
        assert_eq!(line(SPECTATOR), "From move 11 on: g1f3 f7f6");
        for sender in [
            OPPONENT,
            ChatSender {
                room: Room::Spectator,
                plays: true,
            },
            ChatSender {
                room: Room::Player,
                plays: false,
            },
        ] {
            assert!(!reply(sender).contains("1.23"), "{sender:?}");
            assert!(!line(sender).contains("g1f3"), "{sender:?}");
            let help = answer(ChatCommand::Help, sender, &about(), &facts);
            assert!(!help.contains("eval") && !help.contains("pv"));
        }
    }

    #[test]
    fn clocks_are_formatted_like_clocks() {
        let ms = Duration::from_millis;
        let rows = [
            (0, "0:00.0"),
            (7349, "0:07.3"),
            (65_000, "1:05"),
            (3_725_000, "1:02:05"),
        ];
        for (left, text) in rows {
            assert_eq!(minutes(ms(left)), text);
        }
        assert_eq!(clocks(&GameFacts::default()), "No clock has run yet.");
    }

    #[test]
    fn every_answer_fits_a_line_with_the_longest_names_and_numbers() {
        let facts = GameFacts {
            opinion: Some(EngineEval {
                score: Score::Mate(i32::MIN),
                depth: u32::MAX,
                ply: usize::MAX,
                line: "a7a8q ".repeat(LINE_MOVES),
            }),
            clocks: BySide {
                white: Some(Duration::MAX),
                black: Some(Duration::MAX),
            },
            now: Circumstances {
                record: Some(OpponentRecord {
                    wins: 99_999,
                    draws: 99_999,
                    losses: 99_999,
                    ..OpponentRecord::default()
                }),
                occupancy: Occupancy {
                    slots: usize::MAX,
                    taken: usize::MAX,
                    waiting: 10_000,
                    open: false,
                },
                least_clocks: Some(Duration::MAX),
                more_time: Some(Duration::MAX),
            },
        };
        for command in [
            ChatCommand::Help,
            ChatCommand::Name,
            ChatCommand::Eval,
            ChatCommand::Pv,
            ChatCommand::Clock,
            ChatCommand::Stats,
            ChatCommand::Queue,
            ChatCommand::Wait,
            ChatCommand::Ping,
        ] {
            for sender in [SPECTATOR, OPPONENT] {
                let text = answer(command, sender, &about(), &facts);
                assert!(text.chars().count() <= 140, "{text}");
                assert!(!text.starts_with(MARK), "bots must not answer each other");
            }
        }
    }

    #[test]
    fn the_queue_is_told_in_numbers_and_the_next_slot_by_clocks() {
        let minute = Some(Duration::from_secs(60));
        let busy = |taken, waiting, open| Circumstances {
            occupancy: Occupancy {
                slots: 2,
                taken,
                waiting,
                open,
            },
            least_clocks: minute,
            ..Circumstances::default()
        };
        let told = |now| {
            let facts = GameFacts {
                now,
                ..GameFacts::default()
            };
            [ChatCommand::Queue, ChatCommand::Wait]
                .map(|command| answer(command, SPECTATOR, &about(), &facts))
        };
        let rows = [
            (
                busy(1, 0, true),
                "1 of my 2 slots are taken, no challenge waits.",
                "I have a slot free: challenge me.",
            ),
            (
                busy(2, 3, true),
                "2 of my 2 slots are taken, 3 challenges wait.",
                "Every slot is taken; the game nearest to its end has 1:00 on its clocks.",
            ),
            (
                busy(1, 1, false),
                "1 of my 2 slots are taken, one challenge waits. I take no new games at present.",
                "I take no new games at present.",
            ),
        ];
        for (now, queue, wait) in rows {
            assert_eq!(told(now), [queue, wait]);
        }
    }

    #[test]
    fn only_the_opponent_gets_more_time() {
        let facts = GameFacts {
            now: Circumstances {
                more_time: Some(Duration::from_secs(60)),
                ..Circumstances::default()
            },
            ..GameFacts::default()
        };
        let wait = |sender| answer(ChatCommand::Wait, sender, &about(), &facts);
        assert_eq!(wait(OPPONENT), "I wait 1:00 longer for your first move.");
        assert!(!wait(SPECTATOR).contains("longer"));
    }

    #[test]
    fn stats_count_half_points() {
        let facts = |record| GameFacts {
            now: Circumstances {
                record,
                ..Circumstances::default()
            },
            ..GameFacts::default()
        };
        let record = OpponentRecord {
            wins: 3,
            draws: 1,
            losses: 2,
            ..OpponentRecord::default()
        };
        let text = stats("blastcap", &facts(Some(record)));
        assert_eq!(
            text,
            "Against blastcap I have 3.5 from 6: won 3, drawn 1, lost 2."
        );
        let first = stats("blastcap", &facts(Some(OpponentRecord::default())));
        assert_eq!(first, "This is our first game, blastcap.");
        assert!(stats("blastcap", &facts(None)).contains("remember no games"));
    }
}
