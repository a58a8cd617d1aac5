//! `megaton game`: one game on the terminal: board, scores, clocks, moves and events.

use std::fmt::Write as _;

use megaton::archive::{
    ArchiveReader, GameRecord, Millis, MoveRecord, Outcome, Source, TimeControlRecord, dates,
    time_loss,
};
use megaton::engine::Score;
use megaton::lichess::{Side, Status};
use megaton::rules::{Color, Game, Position};

use super::{id_of, named, rated};
use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::output::board::{self, BoardStyle};
use crate::cli::output::chart::{Canvas, LABEL, bars};
use crate::cli::output::table::{Align, Table};
use crate::cli::output::{self, clock, or_blank, plain};
use crate::cli::setup::ArchiveArgs;

/// Lines of the graph of scores.
const HEIGHT: usize = 9;
/// Columns beside a graph of clocks.
const CLOCK_TEXT: usize = 18;
/// Centipawns in the exponent of the winning probability.
const SCALE: f64 = 400.0;

/// Show one game: board, moves with clocks and scores, and graphs
///
/// A prefix of the id is enough if it is unique.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton game q7ZxVt2B
  megaton game q7ZxVt2B --ply 24
  megaton game q7 --json | jq .moves[3]
  megaton game q7ZxVt2B --wire > q7ZxVt2B.jsonl")]
pub(crate) struct Args {
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
    /// Print the raw traffic, one JSON object per line, for `megaton practice --replay`
    #[arg(long, conflicts_with_all = ["json", "ply", "ascii"])]
    wire: bool,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let (reader, location) = args.archive.open()?;
    let game = find(&reader, &args.id)?;
    if args.json {
        return output::print_pretty_json(&game);
    }
    if args.wire {
        return print_wire(&reader, &game);
    }
    let mut text = head(&game, &location.site);
    let style = BoardStyle {
        color: output::has_colors() && !args.ascii,
        ascii: args.ascii,
        below: match game.us {
            Some(Side::Black) => Color::Black,
            _ => Color::White,
        },
    };
    text += &board(&game, args.ply, style)?;
    text += &graphs(&game, Canvas::with_height(HEIGHT, args.ascii));
    text += &moves(&game);
    text += &review_and_events(&reader, &game)?;
    output::print_text(text)
}

fn print_wire(reader: &ArchiveReader, game: &GameRecord) -> Result<(), Failure> {
    let wire = reader.wire(&game.id)?;
    if wire.is_empty() {
        return Err(Failure::failed(format!(
            "the archive has no traffic of {}: [archive] wire = true keeps that of later games",
            game.id
        )));
    }
    wire.iter().try_for_each(output::print_json)
}

/// The game with this id, or whose id alone begins so.
pub(super) fn find(reader: &ArchiveReader, id: &str) -> Result<GameRecord, Failure> {
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
    let mut lines = vec![format!(
        "{}  {mode} {} {}  {}  {site}/{}",
        game.id,
        game.speed,
        game.control,
        dates::minute(game.began()),
        game.id
    )];
    for side in [Side::White, Side::Black] {
        let player = game.player(side);
        let us = if game.us == Some(side) { "  (us)" } else { "" };
        lines.push(format!("{side}  {}  {}{us}", named(player), rated(player)));
    }
    lines.push(ending(game));
    let lines = lines.iter().map(|line| plain(line) + "\n");
    lines.collect()
}

fn ending(game: &GameRecord) -> String {
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
    let seconds = ending.at.saturating_sub(game.began()) / 1000;
    format!(
        "{who}: {how}, {} after {} min {} s",
        game.result(),
        seconds / 60,
        seconds % 60
    )
}

/// The board after `ply` half-moves, or after all.
fn board(game: &GameRecord, ply: Option<usize>, style: BoardStyle) -> Result<String, Failure> {
    let start = match &game.initial_fen {
        None => Position::default(),
        Some(fen) => Position::from_fen(fen).or_failed("the record's start position")?,
    };
    let all = game.moves.len();
    let ply = ply.unwrap_or(all);
    if ply > all {
        return Err(Failure::setup(format!(
            "--ply {ply}: the game has {all} half-moves"
        )));
    }
    let mut played = Game::from_position(start);
    for (number, made) in (1..).zip(game.moves.iter().take(ply)) {
        let pushed = played.push_uci(&made.uci);
        pushed.or_failed(format!("the record breaks off at half-move {number}"))?;
    }
    let positions = played.positions();
    let last = played.moves().last();
    let last = last.map(|mv| (&positions[positions.len() - 2], *mv));
    let lines = board::lines(played.position(), last, style).join("\n");
    let fen = played.position().fen();
    Ok(format!("\n{lines}\n  after half-move {ply}: {fen}\n"))
}

