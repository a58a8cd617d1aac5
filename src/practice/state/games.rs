//! Games: begun, changed, ended, and told to those who play them.

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
use super::{GameProgress, OutgoingEvent, ServerState};

/// A game and what is said at its board.
#[derive(Debug)]
pub(crate) struct GameEntry {
    pub(crate) round: ServerGame,
    /// The players' room: who, and what.
    pub(crate) chat: Vec<(String, String)>,
    told: usize,
}

/// A game that is to begin.
#[derive(Debug)]
pub(super) struct NewGame {
    pub(super) id: String,
    pub(super) terms: GameSettings,
    pub(super) users: [String; 2],
    /// The arena that it belongs to.
    pub(super) arena: Option<String>,
}

impl ServerState {
    pub(super) fn start_game(&mut self, challenge: &ServerChallenge, now: Millis) {
        let users = match challenge.color {
            Color::White => [&challenge.challenger, &challenge.dest],
            Color::Black => [&challenge.dest, &challenge.challenger],
        };
        self.spend_bot_limit(users[0], users[1], now);
        let opening = NewGame {
            id: challenge.id.clone(),
            terms: challenge.request.terms,
            users: users.map(Clone::clone),
            arena: None,
        };
        if let Some(earlier) = &challenge.request.rematch_of
            && let Some(table) = self.tables.get_mut(earlier)
        {
            table.round.rematch = Some(opening.id.clone());
        }
        self.begin_game(opening, now);
    }

    pub(super) fn begin_game(&mut self, opening: NewGame, now: Millis) {
        let seats = opening.users.each_ref().map(|user| self.seat(user));
        for seat in &seats {
            if let Some(account) = self.accounts.get_mut(&seat.user) {
                account.counts.playing += 1;
            }
        }
        let setup = GameSpec {
            id: opening.id,
            terms: opening.terms,
            seats,
            timing: self.timing,
            arena: opening.arena,
        };
        let id = setup.id.clone();
        self.news(Event::Started {
            game: id.clone(),
            white: setup.seats[0].name.clone(),
            black: setup.seats[1].name.clone(),
            time: setup.terms.time.show(),
        });
        let table = GameEntry {
            round: ServerGame::new(setup, now),
            chat: Vec::new(),
            told: 0,
        };
        self.tables.insert(id.clone(), table);
        for side in Color::ALL {
            self.tell_game(&id, side, now);
        }
        self.changed(&id);
    }

