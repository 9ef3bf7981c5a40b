// Charts answer the pointer: which values are here, and which line is which.

import { hideTip, showTip } from "./tip.js";
import { durationText, make, plainNumber } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";

/** Let all charts and legends of the page answer. */
export function wakeCharts() {
  for (const svg of document.querySelectorAll("svg[data-chart]"))
    wakeChart(/** @type {SVGSVGElement} */ (svg));
  for (const legend of document.querySelectorAll(".legend")) wakeLegend(/** @type {HTMLElement} */ (legend));
}

/** @param {SVGSVGElement} svg */
function wakeChart(svg) {
  const chart = JSON.parse(svg.dataset.chart ?? "{}");
  const [low, high, start, end, log] = chart.x;
  const cross = document.createElementNS(SVG, "line");
  cross.setAttribute("class", "cross");
  cross.setAttribute("y1", "28");
  cross.setAttribute("y2", String(svg.viewBox.baseVal.height - 44));
  cross.setAttribute("visibility", "hidden");
  svg.append(cross);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    const share = Math.max(0, Math.min(1, (place - start) / (end - start)));
    const value = log ? low * (high / low) ** share : low + share * (high - low);
    const rows = chart.series
      .map((/** @type {[string, number, number[][]]} */ [name, colour, points]) => ({
        name,
        colour,
        point: nearest(points, value, log, chart.stairs),
      }))
      .filter((/** @type {{point: number[] | null}} */ row) => row.point);
    if (!rows.length) return;
    rows.sort((/** @type {any} */ one, /** @type {any} */ other) => other.point[1] - one.point[1]);
    const at = rows[0].point[0];
    const middle = log ? Math.log(at / low) / Math.log(high / low) : (at - low) / (high - low);
    cross.setAttribute("x1", String(start + middle * (end - start)));
    cross.setAttribute("x2", String(start + middle * (end - start)));
    cross.setAttribute("visibility", "visible");
    showTip(
      [
        make("b", {}, `${chart.title}: ${valueText(at, chart.units[0])}`),
        ...rows.map((/** @type {any} */ row) => tipRow(row, chart.units[1])),
      ],
      event,
    );
  });
  svg.addEventListener("pointerleave", () => {
    cross.setAttribute("visibility", "hidden");
    hideTip();
  });
}

/**
 * @param {{name: string, colour: number, point: number[]}} row
 * @param {string} unit
 */
function tipRow(row, unit) {
  return make(
    "span",
    { class: "value" },
    make("i", { class: `c${row.colour}` }),
    row.name,
    make("b", {}, valueText(row.point[1], unit)),
  );
}

/**
 * The point next to a place, or the last one before it.
 * @param {number[][]} points
 * @param {number} value
 * @param {boolean} log
 * @param {boolean} stairs
 * @returns {number[] | null}
 */
function nearest(points, value, log, stairs) {
  let best = null;
  let least = Infinity;
  for (const point of points) {
    if (stairs && point[0] > value && best) break;
    const away = log ? Math.abs(Math.log(Math.max(point[0], 1e-9) / value)) : Math.abs(point[0] - value);
    if (away < least) [best, least] = [point, away];
  }
  return best;
}

/**
 * @param {number} value
 * @param {string} unit
 */
function valueText(value, unit) {
  if (unit === "time") return durationText(value);
  if (unit === "share") return `${plainNumber(value * 100)} %`;
  return plainNumber(value);
}

/** @param {HTMLElement} legend */
function wakeLegend(legend) {
  const section = /** @type {HTMLElement} */ (legend.closest("section") ?? document.body);
  const light = (/** @type {string | undefined} */ name) => {
    section.classList.toggle("lit", name !== undefined);
    for (const line of section.querySelectorAll(".chart .line")) {
      line.classList.toggle("chosen", /** @type {HTMLElement} */ (line).dataset.series === name);
    }
  };
  /** @type {string | undefined} */
  let kept;
  for (const node of legend.querySelectorAll("button[data-series]")) {
    const item = /** @type {HTMLElement} */ (node);
    item.addEventListener("pointerenter", () => light(item.dataset.series));
    item.addEventListener("pointerleave", () => light(kept));
    item.addEventListener("click", () => {
      kept = kept === item.dataset.series ? undefined : item.dataset.series;
      for (const other of legend.querySelectorAll("button"))
        other.setAttribute(
          "aria-pressed",
          String(/** @type {HTMLElement} */ (other).dataset.series === kept),
        );
      light(kept);
    });
  }
}
