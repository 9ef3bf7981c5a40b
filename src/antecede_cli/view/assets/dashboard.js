// A cluster on a page: asks for the whole once a second and changes what has changed.
//
// Names and texts are other people's: they become text nodes and nothing else. Where one is, is the
// part of the address behind #: a link is all that is needed to go somewhere, and so is a key.

const STATUS_SIGNS = {
  failing: "✗",
  unreachable: "✗",
  blocked: "■",
  degraded: "◐",
  ok: "●",
  unknown: "?",
  away: "○",
};
const SVG_TAGS = new Set(["svg", "g", "path", "circle", "text", "line", "title", "defs", "marker"]);
const EVERY_MS = 1000;
const HIDDEN_MS = 10000;
const LABELLED_MAX = 60;
const AROUND_FROM = 12;
const NAMED_MAX = 3;
const board = {
  /** @type {any} */ answer: null,
  failure: "",
  filter: "",
  sort: "name",
  reverse: false,
  /** How long the last refreshes took from question to picture, in milliseconds. @type {number[]} */
  refreshes: [],
  replay: document.body.dataset.replay === "true",
};

// Elements.

/**
 * An element with attributes and children; `data-key` tells it from its like when it is there again.
 * @param {string} tag
 * @param {Record<string, any>} attributes
 * @param {...any} children
 * @returns {Element}
 */
function el(tag, attributes = {}, ...children) {
  const made = SVG_TAGS.has(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== undefined && value !== false)
      made.setAttribute(name, value === true ? "" : String(value));
  for (const child of children.flat(2))
    if (child !== null && child !== undefined && child !== false)
      made.append(child instanceof Node ? child : String(child));
  return made;
}

/**
 * Make one element like another, touching only what differs: focus and selection stay.
 * @param {Element} old
 * @param {Element} fresh
 */
function morph(old, fresh) {
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes)
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old.hasAttribute("data-own")) return;
  const keyed = new Map();
  for (const child of old.children) {
    const key = child.getAttribute("data-key");
    if (key !== null) keyed.set(key, child);
  }
  let next = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const key = child instanceof Element ? child.getAttribute("data-key") : null;
    const known = key === null ? next : keyed.get(key);
    if (key !== null) keyed.delete(key); // Two may have one key: both are shown.
    if (known && isLike(known, child)) {
      if (known === next) next = next.nextSibling;
      else old.insertBefore(known, next);
      if (child instanceof Element) morph(/** @type {Element} */ (known), child);
      else if (known.nodeValue !== child.nodeValue) known.nodeValue = child.nodeValue;
    } else old.insertBefore(child, next);
  }
  while (next) {
    const gone = next;
    next = next.nextSibling;
    gone.remove();
  }
}

/**
 * Whether one can be changed into the other.
 * @param {Node} known
 * @param {Node} child
 */
function isLike(known, child) {
  if (known.nodeName !== child.nodeName) return false;
  if (!(known instanceof Element) || !(child instanceof Element)) return true;
  return known.getAttribute("data-key") === child.getAttribute("data-key");
}

// Words and numbers.

