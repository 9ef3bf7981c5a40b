// Draws a scene onto a canvas.

import { AXIS } from "./viewport.js";

const HEAD = 7;
const CROSS = 4;
const DOT = 2.6;

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scene.js").Scene} scene
 * @param {import("./palette.js").Palette} palette
 * @param {string} font
 */
export function drawOnCanvas(context, scene, palette, font) {
  context.clearRect(0, 0, scene.width, scene.height);
  context.fillStyle = palette.colour("--paper");
  context.fillRect(0, 0, scene.width, scene.height);
  drawFrame(context, scene, palette, font);
  context.save();
  context.beginPath();
  context.rect(scene.gutter, AXIS, scene.width - scene.gutter, scene.height - AXIS);
  context.clip();
  drawRows(context, scene, palette);
  drawBars(context, scene, palette);
  for (const [style, lines] of scene.arrows) drawArrows(context, lines, palette.stroke(style, scene));
  for (const [style, places] of scene.crosses) drawCrosses(context, places, palette.stroke(style, scene));
  drawDots(context, scene, palette);
  drawLabels(context, scene, palette, font);
  context.restore();
  drawNames(context, scene, palette, font);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scene.js").Scene} scene
 * @param {import("./palette.js").Palette} palette
 * @param {string} font
 */
function drawFrame(context, scene, palette, font) {
  context.font = `11px ${font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = 1;
  for (const { x, text } of scene.axis) {
    if (x < scene.gutter) continue;
    context.strokeStyle = palette.colour("--grid");
    context.beginPath();
    context.moveTo(Math.round(x) + 0.5, AXIS);
    context.lineTo(Math.round(x) + 0.5, scene.height);
    context.stroke();
    context.fillStyle = palette.colour("--muted");
    context.fillText(text, x, AXIS / 2);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scene.js").Scene} scene
 * @param {import("./palette.js").Palette} palette
 */
function drawRows(context, scene, palette) {
  context.strokeStyle = palette.colour("--line");
  context.lineWidth = 1.5;
  context.beginPath();
  for (const { y } of scene.rows) {
    context.moveTo(scene.gutter, y);
    context.lineTo(scene.width, y);
  }
  context.stroke();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scene.js").Scene} scene
 * @param {import("./palette.js").Palette} palette
 */
function drawBars(context, scene, palette) {
  for (const [style, boxes] of scene.bars) {
    const { colour, alpha } = palette.fill(style);
    context.fillStyle = colour;
    context.globalAlpha = alpha;
    context.beginPath();
    for (let place = 0; place < boxes.length; place += 4)
      context.rect(boxes[place], boxes[place + 1], boxes[place + 2], boxes[place + 3]);
    context.fill();
  }
  for (const { style, points } of scene.profiles) {
    const { colour, alpha } = palette.fill(style);
    context.fillStyle = colour;
    context.globalAlpha = alpha;
    context.beginPath();
    for (let place = 0; place < points.length; place += 2) context.lineTo(points[place], points[place + 1]);
    context.fill();
  }
  context.globalAlpha = 1;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number[]} lines
 * @param {import("./palette.js").Stroke} stroke
 */
function drawArrows(context, lines, stroke) {
  useStroke(context, stroke);
  context.setLineDash(stroke.dash);
  context.beginPath();
  for (let place = 0; place < lines.length; place += 5) {
    context.moveTo(lines[place], lines[place + 1]);
    context.lineTo(lines[place + 2], lines[place + 3]);
  }
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  for (let place = 0; place < lines.length; place += 5) {
    if (lines[place + 4])
      headPath(context, lines[place], lines[place + 1], lines[place + 2], lines[place + 3], stroke.width);
  }
  context.fill();
  context.globalAlpha = 1;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./palette.js").Stroke} stroke
 */
function useStroke(context, stroke) {
  context.strokeStyle = stroke.colour;
  context.fillStyle = stroke.colour;
  context.lineWidth = stroke.width;
  context.globalAlpha = stroke.alpha;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 * @param {number} width
 */
function headPath(context, x1, y1, x2, y2, width) {
  const [left, right] = headCorners(x1, y1, x2, y2, width);
  context.moveTo(x2, y2);
  context.lineTo(left[0], left[1]);
  context.lineTo(right[0], right[1]);
  context.closePath();
}

/**
 * The two corners of an arrow's head away from its point.
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 * @param {number} width
 * @returns {[[number, number], [number, number]]}
 */
export function headCorners(x1, y1, x2, y2, width) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const size = HEAD + width;
  const [alongX, alongY] = [((x2 - x1) / length) * size, ((y2 - y1) / length) * size];
  const [acrossX, acrossY] = [-alongY * 0.32, alongX * 0.32];
  return [
    [x2 - alongX + acrossX, y2 - alongY + acrossY],
    [x2 - alongX - acrossX, y2 - alongY - acrossY],
  ];
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number[]} places
 * @param {import("./palette.js").Stroke} stroke
 */
function drawCrosses(context, places, stroke) {
  useStroke(context, stroke);
  context.beginPath();
  for (let place = 0; place < places.length; place += 2) {
    const [x, y] = [places[place], places[place + 1]];
    context.moveTo(x - CROSS, y - CROSS);
    context.lineTo(x + CROSS, y + CROSS);
    context.moveTo(x - CROSS, y + CROSS);
    context.lineTo(x + CROSS, y - CROSS);
  }
  context.stroke();
  context.globalAlpha = 1;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scene.js").Scene} scene
 * @param {import("./palette.js").Palette} palette
 */
function drawDots(context, scene, palette) {
  for (const [style, places] of scene.dots) {
    context.fillStyle = palette.fill(style).colour;
    context.strokeStyle = palette.colour("--message");
    context.lineWidth = 1;
    context.globalAlpha = style.endsWith("dim") ? 0.25 : 1;
    context.beginPath();
    for (let place = 0; place < places.length; place += 2) {
      context.moveTo(places[place] + DOT, places[place + 1]);
      context.arc(places[place], places[place + 1], DOT, 0, 2 * Math.PI);
    }
    context.fill();
    context.stroke();
  }
  context.globalAlpha = 1;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scene.js").Scene} scene
 * @param {import("./palette.js").Palette} palette
 * @param {string} font
 */
function drawLabels(context, scene, palette, font) {
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  context.lineJoin = "round";
  for (const { x, y, text, style } of scene.labels) {
    const { colour, bold } = palette.label(style);
    context.font = `${bold ? "600 12px" : "11px"} ${font}`;
    context.lineWidth = 3;
    context.strokeStyle = palette.colour("--paper");
    context.strokeText(text, x, y);
    context.fillStyle = colour;
    context.fillText(text, x, y);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scene.js").Scene} scene
 * @param {import("./palette.js").Palette} palette
 * @param {string} font
 */
function drawNames(context, scene, palette, font) {
  context.save();
  context.beginPath();
  context.rect(0, AXIS, scene.gutter - 6, scene.height - AXIS);
  context.clip();
  context.font = `600 12px ${font}`;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = palette.colour("--ink");
  for (const { y, name } of scene.rows) context.fillText(name, scene.gutter - 10, y);
  context.restore();
}
