//! The state of everything that the pages show, in sections that are ready to be sent. Pure.
//!
//! Each section is serialized once for all pages, and again only when it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use super::dto::{FullGame, LiveGameDto};
use super::replay::Replay;
use crate::archive::{GameRecord, Millis};
use crate::bot::{Clocks, LiveGame};

/// How long a finished game stays in the view, in milliseconds.
const LINGER: Millis = 60_000;

/// A section of the view. Sections are sent in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    Status,
    Games,
    /// A game in brief.
    Game(String),
    /// A game with all its moves.
    Whole(String),
    /// The same two without analysis, for spectators: an opponent may be among them.
    PublicGame(String),
    PublicWhole(String),
    /// The search of a game.
    Thought(String),
    /// The blunder search has looked at the game.
    Reviewed(String),
    Challenges,
    Events,
    Recent,
    Rating,
}

impl Section {
    /// The name of the section's events.
    pub(super) fn event(&self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Games => "games",
            Self::Game(_) | Self::Whole(_) | Self::PublicGame(_) | Self::PublicWhole(_) => "game",
            Self::Thought(_) => "thought",
            Self::Reviewed(_) => "reviewed",
            Self::Challenges => "challenges",
            Self::Events => "events",
            Self::Recent => "recent",
            Self::Rating => "rating",
        }
    }
}

/// A section's content.
#[derive(Clone, Debug)]
pub(super) struct Patch {
    /// The version of the view in which it last changed.
    pub(super) version: u64,
    /// JSON.
    pub(super) data: Arc<str>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ViewState {
    pub(super) version: u64,
    pub(super) patches: BTreeMap<Section, Patch>,
}

fn json(data: &impl Serialize) -> Arc<str> {
    // Only maps with keys that are not text fail, and there are none.
    serde_json::to_string(data).unwrap_or_default().into()
}

/// Builds views, each from the one before.
#[derive(Debug)]
pub(super) struct ViewBuilder {
    /// The address of the game server.
    server: String,
    has_spectators: bool,
    view: ViewState,
    replays: BTreeMap<String, (Arc<GameRecord>, Arc<Replay>)>,
    /// What the sections of games with all their moves were built from.
    wholes: BTreeMap<String, (Arc<GameRecord>, Clocks)>,
}

impl ViewBuilder {
    /// Continues after the view of this version.
    pub(super) fn new(version: u64, server: &str, has_spectators: bool) -> Self {
        Self {
            server: server.to_owned(),
            has_spectators,
            view: ViewState {
                version,
                ..ViewState::default()
            },
            replays: BTreeMap::new(),
            wholes: BTreeMap::new(),
        }
    }

    /// Begins the next view.
    pub(super) fn begin(&mut self) {
        self.view.version += 1;
    }

    /// The view, if it differs from the one before.
    pub(super) fn finish(&mut self) -> Option<ViewState> {
        let version = self.view.version;
        let mut patches = self.view.patches.values();
        if patches.any(|patch| patch.version == version) {
            return Some(self.view.clone());
        }
        self.view.version -= 1;
        None
    }

    pub(super) fn put(&mut self, section: Section, data: &impl Serialize) {
        self.put_json(section, json(data));
    }

    pub(super) fn put_history(&mut self, history: &History) {
        let lists = [
            (Section::Recent, &history.recent),
            (Section::Rating, &history.ratings),
        ];
        for (section, data) in lists {
            if let Some(data) = data {
                self.put_json(section, Arc::clone(data));
            }
        }
    }

    fn put_json(&mut self, section: Section, data: Arc<str>) {
        let version = self.view.version;
        let known = self.view.patches.get(&section);
        if known.is_none_or(|patch| patch.data != data) {
            self.view.patches.insert(section, Patch { version, data });
        }
    }

