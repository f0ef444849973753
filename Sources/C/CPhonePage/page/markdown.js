// Markdown as elements made one by one. Unknown syntax stays text; links lead to http and https alone, and nothing is fetched.
//
// The text may be hostile, so rendering is linear in its length: no expression here can match in two ways (a repetition that must
// meet an end is cut by hand), and no search inside a block looks further than LONGEST_SPAN.

import { copyButton } from "./copy.js";
import { make } from "./dom.js";

const DEEPEST = 6;
const LONGEST_SPAN = 4_000;
const LONGEST_ADDRESS = 2_048;

/** The blocks of a text, as a fragment. */
export function markdown(text) {
  const fragment = document.createDocumentFragment();
  appendBlocks(fragment, text.replaceAll("\r\n", "\n").split("\n"), 0);
  return fragment;
}

/** Each block with the index of its first letter in the text, which must have no carriage returns. */
export function* blocksOf(text) {
  const lines = text.split("\n");
  let line = 0;
  let from = 0;
  for (const { element, at } of blocks(lines, 0)) {
    for (; line < at; line += 1) from += lines[line].length + 1;
    yield { element, from };
  }
}

function appendBlocks(parent, lines, depth) {
  for (const { element } of blocks(lines, depth)) parent.append(element);
}

function* blocks(lines, depth) {
  let at = 0;
  while (at < lines.length) {
    if (lines[at].trim() === "") {
      at += 1;
      continue;
    }
    const block = fence(lines, at) ?? heading(lines, at) ?? rule(lines, at) ?? quote(lines, at, depth) ??
      list(lines, at, depth) ?? table(lines, at) ?? paragraph(lines, at);
    yield { element: block.element, at };
    at = block.next;
  }
}

// Blocks: each returns the element and the next line, or null if no such block begins here.

