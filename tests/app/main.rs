//! The program as a whole: its structure, its documentation, and its commands as a user runs them.

mod account;
mod alerts;
mod archive_after_kill;
mod arenas_and_teams;
mod books;
#[path = "../bot/captured_log.rs"]
mod captured_log;
mod certificate_authority;
mod circles;
mod concurrent_writers;
mod control;
mod data_folder;
mod deploy;
mod event_lists;
mod experience;
mod explain;
mod fault_scripts;
mod features;
mod full_disk;
#[cfg(unix)]
mod golden;
mod http_commands;
mod idle_work;
mod interventions;
mod layers;
mod limits;
mod log_file;
mod monitoring;
mod operator;
mod program;
mod python;
mod record_lists;
mod records;
mod repeated_games;
mod repository;
mod rust_words;
mod secrets;
mod series;
mod server;
mod several_accounts;
mod shutdown;
mod size;
mod soak;
mod startup;
mod table_files;
#[cfg(unix)]
mod terminal;
mod tls;
mod upgrade;
mod whole_program;
mod wire;
