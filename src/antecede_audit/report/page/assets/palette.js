// How styles look: strokes, dashes and colours, the latter from the page's style sheet.

/**
 * @typedef {object} Stroke
 * @property {string} colour  the name of a custom property of the page
 * @property {number} width
 * @property {number[]} dash
 * @property {number} alpha
 */

/** @type {Record<string, Stroke>} */
const STROKES = {
  message: { colour: "--message", width: 1.3, dash: [], alpha: 0.9 },
  again: { colour: "--message", width: 1, dash: [7, 4], alpha: 0.65 },
  ack: { colour: "--ack", width: 1, dash: [4, 3], alpha: 0.8 },
  permit: { colour: "--permit", width: 1.4, dash: [1.5, 3], alpha: 0.9 },
  control: { colour: "--ack", width: 1, dash: [7, 2, 1.5, 2], alpha: 0.8 },
};

/** @type {Record<string, Partial<Stroke>>} */
const TONES = {
  dim: { alpha: 0.13 },
  self: { colour: "--self", width: 3, alpha: 1 },
  past: { colour: "--past", width: 1.9, alpha: 1 },
  future: { colour: "--future", width: 1.9, alpha: 1 },
  early: { colour: "--early", width: 3, alpha: 1 },
  late: { colour: "--late", width: 3, alpha: 1 },
  path: { colour: "--path", width: 3, alpha: 1 },
};

/** Tones of a few packets, which stand out in any crowd. */
const SINGLE = ["self", "early", "late", "path"];

const CROWD_ALPHA = 0.3;
const UNDASHED_ALPHA = 0.55;

/** @type {Record<string, string>} */
const FILLS = { send: "--send", receive: "--receive", submitted: "--paper", delivered: "--message" };

/** @type {Record<string, string>} */
const LABELS = {
  past: "--past",
  future: "--future",
  self: "--self",
  early: "--early",
  late: "--late",
  path: "--path",
  watched: "--ink",
};

/** Resolves the page's colours as they are now, light or dark. */
export class Palette {
  constructor() {
    this.style = getComputedStyle(document.documentElement);
    /** @type {Map<string, string>} */
    this.known = new Map();
  }

  /**
   * @param {string} name
   * @returns {string}
   */
  colour(name) {
    const known = this.known.get(name);
    if (known !== undefined) return known;
    const value = this.style.getPropertyValue(name).trim();
    this.known.set(name, value);
    return value;
  }

  /**
   * @param {string} style  the kind of packet, and a tone
   * @param {{crowded: boolean, dashed: boolean}} scene  whether there are too many to tell apart
   * @returns {Stroke}
   */
  stroke(style, { crowded, dashed }) {
    const [base, tone] = style.split(" ");
    const stroke = { ...STROKES[base], ...TONES[tone] };
    const colour = this.colour(stroke.colour);
    if (SINGLE.includes(tone)) return { ...stroke, colour };
    if (crowded) return { colour, width: 0.8, dash: [], alpha: stroke.alpha * CROWD_ALPHA };
    if (dashed || !stroke.dash.length) return { ...stroke, colour };
    return { colour, width: 0.8, dash: [], alpha: stroke.alpha * UNDASHED_ALPHA };
  }

  /**
   * @param {string} style
   * @returns {{colour: string, alpha: number}}
   */
  fill(style) {
    const [base, tone] = style.split(" ");
    return { colour: this.colour(FILLS[base]), alpha: tone === "dim" ? 0.18 : 0.85 };
  }

  /**
   * @param {string} style
   * @returns {{colour: string, bold: boolean}}
   */
  label(style) {
    return { colour: this.colour(LABELS[style] ?? "--muted"), bold: style !== "" };
  }
}
