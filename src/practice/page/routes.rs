//! The routes of the page.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::analysis::Analyses;
use super::snapshot::WatchedGame;
use super::visitor::{Visitor, Visitors, rematch};
use super::{assets, sse};
use crate::engine::{LEVELS, Level};
use crate::http_common::by_own_name;
use crate::practice::api_error::ApiError;
use crate::practice::game_settings::{ColorWish, TimeControl};
use crate::practice::http::reply::{done_or, unknown_path};
use crate::practice::shared::SharedServer;
use crate::practice::sparring_bot::{Partner, SparringBotSpec};

/// Shared by the page's requests.
#[derive(Clone, Debug)]
pub(in crate::practice) struct Page {
    shared: Arc<SharedServer>,
    pub(super) address: SocketAddr,
    /// The account that visitors play against.
    bot: Option<Arc<str>>,
    visitors: Arc<Visitors>,
    analyses: Analyses,
}

impl Page {
    pub(in crate::practice) fn new(
        shared: Arc<SharedServer>,
        address: SocketAddr,
        bot: Option<&str>,
    ) -> Self {
        let bot = bot.map(|name| name.to_lowercase().into());
        Self {
            analyses: Analyses::new(shared.stop.clone()),
            shared,
            address,
            bot,
            visitors: Arc::default(),
        }
    }

    fn visitor(&self, ticket: &str) -> Result<Arc<Visitor>, ApiError> {
        self.visitors
            .find(ticket)
            .ok_or_else(|| ApiError::text(404, "this ticket is not known here"))
    }
}

/// The page and its API.
pub(in crate::practice) fn router(page: Page) -> Router {
    Router::new()
        .route("/", get(assets::index))
        .route("/assets/{file}", get(assets::asset))
        .route("/play/new", post(new_game))
        .route("/play/games", get(games))
        .route("/play/levels", get(levels))
        .route("/play/watch/{game}/events", get(watch))
        .route("/play/watch/{game}/analysis", post(analyse))
        .route("/play/{ticket}/events", get(events))
        .route("/play/{ticket}/move/{uci}", post(play))
        .route("/play/{ticket}/{verb}", post(visitor_action))
        .route("/play/{ticket}/draw/{answer}", post(draw))
        .route_layer(from_fn_with_state(page.clone(), check_origin))
        .with_state(page)
}

#[derive(Debug, Deserialize)]
struct GameRequest {
    #[serde(default)]
    color: Option<String>,
    limit: u32,
    increment: u32,
    /// The bot itself if absent.
    #[serde(default)]
    level: Option<String>,
}

/// A strength that a visitor may choose.
#[derive(Debug, Serialize)]
struct LevelJson {
    name: &'static str,
    title: &'static str,
    rating: u32,
}

/// The name of the bot itself among the levels.
const FULL: &str = "full";

/// The levels, weakest first, and the bot itself.
async fn levels(State(page): State<Page>) -> Response {
    let bot = page.bot.as_deref().unwrap_or_default();
    let rating = page.shared.see(|state, _| {
        let account = state.account(bot);
        account.map_or(0, |account| account.rating.shown().unsigned_abs())
    });
    let level = |level: &Level| LevelJson {
        name: level.name,
        title: level.title,
        rating: level.rating,
    };
    let full = LevelJson {
        name: FULL,
        title: "Full strength",
        rating,
    };
    let list: Vec<LevelJson> = LEVELS.iter().map(level).chain([full]).collect();
    Json(list).into_response()
}

impl Page {
    /// The account of a level, which is ready to play then.
    fn opponent(&self, level: Option<&str>) -> Result<String, ApiError> {
        match level {
            None | Some(FULL) => {
                let bot = self.bot.as_deref().map(str::to_owned);
                bot.ok_or_else(|| ApiError::refused("no game here"))
            }
            Some(name) => {
                let level = Level::named(name);
                let level = level.ok_or_else(|| ApiError::refused("there is no such level"))?;
                let spec = SparringBotSpec::new(level.title, Partner::Level(level));
                self.shared.add_sparring_bot(&spec);
                Ok(level.title.to_lowercase())
            }
        }
    }
}

async fn new_game(State(page): State<Page>, body: String) -> Result<impl IntoResponse, ApiError> {
    let admitted = read(&body).and_then(|(color, time, level)| {
        let opponent = page.opponent(level.as_deref())?;
        page.visitors.admit(&page.shared, &opponent, color, time)
    });
    let ticket = admitted.map_err(in_words)?;
    Ok(Json(json!({ "ticket": ticket })))
}

