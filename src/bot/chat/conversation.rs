//! The chat of one game: game events and chat lines in, messages to send out.
//!
//! Pure. The bot greets and says goodbye once per game, across restarts too: [`ChatState`] holds
//! what was already sent. It sends nothing before its first move is on the server's list.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::commands::{ChatCommand, ChatSender, answer};
use super::message::{ChatMessage, MessageKind, OutcomeSender, sendable};
use super::reply_limit::ReplyLimit;
use crate::bot::game::{Ending, MovePlayed};
use crate::bot::settings::Settings;
use crate::config::{Template, Words};
use crate::engine::Score;
use crate::lichess::{BySide, ChatLine, GameId, Room, Side, Status, UserId};

/// The name under which the server itself writes.
const SERVER: &str = "lichess";
/// The plies of the two first moves.
const FIRST_PLIES: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Players {
    pub me: String,
    pub opponent: String,
    /// Absent for anonymous players and the server's engine.
    pub opponent_id: Option<UserId>,
    pub opponent_is_bot: bool,
    /// Whether anyone can read the chat: the server's own engine cannot.
    pub opponent_reads: bool,
    pub us: Side,
    pub engine: &'static str,
    pub version: &'static str,
}

impl Players {
    /// Two human players, for tests and as a starting point.
    pub fn between(me: &str, opponent: &str, us: Side) -> Self {
        Self {
            me: me.to_owned(),
            opponent: opponent.to_owned(),
            opponent_id: Some(UserId::new(opponent)),
            opponent_is_bot: false,
            opponent_reads: true,
            us,
            engine: "Megaton",
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// The messages already sent in a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChatState {
    pub greeted: bool,
    pub parted: bool,
}

/// The score against one opponent, from the bot's side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScoreTally {
    pub wins: u32,
    pub draws: u32,
    pub losses: u32,
}

/// The facts that answers may use.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GameFacts {
    /// The engine's evaluation of the bot's last move.
    pub(super) opinion: Option<EngineEval>,
    /// Both clocks in the last state.
    pub(super) clocks: BySide<Option<Duration>>,
    /// The score of earlier games.
    pub(super) tally: Option<ScoreTally>,
}

/// The engine's evaluation of one of the bot's moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct EngineEval {
    pub(super) score: Score,
    pub(super) depth: u32,
    pub(super) ply: usize,
}

#[derive(Debug)]
pub struct Conversation {
    game: GameId,
    settings: Arc<Settings>,
    about: Option<Players>,
    said: ChatState,
    facts: GameFacts,
    reply_limit: ReplyLimit,
}

impl Conversation {
    /// Starts with the messages already sent in this game.
    pub fn new(game: GameId, settings: Arc<Settings>, said: ChatState) -> Self {
        Self {
            reply_limit: ReplyLimit::new(settings.chat.pause),
            game,
            settings,
            about: None,
            said,
            facts: GameFacts::default(),
        }
    }

    pub fn said(&self) -> ChatState {
        self.said
    }

    /// Sets the players once they are known.
    pub fn introduce(&mut self, about: Players) {
        self.about = Some(about);
    }

    /// Handles a move on the server's list. The bot greets at its own first move.
    pub fn moved(&mut self, moved: &MovePlayed) -> Vec<ChatMessage> {
        self.facts.clocks = moved.clocks;
        if let (true, Some(thought)) = (moved.ours, &moved.thought) {
            self.facts.opinion = Some(EngineEval {
                score: thought.score,
                depth: thought.depth,
                ply: moved.ply,
            });
        }
        if !moved.ours || moved.ply >= FIRST_PLIES || self.said.greeted || !self.greets() {
            return Vec::new();
        }
        self.said.greeted = true;
        let chat = &self.settings.chat;
        self.both_rooms(
            &chat.greeting,
            &chat.spectator_greeting,
            MessageKind::Greeting,
        )
    }

    pub fn ended(&mut self, ending: &Ending) -> Vec<ChatMessage> {
        let played = !matches!(ending.status, None | Some(Status::Aborted));
        if !played || ending.plies < FIRST_PLIES || self.said.parted || !self.greets() {
            return Vec::new();
        }
        self.said.parted = true;
        let chat = &self.settings.chat;
        self.both_rooms(&chat.goodbye, &chat.spectator_goodbye, MessageKind::Goodbye)
    }

    /// Handles a chat line. Calls `tally` only if the answer needs it.
    pub fn handle_event(
        &mut self,
        line: &ChatLine,
        tally: impl FnOnce() -> Option<ScoreTally>,
        now: Instant,
    ) -> Option<ChatMessage> {
        let about = self.about.as_ref()?;
        let author = UserId::new(&line.username);
        let ours = author == UserId::new(&about.me);
        if !self.settings.chat.commands || ours || author.as_str() == SERVER {
            return None;
        }
        let command = ChatCommand::read(&line.text)?;
        if !self.reply_limit.admits(&author, now) {
            return None;
        }
        let sender = ChatSender {
            room: line.room,
            plays: about.opponent_id.as_ref() == Some(&author),
        };
        let mut facts = self.facts;
        if command == ChatCommand::Stats {
            facts.tally = tally();
        }
        let text = answer(command, sender, about, &facts);
        self.line(line.room, &text, MessageKind::Answer)
    }

