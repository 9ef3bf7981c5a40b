// One run on the page: a canvas that can be moved and zoomed, and what is said about it.

import { drawOnCanvas } from "./canvas_pen.js";
import { Causality } from "./causality.js";
import { storyOf, storyOfViolation, tipAbout } from "./details.js";
import { Gestures } from "./gestures.js";
import { hitTest } from "./hits.js";
import { Overview } from "./overview.js";
import { Palette } from "./palette.js";
import { buildScene } from "./scene.js";
import { sceneAsSvg } from "./svg_pen.js";
import { hideTip, showTip } from "./tip.js";
import { AXIS, Viewport } from "./viewport.js";
import { counted, make, shortened, wallText } from "./words.js";

const FONT = "system-ui, sans-serif";
const TALLEST = 600;
const STEP = 0.6;
const MOST_AT_FIRST = 60;
const EXPORT_SCALE = 2;

/**
 * What a panel tells whoever holds it.
 * @typedef {object} Host
 * @property {string[]} names
 * @property {Set<string>} hidden
 * @property {(panel: Panel, number: number) => void} onPick
 * @property {(panel: Panel) => void} onView
 * @property {(panel: Panel, identity: string | null) => void} onSelect
 */

/** The panel of one run. */
export class Panel {
  /** @param {Host} host */
  constructor(host) {
    this.host = host;
    /** @type {import("./run_data.js").RunData | null} */
    this.run = null;
    /** @type {Causality | null} */
    this.causality = null;
    this.view = new Viewport(1);
    /** @type {import("./scene.js").Scene | null} */
    this.scene = null;
    /** @type {import("./scene.js").Focus | null} */
    this.focus = null;
    this.selected = -1;
    this.violation = -1;
    this.palette = new Palette();
    /** How long the last drawing took, and how much was drawn: for whoever is curious. */
    this.last = { milliseconds: 0, arrows: 0, bars: 0, drawings: 0 };
    this.pending = false;
    this.canvas = /** @type {HTMLCanvasElement} */ (make("canvas", { tabindex: 0, class: "spacetime" }));
    this.strip = /** @type {HTMLCanvasElement} */ (
      make("canvas", { class: "overview", "aria-hidden": "true" })
    );
    this.picker = /** @type {HTMLSelectElement} */ (
      make(
        "select",
        { "aria-label": "Run", onchange: () => this.host.onPick(this, this.picker.selectedIndex) },
        ...this.host.names.map((name) => make("option", {}, name)),
      )
    );
    this.status = make("span", { class: "status" });
    this.note = make("p", { class: "quiet" });
    this.story = make("div", { class: "telling", "aria-live": "polite" });
    this.count = make("span", {});
    this.faults = make(
      "span",
      { class: "faults" },
      button("‹", "Previous violation", () => this.step(-1)),
      this.count,
      button("›", "Next violation", () => this.step(1)),
    );
    this.element = make(
      "div",
      { class: "panel" },
      make("div", { class: "bar" }, this.picker, this.faults, this.#tools()),
      this.canvas,
      this.strip,
      this.status,
      this.note,
      this.story,
    );
    this.overview = new Overview(this.strip, (from, to) => this.show(from, to));
    this.gestures = new Gestures(this.canvas, {
      move: (x, y) => this.#moved(() => this.view.move(x, y)),
      zoom: (factor, x) => this.#moved(() => this.view.zoom(factor, x)),
      click: (x, y) => this.#click(x, y),
      hover: (x, y, event) => this.#hover(x, y, event),
      leave: () => hideTip(),
      key: (key) => this.#key(key),
    });
    new ResizeObserver(() => this.#resize()).observe(this.canvas);
  }

  #tools() {
    return make(
      "span",
      { class: "tools" },
      button("−", "Zoom out", () => this.zoom(1 / STEP)),
      button("+", "Zoom in", () => this.zoom(STEP)),
      button("Fit", "Show the whole run", () => this.show(0, this.view.limit, true)),
      button("SVG", "Save what is visible as SVG", () => this.#save("svg")),
      button("PNG", "Save what is visible as PNG", () => this.#save("png")),
    );
  }

  /**
   * Show another run, at its beginning or where its first violation is.
   * @param {import("./run_data.js").RunData} run
   * @param {number} number
   */
  take(run, number) {
    this.run = run;
    this.causality = null;
    this.picker.selectedIndex = number;
    this.view = new Viewport(run.span);
    this.view.rows = run.names.length;
    this.view.pitch = run.names.length <= 6 ? 66 : run.names.length <= 12 ? 46 : 34;
    this.canvas.style.height = `${Math.min(TALLEST, AXIS + run.names.length * this.view.pitch + 4)}px`;
    this.canvas.style.touchAction = AXIS + run.names.length * this.view.pitch > TALLEST ? "none" : "pan-y";
    this.canvas.setAttribute(
      "aria-label",
      `Spacetime diagram of ${run.name}: ${counted(run.copyCount, "message copy", "message copies")} between ${counted(run.names.length, "process", "processes")}`,
    );
    const began = run.wallMs === null ? "" : `Began ${wallText(run.wallMs, 0, 1e9, true)}. `;
    this.note.textContent = began + run.note;
    this.overview.take(run);
    this.faults.hidden = run.violations.length === 0;
    this.clear();
    this.#resize();
    this.view.show(...firstLook(run, Math.min(MOST_AT_FIRST, Math.max(20, this.view.width / 10))));
    this.redraw();
  }

  #resize() {
    if (!this.run || !this.canvas.clientWidth) return;
    const { view, canvas } = this;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.font = `600 12px ${FONT}`;
    const widest = Math.max(...this.run.names.map((name) => context.measureText(name).width));
    view.width = canvas.clientWidth;
    view.height = canvas.clientHeight;
    view.gutter = Math.ceil(Math.min(Math.max(widest + 20, 44), Math.max(view.width * 0.24, 120)));
    view.labels = this.run.names.map((name) =>
      shortened(name, view.gutter - 16, (text) => context.measureText(text).width),
    );
    view.scrollTo(view.scroll);
    this.redraw();
  }

  /** Draw soon, once, however often this is called before. */
  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.drawNow();
    });
  }

  /** Draw what is visible. */
  drawNow() {
    const { run, view, canvas } = this;
    if (!run || !canvas.clientWidth) return;
    const started = performance.now();
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(view.width * ratio), Math.round(view.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.palette = new Palette();
    this.scene = buildScene(run, view, this.focus, this.host.hidden);
    drawOnCanvas(context, this.scene, this.palette, FONT);
    this.overview.draw(view, this.palette);
    this.#tellStatus();
    const { packets, bars } = this.scene.drawn;
    this.last = {
      milliseconds: performance.now() - started,
      arrows: packets,
      bars,
      drawings: this.last.drawings + 1,
    };
  }

  #tellStatus() {
    if (!this.scene || !this.run) return;
    const { packets, packetsVisible } = this.scene.drawn;
    const { copyCount, messageCount, violations, violationCount } = this.run;
    const copies = copyCount > messageCount ? ` (${copyCount.toLocaleString("en")} copies)` : "";
    const all = `${counted(messageCount, "message")}${copies}, ${counted(packetsVisible, "packet")} in view`;
    this.status.textContent =
      packets < packetsVisible
        ? `${all}, ${packets.toLocaleString("en")} of them drawn: zoom in for the rest`
        : all;
    this.count.textContent =
      this.violation >= 0
        ? `violation ${this.violation + 1} of ${violations.length}`
        : violations.length < violationCount
          ? `${violations.length} of ${counted(violationCount, "violation")}`
          : counted(violationCount, "violation");
  }

  /** @param {() => void} change */
  #moved(change) {
    change();
    hideTip();
    this.redraw();
    this.host.onView(this);
  }

  /**
   * @param {number} from
   * @param {number} to
   * @param {boolean} [roomy]  whether to leave some space on both sides
   */
  show(from, to, roomy = false) {
    const edge = roomy ? (to - from) * 0.02 : 0;
    this.#moved(() => this.view.show(from - edge, to + edge));
  }

  /** Whether the whole run is in view. */
  get showsAll() {
    return this.view.from <= 0 && this.view.to >= this.view.span;
  }

  /** @param {number} factor */
  zoom(factor) {
    this.#moved(() => this.view.zoom(factor, (this.view.gutter + this.view.width) / 2));
  }

  // What stands out.

  /** Let nothing stand out. */
  clear() {
    this.focus = null;
    this.selected = -1;
    this.violation = -1;
    this.story.replaceChildren();
    this.redraw();
  }

  /**
   * Let a message stand out, with its past and its future.
   * @param {number} copy
   */
  select(copy) {
    if (!this.run || copy < 0) return;
    this.causality ??= new Causality(this.run);
    const causality = this.causality;
    const cone = causality.cone(copy);
    this.selected = copy;
    this.violation = -1;
    this.focus = { tone: (other) => causality.relation(other, cone) };
    this.story.replaceChildren(...storyOf(this.run, copy, cone), this.#clearButton());
    this.redraw();
  }

  /**
   * Go to a violation and let its witness stand out.
   * @param {number} number
   */
  jump(number) {
    const { run } = this;
    const violation = run?.violations[number];
    if (!run || !violation) return;
    const { early, late, path } = violation;
    const along = new Set(path);
    this.selected = -1;
    this.violation = number;
    this.focus = {
      tone: (copy) => (copy === early ? "early" : copy === late ? "late" : along.has(copy) ? "path" : ""),
    };
    const shown = [early, late, ...path];
    const { begin, end, sender, target } = run.copies;
    const from = Math.min(...shown.map((copy) => begin[copy]));
    const to = Math.max(...shown.map((copy) => end[copy]));
    this.view.revealRows(shown.flatMap((copy) => [sender[copy], target[copy]]));
    this.story.replaceChildren(...storyOfViolation(violation), this.#clearButton());
    const room = Math.max(to - from, 1) * 0.15;
    this.show(from - room, to + room);
  }

  /** @param {number} by */
  step(by) {
    const count = this.run?.violations.length ?? 0;
    if (count)
      this.jump(this.violation < 0 ? (by > 0 ? 0 : count - 1) : (this.violation + by + count) % count);
  }

  #clearButton() {
    return button("Clear", "Let nothing stand out", () => {
      this.clear();
      this.host.onSelect(this, null);
    });
  }

  // The pointer and the keyboard.

  /**
   * @param {number} x
   * @param {number} y
   */
  #click(x, y) {
    if (!this.scene || !this.run) return;
    const hit = hitTest(this.scene, this.run, x, y);
    if (!hit || hit.copy < 0) {
      this.clear();
      this.host.onSelect(this, null);
      return;
    }
    this.select(hit.copy);
    this.host.onSelect(this, this.run.identity(hit.copy));
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {PointerEvent} event
   */
  #hover(x, y, event) {
    if (!this.scene || !this.run) return;
    const hit = hitTest(this.scene, this.run, x, y);
    this.canvas.style.cursor = hit ? "pointer" : "grab";
    if (hit) showTip(tipAbout(this.run, hit), event);
    else hideTip();
  }

  /**
   * @param {string} key
   * @returns {boolean}  whether the key means something here
   */
  #key(key) {
    const { view } = this;
    const step = (view.width - view.gutter) / 6;
    /** @type {Record<string, () => void>} */
    const actions = {
      "+": () => this.zoom(STEP),
      "=": () => this.zoom(STEP),
      "-": () => this.zoom(1 / STEP),
      0: () => this.show(0, view.limit, true),
      ArrowLeft: () => this.#moved(() => view.move(step, 0)),
      ArrowRight: () => this.#moved(() => view.move(-step, 0)),
      ArrowUp: () => this.#moved(() => view.move(0, view.pitch)),
      ArrowDown: () => this.#moved(() => view.move(0, -view.pitch)),
      n: () => this.step(1),
      p: () => this.step(-1),
      Escape: () => this.clear(),
    };
    const action = actions[key];
    action?.();
    return action !== undefined;
  }

  // Files.

  /** @returns {string} */
  svg() {
    if (!this.run) return "";
    const scene = buildScene(this.run, this.view, this.focus, this.host.hidden);
    return sceneAsSvg(scene, new Palette(), this.run.name);
  }

  /** @returns {Promise<Blob>} */
  async png() {
    const canvas = document.createElement("canvas");
    canvas.width = this.view.width * EXPORT_SCALE;
    canvas.height = this.view.height * EXPORT_SCALE;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.scale(EXPORT_SCALE, EXPORT_SCALE);
    if (this.run)
      drawOnCanvas(
        context,
        buildScene(this.run, this.view, this.focus, this.host.hidden),
        new Palette(),
        FONT,
      );
    return new Promise((resolve, reject) =>
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture")))),
    );
  }

  /** @param {"svg" | "png"} format */
  async #save(format) {
    const blob = format === "svg" ? new Blob([this.svg()], { type: "image/svg+xml" }) : await this.png();
    const url = URL.createObjectURL(blob);
    const name = (this.run?.name ?? "run").replace(/[^\w.-]+/g, "-");
    make("a", { href: url, download: `${name}.${format}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }
}

/**
 * @param {string} text
 * @param {string} title
 * @param {() => void} action
 */
function button(text, title, action) {
  return make("button", { type: "button", title, "aria-label": title, onclick: action }, text);
}

/**
 * The part of a run to look at first: where its first violation is, or its beginning, and not more
 * of it than the eye can take in.
 * @param {import("./run_data.js").RunData} run
 * @param {number} copies  about so many
 * @returns {[number, number]}
 */
function firstLook(run, copies) {
  const { begin, end } = run.copies;
  const edge = run.span * 0.02;
  if (run.copyCount <= copies * 2) return [-edge, run.span + edge];
  const window = begin[Math.min(Math.round(copies), run.copyCount - 1)] - begin[0];
  const violation = run.violations[0];
  if (!violation) return [begin[0] - window * 0.05, begin[0] + window];
  const middle = (begin[violation.late] + end[violation.late]) / 2;
  const half = Math.max(window / 2, (end[violation.late] - begin[violation.late]) * 0.7);
  return [middle - half, middle + half];
}