/** @param {number} value */
function figureText(value) {
  if (value >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en");
  return value.toPrecision(2);
}

/** @param {number} seconds */
function spanText(seconds) {
  if (seconds < 100) return `${Math.round(seconds)} s`;
  return seconds < 6000 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** @param {string} kind @param {string} name */
function linkTo(kind, name) {
  return `#/${kind}/${encodeURIComponent(name)}`;
}

/** @param {string} name @param {string} [kind] */
function nameLink(name, kind = "node") {
  return el("a", { href: linkTo(kind, name), class: "name", title: name }, name);
}

/** @param {string} status */
function pill(status) {
  return el("span", { class: `pill ${status}` }, `${STATUS_SIGNS[status] ?? "?"} ${status}`);
}

/**
 * Values over time as a line.
 * @param {number[]} values
 * @param {string} label
 * @param {number} [width]
 * @param {number} [height]
 */
function spark(values, label, width = 90, height = 22) {
  const most = Math.max(...values, 0);
  const step = width / Math.max(values.length - 1, 1);
  const y = (/** @type {number} */ value) => height - 2 - (most ? (value / most) * (height - 4) : 0);
  const points = values.map((value, at) => `${(at * step).toFixed(1)},${y(value).toFixed(1)}`);
  const line = points.length > 1 ? `M${points.join("L")}` : `M0,${height - 2}H${width}`;
  const range = `${label}: now ${figureText(values.at(-1) ?? 0)}, at most ${figureText(most)}`;
  return el(
    "svg",
    { class: "spark", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": range },
    el("path", { class: "area", d: `${line}L${width},${height}L0,${height}Z` }),
    el("path", { class: "line", d: line }),
  );
}

// Parts of the page.

/** @param {any} whole */
function countCards(whole) {
  const cards = Object.entries(whole.counts)
    .filter(([status, count]) => count > 0 || status === "ok")
    .map(([status, count]) =>
      el("div", { class: `card count ${status}`, "data-key": status }, el("b", {}, String(count)), pill(status)),
    );
  for (const figure of ["delivered", "held_back", "round_trip"].filter((name) => name in whole.figures)) {
    const [title, unit] = whole.figures[figure];
    const values = whole.total[figure] ?? [];
    cards.push(
      el(
        "div",
        { class: "card", "data-key": figure },
        el("b", {}, figureText(values.at(-1) ?? 0)),
        el("span", {}, `${title} (${unit})`),
        spark(values, title),
      ),
    );
  }
  return el("div", { class: "cards" }, ...cards);
}

/**
 * The nodes on a circle, and an arrow from each that waits to whom it waits for.
 * @param {any} whole
 */
function waitGraph(whole) {
  const nodes = whole.nodes;
  const radius = Math.max(110, Math.min(240, nodes.length * 9));
  // Room for the longest label, on all sides if labels stand like rays.
  const around = nodes.length > AROUND_FROM;
  const [width, height] = [2 * (radius + 128), 2 * (radius + (around ? 128 : 36))];
  const at = new Map();
  nodes.forEach((/** @type {any} */ node, /** @type {number} */ index) => {
    const angle = (2 * Math.PI * index) / Math.max(nodes.length, 1) - Math.PI / 2;
    at.set(node.name, { angle, x: width / 2 + radius * Math.cos(angle), y: height / 2 + radius * Math.sin(angle) });
  });
  const waiting = new Set(whole.waits.flatMap((/** @type {any} */ wait) => [wait.from, wait.to]));
  const arrows = whole.waits
    .filter((/** @type {any} */ wait) => at.has(wait.from) && at.has(wait.to))
    .map((/** @type {any} */ wait) => waitArrow(wait, at, width, height));
  const dots = nodes.map((/** @type {any} */ node) =>
    nodeDot(node, at.get(node.name), nodes.length <= LABELLED_MAX || waiting.has(node.name), around),
  );
  const said = whole.waits.length ? `${whole.waits.length} wait` : "nobody waits for anybody";
  const head = { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" };
  return el(
    "svg",
    { class: "graph", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Who waits for whom: ${said}` },
    el("defs", {}, el("marker", head, el("path", { d: "M0,0L8,4L0,8Z", class: "head" }))),
    el("circle", { class: "ring", cx: width / 2, cy: height / 2, r: radius }),
    whole.waits.length ? null : el("text", { class: "calm", x: width / 2, y: height / 2 }, "nobody waits"),
    ...arrows,
    ...dots,
  );
}

/**
 * @param {any} wait
 * @param {Map<string, any>} at
 * @param {number} width
 * @param {number} height
 */
function waitArrow(wait, at, width, height) {
  const [from, to] = [at.get(wait.from), at.get(wait.to)];
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const short = 11 / length;
  const start = [from.x + (to.x - from.x) * short, from.y + (to.y - from.y) * short];
  const end = [to.x + (from.x - to.x) * short, to.y + (from.y - to.y) * short];
  // Bent towards the middle, so that it does not run along the ring.
  const bend = [(start[0] + end[0] + width / 2) / 3, (start[1] + end[1] + height / 2) / 3];
  return el(
    "path",
    {
      class: wait.why ? "wait stuck" : "wait",
      "data-key": `${wait.from}>${wait.to}`,
      d: `M${start}Q${bend} ${end}`,
      "marker-end": "url(#head)",
    },
    el("title", {}, `${wait.from} waits for ${wait.to}${wait.why ? `: ${wait.why}` : ""}`),
  );
}

/**
 * @param {any} node
 * @param {any} at
 * @param {boolean} labelled
 * @param {boolean} around  whether labels stand like rays
 */
function nodeDot(node, at, labelled, around) {
  const left = Math.cos(at.angle) < -0.01;
  const middle = Math.abs(Math.cos(at.angle)) < 0.2 && !around;
  const degrees = (at.angle * 180) / Math.PI;
  const turn = around ? `rotate(${(left ? degrees + 180 : degrees).toFixed(1)} ${at.x.toFixed(1)} ${at.y.toFixed(1)})` : null;
  const label = Array.from(node.name);
  const shown = label.length > 14 ? `${label.slice(0, 7).join("")}…${label.slice(-6).join("")}` : node.name;
  const away = middle ? 0 : left ? -14 : 14;
  const down = middle ? (Math.sin(at.angle) < 0 ? -14 : 24) : 4;
  return el(
    "g",
    { class: `dot ${node.status}`, "data-key": node.name, "data-go": linkTo("node", node.name) },
    el("circle", { cx: at.x.toFixed(1), cy: at.y.toFixed(1), r: around ? 5 : 8 }),
    labelled
      ? el(
          "text",
          {
            x: (at.x + away).toFixed(1),
            y: (at.y + down).toFixed(1),
            transform: turn,
            "text-anchor": middle ? "middle" : left ? "end" : "start",
          },
          shown,
        )
      : null,
    el("title", {}, `${node.name}: ${node.status}`),
  );
}

/** @param {any} whole */
function waitList(whole) {
  const waits = [...whole.waits].sort((one, two) => Number(!one.why) - Number(!two.why) || two.messages - one.messages);
  if (!waits.length) return el("p", { class: "quiet" }, "No message is held back.");
  return el(
    "ul",
    { class: "waits" },
    ...waits.map((wait) =>
      el(
        "li",
        { "data-key": `${wait.from}>${wait.to}`, class: wait.why ? "stuck" : "" },
        nameLink(wait.from),
        " waits for ",
        nameLink(wait.to),
        wait.why ? el("b", {}, ` ${wait.why}`) : null,
        wait.messages
          ? el("span", { class: "quiet" }, ` ${wait.messages.toLocaleString("en")} held back${wait.oldest_s ? ` for ${spanText(wait.oldest_s)}` : ""}`)
          : null,
      ),
    ),
  );
}

const NODE_COLUMNS = [
  ["name", "node", ""],
  ["status", "status", ""],
  ["since_s", "for", "wide"],
  ["sent", "sent/s", "wide"],
  ["delivered", "delivered/s", "wide"],
  ["buffered", "unacked", "wider"],
  ["inbox", "unread", "wider"],
  ["held_back", "held back", ""],
  ["round_trip", "rtt ms", "wider"],
  ["lost", "lost/s", "wider"],
  ["peers", "peers here", "wide"],
  ["waits", "waits for", "wide"],
  ["spark", "", "wide"],
];
const SORTABLE = new Set(["name", "status", "sent", "delivered", "buffered", "inbox", "held_back", "round_trip", "lost"]);
const LIVE_ONLY = new Set(["since_s", "round_trip", "lost", "peers"]);
const SILENT = new Set(["unreachable", "unknown", "away"]);

/** @param {any[]} nodes @param {string[]} order */
function sortedNodes(nodes, order) {
  const wanted = board.filter.toLowerCase();
  const found = nodes.filter(
    (node) => node.name.toLowerCase().includes(wanted) || (wanted && node.status.startsWith(wanted)),
  );
  if (board.sort === "status") found.sort((one, two) => order.indexOf(one.status) - order.indexOf(two.status));
  else if (board.sort !== "name") found.sort((one, two) => two[board.sort] - one[board.sort]);
  return board.reverse ? found.reverse() : found;
}

/** @param {any[]} nodes @param {any} whole @param {boolean} [sortable] */
function nodesTable(nodes, whole, sortable = true) {
  const columns = NODE_COLUMNS.filter(([name]) => !LIVE_ONLY.has(name) || name in whole.figures || !board.replay);
  const heads = columns.map(([name, title, class_]) => {
    const chosen = board.sort === name && sortable;
    const order = chosen ? (board.reverse ? "descending" : "ascending") : null;
    const text =
      sortable && SORTABLE.has(name)
        ? el("button", { type: "button", class: "sort", "data-sort": name }, title, chosen ? (board.reverse ? " ▴" : " ▾") : "")
        : title;
    const words = name === "name" || name === "status" || name === "waits" ? " text" : "";
    return el("th", { scope: "col", class: `${class_}${words}`, "aria-sort": order }, text);
  });
  const rows = nodes.map((node) =>
    el(
      "tr",
      { "data-key": node.name, class: node.status },
      ...columns.map(([name, , class_]) => nodeCell(node, name, class_)),
    ),
  );
  return el(
    "div",
    { class: "table" },
    el("table", { class: "nodes" }, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows)),
    nodes.length ? null : el("p", { class: "quiet none" }, whole.nodes.length ? "No node matches." : "No node is known yet."),
  );
}

/** @param {any} node @param {string} column @param {string} class_ */
function nodeCell(node, column, class_) {
  if (column === "name") return el("th", { scope: "row", class: "text" }, nameLink(node.name));
  if (column === "status") return el("td", { class: "text" }, pill(node.status));
  if (column === "since_s") return el("td", { class: class_ }, spanText(node.since_s));
  if (column === "waits") {
    const more = node.waits_for.length > NAMED_MAX ? `, ${node.waits_for.length - NAMED_MAX} more` : "";
    const named = node.waits_for.slice(0, NAMED_MAX).map((/** @type {string} */ name) => nameLink(name));
    return el("td", { class: `text ${class_}` }, ...separated(named), more);
  }
  if (SILENT.has(node.status)) return el("td", { class: class_ }, "");
  if (column === "peers") {
    const known = Object.values(node.peers).reduce((sum, count) => sum + count, 0);
    return el("td", { class: class_ }, known ? `${node.peers.here} of ${known}` : "");
  }
  if (column === "spark") return el("td", { class: `${class_} drawn` }, spark(node.spark, "delivered a second"));
  const bad = column === "held_back" && node[column] > 0;
  return el("td", { class: `${class_}${bad ? " bad" : ""}` }, figureText(node[column]));
}

/** @param {Element[]} found */
function separated(found) {
  return found.flatMap((one, at) => (at ? [", ", one] : [one]));
}

/** @param {any[]} happenings */
function lately(happenings) {
  if (!happenings.length) return el("p", { class: "quiet" }, "Nothing has happened.");
  return el(
    "ol",
    { class: "lately" },
    ...happenings.map((one) => {
      const seen = one.nodes.filter((/** @type {string} */ name) => name !== one.peer);
      const more = seen.length > 3 ? ` and ${seen.length - 3} more` : "";
      return el(
        "li",
        { class: `kind-${one.kind.replace(/[^a-z_]/g, "")}` },
        el("time", {}, board.replay ? `${spanText(one.ago_s)} before` : `${spanText(one.ago_s)} ago`),
        el("span", {}, one.text, seen.length ? el("small", {}, ` ${seen.slice(0, 3).join(", ")}${more}`) : null),
      );
    }),
  );
}

/** @param {string} id @param {string} title @param {...any} content */
function part(id, title, ...content) {
  return el("section", { id, "data-key": id }, el("h2", {}, title), ...content);
}

/** @param {any} whole */
function overviewPage(whole) {
  const order = Object.keys(whole.counts);
  const nodes = sortedNodes(whole.nodes, order);
  const input = el("input", {
    type: "search",
    id: "filter",
    placeholder: "name or status",
    "aria-label": "Show only nodes with this in their name, or of this status",
    "data-own": true,
  });
  const shown = nodes.length === whole.nodes.length ? "" : ` ${nodes.length} of ${whole.nodes.length}`;
  return [
    countCards(whole),
    part("waits", "Who waits for whom", el("div", { class: "beside" }, waitGraph(whole), waitList(whole))),
    part("nodes", "Nodes", el("p", { class: "filter" }, input, el("span", { class: "quiet" }, shown)), nodesTable(nodes, whole)),
    whole.rooms.length ? part("rooms", "Rooms", roomsTable(whole.rooms)) : null,
    part("lately", "What has happened", lately(whole.happenings)),
  ];
}

/** @param {any[]} rooms */
function roomsTable(rooms) {
  const rows = rooms.map((room) =>
    el(
      "tr",
      { "data-key": room.name },
      el("th", { scope: "row", class: "text" }, nameLink(room.name, "room")),
      el("td", {}, String(room.members.length)),
      el("td", { class: "text" }, room.members.slice(0, 8).join(", "), room.members.length > 8 ? ", …" : ""),
    ),
  );
  const heads = [el("th", { scope: "col", class: "text" }, "room"), el("th", { scope: "col" }, "members"), el("th", { class: "text" }, "who")];
  return el("div", { class: "table" }, el("table", {}, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows)));
}

/** @param {string} name @param {any} node @param {any} whole */
function nodePage(name, node, whole) {
  if (!node) return [part("gone", name, el("p", {}, "Nobody knows a node of this name any more."))];
  const facts = [
    node.place ? `HTTP ${node.place}` : board.replay ? "" : "no HTTP address",
    node.address ? `messages ${node.address}` : "",
    node.version ? `version ${node.version}` : "",
  ].filter(Boolean);
  const charts = Object.entries(node.history ?? {}).map(([figure, values]) =>
    el(
      "div",
      { class: "card", "data-key": figure },
      el("b", {}, figureText(values.at(-1) ?? 0)),
      el("span", {}, `${whole.figures[figure][0]} (${whole.figures[figure][1]})`),
      spark(values, whole.figures[figure][0], 220, 40),
    ),
  );
  const seen = Object.entries(node.seen_by ?? {});
  return [
    el(
      "section",
      { id: "node", "data-key": "node" },
      el("h2", {}, name),
      el("p", {}, pill(node.status), board.replay ? " " : ` for ${spanText(node.since_s)} `, el("span", { class: "quiet" }, facts.join(" · "))),
      node.reasons.length ? el("ul", { class: "reasons" }, ...node.reasons.map((/** @type {string} */ one) => el("li", {}, one))) : null,
      node.waits_for.length ? el("p", {}, "It waits for ", ...separated(node.waits_for.map((/** @type {string} */ one) => nameLink(one))), ".") : null,
    ),
    charts.length ? part("figures", "The last minutes", el("div", { class: "cards" }, ...charts)) : null,
    node.text?.length ? part("text", "What is waiting", el("ul", { class: "reasons" }, ...node.text.map((/** @type {string} */ one) => el("li", {}, one)))) : null,
    node.rooms?.length ? part("rooms", "Rooms", el("p", {}, ...separated(node.rooms.map((/** @type {string} */ one) => nameLink(one, "room"))))) : null,
    node.peer_list ? part("peers", "Its peers", peersTable(node.peer_list)) : null,
    seen.length
      ? part(
          "seen",
          "As others see it",
          el("ul", { class: "seen" }, ...seen.map(([who, state]) => el("li", { "data-key": who }, nameLink(who), el("span", { class: `state ${state}` }, ` ${state}`)))),
        )
      : null,
    part("lately", "What has happened", lately(node.happenings ?? [])),
    node.figures && Object.keys(node.figures).length
      ? el("details", { "data-key": "all", "data-keep": "open" }, el("summary", {}, "All figures"), figuresTable({ ...node.figures, ...node.journal }))
      : null,
  ];
}

/** @param {any[]} peers */
function peersTable(peers) {
  const rank = { silent: 0, new: 1, away: 2, here: 3 };
  const sorted = [...peers].sort((one, two) => (rank[one.state] ?? 9) - (rank[two.state] ?? 9) || (one.name < two.name ? -1 : 1));
  const columns = [
    ["undelivered", "unacked", ""],
    ["held_back", "held back", ""],
    ["round_trip", "rtt ms", "wide"],
    ["sent", "datagrams out", "wide"],
    ["received", "in", "wide"],
    ["lost", "lost", "wide"],
  ];
  const rows = sorted.map((peer) =>
    el(
      "tr",
      { "data-key": peer.name },
      el("th", { scope: "row", class: "text" }, nameLink(peer.name)),
      el("td", { class: "text" }, el("span", { class: `state ${peer.state}` }, peer.state), peer.refusal ? ` ${peer.refusal}` : ""),
      ...columns.map(([key, , class_]) => el("td", { class: class_ }, figureText(peer[key]))),
    ),
  );
  const heads = [el("th", { scope: "col", class: "text" }, "peer"), el("th", { scope: "col", class: "text" }, "state")];
  heads.push(...columns.map(([, title, class_]) => el("th", { scope: "col", class: class_ }, title)));
  return el("div", { class: "table" }, el("table", {}, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows)));
}

/** @param {Record<string, unknown>} figures */
function figuresTable(figures) {
  const rows = Object.entries(figures).map(([name, value]) =>
    el("tr", { "data-key": name }, el("th", { scope: "row", class: "text" }, name.replaceAll("_", " ")), el("td", {}, typeof value === "number" ? value.toLocaleString("en") : String(value))),
  );
  return el("div", { class: "table" }, el("table", {}, el("tbody", {}, ...rows)));
}

/** @param {string} name @param {any} room @param {any} whole */
function roomPage(name, room, whole) {
  if (!room) return [part("gone", name, el("p", {}, "Nobody knows a room of this name any more."))];
  const views = Object.entries(room.views).map(([who, view]) =>
    el(
      "details",
      { "data-key": who, "data-keep": "open" },
      el("summary", {}, `As ${who} sees it`),
      figuresTable({ ...view, members: view.members.join(", ") }),
    ),
  );
  return [
    el("section", { id: "room", "data-key": "room" }, el("h2", {}, name), el("p", { class: "quiet" }, `A room of ${room.members.length}; told of by ${room.told_by.join(", ")}.`)),
    part("members", "Members", nodesTable(room.member_list, whole, false)),
    part("views", "Views", ...views),
  ];
}

// Where one is, and what is asked.

/** The kind of page and the name that the address says. @returns {[string, string]} */
function whereabouts() {
  const [, kind = "", name = ""] = window.location.hash.split("/");
  try {
    return [kind, decodeURIComponent(name)];
  } catch {
    return ["", ""];
  }
}

/** The token, if one is needed: from the address the first time, which then forgets it. */
function token() {
  const found = /[#&]token=([^&]+)/.exec(window.location.hash);
  if (found) {
    sessionStorage.setItem("token", decodeURIComponent(found[1]));
    window.history.replaceState(null, "", "#/");
  }
  return sessionStorage.getItem("token") ?? "";
}

/** Draw what is known now. */
function drawBoard() {
  const main = /** @type {HTMLElement} */ (document.getElementById("board"));
  const { answer } = board;
  const [kind, name] = whereabouts();
  let found = [];
  if (answer) {
    const { whole } = answer;
    const isHere = answer.kind === kind && answer.name === name;
    if (kind === "node") found = isHere ? nodePage(name, answer.detail, whole) : [];
    else if (kind === "room") found = isHere ? roomPage(name, answer.detail, whole) : [];
    else found = overviewPage(whole);
  }
  const fresh = el("main", { id: "board", tabindex: -1, class: board.failure ? "stale" : "" }, ...found);
  for (const open of main.querySelectorAll("details[open]"))
    fresh.querySelector(`details[data-key="${CSS.escape(open.getAttribute("data-key") ?? "")}"]`)?.setAttribute("open", "");
  morph(main, fresh);
  const back = /** @type {HTMLElement} */ (document.getElementById("back"));
  back.hidden = kind !== "node" && kind !== "room";
  tellState(answer?.whole);
}

/** @param {any} whole */
function tellState(whole) {
  const line = /** @type {HTMLElement} */ (document.getElementById("line"));
  const bad = whole ? whole.counts.failing + whole.counts.unreachable + whole.counts.blocked : 0;
  const known = whole ? `${whole.nodes.length} nodes, ${whole.counts.ok} of them well` : "asking";
  const source = whole?.source_failure ? ` Who there is is not known: ${whole.source_failure}.` : "";
  const text = board.failure || `${known}.${source}`;
  if (line.textContent !== text) line.textContent = text;
  line.className = board.failure || source ? "failed" : "";
  document.title = `${bad ? `(${bad}) ` : ""}antecede`;
  /** @type {HTMLElement} */ (document.getElementById("login")).hidden = board.failure !== NO_TOKEN;
}

const NO_TOKEN = "The token is missing or wrong.";

/** Ask once, and draw the answer. @param {string} [more] */
async function refreshBoard(more = "") {
  const began = performance.now();
  const [kind, name] = whereabouts();
  const secret = token();
  try {
    const query = new URLSearchParams(kind === "node" || kind === "room" ? { [kind]: name } : {});
    const response = await fetch(`cluster.json?${query}${more}`, {
      headers: secret ? { Authorization: `Bearer ${secret}` } : {},
      cache: "no-store",
    });
    if (response.status === 401) throw new Error(NO_TOKEN);
    if (!response.ok) throw new Error(`The dashboard answers with ${response.status}.`);
    board.answer = { ...(await response.json()), kind, name };
    board.failure = "";
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    board.failure = error instanceof TypeError ? "The dashboard does not answer: what is below is old." : said;
  }
  drawBoard();
  board.refreshes = [...board.refreshes.slice(-99), performance.now() - began];
  document.body.dataset.rounds = String(Number(document.body.dataset.rounds ?? 0) + 1);
}

async function keepAsking() {
  for (;;) {
    const began = performance.now();
    await refreshBoard();
    const every = document.hidden ? HIDDEN_MS : EVERY_MS;
    await new Promise((done) => setTimeout(done, Math.max(50, every - (performance.now() - began))));
  }
}

// Keys, clicks and the theme.

/** @param {number} by */
function moveFocus(by) {
  const links = [...document.querySelectorAll("#board th[scope=row] a")];
  if (!links.length) return;
  const at = links.indexOf(/** @type {Element} */ (document.activeElement));
  const next = at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + by, 0), links.length - 1);
  /** @type {HTMLElement} */ (links[next]).focus();
}

document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof HTMLInputElement && event.target.type !== "range";
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    if (typing) {
      /** @type {HTMLInputElement} */ (event.target).blur();
    } else if (whereabouts()[0]) window.location.hash = "#/";
  } else if (typing) return;
  else if (event.key === "/") {
    if (whereabouts()[0]) window.location.hash = "#/";
    requestAnimationFrame(() => document.getElementById("filter")?.focus());
  } else if (event.key === "j" || event.key === "k") moveFocus(event.key === "j" ? 1 : -1);
  else return;
  event.preventDefault();
});

document.addEventListener("click", (event) => {
  const target = /** @type {Element} */ (event.target);
  const sort = target.closest("[data-sort]")?.getAttribute("data-sort");
  const go = target.closest("[data-go]")?.getAttribute("data-go");
  if (go) window.location.hash = go;
  if (!sort) return;
  board.reverse = board.sort === sort && !board.reverse;
  board.sort = sort;
  drawBoard();
});

document.addEventListener("input", (event) => {
  if (!(event.target instanceof HTMLInputElement) || event.target.id !== "filter") return;
  board.filter = event.target.value;
  drawBoard();
});

window.addEventListener("hashchange", () => {
  drawBoard();
  if (!board.replay) void refreshBoard();
  document.getElementById("board")?.focus({ preventScroll: true });
  window.scrollTo(0, 0);
});

document.getElementById("login")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const input = /** @type {HTMLInputElement} */ (document.getElementById("token"));
  sessionStorage.setItem("token", input.value);
  input.value = "";
  void refreshBoard();
});

Object.assign(window, { dashboard: board });