/// Winning probabilities after each move, as `side` saw them; without a score the last one holds.
fn chances(game: &GameRecord, side: Side) -> Vec<f64> {
    let mut last = 0.5;
    let chance = |(ply, made): (usize, &MoveRecord)| {
        if let Some(score) = made.white_score(ply) {
            let seen = score.for_white(side).centipawns();
            last = 1.0 / (1.0 + (-f64::from(seen) / SCALE).exp());
        }
        last
    };
    game.moves.iter().enumerate().map(chance).collect()
}

fn graphs(game: &GameRecord, canvas: Canvas) -> String {
    let side = game.us.unwrap_or(Side::White);
    let mut text = String::new();
    // Writing to a string cannot fail.
    if game.moves.iter().any(|made| made.score.is_some()) {
        let chances = chances(game, side);
        let _ = writeln!(text, "\nscore from {side}'s view");
        text += &canvas.labelled_area(&chances, 0.5, |row| {
            let label = match row {
                0 => "winning",
                row if row == HEIGHT / 2 => "even",
                row if row == HEIGHT - 1 => "losing",
                _ => "",
            };
            label.to_owned()
        });
        let end = format!("move {}", game.moves.len().div_ceil(2));
        let used = canvas.used(chances.len()).saturating_sub(1);
        let wide = used.max(end.len() + 1);
        let _ = writeln!(text, "{:LABEL$} 1{end:>wide$}", "");
    }
    let most = game.moves.iter().filter_map(|made| made.clock).max();
    let Some(most) = most else {
        return text;
    };
    text += "\nclocks\n";
    let room = canvas.width.saturating_sub(CLOCK_TEXT).max(8);
    let wide = canvas.used(game.moves.len()).clamp(1, room);
    for side in [side, side.other()] {
        let clocks = clocks(game, side);
        let (Some(first), Some(last)) = (clocks.first(), clocks.last()) else {
            continue;
        };
        let first = match game.control {
            TimeControlRecord::Clock { initial, .. } => initial,
            _ => *first,
        };
        let curve = clocks
            .iter()
            .map(|clock| *clock as f64 / most.max(1) as f64);
        let curve: Vec<f64> = curve.collect();
        let _ = writeln!(
            text,
            "{:>LABEL$} {}  {} to {}",
            side.as_str(),
            bars(&curve, wide, canvas.ascii),
            clock(first),
            clock(*last)
        );
    }
    text
}

/// A side's clock after each of its moves.
fn clocks(game: &GameRecord, side: Side) -> Vec<Millis> {
    let moves = game.moves.iter().enumerate();
    let own = moves.filter(|(ply, _)| GameRecord::mover(*ply) == side);
    own.filter_map(|(_, made)| made.clock).collect()
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
    let columns = [[("", Align::Right)].as_slice(), &side, &side].concat();
    let mut table = Table::new(&columns);
    for (number, pair) in game.moves.chunks(2).enumerate() {
        let mut cells = vec![format!("{}.", number + 1)];
        cells.extend(pair.iter().flat_map(move_cells));
        cells.resize(columns.len(), String::new());
        table.row(cells);
    }
    format!("\n{}scores from the mover's view\n", table.take())
}

fn move_cells(made: &MoveRecord) -> [String; 6] {
    let source = match made.source {
        Source::Engine | Source::Unknown => "",
        source => source.as_str(),
    };
    [
        made.san.clone().unwrap_or_else(|| made.uci.clone()),
        or_blank(made.clock.map(clock)),
        or_blank(made.spent.map(dates::tenths)),
        or_blank(made.score.map(Score::in_pawns)),
        or_blank(made.depth),
        source.to_owned(),
    ]
}

/// The review, the reason for a loss on time, and the events of the game.
fn review_and_events(reader: &ArchiveReader, game: &GameRecord) -> Result<String, Failure> {
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
        let (cause, evidence) = (loss.cause.as_str(), loss.evidence);
        let _ = writeln!(text, "\nlost on time: {cause} ({evidence})");
    }
    if !events.is_empty() {
        text += "\nevents\n";
    }
    for event in events {
        let time = dates::time_of_day(event.at);
        let line = plain(&format!("{time} {}: {}", event.kind, event.text));
        let _ = writeln!(text, "  {line}");
    }
    Ok(text)
}
