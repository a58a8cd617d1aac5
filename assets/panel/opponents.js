// The page of all opponents and our results against each, sortable.

import { ago, button, count, link, make, scoreText, signed } from "./format.js";
import { scoreBar } from "./results.js";
import { Shell } from "./shell.js";
import { get, News } from "./wire.js";

const find = (id) => document.getElementById(id);
const form = find("filters");
/** The most opponents that the server lists. */
const MOST = 1000;
/** The most lines shown of one opponent. */
const MOST_LINES = 30;
let all = [];
let order = { by: "games", down: true };

const points = ({ wins, draws, losses }) => {
  const played = wins + draws + losses;
  return played > 0 ? (wins + draws / 2) / played : 0;
};

const COLUMNS = [
  ["name", "Opponent", (one) => one.name.toLowerCase()],
  ["games", "Games", (one) => one.games],
  ["score", "Score", points],
  ["results", "Won, drawn, lost", (one) => one.wins - one.losses],
  ["rating", "Rating", (one) => one.rating ?? 0],
  ["change", "± ours", (one) => one.diff],
  ["flagged", "Lost on time", (one) => one.timeouts],
  ["last", "Last game", (one) => one.last],
];

function row(one) {
  const name = link(`/games?opponent=${encodeURIComponent(one.id)}`, "", make("b", "", one.name));
  const change = one.diff === 0 ? "" : make("span", one.diff > 0 ? "up" : "down", signed(one.diff));
  return make(
    "tr",
    "",
    make("td", "name", one.title ? make("span", "title", `${one.title} `) : null, name, " ", button("lines", "lines", () => showLines(one))),
    make("td", "played", count(one.games)),
    make("td", "score", `${(points(one) * 100).toFixed(0)} %`),
    make("td", "results", scoreBar(one)),
    make("td", "rating", one.rating ? String(one.rating) : "–"),
    make("td", "change", change),
    make("td", "flagged", one.timeouts ? String(one.timeouts) : "–"),
    make("td", "last", ago(one.last, news.now())),
  );
}

/** What the games against an opponent teach: the moves avoided, the lines lost again and again, and the latest lines. */
async function showLines(one) {
  const report = await get(`/api/experience/${encodeURIComponent(one.id)}`);
  const place = find("lines");
  if (!Array.isArray(report.lines)) {
    place.replaceChildren(make("p", "bad", `${report.text}.`));
    return;
  }
  const avoided = report.avoided.map((it) => {
    const cost = it.value === null ? `up to ${(it.penalty / 100).toFixed(2)} less` : scoreText({ cp: it.value });
    return make("li", "", make("b", "", it.mv), ` (${cost}): ${it.why}`, it.after ? make("span", "soft", ` after ${it.after}`) : null);
  });
  const lost = report.lost_lines.map((it) => make("li", "", `lost ${it.times} times as ${it.color} in `, make("b", "", it.moves), " …"));
  const lines = report.lines.slice(0, MOST_LINES).map((it) =>
    make(
      "tr",
      "",
      make("td", "", link(`/game/${it.game}`, "", ago(it.at, news.now()))),
      make("td", "", it.color),
      make("td", "", it.result),
      make("td", "", it.mistake ?? "–"),
      make("td", "", it.moves),
    ),
  );
  const head = make("tr", "", ...["Game", "Us", "Result", "Mistake", "Moves"].map((text) => make("th", "", text)));
  place.replaceChildren(
    make("h2", "", `Lines against ${one.name}`),
    avoided.length > 0 ? make("p", "", "The bot avoids:") : make("p", "soft", "No move is avoided."),
    make("ul", "", ...avoided),
    lost.length > 0 ? make("p", "", "Lines lost more than once:") : "",
    make("ul", "lost-lines", ...lost),
    make("div", "table-frame", make("table", "", make("thead", "", head), make("tbody", "", ...lines))),
  );
  place.scrollIntoView({ behavior: "smooth" });
}

function heads() {
  return COLUMNS.map(([by, text]) => {
    const head = make("th", `by-${by}`);
    head.scope = "col";
    const current = order.by === by;
    head.setAttribute("aria-sort", current ? (order.down ? "descending" : "ascending") : "none");
    head.append(
      button(text, "sorter", () => {
        order = { by, down: current ? !order.down : by !== "name" };
        show();
        find("opponents").querySelector(`th.by-${by} button`).focus();
      }),
    );
    return head;
  });
}

function show() {
  const { name, kind } = Object.fromEntries(new FormData(form));
  const key = COLUMNS.find(([by]) => by === order.by)[2];
  const fits = (one) => one.name.toLowerCase().includes(name.trim().toLowerCase()) && (!kind || (kind === "bot") === one.bot);
  const list = all.filter(fits).sort((a, b) => {
    const [one, two] = [key(a), key(b)];
    const way = one < two ? -1 : one > two ? 1 : 0;
    return order.down ? -way : way;
  });
  const table = make("table", "opponents-table", make("thead", "", make("tr", "", ...heads())), make("tbody", "", ...list.map(row)));
  const none = make("p", "soft", all.length > 0 ? "No match." : "None yet.");
  const more = all.length >= MOST ? make("p", "soft", `The ${MOST} most frequent opponents; find others under Games.`) : "";
  find("opponents").replaceChildren(list.length > 0 ? table : none, more);
}

const shell = new Shell(find("bar"), find("alerts"), { page: "opponents" });
shell.fixedTitle = true;
const news = new News("/api/live?brief", { status: (status) => shell.status(status) }, (open) => shell.connected(open));
form.addEventListener("submit", (event) => event.preventDefault());
const answer = await get("/api/opponents");
if (Array.isArray(answer)) {
  all = answer;
  // Without opponents there is no count of matches.
  form.addEventListener("input", show);
  show();
} else {
  find("opponents").replaceChildren(make("p", "bad", `${answer.text}.`));
}
