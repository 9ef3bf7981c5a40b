// What is to be drawn of a run: shapes with coordinates and the names of their styles. No pixels
// are touched here, so the same scene goes onto a canvas, into an SVG file, or under the pointer.

import { AGAIN } from "./run_data.js";
import { roundTimes } from "./viewport.js";
import { momentText, wallText } from "./words.js";

/**
 * So many shapes of a sort are drawn at most. Where there are more arrows, a few of them are drawn, so
 * faintly that how full the buffers are can be seen behind them, and the page says so.
 */
export const ARROWS_MAX = 1500;
export const CROWD_ARROWS = 800;

/** Where there are more arrows than this, dashes would only cost time: nobody could tell them apart. */
const DASHED_MAX = 400;
export const BARS_MAX = 2400;
const DOTS_MAX = 800;
const LABELS_MAX = 140;

const BAR_SHARE = 0.4;
const LANE_HEIGHT = 7;
const LANE_LEAST = 1.5;
const COLUMN = 2;
const LINE_GAP = 2;
const LOST_SHARE = 0.55;
const LABEL_LENGTH = 56;

/**
 * What stands out: nothing, a message with its past and future, or a violation with its witness.
 * @typedef {object} Focus
 * @property {(copy: number) => string} tone  "", "self", "past", "future", "early", "late", "path"
 */

/**
 * @typedef {object} Scene
 * @property {number} width
 * @property {number} height
 * @property {number} gutter
 * @property {{x: number, text: string}[]} axis
 * @property {{y: number, name: string}[]} rows
 * @property {Map<string, number[]>} arrows  style: x1, y1, x2, y2, and 1 where a head is visible
 * @property {Map<string, number[]>} crosses  style: x, y
 * @property {Map<string, number[]>} bars  style: x, y, width, height
 * @property {Map<string, number[]>} dots  style: x, y
 * @property {{style: string, base: number, points: number[]}[]} profiles
 * @property {{x: number, y: number, text: string, style: string}[]} labels
 * @property {boolean} crowded  whether arrows are thinned out
 * @property {boolean} dashed  whether kinds of packets are told apart by dashes
 * @property {number[]} hitArrows  packet, x1, y1, x2, y2
 * @property {number[]} hitBars  copy, 1 for a receive buffer, x, y, width, height
 * @property {{packets: number, packetsVisible: number, bars: number, barsVisible: number}} drawn
 */

const TIME_GAP = 96;
/** Half of the width of a letter on the axis, and a little more. */
const HALF_LETTER = 3.3;

/**
 * Round times, each with a text that tells it from its neighbours; those that would be cut off at the
 * right end have none.
 * @param {import("./viewport.js").Viewport} view
 * @returns {{x: number, text: string}[]}
 */
function axisOf(view) {
  const times = roundTimes(view, TIME_GAP);
  // What is told apart in a stretch is a fifth of it: here, a step.
  const stretch = times.length > 1 ? 5 * (times[1] - times[0]) : view.to - view.from;
  return times.map((time) => {
    const x = view.x(time);
    const text = view.wallMs === null ? momentText(time, stretch) : wallText(view.wallMs, time, stretch, false);
    return { x, text: x + HALF_LETTER * text.length <= view.width ? text : "" };
  });
}

/**
 * @param {import("./run_data.js").RunData} run
 * @param {import("./viewport.js").Viewport} view
 * @param {Focus | null} focus
 * @param {Set<string>} hidden  styles of packets that nobody wants to see
 * @returns {Scene}
 */
export function buildScene(run, view, focus, hidden) {
  /** @type {Scene} */
  const scene = {
    width: view.width,
    height: view.height,
    gutter: view.gutter,
    axis: axisOf(view),
    rows: [],
    arrows: new Map(),
    crosses: new Map(),
    bars: new Map(),
    dots: new Map(),
    profiles: [],
    labels: [],
    crowded: false,
    dashed: true,
    hitArrows: [],
    hitBars: [],
    drawn: { packets: 0, packetsVisible: 0, bars: 0, barsVisible: 0 },
  };
  for (let row = view.firstRow; row <= view.lastRow; row += 1)
    scene.rows.push({ y: view.y(row), name: view.labels[row] });
  addBars(scene, run, view, focus);
  addArrows(scene, run, view, focus, hidden);
  return scene;
}

