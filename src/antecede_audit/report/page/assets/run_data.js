// One run as the page has it: columns, unpacked, and what follows from them once and for all.

import { unpackColumn } from "./columns.js";
import { TimeIndex } from "./time_index.js";

const SUBMITTED = 1;
const TRANSMITTED = 2;
const ARRIVED = 4;
const DELIVERED = 8;

const SAMPLED_FLIGHTS = 2000;
/** Simulated clocks begin at zero; what is later than the year 2000 is a time of day. */
const WALL_CLOCK_MS = 946684800000;

export const AGAIN = 1;
export const DOUBLED = 2;

/**
 * @typedef {object} Violation
 * @property {string} text
 * @property {number} early
 * @property {number} late
 * @property {number[]} path
 * @property {number} held
 */

/** Copies of messages, packets, and who is who; times are nanoseconds since the run began. */
export class RunData {
  /**
   * @param {any} packed  what spacetime/diagram.py has written
   * @param {Record<string, Float64Array>} copies
   * @param {Record<string, Float64Array>} packets
   */
  constructor(packed, copies, packets) {
    this.name = /** @type {string} */ (packed.name);
    this.note = /** @type {string} */ (packed.note);
    this.span = /** @type {number} */ (packed.span);
    const startMs = Number(packed.start) / 1e6;
    /** When it began, in milliseconds since 1970; null if its clock began with the run. */
    this.wallMs = startMs > WALL_CLOCK_MS ? startMs : null;
    this.names = /** @type {string[]} */ (packed.names);
    this.kinds = /** @type {string[]} */ (packed.kinds);
    this.styles = /** @type {string[]} */ (packed.styles);
    this.violations = /** @type {Violation[]} */ (packed.violations);
    this.violationCount = /** @type {number} */ (packed.violationCount);
    this.messageCount = /** @type {number} */ (packed.messages);
    this.watched = new Set(/** @type {string[]} */ (packed.watched));
    this.sendDepth = /** @type {number[]} */ (packed.copies.sendDepth);
    this.receiveDepth = /** @type {number[]} */ (packed.copies.receiveDepth);
    this.copies = copies;
    this.packets = packets;
    this.copyCount = copies.sender.length;
    this.packetCount = packets.kind.length;
    /** @type {Map<string, string>} */
    this.labels = new Map(
      packed.labels.map((/** @type {any[]} */ [sender, sequence, label]) => [`${sender}:${sequence}`, label]),
    );
    this.typicalFlight = this.#typicalFlight();
    this.#fillIn();
    this.packetIndex = new TimeIndex(packets.sent, packets.end);
    this.copyIndex = new TimeIndex(copies.begin, copies.end);
  }

  /**
   * @param {any} packed
   * @returns {Promise<RunData>}
   */
  static async unpacked(packed) {
    const copies = await unpackTable(packed.copies, ["begin"]);
    const packets = await unpackTable(packed.packets, ["sent", "copy"]);
    return new RunData(packed, copies, packets);
  }

  #typicalFlight() {
    const { lost, flight } = this.packets;
    const sample = [];
    const stride = Math.max(1, Math.floor(this.packetCount / SAMPLED_FLIGHTS));
    for (let packet = 0; packet < this.packetCount; packet += stride) {
      if (!lost[packet]) sample.push(flight[packet]);
    }
    sample.sort((one, other) => one - other);
    return sample.length ? sample[sample.length >> 1] : this.span / 50;
  }

  /** Turn differences into times, and say when each copy and packet is out of sight. */
  #fillIn() {
    const { copies, packets } = this;
    for (const name of ["transmitted", "arrived", "delivered"]) {
      for (let copy = 0; copy < this.copyCount; copy += 1) copies[name][copy] += copies.begin[copy];
    }
    copies.end = new Float64Array(this.copyCount);
    for (let copy = 0; copy < this.copyCount; copy += 1) {
      copies.end[copy] = this.isDelivered(copy)
        ? Math.max(copies.delivered[copy], copies.begin[copy])
        : this.span;
    }
    packets.end = new Float64Array(this.packetCount);
    for (let packet = 0; packet < this.packetCount; packet += 1) {
      const flight = packets.lost[packet] ? this.typicalFlight : packets.flight[packet];
      packets.end[packet] = packets.sent[packet] + flight;
    }
  }

  /** @param {number} copy */
  isSubmitted(copy) {
    return (this.copies.known[copy] & SUBMITTED) !== 0;
  }

  /** @param {number} copy */
  isTransmitted(copy) {
    return (this.copies.known[copy] & TRANSMITTED) !== 0;
  }

  /** @param {number} copy */
  isArrived(copy) {
    return (this.copies.known[copy] & ARRIVED) !== 0;
  }

  /** @param {number} copy */
  isDelivered(copy) {
    return (this.copies.known[copy] & DELIVERED) !== 0;
  }

  /**
   * When a copy left the send buffer, or the end of the run if it never did.
   * @param {number} copy
   */
  sendEnd(copy) {
    return this.isTransmitted(copy) ? this.copies.transmitted[copy] : this.span;
  }

  /**
   * When a copy left the receive buffer, or the end of the run if it never did.
   * @param {number} copy
   */
  receiveEnd(copy) {
    return this.isDelivered(copy) ? this.copies.delivered[copy] : this.span;
  }

  /**
   * What a message is called, or its number.
   * @param {number} copy
   */
  label(copy) {
    return this.ownLabel(copy) ?? `#${this.copies.sequence[copy]}`;
  }

  /**
   * The name that somebody gave a message, if anybody did.
   * @param {number} copy
   */
  ownLabel(copy) {
    return this.labels.get(`${this.copies.sender[copy]}:${this.copies.sequence[copy]}`);
  }

  /**
   * Whose message this is, and which, the same in every run of one workload.
   * @param {number} copy
   */
  identity(copy) {
    const { sender, sequence, target } = this.copies;
    return `${this.names[sender[copy]]}\n${sequence[copy]}\n${this.names[target[copy]]}`;
  }

  /**
   * The copy that another run calls by this identity, or -1.
   * @param {string} identity
   */
  findCopy(identity) {
    for (let copy = 0; copy < this.copyCount; copy += 1) if (this.identity(copy) === identity) return copy;
    return -1;
  }
}

/**
 * @param {Record<string, any>} table
 * @param {string[]} growing
 * @returns {Promise<Record<string, Float64Array>>}
 */
async function unpackTable(table, growing) {
  const names = Object.keys(table).filter((name) => typeof table[name] === "string");
  const columns = await Promise.all(
    names.map((name) => unpackColumn(table[name], table.count, growing.includes(name))),
  );
  return Object.fromEntries(names.map((name, place) => [name, columns[place]]));
}
