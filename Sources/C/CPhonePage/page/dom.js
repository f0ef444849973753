// Makes elements, and never parses text as markup: nothing in this page uses innerHTML, so that text of a relay, an agent or
// a person stays text.

const SVG = "http://www.w3.org/2000/svg";

/** Makes an element. `properties` are attributes, besides `class`, `text`, `hidden` and `on` (listeners by event). */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = value;
    else if (name === "text") element.textContent = value;
    else if (name === "on") for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

/** A drawing from the page's own HTML. */
export function icon(name, className = "icon") {
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("class", className);
  drawing.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#icon-${name}`);
  drawing.append(use);
  return drawing;
}

/**
 * A text with its invisible characters written out: those that turn the direction of writing, or take no room, can make one command look like
 * another. `isExact` also covers spaces other than the common one, and characters that change how the one before them is drawn.
 */
export function unmasked(text, isExact = false) {
  return text.replace(isExact ? UNSEEN_EXACTLY : UNSEEN, written);
}

/** The same, with line breaks and tabs written out. */
export const unmaskedLine = (text) => unmasked(text).replace(/[\n\t]/g, written);

// The two variation selectors between a letter and its picture are left out: many pictures contain them.
const UNSEEN = /(?![\n\t\ufe0e\ufe0f])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const UNSEEN_EXACTLY = /(?![\n\t ])[\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}]/gu;
const written = (letter) => `⟨U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

/** Sets a text if it differs: an unchanged node keeps the reader's selection. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setHidden(element, isHidden) {
  if (element.hidden !== isHidden) element.hidden = isHidden;
}

export function setAttribute(element, name, value) {
  if (value === null || value === undefined) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

/** Puts the children in this order with the fewest moves, so that a focused one keeps the focus. */
export function arrange(parent, children) {
  children.forEach((child, index) => {
    if (parent.children[index] !== child) parent.insertBefore(child, parent.children[index] ?? null);
  });
  while (parent.children.length > children.length) parent.lastElementChild.remove();
}

export const byId = (id) => document.getElementById(id);

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short" });

export function timeText(milliseconds) {
  return milliseconds ? clock.format(milliseconds) : "";
}

export function dayText(milliseconds, now = Date.now()) {
  if (!milliseconds) return "";
  const isSame = (a, b) => new Date(a).toDateString() === new Date(b).toDateString();
  if (isSame(milliseconds, now)) return "Today";
  if (isSame(milliseconds, now - 86_400_000)) return "Yesterday";
  return day.format(milliseconds);
}
