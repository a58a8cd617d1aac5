//! The task at the door: events come in, the lobby is asked, and what it says is carried out.
//!
//! It answers the door and nothing else; no game waits for it and it waits for no game.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{Notify, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::chat::{Lane, Speaker};
use super::doorbell::{Doorbell, Rung};
use super::errands::Errands;
use super::lists::{Keeper, Lists};
use super::lobby::{Errand, Lobby, News};
use super::matchmaking::Desk;
use super::overhead::Meter;
use super::player::{House, play};
use super::report::BotEvent;
use super::run::{BotError, BotOptions, fatal};
use super::settings::Settings;
use super::table::{Ending, Past, Seat};
use crate::lichess::{Account, Event, GameId, GameInfo, StreamLoss, UserId};

/// The task at the door.
pub(super) struct Porter {
    house: House,
    me: UserId,
    lobby: Lobby,
    doorbell: Doorbell,
    games: JoinSet<Option<Ending>>,
    players: HashMap<GameId, Arc<Notify>>,
    ids: HashMap<Id, GameId>,
    errands: Errands,
    desk: Desk,
    lists: watch::Receiver<Arc<Lists>>,
    /// Tells the keeper of the lists of other rules.
    _rules: watch::Sender<Arc<Settings>>,
    /// What runs beside, and ends with the porter.
    _side_tasks: JoinSet<()>,
    speaker: Speaker,
    let_in: bool,
}

impl Porter {
    pub(super) fn new(options: BotOptions, account: &Account) -> Self {
        let settings = Arc::new(options.settings);
        let me = account.id.clone();
        let keeper = Keeper::new(Arc::clone(&settings), &options.lists, options.pace);
        let (rules, rules_seen) = watch::channel(Arc::clone(&settings));
        let (lists_told, lists) = watch::channel(Arc::new(keeper.lists()));
        let mut side_tasks = JoinSet::new();
        side_tasks.spawn(keeper.run(rules_seen, lists_told));
        let mut lobby = Lobby::new(
            me.clone(),
            Arc::clone(&settings),
            options.pace,
            options.memory.clone(),
        );
        let now = Instant::now();
        lobby.apply(News::Lists(Arc::clone(&lists.borrow())), now);
        if let Some(rating) = account.atomic().and_then(|perf| perf.rating) {
            lobby.apply(News::Rating(rating), now);
        }
        let (lane, speaker) = Lane::open(options.client.clone());
        let house = House {
            settings,
            memory: options.memory.clone(),
            lane,
            pace: options.pace,
            listeners: options.listeners,
            pool: options.pool,
            client: options.client,
            meter: Meter::default(),
        };
        let desk = Desk::new(
            house.client.clone(),
            options.memory.clone(),
            me.clone(),
            Arc::clone(&house.settings),
            Arc::clone(&lists.borrow()),
        );
        Self {
            lobby,
            desk,
            doorbell: Doorbell::new(house.client.clone()),
            errands: Errands::new(
                house.client.clone(),
                house.listeners.clone(),
                options.memory,
            ),
            lists,
            _rules: rules,
            _side_tasks: side_tasks,
            me,
            house,
            speaker,
            games: JoinSet::new(),
            players: HashMap::new(),
            ids: HashMap::new(),
            let_in: false,
        }
    }

    /// Answers the door until `drain` is asked for and the last game is over.
    pub(super) async fn run(&mut self, drain: &CancellationToken) -> Result<(), BotError> {
        let mut draining = false;
        loop {
            let wake_at = [self.lobby.wake_at(), self.desk.wake_at()];
            let wake_at = wake_at.into_iter().flatten().min();
            let news = tokio::select! {
                biased;
                () = drain.cancelled(), if !draining => {
                    draining = true;
                    Some(News::Drain)
                }
                rung = self.doorbell.next() => self.rung(rung)?,
                Some(news) = self.errands.next() => Some(news),
                Some(left) = self.games.join_next_with_id() => Some(self.left(&left)),
                Some(heard) = self.desk.next() => {
                    let errands = self.desk.hear(heard, &mut self.lobby);
                    self.carry_out_all(errands);
                    None
                }
                Ok(()) = self.lists.changed() => {
                    Some(News::Lists(Arc::clone(&self.lists.borrow_and_update())))
                }
                () = sleep_until(wake_at) => Some(News::Tick),
            };
            if let Some(news) = news {
                self.take_in(news);
            }
            self.errands.start();
            if draining && self.lobby.is_empty() && self.errands.is_empty() {
                return Ok(());
            }
        }
    }

