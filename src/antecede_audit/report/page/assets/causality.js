// What happened before a message, and what came of it, on the events of all processes.

/**
 * What a message depends on and what depends on it, as prefixes and suffixes of the processes'
 * events: so many events of each row are in the past, those from some place on are in the future.
 * @typedef {object} Cone
 * @property {number} head  the message, by its first copy
 * @property {Int32Array} past
 * @property {Int32Array} future
 * @property {number} pastCount
 * @property {number} futureCount
 */

/** The order of submissions and deliveries at every process. */
export class Causality {
  /** @param {import("./run_data.js").RunData} run */
  constructor(run) {
    const { sender, sequence, target, submittedAt, deliveredAt } = run.copies;
    const count = run.copyCount;
    this.sender = sender;
    this.target = target;
    /** The first copy of each copy's message. */
    this.head = new Int32Array(count);
    /** The next copy of the same message, or -1. */
    this.next = new Int32Array(count).fill(-1);
    this.submitPlace = new Int32Array(count).fill(-1);
    this.deliverPlace = new Int32Array(count).fill(-1);
    const keys = run.names.map(() => /** @type {number[]} */ ([]));
    // Position and event in one number, which sorts faster than pairs do.
    const scale = 2 * count + 2;
    /** @type {Map<number, number>[]} */
    const last = run.names.map(() => new Map());
    for (let copy = 0; copy < count; copy += 1) {
      const from = sender[copy];
      const before = last[from].get(sequence[copy]);
      last[from].set(sequence[copy], copy);
      this.head[copy] = before === undefined ? copy : this.head[before];
      if (before === undefined) {
        if (submittedAt[copy] >= 0) keys[from].push(submittedAt[copy] * scale + copy * 2);
      } else {
        this.next[before] = copy;
      }
      if (deliveredAt[copy] >= 0) keys[target[copy]].push(deliveredAt[copy] * scale + copy * 2 + 1);
    }
    /** Copies, doubled, plus one for a delivery, in the order of the row. */
    this.events = keys.map((row) => Int32Array.from(Float64Array.from(row).sort(), (key) => key % scale));
    for (const events of this.events) {
      events.forEach((event, place) => {
        (event & 1 ? this.deliverPlace : this.submitPlace)[event >> 1] = place;
      });
    }
  }

  /**
   * @param {number} copy
   * @returns {Cone}
   */
  cone(copy) {
    const head = this.head[copy];
    const past = this.#past(head);
    const future = this.#future(head);
    let pastCount = 0;
    let futureCount = 0;
    this.events.forEach((events, row) => {
      events.forEach((event, place) => {
        if (event & 1) return;
        if (place < past[row]) pastCount += 1;
        else if (place >= future[row] && event >> 1 !== head) futureCount += 1;
      });
    });
    return { head, past, future, pastCount, futureCount };
  }

  /** @param {number} head */
  #past(head) {
    const reach = new Int32Array(this.events.length);
    const scanned = new Int32Array(this.events.length);
    if (this.submitPlace[head] < 0) return reach;
    reach[this.sender[head]] = this.submitPlace[head];
    const open = [this.sender[head]];
    while (open.length) {
      const row = /** @type {number} */ (open.pop());
      for (; scanned[row] < reach[row]; scanned[row] += 1) {
        const event = this.events[row][scanned[row]];
        if (!(event & 1)) continue;
        const cause = this.head[event >> 1];
        const from = this.sender[cause];
        if (this.submitPlace[cause] >= reach[from]) {
          reach[from] = this.submitPlace[cause] + 1;
          open.push(from);
        }
      }
    }
    return reach;
  }

  /** @param {number} head */
  #future(head) {
    const reach = Int32Array.from(this.events, (events) => events.length);
    const scanned = Int32Array.from(reach);
    /** @type {number[]} */
    const open = [];
    const deliver = (/** @type {number} */ first) => {
      for (let copy = first; copy >= 0; copy = this.next[copy]) {
        const row = this.target[copy];
        if (this.deliverPlace[copy] >= 0 && this.deliverPlace[copy] < reach[row]) {
          reach[row] = this.deliverPlace[copy];
          open.push(row);
        }
      }
    };
    if (this.submitPlace[head] >= 0) {
      reach[this.sender[head]] = this.submitPlace[head];
      open.push(this.sender[head]);
    }
    deliver(head);
    while (open.length) {
      const row = /** @type {number} */ (open.pop());
      while (scanned[row] > reach[row]) {
        scanned[row] -= 1;
        const event = this.events[row][scanned[row]];
        if (!(event & 1)) deliver(event >> 1);
      }
    }
    return reach;
  }

  /**
   * Where a copy stands to a message: "self", "past", "future", or "" if neither caused the other.
   * @param {number} copy
   * @param {Cone} cone
   * @returns {"self" | "past" | "future" | ""}
   */
  relation(copy, cone) {
    const head = this.head[copy];
    if (head === cone.head) return "self";
    const place = this.submitPlace[head];
    if (place < 0) return "";
    const row = this.sender[head];
    if (place < cone.past[row]) return "past";
    return place >= cone.future[row] ? "future" : "";
  }
}
