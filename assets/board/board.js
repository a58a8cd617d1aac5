// A board: sliding pieces, explosions, marks, and moves by drag, click or keyboard. The caller sets the
// legal moves and hears which one was chosen. The practice page and the operator's page use it.

import { burnUp, showBlast, stillness } from "./blast.js";
import { around, piecesOf, place } from "./fen.js";
import { Gestures } from "./gestures.js";
import { drawPiece } from "./pieces.js";
import { askPromotion } from "./promotion.js";
import { Squares } from "./squares.js";

const SLIDE = 170;
const BLAST_PAUSE = 380;

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function layer(host, name) {
  const made = document.createElement("div");
  made.className = name;
  host.append(made);
  return made;
}

export class Board {
  #placed = new Map();
  #legal = {};
  #promotions = new Set();
  #selected = null;
  #lent = null;
  #show = 0;
  #motion = "none";
  #cancelPromotion = () => {};

  /**
   * @param host an empty element; the board fills its width
   * @param options.label its name for screen readers
   * @param options.orientation the side at the bottom
   * @param options.onMove called with `{ from, to, promotion }` ("q" … or null); without it the
   *   board is read-only
   */
  constructor(host, { label = "Chess board", orientation = "white", onMove = null } = {}) {
    this.host = host;
    this.onMove = onMove;
    this.orientation = orientation;
    host.classList.add("board");
    host.classList.toggle("playable", Boolean(onMove));
    this.squares = new Squares(layer(host, "squares"), {
      label,
      focusable: Boolean(onMove),
      onEnter: (square) => this.choose(square),
      onEscape: () => this.deselect(),
      onFocus: (square) => this.aim(square),
    });
    this.pieces = layer(host, "pieces");
    this.pieces.setAttribute("aria-hidden", "true");
    this.effects = layer(host, "effects");
    this.view = { fen: "8/8/8/8/8/8/8/8", last: [], blast: [], check: null };
    this.squares.build(orientation);
    if (onMove) this.gestures = new Gestures(this);
  }

