// Writes a scene as an SVG file that stands on its own.

import { headCorners } from "./canvas_pen.js";
import { AXIS } from "./viewport.js";

/**
 * @param {import("./scene.js").Scene} scene
 * @param {import("./palette.js").Palette} palette
 * @param {string} title
 * @returns {string}
 */
export function sceneAsSvg(scene, palette, title) {
  const { width, height, gutter } = scene;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="11">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" fill="${palette.colour("--paper")}"/>`,
    `<clipPath id="plot"><rect x="${gutter}" y="${AXIS}" width="${width - gutter}" height="${height - AXIS}"/></clipPath>`,
    ...axisParts(scene, palette),
    `<g clip-path="url(#plot)">`,
    ...scene.rows.map(
      ({ y }) =>
        `<path d="M${gutter} ${short(y)}H${width}" stroke="${palette.colour("--line")}" stroke-width="1.5"/>`,
    ),
    ...barParts(scene, palette),
    ...arrowParts(scene, palette),
    ...dotParts(scene, palette),
    ...labelParts(scene, palette),
    "</g>",
    ...scene.rows.map(
      ({ y, name }) =>
        `<text x="${gutter - 10}" y="${short(y + 4)}" text-anchor="end" font-weight="600" font-size="12" fill="${palette.colour("--ink")}">${escaped(name)}</text>`,
    ),
    "</svg>",
  ];
  return parts.join("\n");
}

/**
 * @param {string} text
 * @returns {string}
 */
function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

/** @param {number} value */
function short(value) {
  return Math.round(value * 10) / 10;
}

/**
 * @param {import("./scene.js").Scene} scene
 * @param {import("./palette.js").Palette} palette
 */
function axisParts(scene, palette) {
  return scene.axis
    .filter(({ x }) => x >= scene.gutter)
    .map(
      ({ x, text }) =>
        `<path d="M${short(x)} ${AXIS}V${scene.height}" stroke="${palette.colour("--grid")}"/>` +
        `<text x="${short(x)}" y="${AXIS / 2 + 4}" text-anchor="middle" fill="${palette.colour("--muted")}">${escaped(text)}</text>`,
    );
}

/**
 * @param {import("./scene.js").Scene} scene
 * @param {import("./palette.js").Palette} palette
 */
function barParts(scene, palette) {
  const parts = [];
  for (const [style, boxes] of scene.bars) {
    let path = "";
    for (let place = 0; place < boxes.length; place += 4) {
      path += `M${short(boxes[place])} ${short(boxes[place + 1])}h${short(boxes[place + 2])}v${short(boxes[place + 3])}h${-short(boxes[place + 2])}z`;
    }
    const { colour, alpha } = palette.fill(style);
    parts.push(`<path d="${path}" fill="${colour}" fill-opacity="${alpha}"/>`);
  }
  for (const { style, points } of scene.profiles) {
    const { colour, alpha } = palette.fill(style);
    parts.push(`<polygon points="${points.map(short).join(" ")}" fill="${colour}" fill-opacity="${alpha}"/>`);
  }
  return parts;
}

/**
 * @param {import("./scene.js").Scene} scene
 * @param {import("./palette.js").Palette} palette
 */
function arrowParts(scene, palette) {
  const parts = [];
  for (const [style, lines] of scene.arrows) {
    const stroke = palette.stroke(style, scene);
    let path = "";
    let heads = "";
    for (let place = 0; place < lines.length; place += 5) {
      const [x1, y1, x2, y2, whole] = lines.slice(place, place + 5);
      path += `M${short(x1)} ${short(y1)}L${short(x2)} ${short(y2)}`;
      if (whole) {
        const [left, right] = headCorners(x1, y1, x2, y2, stroke.width);
        heads += `M${short(x2)} ${short(y2)}L${left.map(short).join(" ")}L${right.map(short).join(" ")}z`;
      }
    }
    const dash = stroke.dash.length ? ` stroke-dasharray="${stroke.dash.join(" ")}"` : "";
    parts.push(
      `<path d="${path}" fill="none" stroke="${stroke.colour}" stroke-width="${stroke.width}" opacity="${stroke.alpha}"${dash}/>`,
    );
    if (heads) parts.push(`<path d="${heads}" fill="${stroke.colour}" opacity="${stroke.alpha}"/>`);
  }
  for (const [style, places] of scene.crosses) {
    const stroke = palette.stroke(style, scene);
    let path = "";
    for (let place = 0; place < places.length; place += 2)
      path += `M${short(places[place] - 4)} ${short(places[place + 1] - 4)}l8 8m0 -8l-8 8`;
    parts.push(
      `<path d="${path}" fill="none" stroke="${stroke.colour}" stroke-width="${stroke.width}" opacity="${stroke.alpha}"/>`,
    );
  }
  return parts;
}

/**
 * @param {import("./scene.js").Scene} scene
 * @param {import("./palette.js").Palette} palette
 */
function dotParts(scene, palette) {
  const parts = [];
  for (const [style, places] of scene.dots) {
    const fill = palette.fill(style).colour;
    const alpha = style.endsWith("dim") ? 0.25 : 1;
    for (let place = 0; place < places.length; place += 2) {
      parts.push(
        `<circle cx="${short(places[place])}" cy="${short(places[place + 1])}" r="2.6" fill="${fill}" stroke="${palette.colour("--message")}" opacity="${alpha}"/>`,
      );
    }
  }
  return parts;
}

/**
 * @param {import("./scene.js").Scene} scene
 * @param {import("./palette.js").Palette} palette
 */
function labelParts(scene, palette) {
  return scene.labels.map(({ x, y, text, style }) => {
    const { colour, bold } = palette.label(style);
    const weight = bold ? ' font-weight="600" font-size="12"' : "";
    return `<text x="${short(x)}" y="${short(y)}" fill="${colour}"${weight} stroke="${palette.colour("--paper")}" stroke-width="3" paint-order="stroke">${escaped(text)}</text>`;
  });
}
