//! PGN to records: accepts whole games and names the line of broken ones.
//!
//! The rules check the moves, so no impossible game passes. An unknown word makes a game suspect:
//! the reader skips the game rather than guess.

use std::hash::Hasher as _;
use std::io::{self, BufRead};
use std::ops::ControlFlow;

use fnv::FnvHasher;
use pgn_reader::{Outcome, RawComment, RawTag, Reader, SanPlus, Visitor};
use thiserror::Error;

use super::comment::understand;
use super::split::{PgnChunk, PgnChunks};
use super::tags::{Tags, winner_of};
use crate::archive::record::{GameRecord, Millis, MoveRecord, TimeControlRecord};
use crate::lichess::{Side, Status};
use crate::rules::{Draw, Game, Outcome as Ended, RepetitionRule, Win};

/// Longest game on Lichess, in plies.
const MAX_PLIES: usize = 601;

/// Why a piece of a file is not a valid game.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PgnFault {
    /// A game of another variant, which is not an error.
    #[error("line {line}: {variant} is played here, not atomic chess")]
    Foreign { line: u64, variant: String },
    /// An incomplete or invalid game.
    #[error("line {line}{}: {what}", game.as_ref().map(|game| format!(", game {game}")).unwrap_or_default())]
    Broken {
        line: u64,
        /// The game's id, if it has one.
        game: Option<String>,
        what: String,
    },
}

/// The games of a file, one after the other.
#[derive(Debug)]
pub struct PgnGames<R> {
    chunks: PgnChunks<R>,
    line: u64,
}

impl<R: BufRead> PgnGames<R> {
    pub fn new(source: R) -> Self {
        Self {
            chunks: PgnChunks::new(source),
            line: 0,
        }
    }

    /// The line on which the last game begins.
    pub fn line(&self) -> u64 {
        self.line
    }
}

impl<R: BufRead> Iterator for PgnGames<R> {
    type Item = io::Result<Result<GameRecord, PgnFault>>;

    fn next(&mut self) -> Option<Self::Item> {
        let broken = |line, what: &str| PgnFault::Broken {
            line,
            game: None,
            what: what.to_owned(),
        };
        let piece = match self.chunks.next() {
            Ok(piece) => piece?,
            Err(error) => return Some(Err(error)),
        };
        Some(Ok(match piece {
            PgnChunk::Game { line, text, moves } => {
                self.line = line;
                read(&text, line, moves)
            }
            PgnChunk::Loose { line } => Err(broken(line, "this belongs to no game")),
            PgnChunk::Endless { line } => Err(broken(line, "this is longer than any game")),
        }))
    }
}

/// Reads one game.
fn read(text: &[u8], line: u64, moves: u64) -> Result<GameRecord, PgnFault> {
    let mut archiver = RecordBuilder::default();
    // `pgn-reader` fails on tags that do not end; it reads the whole slice.
    let outcome = Reader::build(text)
        .set_supported_tag_line_length(4096)
        .set_supported_comment_length(4096)
        .finish()
        .read_game(&mut archiver);
    let id = archiver.tags.id().map(str::to_owned);
    let broken = |what: String| PgnFault::Broken {
        line,
        game: id.clone(),
        what,
    };
    match outcome {
        Err(error) => return Err(broken(error.to_string())),
        Ok(None) => return Err(broken("nothing but blanks".to_owned())),
        Ok(Some(())) => {}
    }
    if let Some(name) = archiver.tags.twice() {
        let name: String = name.chars().filter(|c| !c.is_control()).take(20).collect();
        return Err(broken(format!("its tag {name} stands there twice")));
    }
    if archiver.is_cut_within_tags() {
        return Err(broken("cut off within its tags".to_owned()));
    }
    if let Some(variant) = archiver.foreign() {
        return Err(PgnFault::Foreign { line, variant });
    }
    if let Some(stray) = stray_word(text) {
        let stray: String = stray.chars().filter(|c| !c.is_control()).take(20).collect();
        let stray = format!("{stray:?} among its moves (from line {moves} on)");
        // A skipped word makes the moves after it those of the other side.
        let fault = archiver.fault.map(|fault| format!("; {fault}"));
        return Err(broken(stray + &fault.unwrap_or_default()));
    }
    archiver.finish(text).map_err(broken)
}

