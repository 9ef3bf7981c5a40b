// The small text beside the pointer.

/**
 * @param {Node[]} content
 * @param {PointerEvent} event
 */
export function showTip(content, event) {
  const tip = /** @type {HTMLElement} */ (document.getElementById("tip"));
  tip.replaceChildren(...content);
  tip.hidden = false;
  const right = event.clientX + tip.offsetWidth + 24 > window.innerWidth;
  tip.style.left = `${Math.max(4, right ? event.clientX - tip.offsetWidth - 12 : event.clientX + 14)}px`;
  tip.style.top = `${Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 4)}px`;
}

export function hideTip() {
  /** @type {HTMLElement} */ (document.getElementById("tip")).hidden = true;
}
