//! Games: starts, changes and ends them, and notifies their players.

use crate::practice::api_error::ApiError;
use crate::practice::challenge::ServerChallenge;
use crate::practice::chaos::GamePhase;
use crate::practice::event::Event;
use crate::practice::game::{GameChange, GameSpec, PlayerSide, Refusal, ServerGame};
use crate::practice::game_settings::{GameSettings, Speed, Status};
use crate::practice::rating::Score;
use crate::practice::time::Millis;
use crate::practice::wire::{EventLine, GameLine};
use crate::rules::Color;

use super::server_state::line;
use super::{GameEntry, GameProgress, OutgoingEvent, ServerState};

/// A game about to begin.
#[derive(Debug)]
pub(super) struct NewGame {
    pub(super) id: String,
    pub(super) settings: GameSettings,
    pub(super) users: [String; 2],
    /// The arena that it belongs to.
    pub(super) arena: Option<String>,
}

impl ServerState {
    pub(in crate::practice) fn start_game(&mut self, challenge: &ServerChallenge, now: Millis) {
        let users = match challenge.color {
            Color::White => [&challenge.challenger, &challenge.dest],
            Color::Black => [&challenge.dest, &challenge.challenger],
        };
        let opening = NewGame {
            id: challenge.id.clone(),
            settings: challenge.request.settings,
            users: users.map(Clone::clone),
            arena: None,
        };
        if let Some(earlier) = &challenge.request.rematch_of
            && let Some(entry) = self.entries.get_mut(earlier)
        {
            entry.game.rematch = Some(opening.id.clone());
        }
        self.begin_game(opening, now);
    }

    pub(super) fn begin_game(&mut self, opening: NewGame, now: Millis) {
        self.spend_bot_limit(&opening.users, now);
        let players = opening.users.each_ref().map(|user| self.player_side(user));
        for player_side in &players {
            if let Some(account) = self.accounts.get_mut(&player_side.user) {
                account.counts.playing += 1;
            }
        }
        let setup = GameSpec {
            id: opening.id,
            settings: opening.settings,
            players,
            timing: self.timing,
            arena: opening.arena,
        };
        let id = setup.id.clone();
        self.news(Event::Started {
            game: id.clone(),
            white: setup.players[0].name.clone(),
            black: setup.players[1].name.clone(),
            time: setup.settings.time.show(),
        });
        let entry = GameEntry {
            game: ServerGame::new(setup, now),
            chat: Vec::new(),
            sent: 0,
        };
        self.entries.insert(id.clone(), entry);
        for side in Color::ALL {
            self.send_to_game(&id, side, now);
        }
        self.changed(&id);
    }

    fn player_side(&mut self, user: &str) -> PlayerSide {
        let secret = self.letters(4);
        let account = &self.accounts[user];
        PlayerSide {
            user: account.id.clone(),
            name: account.name.clone(),
            title: account.title(),
            rating: account.rating,
            takebacks: account.takebacks,
            secret,
            task: account.task,
        }
    }

    pub(super) fn send_to_game(&mut self, id: &str, side: Color, now: Millis) {
        let Some(entry) = self.entries.get(id) else {
            return;
        };
        let user = entry.game.player_side(side).user.clone();
        let game = Box::new(self.game_info(&entry.game, side, now));
        let event = if entry.game.is_playing() {
            EventLine::GameStart { game }
        } else {
            EventLine::GameFinish { game }
        };
        self.send_event(&user, &event);
    }

    pub(crate) fn entry(&self, id: &str) -> Option<&GameEntry> {
        self.entries.get(id)
    }

    /// Whether the Bot API may play it.
    pub(crate) fn is_bot_compatible(game: &ServerGame) -> bool {
        game.setup.settings.time.speed() != Speed::UltraBullet
    }

    /// The games being played now.
    pub(crate) fn running(&self) -> impl Iterator<Item = &ServerGame> {
        self.entries
            .values()
            .map(|entry| &entry.game)
            .filter(|game| game.is_playing())
    }

