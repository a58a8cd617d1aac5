// The page of all archived challenges, with filters.

import { List } from "./list.js";
import { challengeTable } from "./notes.js";
import { Shell } from "./shell.js";
import { News } from "./wire.js";

const shell = new Shell(document.getElementById("bar"), document.getElementById("alerts"), { page: "challenges" });
shell.fixedTitle = true;
new News("/api/live?brief", { status: (status) => shell.status(status) }, (open) => shell.connected(open));
const list = new List("/api/challenges", document.getElementById("challenges"), {
  table: challengeTable,
  mark: (challenge) => ({ before: challenge.at, after: challenge.n }),
  none: "No matching challenges.",
});
list.load();
