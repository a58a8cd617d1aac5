// The graph of the scores over a game in SVG, stretched to its box, and clicks on it; also the parts of
// other graphs.

import { share } from "./score.js";

const SVG = "http://www.w3.org/2000/svg";
export const WIDTH = 1000;
export const HEIGHT = 100;

/** An SVG element. */
export function node(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** A new drawing in `host` in place of the last one. */
export function canvas(host, label) {
  const svg = node("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label });
  host.querySelector("svg")?.remove();
  host.prepend(svg);
  return svg;
}

/** The path through `[x, y]` points. */
export const path = (points) => points.map(([x, y], index) => `${index ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(2)}`).join("");

/** The scores of a game as a band of White's share; `scores` is one entry a ply, some empty. */
export function drawScores(host, scores, label) {
  const svg = canvas(host, label);
  const known = scores.map((score, index) => [index + 1, score]).filter(([, score]) => score);
  const x = (ply) => (ply / Math.max(1, scores.length)) * WIDTH;
  const y = (score) => HEIGHT - share(score) * HEIGHT;
  const points = [[0, HEIGHT / 2], ...known.map(([ply, score]) => [x(ply), y(score)])];
  const last = points.at(-1);
  points.push([WIDTH, last[1]]);
  const area = `${path(points)}L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z`;
  svg.append(
    node("rect", { width: WIDTH, height: HEIGHT, class: "graph-black" }),
    node("path", { d: area, class: "graph-white" }),
    node("line", { x1: 0, x2: WIDTH, y1: HEIGHT / 2, y2: HEIGHT / 2, class: "graph-middle" }),
    node("path", { d: path(points), class: "graph-line" }),
  );
}

/** Calls with the ply under the pointer when a graph of a game is clicked or dragged over. */
export function pickPly(host, plies, onPick) {
  const pick = (event) => {
    const box = host.getBoundingClientRect();
    onPick(Math.max(0, Math.min(plies(), Math.round(((event.clientX - box.left) / box.width) * plies()))));
  };
  host.addEventListener("pointerdown", (event) => {
    host.setPointerCapture(event.pointerId);
    pick(event);
  });
  host.addEventListener("pointermove", (event) => event.buttons === 1 && pick(event));
}
