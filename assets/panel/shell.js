// The top of every page: navigation, the status of the bot, its alerts, and the operator's button.

import { button, link, make, span } from "./format.js";
import { Desk } from "./steer.js";
import { get } from "./wire.js";

const PAGES = [
  ["live", "/", "Live"],
  ["games", "/games", "Games"],
  ["opponents", "/opponents", "Opponents"],
  ["challenges", "/challenges", "Challenges"],
  ["events", "/events", "Events"],
];

const STATES = {
  connecting: "connecting",
  playing: "playing",
  paused: "paused",
  alert: "alert",
  draining: "ending",
};

/** The duration of an alert. It changes all the time, so screen readers do not announce it. */
function lasting() {
  const made = make("span", "soft");
  made.setAttribute("aria-live", "off");
  return made;
}

/** Milliseconds until the next request for the session while there is no response. */
const AGAIN = 2000;

export class Shell {
  #status = null;
  #asked = 0;

  /** `bar` is the header, `alerts` the strip below it; `page` names this page. */
  constructor(bar, alerts, { page }) {
    this.alerts = alerts;
    this.me = { steerable: false, steers: false, server: "https://lichess.org" };
    /** Called when the operator logs in or out. */
    this.onSteering = () => {};
    this.desk = new Desk(this);
    this.state = make("p", "state", "…");
    this.state.setAttribute("role", "status");
    this.account = make("span", "account");
    const logo = make("img");
    Object.assign(logo, { src: "/assets/board/logo.svg", alt: "", width: 32, height: 32 });
    const brand = link("/", "brand", logo, make("span", "wordmark", "Megaton"), this.account);
    const nav = make("nav");
    nav.setAttribute("aria-label", "Pages");
    for (const [name, href, text] of PAGES) {
      const item = link(href, "", text);
      if (name === page) item.setAttribute("aria-current", "page");
      nav.append(item);
    }
    this.operate = button("Control", "quiet", () => (this.me.spectator ? location.assign("/login") : this.desk.open()));
    bar.append(brand, nav, this.state, this.operate);
    this.refresh();
  }

  /** Requests the session. If the page needs a password, the login page replaces it. */
  async refresh() {
    const turn = (this.#asked += 1);
    const me = await get("/api/me");
    if (turn !== this.#asked) return;
    if (me.status === 401) return location.reload();
    if (me.server) this.me = me;
    else setTimeout(() => turn === this.#asked && this.refresh(), AGAIN);
    document.body.classList.toggle("spectator", Boolean(this.me.spectator));
    this.operate.textContent = this.me.spectator ? "Log in" : "Control";
    this.operate.className = this.me.steers ? "primary" : "quiet";
    this.desk.renew();
    this.onSteering();
  }

  /** Sets the status of the bot. */
  status(status) {
    this.#status = status;
    this.account.textContent = status.account ?? "";
    this.state.className = `state ${status.state}`;
    this.state.textContent = STATES[status.state] ?? status.state;
    this.#entitle();
    this.#alert(status.alerts ?? []);
  }

  #alert(alerts) {
    const key = alerts.map(({ kind, text }) => kind + text).join();
    this.alerts.hidden = alerts.length === 0;
    if (this.alerts.dataset.key !== key) {
      this.alerts.dataset.key = key;
      this.alerts.replaceChildren(...alerts.map(({ kind, text }) => make("p", "alert", make("b", "", kind), ` ${text}`, lasting())));
    }
    alerts.forEach(({ since }, index) => {
      this.alerts.children[index].lastElementChild.textContent = ` for ${span(since * 1000)}`;
    });
  }

  /** Whether the stream is open. A restarted bot has no sessions, so the session is requested again. */
  connected(open) {
    this.refresh();
    document.body.classList.toggle("deaf", !open);
    if (open) {
      if (this.me.spectator) this.state.textContent = "";
      if (this.#status) this.status(this.#status);
      return;
    }
    this.state.className = "state deaf";
    this.state.textContent = "no connection to the bot";
  }

  #entitle() {
    const { account, games, alerts } = this.#status;
    if (this.fixedTitle) return;
    const warning = alerts?.length ? "⚠ " : "";
    const running = games?.length ? `${games.length} game${games.length === 1 ? "" : "s"} · ` : "";
    document.title = `${warning}${running}${account ?? "Megaton"}`;
  }
}
