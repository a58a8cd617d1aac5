//! `megaton game`: one game on the terminal: board, moves, how the engine saw it, the clocks.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use megaton::archive::{
    ArchiveReader, GameRecord, Millis, MoveRecord, Outcome, Source, TimeControlRecord, dates,
    time_loss,
};
use megaton::lichess::{Side, Status};
use megaton::rules::{Color, Game, Position};

use super::board::{self, BoardStyle};
use super::chart::{Canvas, bars, shorn};
use super::games::{named, rated};
use super::place::ArchiveArgs;
use super::table::{Align, Table};
use crate::cli::failure::Failure;

/// Characters of a game's id.
const GAME_ID: usize = 8;
/// Characters of the id that a player's own address of a game has.
const SEAT_ID: usize = 12;
/// Signs down of the graph.
const HEIGHT: usize = 9;
/// Where no one tells how wide the terminal is.
const USUAL_WIDTH: usize = 80;
/// Signs before a graph.
const MARGIN: usize = 8;
/// Centipawns by which the chances of a game are told.
const SCALE: f64 = 400.0;

/// Show one game: board, moves with clocks and scores, and graphs
///
/// A prefix of the id is enough if it is unique.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton game q7ZxVt2B
  megaton game q7ZxVt2B --ply 24
  megaton game q7 --json | jq .moves[3]")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    archive: ArchiveArgs,
    /// Game id or its beginning, or the game's URL
    #[arg(value_name = "ID")]
    id: String,
    /// Show the board after this many half-moves [default: all]
    #[arg(long, value_name = "N")]
    ply: Option<usize>,
    /// ASCII only, no colours
    #[arg(long)]
    ascii: bool,
    /// Print everything known as JSON
    #[arg(long)]
    json: bool,
}

pub(in crate::cli) fn execute(args: &Args) -> Result<(), Failure> {
    let (reader, place) = args.archive.open()?;
    let game = find(&reader, &args.id)?;
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &game).map_err(io::Error::from)?;
        writeln!(out)?;
        return Ok(());
    }
    let terminal = io::stdout().is_terminal();
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let style = Style {
        color: terminal && !plain && !args.ascii,
        ascii: args.ascii,
        width: width(),
    };
    let mut text = head(&game, &place.site);
    text.push_str(&play(&game, args.ply, style)?);
    text.push_str(&graphs(&game, style));
    text.push_str(&moves(&game));
    text.push_str(&afterwards(&reader, &game)?);
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// How it is drawn.
#[derive(Clone, Copy, Debug)]
struct Style {
    color: bool,
    ascii: bool,
    width: usize,
}

/// The id in what was typed: an address will do as well, with the side that looks at it, the move,
/// and the four letters by which a player's own seat is known.
pub(super) fn id_of(typed: &str) -> &str {
    let address = typed.split(['#', '?']).next().unwrap_or(typed);
    let parts = address.trim_end_matches('/').rsplit('/');
    let mut parts = parts.skip_while(|part| ["white", "black"].contains(part));
    let id = parts.next().unwrap_or(typed);
    if id.len() == SEAT_ID {
        id.get(..GAME_ID).unwrap_or(id)
    } else {
        id
    }
}

fn find(reader: &ArchiveReader, id: &str) -> Result<GameRecord, Failure> {
    let id = id_of(id);
    if let Some(game) = reader.game(id)? {
        return Ok(game);
    }
    let alike = reader.ids_like(id)?;
    match alike.as_slice() {
        [only] => {
            let game = reader.game(only)?;
            game.ok_or_else(|| Failure::failed(format!("game {only} was just deleted")))
        }
        [] => Err(Failure::setup(format!(
            "there is no game {id} in {}",
            reader.path().display()
        ))),
        several => Err(Failure::setup(format!(
            "several games match: {}",
            several.join(", ")
        ))),
    }
}

