// The two clocks of a game: the running one ticks by itself between two updates of the server,
// tenths shown under ten seconds. It never decides that a flag has fallen.

const TENTHS_BELOW = 10_000;
const TICK = 100;

/** Milliseconds as clock text: `1:02:03`, `3:07`, `0:09.4`. */
export function formatClock(ms) {
  const left = Math.max(0, ms);
  if (left < TENTHS_BELOW) return `0:0${(Math.floor(left / 100) / 10).toFixed(1)}`;
  const seconds = Math.floor(left / 1000);
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const tail = String(s).padStart(2, "0");
  return h > 0 ? `${h}:${String(m).padStart(2, "0")}:${tail}` : `${m}:${tail}`;
}

/** The same in words, for a screen reader. */
export function spokenClock(ms) {
  const seconds = Math.floor(Math.max(0, ms) / 1000);
  const [m, s] = [Math.floor(seconds / 60), seconds % 60];
  const part = (count, unit) => `${count} ${unit}${count === 1 ? "" : "s"}`;
  return m > 0 ? `${part(m, "minute")} ${part(s, "second")}` : part(s, "second");
}

export class Clocks {
  #told = null;
  #timer = null;

  /** Calls `draw(color, { text, urgent, running, ms })` whenever a clock's face changes. */
  constructor(draw) {
    this.draw = draw;
    this.faces = {};
  }

  /** Sets the clocks to what the server just reported. */
  set(clock) {
    this.#told = { ...clock, at: performance.now() };
    this.faces = {};
    clearInterval(this.#timer);
    this.#timer = clock.running ? setInterval(() => this.#tick(), TICK) : null;
    this.#tick();
  }

  /** The clocks without a game: nothing ticks. */
  clear() {
    clearInterval(this.#timer);
    this.#told = null;
  }

  /** A side's remaining time in milliseconds. */
  left(color) {
    if (!this.#told) return 0;
    const gone = this.#told.running === color ? performance.now() - this.#told.at : 0;
    return Math.max(0, this.#told[color] - gone);
  }

  #tick() {
    for (const color of ["white", "black"]) {
      const ms = this.left(color);
      const text = formatClock(ms);
      const running = this.#told.running === color;
      if (this.faces[color] === text) continue;
      this.faces[color] = text;
      const urgent = this.#told.initial > 0 && ms < Math.max(TENTHS_BELOW, this.#told.initial / 12);
      this.draw(color, { text, urgent, running, ms });
    }
  }
}
