//! The server's JSON, field for field as Lichess writes it.
//!
//! These types belong to the server and can only be serialised: the client has its own, so one mistake
//! cannot cancel out on both ends.

mod arena;
mod challenge;
mod event;
mod export;
mod game;
mod user;

pub(crate) use arena::{
    ArenaClock, ArenaFacts, ArenaList, EntryVerdict, EntryVerdicts, ListedArena, ListedPerf,
    ListedTeam, RatingBound, ShownArena, ShownPerf, StandingPage, StandingPlayer, TeamBattle,
};
pub(crate) use challenge::{ChallengeJson, ChallengeUser, Direction, PerfIcon};
pub(crate) use event::{Compat, EventExtra, EventLine, GameInfo, NowPlaying, Opponent};
pub(crate) use export::{
    ExportArena, ExportClock, ExportJson, ExportPlayer, ExportPlayers, ExportUser,
};
pub(crate) use game::{
    ClockJson, Expiration, GameFull, GameLine, GameState, PerfName, PlayerJson, Variant,
};
pub(crate) use user::{Counts, Perf, Perfs, UserJson, UserStatus};
