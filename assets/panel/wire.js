// Communication with the server: JSON requests, and the stream of events, which is reopened whenever it
// breaks. A hidden page closes its stream.

const RETRY = [500, 1000, 2000, 4000, 8000];
/** How long a hidden page keeps its stream, in milliseconds. */
const HIDDEN_FOR = 15_000;

/** Where the page keeps the token of its session. Commands need it beside the cookie, which servers on other ports of this host get too. */
const TOKEN = "megaton-token";
/** The token, where the browser stores nothing. */
let unstored = null;

function sessionToken() {
  try {
    return localStorage.getItem(TOKEN) ?? unstored;
  } catch {
    return unstored;
  }
}

function keepToken(token) {
  unstored = token;
  try {
    if (token) localStorage.setItem(TOKEN, token);
    else localStorage.removeItem(TOKEN);
  } catch {
    // Then each page of the bot asks for the password before commands.
  }
}

async function ask(path, { headers, ...options }) {
  try {
    const token = sessionToken();
    const answer = await fetch(path, { ...options, headers: token ? { ...headers, "x-megaton-token": token } : headers });
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

/** Begins a session: `{ password }` in, `{ ok, text }` out. */
export async function logIn(given) {
  const answer = await post("/api/login", given);
  if (answer.ok) keepToken(answer.token);
  return answer;
}

export async function logOut() {
  await post("/api/logout", {});
  keepToken(null);
}

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
