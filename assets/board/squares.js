// The 64 squares as a grid of focusable cells: their marks, their labels for a screen reader,
// and navigation with the arrow keys. Draws and moves no pieces.

import { isLight, place, squareAt, squares } from "./fen.js";

const STEPS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
const MARKS = ["movable", "selected", "target", "capture", "last", "scorched", "check", "hover", "aim"];

export class Squares {
  /** Builds the cells inside `grid`; calls `onEnter(square)` when the keyboard selects one. */
  constructor(grid, { label, focusable, onEnter, onEscape, onFocus }) {
    this.grid = grid;
    this.focusable = focusable;
    this.cells = new Map();
    this.focus = "e2";
    grid.setAttribute("role", focusable ? "grid" : "img");
    grid.setAttribute("aria-label", label);
    grid.addEventListener("keydown", (event) => this.#onKey(event, onEnter, onEscape));
    grid.addEventListener("focusin", (event) => {
      const square = event.target.dataset?.square;
      if (!square) return;
      this.#rove(square);
      onFocus(square);
    });
  }

  /** Lays the cells out for a side; clears marks and labels. */
  build(orientation) {
    this.orientation = orientation;
    this.cells.clear();
    const rows = Array.from({ length: 8 }, () => {
      const row = document.createElement("div");
      row.className = "row";
      if (this.focusable) row.setAttribute("role", "row");
      return row;
    });
    squares(orientation).forEach((square, index) => {
      const cell = this.#cell(square);
      this.cells.set(square, cell);
      rows[Math.floor(index / 8)].append(cell);
    });
    const hadFocus = this.grid.contains(document.activeElement);
    this.grid.replaceChildren(...rows);
    if (this.focusable) this.#rove(this.focus);
    if (hadFocus) this.cells.get(this.focus)?.focus();
  }

  #cell(square) {
    const cell = document.createElement("div");
    cell.className = `square ${isLight(square) ? "light" : "dark"}`;
    cell.dataset.square = square;
    if (this.focusable) {
      cell.setAttribute("role", "gridcell");
      cell.tabIndex = -1;
    }
    const { x, y } = place(square, this.orientation);
    if (y === 7) cell.dataset.file = square[0];
    if (x === 0) cell.dataset.rank = square[1];
    return cell;
  }

  /** Sets each mark on exactly the squares given: `{ last: [...], check: [...] }`. */
  mark(marks) {
    for (const name of MARKS) {
      if (!(name in marks)) continue;
      const wanted = new Set(marks[name]);
      for (const [square, cell] of this.cells) cell.classList.toggle(name, wanted.has(square));
    }
    if ("selected" in marks && this.focusable) {
      const chosen = new Set(marks.selected);
      for (const [square, cell] of this.cells) {
        cell.setAttribute("aria-selected", String(chosen.has(square)));
      }
    }
  }

  /** Labels every square with `describe(square)`. */
  label(describe) {
    if (!this.focusable) return;
    for (const [square, cell] of this.cells) cell.setAttribute("aria-label", describe(square));
  }

  #rove(square) {
    this.cells.get(this.focus)?.setAttribute("tabindex", "-1");
    this.focus = square;
    this.cells.get(square)?.setAttribute("tabindex", "0");
  }

  #onKey(event, onEnter, onEscape) {
    const square = event.target.dataset?.square;
    if (!square || event.altKey || event.ctrlKey || event.metaKey) return;
    const step = STEPS[event.key];
    if (step) {
      const { x, y } = place(square, this.orientation);
      const next = squareAt(x + step[0], y + step[1], this.orientation);
      if (next) this.cells.get(next).focus();
    } else if (event.key === "Enter" || event.key === " ") {
      onEnter(square);
    } else if (event.key === "Escape") {
      onEscape();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
