// Plays a recorded run: asks for the cluster as it was, and shows in the diagram when that is.

const player = /** @type {HTMLElement} */ (document.querySelector(".player"));
const playButton = /** @type {HTMLButtonElement} */ (document.getElementById("play"));
const speedSelect = /** @type {HTMLSelectElement} */ (document.getElementById("speed"));
const momentSlider = /** @type {HTMLInputElement} */ (document.getElementById("moment"));
const clockOutput = /** @type {HTMLOutputElement} */ (document.getElementById("clock"));
const spanNs = Number(player.dataset.span);
const ASK_MS = 200;
const SPEEDS = [0.0001, 0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 60, 600, 3600];
const LONGEST_MS = 30000;
const played = { at: 0, playing: false, asking: false, wanted: -1, last: performance.now() };

const usual = SPEEDS.find((speed) => spanNs / 1e6 / speed <= LONGEST_MS) ?? SPEEDS[SPEEDS.length - 1];
speedSelect.append(
  ...SPEEDS.map((speed) => {
    const option = /** @type {HTMLOptionElement} */ (el("option", { value: speed, selected: speed === usual }, `${speed} ×`));
    return option;
  }),
);

/** @param {number} at  in nanoseconds since the run began */
function goTo(at) {
  played.at = Math.max(0, Math.min(at, spanNs));
  momentSlider.value = String((played.at / Math.max(spanNs, 1)) * 1000);
  clockOutput.textContent = `${momentText(played.at, spanNs)} of ${durationText(spanNs)}`;
  void askMoment();
}

async function askMoment() {
  played.wanted = Math.round(played.at);
  if (played.asking) return;
  played.asking = true;
  while (played.wanted >= 0) {
    const at = played.wanted;
    played.wanted = -1;
    const began = performance.now();
    await refreshBoard(`&at=${at}`);
    if (played.playing) await new Promise((done) => setTimeout(done, Math.max(0, ASK_MS - (performance.now() - began))));
  }
  played.asking = false;
}

/** @param {boolean} on */
function setPlaying(on) {
  if (on && played.at >= spanNs) goTo(0);
  played.playing = on;
  playButton.textContent = on ? "⏸" : "▶";
  played.last = performance.now();
}

/** The moment as a line through the diagrams, which follow it. */
function drawPlayhead() {
  for (const panel of viewer?.panels ?? []) {
    const { view, canvas } = panel;
    if (played.playing && (played.at > view.to || played.at < view.from)) {
      const length = view.to - view.from;
      panel.show(played.at - length * 0.1, played.at + length * 0.9);
    }
    let line = /** @type {HTMLElement | null} */ (panel.element.querySelector(".playhead"));
    if (!line) {
      line = /** @type {HTMLElement} */ (el("div", { class: "playhead" }));
      panel.element.append(line);
    }
    const x = view.x(played.at);
    line.hidden = x < view.gutter || x > view.width;
    Object.assign(line.style, {
      left: `${canvas.offsetLeft + x}px`,
      top: `${canvas.offsetTop}px`,
      height: `${canvas.offsetHeight}px`,
    });
  }
}

function onFrame() {
  const now = performance.now();
  if (played.playing) {
    goTo(played.at + (now - played.last) * 1e6 * Number(speedSelect.value));
    if (played.at >= spanNs) setPlaying(false);
  }
  played.last = now;
  drawPlayhead();
  requestAnimationFrame(onFrame);
}

playButton.addEventListener("click", () => setPlaying(!played.playing));
momentSlider.addEventListener("input", () => goTo((Number(momentSlider.value) / 1000) * spanNs));
window.addEventListener("hashchange", () => void askMoment());
document.addEventListener("keydown", (event) => {
  if (event.target instanceof HTMLElement && event.target.matches("input, select, button, canvas")) return;
  if (event.key === " ") setPlaying(!played.playing);
  else if (event.key === "ArrowRight" || event.key === "ArrowLeft")
    goTo(played.at + (event.key === "ArrowRight" ? 0.01 : -0.01) * spanNs);
  else return;
  event.preventDefault();
});

Object.assign(window, { played, goToMoment: goTo });
goTo(0);
requestAnimationFrame(onFrame);
