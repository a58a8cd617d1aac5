//! The house as a whole: its walls, its papers, and the program as a user starts it.

mod account;
mod alerts;
mod authority;
mod beside;
mod circles;
mod clubs;
mod deploy;
mod explain;
mod faulty;
mod features;
mod full;
mod games;
#[cfg(unix)]
mod golden;
mod idle;
mod interventions;
mod kept;
mod layers;
mod limits;
mod lists;
mod notes;
mod operator;
mod papers;
mod program;
mod python;
mod records;
mod running;
mod server;
mod size;
mod soak;
mod state;
mod steered;
#[cfg(unix)]
mod terminal;
mod tls;
mod told;
mod variety;
mod watched;
mod whole;
mod words;
