// The list of moves in SAN, and navigation in it by buttons, clicks and keys. It marks the current move
// and does not move the board itself.

import { announceMove, capital, movesInCommon } from "./words.js";

function button(text, label, onClick) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  if (label) made.setAttribute("aria-label", label);
  made.addEventListener("click", onClick);
  return made;
}

export class MoveList {
  #moves = [];
  #cells = [];
  #at = 0;
  #scrolled = 0;

  /** Calls `onBrowse(ply)` when the visitor selects the position after that many plies. */
  constructor({ list, first, back, forward, last }, onBrowse) {
    this.list = list;
    this.onBrowse = onBrowse;
    this.controls = { first, back, forward, last };
    first.addEventListener("click", () => this.#go(0));
    back.addEventListener("click", () => this.#go(this.#at - 1));
    forward.addEventListener("click", () => this.#go(this.#at + 1));
    last.addEventListener("click", () => this.#go(this.#moves.length));
    document.addEventListener("keydown", (event) => this.#onKey(event));
    // Its size depends on its neighbours. A list that the visitor scrolled stays there.
    new ResizeObserver(() => {
      const left = Math.min(this.#scrolled, list.scrollHeight - list.clientHeight);
      if (Math.abs(list.scrollTop - left) < 1) this.#reveal(this.#cells[this.#at - 1]);
    }).observe(list);
  }

  /** Sets the game's moves; keeps those already listed. */
  update(moves, verdict) {
    const same = movesInCommon(this.#moves, moves);
    this.#cells.splice(same).forEach((cell) => cell.remove());
    for (const row of [...this.list.children]) {
      if (row.classList.contains("verdict") || row.childElementCount < 2) row.remove();
    }
    this.#moves = moves;
    moves.slice(same).forEach((move, index) => this.#append(move, same + index));
    if (verdict) this.#conclude(verdict);
  }

  /** Marks the move that the board shows. */
  at(ply) {
    this.#cells[this.#at - 1]?.removeAttribute("aria-current");
    this.#at = ply;
    const cell = this.#cells[ply - 1];
    cell?.setAttribute("aria-current", "true");
    const { first, back, forward, last } = this.controls;
    first.disabled = back.disabled = ply === 0;
    last.disabled = forward.disabled = ply >= this.#moves.length;
    this.#reveal(cell);
  }

  /** Marks a bad move with a glyph such as `??` and its name. */
  mark(ply, glyph, name) {
    const cell = this.#cells[ply - 1];
    if (!cell || cell.querySelector(".glyph")) return;
    const made = document.createElement("span");
    made.className = `glyph ${name}`;
    made.textContent = glyph;
    cell.append(made);
    cell.setAttribute("aria-label", `${cell.getAttribute("aria-label")} ${capital(name)}.`);
  }

  #append(move, index) {
    let row = this.list.querySelector(":scope > li:last-child");
    if (index % 2 === 0 || !row) {
      row = document.createElement("li");
      const number = document.createElement("span");
      number.className = "move-number";
      number.textContent = String(Math.floor(index / 2) + 1);
      row.append(number);
      this.list.append(row);
    }
    const label = announceMove(move, index % 2 === 0 ? "white" : "black");
    const cell = button(move.san, label, () => this.#go(index + 1));
    cell.className = (move.blast ?? []).length > 0 ? "move exploded" : "move";
    cell.dataset.ply = String(index + 1);
    this.#cells[index] = cell;
    row.append(cell);
  }

  #conclude({ score, reason }) {
    const row = document.createElement("li");
    row.className = "verdict";
    const [points, why] = [document.createElement("strong"), document.createElement("span")];
    points.textContent = score;
    why.textContent = reason;
    row.append(points, why);
    this.list.append(row);
  }

  #go(ply) {
    const wanted = Math.max(0, Math.min(ply, this.#moves.length));
    if (wanted !== this.#at) this.onBrowse(wanted);
  }

  /** Scrolls the list, never the page. */
  #reveal(cell) {
    const box = this.list;
    if (!cell || this.#at === this.#moves.length) {
      box.scrollTop = cell ? box.scrollHeight : 0;
    } else {
      const row = cell.parentElement;
      const top = row.offsetTop - box.offsetTop;
      if (top < box.scrollTop) box.scrollTop = top;
      const bottom = top + row.offsetHeight;
      if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
    }
    this.#scrolled = box.scrollTop;
  }

  #onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]") || event.target.closest?.("input, select, textarea")) return;
    const goals = { ArrowLeft: this.#at - 1, ArrowRight: this.#at + 1, Home: 0, End: this.#moves.length };
    if (!(event.key in goals)) return;
    event.preventDefault();
    this.#go(goals[event.key]);
  }
}