    /// Whether the operator wants this kind of opponent greeted.
    fn greets(&self) -> bool {
        let chat = &self.settings.chat;
        self.about.as_ref().is_some_and(|about| {
            let wanted = if about.opponent_is_bot {
                chat.bots
            } else {
                chat.humans
            };
            wanted && about.opponent_reads
        })
    }

    fn both_rooms(&self, player: &str, spectator: &str, kind: MessageKind) -> Vec<ChatMessage> {
        let Some(about) = &self.about else {
            return Vec::new();
        };
        let words = Words {
            me: &about.me,
            opponent: &about.opponent,
            engine: about.engine,
            version: about.version,
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
            outcome_sender: OutcomeSender::default(),
        })
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

    fn conversation(settings: Settings, said: ChatState) -> Conversation {
        let mut talk = Conversation::new(GameId::new("g1"), Arc::new(settings), said);
        talk.introduce(Players::between("Megaton", "BlastCap", Side::White));
        talk
    }

    fn moved(ply: usize, ours: bool) -> MovePlayed {
        MovePlayed {
            ply,
            before: Position::default(),
            played: Position::default().legal_moves()[0],
            ours,
            thought: None,
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
        let mut talk = conversation(settings(), ChatState::default());
        assert!(talk.moved(&moved(1, false)).is_empty());
        let greeting = talk.moved(&moved(0, true));
        assert_eq!(
            texts(&greeting),
            [
                (Room::Player, "Hello BlastCap, Megaton here"),
                (Room::Spectator, "Welcome to Megaton"),
            ]
        );
        assert!(talk.moved(&moved(0, true)).is_empty(), "a takeback");
        assert!(talk.moved(&moved(2, true)).is_empty());
    }

    #[test]
    fn a_resumed_game_is_not_greeted_again() {
        let said = ChatState {
            greeted: true,
            parted: true,
        };
        let mut talk = conversation(settings(), said);
        assert!(talk.moved(&moved(0, true)).is_empty());
        assert!(talk.ended(&ending(Some(Status::Mate), 20)).is_empty());
        // No chat is recorded, but the game is long in progress.
        let mut talk = conversation(settings(), ChatState::default());
        assert!(talk.moved(&moved(24, true)).is_empty());
    }

    #[test]
    fn goodbye_is_sent_once_and_only_in_games_that_were_played() {
        let rows = [
            (None, 30, 0),
            (Some(Status::Aborted), 1, 0),
            (Some(Status::Mate), 20, 1),
        ];
        for (status, plies, lines) in rows {
            let mut talk = conversation(settings(), ChatState::default());
            assert_eq!(talk.ended(&ending(status, plies)).len(), lines);
            assert!(talk.ended(&ending(status, plies)).is_empty());
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
            let mut talk = conversation(settings, ChatState::default());
            let mut about = Players::between("Megaton", "BlastCap", Side::White);
            about.opponent_is_bot = is_bot;
            about.opponent_reads = reads;
            talk.introduce(about);
            assert_eq!(talk.moved(&moved(0, true)).len(), lines);
        }
    }

    #[test]
    fn answers_go_to_the_room_they_were_asked_in() {
        let mut talk = conversation(settings(), ChatState::default());
        let now = Instant::now();
        for room in [Room::Player, Room::Spectator] {
            let line = talk.handle_event(&says(room, "BlastCap", "!ping"), || None, now);
            assert_eq!(line.map(|line| line.room), Some(room));
        }
    }

    #[test]
    fn messages_of_the_bot_and_the_server_are_ignored() {
        let mut talk = conversation(settings(), ChatState::default());
        for name in ["Megaton", "megaton", "lichess", "Lichess"] {
            let line = says(Room::Player, name, "!help");
            assert_eq!(
                talk.handle_event(&line, || None, Instant::now()),
                None,
                "{name}"
            );
        }
    }

    #[test]
    fn commands_can_be_switched_off() {
        let mut settings = settings();
        settings.chat.commands = false;
        let mut talk = conversation(settings, ChatState::default());
        let line = says(Room::Player, "BlastCap", "!help");
        assert_eq!(talk.handle_event(&line, || None, Instant::now()), None);
    }

    #[test]
    fn the_opponent_gets_no_eval_under_any_spelling_of_its_name() {
        let mut talk = conversation(settings(), ChatState::default());
        let now = Instant::now();
        for name in ["BlastCap", "blastcap", "BLASTCAP"] {
            let line = says(Room::Spectator, name, "!eval");
            let answer = talk.handle_event(&line, || None, now).map(|line| line.text);
            assert!(answer.is_some_and(|text| text.contains("keep my opinion")));
        }
    }

    #[test]
    fn a_flood_of_commands_gets_a_few_answers() {
        let mut talk = conversation(settings(), ChatState::default());
        let line = says(Room::Player, "BlastCap", "!stats");
        let now = Instant::now();
        let answers = (0..500).filter(|_| talk.handle_event(&line, || None, now).is_some());
        assert_eq!(answers.count(), 4);
    }
}
