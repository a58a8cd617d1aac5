// A game on the page: it updates board, clocks, players, moves and actions from the server's snapshots. The
// only other state is the selected ply, which the replay has.

import { Actions } from "./actions.js";
import { Analysis } from "./analysis.js";
import { Board } from "./board.js";
import { Clocks } from "./clock.js";
import { kingToMove, START } from "./fen.js";
import { MoveList } from "./moves.js";
import { PlayerRow, playersBySide } from "./players.js";
import { Replay } from "./replay.js";
import { announceMoves, endHeadline, endReason, other, score } from "./words.js";

const find = (id) => document.getElementById(id);

export class Game {
  #snapshot = null;
  #watching = false;
  #allowed = "";

  /** `does`: move(uci) and the functions of `Actions`. */
  constructor(does) {
    this.does = does;
    this.board = new Board(find("board"), { onMove: (move) => this.#moved(move) });
    this.replay = new Replay(this.board, {
      live: () => this.#live(),
      view: (ply) => this.#view(ply),
      onStep: () => this.#stepped(),
    });
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
    this.moves.update([]);
    this.moves.at(0);
    this.replay.restart();
    this.replay.catchUp();
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
    if (!over && moves.at(-1)?.fen !== before?.moves.at(-1)?.fen) this.replay.select(moves.length);
    this.#people();
    if (clock) this.clocks.set(clock);
    this.actions.update(this.#snapshot, { watching });
    if (over && moves.length > 0) this.analysis.offer({ id: snapshot.game, moves, winner: snapshot.winner });
    this.#announce(before);
    this.#entitle();
    // A move that came after the end was not played.
    if (over && this.replay.isThere) this.board.restore();
    this.#catchUp();
  }

  /** Shows the position after so many plies; the last one means the current position. */
  browse(ply) {
    this.replay.select(ply);
    this.#catchUp();
  }

  flip() {
    this.board.turnTo(other(this.board.orientation));
    this.#placePlayers(this.board.orientation);
    this.#people();
    if (this.#snapshot?.clock) this.clocks.set({ ...this.#snapshot.clock, ...this.#now() });
  }

  /** The server no longer has this finished game: no rematch and no analysis. */
  gone() {
    this.#snapshot.gone = true;
    this.actions.update(this.#snapshot, { watching: this.#watching });
    this.analysis.withdraw();
  }

  /** Takes back a move that the server refused. */
  undo() {
    this.board.restore();
    this.#allowed = "";
    this.#allow();
  }

  #begin(color) {
    this.analysis.clear();
    this.replay.restart();
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
      this.player[side].tally(this.#fenAt(this.replay.ply));
    }
  }

  #live() {
    return this.#snapshot?.moves.length ?? 0;
  }

  #fenAt(ply) {
    if (ply === 0) return this.#live() === 0 ? (this.#snapshot?.fen ?? START) : START;
    return this.#snapshot.moves[ply - 1].fen;
  }

  /** What the board shows after so many plies. */
  #view(ply) {
    const move = ply > 0 ? this.#snapshot.moves[ply - 1] : null;
    const last = move ? [move.uci.slice(0, 2), move.uci.slice(2, 4)] : [];
    const check = move && /[+#]/.test(move.san) ? kingToMove(move.fen) : null;
    return { fen: this.#fenAt(ply), last, blast: move?.blast ?? [], check };
  }

  #catchUp() {
    // The list is ahead of the board, so that quick key presses add up.
    this.moves.at(this.replay.ply);
    this.analysis.at(this.replay.ply);
    this.replay.catchUp();
  }

  #stepped() {
    this.#people();
    this.#allow();
  }

  /** Enables the legal moves while the board shows the current position. */
  #allow() {
    const { phase, legal = {}, promotions = [] } = this.#snapshot ?? {};
    const live = this.replay.isLive && this.replay.isThere;
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
    const words = before && before.game === this.#snapshot.game ? announceMoves(before.moves, moves) : [];
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
