// A running game as a card of the live page: players, clocks, board, score and search.
// It sends no requests.

import { Board } from "/assets/board/board.js";
import { Clocks, spokenClock } from "/assets/board/clock.js";
import { announceMove, capital, endReason, other, score as result } from "/assets/board/words.js";
import { barText, count, link, make, outcome, scoreText, share, span, spokenScore } from "./format.js";
import { drawSpark } from "./graph.js";

function playerRow(color) {
  const clock = make("div", "clock", "–");
  clock.setAttribute("role", "timer");
  clock.setAttribute("aria-label", `${capital(color)}'s clock`);
  const who = make("div", "who");
  const row = make("div", "player", who, clock);
  row.dataset.color = color;
  return { row, who, clock };
}

function person(host, player) {
  const name = player.name || "Anonymous";
  const rating = player.rating ? `${player.rating}${player.provisional ? "?" : ""}` : null;
  host.replaceChildren(make("span", "person", player.title ? make("span", "title", player.title) : null, make("span", "name", name)));
  if (rating) host.append(make("span", "rating", rating));
  // If space is short, the rating is cut first.
  host.title = [player.title, name, rating].filter(Boolean).join(" ");
}

/** A fact about a game: its name and value. */
function fact(list, name, value, title = "") {
  const item = make("div", "fact", make("dt", "", name), make("dd", "", value));
  if (title) item.title = title;
  list.append(item);
}

export class Card {
  #game = null;
  #shown = -1;

  /** `now()` is the server's clock; calls `onMove(text)` with text for screen readers. */
  constructor(id, { now, onMove }) {
    this.now = now;
    this.onMove = onMove;
    this.rows = { white: playerRow("white"), black: playerRow("black") };
    this.clocks = new Clocks((color, face) => this.#face(color, face));
    this.boardHost = make("div", "board-host");
    this.bar = make("div", "eval-bar", make("i", "eval-fill"), make("span", "eval-text"));
    this.bar.setAttribute("role", "img");
    this.facts = make("dl", "facts");
    this.line = make("p", "line");
    this.spark = make("div", "spark");
    this.label = make("p", "card-label");
    this.deeds = make("div", "card-deeds");
    const open = link(`/game/${id}`, "card-link", this.boardHost);
    open.setAttribute("aria-label", "Open the game");
    this.open = open;
    const frame = make("div", "card-board", this.bar, open);
    const info = make("div", "card-info", this.label, this.spark, this.facts, this.line, this.deeds);
    this.element = make("article", "card", this.rows.black.row, frame, this.rows.white.row, info);
    this.element.dataset.game = id;
  }

  /** Shows the current state of the game. */
  apply(game) {
    const before = this.#game;
    this.#game = game;
    const bottom = game.us ?? "white";
    if (!this.board) {
      const label = `${game.white.name} against ${game.black.name}`;
      this.board = new Board(this.boardHost, { label, orientation: bottom });
      this.element.setAttribute("aria-label", label);
      this.element.prepend(this.rows[other(bottom)].row);
      this.rows[bottom].row.classList.add("ours");
      this.element.querySelector(".card-board").after(this.rows[bottom].row);
      this.bar.classList.toggle("turned", bottom === "black");
    }
    for (const color of ["white", "black"]) {
      person(this.rows[color].who, game[color]);
      this.rows[color].row.classList.toggle("to-move", !game.ending && game.turn === color);
    }
    this.#tick(game);
    this.#score(game);
    this.#tell(game);
    const motion = this.#shown >= 0 && game.ply === this.#shown + 1 ? "forward" : "none";
    if (game.ply !== this.#shown || game.fen !== before?.fen) {
      this.#shown = game.ply;
      this.board.show({ fen: game.fen, last: game.last, blast: game.blast, check: game.check }, { motion });
      if (motion === "forward" && game.san) this.onMove(this.#spoken(game));
    }
    this.element.classList.toggle("over", Boolean(game.ending));
    this.element.dataset.outcome = game.ending ? outcome(game) : "";
  }

  get game() {
    return this.#game;
  }

  #spoken(game) {
    return `${this.element.getAttribute("aria-label")}. ${announceMove(game, other(game.turn))}`;
  }

  /** Runs the clocks from the time of the report. */
  #tick({ clocks, ending }) {
    if (!clocks || clocks.white === null || clocks.black === null) return;
    const running = ending ? null : clocks.running;
    const gone = running ? Math.max(0, this.now() - clocks.at) : 0;
    const left = (color) => clocks[color] - (color === running ? gone : 0);
    this.clocks.set({ white: left("white"), black: left("black"), running, initial: clocks.initial ?? 0 });
  }

  #face(color, { text, urgent, running, ms }) {
    const { clock } = this.rows[color];
    clock.textContent = text;
    clock.title = spokenClock(ms);
    clock.classList.toggle("running", running);
    clock.classList.toggle("urgent", urgent);
  }

  #score({ scores, ending, thought }) {
    const latest = thought?.live && !thought.pondering ? thought.score : (scores.at(-1)?.[1] ?? null);
    const won = ending?.winner ? (ending.winner === "white" ? 1 : 0) : null;
    const part = won ?? share(latest);
    this.bar.style.setProperty("--white", `${(part * 100).toFixed(1)}%`);
    this.bar.lastElementChild.textContent = ending ? "" : barText(latest);
    this.bar.classList.toggle("white-ahead", part >= 0.5);
    this.bar.setAttribute("aria-label", ending ? "over" : spokenScore(latest));
    drawSpark(this.spark, scores);
  }

  #tell(game) {
    const kind = game.rated ? "rated" : "casual";
    const move = `move ${Math.floor(game.ply / 2) + 1}`;
    this.label.replaceChildren(
      make("span", "", `${game.time} ${kind}`),
      make("span", "", game.ending ? `${result(game.ending)} · ${endReason(game.ending)}` : move),
    );
    const thought = game.thought;
    this.facts.replaceChildren();
    fact(this.facts, "depth", thought?.depth ? `${thought.depth}${thought.seldepth ? `/${thought.seldepth}` : ""}` : "–", "finished iteration / deepest ply");
    // A tablebase or book move has no nodes.
    fact(this.facts, "nodes", count(thought?.nodes || null), "positions visited");
    fact(this.facts, "nodes/s", count(thought?.nps || null), "positions a second");
    fact(this.facts, "time", span(thought?.time), "spent on it");
    fact(this.facts, "lag", span(thought?.lag), "what the way to the server and back cost on the clock");
    fact(this.facts, "source", thought?.source ?? "–", "where our last move came from");
    const line = thought?.line ?? [];
    this.line.classList.toggle("thinking", Boolean(thought?.live));
    this.line.replaceChildren(
      make("b", "", scoreText(thought?.score) || (game.ply ? "–" : "")),
      line.length > 0 ? ` ${line.join(" ")}` : "",
    );
    this.line.title = line.join(" ");
  }
}
