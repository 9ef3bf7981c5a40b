// What is under the pointer.

const NEAR = 7;

/**
 * @typedef {object} Hit
 * @property {number} packet  -1 if a bar was hit
 * @property {number} copy  -1 for control packets
 * @property {"arrow" | "send" | "receive"} part
 */

/**
 * @param {import("./scene.js").Scene} scene
 * @param {import("./run_data.js").RunData} run
 * @param {number} x
 * @param {number} y
 * @returns {Hit | null}
 */
export function hitTest(scene, run, x, y) {
  if (x < scene.gutter) return null;
  const bars = scene.hitBars;
  for (let place = 0; place < bars.length; place += 6) {
    const [left, top, width, height] = bars.slice(place + 2, place + 6);
    if (x >= left - 1 && x <= left + width + 1 && y >= top - 1 && y <= top + height + 1) {
      return { packet: -1, copy: bars[place], part: bars[place + 1] ? "receive" : "send" };
    }
  }
  const arrows = scene.hitArrows;
  let best = -1;
  let nearest = NEAR;
  for (let place = 0; place < arrows.length; place += 5) {
    const away = distance(x, y, arrows[place + 1], arrows[place + 2], arrows[place + 3], arrows[place + 4]);
    // Of equals, messages win: they are drawn last.
    if (away <= nearest) {
      nearest = away;
      best = arrows[place];
    }
  }
  return best < 0 ? null : { packet: best, copy: run.packets.copy[best], part: "arrow" };
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 */
function distance(x, y, x1, y1, x2, y2) {
  const [alongX, alongY] = [x2 - x1, y2 - y1];
  const square = alongX * alongX + alongY * alongY;
  const share = square ? Math.max(0, Math.min(1, ((x - x1) * alongX + (y - y1) * alongY) / square)) : 0;
  return Math.hypot(x - x1 - share * alongX, y - y1 - share * alongY);
}
