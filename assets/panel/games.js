// The page of all games that were kept, with filters. The filters stand in the address, so that a
// view can be linked to.

import { make } from "./format.js";
import { gameTable } from "./results.js";
import { Shell } from "./shell.js";
import { get, News } from "./wire.js";

const PAGE = 50;
const find = (id) => document.getElementById(id);
const form = find("filters");
let shown = [];
let asked = 0;

function wanted() {
  const fields = [...new FormData(form)].map(([name, value]) => [name, value.trim()]);
  return new URLSearchParams(fields.filter(([, value]) => value));
}

/** The games that are wanted; those that come after one of them in the list. */
async function load({ last } = {}) {
  const turn = (asked += 1);
  const query = wanted();
  history.replaceState(null, "", query.size > 0 ? `?${query}` : location.pathname);
  query.set("limit", PAGE);
  if (last) {
    query.set("before", last.began);
    query.set("after", last.id);
  }
  const games = await get(`/api/games?${query}`);
  if (turn !== asked) return;
  if (!Array.isArray(games)) {
    find("games").replaceChildren(make("p", "bad", `${games.text}.`));
    return;
  }
  shown = last ? [...shown, ...games] : games;
  const none = make("p", "soft", "No game fits.");
  find("games").replaceChildren(shown.length > 0 ? gameTable(shown, news.now()) : none);
  find("more").hidden = games.length < PAGE;
}

for (const [name, value] of new URLSearchParams(location.search)) {
  if (form.elements[name]) form.elements[name].value = value;
}
let timer = null;
form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(load, 250);
});
form.addEventListener("submit", (event) => event.preventDefault());
find("more").addEventListener("click", () => load({ last: shown.at(-1) }));

const shell = new Shell(find("bar"), find("alarms"), { page: "games" });
shell.fixedTitle = true;
const news = new News("/api/live?brief", { status: (status) => shell.status(status) }, (open) => shell.connected(open));
load();
