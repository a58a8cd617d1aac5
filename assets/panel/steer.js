// The operator's commands: a dialog behind a password, and the buttons of a game. Commands that cannot be
// undone ask for confirmation. The page shows the bot's response.

import { button, make } from "./format.js";
import { logIn, logOut, post } from "./wire.js";

function field(name, label, attributes = {}) {
  const input = make("input");
  Object.assign(input, { name, id: `desk-${name}-${Math.random().toString(36).slice(2, 7)}`, autocomplete: "off", ...attributes });
  const caption = make("label", "", label);
  caption.htmlFor = input.id;
  return make("span", "field", caption, input);
}

function choice(name, label, options) {
  const select = make("select");
  Object.assign(select, { name, id: `desk-${name}` });
  for (const [value, text] of options) {
    const option = make("option", "", text);
    option.value = value;
    select.append(option);
  }
  const caption = make("label", "", label);
  caption.htmlFor = select.id;
  return make("span", "field", caption, select);
}

/** A form of one line: its fields, and the command that it sends. */
function form(title, verb, fields, order, act) {
  const made = make("form", "desk-form", make("h3", "", title), ...fields);
  const submit = make("button", "", verb);
  made.append(submit);
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = Object.fromEntries([...new FormData(made)].map(([key, value]) => [key, value.trim()]).filter(([, value]) => value));
    act(order(given), () => made.reset());
  });
  return made;
}

/** Sends a command. Without a session, as after a restart, the password field appears. */
async function give(order, shell) {
  const answer = await post("/api/control", order);
  if (answer.status === 401) shell.desk.open(answer.text);
  return answer;
}

/** Asks for confirmation; resolves to the answer. */
export function confirmed(question, verb) {
  return new Promise((resolve) => {
    const dialog = make("dialog", "desk ask");
    const close = (meant) => {
      dialog.close();
      dialog.remove();
      resolve(meant);
    };
    const yes = button(verb, "danger", () => close(true));
    const no = button("Cancel", "quiet", () => close(false));
    dialog.append(make("p", "", question), make("div", "desk-buttons", yes, no));
    dialog.addEventListener("close", () => close(false));
    document.body.append(dialog);
    dialog.showModal();
    no.focus();
  });
}

/** The dialog with all commands. */
export class Desk {
  #filled = "";

  constructor(shell) {
    this.shell = shell;
    this.dialog = make("dialog", "desk");
    this.dialog.setAttribute("aria-label", "Control the bot");
    this.said = make("p", "desk-said");
    this.said.setAttribute("role", "status");
    document.body.append(this.dialog);
  }

  /** Opens the dialog, with a message if there is one. */
  open(text = "") {
    if (!this.dialog.open) {
      this.#fill();
      this.dialog.showModal();
    }
    this.say(text, !text);
    this.shell.refresh();
  }

  /** Shows the commands that the session allows. Keeps the input if they did not change. */
  renew() {
    if (this.dialog.open && this.#filled !== this.#allowed()) this.#fill();
  }

  /** Sends a command and shows the response in the dialog. */
  async tell(order, done = () => {}) {
    const answer = await give(order, this.shell);
    this.say(answer.text || (answer.ok ? "done" : "refused"), answer.ok);
    if (answer.ok) done();
    return answer;
  }

  say(text, good = true) {
    this.said.textContent = text;
    this.said.classList.toggle("bad", !good);
  }

  #allowed() {
    const { steerable, steers } = this.shell.me;
    return JSON.stringify([steerable, steers]);
  }