function fence(lines, at) {
  const opening = /^ {0,3}(`{3,}|~{3,})/.exec(lines[at]);
  const words = lines[at].slice(opening?.[0].length);
  if (!opening || words.includes("`")) return null;
  const code = [];
  let next = at + 1;
  while (next < lines.length && !(lines[next].trim().startsWith(opening[1]) && lines[next].trim().replaceAll(opening[1][0], "") === "")) {
    code.push(lines[next]);
    next += 1;
  }
  return { element: codeBlock(code.join("\n"), firstWord(words).slice(0, 24)), next: next + 1 };
}

const firstWord = (text) => /^\S*/.exec(text.trim())[0];

/** The text without those of these letters at its end. */
function withoutEnd(text, letters) {
  let end = text.length;
  while (end > 0 && letters.includes(text[end - 1])) end -= 1;
  return text.slice(0, end);
}

/** Code with a copy button. */
export function codeBlock(text, language = "") {
  const label = make("span", { text: language || "code", dir: "auto" });
  return make("figure", { class: "code" }, make("figcaption", {}, label, copyButton()),
    make("pre", { tabindex: "0", dir: "ltr" }, make("code", { text })));
}

function heading(lines, at) {
  const opening = /^ {0,3}(#{1,6})\s/.exec(lines[at]);
  if (!opening) return null;
  const words = lines[at].slice(opening[0].length).trim();
  // Closing marks belong to the heading's syntax if a space precedes them.
  const inner = withoutEnd(words, "#");
  const text = inner === "" || /\s/.test(inner.at(-1)) ? inner.trim() : words;
  // The page has its own first and second level.
  return { element: directed(inlineInto(make(`h${Math.min(opening[1].length + 2, 6)}`), text)), next: at + 1 };
}

function rule(lines, at) {
  return /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/.test(lines[at].slice(0, 80)) && lines[at].length <= 80
    ? { element: make("hr"), next: at + 1 } : null;
}

function quote(lines, at, depth) {
  if (depth >= DEEPEST || !/^ {0,3}>/.test(lines[at])) return null;
  const inner = [];
  let next = at;
  while (next < lines.length && /^ {0,3}>/.test(lines[next])) {
    inner.push(lines[next].replace(/^ {0,3}> ?/, ""));
    next += 1;
  }
  const element = make("blockquote", { dir: directionOf(inner.join("\n")) });
  appendBlocks(element, inner, depth + 1);
  return { element, next };
}

const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/;

function list(lines, at, depth) {
  const first = ITEM.exec(lines[at]);
  if (!first || depth >= DEEPEST) return null;
  const isOrdered = /\d/.test(first[2]);
  const start = isOrdered ? parseInt(first[2], 10) : 1;
  const element = make(isOrdered ? "ol" : "ul", { dir: directionOf(lines[at]), start: start === 1 ? null : start });
  let next = at;
  while (next < lines.length) {
    const item = ITEM.exec(lines[next]);
    if (!item || /\d/.test(item[2]) !== isOrdered) break;
    const indent = item[0].length;
    const inner = [lines[next].slice(indent)];
    next += 1;
    while (next < lines.length) {
      const line = lines[next];
      const isDeeper = line.length - line.trimStart().length >= Math.min(indent, 2);
      if (line.trim() === "") {
        // A blank line belongs to the item if the next line does.
        const after = lines[next + 1] ?? "";
        if (after.trim() === "" || after.length - after.trimStart().length < Math.min(indent, 2)) break;
        inner.push("");
      } else if (isDeeper) {
        inner.push(line.slice(Math.min(indent, line.length - line.trimStart().length)));
      } else if (ITEM.test(line) || isBlockStart(line)) {
        break;
      } else {
        inner.push(line);
      }
      next += 1;
    }
    element.append(listItem(inner, depth));
    if (lines[next]?.trim() === "" && ITEM.test(lines[next + 1] ?? "")) next += 1;
  }
  const digits = isOrdered ? String(start + element.children.length - 1).length : 0;
  if (digits > 2) element.className = digits > 4 ? "digits-many" : `digits-${digits}`;
  return { element, next };
}

function listItem(lines, depth) {
  const element = make("li");
  const box = /^\[([ xX])\] /.exec(lines[0]);
  if (box) {
    const isDone = box[1] !== " ";
    element.className = "task-item";
    element.append(make("span", { class: "box", role: "img", "aria-label": isDone ? "done" : "open", text: isDone ? "☑" : "☐" }));
    lines[0] = lines[0].slice(4);
  }
  const isPlain = lines.every((line, index) => index === 0 || (line.trim() !== "" && !isBlockStart(line)));
  if (isPlain) inlineInto(element, lines.join("\n"));
  else appendBlocks(element, lines, depth + 1);
  return directed(element);
}

// A cell with more letters is not shrunk to the width of one word.
const LONG_CELL = 32;
const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").slice(0, 32).map((cell) => cell.trim());

function table(lines, at) {
  const divider = lines[at + 1] ?? "";
  if (!lines[at].includes("|") || divider.length > 1_000 || !/^[\s|:-]+$/.test(divider) || !divider.includes("-")) return null;
  const head = cells(lines[at]);
  const marks = cells(divider);
  if (marks.length !== head.length || !marks.every((mark) => /^:?-+:?$/.test(mark))) return null;
  const align = marks.map((mark) => (mark.endsWith(":") ? (mark.startsWith(":") ? "center" : "end") : "start"));
  // Missing cells are not filled in: two letters under a wide head would make many elements.
  const row = (tag, texts) => make("tr", {}, ...texts.slice(0, head.length).map((text, index) =>
    directed(inlineInto(make(tag, { class: `align-${align[index]}${text.length > LONG_CELL ? " long" : ""}` }), text))));
  const body = make("tbody");
  let next = at + 2;
  while (next < lines.length && lines[next].includes("|") && lines[next].trim() !== "") {
    body.append(row("td", cells(lines[next])));
    next += 1;
  }
  const element = make("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Table" },
    make("table", { dir: directionOf(lines[at]) }, make("thead", {}, row("th", head)), body));
  return { element, next };
}

function isBlockStart(line) {
  return /^ {0,3}(?:#{1,6}\s|>|`{3,}|~{3,})/.test(line) || ITEM.test(line);
}

function paragraph(lines, at) {
  let next = at + 1;
  while (next < lines.length && lines[next].trim() !== "" && !isBlockStart(lines[next])) next += 1;
  return { element: directed(inlineInto(make("p"), lines.slice(at, next).join("\n"))), next };
}

/** Sets the direction of a complete element: a browser determines it again for each added child. */
function directed(element) {
  element.dir = "auto";
  return element;
}

const LETTER = /\p{L}/u;
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

/** Direction of the first letter. With "auto" a browser ignores children with a direction of their own, such as items and cells. */
function directionOf(text) {
  const letter = LETTER.exec(text.slice(0, LONGEST_SPAN))?.[0];
  return letter && RIGHT_TO_LEFT.test(letter) ? "rtl" : "ltr";
}

// Inside a block

/** Each mark searches for its end within LONGEST_SPAN. Failed searches are not cached. */
function inlineInto(element, text, depth = 0) {
  let plain = "";
  let at = 0;
  const flush = () => {
    if (plain) element.append(plain);
    plain = "";
  };
  const place = (child, next) => {
    flush();
    element.append(child);
    at = next;
  };
  while (at < text.length) {
    const letter = text[at];
    const found = depth < DEEPEST && SPANS[letter]?.(text, at, depth);
    if (found) {
      place(found.element, found.next);
    } else if (letter === "\n") {
      place(make("br"), at + 1);
    } else if (letter === "\\" && /[\\`*_[\]()#+\-.!~>|{}]/.test(text[at + 1] ?? "")) {
      plain += text[at + 1];
      at += 2;
    } else if (SPANS[letter]) {
      // A run of a mark without a meaning here is text as a whole.
      let end = at + 1;
      while (text[end] === letter) end += 1;
      plain += text.slice(at, end);
      at = end;
    } else {
      let end = at + 1;
      while (end < text.length && !SPECIAL.has(text[end])) end += 1;
      plain += text.slice(at, end);
      at = end;
    }
  }
  flush();
  return element;
}

const SPANS = { "`": codeSpan, "*": emphasis, _: emphasis, "~": struck, "[": link, "!": picture, h: address };
const SPECIAL = new Set([...Object.keys(SPANS), "\n", "\\"]);

/** Index of the next `mark` within LONGEST_SPAN, or -1. */
function find(text, mark, from) {
  const index = text.slice(from, from + LONGEST_SPAN).indexOf(mark);
  return index < 0 ? -1 : from + index;
}

function codeSpan(text, at) {
  let size = 1;
  while (size < 4 && text[at + size] === "`") size += 1;
  const mark = "`".repeat(size);
  const end = find(text, mark, at + size);
  if (end <= at + size || text[end + size] === "`") return null;
  return { element: make("code", { dir: "ltr", text: text.slice(at + size, end).replace(/^ (.*) $/s, "$1") }), next: end + size };
}

function emphasis(text, at, depth) {
  const letter = text[at];
  const isWordBefore = /[\p{L}\p{N}]/u.test(text[at - 1] ?? " ");
  if (letter === "_" && isWordBefore) return null;
  const size = text[at + 1] === letter ? 2 : 1;
  const mark = letter.repeat(size);
  if (/\s/.test(text[at + size] ?? " ") || text[at + size] === letter) return null;
  let end = find(text, mark, at + size);
  for (let tries = 0; end >= 0 && tries < 20; tries += 1) {
    const isInside = size === 1 && (text[end + 1] === letter || text[end - 1] === letter);
    const isWordAfter = letter === "_" && /[\p{L}\p{N}]/u.test(text[end + size] ?? " ");
    if (!isInside && !isWordAfter && !/\s/.test(text[end - 1])) break;
    end = find(text, mark, end + (isInside ? 2 : size));
  }
  if (end < 0 || end === at + size || /\s/.test(text[end - 1])) return null;
  const element = inlineInto(make(size === 2 ? "strong" : "em"), text.slice(at + size, end), depth + 1);
  return { element, next: end + size };
}

function struck(text, at, depth) {
  if (text[at + 1] !== "~") return null;
  const end = find(text, "~~", at + 2);
  return end > at + 2 ? { element: inlineInto(make("s"), text.slice(at + 2, end), depth + 1), next: end + 2 } : null;
}

function link(text, at, depth) {
  const middle = find(text, "](", at + 1);
  if (middle < 0 || text.slice(at + 1, middle).includes("[")) return null;
  const end = find(text, ")", middle + 2);
  if (end < 0) return null;
  const target = webAddress(firstWord(text.slice(middle + 2, end)).replace(/^<|>$/g, ""));
  if (!target) return null;
  return { element: inlineInto(anchor(target), text.slice(at + 1, middle), depth + DEEPEST), next: end + 1 };
}

/** A link with the picture's name: fetching the picture would tell its server who reads. */
function picture(text, at, depth) {
  if (text[at + 1] !== "[") return null;
  const found = link(text, at + 1, depth);
  if (found && !found.element.firstChild) found.element.textContent = "picture";
  return found;
}

function address(text, at) {
  if (/[\p{L}\p{N}]/u.test(text[at - 1] ?? " ")) return null;
  const match = /^https?:\/\/[^\s<>"`\\]+/.exec(text.slice(at, at + LONGEST_ADDRESS));
  if (!match) return null;
  const shown = withoutEnd(match[0], ".,;:!?'*_)]");
  const target = webAddress(shown);
  if (!target) return null;
  const element = anchor(target);
  element.textContent = shown;
  return { element, next: at + shown.length };
}

/** The address if the browser's own parser reads it as http or https, else null: `java\nscript:` is a spelling too. */
function webAddress(text) {
  // A cheap check first, because the browser's parser is slow to refuse.
  if (text.length > LONGEST_ADDRESS || !/^https?:/i.test(text)) return null;
  try {
    const url = new URL(text);
    return ["http:", "https:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

function anchor(target) {
  return make("a", { href: target, target: "_blank", rel: "noopener noreferrer", title: target.slice(0, 200) });
}
