//! Splits a PGN file into single games, each with its first line.
//!
//! Knows only lines: tags, moves, blank ones. Holds at most one game in memory. Every tag after
//! anything else, even after a blank line, begins a new game: so tags without moves never apply to
//! the moves of the next game.

use std::io::{self, BufRead, Read as _};

/// No game of 601 plies with all comments is longer, in bytes.
const LONGEST: usize = 1 << 18;

/// A piece of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PgnChunk {
    /// Text with the shape of a game.
    Game {
        /// The line of its first tag.
        line: u64,
        text: Vec<u8>,
        /// The line of its first move.
        moves: u64,
    },
    /// Text that belongs to no game.
    Loose { line: u64 },
    /// More than any game needs, without a tag in between.
    Endless { line: u64 },
}

/// The state of the splitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadPosition {
    Between,
    Tags,
    /// After the blank line that ends the tags.
    AfterTags,
    Moves {
        in_comment: bool,
    },
    Loose,
}

/// The pieces of a file, one after the other.
#[derive(Debug)]
pub(super) struct PgnChunks<R> {
    source: R,
    lines: u64,
    /// A line that begins the next piece.
    kept: Option<Vec<u8>>,
}

impl<R: BufRead> PgnChunks<R> {
    pub(super) fn new(source: R) -> Self {
        Self {
            source,
            lines: 0,
            kept: None,
        }
    }

    /// The next piece; `None` at the end of the file.
    pub(super) fn next(&mut self) -> io::Result<Option<PgnChunk>> {
        let mut place = ReadPosition::Between;
        let (mut first, mut moves) = (0, 0);
        let mut text = Vec::new();
        let mut endless = false;
        while let Some(line) = self.line()? {
            let blank = line.trim_ascii().is_empty();
            let tag = is_tag(&line);
            let ends = match place {
                ReadPosition::Between | ReadPosition::Tags => false,
                ReadPosition::Moves { in_comment } => tag || blank && !in_comment,
                ReadPosition::AfterTags | ReadPosition::Loose => tag,
            };
            if ends {
                if tag {
                    self.lines -= 1;
                    self.kept = Some(line);
                }
                break;
            }
            if blank && place == ReadPosition::Between {
                continue;
            }
            if place == ReadPosition::Between {
                first = self.lines;
            }
            place = match place {
                ReadPosition::Between | ReadPosition::Tags if tag => ReadPosition::Tags,
                ReadPosition::Between | ReadPosition::Loose => ReadPosition::Loose,
                ReadPosition::Tags | ReadPosition::AfterTags if blank => ReadPosition::AfterTags,
                ReadPosition::Tags | ReadPosition::AfterTags => {
                    moves = self.lines;
                    let in_comment = stays_open(&line, false);
                    ReadPosition::Moves { in_comment }
                }
                ReadPosition::Moves { in_comment } => {
                    let in_comment = stays_open(&line, in_comment);
                    ReadPosition::Moves { in_comment }
                }
            };
            if text.len() + line.len() > LONGEST {
                endless = true;
            } else if place != ReadPosition::Loose {
                text.extend_from_slice(&line);
                text.push(b'\n');
            }
        }
        Ok(match place {
            ReadPosition::Between => None,
            ReadPosition::Loose => Some(PgnChunk::Loose { line: first }),
            _ if endless => Some(PgnChunk::Endless { line: first }),
            _ => Some(PgnChunk::Game {
                line: first,
                text,
                moves,
            }),
        })
    }

    /// The next line without its end, cut off if longer than any game.
    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        if let Some(line) = self.kept.take() {
            self.lines += 1;
            return Ok(Some(line));
        }
        let mut line = Vec::new();
        let mut start = (&mut self.source).take(LONGEST as u64 + 1);
        start.read_until(b'\n', &mut line)?;
        match line.last() {
            None => return Ok(None),
            Some(b'\n') => drop(line.pop()),
            Some(_) => drop(self.source.skip_until(b'\n')?),
        }
        self.lines += 1;
        if self.lines == 1 && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        Ok(Some(line))
    }
}