    fn seat(&mut self, user: &str) -> PlayerSide {
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

    pub(super) fn tell_game(&mut self, id: &str, side: Color, now: Millis) {
        let Some(table) = self.tables.get(id) else {
            return;
        };
        let user = table.round.seat(side).user.clone();
        let game = Box::new(self.game_info(&table.round, side, now));
        let event = if table.round.is_playing() {
            EventLine::GameStart { game }
        } else {
            EventLine::GameFinish { game }
        };
        self.tell(&user, &event);
    }

    pub(crate) fn table(&self, id: &str) -> Option<&GameEntry> {
        self.tables.get(id)
    }

    /// Whether the Bot API may play it.
    pub(crate) fn is_bot_compatible(round: &ServerGame) -> bool {
        round.setup.terms.time.speed() != Speed::UltraBullet
    }

    /// The games being played now.
    pub(crate) fn running(&self) -> impl Iterator<Item = &ServerGame> {
        self.tables
            .values()
            .map(|table| &table.round)
            .filter(|round| round.is_playing())
    }

    /// The game and the side of `user` in it, as the guards of the Bot API see it.
    pub(crate) fn seat_at(&self, user: &str, id: &str) -> Result<(&ServerGame, Color), ApiError> {
        let table = self
            .tables
            .get(id)
            .ok_or_else(|| ApiError::text(404, "No such game"))?;
        let side = table
            .round
            .side_of(user)
            .ok_or_else(|| ApiError::text(404, "Not your game"))?;
        Ok((&table.round, side))
    }

    /// Does something in a game as `user`, and tells everyone what came of it.
    pub(crate) fn act(
        &mut self,
        user: &str,
        id: &str,
        now: Millis,
        action: impl FnOnce(&mut ServerGame, Color) -> Result<(), Refusal>,
    ) -> Result<(), ApiError> {
        let (_, side) = self.seat_at(user, id)?;
        let table = self.tables.get_mut(id).ok_or_else(ApiError::not_found)?;
        let outcome = action(&mut table.round, side);
        self.settle(id, now);
        outcome.map_err(|refusal| {
            tracing::debug!(game = id, user, %refusal, "refused");
            ApiError::refused(refusal.to_string())
        })
    }

    /// Hands out what the referee has to say, and closes the books if the game is over.
    pub(super) fn settle(&mut self, id: &str, now: Millis) {
        let Some(table) = self.tables.get_mut(id) else {
            return;
        };
        let changes = table.round.take_changes();
        if changes.is_empty() {
            return;
        }
        self.report_moves(id, now);
        for change in changes {
            self.hand_out(id, change, now);
        }
        self.changed(id);
    }

    fn hand_out(&mut self, id: &str, change: GameChange, now: Millis) {
        match change {
            GameChange::State(state) => self.say(id, None, &GameLine::GameState(state)),
            GameChange::Remark(text) => self.remark(id, text),
            GameChange::Gone { to, claim_in } => {
                let line = GameLine::OpponentGone {
                    gone: claim_in.is_some(),
                    claim_win_in_seconds: claim_in,
                };
                self.say(id, Some(to), &line);
            }
            GameChange::Over => {
                self.outbox
                    .push(OutgoingEvent::GameOver { id: id.to_owned() });
                self.close_books(id, now);
            }
        }
    }

    fn say(&mut self, id: &str, to: Option<Color>, what: &GameLine) {
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

    /// Where a game stands for the client in it; the first seat that does not live here is one.
    pub(crate) fn moment(&self, id: &str) -> Option<GameProgress> {
        let round = &self.tables.get(id)?.round;
        let side = Self::client_side(round)?;
        let phase = if !round.is_playing() {
            GamePhase::Ending
        } else if round.turn() == side {
            GamePhase::OurTurn
        } else {
            GamePhase::TheirTurn
        };
        Some(GameProgress {
            phase,
            ply: round.plies(),
        })
    }

    /// The side of the client in a game: the bot that does not live here, failing that anyone who
    /// does not.
    pub(crate) fn client_side(round: &ServerGame) -> Option<Color> {
        let visits = |side: &Color| !round.seat(*side).task;
        let bot = |side: &Color| visits(side) && round.seat(*side).is_bot();
        let sides = || Color::ALL.into_iter();
        sides().find(bot).or_else(|| sides().find(visits))
    }

    fn remark(&mut self, id: &str, text: &str) {
        if let Some(table) = self.tables.get_mut(id) {
            table.chat.push(("lichess".to_owned(), text.to_owned()));
        }
        let chat = GameLine::ChatLine {
            room: "player",
            username: "lichess".to_owned(),
            text: text.to_owned(),
        };
        self.say(id, None, &chat);
    }

    fn report_moves(&mut self, id: &str, now: Millis) {
        let Some(table) = self.tables.get_mut(id) else {
            return;
        };
        let round = &table.round;
        let told = table.told.min(round.plies());
        let news: Vec<Event> = round.record()[told..]
            .iter()
            .enumerate()
            .map(|(at, played)| {
                let side = if (told + at).is_multiple_of(2) {
                    Color::White
                } else {
                    Color::Black
                };
                Event::Moved {
                    game: id.to_owned(),
                    ply: told + at + 1,
                    name: round.seat(side).name.clone(),
                    san: played.san.clone(),
                    left: round.clock().left(side, now),
                }
            })
            .collect();
        table.told = table.round.plies();
        self.outbox
            .extend(news.into_iter().map(OutgoingEvent::News));
    }

    fn close_books(&mut self, id: &str, now: Millis) {
        self.finished.push(id.to_owned());
        self.count_result(id);
        self.rate(id);
        self.count_in_arena(id, now);
        for side in Color::ALL {
            self.tell_game(id, side, now);
        }
        if let Some(table) = self.tables.get(id) {
            let round = &table.round;
            self.outbox.push(OutgoingEvent::News(Event::Ended {
                game: id.to_owned(),
                status: round.status(),
                winner: round.winner(),
                name: round.winner().map(|side| round.seat(side).name.clone()),
                plies: round.plies(),
            }));
        }
        self.forget_the_oldest();
    }

    fn count_result(&mut self, id: &str) {
        let Some(table) = self.tables.get(id) else {
            return;
        };
        let round = &table.round;
        for side in Color::ALL {
            let Some(account) = self.accounts.get_mut(&round.seat(side).user) else {
                continue;
            };
            let counts = &mut account.counts;
            counts.playing = counts.playing.saturating_sub(1);
            if round.status() == Status::Aborted {
                continue;
            }
            counts.all += 1;
            counts.rated += u32::from(round.setup.terms.rated);
            match score(round, side) {
                Score::Win => counts.win += 1,
                Score::Draw => counts.draw += 1,
                Score::Loss => counts.loss += 1,
            }
        }
    }

    fn rate(&mut self, id: &str) {
        let Some(table) = self.tables.get(id) else {
            return;
        };
        let round = &table.round;
        let begun = round.plies() >= 2 || round.setup.arena.is_some();
        let counted = round.setup.terms.rated && begun;
        if !counted || (self.rules.repeats_do_not_count && self.repeats_another(id)) {
            return;
        }
        let users = Color::ALL.map(|side| round.seat(side).user.clone());
        let [Some(white), Some(black)] =
            [&users[0], &users[1]].map(|user| self.accounts.get(user).map(|it| it.rating))
        else {
            return;
        };
        let (white_after, white_diff) = white.after(&black, score(round, Color::White));
        let (black_after, black_diff) = black.after(&white, score(round, Color::Black));
        for (user, rating) in users.iter().zip([white_after, black_after]) {
            if let Some(account) = self.accounts.get_mut(user) {
                account.rating = rating;
            }
        }
        if let Some(table) = self.tables.get_mut(id) {
            table.round.rating_diffs = Some([white_diff, black_diff]);
        }
    }

    pub(crate) fn chat(
        &mut self,
        user: &str,
        id: &str,
        room: &'static str,
        text: &str,
    ) -> Result<(), ApiError> {
        self.seat_at(user, id)?;
        if text.chars().count() > 140 {
            return Err(ApiError::form("text", "Maximum length is 140"));
        }
        if text.trim().is_empty() || text.contains("://") {
            return Ok(());
        }
        let name = self.name_of(user);
        if room == "player"
            && let Some(table) = self.tables.get_mut(id)
        {
            table.chat.push((name.clone(), text.to_owned()));
        }
        self.say(
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
        if let Some(table) = self.tables.get_mut(id) {
            table.round.arrive(side);
        }
        self.settle(id, now);
    }

    /// A stream of the game was closed.
    pub(crate) fn leave(&mut self, id: &str, side: Color, left_the_page: bool, now: Millis) {
        if let Some(table) = self.tables.get_mut(id) {
            table.round.leave(side, left_the_page, now);
        }
    }
}

pub(super) fn score(round: &ServerGame, side: Color) -> Score {
    match round.winner() {
        Some(winner) if winner == side => Score::Win,
        Some(_) => Score::Loss,
        None => Score::Draw,
    }
}
