// Which position of a game the board shows: the current one, or the one that the reader selected. The board
// goes there move by move if it is near.

export class Replay {
  /** The selected ply, or null for the current position. */
  #selected = null;
  #shown = -1;
  /** What the board shows. */
  #view = "";
  #showing = false;

  /**
   * @param board shows the positions
   * @param options.live the number of plies of the game, as a function
   * @param options.view what the board shows after so many plies
   * @param options.onStep called before each step of the board and after the last
   */
  constructor(board, { live, view, onStep = () => {} }) {
    Object.assign(this, { board, live, view, onStep });
  }

  /** The ply to show. Moves taken back take the selection with them. */
  get ply() {
    return Math.min(this.#selected ?? Infinity, this.live());
  }

  /** Whether the reader selected no earlier position. */
  get isLive() {
    return this.#selected === null;
  }

  /** Whether the board shows the ply to show, and nothing moves. */
  get isThere() {
    return !this.#showing && this.#shown === this.ply;
  }

  /** Selects the position after so many plies; the last one means the current position. */
  select(ply) {
    this.#selected = ply >= this.live() ? null : ply;
  }

  /** Another game, or none: the board goes to its position at once. */
  restart() {
    this.#selected = null;
    this.#shown = -1;
  }

  /** Moves the board towards the selected ply, move by move if it is near. */
  async catchUp() {
    if (this.#showing) return;
    this.#showing = true;
    try {
      // Moves taken back and made anew give another position after as many plies.
      while (this.#shown !== this.ply || this.#view !== this.#viewed(this.ply)) await this.#step(this.ply);
    } finally {
      this.#showing = false;
    }
    this.onStep();
  }

  #viewed(ply) {
    return JSON.stringify(this.view(ply));
  }

  #step(goal) {
    const way = goal - this.#shown;
    const near = this.#shown >= 0 && way > 0 && way <= 2 && this.#view === this.#viewed(this.#shown);
    const next = near ? this.#shown + 1 : goal;
    let motion = "none";
    if (near) motion = "forward";
    else if (this.#shown >= 0 && way === -1) motion = "back";
    this.#shown = next;
    this.#view = this.#viewed(next);
    this.onStep();
    return this.board.show(this.view(next), { motion });
  }
}
