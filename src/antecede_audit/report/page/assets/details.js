// What is said about a message, a packet, or a bar.

import { AGAIN, DOUBLED } from "./run_data.js";
import { counted, durationText, make, momentText } from "./words.js";

/**
 * What is under the pointer, in a line or two.
 * @param {import("./run_data.js").RunData} run
 * @param {import("./hits.js").Hit} hit
 * @returns {Node[]}
 */
export function tipAbout(run, hit) {
  if (hit.packet >= 0) return packetTip(run, hit.packet);
  const { sender, target, begin, arrived } = run.copies;
  const copy = hit.copy;
  const sending = hit.part === "send";
  const row = sending ? sender[copy] : target[copy];
  const waited = sending ? run.sendEnd(copy) - begin[copy] : run.receiveEnd(copy) - arrived[copy];
  const left = sending ? run.isTransmitted(copy) : run.isDelivered(copy);
  return [
    make("b", {}, title(run, copy)),
    make(
      "span",
      {},
      `${left ? "" : "still "}in the ${sending ? "send" : "receive"} buffer of ${run.names[row]}${left ? "" : " at the end"}: ${durationText(waited)}`,
    ),
  ];
}

/**
 * @param {import("./run_data.js").RunData} run
 * @param {number} packet
 * @returns {Node[]}
 */
function packetTip(run, packet) {
  const { kind, source, target, sent, flight, lost, copy, repeated, metadata } = run.packets;
  const ends = `${run.names[source[packet]]} → ${run.names[target[packet]]}`;
  const name = copy[packet] >= 0 ? title(run, copy[packet]) : `${run.kinds[kind[packet]]}, ${ends}`;
  const way = lost[packet] ? "lost, or still under way" : `on the way for ${durationText(flight[packet])}`;
  const again =
    repeated[packet] === DOUBLED
      ? "; the network's second copy"
      : repeated[packet] === AGAIN
        ? "; sent again"
        : "";
  const bytes = metadata[packet] ? `; ${counted(metadata[packet], "byte")} of metadata` : "";
  return [
    make("b", {}, name),
    make("span", {}, `sent at ${momentText(sent[packet], run.span)}, ${way}${again}${bytes}`),
  ];
}

/**
 * @param {import("./run_data.js").RunData} run
 * @param {number} copy
 */
function title(run, copy) {
  const { sender, sequence, target } = run.copies;
  const own = run.ownLabel(copy);
  const name = own === undefined ? `message ${sequence[copy]}` : `“${own}”`;
  return `${name}, ${run.names[sender[copy]]} → ${run.names[target[copy]]}`;
}

/**
 * The life of a message, and how much it depends on.
 * @param {import("./run_data.js").RunData} run
 * @param {number} copy
 * @param {import("./causality.js").Cone} cone
 * @returns {Node[]}
 */
export function storyOf(run, copy, cone) {
  const { begin, transmitted, arrived, delivered, payload } = run.copies;
  /** @type {[string, string, string][]} */
  const steps = [];
  if (run.isSubmitted(copy)) steps.push(["", "submitted", `at ${momentText(begin[copy], run.span)}`]);
  if (run.isTransmitted(copy))
    steps.push(["in-send", "in the send buffer", durationText(transmitted[copy] - begin[copy])]);
  if (run.isTransmitted(copy) && run.isArrived(copy))
    steps.push(["on-way", "on the way", durationText(arrived[copy] - transmitted[copy])]);
  if (run.isArrived(copy) && run.isDelivered(copy))
    steps.push(["in-receive", "in the receive buffer", durationText(delivered[copy] - arrived[copy])]);
  steps.push([
    "",
    run.isDelivered(copy) ? "delivered" : "not delivered",
    run.isDelivered(copy) ? `at ${momentText(delivered[copy], run.span)}` : "while the log lasts",
  ]);
  if (payload[copy]) steps.push(["", "payload", counted(payload[copy], "byte")]);
  return [
    make("h4", {}, title(run, copy)),
    make(
      "ul",
      { class: "life" },
      ...steps.map(([style, what, howLong]) =>
        make("li", {}, make("i", { class: style }), what, make("b", {}, howLong)),
      ),
    ),
    make(
      "p",
      { class: "cone" },
      make("span", { class: "past" }, `depends on ${counted(cone.pastCount, "message")}`),
      make(
        "span",
        { class: "future" },
        `${counted(cone.futureCount, "message")} depend${cone.futureCount === 1 ? "s" : ""} on it`,
      ),
    ),
  ];
}

/**
 * A violation in words, with the colours of the diagram explained.
 * @param {import("./run_data.js").Violation} violation
 * @returns {Node[]}
 */
export function storyOfViolation(violation) {
  const parts = [
    make("span", { class: "early" }, "delivered too early"),
    make("span", { class: "late" }, "should have come first"),
  ];
  if (violation.path.length) parts.push(make("span", { class: "path" }, "how one caused the other"));
  return [
    make("h4", {}, `Too early by ${durationText(violation.held)}`),
    make("p", {}, violation.text),
    make("p", { class: "cone" }, ...parts),
  ];
}
