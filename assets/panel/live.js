// The live page: running games as boards, and the status of the bot. All data comes over one stream of
// events; nothing is polled.

import { endReason } from "/assets/board/words.js";
import { Card } from "./card.js";
import { ago, clockTime, day, link, make, signed, span } from "./format.js";
import { drawHistory } from "./graph.js";
import { VERDICTS } from "./notes.js";
import { gameTable } from "./results.js";
import { Shell } from "./shell.js";
import { gameDeeds } from "./steer.js";
import { News } from "./wire.js";

/** How long a finished game stays on the page, in milliseconds. */
const LINGER = 12_000;

const find = (id) => document.getElementById(id);
const games = find("games");
const cards = new Map();
let status = null;

/** The links of an element with this target, last first: new ones come above them. */
const linksTo = (host, href) => [...host.querySelectorAll("a")].filter((it) => it.getAttribute("href") === href).reverse();

/** Replaces the content of an element. A focused link keeps the focus, or the element gets it. */
function replace(host, ...content) {
  const held = host.contains(document.activeElement) ? document.activeElement : null;
  const href = held?.getAttribute("href") ?? null;
  const place = href === null ? -1 : linksTo(host, href).indexOf(held);
  host.replaceChildren(...content);
  if (place >= 0) (linksTo(host, href)[place] ?? host).focus({ preventScroll: true });
}

/** The same, if the content differs. */
function renew(host, ...content) {
  const fresh = make("div", "", ...content);
  if (host.innerHTML !== fresh.innerHTML) replace(host, ...fresh.childNodes);
}

// ------------------------------------------------------------------------------------- games ---

function arrange() {
  const shown = [...cards.values()];
  games.dataset.count = String(Math.min(shown.length, 5));
  games.classList.toggle("alone", shown.length === 1);
  games.classList.toggle("idle", shown.length === 0);
  let idle = games.querySelector(".idle-card");
  if (shown.length > 0) {
    idle?.remove();
    return;
  }
  if (!idle) {
    idle = make("div", "idle-card");
    const logo = make("img");
    Object.assign(logo, { src: "/assets/board/logo.svg", alt: "", width: 96, height: 96 });
    idle.append(logo, make("h2", "", "No game in progress"), make("p", "idle-text"));
    games.append(idle);
  }
  idle.querySelector(".idle-text").textContent = idleText();
}

function idleText() {
  if (shell.me.spectator) return "The next game appears here.";
  if (!status) return "Waiting for the bot's status.";
  const states = {
    connecting: "Not connected to the server yet.",
    playing: status.stream.open ? "Accepting challenges." : "Not connected: the event stream is down.",
    paused: "Paused: no new games.",
    alert: "No new games: see the alerts.",
    draining: "Shutting down.",
  };
  const looks = status.matchmaking?.enabled ? ` Matchmaking: ${status.matchmaking.doing}.` : "";
  return (states[status.state] ?? "") + looks.replace(/\.\.$/, ".");
}

function showGame(game) {
  let entry = cards.get(game.id);
  if (!entry) {
    if (game.ending) return;
    const card = new Card(game.id, { now: () => news.now(), onMove: announce });
    entry = { card, timer: null, told: false };
    cards.set(game.id, entry);
    games.append(card.element);
    arrange();
  }
  entry.card.apply(game);
  if (game.ending && !entry.told) {
    find("announcer").textContent = `${game.white.name} against ${game.black.name}: ${endReason(game.ending)}.`;
  }
  entry.told = Boolean(game.ending);
  if (game.ending) leave(game.id, entry);
  gameDeeds(entry.card.deeds, game, shell);
}

/** Removes the card after a while, unless the game comes back. */
function leave(id, entry) {
  entry.timer ??= setTimeout(() => drop(id), LINGER);
}

function stay(entry) {
  clearTimeout(entry.timer);
  entry.timer = null;
}

function drop(id) {
  const element = cards.get(id)?.card.element;
  const hadFocus = element?.contains(document.activeElement);
  element?.remove();
  cards.delete(id);
  if (hadFocus) games.focus({ preventScroll: true });
  arrange();
}

/** The running games; all others have ended. */
function keepOnly(ids) {
  const running = new Set(ids);
  for (const [id, entry] of cards) {
    if (running.has(id)) stay(entry);
    else leave(id, entry);
  }
  arrange();
}

/** Announces each move while there is one game, else only the ends of games. */
function announce(text) {
  if (cards.size < 2) find("announcer").textContent = text;
}

