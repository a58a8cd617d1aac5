// The actions of the game (resign, draw, rematch) and its result. It shows what the snapshot allows; the
// caller defines what a button does.

import { endHeadline, endReason, other } from "./words.js";

const SURE_FOR = 3500;

function button(text, onClick, look = "") {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.className = look;
  made.addEventListener("click", onClick);
  return made;
}

/** A button that must be pressed twice, so that no game is resigned by mistake. */
function sureButton(text, sure, onClick) {
  let asked = false;
  const made = button(text, () => {
    if (asked) {
      onClick();
      return;
    }
    asked = true;
    made.textContent = sure;
    made.classList.add("danger");
    setTimeout(() => {
      asked = false;
      made.textContent = text;
      made.classList.remove("danger");
    }, SURE_FOR);
  });
  return made;
}

export class Actions {
  #drawn = null;

  /** `deeds`: functions resign, abort, draw(answer), takeback, rematch, again. */
  constructor({ say, deeds }, does) {
    this.say = say;
    this.deeds = deeds;
    this.does = does;
  }

  /** Redraws only when the content has changed, so that a button keeps its focus. */
  update(snapshot, { watching }) {
    const { phase, status, winner, drawOffer, ply, reason, game, mayTakeBack, takebackAsked, gone } = snapshot;
    const offers = [drawOffer, snapshot.mayOfferDraw, mayTakeBack, takebackAsked];
    const key = JSON.stringify([phase, status, winner, ply < 2, reason, game, gone, watching, offers]);
    if (key === this.#drawn) return;
    this.#drawn = key;
    const focused = this.deeds.contains(document.activeElement) ? document.activeElement.textContent : null;
    this.say.className = "say";
    this.say.replaceChildren();
    this.deeds.replaceChildren();
    this.#draw(snapshot, watching);
    if (focused) this.#focus(focused);
  }

  #draw(snapshot, watching) {
    const { phase, reason } = snapshot;
    if (phase === "over") this.#over(snapshot, watching);
    else if (phase === "declined") this.#declined(reason);
    else if (phase === "waiting") this.#waiting(snapshot);
    else if (watching) this.#watching();
    else this.#playing(snapshot);
  }

  /** Focuses the button that was focused before, or their group: never another button, which would do something else. */
  #focus(text) {
    const same = [...this.deeds.children].find((it) => it.textContent === text && !it.disabled);
    (same ?? this.deeds).focus();
  }

  /** The state without a game. */
  clear() {
    this.#drawn = null;
    this.say.replaceChildren();
    this.deeds.replaceChildren(button("New game", this.does.again, "primary"));
  }

  #tell(text, headline = null) {
    if (headline) {
      const line = document.createElement("strong");
      line.className = "headline";
      line.textContent = headline;
      this.say.append(line);
    }
    this.say.append(text);
  }

  #over(snapshot, watching) {
    const won = !watching && snapshot.winner === snapshot.color;
    this.say.classList.add("banner", ...(won ? ["won"] : []));
    const lost = snapshot.gone ? " The server no longer has this game." : "";
    this.#tell(`${endReason(snapshot)}.${lost}`, endHeadline(snapshot, watching));
    const rematch = !watching && !snapshot.gone;
    if (rematch) this.deeds.append(button("Rematch", this.does.rematch, "primary"));
    this.deeds.append(button("New game", this.does.again, rematch ? "" : "primary"));
  }

  #declined(reason) {
    this.say.classList.add("banner");
    this.#tell(reason ?? "No reason given.", "Challenge declined");
    this.deeds.append(button("Choose again", this.does.again, "primary"));
  }

  #waiting({ opponent }) {
    this.say.classList.add("waiting");
    this.#tell(`Waiting for ${opponent?.name ?? "Megaton"} to accept …`);
    this.deeds.append(button("Cancel", this.does.abort));
  }

  #watching() {
    this.#tell("You are watching this game.");
    this.deeds.append(button("Play a game", this.does.again, "primary"));
  }

  #playing({ color, drawOffer, mayOfferDraw, ply, opponent, mayTakeBack, takebackAsked }) {
    if (drawOffer === other(color)) {
      this.#tell(`${opponent?.name ?? "Your opponent"} offers a draw.`);
      const yes = button("Accept the draw", () => this.does.draw("yes"), "primary");
      this.deeds.append(yes, button("Decline", () => this.does.draw("no")));
      return;
    }
    const leave =
      ply < 2
        ? sureButton("Abort", "Really abort?", this.does.abort)
        : sureButton("Resign", "Really resign?", this.does.resign);
    const offer = button(drawOffer ? "Draw offered" : "Offer a draw", () => this.does.draw("yes"));
    offer.disabled = !mayOfferDraw;
    this.deeds.append(leave, offer);
    if (!mayTakeBack) return;
    const undo = button(takebackAsked ? "Takeback requested" : "Take back", this.does.takeback);
    undo.disabled = Boolean(takebackAsked);
    this.deeds.append(undo);
  }
}