  /** Sets the side at the bottom. */
  turnTo(orientation) {
    if (orientation === this.orientation) return;
    this.deselect();
    this.orientation = orientation;
    this.squares.build(orientation);
    this.host.classList.add("instant");
    for (const [square, entry] of this.#placed) this.#put(entry.element, square);
    this.#settle();
    this.#marks();
    this.allow(this.#legal, this.#promotions);
  }

  /**
   * Shows a position: `{ fen, last: [from, to], blast: [squares], check }`. `motion` says how
   * the pieces get there: "forward" plays the move, then its explosion, "back" slides them back, "none"
   * places them at once. Resolves when the motion is over.
   */
  async show(view, { motion = "forward" } = {}) {
    const turn = (this.#show += 1);
    this.#motion = motion;
    const moving = motion !== "none" && !document.hidden && !stillness();
    const blast = motion === "forward" && !document.hidden ? (view.blast ?? []) : [];
    const lent = this.#lent;
    this.view = { last: [], blast: [], check: null, ...view };
    this.deselect();
    this.host.classList.toggle("instant", !moving);
    const next = piecesOf(view.fen);
    if (blast.length > 0) {
      const way = moving ? this.#approach(lent) : 0;
      const mighty = this.#losesKing(next);
      if (way > 0) await wait(way);
      // An explosion is shown even if the reply came at once, but not after the visitor moved on.
      if (turn === this.#show || this.#motion === "forward") showBlast(this.effects, view.last?.[1] ?? blast[0], this.orientation, mighty);
      if (turn !== this.#show) return;
    }
    this.#lent = null;
    this.#reconcile(next, blast);
    this.#marks();
    if (!moving) this.#settle();
    if (moving) await wait(blast.length > 0 ? BLAST_PAUSE : SLIDE);
  }

  /** Sets the legal moves: `{ e2: ["e3", "e4"] }` and the from-to pairs that promote. */
  allow(legal, promotions = []) {
    this.#legal = legal;
    this.#promotions = new Set(promotions);
    this.deselect();
    this.squares.mark({ movable: Object.keys(legal) });
  }

  /** Whether the piece on a square may move. */
  canMove(square) {
    return Boolean(this.#legal[square]?.length);
  }

  /** Whether the selected piece may move to a square. */
  canReach(square) {
    return Boolean(this.#selected && this.#legal[this.#selected]?.includes(square));
  }

  get selected() {
    return this.#selected;
  }

  /** The element of the piece on a square, to drag it. */
  elementOn(square) {
    return this.#placed.get(square)?.element ?? null;
  }

  /** Selects a piece, or a target for the selected piece. */
  choose(square) {
    if (this.canReach(square)) this.attempt(this.#selected, square);
    else if (square !== this.#selected && this.canMove(square)) this.select(square);
    else this.deselect();
  }

  select(square) {
    this.#selected = square;
    const goals = this.#legal[square] ?? [];
    const taken = goals.filter((goal) => this.#takes(square, goal));
    this.squares.mark({ selected: [square], target: goals, capture: taken });
    this.#label();
  }

  /** Ends the selection of a piece, and the choice of what it promotes to. */
  deselect() {
    this.#cancelPromotion();
    if (this.#selected === null) return;
    this.#selected = null;
    this.squares.mark({ selected: [], target: [], capture: [], hover: [], aim: [] });
    this.#label();
  }

  /** Shows the squares that a capture on this square would reach; null clears them. */
  aim(square) {
    const taking = this.canReach(square) && this.#takes(this.#selected, square);
    this.squares.mark({ aim: taking ? around(square) : [] });
  }

  /** How long the capturing piece still slides; starts its slide if needed. */
  #approach(lent) {
    const [from, to] = this.view.last;
    if (lent && lent.from === from && lent.to === to) return lent.arrival - performance.now();
    return this.#slideTo(from, to) ? SLIDE : 0;
  }

  /**
   * Makes a legal move on the board at once and reports it; `restore` takes it back. A `carried` piece
   * is on its target already.
   */
  attempt(from, to, { carried = false } = {}) {
    const make = (promotion) => {
      this.allow({});
      this.#lent = { from, to, arrival: performance.now() + (carried ? 0 : SLIDE) };
      this.#slideTo(from, to);
      this.onMove({ from, to, promotion });
    };
    if (!this.#promotions.has(from + to)) make(null);
    // A capturing piece explodes, so there is no promotion to choose.
    else if (this.#placed.has(to) || from[0] !== to[0]) make("q");
    else this.#ask(from, to, (letter) => (letter ? make(letter) : this.restore()));
  }

  /** Puts the pieces back to the shown position. */
  restore() {
    this.#lent = null;
    this.deselect();
    for (const [square, entry] of this.#placed) this.#put(entry.element, square);
  }

  #ask(from, square, onChoice) {
    const { color } = this.#placed.get(from).piece;
    this.deselect();
    this.#cancelPromotion = askPromotion(this.effects, { square, color, orientation: this.orientation }, onChoice);
  }

  /** An en passant capture is a pawn's diagonal step to an empty square. */
  #takes(from, to) {
    const pawn = this.#placed.get(from)?.piece.role === "pawn";
    return this.#placed.has(to) || (pawn && from[0] !== to[0]);
  }

  #slideTo(from, to) {
    const entry = this.#placed.get(from);
    if (entry) this.#put(entry.element, to, "moving");
    return Boolean(entry);
  }

  #put(element, square, state = "") {
    const { x, y } = place(square, this.orientation);
    element.style.transform = `translate(${x * 100}%, ${y * 100}%)`;
    element.className = state ? `piece ${state}` : "piece";
  }

  #create(square, piece) {
    const element = document.createElement("div");
    element.append(drawPiece(piece));
    this.#put(element, square);
    if (!this.host.classList.contains("instant")) element.classList.add("arriving");
    this.pieces.append(element);
    return { element, piece };
  }

  /** Applies the current places before sliding is enabled again. */
  #settle() {
    void this.host.offsetWidth;
    this.host.classList.remove("instant");
  }

  #marks() {
    const { last, blast, check } = this.view;
    this.squares.mark({ last, scorched: blast, check: check ? [check] : [] });
    this.#label();
  }

  #label() {
    const goals = new Set(this.#selected ? this.#legal[this.#selected] : []);
    this.squares.label((square) => {
      const piece = this.#placed.get(square)?.piece;
      const words = [square, piece ? `${piece.color} ${piece.role}` : "empty"];
      if (square === this.view.check) words.push("in check");
      if (this.view.blast.includes(square)) words.push("blasted");
      if (square === this.#selected) words.push("chosen");
      if (goals.has(square)) words.push(this.#takes(this.#selected, square) ? "can explode here" : "can move here");
      return words.join(", ");
    });
  }

  #losesKing(next) {
    const kings = (pieces) => [...pieces].filter(({ role }) => role === "king").length;
    return kings(next.values()) < kings([...this.#placed.values()].map((entry) => entry.piece));
  }

  /** Changes the pieces on the board to the wanted ones, moving those that match. */
  #reconcile(next, blast) {
    const [from, to] = this.view.last;
    const same = (a, b) => a && b && a.color === b.color && a.role === b.role;
    const leaving = new Map([...this.#placed].filter(([square, entry]) => !same(entry.piece, next.get(square))));
    const coming = [...next].filter(([square, piece]) => !same(this.#placed.get(square)?.piece, piece));
    const settled = new Map([...this.#placed].filter(([square]) => !leaving.has(square)));
    const arriving = new Set();
    for (const [square, piece] of coming) {
      const source = sourceOf(square, piece, leaving, { from, to });
      const entry = source === null ? this.#create(square, piece) : leaving.get(source);
      if (source === null) arriving.add(square);
      leaving.delete(source);
      if (!same(entry.piece, piece)) entry.element.replaceChildren(drawPiece(piece));
      settled.set(square, { element: entry.element, piece });
    }
    for (const [square, entry] of leaving) this.#remove(entry.element, square, blast, { from, to });
    this.#placed = settled;
    for (const [square, entry] of settled) {
      if (arriving.has(square)) continue;
      const { x, y } = place(square, this.orientation);
      const home = `translate(${x * 100}%, ${y * 100}%)`;
      if (entry.element.style.transform !== home) this.#put(entry.element, square, "moving");
      else entry.element.className = "piece";
    }
  }

  #remove(element, square, blast, { from, to }) {
    const stood = square === from ? to : square;
    if (blast.includes(stood)) burnUp(element, stood, to ?? blast[0], this.orientation);
    else element.remove();
  }
}

/** The origin of the piece for a square: the start of the move, or the nearest equal piece. */
function sourceOf(square, piece, leaving, { from, to }) {
  const mover = leaving.get(from)?.piece;
  if (square === to && mover?.color === piece.color && (mover.role === piece.role || mover.role === "pawn")) {
    return from;
  }
  let best = null;
  for (const [other, entry] of leaving) {
    if (other === from && square !== to && to) continue;
    if (entry.piece.color !== piece.color || entry.piece.role !== piece.role) continue;
    if (best === null || distance(other, square) < distance(best, square)) best = other;
  }
  return best;
}

function distance(a, b) {
  const [one, two] = [place(a), place(b)];
  return Math.hypot(one.x - two.x, one.y - two.y);
}