    /// The game and the side of `user` in it, after the checks of the Bot API.
    pub(crate) fn find_player(
        &self,
        user: &str,
        id: &str,
    ) -> Result<(&ServerGame, Color), ApiError> {
        let entry = self
            .entries
            .get(id)
            .ok_or_else(|| ApiError::text(404, "No such game"))?;
        let side = entry
            .game
            .side_of(user)
            .ok_or_else(|| ApiError::text(404, "Not your game"))?;
        Ok((&entry.game, side))
    }

    /// Acts in a game as `user`, and notifies everyone of the result.
    pub(crate) fn act(
        &mut self,
        user: &str,
        id: &str,
        now: Millis,
        action: impl FnOnce(&mut ServerGame, Color) -> Result<(), Refusal>,
    ) -> Result<(), ApiError> {
        let (_, side) = self.find_player(user, id)?;
        let entry = self.entries.get_mut(id).ok_or_else(ApiError::not_found)?;
        let outcome = action(&mut entry.game, side);
        self.settle(id, now);
        outcome.map_err(|refusal| {
            tracing::debug!(game = id, user, %refusal, "refused");
            ApiError::refused(refusal.to_string())
        })
    }

    /// Delivers the referee's output, and closes the game if it is over.
    pub(in crate::practice) fn settle(&mut self, id: &str, now: Millis) {
        let Some(entry) = self.entries.get_mut(id) else {
            return;
        };
        let changes = entry.game.take_changes();
        if changes.is_empty() {
            return;
        }
        self.report_moves(id, now);
        for change in changes {
            self.deliver_outbox(id, change, now);
        }
        self.changed(id);
    }

    fn deliver_outbox(&mut self, id: &str, change: GameChange, now: Millis) {
        match change {
            GameChange::State(state) => self.send_line(id, None, &GameLine::GameState(state)),
            GameChange::Remark(text) => self.remark(id, text),
            GameChange::TakenBack => self
                .outbox
                .push(OutgoingEvent::TakenBack { id: id.to_owned() }),
            GameChange::Gone { to, claim_in } => {
                let line = GameLine::OpponentGone {
                    gone: claim_in.is_some(),
                    claim_win_in_seconds: claim_in,
                };
                self.send_line(id, Some(to), &line);
            }
            GameChange::Over => {
                self.outbox
                    .push(OutgoingEvent::GameOver { id: id.to_owned() });
                self.finish_report(id, now);
            }
        }
    }

    fn send_line(&mut self, id: &str, to: Option<Color>, what: &GameLine) {
        self.outbox.push(OutgoingEvent::Game {
            id: id.to_owned(),
            to,
            line: line(what),
            moment: match what {
                GameLine::GameState(_) => self.moment(id),
                _ => None,
            },
        });
    }

    /// The progress of a game for its client.
    pub(crate) fn moment(&self, id: &str) -> Option<GameProgress> {
        let game = &self.entries.get(id)?.game;
        let side = Self::client_side(game)?;
        let phase = if !game.is_playing() {
            GamePhase::Ending
        } else if game.turn() == side {
            GamePhase::OurTurn
        } else {
            GamePhase::TheirTurn
        };
        Some(GameProgress {
            phase,
            ply: game.plies(),
        })
    }

    /// The side of the client in a game: the bot that is not a sparring bot, else the player that
    /// is not one.
    pub(crate) fn client_side(game: &ServerGame) -> Option<Color> {
        let visits = |side: &Color| !game.player_side(*side).task;
        let bot = |side: &Color| visits(side) && game.player_side(*side).is_bot();
        let sides = || Color::ALL.into_iter();
        sides().find(bot).or_else(|| sides().find(visits))
    }

