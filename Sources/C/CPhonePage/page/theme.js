// Light, dark, or the system's theme. Set before the first paint: this module has no import that waits.

import { read, write } from "./storage.js";

const ORDER = ["auto", "light", "dark"];
const WORDS = { auto: "Colours: as the system", light: "Colours: light", dark: "Colours: dark" };
const ICONS = { auto: "auto", light: "sun", dark: "moon" };

export function startTheme(button) {
  let theme = read("theme", "auto");
  const show = () => {
    document.documentElement.dataset.theme = theme;
    button.setAttribute("aria-label", WORDS[theme]);
    button.title = WORDS[theme];
    button.querySelector("use").setAttribute("href", `#icon-${ICONS[theme]}`);
    dispatchEvent(new Event("themechange"));
  };
  button.addEventListener("click", () => {
    theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
    write("theme", theme);
    show();
  });
  show();
}
