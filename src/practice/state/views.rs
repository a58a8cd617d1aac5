//! The JSON views of accounts, challenges and games.

use crate::practice::account::Account;
use crate::practice::challenge::{ChallengeState, Reason, ServerChallenge};
use crate::practice::game::ServerGame;
use crate::practice::game_settings::TimeControl;
use crate::practice::time::Millis;
use crate::practice::wire::{
    ChallengeJson, ChallengeUser, ClockJson, Compat, Direction, EventExtra, EventLine, GameFull,
    GameInfo, NowPlaying, Opponent, Perf, PerfIcon, PerfName, Perfs, PlayerJson, UserJson,
    UserStatus, Variant,
};
use crate::rules::{Color, Position};

use super::ServerState;

impl ServerState {
    pub(crate) fn name_of(&self, user: &str) -> String {
        self.accounts
            .get(user)
            .map_or_else(|| user.to_owned(), |account| account.name.clone())
    }

    /// The first events of a new event stream: running games, then challenges.
    pub(crate) fn event_snapshot(&self, user: &str, now: Millis) -> Vec<EventLine> {
        let mut games: Vec<&ServerGame> = self
            .running()
            .filter(|game| game.side_of(user).is_some())
            .collect();
        games.sort_by_key(|game| game.created);
        let games = games.into_iter().filter_map(|game| {
            let game = Box::new(self.game_info(game, game.side_of(user)?, now));
            Some(EventLine::GameStart { game })
        });
        let challenges = self
            .challenges
            .values()
            .filter(|challenge| {
                challenge.dest == user && challenge.status == ChallengeState::Created
            })
            .map(|challenge| EventLine::Challenge {
                challenge: Box::new(self.challenge_json(challenge, None, now)),
                compat: None,
            });
        games.chain(challenges).collect()
    }

    pub(crate) fn challenge_json(
        &self,
        challenge: &ServerChallenge,
        direction: Option<Direction>,
        now: Millis,
    ) -> ChallengeJson {
        let declined = match challenge.status {
            ChallengeState::Declined(reason) => Some(reason),
            _ => None,
        };
        let request = &challenge.request;
        ChallengeJson {
            id: challenge.id.clone(),
            url: format!("{}/{}", self.url, challenge.id),
            status: challenge.status.name(),
            challenger: self.challenge_user(&challenge.challenger, now),
            dest_user: self.challenge_user(&challenge.dest, now),
            variant: request.variant,
            rated: request.settings.rated,
            speed: request.settings.time.speed(),
            time_control: request.settings.time.into(),
            color: request.color,
            final_color: challenge.color.as_str(),
            perf: PerfIcon {
                icon: "\u{e025}",
                name: request.variant.name,
            },
            direction,
            rematch_of: request.rematch_of.clone(),
            rules: (!request.rules.is_empty()).then(|| request.rules.clone()),
            decline_reason: declined.map(Reason::text),
            decline_reason_key: declined.map(Reason::key),
        }
    }

    fn challenge_user(&self, user: &str, now: Millis) -> ChallengeUser {
        let online = self.is_online(user, now);
        let account = &self.accounts[user];
        ChallengeUser {
            id: account.id.clone(),
            name: account.name.clone(),
            title: account.title(),
            rating: account.rating.shown(),
            provisional: account.rating.is_provisional(),
            online,
            lag: online.then_some(4),
        }
    }

    pub(crate) fn game_info(&self, game: &ServerGame, side: Color, now: Millis) -> GameInfo {
        let mut info = self.playing_info(game, side, now);
        info.extra = Some(EventExtra {
            rating: game.player_side(side).rating.shown(),
            compat: Compat {
                bot: Self::is_bot_compatible(game),
                board: true,
            },
            id: game.setup.id.clone(),
        });
        info
    }

    fn playing_info(&self, game: &ServerGame, side: Color, now: Millis) -> GameInfo {
        let (me, other) = (game.player_side(side), game.player_side(!side));
        let diff = |side: Color| game.rating_diffs.map(|diffs| diffs[side.index()]);
        let timed = game.setup.settings.time != TimeControl::Unlimited;
        GameInfo {
            full_id: format!("{}{}", game.setup.id, me.secret),
            game_id: game.setup.id.clone(),
            fen: game
                .record()
                .last()
                .map_or_else(|| Position::default().fen(), |played| played.fen.clone()),
            color: side.as_str(),
            last_move: game
                .record()
                .last()
                .map(|it| it.uci.clone())
                .unwrap_or_default(),
            source: if game.setup.arena.is_some() {
                "arena"
            } else {
                "friend"
            },
            status: game.status().into(),
            variant: Variant::ATOMIC.without_short(),
            speed: game.setup.settings.time.speed(),
            perf: "atomic",
            rated: game.setup.settings.rated,
            has_moved: game.has_moved(side),
            opponent: Opponent {
                id: other.user.clone(),
                username: self.accounts[&other.user].titled_name(),
                rating: other.rating.shown(),
                rating_diff: diff(!side),
            },
            is_my_turn: game.is_playing() && game.turn() == side,
            tournament_id: game.setup.arena.clone(),
            seconds_left: timed.then(|| game.clock().left(side, now) / 1000),
            winner: game.winner().map(Color::as_str),
            rating_diff: diff(side),
            extra: None,
        }
    }

