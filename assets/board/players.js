// The two players beside the board: name, title, rating, captured pieces, and the clock.

import { spokenClock } from "./clock.js";
import { piecesOf, START } from "./fen.js";
import { drawPiece } from "./pieces.js";
import { capital, other } from "./words.js";

const ORDER = ["queen", "rook", "bishop", "knight", "pawn"];
const FULL = { queen: 1, rook: 2, bishop: 2, knight: 2, pawn: 8 };

function text(parent, className, content) {
  const made = document.createElement("span");
  made.className = className;
  made.textContent = content;
  parent.append(made);
  return made;
}

/** How many pieces of each role a side has lost. */
export function losses(fen, color) {
  const left = {};
  for (const piece of piecesOf(fen).values()) {
    if (piece.color === color) left[piece.role] = (left[piece.role] ?? 0) + 1;
  }
  return ORDER.map((role) => [role, Math.max(0, FULL[role] - (left[role] ?? 0))]);
}

export class PlayerRow {
  constructor(host) {
    this.host = host;
    this.who = host.querySelector(".who");
    this.lost = host.querySelector(".lost");
    this.clock = host.querySelector(".clock");
  }

  /** Sets a player: `{ name, title, rating }`, with the rating's change once the game is over. */
  show(color, player, change) {
    this.color = color;
    this.host.dataset.color = color;
    this.clock.setAttribute("aria-label", `${capital(color)}'s clock`);
    this.who.replaceChildren();
    if (player?.title) text(this.who, "title", player.title);
    text(this.who, "name", player?.name ?? capital(color));
    // If the line is too short for the name beside them, both go to the next line.
    const standing = text(this.who, "standing", "");
    if (player?.rating) text(standing, "rating", String(player.rating));
    if (change) {
      const sign = change > 0 ? "+" : "−";
      text(standing, `change ${change > 0 ? "up" : "down"}`, `${sign}${Math.abs(change)}`);
    }
  }

  /** The row of a side without a game. */
  clear(color) {
    this.show(color, null);
    this.tally(START);
    this.turn(false);
    this.clock.textContent = "–:––";
    this.clock.title = "";
    this.clock.classList.remove("running", "urgent");
  }

  /** Shows the pieces that this side has lost in a position. */
  tally(fen) {
    const gone = losses(fen, this.color).filter(([, count]) => count > 0);
    this.lost.replaceChildren(
      ...gone.map(([role, count]) => {
        const group = document.createElement("span");
        group.className = "lost-pieces";
        const drawings = Array.from({ length: count }, () => drawPiece({ color: this.color, role }));
        group.append(...drawings);
        return group;
      }),
    );
    const words = gone.map(([role, count]) => `${count} ${role}${count === 1 ? "" : "s"}`);
    this.lost.setAttribute("aria-label", words.length > 0 ? `lost: ${words.join(", ")}` : "nothing lost");
  }

  /** Draws the clock's face. */
  time({ text: face, urgent, running, ms }) {
    this.clock.textContent = face;
    this.clock.title = spokenClock(ms);
    this.clock.classList.toggle("running", running);
    this.clock.classList.toggle("urgent", urgent);
  }

  /** Whether it is this side's turn. */
  turn(theirs) {
    this.host.classList.toggle("to-move", theirs);
  }
}

/** The players above and below a board that shows `orientation` at the bottom. */
export function playersBySide(top, bottom, orientation) {
  return { [orientation]: bottom, [other(orientation)]: top };
}