fn read(body: &str) -> Result<(ColorWish, TimeControl, Option<String>), ApiError> {
    let wishes: GameRequest =
        serde_json::from_str(body).map_err(|_| ApiError::refused("not a game request"))?;
    let color = wishes.color.as_deref().unwrap_or("random");
    let color =
        ColorWish::parse(color).ok_or_else(|| ApiError::refused("there is no such colour"))?;
    let time = TimeControl::Clock {
        limit: wishes.limit,
        increment: wishes.increment,
    };
    if time.is_offered() {
        Ok((color, time, wishes.level))
    } else {
        Err(ApiError::refused("this time control is not offered"))
    }
}

/// A form error as one sentence.
fn in_words(error: ApiError) -> ApiError {
    let complaint = error.body["error"]["global"][0]
        .as_str()
        .map(str::to_lowercase);
    complaint.map_or(error, ApiError::refused)
}

async fn games(State(page): State<Page>) -> Response {
    let mut list: Vec<_> = page.shared.see(|state, _| {
        let mut games: Vec<_> = state.running().collect();
        games.sort_by_key(|game| std::cmp::Reverse(game.created));
        games.into_iter().map(WatchedGame::of).collect()
    });
    list.truncate(50);
    Json(list).into_response()
}

async fn events(
    State(page): State<Page>,
    Path(ticket): Path<String>,
) -> Result<Response, ApiError> {
    let visitor = page.visitor(&ticket)?;
    sse::for_visitor(page.shared, visitor).ok_or_else(no_such_game)
}

async fn watch(State(page): State<Page>, Path(game): Path<String>) -> Result<Response, ApiError> {
    if page.shared.see(|state, _| state.entry(&game).is_none()) {
        return Err(no_such_game());
    }
    Ok(sse::for_spectator(page.shared, game))
}

async fn analyse(
    State(page): State<Page>,
    Path(game): Path<String>,
    body: String,
) -> Result<Response, ApiError> {
    let game = page.shared.see(|state, _| {
        let entry = state.entry(&game);
        let game = &entry.ok_or_else(no_such_game)?.game;
        if game.is_playing() {
            return Err(ApiError::refused("the game is still being played"));
        }
        Ok(game.game().clone())
    })?;
    page.analyses.start(game, &body)
}

fn no_such_game() -> ApiError {
    ApiError::text(404, "there is no such game")
}

async fn play(State(page): State<Page>, Path((ticket, uci)): Path<(String, String)>) -> Response {
    done_or(page.visitor(&ticket).and_then(|visitor| {
        page.shared.with(|state, now| {
            state.act(&visitor.user, &visitor.current(), now, |game, side| {
                game.play(side, &uci, false, now)
            })
        })
    }))
}

async fn draw(State(page): State<Page>, Path((ticket, word)): Path<(String, String)>) -> Response {
    done_or(page.visitor(&ticket).and_then(|visitor| {
        page.shared.with(|state, now| {
            state.act(&visitor.user, &visitor.current(), now, |game, side| {
                if word == "yes" {
                    game.draw_yes(side, now);
                } else {
                    game.draw_no(side);
                }
                Ok(())
            })
        })
    }))
}

/// Actions without parameters.
async fn visitor_action(
    State(page): State<Page>,
    Path((ticket, verb)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let visitor = page.visitor(&ticket)?;
    let (user, game) = (&visitor.user, visitor.current());
    let outcome = page.shared.with(|state, now| match verb.as_str() {
        "resign" => Some(state.act(user, &game, now, |game, side| game.resign(side, now))),
        "abort" => Some(match state.pending(&game) {
            Some(challenge) if challenge.status.is_pending() => state.cancel(user, &game, now),
            _ => state.act(user, &game, now, |game, side| game.abort(side, now)),
        }),
        "takeback" => Some(state.act(user, &game, now, |game, side| {
            game.takeback_yes(side, now);
            Ok(())
        })),
        "rematch" => Some(rematch(state, &visitor, now)),
        _ => None,
    });
    Ok(match outcome {
        Some(outcome) => done_or(outcome),
        None => unknown_path().await,
    })
}

// Only pages of this server, under this machine's names, may use the API.

pub(super) async fn check_origin(
    State(page): State<Page>,
    request: Request,
    next: Next,
) -> Response {
    match by_own_name(request.headers(), page.address, &[]) {
        Ok(()) => next.run(request).await,
        Err(stranger) => (StatusCode::FORBIDDEN, stranger.to_string()).into_response(),
    }
}
