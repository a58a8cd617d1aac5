// A list that loads page by page. Its filters are in the URL, so that a view can be linked to. It loads
// only what the reader requests.

import { make } from "./format.js";
import { get } from "./wire.js";

const PAGE = 50;
/** Delay of the request after the last change of a filter, in milliseconds. */
const PAUSE = 250;

const find = (id) => document.getElementById(id);

/**
 * Fills the element `host` from `path` by the filters of this page. `table` draws the rows, `mark` gives
 * the cursor of the last one, and `none` is the text of an empty list.
 */
export class List {
  #shown = [];
  #asked = 0;
  #timer = null;

  constructor(path, host, { table, mark, none }) {
    Object.assign(this, { path, host, table, mark, none });
    this.form = find("filters");
    this.more = find("more");
    for (const [name, value] of new URLSearchParams(location.search)) {
      // A form has other named properties than its fields, such as `length`.
      const field = this.form.elements[name];
      if (field instanceof HTMLElement) field.value = value;
    }
    this.form.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.load(), PAUSE);
    });
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.more.addEventListener("click", () => this.load(this.#shown.at(-1)));
  }

  #wanted() {
    const fields = [...new FormData(this.form)].map(([name, value]) => [name, value.trim()]);
    return new URLSearchParams(fields.filter(([, value]) => value));
  }

  /** Loads the first page, or the one after a row. */
  async load(last) {
    const turn = (this.#asked += 1);
    const query = this.#wanted();
    history.replaceState(null, "", query.size > 0 ? `?${query}` : location.pathname);
    query.set("limit", PAGE);
    for (const [name, value] of Object.entries(last ? this.mark(last) : {})) query.set(name, value);
    const found = await get(`${this.path}?${query}`);
    if (turn !== this.#asked) return;
    if (!Array.isArray(found)) {
      this.#complain(`${found.text}.`, last);
      return;
    }
    this.#shown = last ? [...this.#shown, ...found] : found;
    const any = this.#shown.length > 0;
    this.host.replaceChildren(any ? this.table(this.#shown) : make("p", "soft", this.none));
    this.#goesOn(found.length >= PAGE);
    find("said").textContent = any ? `${this.#shown.length} listed${this.more.hidden ? ", and no more" : ""}` : this.none;
  }

  /** Keeps the shown rows, so that the reader can retry. */
  #complain(text, last) {
    const said = make("p", "bad", text);
    said.setAttribute("role", "alert");
    if (last) {
      this.host.querySelector(".bad")?.remove();
      this.host.append(said);
      return;
    }
    this.#shown = [];
    this.host.replaceChildren(said);
    this.#goesOn(false);
  }

  /** Moves the focus of a removed button to the list. */
  #goesOn(yes) {
    const pressed = document.activeElement === this.more;
    this.more.hidden = !yes;
    if (pressed && !yes) this.host.focus();
  }
}
