//! A million synthetic games in the archive: how fast they go in, and how fast it answers then.
//!
//! `cargo bench --bench archive` takes 1,000,000 games in a temporary folder and some four gigabytes;
//! `-- 100000` takes fewer, `-- 100000 FOLDER` leaves the file there.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use megaton::archive::{
    ArchiveEntry, ArchiveReader, Database, EndingRecord, FILE_NAME, Filter, GameRecord, MoveRecord,
    Order, Origin, PlayerRecord, Source, TimeControlRecord, Writer,
};
use megaton::engine::Score;
use megaton::lichess::{Side, Speed, Status};
use megaton::rules::Game;

/// Games in one transaction.
const BATCH: usize = 2000;
/// Opponents that there are.
const OPPONENTS: u64 = 3000;
/// Three years of it, in milliseconds.
const SPAN: u64 = 3 * 365 * 24 * 3600 * 1000;
const START: u64 = 1_700_000_000_000;

fn main() -> io::Result<()> {
    let mut args = env::args().skip(1).filter(|arg| arg != "--bench");
    let games: usize = args
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1_000_000);
    let kept = args.next().map(PathBuf::from);
    let temporary = tempfile::tempdir()?;
    let folder = kept.unwrap_or_else(|| temporary.path().to_owned());
    fs::create_dir_all(&folder)?;
    let path = folder.join(FILE_NAME);
    let mut out = io::stdout().lock();
    if !path.exists() {
        insert(&path, games, &mut out)?;
    }
    as_it_goes(&path, &mut out)?;
    look_up(&path, &mut out)
}

/// A source of chance that is the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// Lines of legal moves to take games from.
fn lines(dice: &mut Dice) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    while lines.len() < 500 {
        let mut game = Game::new();
        let plies = 30 + dice.below(60) as usize;
        while game.ply() < plies {
            let legal = game.position().legal_moves();
            if legal.is_empty() {
                break;
            }
            let choice = dice.below(legal.len() as u64) as usize;
            game.push(legal[choice]);
        }
        if game.ply() >= 20 {
            lines.push(game.moves().iter().map(ToString::to_string).collect());
        }
    }
    lines
}

fn synthetic(number: usize, of: usize, lines: &[Vec<String>], dice: &mut Dice) -> GameRecord {
    let us = if number.is_multiple_of(2) {
        Side::White
    } else {
        Side::Black
    };
    let began = START + (number as u64) * (SPAN / of as u64);
    let opponent = dice.below(OPPONENTS);
    let (initial, increment) =
        [(60_000, 0), (180_000, 2000), (600_000, 5000)][dice.below(3) as usize];
    let (status, winner) = match dice.below(20) {
        0..11 => (Status::VariantEnd, Some(us)),
        11..15 => (Status::VariantEnd, Some(us.other())),
        15 => (Status::OutOfTime, Some(us)),
        16 => (Status::OutOfTime, Some(us.other())),
        17 => (Status::Resign, Some(us)),
        _ => (Status::Draw, None),
    };
    let mut clocks = [initial; 2];
    let mut at = began;
    let line = &lines[dice.below(lines.len() as u64) as usize];
    let moves = line.iter().enumerate().map(|(ply, uci)| {
        let spent = dice.below(initial / 30);
        let clock = &mut clocks[ply % 2];
        *clock = (*clock + increment).saturating_sub(spent);
        at += spent;
        let ours = GameRecord::mover(ply) == us;
        let mut made = MoveRecord {
            at: Some(at),
            clock: Some(*clock),
            spent: Some(spent),
            ..MoveRecord::bare(uci.clone())
        };
        if ours {
            made.score = Some(Score::Cp(dice.below(600) as i32 - 250));
            made.depth = Some(10 + dice.below(10) as u32);
            made.seldepth = Some(20 + dice.below(20) as u32);
            made.nodes = Some(dice.below(3_000_000));
            made.time = Some(spent);
            made.source = Source::Engine;
            made.lag = Some(30 + dice.below(60));
            made.line = line
                .iter()
                .skip(ply)
                .take(6)
                .cloned()
                .collect::<Vec<_>>()
                .join(" ");
        }
        made
    });
    let moves: Vec<MoveRecord> = moves.collect();
    let player = |name: String, rating, diff| PlayerRecord {
        id: Some(name.to_lowercase()),
        name,
        title: Some("BOT".to_owned()),
        rating: Some(rating),
        provisional: false,
        rating_diff: Some(diff),
    };
    let mut game = GameRecord {
        id: format!("{number:08}"),
        us: Some(us),
        rated: dice.below(4) > 0,
        speed: [Speed::Bullet, Speed::Blitz, Speed::Rapid][(initial / 60_001).min(2) as usize],
        control: TimeControlRecord::Clock { initial, increment },
        created: Some(began),
        joined: began,
        origin: Origin::Incoming,
        program: Some("megaton 0.1.0".to_owned()),
        moves,
        ending: Some(EndingRecord { status, winner, at }),
        ..GameRecord::default()
    };
    let diff = dice.below(13) as i32 - 6;
    *game.player_mut(us) = player("Megaton".to_owned(), 2000 + dice.below(200) as i32, diff);
    *game.player_mut(us.other()) = player(
        format!("Opponent{opponent}"),
        1500 + dice.below(900) as i32,
        -diff,
    );
    game
}

