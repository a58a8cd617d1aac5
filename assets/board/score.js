// Scores as text, in words, and as White's expected result. Pure.

/** A score from White's view: `+0.35`, `−1.20`, `#3`, `−#2`. */
export function scoreText(score) {
  if (!score) return "";
  if (score.mate !== undefined) return score.mate < 0 ? `−#${-score.mate}` : `#${score.mate}`;
  const value = (Math.abs(score.cp) / 100).toFixed(2);
  if (Number(value) === 0) return "0.00";
  return score.cp < 0 ? `−${value}` : `+${value}`;
}

/** The same, short enough to fit beside a board: in tenths, from ten pawns on in whole ones, and
    without a sign, for it stands with whoever is ahead. */
export function barText(score) {
  if (!score) return "";
  if (score.mate !== undefined) return `#${Math.abs(score.mate)}`;
  const value = Math.abs(score.cp) / 100;
  return value < 9.95 ? value.toFixed(1) : value.toFixed(0);
}

/** The same in words. */
export function spokenScore(score) {
  if (!score) return "no score";
  if (score.mate !== undefined) {
    return `${score.mate < 0 ? "Black" : "White"} mates in ${Math.abs(score.mate)}`;
  }
  if (Math.abs(score.cp) < 5) return "level";
  return `${score.cp < 0 ? "Black" : "White"} is ahead by ${(Math.abs(score.cp) / 100).toFixed(2)}`;
}

/** White's expected result by a score, from 0 to 1. */
export function share(score) {
  if (!score) return 0.5;
  if (score.mate !== undefined) return score.mate < 0 ? 0 : 1;
  return 1 / (1 + Math.exp(-score.cp / 280));
}