    /// Puts the running games and those that just ended; of watched ones also all moves and the search.
    pub(super) fn put_games(
        &mut self,
        running: Vec<LiveGame>,
        recent: Vec<Arc<GameRecord>>,
        watched: &BTreeSet<String>,
        now: Millis,
    ) {
        let ids: Vec<String> = running.iter().map(|live| live.record.id.clone()).collect();
        self.put(Section::Games, &ids);
        let ended = recent.into_iter().filter_map(|record| {
            let at = record.ending.as_ref()?.at;
            let lingers = now.saturating_sub(at) < LINGER && !ids.contains(&record.id);
            lingers.then(|| LiveGame {
                clocks: last_clocks(&record),
                record,
                search: None,
            })
        });
        let shown: Vec<LiveGame> = running.into_iter().chain(ended).collect();
        let is_shown = |id: &String| shown.iter().any(|live| live.record.id == *id);
        self.replays.retain(|id, _| is_shown(id));
        self.wholes
            .retain(|id, _| is_shown(id) && watched.contains(id));
        self.view.patches.retain(|section, _| match section {
            Section::Game(id) | Section::PublicGame(id) => is_shown(id),
            Section::Whole(id) | Section::PublicWhole(id) => is_shown(id) && watched.contains(id),
            Section::Reviewed(id) => watched.contains(id),
            Section::Thought(id) => ids.contains(id) && watched.contains(id),
            _ => true,
        });
        for live in &shown {
            let id = &live.record.id;
            let replay = self.replay(&live.record);
            let card = LiveGameDto::of(live, &replay);
            self.put(Section::Game(id.clone()), &card);
            if watched.contains(id) {
                self.put_whole(live, &replay, now);
                if ids.contains(id) {
                    self.put(Section::Thought(id.clone()), &card.thought);
                }
            }
            if self.has_spectators {
                self.put(Section::PublicGame(id.clone()), &card.without_analysis());
            }
        }
    }

    /// Puts a game with all its moves, if it has changed.
    fn put_whole(&mut self, live: &LiveGame, replay: &Replay, now: Millis) {
        let LiveGame { record, clocks, .. } = live;
        let known = self.wholes.get(&record.id);
        if known.is_some_and(|known| Arc::ptr_eq(&known.0, record) && known.1 == *clocks) {
            return;
        }
        let source = (Arc::clone(record), *clocks);
        self.wholes.insert(record.id.clone(), source);
        let running = record.ending.is_none().then_some(live);
        // The review comes with the finished game, from its own route.
        let whole = FullGame::of(record, replay, running, &self.server, now);
        self.put(Section::Whole(record.id.clone()), &whole);
        if self.has_spectators {
            self.put(
                Section::PublicWhole(record.id.clone()),
                &whole.without_analysis(),
            );
        }
    }

    fn replay(&mut self, record: &Arc<GameRecord>) -> Arc<Replay> {
        if let Some((known, replay)) = self.replays.get_mut(&record.id)
            && (Arc::ptr_eq(known, record) || Arc::make_mut(replay).extend(known, record))
        {
            *known = Arc::clone(record);
            return Arc::clone(replay);
        }
        let replay = Arc::new(Replay::of(record));
        let entry = (Arc::clone(record), Arc::clone(&replay));
        self.replays.insert(record.id.clone(), entry);
        replay
    }
}

/// The lists of what is over, as far as they are known yet.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    recent: Option<Arc<str>>,
    ratings: Option<Arc<str>>,
}

impl History {
    pub(super) fn set_recent(&mut self, recent: &impl Serialize) {
        self.recent = Some(json(recent));
    }

    pub(super) fn set_ratings(&mut self, ratings: &impl Serialize) {
        self.ratings = Some(json(ratings));
    }
}