    fn remark(&mut self, id: &str, text: &str) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.chat.push(("lichess".to_owned(), text.to_owned()));
        }
        let chat = GameLine::ChatLine {
            room: "player",
            username: "lichess".to_owned(),
            text: text.to_owned(),
        };
        self.send_line(id, None, &chat);
    }

    fn report_moves(&mut self, id: &str, now: Millis) {
        let Some(entry) = self.entries.get_mut(id) else {
            return;
        };
        let game = &entry.game;
        let sent = entry.sent.min(game.plies());
        let news: Vec<Event> = game.record()[sent..]
            .iter()
            .enumerate()
            .map(|(at, played)| {
                let side = if (sent + at).is_multiple_of(2) {
                    Color::White
                } else {
                    Color::Black
                };
                Event::Moved {
                    game: id.to_owned(),
                    ply: sent + at + 1,
                    name: game.player_side(side).name.clone(),
                    san: played.san.clone(),
                    left: game.clock().left(side, now),
                }
            })
            .collect();
        entry.sent = entry.game.plies();
        self.outbox
            .extend(news.into_iter().map(OutgoingEvent::News));
    }

    fn finish_report(&mut self, id: &str, now: Millis) {
        self.finished.push(id.to_owned());
        self.count_result(id);
        self.rate(id);
        self.count_in_arena(id, now);
        for side in Color::ALL {
            self.send_to_game(id, side, now);
        }
        if let Some(entry) = self.entries.get(id) {
            let game = &entry.game;
            self.outbox.push(OutgoingEvent::News(Event::Ended {
                game: id.to_owned(),
                status: game.status(),
                winner: game.winner(),
                name: game
                    .winner()
                    .map(|side| game.player_side(side).name.clone()),
                plies: game.plies(),
            }));
        }
        self.forget_the_oldest();
    }

    fn count_result(&mut self, id: &str) {
        let Some(entry) = self.entries.get(id) else {
            return;
        };
        let game = &entry.game;
        for side in Color::ALL {
            let Some(account) = self.accounts.get_mut(&game.player_side(side).user) else {
                continue;
            };
            let counts = &mut account.counts;
            counts.playing = counts.playing.saturating_sub(1);
            if game.status() == Status::Aborted {
                continue;
            }
            counts.all += 1;
            counts.rated += u32::from(game.setup.settings.rated);
            match score(game, side) {
                Score::Win => counts.win += 1,
                Score::Draw => counts.draw += 1,
                Score::Loss => counts.loss += 1,
            }
        }
    }

    fn rate(&mut self, id: &str) {
        let Some(entry) = self.entries.get(id) else {
            return;
        };
        let game = &entry.game;
        let begun = game.plies() >= 2 || game.setup.arena.is_some();
        let counted = game.setup.settings.rated && begun;
        if !counted || (self.rules.repeats_do_not_count && self.repeats_another(id)) {
            return;
        }
        let users = Color::ALL.map(|side| game.player_side(side).user.clone());
        let [Some(white), Some(black)] =
            [&users[0], &users[1]].map(|user| self.accounts.get(user).map(|it| it.rating))
        else {
            return;
        };
        let (white_after, white_diff) = white.after(&black, score(game, Color::White));
        let (black_after, black_diff) = black.after(&white, score(game, Color::Black));
        for (user, rating) in users.iter().zip([white_after, black_after]) {
            if let Some(account) = self.accounts.get_mut(user) {
                account.rating = rating;
            }
        }
        if let Some(entry) = self.entries.get_mut(id) {
            entry.game.rating_diffs = Some([white_diff, black_diff]);
        }
    }

    pub(crate) fn chat(
        &mut self,
        user: &str,
        id: &str,
        room: &'static str,
        text: &str,
    ) -> Result<(), ApiError> {
        self.find_player(user, id)?;
        if text.chars().count() > 140 {
            return Err(ApiError::form("text", "Maximum length is 140"));
        }
        if text.trim().is_empty() || text.contains("://") {
            return Ok(());
        }
        let name = self.name_of(user);
        if room == "player"
            && let Some(entry) = self.entries.get_mut(id)
        {
            entry.chat.push((name.clone(), text.to_owned()));
        }
        self.send_line(
            id,
            None,
            &GameLine::ChatLine {
                room,
                username: name,
                text: text.to_owned(),
            },
        );
        Ok(())
    }

    /// A stream of the game was opened.
    pub(crate) fn arrive(&mut self, id: &str, side: Color, now: Millis) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.game.arrive(side);
        }
        self.settle(id, now);
    }

    /// A stream of the game was closed.
    pub(crate) fn leave(&mut self, id: &str, side: Color, left_the_page: bool, now: Millis) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.game.leave(side, left_the_page, now);
        }
    }
}

pub(super) fn score(game: &ServerGame, side: Color) -> Score {
    match game.winner() {
        Some(winner) if winner == side => Score::Win,
        Some(_) => Score::Loss,
        None => Score::Draw,
    }
}
