// The diagrams of the page: one run, or two beside each other that move together.

import { Panel } from "./panel.js";
import { RunData } from "./run_data.js";
import { make } from "./words.js";

const PACKETS = /** @type {const} */ ([
  ["message", "messages"],
  ["ack", "acks"],
  ["permit", "permits"],
  ["control", "other control"],
]);

/** Holds the panels and what they have in common. */
export class Viewer {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.packed = Array.from({ length: Number(root.dataset.runs) }, (_, number) => parsed(`run-${number}`));
    /** @type {Map<number, Promise<RunData>>} */
    this.unpacked = new Map();
    /** @type {Panel[]} */
    this.panels = [];
    /** @type {Set<string>} */
    this.hidden = new Set();
    this.names = this.packed.map((run) => run.name);
    this.beside = make("div", { class: "panels" });
    this.linked = /** @type {HTMLInputElement} */ (
      make("input", { type: "checkbox", checked: true, onchange: () => this.#follow(this.panels[0]) })
    );
    this.both = /** @type {HTMLInputElement} */ (
      make("input", { type: "checkbox", onchange: () => this.#setPanels(this.both.checked ? 2 : 1) })
    );
    root.replaceChildren(this.#controls(), this.beside);
  }

  #controls() {
    const styles = new Set(this.packed.flatMap((run) => run.styles));
    const kinds = PACKETS.filter(([style]) => styles.has(style)).map(([style, name]) =>
      make(
        "label",
        { class: `kind ${style}` },
        make("input", {
          type: "checkbox",
          checked: true,
          onchange: (/** @type {Event} */ event) =>
            this.#toggle(style, /** @type {HTMLInputElement} */ (event.target).checked),
        }),
        make("i", {}),
        name,
      ),
    );
    const buffers = [
      ["in-send", "in a send buffer"],
      ["in-receive", "in a receive buffer"],
    ].map(([style, name]) => make("span", { class: "kind" }, make("i", { class: style }), name));
    const pair =
      this.packed.length > 1
        ? [make("label", {}, this.both, "two runs"), make("label", {}, this.linked, "move together")]
        : [];
    return make(
      "div",
      { class: "controls" },
      make("div", { class: "kinds" }, ...kinds, ...buffers),
      make("div", { class: "pair" }, ...pair),
    );
  }

  /** Show the first run, or two of them where there is room. */
  async start() {
    const pair = (this.root.dataset.pair ?? "0").split(",").map(Number);
    this.both.checked = pair.length > 1;
    await this.#setPanels(pair.length, pair);
  }

  /**
   * @param {number} count
   * @param {number[]} [runs]
   */
  async #setPanels(count, runs = []) {
    while (this.panels.length > count) this.panels.pop()?.element.remove();
    this.#tellTime();
    this.beside.classList.toggle("two", count > 1);
    const fresh = [];
    while (this.panels.length < count) {
      const panel = new Panel({
        names: this.names,
        hidden: this.hidden,
        onPick: (picked, number) => void this.load(picked, number),
        onView: (moved) => this.#follow(moved),
        onSelect: (chosen, identity) => this.#selectElsewhere(chosen, identity),
      });
      fresh.push(panel);
      this.panels.push(panel);
      this.beside.append(panel.element);
    }
    for (const panel of fresh) await this.load(panel, runs[this.panels.indexOf(panel)] ?? this.#unshown(panel));
  }

  /**
   * A run that no other panel shows: beside a run one wants to see another.
   * @param {Panel} panel
   */
  #unshown(panel) {
    const shown = this.panels.filter((one) => one !== panel && one.run).map((one) => one.picker.selectedIndex);
    const free = this.names.findIndex((_, number) => !shown.includes(number));
    return free < 0 ? 0 : free;
  }

  /** Alone, a recorded run has times of day; beside another, both count from their beginning. */
  #tellTime() {
    for (const panel of this.panels) {
      panel.view.wallMs = this.panels.length === 1 ? (panel.run?.wallMs ?? null) : null;
      panel.redraw();
    }
  }

  /** Let the panels look at the same stretch of time: all of it if that is short. */
  #align() {
    const leading = this.panels.find((panel) => panel.run?.violations.length) ?? this.panels[0];
    // Before they follow: a shorter run would cut the end of a longer one off.
    const whole = this.panels.every((panel) => panel.showsAll);
    this.#follow(leading);
    if (whole) leading.show(0, leading.view.limit, true);
  }

  /**
   * @param {Panel} panel
   * @param {number} number
   */
  async load(panel, number) {
    let run = this.unpacked.get(number);
    if (!run) {
      run = RunData.unpacked(this.packed[number]);
      this.unpacked.set(number, run);
    }
    panel.take(await run, number);
    this.#align();
    this.#tellTime();
  }

  /**
   * Go to a violation of a run, in whichever panel shows it, or in the first.
   * @param {number} number
   * @param {number} violation
   */
  async jump(number, violation) {
    let panel = this.panels.find((one) => one.picker.selectedIndex === number);
    if (!panel) {
      panel = this.panels[0];
      await this.load(panel, number);
    }
    panel.jump(violation);
    this.root.scrollIntoView({ block: "start" });
  }

  /** Draw everything again, in other colours perhaps. */
  redraw() {
    for (const panel of this.panels) panel.redraw();
  }

  /** @param {Panel} moved */
  #follow(moved) {
    const limit = Math.max(...this.panels.map((panel) => panel.view.span));
    for (const panel of this.panels) panel.view.limit = this.linked.checked ? limit : panel.view.span;
    if (!this.linked.checked) return;
    for (const panel of this.panels) {
      if (panel === moved) continue;
      panel.view.show(moved.view.from, moved.view.to);
      panel.redraw();
    }
  }

  /**
   * @param {Panel} chosen
   * @param {string | null} identity
   */
  #selectElsewhere(chosen, identity) {
    for (const panel of this.panels) {
      if (panel === chosen || !panel.run) continue;
      const copy = identity === null ? -1 : panel.run.findCopy(identity);
      if (copy >= 0) panel.select(copy);
      else panel.clear();
    }
  }

  /**
   * @param {string} style
   * @param {boolean} shown
   */
  #toggle(style, shown) {
    if (shown) this.hidden.delete(style);
    else this.hidden.add(style);
    this.redraw();
  }
}

/**
 * @param {string} identity
 * @returns {any}
 */
function parsed(identity) {
  const script = /** @type {HTMLElement} */ (document.getElementById(identity));
  return JSON.parse(script.textContent ?? "null");
}
