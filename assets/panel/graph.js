// Graphs in SVG, stretched to their box: clocks over a game, scores on a card, ratings over time.

import { canvas, HEIGHT, node, path, WIDTH } from "/assets/board/score_graph.js";
import { make, share } from "./format.js";

/** Both clocks over a game, and the time each move took as bars from below. */
export function drawClocks(host, moves, initial, label) {
  const svg = canvas(host, label);
  const most = Math.max(initial ?? 0, 1, ...moves.map((move) => move.clock ?? 0));
  const longest = Math.max(1, ...moves.map((move) => move.spent ?? 0));
  const x = (ply) => (ply / Math.max(1, moves.length)) * WIDTH;
  const y = (ms) => HEIGHT - (ms / most) * (HEIGHT - 4) - 2;
  const wide = WIDTH / Math.max(1, moves.length);
  moves.forEach((move, index) => {
    if (!move.spent) return;
    const tall = (move.spent / longest) * HEIGHT * 0.45;
    const side = index % 2 === 0 ? "white" : "black";
    svg.append(node("rect", { x: index * wide + wide * 0.15, y: HEIGHT - tall, width: wide * 0.7, height: tall, class: `spent ${side}` }));
  });
  for (const side of ["black", "white"]) {
    const own = moves.map((move, index) => [index, move.clock]).filter(([index, clock]) => (index % 2 === 0) === (side === "white") && clock !== null && clock !== undefined);
    const points = own.map(([index, clock]) => [x(index + 1), y(clock)]);
    if (initial) points.unshift([0, y(initial)]);
    if (points.length > 1) svg.append(node("path", { d: path(points), class: `clock-line ${side}` }));
  }
}

/** A small line of scores, for a card. */
export function drawSpark(host, scores) {
  const svg = canvas(host, "Scores so far");
  svg.setAttribute("aria-hidden", "true");
  if (scores.length === 0) return;
  const last = Math.max(...scores.map(([ply]) => ply), 20);
  const points = scores.map(([ply, score]) => [(ply / last) * WIDTH, HEIGHT - 4 - share(score) * (HEIGHT - 8)]);
  points.unshift([0, HEIGHT / 2]);
  svg.append(
    node("line", { x1: 0, x2: WIDTH, y1: HEIGHT / 2, y2: HEIGHT / 2, class: "graph-middle" }),
    node("path", { d: path(points), class: "graph-line" }),
  );
}

/** A line of `[time, value]` with its scale and the last value at its end. */
export function drawHistory(host, points, { label, title = (value) => String(value) }) {
  const svg = canvas(host, label);
  host.querySelectorAll(".scale, .tip").forEach((element) => element.remove());
  if (points.length === 0) return;
  const values = points.map(([, value]) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const step = [5, 10, 20, 50, 100, 200, 500].find((size) => (high - low) / size <= 4) ?? 1000;
  const bottom = Math.floor((low - step / 4) / step) * step;
  const top = Math.max(bottom + step, Math.ceil((high + step / 4) / step) * step);
  const [first, last] = [points[0][0], points.at(-1)[0]];
  const x = (at) => (last === first ? WIDTH / 2 : ((at - first) / (last - first)) * WIDTH);
  const y = (value) => HEIGHT - ((value - bottom) / (top - bottom)) * HEIGHT;
  for (let value = bottom; value <= top; value += step) {
    svg.append(node("line", { x1: 0, x2: WIDTH, y1: y(value), y2: y(value), class: "graph-grid" }));
    const mark = make("span", "scale", String(value));
    mark.style.top = `${y(value)}%`;
    host.append(mark);
  }
  const line = points.map(([at, value]) => [x(at), y(value)]);
  // One point is a level line.
  if (line.length === 1) line.splice(0, 1, [0, y(high)], [WIDTH, y(high)]);
  svg.append(
    node("path", { d: `${path(line)}L${line.at(-1)[0].toFixed(1)} ${HEIGHT}L${line[0][0].toFixed(1)} ${HEIGHT}Z`, class: "graph-under" }),
    node("path", { d: path(line), class: "graph-line" }),
  );
  const tip = make("output", "tip");
  tip.hidden = true;
  host.append(tip);
  host.onpointermove = (event) => {
    const box = svg.getBoundingClientRect();
    const at = first + ((event.clientX - box.left) / box.width) * (last - first);
    const nearest = points.reduce((best, point) => (Math.abs(point[0] - at) < Math.abs(best[0] - at) ? point : best));
    tip.hidden = false;
    tip.textContent = title(nearest[1], nearest[0]);
    tip.style.left = `${Math.min(88, Math.max(12, x(nearest[0]) / 10))}%`;
    tip.style.top = `${y(nearest[1])}%`;
  };
  host.onpointerleave = () => (tip.hidden = true);
}