/// The clocks at the end of a game.
fn last_clocks(record: &GameRecord) -> Clocks {
    let of = |parity: usize| {
        let own = record.moves.iter().skip(parity).step_by(2);
        own.rev().find_map(|made| made.clock)
    };
    Clocks {
        white: of(0),
        black: of(1),
        stated: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{EndingRecord, MoveRecord};
    use crate::bot::SearchInfo;
    use crate::engine::Score;
    use crate::lichess::{Side, Status};

    fn live(moves: &[&str]) -> LiveGame {
        LiveGame {
            record: Arc::new(GameRecord {
                id: "q7ZxVt2B".to_owned(),
                us: Some(Side::White),
                moves: moves.iter().map(|uci| MoveRecord::bare(*uci)).collect(),
                ..GameRecord::default()
            }),
            clocks: Clocks::default(),
            search: None,
        }
    }

    fn thinking(depth: u32) -> SearchInfo {
        SearchInfo {
            ply: 2,
            pondering: false,
            depth,
            seldepth: depth,
            score: Score::Cp(20),
            nodes: 1000,
            nps: 1000,
            time: 1000,
            hashfull: 1,
            line: Vec::new(),
            san: vec!["Nxf7".to_owned()],
        }
    }

    fn watched() -> BTreeSet<String> {
        BTreeSet::from(["q7ZxVt2B".to_owned()])
    }

    fn next(
        builder: &mut ViewBuilder,
        running: &[LiveGame],
        recent: &[Arc<GameRecord>],
        watched: &BTreeSet<String>,
    ) -> Option<ViewState> {
        builder.begin();
        builder.put_games(running.to_vec(), recent.to_vec(), watched, 1000);
        builder.finish()
    }

    /// The number and the text of a piece.
    fn piece(view: &ViewState, part: fn(String) -> Section) -> Option<(u64, String)> {
        let piece = view.patches.get(&part("q7ZxVt2B".to_owned()))?;
        let event = part(String::new()).event();
        Some((
            piece.version,
            format!("event: {event}\ndata: {}\n\n", piece.data),
        ))
    }

    #[test]
    fn search_info_is_serialized_once_for_all_viewers() {
        let mut builder = ViewBuilder::new(0, "http://there", false);
        let mut game = live(&["e2e4", "e7e5"]);
        let nobody = BTreeSet::new();
        let view = next(&mut builder, &[game.clone()], &[], &nobody).unwrap();
        assert!(piece(&view, Section::Game).is_some());
        assert_eq!(piece(&view, Section::Whole), None, "nobody watches it");

        game.search = Some(thinking(7));
        let view = next(&mut builder, &[game.clone()], &[], &watched()).unwrap();
        let (number, whole) = piece(&view, Section::Whole).unwrap();
        assert_eq!(number, 2);
        assert!(whole.starts_with("event: game\n") && whole.contains("\"san\":\"e5\""));

        game.search = Some(thinking(8));
        let view = next(&mut builder, &[game.clone()], &[], &watched()).unwrap();
        assert_eq!(piece(&view, Section::Whole).unwrap().0, 2, "no move is new");
        let (number, thought) = piece(&view, Section::Thought).unwrap();
        assert_eq!(number, 3);
        assert!(thought.starts_with("event: thought\n") && thought.contains("\"depth\":8"));
        assert!(next(&mut builder, &[game.clone()], &[], &watched()).is_none());

        let more = live(&["e2e4", "e7e5", "g1f3"]);
        let view = next(&mut builder, &[more], &[], &watched()).unwrap();
        assert_eq!(piece(&view, Section::Whole).unwrap().0, 4);
    }

    #[test]
    fn an_ended_game_is_sent_completely_and_no_search_info_after_it() {
        let mut builder = ViewBuilder::new(0, "http://there", false);
        let mut game = live(&["e2e4", "e7e5"]);
        game.search = Some(thinking(7));
        next(&mut builder, &[game.clone()], &[], &watched()).unwrap();
        let over = GameRecord {
            ending: Some(EndingRecord {
                status: Status::Resign,
                winner: Some(Side::White),
                at: 900,
            }),
            ..GameRecord::clone(&game.record)
        };
        let view = next(&mut builder, &[], &[Arc::new(over)], &watched()).unwrap();
        let (number, whole) = piece(&view, Section::Whole).unwrap();
        assert_eq!(number, 2);
        assert!(whole.contains("\"status\":\"resign\""), "{whole}");
        assert_eq!(piece(&view, Section::Thought), None);
    }

    #[test]
    fn spectators_are_not_shown_what_the_bot_thinks() {
        let mut builder = ViewBuilder::new(0, "http://there", true);
        let mut game = live(&["e2e4", "e7e5"]);
        let record = Arc::make_mut(&mut game.record);
        record.moves[0].score = Some(Score::Cp(77));
        record.moves[0].depth = Some(31);
        record.moves[0].line = "e7e5 g1f3".to_owned();
        game.search = Some(thinking(7));
        let view = next(&mut builder, &[game.clone()], &[], &watched()).unwrap();
        let secrets = ["77", "\"depth\":31", "Nxf7", "\"cp\"", "thinking"];
        for section in [Section::PublicGame, Section::PublicWhole] {
            let (_, text) = piece(&view, section).unwrap();
            assert!(text.contains("q7ZxVt2B") && text.contains("e5"), "{text}");
            for secret in secrets {
                assert!(!text.contains(secret), "{secret} in {text}");
            }
        }
        game.search = Some(thinking(8));
        let view = next(&mut builder, &[game], &[], &watched()).unwrap();
        assert_eq!(
            piece(&view, Section::PublicGame).unwrap().0,
            1,
            "no move is new"
        );
    }
}
