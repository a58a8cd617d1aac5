// The choice of a promotion piece: four buttons over the pawn's file.

import { place } from "./fen.js";
import { drawPiece } from "./pieces.js";

const CHOICES = [
  ["q", "queen"],
  ["n", "knight"],
  ["r", "rook"],
  ["b", "bishop"],
];

/**
 * Asks in `layer`; calls `onChoice` with the letter of the chosen piece, or null if cancelled. Returns a
 * function that cancels.
 */
export function askPromotion(layer, { square, color, orientation }, onChoice) {
  const { x, y } = place(square, orientation);
  const box = document.createElement("div");
  box.className = "promotion";
  box.setAttribute("role", "dialog");
  box.setAttribute("aria-modal", "true");
  box.setAttribute("aria-label", "Promote to");

  const before = document.activeElement;
  const finish = (letter) => {
    if (!box.isConnected) return;
    box.remove();
    before?.focus();
    onChoice(letter);
  };
  const column = document.createElement("div");
  column.className = y < 4 ? "promotion-choices" : "promotion-choices from-below";
  column.style.left = `${x * 12.5}%`;
  const buttons = CHOICES.map(([letter, role]) => {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-label", role);
    button.dataset.promotion = letter;
    button.append(drawPiece({ color, role }));
    button.addEventListener("click", () => finish(letter));
    return button;
  });
  column.append(...buttons);
  box.append(column);
  // The layer's own gestures (selecting and dragging pieces) must not see these.
  box.addEventListener("pointerdown", (event) => event.stopPropagation());
  box.addEventListener("click", (event) => event.target === box && finish(null));
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: 3, ArrowLeft: 3, Tab: event.shiftKey ? 3 : 1 }[event.key];
    event.stopPropagation();
    if (event.key === "Escape") finish(null);
    if (!step) return;
    event.preventDefault();
    buttons[(buttons.indexOf(document.activeElement) + step) % 4].focus();
  });
  layer.append(box);
  buttons[0].focus();
  return () => finish(null);
}
