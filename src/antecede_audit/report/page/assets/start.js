// Wakes the page.

import { wakeCharts } from "./charts.js";
import { Viewer } from "./viewer.js";

const theme = /** @type {HTMLElement} */ (document.getElementById("theme"));
const stage = document.getElementById("viewer");
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const viewer = stage ? new Viewer(stage) : null;

theme.addEventListener("click", () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
  root.dataset.theme = isDark ? "light" : "dark";
  viewer?.redraw();
});
dark.addEventListener("change", () => viewer?.redraw());

wakeCharts();
if (stage && viewer) {
  Object.assign(stage, { viewer });
  await viewer.start();
  stage.dataset.ready = "true";
}
for (const node of document.querySelectorAll("button[data-violation]")) {
  const { run, violation } = /** @type {HTMLElement} */ (node).dataset;
  node.addEventListener("click", () => void viewer?.jump(Number(run), Number(violation)));
}
