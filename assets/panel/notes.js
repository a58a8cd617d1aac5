// Tables of challenges and events.

import { exact, link, make } from "./format.js";

/** The outcome of a challenge in words. */
export const VERDICTS = { waiting: "pending", accepted: "accepted", declined: "declined", canceled: "withdrawn", failed: "failed" };

const WAYS = { in: "received", out: "sent" };

function cell(className, ...content) {
  const made = make("td", className, ...content);
  made.setAttribute("role", "cell");
  return made;
}

function row(className, ...cells) {
  const made = make("tr", className, ...cells);
  made.setAttribute("role", "row");
  return made;
}

function when(at) {
  const time = make("time", "", exact(at));
  time.dateTime = new Date(at).toISOString();
  return cell("when", time);
}

/** A phone shows each row as a card; the roles keep it a table for screen readers. */
function table(className, heads, rows) {
  const titles = heads.map(([name, text]) => {
    const head = make("th", name, text);
    head.scope = "col";
    head.setAttribute("role", "columnheader");
    return head;
  });
  const [head, body] = [make("thead", "", row("", ...titles)), make("tbody", "", ...rows)];
  for (const part of [head, body]) part.setAttribute("role", "rowgroup");
  const made = make("table", `notes-table ${className}`, head, body);
  made.setAttribute("role", "table");
  return made;
}

function challengeRow(challenge) {
  const { user, verdict, direction } = challenge;
  const name = user.name || "Anonymous";
  const filter = user.id ? link(`/challenges?opponent=${encodeURIComponent(user.id)}`, "", make("b", "", name)) : make("b", "", name);
  const terms = `${challenge.time} ${challenge.rated ? "rated" : "casual"}${challenge.variant === "atomic" ? "" : ` ${challenge.variant}`}`;
  const told = challenge.reason ? `“${challenge.reason}”` : "";
  const because = [told, challenge.why, challenge.rule && `(${challenge.rule})`].filter(Boolean).join(" ");
  const game = verdict === "accepted" ? link(`/game/${challenge.id}`, "", challenge.id) : null;
  return row(
    verdict,
    cell("mark", make("span", `verdict-mark ${verdict}`, VERDICTS[verdict] ?? verdict)),
    cell("who", user.title ? make("span", "title", `${user.title} `) : null, filter, user.rating ? make("span", "rating", ` ${user.rating}`) : null),
    cell("way", WAYS[direction] ?? direction),
    cell("terms", terms),
    cell("why", because, game),
    when(challenge.at),
  );
}

/** A table of challenges, newest first. */
export function challengeTable(challenges) {
  const heads = [["mark", "Outcome"], ["who", "Opponent"], ["way", "Direction"], ["terms", "Terms"], ["why", "Reason or game"], ["when", "When"]];
  return table("challenges-table", heads, challenges.map(challengeRow));
}

function eventRow(event) {
  const game = event.game ? link(`/game/${event.game}`, "", event.game) : null;
  return row(
    "",
    cell("mark", make("span", `kind ${event.kind}`, event.kind)),
    cell("why", event.text, game ? " " : null, game),
    when(event.at),
  );
}

/** A table of events, newest first. */
export function eventTable(events) {
  const heads = [["mark", "Kind"], ["why", "Event"], ["when", "When"]];
  return table("events-table", heads, events.map(eventRow));
}
