// The page: the game that is played or watched, its stream of snapshots, and the visitor's actions. It
// stores the ticket, so that a reload returns to the game.

import { Game } from "./game.js";
import { Start } from "./start.js";
import { command, newGame, playEvents, Refused, sendMove, Stream, watchEvents } from "./wire.js";

const TICKET = "megaton-ticket";
const TROUBLE_FOR = 6000;

const find = (id) => document.getElementById(id);
const connection = find("connection");
const trouble = find("trouble");

let ticket = null;
let stream = null;
let waiting = false;
let troubleTimer = null;

function complain(text) {
  trouble.textContent = text;
  trouble.hidden = false;
  clearTimeout(troubleTimer);
  troubleTimer = setTimeout(() => (trouble.hidden = true), TROUBLE_FOR);
}

function keep(value) {
  ticket = value;
  try {
    if (value) sessionStorage.setItem(TICKET, value);
    else sessionStorage.removeItem(TICKET);
  } catch {
    // Without storage a reload starts anew.
  }
}

function kept() {
  try {
    return sessionStorage.getItem(TICKET);
  } catch {
    return null;
  }
}

/** Performs an action of the visitor; shows refusals instead of throwing them. */
async function attempt(deed, otherwise) {
  try {
    trouble.hidden = true;
    await deed();
  } catch (error) {
    const why = error instanceof Refused ? error.message : "cannot reach the server";
    complain(`${otherwise}: ${why}.`.replace(/\.\.$/, "."));
    return false;
  }
  return true;
}

async function move(uci) {
  if (!(await attempt(() => sendMove(ticket, uci), "Move rejected"))) game.undo();
}

const game = new Game({
  move,
  resign: () => attempt(() => command(ticket, "resign"), "Cannot resign"),
  abort: () => attempt(() => command(ticket, "abort"), "Cannot abort"),
  draw: (answer) => attempt(() => command(ticket, `draw/${answer}`), "Cannot send the draw offer"),
  takeback: () => attempt(() => command(ticket, "takeback"), "Cannot request a takeback"),
  rematch: () => attempt(() => command(ticket, "rematch"), "Cannot request a rematch"),
  again: () => start.open(),
});

const start = new Start({
  async onPlay(wishes) {
    // The bot may accept the earlier challenge while the server makes another.
    await withdraw();
    const answer = await newGame(wishes);
    keep(answer.ticket);
    follow(playEvents(ticket), false);
  },
  onWatch(id) {
    withdraw();
    keep(null);
    follow(watchEvents(id), true);
  },
});

/** Withdraws a challenge that still waits, or aborts its game, which nobody would play. */
async function withdraw() {
  if (waiting && ticket) await command(ticket, "abort").catch(() => {});
}

/** Follows a game: every snapshot is its complete state. */
function follow(path, watching) {
  stream?.close();
  connection.hidden = true;
  waiting = false;
  let fresh = true;
  let over = false;
  stream = new Stream(path, {
    onSnapshot(snapshot) {
      if (fresh) game.clear();
      fresh = false;
      game.apply(snapshot, { watching });
      const playing = !watching && snapshot.phase === "playing";
      find("open-start").hidden = playing;
      if (playing) start.close();
      waiting = snapshot.phase === "waiting";
      over = snapshot.phase === "over";
      // A player may still get a rematch; a spectator gets nothing more.
      if (over && watching) stream.close();
    },
    onLost() {
      connection.textContent = "Connection lost. Reconnecting …";
      connection.hidden = false;
    },
    onBack() {
      connection.hidden = true;
    },
    onGone() {
      connection.hidden = true;
      keep(null);
      if (over) {
        game.gone();
        return;
      }
      game.clear();
      find("open-start").hidden = false;
      start.open("The server no longer has this game.");
    },
  });
}

find("open-start").addEventListener("click", () => start.open());
find("flip").addEventListener("click", () => game.flip());
document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "f" || event.altKey || event.ctrlKey || event.metaKey) return;
  if (!document.querySelector("dialog[open]")) game.flip();
});

ticket = kept();
if (ticket) follow(playEvents(ticket), false);
else start.open();
