//! Challenges, seats and which games get a player.
