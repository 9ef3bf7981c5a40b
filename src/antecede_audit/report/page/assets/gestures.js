// From pointers, wheels and keys to what they mean: move, zoom, click, hover.

const CLICK = 4;
const WHEEL = 0.0022;

/**
 * @typedef {object} Actions
 * @property {(x: number, y: number) => void} move
 * @property {(factor: number, x: number) => void} zoom
 * @property {(x: number, y: number) => void} click
 * @property {(x: number, y: number, event: PointerEvent) => void} hover
 * @property {() => void} leave
 * @property {(key: string) => boolean} key
 */

/** Listens to a canvas. The wheel alone scrolls the page; with Ctrl it zooms, with Shift it moves. */
export class Gestures {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Actions} actions
   */
  constructor(canvas, actions) {
    this.canvas = canvas;
    this.actions = actions;
    /** @type {Map<number, {x: number, y: number}>} */
    this.pointers = new Map();
    this.travelled = 0;
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#moved(event));
    canvas.addEventListener("pointerup", (event) => this.#up(event));
    canvas.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => actions.leave());
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener("dblclick", (event) => actions.zoom(0.5, this.#place(event).x));
    canvas.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && actions.key(event.key)) event.preventDefault();
    });
  }

  /** @param {MouseEvent} event */
  #place(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    if (this.pointers.size === 0) this.travelled = 0;
    this.pointers.set(event.pointerId, this.#place(event));
  }

  /** @param {PointerEvent} event */
  #moved(event) {
    const place = this.#place(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType === "mouse") this.actions.hover(place.x, place.y, event);
      return;
    }
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, other]) => other);
    this.pointers.set(event.pointerId, place);
    this.travelled += Math.hypot(place.x - before.x, place.y - before.y);
    if (others.length) {
      const [other] = others;
      this.travelled += CLICK;
      this.actions.zoom(
        (Math.abs(before.x - other.x) + 40) / (Math.abs(place.x - other.x) + 40),
        (place.x + other.x) / 2,
      );
    } else if (this.travelled > CLICK) {
      this.actions.move(place.x - before.x, place.y - before.y);
    }
  }

  /** @param {PointerEvent} event */
  #up(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    if (this.pointers.size === 0 && this.travelled <= CLICK) {
      const { x, y } = this.#place(event);
      this.actions.click(x, y);
    }
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (event.ctrlKey || event.metaKey) {
      this.actions.zoom(Math.exp(event.deltaY * WHEEL), this.#place(event).x);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.actions.move(-sideways, 0);
    } else {
      return;
    }
    event.preventDefault();
  }
}
