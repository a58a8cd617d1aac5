// Tables of finished games.

import { ago, day, link, make, outcome, signed } from "./format.js";
import { endReason } from "/assets/board/words.js";

const MARKS = { win: "won", loss: "lost", draw: "draw", none: "–" };

function cell(className, ...content) {
  return make("td", className, ...content);
}

function gameRow(game, now) {
  const us = game.us ?? "white";
  const them = us === "white" ? game.black : game.white;
  const ours = us === "white" ? game.white : game.black;
  const how = outcome(game);
  const name = link(`/game/${game.id}`, "", make("b", "", them.name || "Anonymous"));
  const at = game.ending?.at ?? game.began;
  const when = make("time", "", ago(at, now));
  when.title = day(at);
  when.dateTime = new Date(at).toISOString();
  const dot = make("span", `side-dot ${us}`);
  dot.title = `we had ${us}`;
  const change = ours.rating_diff ? make("span", ours.rating_diff > 0 ? "up" : "down", signed(ours.rating_diff)) : "";
  return make(
    "tr",
    how,
    cell("how", make("span", `result ${how}`, MARKS[how])),
    cell("who", dot, them.title ? make("span", "title", `${them.title} `) : null, name, them.rating ? make("span", "rating", ` ${them.rating}`) : null),
    cell("change", change),
    cell("clocked", `${game.time}${game.rated ? "" : " casual"}`),
    cell("why", game.ending ? endReason(game.ending) : "in progress"),
    cell("length", `${Math.ceil(game.plies / 2)}`),
    cell("when", when),
  );
}

/** A table of games, newest first. */
export function gameTable(games, now) {
  const heads = ["Result", "Opponent", "±", "Clock", "How it ended", "Moves", "When"];
  const classes = ["how", "who", "change", "clocked", "why", "length", "when"];
  const head = make("tr", "", ...heads.map((text, index) => {
    const made = make("th", classes[index], text);
    made.scope = "col";
    return made;
  }));
  return make("table", "games-table", make("thead", "", head), make("tbody", "", ...games.map((game) => gameRow(game, now))));
}

/** Wins, draws and losses as a bar. */
export function scoreBar({ wins, draws, losses }) {
  const all = Math.max(1, wins + draws + losses);
  const bar = make("div", "score-bar");
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", `${wins} won, ${draws} drawn, ${losses} lost`);
  for (const [kind, number] of [["win", wins], ["draw", draws], ["loss", losses]]) {
    if (number === 0) continue;
    const part = make("i", kind, number / all > 0.12 ? String(number) : "");
    part.style.width = `${(number / all) * 100}%`;
    bar.append(part);
  }
  return bar;
}