fn head(game: &GameRecord, site: &str) -> String {
    let mode = if game.rated { "rated" } else { "casual" };
    let mut text = format!(
        "{}  {mode} {} {}  {}  {}/{}\n",
        game.id,
        game.speed,
        game.control,
        dates::minute(game.began()),
        site.trim_end_matches('/'),
        game.id
    );
    for side in [Side::White, Side::Black] {
        let player = game.player(side);
        let us = if game.us == Some(side) { "  (us)" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{side}  {}  {}{us}", named(player), rated(player));
    }
    let _ = writeln!(text, "{}", ended(game));
    text.chars()
        .filter(|c| *c == '\n' || !c.is_control())
        .collect()
}

/// How it ended, in words.
fn ended(game: &GameRecord) -> String {
    let Some(ending) = &game.ending else {
        return "in progress, or end unknown".to_owned();
    };
    let how = match ending.status {
        Status::VariantEnd => "a king exploded",
        Status::Mate => "mate",
        Status::Resign => "by resignation",
        Status::OutOfTime => "on time",
        Status::Timeout => "a player left",
        Status::Stalemate => "stalemate",
        Status::Draw => "a draw",
        Status::Aborted => "aborted",
        Status::NoStart => "no first move",
        other => other.as_str(),
    };
    let who = match (game.our_outcome(), ending.winner) {
        (Some(Outcome::Win), _) => "won",
        (Some(Outcome::Loss), _) => "lost",
        (Some(Outcome::Draw), _) => "drawn",
        (None, Some(Side::White)) => "white won",
        (None, Some(Side::Black)) => "black won",
        (None, None) => "no result",
    };
    let took = ending.at.saturating_sub(game.began()) / 1000;
    format!(
        "{who}: {how}, {} after {} min {} s",
        game.result(),
        took / 60,
        took % 60
    )
}

/// The board, after so many half-moves.
fn play(game: &GameRecord, ply: Option<usize>, style: Style) -> Result<String, Failure> {
    let start = match &game.initial_fen {
        None => Position::default(),
        Some(fen) => Position::from_fen(fen)
            .map_err(|error| Failure::failed(format!("the record's start position: {error}")))?,
    };
    let wanted = ply.unwrap_or(game.moves.len());
    if wanted > game.moves.len() {
        return Err(Failure::setup(format!(
            "--ply {wanted}: the game has {} half-moves",
            game.moves.len()
        )));
    }
    let mut board = Game::from_position(start);
    for (number, made) in game.moves.iter().take(wanted).enumerate() {
        board.push_uci(&made.uci).map_err(|error| {
            Failure::failed(format!(
                "the record breaks off at half-move {}: {error}",
                number + 1
            ))
        })?;
    }
    let positions = board.positions();
    let last = board
        .moves()
        .last()
        .map(|mv| (&positions[positions.len() - 2], *mv));
    let look = BoardStyle {
        color: style.color,
        ascii: style.ascii,
        below: match game.us {
            Some(Side::Black) => Color::Black,
            _ => Color::White,
        },
    };
    let mut text = String::from("\n");
    for line in board::lines(board.position(), last, look) {
        text.push_str(&line);
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "  after half-move {wanted}: {}",
        board.position().fen()
    );
    Ok(text)
}

/// The side through whose eyes it is shown.
fn eyes(game: &GameRecord) -> Side {
    game.us.unwrap_or(Side::White)
}

/// Chances from 0 to 1, as that side saw them; between its scores the last one stands.
fn chances(game: &GameRecord, side: Side) -> Vec<f64> {
    let mut last = 0.5;
    let chance = |(ply, made): (usize, &MoveRecord)| {
        if let Some(score) = made.white_score(ply) {
            let score = if side == Side::White {
                score
            } else {
                score.turned()
            };
            last = 1.0 / (1.0 + (-f64::from(score.centipawns()) / SCALE).exp());
        }
        last
    };
    game.moves.iter().enumerate().map(chance).collect()
}

fn graphs(game: &GameRecord, style: Style) -> String {
    let side = eyes(game);
    let mut text = String::new();
    let width = style.width.saturating_sub(MARGIN + 1).max(10);
    let canvas = Canvas {
        width,
        height: HEIGHT,
        ascii: style.ascii,
    };
    if game.moves.iter().any(|made| made.score.is_some()) {
        let chances = chances(game, side);
        let _ = writeln!(text, "\nscore from {side}'s view");
        for (row, line) in canvas.area(&chances, 0.5).iter().enumerate() {
            let label = match row {
                0 => "winning",
                row if row == HEIGHT / 2 => "even",
                row if row == HEIGHT - 1 => "losing",
                _ => "",
            };
            let _ = writeln!(text, "{label:>7} {}", shorn(line));
        }
        let used = canvas.used(chances.len()).max(1);
        let end = format!("move {}", game.moves.len().div_ceil(2));
        let _ = writeln!(
            text,
            "{:>7} 1{end:>1$}",
            "",
            used.saturating_sub(1).max(end.len() + 1)
        );
    }
    let clocks: Vec<(Side, Vec<f64>, Millis, Millis)> = [side, side.other()]
        .into_iter()
        .filter_map(|side| clock_curve(game, side))
        .collect();
    if !clocks.is_empty() {
        let _ = writeln!(text, "\nclocks");
    }
    for (side, curve, first, last) in clocks {
        let _ = writeln!(
            text,
            "{:>7} {}  {} to {}",
            side.as_str(),
            bars(
                &curve,
                canvas
                    .used(game.moves.len())
                    .clamp(1, width.saturating_sub(18).max(8)),
                style.ascii
            ),
            clock(first),
            clock(last)
        );
    }
    text
}

/// A side's clock after each of its moves, against the most that either showed.
fn clock_curve(game: &GameRecord, side: Side) -> Option<(Side, Vec<f64>, Millis, Millis)> {
    let most = game
        .moves
        .iter()
        .filter_map(|made| made.clock)
        .max()?
        .max(1);
    let moves = game.moves.iter().enumerate();
    let own = moves.filter(|(ply, _)| GameRecord::mover(*ply) == side);
    let clocks: Vec<Millis> = own.filter_map(|(_, made)| made.clock).collect();
    let first = match game.control {
        TimeControlRecord::Clock { initial, .. } => initial,
        _ => *clocks.first()?,
    };
    let last = *clocks.last()?;
    let curve = clocks
        .iter()
        .map(|clock| *clock as f64 / most as f64)
        .collect();
    Some((side, curve, first, last))
}

/// `2:57`, or with tenths below twenty seconds.
fn clock(time: Millis) -> String {
    if time < 20_000 {
        return format!("{}.{}", time / 1000, time % 1000 / 100);
    }
    let (hours, minutes, seconds) = (time / 3_600_000, time / 60_000 % 60, time / 1000 % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

fn moves(game: &GameRecord) -> String {
    if game.moves.is_empty() {
        return String::new();
    }
    let side = [
        ("move", Align::Left),
        ("clock", Align::Right),
        ("took", Align::Right),
        ("score", Align::Right),
        ("depth", Align::Right),
        ("from", Align::Left),
    ];
    let mut columns = vec![("", Align::Right)];
    columns.extend(side);
    columns.extend(side);
    let mut table = Table::new(&columns);
    for (number, pair) in game.moves.chunks(2).enumerate() {
        let mut cells = vec![format!("{}.", number + 1)];
        for half in 0..2 {
            cells.extend(
                pair.get(half)
                    .map_or_else(|| vec![String::new(); 6], move_cells),
            );
        }
        table.row(cells);
    }
    let scores = "scores from the mover's view";
    format!("\n{}{scores}\n", table.finish())
}

fn move_cells(made: &MoveRecord) -> Vec<String> {
    let or_blank = |text: Option<String>| text.unwrap_or_default();
    let source = match made.source {
        Source::Engine | Source::Unknown => "",
        source => source.as_str(),
    };
    vec![
        made.san.clone().unwrap_or_else(|| made.uci.clone()),
        or_blank(made.clock.map(clock)),
        or_blank(
            made.spent
                .map(|spent| format!("{}.{}", spent / 1000, spent % 1000 / 100)),
        ),
        or_blank(made.score.map(|score| score.to_string())),
        or_blank(made.depth.map(|depth| depth.to_string())),
        source.to_owned(),
    ]
}

/// What is known beside the moves: events, and why it was lost if the clock was the reason.
fn afterwards(reader: &ArchiveReader, game: &GameRecord) -> Result<String, Failure> {
    let events = reader.events_of(game)?;
    let mut text = String::new();
    if let Some(review) = reader.review(&game.id)? {
        let _ = writeln!(text, "\nreview: {}", review.describe());
        if let Some(mistake) = &review.mistake {
            let _ = writeln!(text, "  better: {}", mistake.line.join(" "));
            let _ = writeln!(text, "  punished by: {}", mistake.refutation.join(" "));
        }
    }
    if let Some(loss) = time_loss(game, &events) {
        let _ = writeln!(
            text,
            "\nlost on time: {} ({})",
            loss.cause.as_str(),
            loss.evidence
        );
    }
    if !events.is_empty() {
        let _ = writeln!(text, "\nevents");
    }
    for event in events {
        let line = format!(
            "{} {}: {}",
            dates::time_of_day(event.at),
            event.kind,
            event.text
        );
        let line: String = line.chars().filter(|c| !c.is_control()).collect();
        let _ = writeln!(text, "  {line}");
    }
    Ok(text)
}

/// Signs across.
pub(super) fn width() -> usize {
    let told = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    told.or_else(of_terminal)
        .unwrap_or(USUAL_WIDTH)
        .clamp(20, 200)
}

#[cfg(unix)]
fn of_terminal() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

#[cfg(not(unix))]
const fn of_terminal() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::id_of;

    #[test]
    fn an_address_of_a_game_has_its_id() {
        for typed in [
            "q7ZxVt2B",
            "q7ZxVt2BkM4s",
            "https://lichess.org/q7ZxVt2B",
            "https://lichess.org/q7ZxVt2BkM4s",
            "lichess.org/q7ZxVt2B/black#12",
            "https://lichess.org/q7ZxVt2B/white/?x=y",
            "http://127.0.0.1:8650/game/q7ZxVt2B",
        ] {
            assert_eq!(id_of(typed), "q7ZxVt2B", "{typed}");
        }
        for beginning in ["q7Z", "white", ""] {
            assert_eq!(id_of(beginning), beginning);
        }
    }
}