/**
 * @param {Map<string, number[]>} groups
 * @param {string} style
 * @param {...number} values
 */
function put(groups, style, ...values) {
  const group = groups.get(style);
  if (group) group.push(...values);
  else groups.set(style, values);
}

// Arrows.

/**
 * @param {Scene} scene
 * @param {import("./run_data.js").RunData} run
 * @param {import("./viewport.js").Viewport} view
 * @param {Focus | null} focus
 * @param {Set<string>} hidden
 */
function addArrows(scene, run, view, focus, hidden) {
  const { kind, source, target, copy } = run.packets;
  const first = view.firstRow;
  const last = view.lastRow;
  /** @type {number[]} */
  const focused = [];
  /** @type {number[]} */
  const messages = [];
  /** @type {number[]} */
  const control = [];
  run.packetIndex.within(view.from, view.to, (packet) => {
    const low = Math.min(source[packet], target[packet]);
    const high = Math.max(source[packet], target[packet]);
    const style = run.styles[kind[packet]];
    if (high < first || low > last || hidden.has(style)) return;
    if (focus && copy[packet] >= 0 && focus.tone(copy[packet])) focused.push(packet);
    else if (style === "message") messages.push(packet);
    else control.push(packet);
  });
  const visible = focused.length + messages.length + control.length;
  scene.crowded = visible > ARROWS_MAX;
  const room = scene.crowded ? CROWD_ARROWS : ARROWS_MAX;
  const chosen = scene.crowded ? [] : control;
  chosen.push(...thinned(messages, room - Math.min(focused.length, room)));
  const before = chosen.length;
  chosen.push(...thinned(focused, room));
  scene.dashed = chosen.length <= DASHED_MAX;
  const few = visible <= LABELS_MAX;
  chosen.forEach((packet, place) =>
    addArrow(
      scene,
      run,
      view,
      focus,
      packet,
      few || (place >= before && chosen.length - before <= LABELS_MAX),
    ),
  );
  scene.drawn.packets = chosen.length;
  scene.drawn.packetsVisible = visible;
}

/**
 * Some of these, the same ones wherever one looks, so that nothing flickers while moving.
 * @param {number[]} packets
 * @param {number} most
 * @returns {number[]}
 */
function thinned(packets, most) {
  if (packets.length <= most) return packets;
  if (most <= 0) return [];
  let stride = 1;
  while (packets.length / stride > most) stride *= 2;
  const kept = packets.filter((packet) => scattered(packet) % stride === 0);
  return kept.length > most ? kept.slice(0, most) : kept;
}

/**
 * A number that has nothing to do with its neighbours'.
 * @param {number} packet
 */
function scattered(packet) {
  return (Math.imul(packet + 1, 0x9e3779b1) >>> 8) & 0xffff;
}

/**
 * @param {Scene} scene
 * @param {import("./run_data.js").RunData} run
 * @param {import("./viewport.js").Viewport} view
 * @param {Focus | null} focus
 * @param {number} packet
 * @param {boolean} labelled
 */
function addArrow(scene, run, view, focus, packet, labelled) {
  const { kind, source, target, sent, end, lost, copy, repeated } = run.packets;
  const tone = toneOf(focus, copy[packet]);
  const base = run.styles[kind[packet]];
  const again = base === "message" && repeated[packet] >= AGAIN ? "again" : base;
  const style = tone ? `${again} ${tone}` : again;
  let x2 = view.x(end[packet]);
  let y2 = view.y(target[packet]);
  const x1 = view.x(sent[packet]);
  const y1 = view.y(source[packet]);
  if (lost[packet]) {
    x2 = x1 + (x2 - x1) * LOST_SHARE;
    y2 = y1 + (y2 - y1) * LOST_SHARE;
  }
  const line = clipped(x1, y1, x2, y2, view);
  if (!line) return;
  const whole = line[2] === x2 && line[3] === y2;
  const head = whole && !lost[packet] && !scene.crowded;
  put(scene.arrows, style, line[0], line[1], line[2], line[3], head ? 1 : 0);
  if (lost[packet] && whole && !scene.crowded) put(scene.crosses, style, x2, y2);
  scene.hitArrows.push(packet, line[0], line[1], line[2], line[3]);
  if (labelled && base === "message" && copy[packet] >= 0 && repeated[packet] === 0 && tone !== "dim") {
    addLabel(scene, run, copy[packet], line, tone);
  }
}

