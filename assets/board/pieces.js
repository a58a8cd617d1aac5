// The pieces of Megaton: one drawing per role, coloured by gradients and custom properties, as symbols of
// a sprite that a document contains once.

const SVG = "http://www.w3.org/2000/svg";
const VIEW = "0 0 100 100";

// Each part: the path and its kind. `body` is filled and outlined, `line` is an engraved line,
// `core` is the glowing centre of a king.
const FOOT = ["body", "M23 91V87Q23 79 32 79H68Q77 79 77 87V91Q77 92.5 75.5 92.5H24.5Q23 92.5 23 91Z"];
const FOOT_LINE = ["line", "M30 86H70"];

const DRAWINGS = {
  pawn: [
    ["body", "M44 54C43 66 38 72 30 79H70C62 72 57 66 56 54Z"],
    ["body", "M37 54Q35 54 35 51.5T37 49H63Q65 49 65 51.5T63 54Z"],
    ["body", "M50 20A15.5 15.5 0 0 1 60 47.5Q58 49 55 49H45Q42 49 40 47.5A15.5 15.5 0 0 1 50 20Z"],
    FOOT,
    FOOT_LINE,
  ],
  knight: [
    [
      "body",
      "M32 79C31 70 36 65 42 59C45 56 46 54 46 51C42 55 37 57 32 58L28.5 62.5Q26.5 64.5 24 63L18.5 59"
        + "Q16 57 17 54L24 40C27 31 32 24 39 20L40.5 11Q41 9 42.6 10.4L50 17C66 20 76 36 75 58C74.7 67 72.5 73 70 79Z",
    ],
    ["line", "M53 25C63 31 68 43 67.5 58C67.3 64 66 69 64.5 73"],
    ["line", "M23 55.5L25.5 53"],
    ["dot", "M39 31.5A3.2 3.2 0 1 1 39 37.9A3.2 3.2 0 1 1 39 31.5Z"],
    FOOT,
    FOOT_LINE,
  ],
  bishop: [
    ["body", "M43 66C42 72 37 75 30 79H70C63 75 58 72 57 66Z"],
    ["body", "M50 21C62 28 68.5 39 67.5 48C66.7 55 61 59 57 61H43C39 59 33.3 55 32.5 48C31.5 39 38 28 50 21Z"],
    ["body", "M36 66.5Q34 66.5 34 64T36 61.5H64Q66 61.5 66 64T64 66.5Z"],
    ["body", "M50 9.5A6 6 0 1 1 50 21.5A6 6 0 1 1 50 9.5Z"],
    ["line", "M50 34V51M42 42.5H58"],
    FOOT,
    FOOT_LINE,
  ],
  rook: [
    ["body", "M36 46C36 60 34 70 28 79H72C66 70 64 60 64 46Z"],
    [
      "body",
      "M25 21Q25 18.5 27.5 18.5H35Q37.5 18.5 37.5 21V26.5H43.5V21Q43.5 18.5 46 18.5H54Q56.5 18.5 56.5 21V26.5"
        + "H62.5V21Q62.5 18.5 65 18.5H72.5Q75 18.5 75 21V37Q75 39 73.5 40.2L67.5 45.2Q66.5 46 65 46H35Q33.5 46 32.5 45.2"
        + "L26.5 40.2Q25 39 25 37Z",
    ],
    ["line", "M33 37.5H67"],
    FOOT,
    FOOT_LINE,
  ],
  queen: [
    ["body", "M31 66C35 71 34 75 28 79H72C66 75 65 71 69 66Z"],
    [
      "body",
      "M30 62L17.5 33.5L34 47L35.5 24.5L45.5 44.5L50 20L54.5 44.5L64.5 24.5L66 47L82.5 33.5L70 62Z",
    ],
    ["body", "M28.5 67Q26.5 67 26.5 64.5T28.5 62H71.5Q73.5 62 73.5 64.5T71.5 67Z"],
    ["body", "M17 25.5A4.8 4.8 0 1 1 17 35.1A4.8 4.8 0 1 1 17 25.5Z"],
    ["body", "M35 15.5A4.8 4.8 0 1 1 35 25.1A4.8 4.8 0 1 1 35 15.5Z"],
    ["body", "M50 10.5A5.2 5.2 0 1 1 50 20.9A5.2 5.2 0 1 1 50 10.5Z"],
    ["body", "M65 15.5A4.8 4.8 0 1 1 65 25.1A4.8 4.8 0 1 1 65 15.5Z"],
    ["body", "M83 25.5A4.8 4.8 0 1 1 83 35.1A4.8 4.8 0 1 1 83 25.5Z"],
    ["line", "M36 56Q50 52.5 64 56"],
    FOOT,
    FOOT_LINE,
  ],
  king: [
    ["body", "M46.5 26V19.5H41Q39.5 19.5 39.5 18V14.5Q39.5 13 41 13H46.5V8.5Q46.5 7 48 7H52Q53.5 7 53.5 8.5V13H59Q60.5 13 60.5 14.5V18Q60.5 19.5 59 19.5H53.5V26Z"],
    ["body", "M31 66C35 71 34 75 28 79H72C66 75 65 71 69 66Z"],
    [
      "body",
      "M50 35C46 27 37 24.5 29 27C20 30 17 39 21 47C23.5 52 29 56 31 62H69C71 56 76.5 52 79 47C83 39 80 30 71 27C63 24.5 54 27 50 35Z",
    ],
    ["body", "M28.5 67Q26.5 67 26.5 64.5T28.5 62H71.5Q73.5 62 73.5 64.5T71.5 67Z"],
    ["line", "M37.5 55.5C35 50.5 28 46 28 39.5C28 34 34 32 38 34.5M62.5 55.5C65 50.5 72 46 72 39.5C72 34 66 32 62 34.5"],
    ["core", "M50 42.5A6 6 0 1 1 50 54.5A6 6 0 1 1 50 42.5Z"],
    FOOT,
    FOOT_LINE,
  ],
};

