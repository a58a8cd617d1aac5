// The pointer on the board, mouse, pen or finger alike: a press selects a piece, a drag moves it,
// a click on a target moves it there. Decides nothing about legality: it asks the board.

import { place, squareAt } from "./fen.js";

const DRAG_AFTER = 4;

export class Gestures {
  #held = null;

  constructor(board) {
    this.board = board;
    this.area = board.squares.grid;
    this.area.addEventListener("pointerdown", (event) => this.#press(event));
    this.area.addEventListener("pointermove", (event) => this.#move(event));
    this.area.addEventListener("pointerup", (event) => this.#release(event));
    this.area.addEventListener("pointercancel", () => this.#drop());
    this.area.addEventListener("pointerleave", () => this.board.aim(null));
    // Selecting with a pointer keeps the keyboard focus.
    this.area.addEventListener("mousedown", (event) => event.preventDefault());
  }

  #at(event) {
    const box = this.area.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * 8;
    const y = ((event.clientY - box.top) / box.height) * 8;
    return { x, y, square: squareAt(Math.floor(x), Math.floor(y), this.board.orientation) };
  }

  #press(event) {
    if (event.button !== 0 || !event.isPrimary) return;
    const { square } = this.#at(event);
    if (!square) return;
    if (this.board.canReach(square) || !this.board.canMove(square)) {
      this.board.choose(square);
      return;
    }
    const again = this.board.selected === square;
    if (!again) this.board.select(square);
    this.#held = { square, again, start: [event.clientX, event.clientY], element: null };
    this.area.setPointerCapture(event.pointerId);
  }

  #move(event) {
    const held = this.#held;
    this.board.aim(this.#at(event).square);
    if (!held) return;
    if (!this.board.canMove(held.square)) {
      this.#drop();
      return;
    }
    if (!held.element) {
      const [x, y] = held.start;
      if (Math.hypot(event.clientX - x, event.clientY - y) < DRAG_AFTER) return;
      held.element = this.board.elementOn(held.square);
      held.element.classList.add("dragged");
      held.element.classList.toggle("by-finger", event.pointerType === "touch");
    }
    const { x, y, square } = this.#at(event);
    held.element.style.transform = `translate(${(x - 0.5) * 100}%, ${(y - 0.5) * 100}%)`;
    this.board.squares.mark({ hover: square && this.board.canReach(square) ? [square] : [] });
  }

  #release(event) {
    const held = this.#held;
    if (!held) return;
    this.#held = null;
    const { square } = this.#at(event);
    this.board.squares.mark({ hover: [] });
    if (!held.element) {
      if (held.again) this.board.deselect();
      return;
    }
    if (square !== held.square && this.board.canReach(square)) {
      this.#land(held.element, square);
      this.board.attempt(held.square, square, { carried: true });
    } else {
      this.#home(held);
    }
  }

  /** A piece dropped on its target appears there instead of sliding from its origin. */
  #land(element, square) {
    element.classList.remove("by-finger");
    element.classList.add("put-down");
    const { x, y } = place(square, this.board.orientation);
    element.style.transform = `translate(${x * 100}%, ${y * 100}%)`;
    void element.offsetWidth;
    element.classList.remove("put-down");
  }

  #home(held) {
    held.element.classList.remove("dragged", "by-finger");
    const { x, y } = place(held.square, this.board.orientation);
    held.element.style.transform = `translate(${x * 100}%, ${y * 100}%)`;
  }

  #drop() {
    if (this.#held?.element) this.#home(this.#held);
    this.#held = null;
    this.board.squares.mark({ hover: [] });
  }
}