/**
 * @param {Scene} scene
 * @param {import("./run_data.js").RunData} run
 * @param {number} copy
 * @param {number[]} line
 * @param {string} tone
 */
function addLabel(scene, run, copy, line, tone) {
  const [x1, y1, x2, y2] = line;
  if (Math.hypot(x2 - x1, y2 - y1) < LABEL_LENGTH) return;
  const own = run.ownLabel(copy);
  const style = tone || (own !== undefined && run.watched.has(own) ? "watched" : "");
  scene.labels.push({
    x: x1 + (x2 - x1) * 0.45 + 4,
    y: y1 + (y2 - y1) * 0.45 - 3,
    text: run.label(copy),
    style,
  });
}

/**
 * @param {Focus | null} focus
 * @param {number} copy
 */
function toneOf(focus, copy) {
  if (!focus) return "";
  return (copy >= 0 && focus.tone(copy)) || "dim";
}

/**
 * The part of a line that is near the picture, or null (Liang and Barsky).
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 * @param {import("./viewport.js").Viewport} view
 * @returns {[number, number, number, number] | null}
 */
function clipped(x1, y1, x2, y2, view) {
  const margin = 40;
  let from = 0;
  let to = 1;
  for (const [delta, room] of [
    [x1 - x2, x1 - view.gutter + margin],
    [x2 - x1, view.width + margin - x1],
    [y1 - y2, y1 + margin],
    [y2 - y1, view.height + margin - y1],
  ]) {
    if (delta === 0) {
      if (room < 0) return null;
    } else if (delta < 0) from = Math.max(from, room / delta);
    else to = Math.min(to, room / delta);
  }
  if (from > to) return null;
  const end = /** @type {[number, number]} */ (
    to === 1 ? [x2, y2] : [x1 + (x2 - x1) * to, y1 + (y2 - y1) * to]
  );
  return [x1 + (x2 - x1) * from, y1 + (y2 - y1) * from, ...end];
}

// Bars and dots.

/**
 * @param {Scene} scene
 * @param {import("./run_data.js").RunData} run
 * @param {import("./viewport.js").Viewport} view
 * @param {Focus | null} focus
 */
function addBars(scene, run, view, focus) {
  const { sender, target, begin, arrived, delivered, sendLane, receiveLane } = run.copies;
  const first = view.firstRow;
  const last = view.lastRow;
  /** @type {number[]} */
  const sending = [];
  /** @type {number[]} */
  const receiving = [];
  /** @type {number[]} */
  const dotted = [];
  run.copyIndex.within(view.from, view.to, (copy) => {
    const from = sender[copy] >= first && sender[copy] <= last;
    const to = target[copy] >= first && target[copy] <= last;
    if (from && sendLane[copy] >= 0 && run.sendEnd(copy) >= view.from) sending.push(copy);
    if (to && receiveLane[copy] >= 0 && arrived[copy] <= view.to) receiving.push(copy);
    if ((from || to) && dotted.length <= DOTS_MAX) dotted.push(copy);
  });
  scene.drawn.barsVisible = sending.length + receiving.length;
  if (scene.drawn.barsVisible > BARS_MAX) {
    addProfiles(scene, run, view, sending, false);
    addProfiles(scene, run, view, receiving, true);
  } else {
    for (const copy of sending) addBar(scene, run, view, focus, copy, false);
    for (const copy of receiving) addBar(scene, run, view, focus, copy, true);
    scene.drawn.bars = scene.drawn.barsVisible;
  }
  if (dotted.length > DOTS_MAX) return;
  for (const copy of dotted) {
    const tone = toneOf(focus, copy);
    if (run.isSubmitted(copy))
      put(scene.dots, `submitted ${tone}`.trim(), view.x(begin[copy]), view.y(sender[copy]));
    if (run.isDelivered(copy))
      put(scene.dots, `delivered ${tone}`.trim(), view.x(delivered[copy]), view.y(target[copy]));
  }
}