/// Builds a record while `pgn-reader` reads a game.
#[derive(Debug, Default)]
struct RecordBuilder {
    tags: Tags,
    board: Game,
    moves: Vec<MoveRecord>,
    result: Option<Outcome>,
    fault: Option<String>,
}

impl Visitor for RecordBuilder {
    type Tags = ();
    type Movetext = ();
    type Output = ();

    fn begin_tags(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn tag(&mut self, (): &mut (), name: &[u8], value: RawTag<'_>) -> ControlFlow<()> {
        let name = String::from_utf8_lossy(name);
        self.tags.add(name.trim(), &value.decode_utf8_lossy());
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, (): ()) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn san(&mut self, (): &mut (), san: SanPlus) -> ControlFlow<()> {
        if self.result.is_some() {
            return self.give_up("moves after its end".to_owned());
        }
        if self.moves.len() >= MAX_PLIES {
            return self.give_up(format!("more than {MAX_PLIES} half-moves"));
        }
        let position = self.board.position();
        match position.parse_san(&san.to_string()) {
            Ok(mv) => {
                self.moves.push(MoveRecord::bare(mv.to_string()));
                self.board.push(mv);
                ControlFlow::Continue(())
            }
            Err(error) => {
                let ply = self.moves.len() + 1;
                self.give_up(format!("half-move {ply}: {error}"))
            }
        }
    }

    fn comment(&mut self, (): &mut (), comment: RawComment<'_>) -> ControlFlow<()> {
        let ply = self.moves.len().saturating_sub(1);
        if let Some(made) = self.moves.last_mut() {
            let comment = String::from_utf8_lossy(comment.as_bytes());
            understand(&comment, GameRecord::mover(ply), made);
        }
        ControlFlow::Continue(())
    }

    fn outcome(&mut self, (): &mut (), outcome: Outcome) -> ControlFlow<()> {
        if self.result.is_some() {
            return self.give_up("it ends twice".to_owned());
        }
        self.result = Some(outcome);
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, (): ()) {}
}

impl RecordBuilder {
    fn give_up(&mut self, what: String) -> ControlFlow<()> {
        self.fault = Some(what);
        ControlFlow::Break(())
    }

    /// Whether the variant may be among the tags that are missing.
    fn is_cut_within_tags(&self) -> bool {
        let ends = self.result.is_some() || self.fault.is_some();
        self.tags.get("Variant").is_none() && self.moves.is_empty() && !ends
    }

    /// The variant or the start, unless it is atomic chess from the usual position.
    fn foreign(&self) -> Option<String> {
        let variant = self.tags.get("Variant").unwrap_or("Standard");
        if !variant.eq_ignore_ascii_case("atomic") {
            return Some(variant.chars().take(30).collect());
        }
        let start = self.tags.get("FEN")?;
        let usual = self.board.positions()[0].fen();
        let same = |one: &str, other: &str| {
            one.split_whitespace()
                .take(4)
                .eq(other.split_whitespace().take(4))
        };
        (!same(start, &usual)).then(|| "atomic chess from another position".to_owned())
    }

    /// The record, if the game is complete.
    fn finish(self, text: &[u8]) -> Result<GameRecord, String> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        for name in ["White", "Black"] {
            self.tags
                .get(name)
                .ok_or_else(|| format!("no player is named {name}"))?;
        }
        let Some(result) = self.result else {
            return Err("cut off: no result after its moves".to_owned());
        };
        let told = self.tags.get("Result").and_then(|told| told.parse().ok());
        if told.is_some_and(|told: Outcome| told != result) {
            return Err("its last word is not the result in its tags".to_owned());
        }
        let on_board = on_board(&self.board);
        if let Some((status, winner)) = on_board
            && status != Status::Draw
            && (result.is_unknown() || winner_of(result) != winner)
        {
            return Err("its result is not what the board shows".to_owned());
        }
        let mut game = self.tags.record();
        game.id = match self.tags.id() {
            Some(id) => id.to_owned(),
            None => made_up_id(&self.tags, &self.moves, text),
        };
        game.moves = self.moves;
        spend(&mut game);
        let took: Millis = game.moves.iter().filter_map(|made| made.spent).sum();
        let ended = self.tags.ended();
        let ended = ended.unwrap_or_else(|| game.began().saturating_add(took));
        let shown = on_board.filter(|(_, winner)| *winner == winner_of(result));
        let status = shown.map(|(status, _)| status);
        game.ending = self.tags.ending(result, status, ended);
        Ok(game)
    }
}

