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

/**
 * A moment of a run, precise enough to tell it from others when so much of the run is visible.
 * @param {number} ns
 * @param {number} visibleNs
 * @returns {string}
 */
export function momentText(ns, visibleNs) {
  if (ns === 0) return "0";
  const magnitude = Math.log10(Math.max(Math.abs(ns), 1) / Math.max(visibleNs, 1));
  return durationText(ns, Math.max(3, Math.ceil(magnitude) + 3));
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
