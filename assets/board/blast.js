// The explosion: a flash, a shock wave and sparks over its three by three squares.
// Decoration only: the board itself shows the effect (pieces removed, squares marked) and announces it.
// With reduced motion there are no sparks, and a still glow fades.

import { place } from "./fen.js";

const SPARKS = 22;
const TREMOR = [0, -0.9, 0.8, -0.5, 0.3, 0].map((x, index) => ({
  transform: `translate(${x}%, ${[0, 0.5, -0.6, 0.4, -0.2, 0][index]}%)`,
}));
const LIFE = { motion: 900, still: 1100 };

const prefersStillness = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)");

/** Whether the visitor prefers reduced motion. */
export function stillness() {
  return prefersStillness?.matches ?? false;
}

function child(parent, name) {
  const made = document.createElement("span");
  made.className = name;
  parent.append(made);
  return made;
}

function spark(blast) {
  const angle = Math.random() * 2 * Math.PI;
  const reach = 0.7 + Math.random() * 1.1;
  const size = 0.06 + Math.random() * 0.14;
  const ember = child(blast, "blast-spark");
  // One unit is a square: the explosion is three squares wide.
  ember.style.width = `${(size * 100) / 3}%`;
  const away = (part) => {
    const x = Math.cos(angle) * reach * part;
    const y = Math.sin(angle) * reach * part + 0.35 * part * part;
    return `translate(-50%, -50%) translate(calc(var(--square) * ${x}), calc(var(--square) * ${y}))`;
  };
  ember.animate(
    [
      { transform: away(0.15), opacity: 1 },
      { transform: away(0.8), opacity: 1, offset: 0.45 },
      { transform: `${away(1)} scale(0.2)`, opacity: 0 },
    ],
    { duration: 450 + Math.random() * 400, easing: "cubic-bezier(.1,.8,.3,1)", fill: "both" },
  );
}

/**
 * Shows an explosion centred on a square in the board's layer of effects, then removes it. A `mighty`
 * one, which ends the game, is larger.
 */
export function showBlast(layer, centre, orientation, mighty) {
  const { x, y } = place(centre, orientation);
  const still = stillness();
  const blast = child(layer, ["blast", still && "blast-still", mighty && "blast-mighty"].filter(Boolean).join(" "));
  blast.style.left = `${(x - 1) * 12.5}%`;
  blast.style.top = `${(y - 1) * 12.5}%`;
  child(blast, "blast-glow");
  if (!still) {
    child(blast, "blast-flash");
    child(blast, "blast-wave");
    for (let count = 0; count < (mighty ? 2 * SPARKS : SPARKS); count += 1) spark(blast);
    if (mighty) layer.parentElement.animate(TREMOR, { duration: 420, easing: "ease-out" });
  }
  setTimeout(() => blast.remove(), still ? LIFE.still : LIFE.motion);
}

/** Throws an exploding piece outwards from the centre while it fades, then removes it. */
export function burnUp(element, from, centre, orientation) {
  if (stillness()) {
    element.remove();
    return;
  }
  const here = place(from, orientation);
  const middle = place(centre, orientation);
  const [x, y] = [(here.x - middle.x) * 28, (here.y - middle.y) * 28];
  const spin = (Math.random() - 0.5) * 70;
  element.classList.add("burning");
  element.firstElementChild.animate(
    [
      { transform: "none", filter: "brightness(1)", opacity: 1 },
      { transform: "scale(1.12)", filter: "brightness(2.6) sepia(1) saturate(4)", opacity: 1, offset: 0.25 },
      { transform: `translate(${x}%, ${y}%) rotate(${spin}deg) scale(.55)`, filter: "brightness(.4)", opacity: 0 },
    ],
    { duration: 420, easing: "cubic-bezier(.2,.7,.4,1)", fill: "both" },
  );
  setTimeout(() => element.remove(), 420);
}
