// The page of all archived games, with filters.

import { List } from "./list.js";
import { gameTable } from "./results.js";
import { Shell } from "./shell.js";
import { News } from "./wire.js";

const shell = new Shell(document.getElementById("bar"), document.getElementById("alerts"), { page: "games" });
shell.fixedTitle = true;
const news = new News("/api/live?brief", { status: (status) => shell.status(status) }, (open) => shell.connected(open));
const list = new List("/api/games", document.getElementById("games"), {
  table: (games) => gameTable(games, news.now()),
  mark: (game) => ({ before: game.began, after: game.id }),
  none: "No matching games.",
});
list.load();