fn insert(path: &Path, games: usize, out: &mut impl Write) -> io::Result<()> {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let lines = lines(&mut dice);
    let mut disk = Database::open(path, START).map_err(io::Error::other)?;
    let (mut writing, mut plies) = (Duration::ZERO, 0);
    let begun = Instant::now();
    let mut number = 0;
    while number < games {
        let until = (number + BATCH).min(games);
        let batch: Vec<ArchiveEntry> = (number..until)
            .map(|number| synthetic(number, games, &lines, &mut dice))
            .inspect(|game| plies += game.moves.len())
            .map(|game| ArchiveEntry::Game(Arc::new(game)))
            .collect();
        let from = Instant::now();
        disk.commit(&batch).map_err(io::Error::other)?;
        writing += from.elapsed();
        number = until;
        if number.is_multiple_of(100_000) {
            writeln!(
                out,
                "{number} games, {:.0} s",
                begun.elapsed().as_secs_f64()
            )?;
        }
    }
    drop(disk);
    let size = fs::metadata(path)?.len();
    writeln!(
        out,
        "insert: {games} games with {plies} moves in {:.1} s, {:.0} games/s; {:.2} GB, {} bytes a game",
        writing.as_secs_f64(),
        games as f64 / writing.as_secs_f64(),
        size as f64 / 1e9,
        size / games as u64
    )
}

/// A running game among all the others, written again after each move.
fn as_it_goes(path: &Path, out: &mut impl Write) -> io::Result<()> {
    let mut dice = Dice(77);
    let lines = lines(&mut dice);
    let whole = synthetic(0, 1, &lines, &mut dice);
    let clerk = Writer::start(path)?;
    let mut longest = Duration::ZERO;
    let begun = Instant::now();
    for ply in 1..=whole.moves.len() {
        let mut game = GameRecord {
            id: "running1".to_owned(),
            ending: None,
            ..whole.clone()
        };
        game.moves.truncate(ply);
        let from = Instant::now();
        let entries = [ArchiveEntry::Game(Arc::new(game))];
        let kept = clerk.ask(move |disk| disk.commit(&entries));
        futures::executor::block_on(kept).map_err(io::Error::other)?;
        longest = longest.max(from.elapsed());
    }
    let moves = whole.moves.len() as u32;
    writeln!(
        out,
        "a running game, kept after each of its {moves} moves: {:.2} ms on average, {:.2} ms at most",
        begun.elapsed().as_secs_f64() * 1000.0 / f64::from(moves),
        longest.as_secs_f64() * 1000.0
    )
}

fn look_up(path: &Path, out: &mut impl Write) -> io::Result<()> {
    let reader = ArchiveReader::open(path).map_err(io::Error::other)?;
    let some = Filter {
        opponent: Some("opponent7".to_owned()),
        ..Filter::default()
    };
    let all = Filter::default();
    let list = |filter: &Filter| reader.games(filter, Order::Newest, 50, None).map(drop);
    timed("the latest 50 games", out, || list(&all))?;
    timed("the latest 50 games with one opponent", out, || list(&some))?;
    timed("one game with its moves", out, || {
        reader.game("00000777").map(drop)
    })?;
    timed("the thousand opponents met most often", out, || {
        reader.opponents(&all, 1000).map(drop)
    })?;
    timed(
        "every statistic of the games with one opponent",
        out,
        || reader.stats(&some).map(drop),
    )?;
    timed("every statistic of all games", out, || {
        reader.stats(&all).map(drop)
    })
}

fn timed<E: std::error::Error + Send + Sync + 'static>(
    what: &str,
    out: &mut impl Write,
    work: impl Fn() -> Result<(), E>,
) -> io::Result<()> {
    let from = Instant::now();
    work().map_err(io::Error::other)?;
    let first = from.elapsed();
    let from = Instant::now();
    work().map_err(io::Error::other)?;
    let again = from.elapsed();
    writeln!(
        out,
        "{what}: {:.1} ms, again {:.1} ms",
        first.as_secs_f64() * 1000.0,
        again.as_secs_f64() * 1000.0
    )
}