const SHADES = {
  white: { top: "#fffdf8", bottom: "#e9dcc8", edge: "#38291f", engraved: "#8a6b54" },
  black: { top: "#5a4d45", bottom: "#221c19", edge: "#120d0b", engraved: "#c9a284" },
};

function node(name, attributes, children = []) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function gradient(color) {
  const { top, bottom } = SHADES[color];
  const ends = [
    node("stop", { offset: "0", "stop-color": top }),
    node("stop", { offset: "1", "stop-color": bottom }),
  ];
  const box = { gradientUnits: "userSpaceOnUse", x1: 30, y1: 8, x2: 62, y2: 94 };
  return node("linearGradient", { id: `piece-shade-${color}`, ...box }, ends);
}

function part([kind, d], color) {
  const { edge, engraved } = SHADES[color];
  const line = { d, "stroke-linejoin": "round", "stroke-linecap": "round" };
  switch (kind) {
    case "body":
      return node("path", { ...line, fill: `url(#piece-shade-${color})`, stroke: edge, "stroke-width": 3.4 });
    case "core":
      return node("path", { ...line, fill: "#ff7a2f", stroke: edge, "stroke-width": 2.6 });
    case "dot":
      return node("path", { ...line, fill: color === "white" ? edge : engraved });
    default:
      return node("path", { ...line, fill: "none", stroke: engraved, "stroke-width": 2.6 });
  }
}

/** A light rim under a dark piece, for contrast on dark squares. */
function rim(drawing) {
  const bodies = drawing.filter(([kind]) => kind === "body").map(([, d]) => d);
  const look = { fill: "none", stroke: "#f6e7d3", "stroke-opacity": 0.42, "stroke-width": 7, "stroke-linejoin": "round" };
  return node("path", { d: bodies.join(""), ...look });
}

function symbol(color, role) {
  const drawing = DRAWINGS[role];
  const parts = drawing.map((entry) => part(entry, color));
  if (color === "black") parts.unshift(rim(drawing));
  return node("symbol", { id: `piece-${color}-${role}`, viewBox: VIEW }, parts);
}

/** Adds the sprite to the document, once. */
function ensureSprite() {
  if (document.getElementById("piece-sprite")) return;
  const colors = Object.keys(SHADES);
  const sprite = node("svg", { id: "piece-sprite", width: 0, height: 0, "aria-hidden": "true", focusable: "false" }, [
    node("defs", {}, colors.map(gradient)),
    ...colors.flatMap((color) => Object.keys(DRAWINGS).map((role) => symbol(color, role))),
  ]);
  sprite.style.position = "absolute";
  document.body.prepend(sprite);
}

/** A drawing of a piece, sized by its container. Decorative: text must name it. */
export function drawPiece({ color, role }) {
  ensureSprite();
  const drawing = node("svg", { viewBox: VIEW, "aria-hidden": "true", focusable: "false" });
  drawing.append(node("use", { href: `#piece-${color}-${role}` }));
  return drawing;
}
