//! The lichess room.
