// The page of one game, running or finished: replay by buttons, keys and graphs, and the search of each
// move. It follows a running game, but keeps the ply that the reader selected.

import { Board } from "/assets/board/board.js";
import { Clocks } from "/assets/board/clock.js";
import { START } from "/assets/board/fen.js";
import { MoveList } from "/assets/board/moves.js";
import { PlayerRow, playersBySide } from "/assets/board/players.js";
import { Replay } from "/assets/board/replay.js";
import { drawScores, pickPly } from "/assets/board/score_graph.js";
import { announceMoves, endHeadline, endReason, other, score as result } from "/assets/board/words.js";
import { barText, count, day, link, make, scoreText, share, span, spokenScore } from "./format.js";
import { drawClocks } from "./graph.js";
import { Shell } from "./shell.js";
import { gameDeeds } from "./steer.js";
import { get, News } from "./wire.js";

const find = (id) => document.getElementById(id);
const id = location.pathname.split("/").at(-1);
/** Hosts on this machine. The practice server, which is there, has no page for each game. */
const LOOPBACK = /^(127\.[\d.]+|localhost|\[::1\])$/;

/** How a finished game ended, with what tells one kind of draw from another. */
const endingOf = ({ ending, moves, insufficient }) => (ending ? { ...ending, moves, insufficient } : null);

class Page {
  #game = null;
  #settled = "";