// ---------------------------------------------------------------------------------- status ---

function row(name, value, mood = "") {
  return make("div", `health-row ${mood}`.trim(), make("dt", "", name), make("dd", "", value));
}

const LISTS = { block: "Block list", allow: "Allow list", welcome: "Welcome list", avoid: "Avoid list" };

/** The net, endgame tables and lists that the bot uses. */
function sourceRows({ net, tables, lists }) {
  const rows = [row("Net", net), tableRow(tables)];
  for (const [list, name] of Object.entries(LISTS)) {
    const places = lists.filter((place) => place.list === list);
    if (places.length > 0) rows.push(listRow(name, places));
  }
  return rows;
}

function tableRow(tables) {
  if (!tables) return row("Tablebase", "none");
  const { outcomes, distances, max_pieces: pieces, faulty, faults } = tables;
  const found = `${outcomes} WDL, ${distances} DTZ, up to ${pieces} pieces`;
  if (faulty === 0) return row("Tablebase", found, "good");
  // A bad table also makes those unusable that lead to it.
  const among = faulty > faults.length ? ", among them" : "";
  return row("Tablebase", `${found}; ${faulty} cannot be used${among}: ${faults.join("; ")}`, "bad");
}

/** A list, whose names may come from the config, files and URLs. */
function listRow(name, places) {
  const names = places.reduce((sum, place) => sum + place.names, 0);
  const said = [names === 1 ? "1 name" : `${names} names`];
  const kept = places.filter((place) => place.source !== null);
  const unread = kept.some((place) => place.read_ago === null);
  const read = kept.map((place) => place.read_ago).filter((seconds) => seconds !== null);
  if (read.length > 0) said.push(`read ${ago(0, Math.max(...read) * 1000)}`);
  const failed = kept.filter((place) => place.error !== null);
  if (failed.length > 0) said.push(...failed.map((place) => `${place.source}: ${place.error}`));
  else if (unread) said.push("not fully read yet");
  return row(name, said.join(", "), failed.length > 0 ? "bad" : unread ? "worn" : "good");
}

/** Since when a stream is not open, why, and when the bot tries again. */
function why(outage) {
  if (!outage) return "";
  const next = outage.next_try === 0 ? "trying again now" : `next try in ${outage.next_try} s`;
  return ` for ${span(outage.since * 1000)}: ${outage.reason}; ${next}`;
}

function showHealth() {
  const { stream, slots, games: running, correspondence, waiting, overhead, uptime, arenas, matchmaking, state, sources } = status;
  const received = stream.received_ago;
  const quiet = stream.open && received > 15_000;
  const rows = [
    row(
      "Event stream",
      stream.open ? `open, ${received === null ? "no data yet" : `last data ${ago(0, received)}`}` : `NOT OPEN${why(stream.outage)}`,
      stream.open && !quiet ? "good" : state === "connecting" ? "" : "bad",
    ),
    row("Disconnects", stream.lost === 0 ? "none" : String(stream.lost), stream.lost > 0 ? "worn" : "good"),
  ];
  const broken = running.filter((game) => !game.stream.open).length;
  if (running.length > 0) {
    const open = running.length - broken;
    rows.push(row("Game streams", `${open} of ${running.length} open`, broken > 0 ? "bad" : "good"));
  }
  rows.push(row("Slots", `${slots.taken} of ${slots.all}${slots.for_humans ? `, ${slots.for_humans} reserved for humans` : ""}`));
  if (waiting > 0) rows.push(row("Queued challenges", String(waiting)));
  if (correspondence.games > 0) rows.push(row("Correspondence games", `${correspondence.games}, ${correspondence.to_move} to move`));
  rows.push(row("Move overhead", overhead === null ? "not measured yet" : `${overhead} ms`));
  rows.push(row("Matchmaking", matchmaking.enabled ? matchmaking.doing || "on" : "off"));
  if (matchmaking.series) rows.push(row("Series", matchmaking.series));
  for (const arena of arenas ?? []) rows.push(row("Arena", arena));
  if (sources) rows.push(...sourceRows(sources));
  rows.push(row("Uptime", span(uptime * 1000)));
  renew(find("health"), ...rows);
}

function meter(name, spent, limit) {
  const part = limit > 0 ? Math.min(1, spent / limit) : 0;
  const bar = make("div", "meter", make("i"));
  bar.setAttribute("role", "meter");
  for (const [key, value] of [["min", 0], ["max", limit], ["now", spent]]) bar.setAttribute(`aria-value${key}`, value);
  bar.setAttribute("aria-label", name);
  bar.classList.toggle("full", part >= 0.9);
  bar.firstElementChild.style.width = `${part * 100}%`;
  return make("div", "metered", make("p", "", make("span", "", name), make("b", "", `${spent} / ${limit}`)), bar);
}

