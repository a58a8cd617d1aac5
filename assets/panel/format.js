// Formats of numbers, times and scores, and a helper to create elements. Pure except for `make`.

export { barText, scoreText, share, spokenScore } from "/assets/board/score.js";

/** An element with a class and children: texts, elements, or nothing. */
export function make(tag, className = "", ...content) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...content.filter((part) => part !== null && part !== undefined));
  return made;
}

/** A link. */
export function link(href, className, ...content) {
  const made = make("a", className, ...content);
  made.href = href;
  return made;
}

/** A button with an action. */
export function button(text, className, onClick) {
  const made = make("button", className, text);
  made.type = "button";
  made.addEventListener("click", onClick);
  return made;
}

/** A large number, shortened: `950`, `12.3k`, `4.1M`. */
export function count(number) {
  if (number === null || number === undefined) return "–";
  const steps = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];
  for (const [size, letter] of steps) {
    if (number < size) continue;
    const value = number / size;
    return `${value >= 100 ? Math.round(value) : value.toFixed(1)}${letter}`;
  }
  return String(Math.round(number));
}

/** A duration in its largest unit: `0.8 s`, `45 s`, `12 min`, `3 h`, `5 d`. */
export function span(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129_600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** How long ago a time was. */
export function ago(at, now) {
  const gone = now - at;
  if (gone < 2000) return "just now";
  return gone < 10_000 ? `${Math.round(gone / 1000)} s ago` : `${span(gone)} ago`;
}

/** A time in the reader's time zone. */
export function clockTime(at) {
  return new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
}

/** A day and a time. */
export function day(at) {
  const options = { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hour12: false };
  return new Date(at).toLocaleString([], options);
}

/** A day and a time to the second. */
export function exact(at) {
  const options = { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false };
  return new Date(at).toLocaleString([], options);
}

/** A difference with its sign; nothing for none. */
export function signed(number) {
  if (number === null || number === undefined) return "";
  if (number === 0) return "±0";
  return number > 0 ? `+${number}` : `−${-number}`;
}

/** Our result of a game: `win`, `loss`, `draw`, or `none` for one without a result. */
export function outcome(game) {
  return game.outcome ?? "none";
}
