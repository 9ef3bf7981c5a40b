// Texts for people, and elements that hold them.

const UNITS = /** @type {const} */ ([
  ["h", 3.6e12],
  ["min", 6e10],
  ["s", 1e9],
  ["ms", 1e6],
  ["µs", 1e3],
  ["ns", 1],
]);

/**
 * A duration with so many significant digits, in the unit that suits it.
 * @param {number} ns
 * @param {number} [digits]
 * @returns {string}
 */
export function durationText(ns, digits = 3) {
  if (ns === 0) return "0";
  const size = Math.abs(ns);
  const [unit, length] = UNITS.find(
    ([name, least]) => size >= (name === "h" || name === "min" ? 2 : 1) * least,
  ) ?? ["ns", 1];
  return `${ns < 0 ? "-" : ""}${plainNumber(size / length, digits)} ${unit}`;
}

/**
 * A number without digits that say nothing.
 * @param {number} value
 * @param {number} [digits]
 * @returns {string}
 */
export function plainNumber(value, digits = 3) {
  if (value === 0) return "0";
  const whole = Math.floor(Math.log10(Math.abs(value))) + 1;
  const decimals = Math.max(0, Math.min(12, digits - whole));
  return value.toLocaleString("en", { maximumFractionDigits: decimals });
}

const CLOCK_FROM = 120e9;
const DAY = 86400e9;

/**
 * A moment of a run, precise enough to tell it from others when so much of the run is visible.
 * Beyond two minutes as on a clock: 1:45:30 says more than 105.5 min.
 * @param {number} ns
 * @param {number} visibleNs
 * @returns {string}
 */
export function momentText(ns, visibleNs) {
  if (ns === 0) return "0";
  if (Math.abs(ns) >= CLOCK_FROM) return clockText(ns, visibleNs);
  const magnitude = Math.log10(Math.max(Math.abs(ns), 1) / Math.max(visibleNs, 1));
  return durationText(ns, Math.max(3, Math.ceil(magnitude) + 3));
}

/**
 * Hours, minutes and seconds, with as many decimals as the visible stretch of time asks for.
 * @param {number} ns
 * @param {number} visibleNs
 * @returns {string}
 */
function clockText(ns, visibleNs) {
  const size = Math.abs(ns);
  const days = Math.floor(size / DAY);
  const hours = Math.floor((size % DAY) / 3600e9);
  const minutes = Math.floor((size % 3600e9) / 60e9);
  const seconds = (size % 60e9) / 1e9;
  const decimals = decimalsFor(visibleNs);
  const tail = `${two(minutes)}:${seconds.toFixed(decimals).padStart(decimals ? decimals + 3 : 2, "0")}`;
  const clock = days || hours ? `${hours}:${tail}` : tail.replace(/^0/, "");
  return `${ns < 0 ? "-" : ""}${days ? `${days} d ` : ""}${clock}`;
}

/**
 * A moment by the clock on the wall, in coordinated universal time; with its date, if asked for.
 * @param {number} startMs  when the run began, in milliseconds since 1970
 * @param {number} ns
 * @param {number} visibleNs
 * @param {boolean} dated
 * @returns {string}
 */
export function wallText(startMs, ns, visibleNs, dated) {
  const whole = Math.floor(startMs + ns / 1e6);
  const date = new Date(whole);
  const decimals = decimalsFor(visibleNs);
  const seconds = date.getUTCSeconds() + ((startMs + ns / 1e6) % 1000) / 1000;
  const shown = seconds.toFixed(decimals).padStart(decimals ? decimals + 3 : 2, "0");
  const clock = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${shown}`;
  return dated ? `${date.toISOString().slice(0, 10)} ${clock} UTC` : clock;
}

/** @param {number} visibleNs */
function decimalsFor(visibleNs) {
  return Math.max(0, Math.min(6, Math.ceil(9.7 - Math.log10(Math.max(visibleNs, 1)))));
}

/** @param {number} value */
function two(value) {
  return String(value).padStart(2, "0");
}

/**
 * A name, or its beginning and its end, such that it is not wider than there is room.
 * @param {string} name
 * @param {number} room
 * @param {(text: string) => number} widthOf
 * @returns {string}
 */
export function shortened(name, room, widthOf) {
  const width = widthOf(name);
  if (width <= room) return name;
  const characters = Array.from(name);
  let shown = "…";
  for (let kept = Math.floor((characters.length * room) / width); kept > 0; kept -= 1) {
    const ending = Math.floor(kept / 2);
    shown = `${characters.slice(0, kept - ending).join("")}…${characters.slice(characters.length - ending).join("")}`;
    if (widthOf(shown) <= room) break;
  }
  return shown;
}

/**
 * How many of something.
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 * @returns {string}
 */
export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/**
 * An element with attributes, listeners (`onclick`, …) and children.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function")
      node.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, String(value));
  }
  node.append(...children);
  return node;
}
