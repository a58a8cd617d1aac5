// The dialog before a game: the visitor's side and clock, and the games to watch. It remembers the last
// choice, and requests the list of games while it is open.

import { Board } from "./board.js";
import { drawPiece } from "./pieces.js";
import { levels, runningGames } from "./wire.js";

const SIDES = [
  ["white", "White", ["white"]],
  ["random", "Either", ["white", "black"]],
  ["black", "Black", ["black"]],
];
const TIMES = ["1+0", "1+2", "3+0", "3+2", "5+3", "10+0", "10+5", "30+20"];
const USUAL = { side: "random", time: "3+2", level: "full" };
const MEMORY = "megaton-start";
const LOOK_EVERY = 3000;
const GAMES_SHOWN = 4;

function recall() {
  try {
    return { ...USUAL, ...JSON.parse(localStorage.getItem(MEMORY)) };
  } catch {
    return USUAL;
  }
}

function remember(choice) {
  try {
    localStorage.setItem(MEMORY, JSON.stringify(choice));
  } catch {
    // Without storage the choice is lost.
  }
}

function pick(name, value, checked, content) {
  const label = document.createElement("label");
  label.className = "pick";
  const input = document.createElement("input");
  Object.assign(input, { type: "radio", name, value, checked });
  const face = document.createElement("span");
  face.append(...content);
  label.append(input, face);
  return label;
}

export class Start {
  #timer = null;
  #boards = new Map();

  /** `onPlay(wishes)` may reject with a message for the visitor; `onWatch(game)`. */
  constructor({ onPlay, onWatch }) {
    const find = (id) => document.getElementById(id);
    this.dialog = find("start");
    this.form = find("start-form");
    this.trouble = find("start-trouble");
    this.play = find("start-play");
    this.section = find("watching");
    this.list = find("games");
    this.onWatch = onWatch;
    this.#fill(find("sides"), find("times"));
    this.#offerLevels(find("levels"));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit(onPlay);
    });
    find("start-close").addEventListener("click", () => this.close());
    this.dialog.addEventListener("close", () => clearTimeout(this.#timer));
  }

  /** Opens the dialog, with a reason if it opens by itself. */
  open(why = "") {
    if (this.dialog.open) return;
    this.#complain(why);
    this.dialog.showModal();
    this.play.focus();
    this.#look();
  }

  close() {
    this.dialog.close();
  }

  #fill(sides, times) {
    const { side, time } = recall();
    for (const [value, name, colors] of SIDES) {
      const drawing = document.createElement("i");
      drawing.className = "either";
      drawing.append(...colors.map((color) => drawPiece({ color, role: "king" })));
      drawing.setAttribute("aria-hidden", "true");
      sides.append(pick("side", value, value === side, [drawing, name]));
    }
    for (const value of TIMES) times.append(pick("time", value, value === time, [value]));
  }

  /** Fills in the levels. Without them the bot plays at full strength. */
  async #offerLevels(host) {
    const offered = await levels().catch(() => []);
    host.hidden = offered.length === 0;
    const known = offered.some(({ name }) => name === recall().level);
    const chosen = known ? recall().level : USUAL.level;
    for (const { name, title, rating } of offered) {
      const worth = document.createElement("small");
      worth.textContent = String(rating);
      host.append(pick("level", name, name === chosen, [title, worth]));
    }
  }

  #complain(text) {
    this.trouble.textContent = text;
    this.trouble.hidden = !text;
  }

  async #submit(onPlay) {
    const wishes = new FormData(this.form);
    const wish = (name) => wishes.get(name) ?? USUAL[name];
    const [side, time, level] = [wish("side"), wish("time"), wish("level")];
    remember({ side, time, level });
    const [minutes, increment] = time.split("+").map(Number);
    this.play.disabled = true;
    this.#complain("");
    try {
      await onPlay({ color: side, limit: minutes * 60, increment, level });
      this.close();
    } catch (error) {
      this.#complain(`The game could not be started: ${error.message}.`);
    } finally {
      this.play.disabled = false;
    }
  }

  /** Polls the running games while the dialog is open. */
  async #look() {
    clearTimeout(this.#timer);
    const games = document.hidden ? null : await runningGames().catch(() => []);
    if (!this.dialog.open) return;
    if (games) this.#list(games.slice(0, GAMES_SHOWN));
    this.#timer = setTimeout(() => this.#look(), LOOK_EVERY);
  }

  #list(games) {
    this.section.hidden = games.length === 0;
    const wanted = new Set(games.map((game) => game.id));
    for (const [id, { item }] of this.#boards) {
      if (wanted.has(id)) continue;
      item.remove();
      this.#boards.delete(id);
    }
    for (const game of games) {
      const { board } = this.#boards.get(game.id) ?? this.#add(game);
      const last = game.lastMove ? [game.lastMove.slice(0, 2), game.lastMove.slice(2, 4)] : [];
      board.show({ fen: game.fen, last });
    }
  }

  #add(game) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    const host = document.createElement("div");
    const players = document.createElement("span");
    players.className = "players";
    players.textContent = `${game.white} – ${game.black}`;
    button.setAttribute("aria-label", `Watch ${game.white} against ${game.black}`);
    button.append(host, players);
    button.addEventListener("click", () => {
      this.close();
      this.onWatch(game.id);
    });
    item.append(button);
    this.list.append(item);
    const entry = { item, board: new Board(host, { label: `${game.white} against ${game.black}` }) };
    this.#boards.set(game.id, entry);
    return entry;
  }
}