/// The end of the game on the board, if it has one; a draw by repetition and the like need not be
/// claimed.
fn on_board(board: &Game) -> Option<(Status, Option<Side>)> {
    Some(match board.outcome(RepetitionRule::Threefold)? {
        Ended::Win { winner, by } => {
            let status = match by {
                Win::Explosion => Status::VariantEnd,
                Win::Mate => Status::Mate,
            };
            (status, Some(winner.into()))
        }
        Ended::Draw(Draw::Stalemate) => (Status::Stalemate, None),
        Ended::Draw(_) => (Status::Draw, None),
    })
}

/// Computes the time spent on each move from the clocks, where it is not given.
fn spend(game: &mut GameRecord) {
    let TimeControlRecord::Clock { increment, .. } = game.control else {
        return;
    };
    for ply in (2..game.moves.len()).rev() {
        let (before, after) = (game.moves[ply - 2].clock, game.moves[ply].clock);
        if let (None, Some(before), Some(after)) = (game.moves[ply].spent, before, after) {
            game.moves[ply].spent = (before + increment).checked_sub(after);
        }
    }
}

/// An id for a game of a server without ids; the same for the same game.
fn made_up_id(tags: &Tags, moves: &[MoveRecord], text: &[u8]) -> String {
    // The id must be the same on every machine and in every version.
    let mut hash = FnvHasher::default();
    let mut add = |bytes: &[u8]| {
        hash.write(bytes);
        hash.write_u8(0xff);
    };
    for name in [
        "White", "Black", "UTCDate", "Date", "UTCTime", "Round", "Site",
    ] {
        add(tags.get(name).unwrap_or_default().as_bytes());
    }
    for made in moves {
        add(made.uci.as_bytes());
    }
    if moves.is_empty() {
        add(text);
    }
    format!("pgn{:016x}", hash.finish())
}

/// The first word among the moves that is neither a move nor any other PGN token. `pgn-reader`
/// skips such words silently.
fn stray_word(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let mut rest = String::with_capacity(text.len());
    let mut depth = 0_usize;
    let mut in_comment = false;
    for mut line in text.lines().filter(|line| !line.starts_with('%')) {
        if !in_comment && rest.trim().is_empty() && line.trim_start().starts_with('[') {
            let (_, after) = line.rsplit_once(']').unwrap_or_default();
            line = after;
        }
        for letter in line.chars() {
            match letter {
                '}' if in_comment => in_comment = false,
                _ if in_comment => {}
                '{' => in_comment = true,
                ';' => break,
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                letter if depth == 0 => rest.push(letter),
                _ => {}
            }
        }
        rest.push(' ');
    }
    if in_comment || depth > 0 {
        return Some("unterminated comment".to_owned());
    }
    let mut words = rest.split_whitespace();
    words.find(|word| !is_move_text(word)).map(str::to_owned)
}

fn is_move_text(word: &str) -> bool {
    if matches!(word, "1-0" | "0-1" | "1/2-1/2" | "*") {
        return true;
    }
    if let Some(sign) = word.strip_prefix('$') {
        return sign.bytes().all(|digit| digit.is_ascii_digit());
    }
    let castles = word.starts_with("0-0");
    let unnumbered = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let body = if castles {
        word
    } else {
        unnumbered.trim_start_matches('.')
    };
    // A bare number, or only dots.
    let body = body.trim_end_matches(['!', '?']);
    body.is_empty() || castles || body.parse::<SanPlus>().is_ok()
}
