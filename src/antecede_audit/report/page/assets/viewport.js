// Which part of a run is looked at, and where on the paper it is.

export const AXIS = 26;
const EDGE = 0.02;
const SHORTEST = 200;

/** From times and rows to pixels, and back. */
export class Viewport {
  /** @param {number} span  how long the run lasts */
  constructor(span) {
    this.span = span;
    /** How far one may look: to the end of the run, or of another that it is compared with. */
    this.limit = span;
    this.from = -span * EDGE;
    this.to = span * (1 + EDGE);
    this.width = 600;
    this.height = 300;
    this.gutter = 80;
    this.pitch = 48;
    this.scroll = 0;
    this.rows = 1;
    /** What stands beside each row. @type {string[]} */
    this.labels = [];
    /** When the run began by the clock on the wall, in milliseconds; null: show time since then. */
    this.wallMs = /** @type {number | null} */ (null);
  }

  /** @param {number} time */
  x(time) {
    return this.gutter + ((time - this.from) / (this.to - this.from)) * (this.width - this.gutter);
  }

  /** @param {number} x */
  time(x) {
    return this.from + ((x - this.gutter) / (this.width - this.gutter)) * (this.to - this.from);
  }

  /** @param {number} row */
  y(row) {
    return AXIS + (row + 0.5) * this.pitch - this.scroll;
  }

  /** Nanoseconds in a pixel. */
  get grain() {
    return (this.to - this.from) / (this.width - this.gutter);
  }

  get firstRow() {
    return Math.max(0, Math.floor((this.scroll - this.pitch) / this.pitch));
  }

  get lastRow() {
    return Math.min(this.rows - 1, Math.ceil((this.scroll + this.height - AXIS) / this.pitch));
  }

  /**
   * Look at a stretch of time; what lies beyond the run is kept out of sight.
   * @param {number} from
   * @param {number} to
   */
  show(from, to) {
    const whole = this.limit * (1 + 2 * EDGE);
    const length = Math.min(Math.max(to - from, SHORTEST), whole);
    const middle = (from + to) / 2;
    const start = Math.max(
      -this.limit * EDGE,
      Math.min(middle - length / 2, this.limit * (1 + EDGE) - length),
    );
    this.from = start;
    this.to = start + length;
  }

  /**
   * @param {number} factor  below 1: closer
   * @param {number} x  what is here stays here
   */
  zoom(factor, x) {
    const still = this.time(x);
    this.show(still - (still - this.from) * factor, still + (this.to - still) * factor);
  }

  /**
   * @param {number} pixelsX
   * @param {number} pixelsY
   */
  move(pixelsX, pixelsY) {
    const by = pixelsX * this.grain;
    this.show(this.from - by, this.to - by);
    this.scrollTo(this.scroll - pixelsY);
  }

  /** @param {number} scroll */
  scrollTo(scroll) {
    const most = Math.max(0, AXIS + this.rows * this.pitch - this.height);
    this.scroll = Math.max(0, Math.min(scroll, most));
  }

  /**
   * Bring rows into sight.
   * @param {number[]} rows
   */
  revealRows(rows) {
    const top = Math.min(...rows) * this.pitch;
    const bottom = (Math.max(...rows) + 1) * this.pitch;
    const room = this.height - AXIS;
    if (top < this.scroll) this.scrollTo(top);
    else if (bottom > this.scroll + room) this.scrollTo(Math.min(top, bottom - room));
  }
}

const CLOCK_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/**
 * Round times for an axis, about one in so many pixels; from a second on, as clocks count.
 * @param {Viewport} view
 * @param {number} pixels
 * @returns {number[]}
 */
export function roundTimes(view, pixels) {
  const step = roundStep(view.grain * pixels);
  const shift = view.wallMs === null ? 0 : (view.wallMs % (step / 1e6)) * 1e6;
  const times = [];
  for (let time = Math.ceil((view.from + shift) / step) * step - shift; time <= view.to; time += step)
    times.push(time);
  return times;
}

/** @param {number} rough */
function roundStep(rough) {
  if (rough > 0.5e9) {
    const seconds = CLOCK_STEPS.find((step) => step * 1e9 >= rough);
    if (seconds) return seconds * 1e9;
  }
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * (rough <= power * 1.0001 ? 1 : rough <= 2 * power ? 2 : rough <= 5 * power ? 5 : 10);
}
