//! The uci room.
