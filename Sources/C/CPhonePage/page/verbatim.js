// Text that a decision rests on: shown letter by letter, without markup, and without characters that could disguise it.

import { make, unmasked } from "./dom.js";
import { copyButton } from "./copy.js";

const PART = /^Part (\d{1,4}) of (\d{1,4}) of (.+):\n/;

/** One element per line, each with a direction of its own: right-to-left letters reorder their own line alone. */
export function lines(text, direction = "ltr") {
  const all = text.split("\n");
  // Each line contains its line break, so that copying keeps it.
  return all.map((line, index) => make("span", { class: "line", dir: direction, text: index < all.length - 1 ? `${line}\n` : line }));
}

/** A scrolling box with its length, so that hidden lines are known to exist. */
export function verbatim(text, label) {
  const shown = unmasked(text, true);
  return make("figure", { class: "code verbatim" },
    make("figcaption", {}, make("span", { text: label, dir: "auto" }), make("small", { class: "length", text: lengthOf(shown) }), copyButton()),
    make("pre", { tabindex: "0", dir: "ltr" }, ...lines(shown)));
}

/** The length in words, or empty for a short text. */
export function lengthOf(text) {
  const count = text.split("\n").length;
  if (count > 1) return `${count.toLocaleString("en")} lines`;
  return text.length > 200 ? `1 line, ${[...text].length.toLocaleString("en")} letters` : "";
}

/** The part of a text too long for one card that a message carries: its number, the count and the subject; null for other messages. */
export function partOf(text) {
  const head = PART.exec(text);
  return head ? { number: Number(head[1]), count: Number(head[2]), head: head[0].trimEnd(), rest: text.slice(head[0].length) } : null;
}

/** The newest parts of a chat, from 2 to the last; empty if some are missing. */
export function newestParts(messages) {
  const parts = messages.map((message) => ({ id: message.id, ...partOf(message.text ?? "") })).filter(({ number }) => number);
  const count = parts.at(-1)?.count ?? 0;
  const run = parts.slice(parts.length - count + 1);
  const isWhole = count > 1 && run.length === count - 1 && run.every((part, index) => part.number === index + 2 && part.count === count);
  return isWhole ? run : [];
}