    /// Everything is over but a last word or two.
    pub(super) async fn take_leave(self) {
        let most = self.house.pace.again;
        let Self {
            speaker,
            house,
            games,
            ..
        } = self;
        // Whoever could still say something.
        drop((house, games));
        speaker.finish(most).await;
    }

    fn rung(&mut self, rung: Rung) -> Result<Option<News>, BotError> {
        match rung {
            Rung::Open => {
                self.let_in = true;
                tracing::debug!("the event stream is open");
                self.house.listeners.tell(BotEvent::Online);
                Ok(Some(News::Opened))
            }
            Rung::Line(event) => {
                self.note_rating(&event);
                Ok(Some(News::Event(event)))
            }
            Rung::Lost(loss) => {
                // A door that never opened to this token will not do so later.
                if let (StreamLoss::Unopened(error), false) = (&loss, self.let_in)
                    && let Some(fatal) = fatal(error)
                {
                    return Err(fatal);
                }
                let reason = loss.to_string();
                self.house.listeners.tell(BotEvent::Offline { reason });
                Ok(None)
            }
        }
    }

    /// Tells the lobby, and then those who look for games.
    fn take_in(&mut self, news: News) {
        let heard = Desk::heard(&news);
        match &news {
            News::Drain => {
                let errands = self.desk.set_open(false, &mut self.lobby);
                self.carry_out_all(errands);
            }
            News::Lists(lists) => self.desk.set_lists(Arc::clone(lists)),
            _ => {}
        }
        let errands = self.lobby.apply(news, Instant::now());
        self.carry_out_all(errands);
        let errands = self.desk.hear(heard, &mut self.lobby);
        self.carry_out_all(errands);
    }

    fn carry_out_all(&mut self, errands: Vec<Errand>) {
        for errand in errands {
            self.carry_out(errand);
        }
    }

    /// What a finished game did to our rating is told here and nowhere else.
    fn note_rating(&self, event: &Event) {
        if let Event::GameFinish(game) = event
            && let Some(diff) = game.rating_diff
        {
            self.house
                .say_tripped(self.house.memory.rated(&game.id, diff));
        }
    }

    /// What concerns a game is done now; calls wait for their turn.
    fn carry_out(&mut self, errand: Errand) {
        match errand {
            Errand::Play(game) => self.seat(*game),
            Errand::SaidOver(game) => {
                if let Some(player) = self.players.get(&game) {
                    player.notify_one();
                }
            }
            call => self.errands.take(call),
        }
    }

    /// Gives a game its one player.
    fn seat(&mut self, game: GameInfo) {
        let id = game.id.clone();
        let seat = Seat {
            game: game.id,
            me: self.me.clone(),
            color: game.color,
            variant: game.variant,
            past: Past::default(),
        };
        let said_over = Arc::new(Notify::new());
        self.players.insert(id.clone(), Arc::clone(&said_over));
        let span = tracing::info_span!("game", id = %id);
        let house = self.house.clone();
        let player = play(house, seat, said_over).instrument(span);
        let handle = self.games.spawn(player);
        self.ids.insert(handle.id(), id);
    }

    fn left(&mut self, left: &Result<(Id, Option<Ending>), JoinError>) -> News {
        let (task, ending) = match left {
            Ok((task, ending)) => (*task, Some(ending.as_ref())),
            Err(error) => {
                tracing::error!(%error, "the task of a game ended by itself");
                (error.id(), None)
            }
        };
        let Some(game) = self.ids.remove(&task) else {
            return News::Tick;
        };
        self.players.remove(&game);
        match ending {
            Some(None) => News::Parked(game),
            Some(Some(ending)) => News::Left {
                game,
                seen: ending.status.is_some(),
            },
            None => News::Left { game, seen: false },
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