  constructor(shell) {
    this.shell = shell;
    this.board = new Board(find("board"), { label: "The game" });
    this.replay = new Replay(this.board, { live: () => this.#live(), view: (ply) => this.#view(ply) });
    this.rows = { top: new PlayerRow(find("player-top")), bottom: new PlayerRow(find("player-bottom")) };
    this.clocks = new Clocks((color, face) => this.player[color].time(face));
    this.moves = new MoveList(
      { list: find("move-list"), first: find("move-first"), back: find("move-back"), forward: find("move-forward"), last: find("move-last") },
      (ply) => this.browse(ply),
    );
    this.deeds = make("div", "card-deeds");
    find("line").after(this.deeds);
    this.#placePlayers("white");
    find("flip").addEventListener("click", () => this.flip());
    document.addEventListener("keydown", (event) => {
      const plain = !event.altKey && !event.ctrlKey && !event.metaKey && !event.target.closest?.("input, select");
      if (plain && event.key.toLowerCase() === "f" && !document.querySelector("dialog[open]")) this.flip();
    });
    for (const name of ["score-graph", "clock-graph"]) {
      pickPly(find(name), () => this.#live(), (ply) => this.browse(ply));
    }
  }

  /** Whether the game is running, as far as the page knows. */
  get runs() {
    return this.#game !== null && !this.#game.ending;
  }

  /** Sets the game; `now` is the server's clock. */
  apply(game, now) {
    const before = this.#game;
    // Events of a game have no review.
    game.review ??= before?.review;
    this.#game = game;
    if (!before) {
      const bottom = game.us ?? "white";
      this.board.turnTo(bottom);
      this.#placePlayers(bottom);
    }
    const ending = endingOf(game);
    this.moves.update(game.moves, ending ? { score: result(ending), reason: endReason(ending) } : null);
    this.now = now;
    this.receivedAt = performance.now();
    this.#settle();
    gameDeeds(this.deeds, game, this.shell);
    if (before) this.#announce(before, ending);
    this.#catchUp();
    this.#details();
  }

  /** Announces the last change of the moves, and the end of the game. */
  #announce(before, ending) {
    const { moves, white, black } = this.#game;
    const words = announceMoves(before.moves, moves).slice(-1);
    if (ending && !before.ending) {
      const headline = endHeadline({ ...ending, color: "white", you: white, opponent: black }, true);
      words.push(`${headline}. ${endReason(ending)}.`);
    }
    if (words.length > 0) find("announcer").textContent = words.join(" ");
  }

  /** Sets the running search. */
  ponder(thought) {
    if (!this.#game) return;
    this.#game.thought = thought;
    this.#details();
  }

  /** Updates what depends on the moves only, if they changed. */
  #settle() {
    const { moves, ending, review } = this.#game;
    const key = JSON.stringify([moves.map(({ uci, score, clock }) => [uci, score, clock]), ending, review]);
    if (key === this.#settled) return;
    this.#settled = key;
    this.#annotate();
    this.#title();
    this.#graphs();
    this.#review();
    this.#foot();
  }

  /** Shows the position after so many plies; the last one means the current position. */
  browse(ply) {
    this.replay.select(ply);
    this.#catchUp();
    this.#details();
  }

  flip() {
    this.board.turnTo(other(this.board.orientation));
    this.#placePlayers(this.board.orientation);
    this.#details();
  }

  steering() {
    if (this.#game) gameDeeds(this.deeds, this.#game, this.shell);
  }

  #live() {
    return this.#game?.moves.length ?? 0;
  }

  #placePlayers(orientation) {
    this.player = playersBySide(this.rows.top, this.rows.bottom, orientation);
    find("eval-bar").classList.toggle("turned", orientation === "black");
  }

  #fenAt(ply) {
    return ply === 0 ? (this.#game?.start ?? START) : this.#game.moves[ply - 1].fen;
  }

  #view(ply) {
    const move = ply > 0 ? this.#game.moves[ply - 1] : null;
    const last = move ? [move.uci.slice(0, 2), move.uci.slice(2, 4)] : [];
    return { fen: this.#fenAt(ply), last, blast: move?.blast ?? [], check: move?.check ?? null };
  }

  #catchUp() {
    this.moves.at(this.replay.ply);
    this.replay.catchUp();
  }

  /** Updates everything beside the board that depends on the selected ply. */
  #details() {
    const game = this.#game;
    if (!game) return;
    const ply = this.replay.ply;
    const move = ply > 0 ? game.moves[ply - 1] : null;
    const live = this.replay.isLive && !game.ending;
    for (const side of ["white", "black"]) {
      const { name, title, rating, rating_diff: diff } = game[side];
      this.player[side].show(side, { name: name || "Anonymous", title, rating }, diff);
      this.player[side].tally(this.#fenAt(ply));
      this.player[side].turn(!game.ending && game.turn === side);
    }
    this.#clocksAt(ply, live);
    this.#scoreAt(ply);
    this.#facts(move, live ? game.thought : null);
    const part = game.moves.length > 0 ? (ply / game.moves.length) * 100 : 0;
    for (const cursor of document.querySelectorAll(".cursor")) cursor.style.left = `${part}%`;
  }

  /** The clocks at the selected ply, or the running ones. */
  #clocksAt(ply, live) {
    const { clocks, moves, initial } = this.#game;
    if (live && clocks && clocks.white !== null && clocks.black !== null) {
      const now = this.now + performance.now() - this.receivedAt;
      const gone = clocks.running ? Math.max(0, now - clocks.at) : 0;
      const left = (color) => clocks[color] - (color === clocks.running ? gone : 0);
      this.clocks.set({ white: left("white"), black: left("black"), running: clocks.running, initial: initial ?? 0 });
      return;
    }
    const last = (parity) => {
      for (let index = ply - 1; index >= 0; index -= 1) {
        if (index % 2 === parity && moves[index].clock !== undefined) return moves[index].clock;
      }
      return initial ?? null;
    };
    const [white, black] = [last(0), last(1)];
    if (white === null || black === null) return;
    this.clocks.set({ white, black, running: null, initial: initial ?? 0 });
  }

