//! The bot, from its pure cores outwards: state machines driven in virtual time, random sequences
//! of events, and whole bots on a small faulty test server.

mod absences;
mod account;
mod answers;
mod arenas;
mod challenges;
mod clock;
mod correspondence;
mod crowds;
mod draws;
mod endings;
mod event_stream;
mod fixture;
mod harness;
mod http;
mod incoming;
mod keeping;
mod limited;
mod lists;
mod matchmaking;
mod names;
mod offline;
mod pending;
mod quiet;
mod replies;
mod resigning;
mod round;
mod rules;
mod running;
mod server;
mod slots;
mod storm;
mod talk;
mod variety;
mod verdicts;
mod whole;
