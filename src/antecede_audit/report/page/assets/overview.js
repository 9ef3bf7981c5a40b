// The whole run in a strip: how busy it was, where violations are, and which part is looked at.

const BINS = 400;

/** A small canvas below a diagram, on which the visible part can be dragged. */
export class Overview {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {(from: number, to: number) => void} onMove
   */
  constructor(canvas, onMove) {
    this.canvas = canvas;
    this.onMove = onMove;
    /** @type {import("./run_data.js").RunData | null} */
    this.run = null;
    this.counts = new Float64Array(BINS);
    /** @type {import("./viewport.js").Viewport | null} */
    this.view = null;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.#drag(event);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (canvas.hasPointerCapture(event.pointerId)) this.#drag(event);
    });
  }

  /** @param {import("./run_data.js").RunData} run */
  take(run) {
    this.run = run;
    this.counts.fill(0);
    for (let copy = 0; copy < run.copyCount; copy += 1) {
      this.counts[Math.min(BINS - 1, Math.floor((run.copies.begin[copy] / run.span) * BINS))] += 1;
    }
  }

  /** @param {PointerEvent} event */
  #drag(event) {
    if (!this.view || !this.run) return;
    const box = this.canvas.getBoundingClientRect();
    const time = ((event.clientX - box.left) / box.width) * this.run.span;
    const half = (this.view.to - this.view.from) / 2;
    this.onMove(time - half, time + half);
  }

  /**
   * @param {import("./viewport.js").Viewport} view
   * @param {import("./palette.js").Palette} palette
   */
  draw(view, palette) {
    this.view = view;
    const { run, canvas } = this;
    if (!run) return;
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.scale(ratio, ratio);
    const most = Math.max(1, ...this.counts);
    context.fillStyle = palette.colour("--ack");
    for (let bin = 0; bin < BINS; bin += 1) {
      const tall = (this.counts[bin] / most) * (height - 6);
      context.fillRect((bin / BINS) * width, height - tall, width / BINS + 0.5, tall);
    }
    context.fillStyle = palette.colour("--early");
    for (const { early } of run.violations) {
      context.fillRect((run.copies.delivered[early] / run.span) * width - 1, 0, 2, height);
    }
    const left = Math.max(0, (view.from / run.span) * width);
    const right = Math.min(width, (view.to / run.span) * width);
    context.fillStyle = palette.colour("--past");
    context.globalAlpha = 0.16;
    context.fillRect(left, 0, Math.max(right - left, 3), height);
    context.globalAlpha = 1;
    context.strokeStyle = palette.colour("--past");
    context.strokeRect(left + 0.5, 0.5, Math.max(right - left, 3) - 1, height - 1);
  }
}
