// A game on the page: it updates board, clocks, players, moves and actions from the server's snapshots. Its
// only own state is the selected ply.

import { Actions } from "./actions.js";
import { Analysis } from "./analysis.js";
import { Board } from "./board.js";
import { Clocks } from "./clock.js";
import { START } from "./fen.js";
import { MoveList } from "./moves.js";
import { PlayerRow, playersBySide } from "./players.js";
import { announceMove, endHeadline, endReason, other, score } from "./words.js";

const find = (id) => document.getElementById(id);

export class Game {
  #snapshot = null;
  #watching = false;
  /** The selected ply, or null for the current position. */
  #browsed = null;
  #shown = 0;
  #showing = false;
  #allowed = "";

  /** `does`: move(uci) and the functions of `Actions`. */
  constructor(does) {
    this.does = does;
    this.board = new Board(find("board"), { onMove: (move) => this.#moved(move) });
    this.rows = { top: new PlayerRow(find("player-top")), bottom: new PlayerRow(find("player-bottom")) };
    this.clocks = new Clocks((color, face) => this.player[color].time(face));
    this.actions = new Actions({ say: find("say"), deeds: find("deeds") }, does);
    this.announcer = find("announcer");
    this.moves = new MoveList(
      {
        list: find("move-list"),
        first: find("move-first"),
        back: find("move-back"),
        forward: find("move-forward"),
        last: find("move-last"),
      },
      (ply) => this.browse(ply),
    );
    this.analysis = new Analysis({
      onBrowse: (ply) => this.browse(ply),
      onMark: (...mark) => this.moves.mark(...mark),
    });
    this.clear();
  }

  /** The board without a game. */
  clear() {
    this.#snapshot = null;
    this.#browsed = null;
    this.#shown = 0;
    this.moves.update([]);
    this.moves.at(0);
    this.board.allow({});
    this.board.show({ fen: START }, { motion: "none" });
    this.actions.clear();
    this.analysis.clear();
    this.clocks.clear();
    this.#placePlayers(this.board.orientation);
    document.title = "Megaton";
  }

  /** Shows a snapshot of the game. */
  apply(snapshot, { watching }) {
    const before = this.#snapshot;
    this.#snapshot = { ...snapshot, moves: snapshot.moves ?? [] };
    this.#watching = watching;
    if (!before || before.game !== snapshot.game) this.#begin(snapshot.color ?? "white");
    const { moves, phase, clock } = this.#snapshot;
    const over = phase === "over";
    this.moves.update(moves, over ? { score: score(snapshot), reason: endReason(this.#snapshot) } : null);
    if (!over && moves.length !== before?.moves.length) this.#browsed = null;
    this.#people();
    if (clock) this.clocks.set(clock);
    this.actions.update(this.#snapshot, { watching });
    if (over && moves.length > 0) this.analysis.offer({ id: snapshot.game, moves, winner: snapshot.winner });
    this.#announce(before);
    this.#entitle();
    this.#catchUp();
  }

  /** Shows the position after so many plies; the last one means the current position. */
  browse(ply) {
    this.#browsed = ply >= this.#live() ? null : ply;
    this.#catchUp();
  }

  flip() {
    this.board.turnTo(other(this.board.orientation));
    this.#placePlayers(this.board.orientation);
    this.#people();
    if (this.#snapshot?.clock) this.clocks.set({ ...this.#snapshot.clock, ...this.#now() });
  }

  /** Takes back a move that the server refused. */
  undo() {
    this.board.restore();
    this.#allowed = "";
    this.#allow();
  }

  #begin(color) {
    this.analysis.clear();
    this.#browsed = null;
    this.#shown = -1;
    this.#allowed = "";
    this.board.turnTo(color);
    this.#placePlayers(color);
  }

  #placePlayers(orientation) {
    this.player = playersBySide(this.rows.top, this.rows.bottom, orientation);
    for (const side of ["white", "black"]) this.player[side].clear(side);
  }

  #now() {
    return { white: this.clocks.left("white"), black: this.clocks.left("black") };
  }

  #people() {
    const snapshot = this.#snapshot;
    if (!snapshot) return;
    const { color, you, opponent, turn, phase, ratingDiff } = snapshot;
    for (const side of ["white", "black"]) {
      this.player[side].show(side, side === color ? you : opponent, ratingDiff?.[side]);
      this.player[side].turn(phase === "playing" && turn === side);
      this.player[side].tally(this.#fenAt(this.#looksAt()));
    }
  }

  #live() {
    return this.#snapshot?.moves.length ?? 0;
  }

  #looksAt() {
    return this.#browsed ?? this.#live();
  }

  #fenAt(ply) {
    if (ply === 0) return this.#live() === 0 ? (this.#snapshot?.fen ?? START) : START;
    return this.#snapshot.moves[ply - 1].fen;
  }

  /** What the board shows after so many plies. */
  #view(ply) {
    const move = ply > 0 ? this.#snapshot.moves[ply - 1] : null;
    const last = move ? [move.uci.slice(0, 2), move.uci.slice(2, 4)] : [];
    const check = ply === this.#live() ? this.#snapshot.check : null;
    return { fen: this.#fenAt(ply), last, blast: move?.blast ?? [], check };
  }

  /** Moves the board towards the selected ply, move by move if it is near. */
  async #catchUp() {
    // The list is ahead of the board, so that quick key presses add up.
    this.moves.at(this.#looksAt());
    this.analysis.at(this.#looksAt());
    if (this.#showing) return;
    this.#showing = true;
    try {
      while (this.#shown !== this.#looksAt()) await this.#step(this.#looksAt());
    } finally {
      this.#showing = false;
    }
    this.#allow();
  }

  #step(goal) {
    const way = goal - this.#shown;
    const next = this.#shown >= 0 && way > 0 && way <= 2 ? this.#shown + 1 : goal;
    let motion = "none";
    if (this.#shown >= 0 && next === this.#shown + 1) motion = "forward";
    else if (this.#shown >= 0 && way === -1) motion = "back";
    this.#shown = next;
    this.#people();
    this.#allow();
    return this.board.show(this.#view(next), { motion });
  }

  /** Enables the legal moves while the board shows the current position. */
  #allow() {
    const { phase, legal = {}, promotions = [] } = this.#snapshot ?? {};
    const live = !this.#showing && this.#browsed === null && this.#shown === this.#live();
    const granted = live && phase === "playing" && !this.#watching ? legal : {};
    const key = JSON.stringify([granted, this.#live()]);
    if (key === this.#allowed) return;
    this.#allowed = key;
    this.board.allow(granted, promotions);
  }

  #moved({ from, to, promotion }) {
    this.#allowed = "";
    this.does.move(from + to + (promotion ?? ""));
  }

  #announce(before) {
    const { moves, phase } = this.#snapshot;
    const words = [];
    const known = before && before.game === this.#snapshot.game ? before.moves.length : moves.length;
    moves.slice(known).forEach((move, index) => {
      words.push(announceMove(move, (known + index) % 2 === 0 ? "white" : "black"));
    });
    if (phase === "over" && before?.phase !== "over") {
      words.push(`${endHeadline(this.#snapshot, this.#watching)}. ${endReason(this.#snapshot)}.`);
    }
    if (phase === "playing" && before && before.phase !== "playing" && !this.#watching) {
      words.push(`The game begins. You play ${this.#snapshot.color}.`);
    }
    if (words.length > 0) this.announcer.textContent = words.join(" ");
  }

  #entitle() {
    const { phase, turn, color } = this.#snapshot;
    const ours = phase === "playing" && turn === color && !this.#watching;
    const over = phase === "over" ? endHeadline(this.#snapshot, this.#watching) : null;
    document.title = `${over ?? (ours ? "Your move" : "Atomic chess")} · Megaton`;
  }
}
