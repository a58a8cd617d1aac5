// Communication with the server: commands by POST, snapshots by server-sent events, reopened as long as
// the page wants them.

const RETRY = [300, 700, 1500, 3000, 5000];

/** A refusal by the server, with its message. */
export class Refused extends Error {}

/** The server could not be reached. */
export class Unreachable extends Error {}

/** The server's response, unless it refuses. */
async function request(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (cause) {
    throw new Unreachable("cannot reach the server", { cause });
  }
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => ({}));
  throw new Refused(String(body.error ?? `server error ${answer.status}`));
}

async function ask(path, options) {
  const answer = await request(path, options);
  return answer.json().catch(() => ({}));
}

const post = (path, body) =>
  ask(path, {
    method: "POST",
    ...(body && { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }),
  });

const part = encodeURIComponent;

export const newGame = (wishes) => post("/play/new", wishes);
export const sendMove = (ticket, uci) => post(`/play/${part(ticket)}/move/${part(uci)}`);
export const command = (ticket, verb) => post(`/play/${part(ticket)}/${verb}`);
export const levels = () => ask("/play/levels");
export const runningGames = () => ask("/play/games");

export const playEvents = (ticket) => `/play/${part(ticket)}/events`;
export const watchEvents = (game) => `/play/watch/${part(game)}/events`;

/** Has the server analyse a finished game, and calls `onReport` with each line of its response. */
export async function analyse(game, signal, onReport) {
  const answer = await request(`/play/watch/${part(game)}/analysis`, { method: "POST", signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) onReport(JSON.parse(line));
  }
}

/** Whether the server knows a URL of events. */
async function isGone(path) {
  const asking = new AbortController();
  try {
    const answer = await fetch(path, { signal: asking.signal });
    asking.abort();
    return answer.status === 404 || answer.status === 410;
  } catch {
    return false;
  }
}

/** One stream of snapshots, kept open: `onSnapshot`, `onLost`, `onBack`, and `onGone` at the end. */
export class Stream {
  #source = null;
  #timer = null;
  #failures = 0;
  #closed = false;

  constructor(path, handlers) {
    this.path = path;
    this.handlers = handlers;
    this.#open();
    this.retryNow = () => this.#failures > 0 && this.#open();
    window.addEventListener("online", this.retryNow);
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#source?.close();
    window.removeEventListener("online", this.retryNow);
  }

  #open() {
    clearTimeout(this.#timer);
    this.#source?.close();
    const source = new EventSource(this.path);
    this.#source = source;
    // Its first snapshot shows that it is back: one that ends without any waits longer each time.
    source.addEventListener("snapshot", (event) => this.#receive(event.data));
    source.addEventListener("error", () => this.#lost(source));
  }

  #receive(data) {
    let snapshot;
    try {
      snapshot = JSON.parse(data);
    } catch {
      return;
    }
    this.#back();
    this.handlers.onSnapshot(snapshot);
  }

  #back() {
    if (this.#failures > 0) this.handlers.onBack();
    this.#failures = 0;
  }

  async #lost(source) {
    // A response that is no stream closes it for good; a broken connection does not.
    const refused = source.readyState === EventSource.CLOSED;
    source.close();
    if (this.#closed || source !== this.#source) return;
    const wait = RETRY[Math.min(this.#failures, RETRY.length - 1)];
    this.#failures += 1;
    if (refused && (await isGone(this.path))) {
      if (!this.#closed) this.handlers.onGone();
      this.close();
      return;
    }
    if (this.#closed) return;
    // A stream that ends between two games is reopened silently.
    if (this.#failures > 1) this.handlers.onLost();
    this.#timer = setTimeout(() => this.#open(), wait);
  }
}
