// The board of a FEN, and the names of squares and pieces.
// Pure: knows no page, no network and no rules of chess.

export const FILES = "abcdefgh";
export const START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

const ROLES = { p: "pawn", n: "knight", b: "bishop", r: "rook", q: "queen", k: "king" };

/** All 64 squares in reading order (a8 … h1), or reversed for Black (h1 … a8). */
export function squares(orientation = "white") {
  const names = [];
  for (let rank = 8; rank >= 1; rank -= 1) {
    for (const file of FILES) names.push(file + rank);
  }
  return orientation === "black" ? names.reverse() : names;
}

/** Column and row (0 … 7, from the top left) at which a square is drawn. */
export function place(square, orientation = "white") {
  const file = FILES.indexOf(square[0]);
  const rank = Number(square[1]) - 1;
  return orientation === "black" ? { x: 7 - file, y: rank } : { x: file, y: 7 - rank };
}

/** The square drawn at a column and a row, or null outside the board. */
export function squareAt(x, y, orientation = "white") {
  if (!(x >= 0 && x < 8 && y >= 0 && y < 8)) return null;
  return orientation === "black" ? FILES[7 - x] + (y + 1) : FILES[x] + (8 - y);
}

/** A square and its neighbours: the squares that an explosion there reaches. */
export function around(square) {
  const { x, y } = place(square);
  const near = [-1, 0, 1].flatMap((dx) => [-1, 0, 1].map((dy) => squareAt(x + dx, y + dy)));
  return near.filter((found) => found !== null);
}

/** Whether a square is one of the light ones. */
export function isLight(square) {
  return (FILES.indexOf(square[0]) + Number(square[1])) % 2 === 0;
}

/** Square -> { color, role } for the pieces of a FEN. Skips what it cannot read. */
export function piecesOf(fen) {
  const found = new Map();
  const rows = String(fen).split(" ")[0].split("/");
  rows.slice(0, 8).forEach((row, index) => {
    let file = 0;
    for (const letter of row) {
      if (letter >= "1" && letter <= "8") {
        file += Number(letter);
        continue;
      }
      const role = ROLES[letter.toLowerCase()];
      if (role && file < 8) {
        const color = letter === letter.toLowerCase() ? "black" : "white";
        found.set(FILES[file] + (8 - index), { color, role });
      }
      file += 1;
    }
  });
  return found;
}

/** The square of the king whose side is to move, or null if it exploded. */
export function kingToMove(fen) {
  const color = fen.split(" ")[1] === "b" ? "black" : "white";
  const found = [...piecesOf(fen)].find(([, piece]) => piece.role === "king" && piece.color === color);
  return found?.[0] ?? null;
}

/** Half-moves since the last capture or pawn move. */
export function quietPlies(fen) {
  return Number(String(fen).split(" ")[4]) || 0;
}

/** The part of a FEN that repeated positions share. */
export function identity(fen) {
  return String(fen).split(" ").slice(0, 4).join(" ");
}