  #fill() {
    const { steerable, steers } = this.shell.me;
    this.#filled = this.#allowed();
    const close = button("Close", "quiet", () => this.dialog.close());
    const content = steers ? this.#verbs() : [steerable ? this.#password() : closed()];
    this.dialog.replaceChildren(make("header", "desk-head", make("h2", "", "Control the bot"), close), ...content, this.said);
  }

  #password() {
    const login = async (given) => {
      const answer = await logIn(given);
      this.say(answer.text, answer.ok);
      if (answer.ok) this.shell.refresh();
    };
    return form("Log in", "Log in", [field("password", "Password", { type: "password", required: true })], (given) => given, login);
  }

  #verbs() {
    const act = (order, done) => this.tell(order, done);
    const simple = (text, order, style = "") => button(text, style, () => act(order));
    const asked = (text, question, order) =>
      button(text, "danger", async () => (await confirmed(question, text)) && act(order));
    const row = (title, ...buttons) => make("section", "desk-row", make("h3", "", title), make("div", "desk-buttons", ...buttons));
    const rated = (given) => ({ ...given, ...(given.rated ? { rated: given.rated === "yes" } : {}) });
    const leave = button("Log out", "quiet", async () => {
      await logOut();
      this.say("");
      this.shell.refresh();
    });
    return [
      row("New games", simple("Pause", { do: "pause" }), simple("Resume", { do: "resume" }), simple("Rechallenge", { do: "rechallenge" })),
      row("Matchmaking", simple("On", { do: "matchmaking", on: true }), simple("Off", { do: "matchmaking", on: false }), simple("Cancel our challenge", { do: "cancel" })),
      form(
        "Challenge",
        "Challenge",
        [
          field("user", "Account", { required: true, maxLength: 30 }),
          field("what", "Clock or profile", { placeholder: "3+2", maxLength: 40, size: 8 }),
          choice("rated", "Rated", [["", "as the profile"], ["yes", "rated"], ["no", "casual"]]),
          choice("color", "Colour", [["", "any"], ["white", "white"], ["black", "black"]]),
        ],
        (given) => ({ do: "challenge", ...rated(given) }),
        act,
      ),
      form("Join an arena", "Join", [field("arena", "Arena id", { required: true, maxLength: 8 }), field("password", "Password", { type: "password" }), field("team", "Team")], (given) => ({ do: "join", ...given }), act),
      form("Block an account", "Block", [field("user", "Account", { required: true, maxLength: 30 })], (given) => ({ do: "block", ...given }), async (order, done) => {
        if (await confirmed(`All challenges of ${order.user} will be declined.`, "Block")) act(order, done);
      }),
      form("Unblock an account", "Unblock", [field("user", "Account", { required: true, maxLength: 30 })], (given) => ({ do: "unblock", ...given }), act),
      row("The bot", simple("Reload the config", { do: "reload" }), asked("Drain", "The bot accepts no new games, finishes its games and exits. This cannot be undone from here.", { do: "drain" }), leave),
    ];
  }
}

function closed() {
  return make(
    "p",
    "",
    "Commands are disabled on this page: put a password of 16 characters or more into a file, name it in ",
    make("code", "", "[panel] token_file"),
    " and run ",
    make("code", "", "megaton reload"),
    ". Meanwhile ",
    make("code", "", "megaton status"),
    " and the other commands work in a terminal.",
  );
}

/** Which commands the session has for a game. */
function allowedDeeds(game, shell) {
  if (!shell.me.steers) return "none";
  if (game.ending) return "over";
  return (game.ply ?? game.plies) < 2 ? "early" : "late";
}

/**
 * Replaces the buttons of a group. The focus goes from a button to the same one, or to the group: never to
 * another button, which would do something else.
 */
function replaceButtons(host, said, buttons) {
  const focused = host.contains(document.activeElement) ? document.activeElement.textContent : null;
  for (const child of [...host.children]) if (child !== said) child.remove();
  host.prepend(...buttons);
  if (focused !== null) (buttons.find((it) => it.textContent === focused) ?? host).focus({ preventScroll: true });
}

/** The commands of a game, for the operator. A card has its `ply`, a whole game its `plies`. */
export function gameDeeds(host, game, shell) {
  const wanted = allowedDeeds(game, shell);
  if (host.dataset.deeds === wanted) return;
  host.dataset.deeds = wanted;
  host.tabIndex = -1;
  host.setAttribute("role", "group");
  host.setAttribute("aria-label", "Commands");
  // The response to the command that ended the game stays.
  let said = host.querySelector(".deed-said");
  if (wanted === "none") return replaceButtons(host, null, []);
  if (wanted === "over") return replaceButtons(host, said, []);
  if (!said) {
    said = make("span", "deed-said");
    said.setAttribute("role", "status");
    host.append(said);
  }
  const act = async (order) => {
    const answer = await give(order, shell);
    said.textContent = answer.text;
    said.classList.toggle("bad", !answer.ok);
  };
  const opponent = game.us === "white" ? game.black.name : game.white.name;
  const asked = (text, question, order) =>
    button(text, "small danger", async () => {
      const meant = await confirmed(question, text);
      // The button may have been replaced meanwhile.
      if (document.activeElement === document.body) host.focus({ preventScroll: true });
      if (meant) act(order);
    });
  const say = button("Say", "small", async () => {
    const dialog = make("dialog", "desk ask");
    dialog.setAttribute("aria-label", `To ${opponent}`);
    const line = form(`To ${opponent}`, "Send", [field("text", "Chat message", { required: true, maxLength: 140 })], (given) => ({ do: "say", game: game.id, ...given }), (order) => {
      dialog.close();
      act(order);
    });
    dialog.append(line, button("Cancel", "quiet", () => dialog.close()));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  });
  const end = wanted === "early"
    ? asked("Abort", `The game against ${opponent} will be aborted.`, { do: "abort", game: game.id })
    : asked("Resign", `The game against ${opponent} will be resigned.`, { do: "resign", game: game.id });
  replaceButtons(host, said, [say, end]);
}