    /// The reply of `/api/account/playing`, most urgent first.
    pub(crate) fn now_playing(&self, user: &str, most: usize, now: Millis) -> NowPlaying {
        let mut games: Vec<GameInfo> = self
            .running()
            .filter_map(|game| Some(self.playing_info(game, game.side_of(user)?, now)))
            .collect();
        // Without a clock there is no hurry.
        games.sort_by_key(|game| (!game.is_my_turn, game.seconds_left.unwrap_or(u64::MAX)));
        let nb_my_turn = games.iter().filter(|game| game.is_my_turn).count();
        games.truncate(most);
        NowPlaying {
            now_playing: games,
            nb_my_turn,
        }
    }

    pub(crate) fn game_full(game: &ServerGame, now: Millis) -> GameFull {
        let player = |side: Color| {
            let player_side = game.player_side(side);
            PlayerJson {
                id: player_side.user.clone(),
                name: player_side.name.clone(),
                title: player_side.title,
                rating: player_side.rating.shown(),
                provisional: player_side.rating.is_provisional(),
            }
        };
        let state = game.state(now);
        let (clock, days_per_turn) = match game.setup.settings.time {
            TimeControl::Clock { limit, increment } => (
                Some(ClockJson {
                    initial: game.setup.timing.clock_ms(limit),
                    increment: game.setup.timing.clock_ms(increment),
                }),
                None,
            ),
            TimeControl::Correspondence { days } => (None, Some(days)),
            TimeControl::Unlimited => (None, None),
        };
        GameFull {
            id: game.setup.id.clone(),
            variant: Variant::ATOMIC,
            speed: game.setup.settings.time.speed(),
            perf: PerfName { name: "Atomic" },
            rated: game.setup.settings.rated,
            created_at: game.created.0,
            white: player(Color::White),
            black: player(Color::Black),
            initial_fen: "startpos",
            clock,
            days_per_turn,
            tournament_id: game.setup.arena.clone(),
            state: state.into(),
        }
    }

    /// An account in a list; with counts and URL if requested alone.
    pub(crate) fn user_json(&self, account: &Account, alone: bool, now: Millis) -> UserJson {
        let rating = account.rating;
        let atomic = (rating.games() > 0).then(|| Perf {
            games: rating.games(),
            rating: rating.shown(),
            rd: rating.deviation(),
            prog: rating.progress(),
            prov: rating.is_provisional(),
        });
        let playing = self
            .running()
            .find(|game| game.side_of(&account.id).is_some());
        UserJson {
            id: account.id.clone(),
            username: account.name.clone(),
            title: account.title(),
            disabled: account.closed,
            tos_violation: account.marked,
            perfs: Perfs { atomic },
            created_at: account.created.0,
            seen_at: if self.is_online(&account.id, now) {
                now.0
            } else {
                account.seen.0
            },
            url: alone.then(|| format!("{}/@/{}", self.url, account.name)),
            playing: playing
                .filter(|_| alone)
                .map(|game| format!("{}/{}", self.url, game.setup.id)),
            count: alone.then_some(account.counts),
        }
    }

    pub(crate) fn user_status(&self, id: &str, with_ids: bool, now: Millis) -> Option<UserStatus> {
        let account = self.accounts.get(&id.to_lowercase())?;
        let game = self
            .running()
            .find(|game| game.side_of(&account.id).is_some());
        Some(UserStatus {
            id: account.id.clone(),
            name: account.name.clone(),
            title: account.title(),
            online: self.is_online(&account.id, now),
            playing: game.is_some(),
            playing_id: game.filter(|_| with_ids).map(|game| game.setup.id.clone()),
        })
    }

    /// Online bots, the best known first.
    pub(crate) fn online_bots(&self, most: usize, now: Millis) -> Vec<UserJson> {
        let mut bots: Vec<&Account> = self
            .accounts
            .values()
            .filter(|account| account.is_bot() && self.is_online(&account.id, now))
            .collect();
        bots.sort_by(|one, other| one.id.cmp(&other.id));
        bots.into_iter()
            .take(most)
            .map(|bot| self.user_json(bot, false, now))
            .collect()
    }
}
