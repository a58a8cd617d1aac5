// The analysis of the finished game: starts and stops it, draws the scores as they come, and describes the
// selected move. It does not move the board itself.

import { scoreText, spokenScore } from "./score.js";
import { drawScores, pickPly } from "./score_graph.js";
import { analyse, Refused } from "./wire.js";
import { capital } from "./words.js";

const GLYPHS = { inaccuracy: "?!", mistake: "?", blunder: "??" };

const find = (id) => document.getElementById(id);

/** The number before the move after `ply` others: `3.` or `3...`. */
const number = (ply) => `${Math.floor(ply / 2) + 1}${ply % 2 === 0 ? "." : "..."}`;

/** A line in SAN that starts after `ply` others, with its numbers. */
const numbered = (line, ply) =>
  line.map((san, index) => (index === 0 || (ply + index) % 2 === 0 ? `${number(ply + index)} ${san}` : san)).join(" ");

function plural(count, word) {
  if (count === 1) return `1 ${word}`;
  return `${count} ${word === "inaccuracy" ? "inaccuracies" : `${word}s`}`;
}

export class Analysis {
  #game = null;
  /** What the server said of the position after each ply, as far as it is known. */
  #positions = [];
  #ply = 0;
  /** Aborts the running analysis. */
  #abort = null;

