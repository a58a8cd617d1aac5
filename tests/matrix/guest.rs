//! Another bot on the server, controlled by a test: it receives challenges, answers them, and plays
//! any legal moves.

use std::sync::{Arc, Mutex, PoisonError};

use megaton::lichess::{
    ChallengeId, ChallengeOptions, ChatLine, Client, ColorChoice, Error, Event, GameEvent, GameId,
    GameState, OfferDraw, Status, UserId, Variant,
};
use megaton::practice::ServerHandle;
use megaton::rules::Game;
use tokio::task::JoinHandle;

use crate::harness::{BOT, client, until};

/// Half-moves after which a guest has played enough.
const LONG: usize = 80;

/// Another bot.
pub(crate) struct Guest {
    pub(crate) client: Client,
    heard: Arc<Mutex<Vec<Event>>>,
    ear: JoinHandle<()>,
}

/// What a guest saw of a game.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) status: Option<Status>,
    pub(crate) plies: usize,
    pub(crate) said: Vec<ChatLine>,
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.ear.abort();
    }
}

impl Guest {
    pub(crate) async fn new(server: &ServerHandle, name: &str) -> Self {
        let token = server.open_bot(name).unwrap();
        let client = client(server, &token);
        let heard: Arc<Mutex<Vec<Event>>> = Arc::default();
        let (caller, ears) = (client.clone(), Arc::clone(&heard));
        let ear = tokio::spawn(async move {
            loop {
                let Ok(mut stream) = caller.events().await else {
                    continue;
                };
                while let Ok(arrival) = stream.next().await {
                    let mut heard = ears.lock().unwrap_or_else(PoisonError::into_inner);
                    heard.push(arrival.event);
                }
            }
        });
        until("the guest is there", async || server.is_online(name)).await;
        Self { client, heard, ear }
    }

    /// The challenge of the bot, once it has come.
    pub(crate) async fn is_challenged(&self) -> ChallengeId {
        let of_the_bot = || {
            let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.iter().find_map(|event| match event {
                Event::Challenge { challenge, .. } => Some(challenge.id.clone()),
                _ => None,
            })
        };
        until("a challenge", async || of_the_bot().is_some()).await;
        of_the_bot().unwrap()
    }

    /// Challenges the bot, which gets White: of two visitors the server judges that one. The id is
    /// that of the game that it may become.
    pub(crate) async fn challenges(&self) -> GameId {
        self.challenges_to(Variant::Atomic).await
    }

    /// The same, to a game of any kind.
    pub(crate) async fn challenges_to(&self, variant: Variant) -> GameId {
        let options = ChallengeOptions {
            color: ColorChoice::Black,
            variant,
            ..ChallengeOptions::default()
        };
        let bot = UserId::new(BOT);
        let made = self.client.create_challenge(&bot, &options).await;
        made.unwrap().id.as_game()
    }

    /// Brings a game with the bot so far; someone else speaks for the bot's account meanwhile.
    pub(crate) async fn brings(&self, game: &GameId, stand_in: &Client, moves: &str) {
        stand_in.accept(&game.as_challenge()).await.unwrap();
        for (ply, uci) in moves.split_ascii_whitespace().enumerate() {
            let white = ply.is_multiple_of(2);
            let player = if white { stand_in } else { &self.client };
            // Refused where it had come in, and the answer was lost on a machine that stood still.
            while let Err(error) = player.make_move(game, uci, OfferDraw::No).await
                && error.is_transient()
            {}
        }
    }

    /// Plays a game to its end with any moves; resigns one that lasts.
    pub(crate) async fn plays(&self, game: &GameId) -> Seen {
        self.plays_and(game, async |_| {}).await
    }

    /// The same; `between` happens before each of its moves.
    pub(crate) async fn plays_and(&self, game: &GameId, between: impl AsyncFn(usize)) -> Seen {
        let mut seen = Seen::default();
        loop {
            let Ok(mut stream) = self
                .client
                .game(game, self.client.timing().game_opening)
                .await
            else {
                continue;
            };
            let mut white = false;
            while let Ok(arrival) = stream.next().await {
                let state = match arrival.event {
                    GameEvent::Full(full) => {
                        white = full.white.id.as_ref() != Some(&UserId::new(BOT));
                        full.state
                    }
                    GameEvent::State(state) => *state,
                    GameEvent::Chat(line) => {
                        seen.said.push(line);
                        continue;
                    }
                    _ => continue,
                };
                seen.plies = state.ply();
                if state.status.is_over() {
                    seen.status = Some(state.status);
                    return seen;
                }
                if state.ply().is_multiple_of(2) == white {
                    between(state.ply()).await;
                    self.moves(game, &state).await;
                }
            }
        }
    }

    async fn moves(&self, game: &GameId, state: &GameState) {
        let legal = Game::from_uci_moves(&state.moves).unwrap();
        let legal = legal.position().legal_moves();
        if state.ply() > LONG {
            // Told to wait, it does: the server counts anyone who calls too soon.
            if let Err(Error::RateLimited { .. }) = self.client.resign(game).await {
                tokio::time::sleep(self.client.timing().rate_limit).await;
            }
        } else if !legal.is_empty() {
            let uci = legal[fastrand::usize(..legal.len())].to_string();
            // Refused where the game has just ended.
            let _ = self.client.make_move(game, &uci, OfferDraw::No).await;
        }
    }
}
