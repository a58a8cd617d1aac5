//! The house as a whole: its walls, its papers, and the program as a user starts it.

mod account;
mod alarms;
mod clubs;
mod explain;
mod faulty;
mod features;
mod games;
mod interventions;
mod kept;
mod layers;
mod limits;
mod operator;
mod papers;
mod program;
mod records;
mod running;
mod server;
mod soak;
mod state;
mod told;
mod variety;
mod watched;
mod whole;
mod words;