  /** Calls `onBrowse(ply)` for a position selected in the graph, and `onMark(ply, glyph, name)` for a bad move. */
  constructor({ onBrowse, onMark }) {
    this.onMark = onMark;
    this.section = find("analysis");
    this.button = find("analyse");
    this.status = find("analysis-status");
    this.progress = find("analysis-progress");
    this.graph = find("score-graph");
    this.remark = find("remark");
    this.button.addEventListener("click", () => (this.#abort ? this.#stop("Stopped.") : this.#start()));
    pickPly(this.graph, () => this.#plies, onBrowse);
  }

  /** Offers the analysis of a finished game: its id, moves and winner. */
  offer(game) {
    if (this.#game?.id === game.id) return;
    this.clear();
    this.#game = game;
    this.section.hidden = false;
  }

  /** Withdraws the offer, since the server no longer has the game. What is known of it stays. */
  withdraw() {
    if (this.#abort) this.#stop("Stopped.");
    this.#hideButton();
    this.section.hidden = this.graph.hidden;
  }

  /** Stops, and forgets the game. */
  clear() {
    this.#stop("");
    this.#game = null;
    this.#positions = [];
    this.section.hidden = true;
    this.button.hidden = false;
    this.graph.hidden = this.remark.hidden = true;
  }

  /** Describes the position after so many plies. */
  at(ply) {
    this.#ply = ply;
    if (!this.graph.hidden) this.#describe();
  }

  get #plies() {
    return this.#game?.moves.length ?? 0;
  }

  async #start() {
    const running = new AbortController();
    this.#abort = running;
    this.#positions = [];
    this.button.textContent = "Stop";
    this.status.textContent = "Waiting for the engine …";
    this.progress.hidden = false;
    this.progress.removeAttribute("value");
    let outcome = "The analysis ended early.";
    try {
      await analyse(this.#game.id, running.signal, (report) => this.#receive(report));
      if (this.#isComplete()) outcome = this.#summary();
    } catch (error) {
      const why = error instanceof Refused ? error.message : "cannot reach the server";
      outcome = `No analysis: ${why}.`;
    }
    if (this.#abort === running) this.#stop(outcome);
  }

  #stop(outcome) {
    this.#abort?.abort();
    this.#abort = null;
    this.button.textContent = "Analyse";
    if (this.#isComplete()) this.#hideButton();
    this.status.textContent = outcome;
    this.progress.hidden = true;
  }

  /** The keyboard focus goes from the button to the graph, or without one to the actions of the game. */
  #hideButton() {
    const hadFocus = document.activeElement === this.button;
    this.button.hidden = true;
    if (hadFocus) (this.graph.hidden ? find("deeds") : this.graph).focus({ preventScroll: true });
  }

  #isComplete() {
    return this.#game !== null && Boolean(this.#positions[0]);
  }

  /** Takes a line of the response: the start, or one position. Positions come from the last to the first. */
  #receive(report) {
    if (report.positions) {
      this.progress.max = report.positions;
      this.progress.value = 0;
      this.status.textContent = "Analysing …";
      this.graph.hidden = this.remark.hidden = false;
    } else {
      const { ply, mark } = report;
      this.#positions[ply] = report;
      this.progress.value = this.#plies + 1 - ply;
      if (mark) this.onMark(ply + 1, GLYPHS[mark], mark);
    }
    this.#draw();
    this.#describe();
  }

  /** The score after so many plies; a won position counts as a mate. Undefined while unknown. */
  #scoreAt(ply) {
    const position = this.#positions[ply];
    if (!position || position.score) return position?.score;
    return { mate: this.#game.winner === "white" ? 1 : -1 };
  }

  #draw() {
    const plies = Array.from({ length: this.#plies }, (_, index) => index + 1);
    // What is not known yet is drawn as level.
    drawScores(this.graph, plies.map((ply) => this.#scoreAt(ply) ?? { cp: 0 }), "");
    this.graph.querySelector("svg").setAttribute("aria-hidden", "true");
    this.graph.querySelectorAll(".bad-move").forEach((dot) => dot.remove());
    for (const ply of plies) {
      const mark = this.#positions[ply - 1]?.mark;
      if (!mark) continue;
      const dot = document.createElement("i");
      dot.className = `bad-move ${mark}`;
      dot.style.left = `${(ply / this.#plies) * 100}%`;
      this.graph.append(dot);
    }
  }

  #describe() {
    const ply = this.#ply;
    this.graph.querySelector(".cursor").style.left = `${(ply / this.#plies) * 100}%`;
    const [before, here] = [this.#positions[ply - 1], this.#positions[ply]];
    const parts = [];
    const spoken = [ply === 0 ? "Start" : `Move ${number(ply - 1)} ${this.#game.moves[ply - 1].san}`];
    if (here?.score) spoken.push(spokenScore(here.score));
    if (before?.mark) {
      const line = document.createElement("strong");
      line.className = before.mark;
      line.textContent = `${numbered([this.#game.moves[ply - 1].san], ply - 1)}${GLYPHS[before.mark]} ${capital(before.mark)}`;
      const [from, to] = [before, here].map((position) => scoreText(position?.score));
      parts.push(line, ` ${from} → ${to || "lost"}. Better: ${numbered(before.line, ply - 1)}`);
      spoken.push(before.mark);
    } else if (here?.score) {
      const line = here.line.length > 0 ? ` Best: ${numbered(here.line, ply)}` : "";
      parts.push(`${scoreText(here.score)}.${line}`);
    } else if (here) {
      parts.push("The game is decided.");
    }
    this.remark.replaceChildren(...parts);
    const { graph } = this;
    graph.setAttribute("aria-valuemax", String(this.#plies));
    graph.setAttribute("aria-valuenow", String(ply));
    graph.setAttribute("aria-valuetext", spoken.join(", "));
  }

  /** How many bad moves of each kind each side made. */
  #summary() {
    const side = (name, parity) => {
      const marks = this.#positions.filter(({ ply }) => ply % 2 === parity).map(({ mark }) => mark);
      const kinds = Object.keys(GLYPHS).reverse();
      const counts = kinds.map((kind) => [marks.filter((mark) => mark === kind).length, kind]);
      const told = counts.filter(([count]) => count > 0).map(([count, kind]) => plural(count, kind));
      return `${name}: ${told.join(", ") || "no mistakes"}.`;
    };
    return `${side("White", 0)} ${side("Black", 1)}`;
  }
}