/// Whether a line is a tag: `[Name "`. A line of a comment may begin with a bracket too.
fn is_tag(line: &[u8]) -> bool {
    let Some(line) = line.trim_ascii_start().strip_prefix(b"[") else {
        return false;
    };
    let is_named = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    let name = line.iter().take_while(is_named).count();
    name > 0 && line[name..].trim_ascii_start().starts_with(b"\"")
}

/// Whether a comment is open at the end of a line.
fn stays_open(line: &[u8], open: bool) -> bool {
    let brace = line.iter().rev().find(|byte| matches!(byte, b'{' | b'}'));
    brace.map_or(open, |brace| *brace == b'{')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &[u8]) -> Vec<PgnChunk> {
        let mut pieces = PgnChunks::new(text);
        let mut all = Vec::new();
        while let Some(piece) = pieces.next().unwrap() {
            all.push(piece);
        }
        all
    }

    fn game(line: u64, moves: u64, text: &str) -> PgnChunk {
        PgnChunk::Game {
            line,
            text: text.into(),
            moves,
        }
    }

    #[test]
    fn games_are_split_at_tags_and_blank_lines() {
        let text = b"\xef\xbb\xbf[A \"1\"]\r\n\r\n1. e4 *\r\n\r\n\r\n[A \"2\"]\n[B \"3\"]\n\n1. d4\n{ a\n\n[%clk 0:00:01] b } *\n[A \"4\"]\n*";
        assert_eq!(
            pieces(text),
            [
                game(1, 3, "[A \"1\"]\r\n\r\n1. e4 *\r\n"),
                game(
                    6,
                    9,
                    "[A \"2\"]\n[B \"3\"]\n\n1. d4\n{ a\n\n[%clk 0:00:01] b } *\n"
                ),
                game(13, 14, "[A \"4\"]\n*\n"),
            ]
        );
    }

    #[test]
    fn tags_without_moves_are_a_separate_game() {
        let text = b"[A \"1\"]\n[B \"2\"]\n\n\n[A \"3\"]\n\n1. e4 *\n\n[A \"4\"]\n\n";
        assert_eq!(
            pieces(text),
            [
                game(1, 0, "[A \"1\"]\n[B \"2\"]\n\n\n"),
                game(5, 7, "[A \"3\"]\n\n1. e4 *\n"),
                game(9, 0, "[A \"4\"]\n\n"),
            ]
        );
    }

    #[test]
    fn text_that_is_no_game_is_one_piece_with_its_line() {
        let text = b"\xff\xfe\0\n\n?\n[A \"1\"]\n\n*\n\nhello\nyou\n";
        assert_eq!(
            pieces(text),
            [
                PgnChunk::Loose { line: 1 },
                game(4, 6, "[A \"1\"]\n\n*\n"),
                PgnChunk::Loose { line: 8 }
            ]
        );
        assert_eq!(pieces(b""), []);
        assert_eq!(pieces(b"\n \n"), []);
    }

    #[test]
    fn an_endless_line_and_an_endless_game_take_no_more_memory_than_a_game() {
        let mut text = b"[A \"1\"]\n\n".to_vec();
        text.extend(vec![b'x'; 3 * LONGEST]);
        text.extend(b"\n\n[A \"2\"]\n\n*\n\n[A \"3\"]\n\n");
        for _ in 0..LONGEST {
            text.extend(b"e4\n");
        }
        text.extend(b"[A \"4\"]\n\n*\n");
        let pieces = pieces(&text);
        assert_eq!(pieces[0], PgnChunk::Endless { line: 1 });
        assert_eq!(pieces[1], game(5, 7, "[A \"2\"]\n\n*\n"));
        assert_eq!(pieces[2], PgnChunk::Endless { line: 9 });
        assert!(matches!(pieces[3], PgnChunk::Game { .. }));
        assert_eq!(pieces.len(), 4);
    }

    #[test]
    fn an_unclosed_comment_costs_only_its_own_game() {
        let text = b"[A \"1\"]\n\n1. e4 { oh\n\n1. d4 *\n\n[A \"2\"]\n\n*\n";
        assert_eq!(pieces(text).len(), 2);
    }
}