  #scoreAt(ply) {
    const { moves, ending } = this.#game;
    const scored = moves.slice(0, ply).findLast((move) => move.score);
    const over = ending?.winner && ply === moves.length;
    const part = over ? (ending.winner === "white" ? 1 : 0) : share(scored?.score);
    const bar = find("eval-bar");
    bar.style.setProperty("--white", `${(part * 100).toFixed(1)}%`);
    bar.lastElementChild.textContent = over ? "" : barText(scored?.score);
    bar.classList.toggle("white-ahead", part >= 0.5);
    bar.setAttribute("aria-label", over ? "over" : spokenScore(scored?.score));
  }

  #facts(move, thought) {
    const source = thought ?? move ?? {};
    const fact = (name, value, title = "") => {
      const made = make("div", "fact", make("dt", "", name), make("dd", "", value));
      made.title = title;
      return made;
    };
    const nps = source.nps ?? (source.nodes && source.time ? (source.nodes / source.time) * 1000 : null);
    find("facts").replaceChildren(
      fact("score", scoreText(source.score) || "–", spokenScore(source.score)),
      fact("depth", source.depth ? `${source.depth}${source.seldepth ? `/${source.seldepth}` : ""}` : "–"),
      fact("nodes", count(source.nodes || null)),
      fact("nodes/s", count(nps || null)),
      fact("took", span(move?.spent), "time the server charged to the clock"),
      fact("lag", span(move?.lag), "of that, the network round trip"),
      fact("source", move?.source ?? "–"),
    );
    const line = source.line ?? [];
    find("line").replaceChildren(make("b", "", line.length > 0 ? "Line" : ""), line.length > 0 ? ` ${line.join(" ")}` : "");
  }

  /** Shows each move's score beside it. */
  #annotate() {
    this.#game.moves.forEach((move, index) => {
      const cell = find("move-list").querySelector(`[data-ply="${index + 1}"]`);
      if (!cell || !move.score) return;
      cell.dataset.score = scoreText(move.score);
    });
    const losing = this.#game.review?.ply;
    find("move-list").querySelector(".losing")?.classList.remove("losing");
    if (losing) find("move-list").querySelector(`[data-ply="${losing}"]`)?.classList.add("losing");
  }

  #title() {
    const { white, black, time, rated } = this.#game;
    const ending = endingOf(this.#game);
    const names = `${white.name || "Anonymous"} – ${black.name || "Anonymous"}`;
    const what = `${time} ${rated ? "rated" : "casual"}`;
    const state = ending ? `${result(ending)} · ${endReason(ending)}` : "in progress";
    find("game-title").replaceChildren(names, make("span", "soft", `${what} · ${state}`));
    this.shell.fixedTitle = true;
    document.title = `${names} · Megaton`;
  }

  #graphs() {
    const { moves, initial } = this.#game;
    drawScores(find("score-graph"), moves.map((move) => move.score ?? null), "The score after each move");
    drawClocks(find("clock-graph"), moves, initial, "Both clocks over the game");
  }

  #review() {
    const { review } = this.#game;
    find("review").hidden = !review;
    if (!review) return;
    const parts = [make("p", "", review.text)];
    const line = (name, moves) => moves.length > 0 && parts.push(make("p", "line", make("b", "", name), ` ${moves.join(" ")}`));
    line("Better", review.line);
    line("Played", review.refutation);
    if (review.ply) {
      const show = make("button", "small", "Show the position");
      show.type = "button";
      show.addEventListener("click", () => this.browse(review.ply - 1));
      parts.push(show);
    }
    find("review-text").replaceChildren(...parts);
  }

  #foot() {
    const { began, url, program, origin, speed } = this.#game;
    const parts = [speed, day(began)];
    const { host, hostname } = new URL(url);
    if (!LOOPBACK.test(hostname)) {
      const lichess = link(url, "", `On ${host}`);
      lichess.rel = "noreferrer";
      parts.unshift(lichess);
    }
    if (origin && origin !== "unknown") parts.push(origin);
    if (program) parts.push(program);
    if (this.#game.ending) {
      const pgn = link(`/api/game/${id}.pgn`, "", "PGN");
      pgn.download = `${id}.pgn`;
      parts.push(pgn);
    }
    find("foot").replaceChildren(...parts.flatMap((part, index) => (index === 0 ? [part] : [" · ", part])));
  }
}

const fetchGame = () => get(`/api/game/${encodeURIComponent(id)}`);

/** Loads the finished game. */
async function askForEnd() {
  const game = await fetchGame();
  if (game.ending) page.apply(game, game.now);
}

const shell = new Shell(find("bar"), find("alerts"), { page: "games" });
const page = new Page(shell);
shell.onSteering = () => page.steering();
const parts = [find("arena"), document.querySelector(".graphs")];
let isLoaded = false;

function reveal(known) {
  isLoaded = known;
  for (const part of parts) part.hidden = !known;
}

/** Loads the game, or shows why that is not possible. */
async function load() {
  const game = await fetchGame();
  reveal(game.ok !== false);
  if (isLoaded) page.apply(game, game.now);
  else find("game-title").textContent = game.text;
}

await load();
const news = new News(
  `/api/live?game=${encodeURIComponent(id)}`,
  {
    status: (status) => shell.status(status),
    game: (game) => {
      reveal(true);
      page.apply(game, news.now());
    },
    thought: (thought) => page.ponder(thought),
    reviewed: () => askForEnd(),
  },
  (open) => {
    shell.connected(open);
    // A page without a stream, hidden or offline, misses the end of a game.
    if (!open) return;
    if (!isLoaded) load();
    else if (page.runs) askForEnd();
  },
);