/**
 * How high the lanes of a row are, and how much room there is for them.
 * @param {import("./viewport.js").Viewport} view
 * @param {number} depth
 */
function laneHeight(view, depth) {
  return Math.min(LANE_HEIGHT, (view.pitch * BAR_SHARE) / Math.max(depth, 1));
}

/**
 * @param {Scene} scene
 * @param {import("./run_data.js").RunData} run
 * @param {import("./viewport.js").Viewport} view
 * @param {Focus | null} focus
 * @param {number} copy
 * @param {boolean} receiving
 */
function addBar(scene, run, view, focus, copy, receiving) {
  const { sender, target, begin, arrived, sendLane, receiveLane } = run.copies;
  const row = receiving ? target[copy] : sender[copy];
  const lane = receiving ? receiveLane[copy] : sendLane[copy];
  const height = laneHeight(view, (receiving ? run.receiveDepth : run.sendDepth)[row]);
  const left = Math.max(view.x(receiving ? arrived[copy] : begin[copy]), view.gutter - 10);
  const right = Math.min(view.x(receiving ? run.receiveEnd(copy) : run.sendEnd(copy)), view.width + 10);
  if (right < left) return;
  const away = LINE_GAP + lane * height;
  const y = receiving ? view.y(row) + away : view.y(row) - away - height;
  const tone = toneOf(focus, copy);
  const style = `${receiving ? "receive" : "send"} ${tone}`.trim();
  const box = /** @type {const} */ ([left, y, Math.max(right - left, 1), Math.max(height - 1, LANE_LEAST)]);
  put(scene.bars, style, ...box);
  scene.hitBars.push(copy, receiving ? 1 : 0, ...box);
}

/**
 * Where there are too many bars to tell them apart: how many there are, over time.
 * @param {Scene} scene
 * @param {import("./run_data.js").RunData} run
 * @param {import("./viewport.js").Viewport} view
 * @param {number[]} copies
 * @param {boolean} receiving
 */
function addProfiles(scene, run, view, copies, receiving) {
  const { sender, target, begin, arrived } = run.copies;
  const first = view.firstRow;
  const columns = Math.ceil((view.width - view.gutter) / COLUMN) + 1;
  const changes = new Float32Array((view.lastRow - first + 1) * (columns + 1));
  const column = (/** @type {number} */ time) =>
    Math.max(0, Math.min(columns - 1, Math.floor((view.x(time) - view.gutter) / COLUMN)));
  for (const copy of copies) {
    const row = (receiving ? target[copy] : sender[copy]) - first;
    changes[row * (columns + 1) + column(receiving ? arrived[copy] : begin[copy])] += 1;
    changes[row * (columns + 1) + column(receiving ? run.receiveEnd(copy) : run.sendEnd(copy)) + 1] -= 1;
  }
  for (let row = first; row <= view.lastRow; row += 1) {
    const height = laneHeight(view, (receiving ? run.receiveDepth : run.sendDepth)[row]);
    const base = view.y(row) + (receiving ? LINE_GAP : -LINE_GAP);
    const points = [view.gutter, base];
    let level = 0;
    for (let place = 0; place < columns; place += 1) {
      level += changes[(row - first) * (columns + 1) + place];
      const y = base + (receiving ? 1 : -1) * level * height;
      points.push(view.gutter + place * COLUMN, y, view.gutter + (place + 1) * COLUMN, y);
    }
    points.push(view.width, base);
    scene.profiles.push({ style: receiving ? "receive" : "send", base, points });
  }
}
