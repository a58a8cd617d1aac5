// The page of all events that were kept, with filters.

import { List } from "./list.js";
import { eventTable } from "./notes.js";
import { Shell } from "./shell.js";
import { News } from "./wire.js";

const shell = new Shell(document.getElementById("bar"), document.getElementById("alarms"), { page: "events" });
shell.fixedTitle = true;
new News("/api/live?brief", { status: (status) => shell.status(status) }, (open) => shell.connected(open));
const list = new List("/api/events", document.getElementById("events"), {
  table: eventTable,
  mark: (event) => ({ before: event.at, after: event.n }),
  none: "No event fits.",
});
list.load();
