// The page of all events that were kept, with filters.

import { List } from "./list.js";
import { eventTable } from "./notes.js";
import { Shell } from "./shell.js";
import { get, News } from "./wire.js";

/** Lets the reader choose among the kinds that there are; one that stands in the address is among them. */
async function offerKinds(select) {
  const answer = await get("/api/kinds");
  const asked = new URLSearchParams(location.search).get("kind");
  const kinds = new Set(Array.isArray(answer) ? answer : []);
  if (asked) kinds.add(asked);
  select.append(...[...kinds].map((kind) => new Option(kind)));
}

const shell = new Shell(document.getElementById("bar"), document.getElementById("alarms"), { page: "events" });
shell.fixedTitle = true;
new News("/api/live?brief", { status: (status) => shell.status(status) }, (open) => shell.connected(open));
await offerKinds(document.getElementById("f-kind"));
const list = new List("/api/events", document.getElementById("events"), {
  table: eventTable,
  mark: (event) => ({ before: event.at, after: event.n }),
  none: "No event fits.",
});
list.load();
