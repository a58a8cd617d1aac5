// Chess in words: moves for a screen reader, and the ends of games. Pure.

import { identity, quietPlies, START } from "./fen.js";

const ROLES = { N: "knight", B: "bishop", R: "rook", Q: "queen", K: "king" };

export const other = (color) => (color === "white" ? "black" : "white");
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** `Nxd5` as "knight takes d5". */
export function spokenMove(san) {
  const bare = san.replace(/[+#]/g, "");
  if (bare === "O-O") return "castles kingside";
  if (bare === "O-O-O") return "castles queenside";
  const promotion = bare.match(/=([NBRQ])/);
  const role = ROLES[bare[0]] ?? "pawn";
  const rest = bare.replace(/=.*/, "").replace(/^[NBRQK]/, "");
  const [from, to] = rest.includes("x") ? rest.split("x") : [rest.slice(0, -2), rest.slice(-2)];
  const words = [role, from && role !== "pawn" ? `from ${from}` : "", rest.includes("x") ? "takes" : "to", to];
  if (promotion) words.push(`and promotes to a ${ROLES[promotion[1]]}`);
  return words.filter(Boolean).join(" ");
}

/** The announcement of a move: side, move, exploded pieces, check. */
export function announceMove(move, color) {
  const words = [`${capital(color)}: ${spokenMove(move.san)}.`];
  const blast = move.blast ?? [];
  if (blast.length > 0) words.push(`Explosion on ${blast.join(", ")}.`);
  if (move.san.includes("+")) words.push("Check.");
  return words.join(" ");
}

/** How many moves two lists begin with in common. */
export function movesInCommon(one, other) {
  const first = one.findIndex((move, index) => move.uci !== other[index]?.uci);
  return first === -1 ? one.length : first;
}

/** The announcements of what changed in the list of moves: moves taken back, and new ones. */
export function announceMoves(before, moves) {
  const kept = movesInCommon(before, moves);
  const gone = before.length - kept;
  const made = moves.slice(kept).map((move, index) => announceMove(move, (kept + index) % 2 === 0 ? "white" : "black"));
  return gone > 0 ? [`${gone} ${gone === 1 ? "move" : "moves"} taken back.`, ...made] : made;
}

function drawReason(moves, insufficient) {
  const last = moves.at(-1)?.fen ?? START;
  const times = [START, ...moves.map((move) => move.fen)].filter((fen) => identity(fen) === identity(last)).length;
  if (times >= 3) return "Draw by repetition";
  if (quietPlies(last) >= 100) return "Draw by the fifty-move rule";
  if (moves.length >= 600) return "Draw: the game reached 600 plies";
  const pieces = last.split(" ")[0].replace(/[^a-zA-Z]/g, "").length;
  if (insufficient ?? pieces <= 4) return "Draw: too little material to win";
  return "Draw agreed";
}

/**
 * Why a game ended, in a sentence without a full stop. Only the moves tell what kind of draw it is, and
 * `insufficient` whether neither side could win any more; without it few pieces mean that.
 */
export function endReason({ status, winner, moves, insufficient }) {
  const loser = winner ? capital(other(winner)) : null;
  switch (status) {
    case "variantEnd":
      return loser ? `${loser}'s king exploded` : "A king exploded";
    case "mate":
      return "Checkmate";
    case "resign":
      return loser ? `${loser} resigned` : "Resignation";
    case "outoftime":
      return loser ? `${loser} ran out of time` : "Time ran out without winning material: a draw";
    case "timeout":
      return loser ? `${loser} left the game` : "A player left: a draw";
    case "noStart":
      return loser ? `${loser} did not make a first move` : "The game never started";
    case "aborted":
      return "No result";
    case "stalemate":
      return "Stalemate";
    case "insufficientMaterialClaim":
      return "Draw: too little material to win";
    case "draw":
      return moves ? drawReason(moves, insufficient) : "Draw";
    case "cheat":
      return "Ended for cheating";
    default:
      return winner ? "The game is decided" : "The game has ended";
  }
}

/** Statuses without a result, unless one side won. */
const VOID = ["created", "started", "aborted", "noStart", "unknownFinish", "unknown"];

/** The headline of a result, for a player or a spectator. */
export function endHeadline({ status, winner, color, you, opponent }, watching) {
  if (status === "aborted") return "Game aborted";
  if (!winner) return VOID.includes(status) ? "No result" : "A draw";
  if (winner === color && !watching) return "You won";
  const victor = winner === color ? you : opponent;
  return `${victor?.name || capital(winner)} won`;
}

/** `1–0`, `0–1`, `½–½`, or a dash for a game without a result. */
export function score({ status, winner }) {
  return { white: "1–0", black: "0–1" }[winner] ?? (VOID.includes(status) ? "–" : "½–½");
}
