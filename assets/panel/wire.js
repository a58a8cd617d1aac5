// Communication with the server: JSON requests, and the stream of events, which is reopened whenever it
// breaks. A hidden page closes its stream.

const RETRY = [500, 1000, 2000, 4000, 8000];
/** How long a hidden page keeps its stream, in milliseconds. */
const HIDDEN_FOR = 15_000;

async function ask(path, options) {
  try {
    const answer = await fetch(path, options);
    const body = await answer.json();
    if (Array.isArray(body)) return body;
    return answer.ok ? body : { ok: false, text: `server error ${answer.status}`, ...body, status: answer.status };
  } catch {
    return { ok: false, text: "cannot reach the bot" };
  }
}

/** Requests JSON. Failures resolve to `{ ok: false, text }`, refusals also have their `status`. */
export const get = (path) => ask(path, { headers: { accept: "application/json" } });

/** Sends JSON and resolves to the response, `{ ok, text }` and more. */
export const post = (path, body) =>
  ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

/** Events from the server: `on` has a function per kind; `onState(open)` gets the state of the stream. */
export class News {
  #source = null;
  #timer = null;
  #hide = null;
  #failures = 0;
  #offset = 0;

  constructor(path, on, onState) {
    this.path = path;
    this.on = on;
    this.onState = onState;
    document.addEventListener("visibilitychange", () => this.#looked());
    window.addEventListener("online", () => this.#failures > 0 && this.#open());
    window.addEventListener("pagehide", () => this.#close());
    window.addEventListener("pageshow", (event) => event.persisted && this.#open());
    if (!document.hidden) this.#open();
  }

  /** The server's clock, in milliseconds since 1970. */
  now() {
    return Date.now() + this.#offset;
  }

  #looked() {
    clearTimeout(this.#hide);
    if (document.hidden) this.#hide = setTimeout(() => this.#close(), HIDDEN_FOR);
    else if (!this.#source) this.#open();
  }

  #close() {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }

  #open() {
    this.#close();
    const source = new EventSource(this.path);
    this.#source = source;
    source.addEventListener("hello", (event) => {
      this.#offset = JSON.parse(event.data).now - Date.now();
      this.#failures = 0;
      this.onState(true);
    });
    for (const [kind, tell] of Object.entries(this.on)) {
      source.addEventListener(kind, (event) => tell(JSON.parse(event.data)));
    }
    source.addEventListener("error", () => this.#lost(source));
  }

  #lost(source) {
    source.close();
    if (source !== this.#source) return;
    this.#source = null;
    const wait = RETRY[Math.min(this.#failures, RETRY.length - 1)];
    this.#failures += 1;
    if (this.#failures > 1) this.onState(false);
    this.#timer = setTimeout(() => this.#open(), wait * (0.75 + Math.random() / 2));
  }
}
