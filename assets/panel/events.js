// The page of all archived events, with filters.

import { List } from "./list.js";
import { eventTable } from "./notes.js";
import { Shell } from "./shell.js";
import { get, News } from "./wire.js";

const kinds = document.getElementById("f-kind");

/** Fills the choice of kinds and keeps the selected one. */
async function offerKinds() {
  const answer = await get("/api/kinds");
  const chosen = kinds.value;
  const offered = new Set(Array.isArray(answer) ? answer : []);
  if (chosen) offered.add(chosen);
  kinds.replaceChildren(kinds.options[0], ...[...offered].map((kind) => new Option(kind)));
  kinds.value = chosen;
}

/** The list reads its filters from the URL and ignores unknown kinds. */
const asked = new URLSearchParams(location.search).get("kind");
if (asked) kinds.append(new Option(asked));

const shell = new Shell(document.getElementById("bar"), document.getElementById("alerts"), { page: "events" });
shell.fixedTitle = true;
new News("/api/live?brief", { status: (status) => shell.status(status) }, (open) => shell.connected(open));
const list = new List("/api/events", document.getElementById("events"), {
  table: eventTable,
  mark: (event) => ({ before: event.at, after: event.n }),
  none: "No matching events.",
});
list.load();
offerKinds();
