// Wakes the page of a cluster that lives.

const themeSwitch = /** @type {HTMLElement} */ (document.getElementById("theme"));
themeSwitch.addEventListener("click", () => {
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : dark;
  root.dataset.theme = isDark ? "light" : "dark";
});

void keepAsking();