function showBudget() {
  const { quota } = status;
  if (!quota) {
    delete find("budget").dataset.key;
    renew(find("budget"), make("p", "soft", "Unknown until the server is reached."));
    return;
  }
  const endless = quota.bot_games_limit > 1_000_000;
  const host = find("budget");
  const fresh = [
    endless ? make("p", "soft", `Bot games: ${quota.bot_games}, unlimited here`) : meter("Bot games", quota.bot_games, quota.bot_games_limit),
    meter("Challenge credits", quota.credits, quota.credits_limit),
    make("p", "soft", quota.kept_for_incoming && !endless ? `${quota.forecast}; ${quota.kept_for_incoming} games kept for incoming challenges` : quota.forecast),
  ];
  const key = JSON.stringify(quota);
  if (host.dataset.key === key) return;
  host.dataset.key = key;
  host.replaceChildren(...fresh);
}

function showStatus(next) {
  status = next;
  shell.status(status);
  showHealth();
  showBudget();
  if (cards.size === 0) arrange();
}

// -------------------------------------------------------------------------------------- lists ---

function showChallenges(list) {
  const items = list.map((challenge) => {
    const { user, direction, verdict } = challenge;
    const name = make("b", "", user.name || "Anonymous");
    const head = make(
      "p",
      "feed-head",
      make("span", `verdict-mark ${verdict}`, VERDICTS[verdict] ?? verdict),
      make("span", "", direction === "out" ? "to " : "", user.title ? make("span", "title", `${user.title} `) : null, name, user.rating ? ` ${user.rating}` : ""),
      stamp(challenge.at),
    );
    const terms = `${challenge.time} ${challenge.rated ? "rated" : "casual"}${challenge.variant === "atomic" ? "" : ` ${challenge.variant}`}`;
    const why = challenge.why ?? challenge.reason;
    return make("li", "", head, make("p", "soft", why ? `${terms} – ${why}` : terms));
  });
  renew(find("challenges"), ...(items.length > 0 ? items : [make("li", "soft", "None yet.")]));
}

function stamp(at) {
  const time = make("time", "", clockTime(at));
  time.title = day(at);
  return time;
}

function showLog(list) {
  const items = list.map((event) => {
    const text = make("p", "", event.text);
    if (event.game) text.append(" ", link(`/game/${event.game}`, "", event.game));
    return make("li", "", make("p", "feed-head", make("span", `kind ${event.kind}`, event.kind), stamp(event.at)), text);
  });
  renew(find("log"), ...(items.length > 0 ? items : [make("li", "soft", "No events yet.")]));
}

function showRecent(list) {
  const host = find("recent");
  if (list.length === 0) renew(host, make("p", "soft", "No finished games yet."));
  else replace(host, gameTable(list, news.now()));
}

/** Updates how long ago each game ended. */
function age() {
  for (const time of find("recent").querySelectorAll("time")) time.textContent = ago(Date.parse(time.dateTime), news.now());
}

function showRating(points) {
  const host = find("rating");
  if (points.length === 0) {
    renew(host, make("p", "soft", "No rated games yet."));
    return;
  }
  host.querySelector("p")?.remove();
  const [first, last] = [points[0][1], points.at(-1)[1]];
  const change = points.length > 1 ? make("span", last >= first ? "up" : "down", ` ${signed(last - first)}`) : "";
  find("rating-title").replaceChildren("Rating ", make("b", "", String(last)), change);
  drawHistory(host, points, {
    label: `Rating over time, from ${first} to ${last}`,
    title: (value, at) => `${value} · ${ago(at, news.now())}`,
  });
}

const shell = new Shell(find("bar"), find("alerts"), { page: "live" });
const news = new News(
  "/api/live",
  {
    status: showStatus,
    games: keepOnly,
    game: showGame,
    challenges: showChallenges,
    events: showLog,
    recent: showRecent,
    rating: showRating,
  },
  (open) => shell.connected(open),
);
shell.onSteering = () => {
  if (cards.size === 0) arrange();
  for (const { card } of cards.values()) if (card.game) gameDeeds(card.deeds, card.game, shell);
};
arrange();
setInterval(() => !document.hidden && age(), 20_000);
