// A text that grows, drawn as Markdown. A block that no later letter can change is drawn once and never touched again: all but the last
// block of the whole lines, since a block is decided by its own lines and the one line behind them (`list` looks one further, and only past
// a blank line). What is left, the last block and the line that is not whole yet, is drawn anew each time, and only what differs is changed:
// a selection, the focus and what was scrolled inside a block stay.

import { blocksOf, markdown } from "./markdown.js";

// A last block that takes long to draw is drawn less often: it gets a quarter of the time.
const REST = 3;

export class Streamed {
  constructor(element) {
    this.element = element;
    this.rest = 0;
    this.begin();
  }

  begin() {
    this.text = "";
    // So many letters and children are decided.
    this.from = 0;
    this.settled = 0;
  }

  /** Now, or after the rest that the last drawing has earned. */
  show(text) {
    this.next = text;
    if (this.timer) return;
    const begun = performance.now();
    const wait = this.rest - begun;
    if (wait > 0) {
      this.timer = setTimeout(() => {
        this.timer = null;
        this.show(this.next);
      }, wait);
      return;
    }
    this.draw(text);
    const end = performance.now();
    this.rest = end + (end - begun) * REST;
  }

  draw(given) {
    const text = withoutReturns(given);
    if (!text.startsWith(this.text)) this.begin();
    const isNewLine = text.lastIndexOf("\n") >= this.text.length;
    this.text = text;
    if (isNewLine) this.settle(text.slice(this.from, text.lastIndexOf("\n")));
    become(this.element, markdown(completed(text.slice(this.from))), this.settled);
  }

  settle(lines) {
    const blocks = [...blocksOf(lines)];
    const last = blocks.pop();
    if (blocks.length === 0) return;
    const fragment = document.createDocumentFragment();
    for (const { element } of blocks) fragment.append(element);
    become(this.element, fragment, this.settled);
    this.settled += blocks.length;
    this.from += last.from;
  }

  /** The whole text: what is drawn of it already stays where it is. */
  end(text) {
    this.stop();
    become(this.element, markdown(text), 0);
  }

  /** Something else is shown in its place. */
  stop() {
    clearTimeout(this.timer);
    this.timer = null;
  }
}

const withoutReturns = (text) => (text.includes("\r") ? text.replaceAll("\r\n", "\n") : text);

/**
 * The last block as it will probably be: a head of a table is a table before its second line is there, and a mark that was opened in the last
 * line is closed. Only while the text grows: its end is drawn as it is.
 */
export function completed(block) {
  // What is inside a fence is no Markdown.
  if (/^[ >]*(?:`{3}|~{3})/m.test(block)) return block;
  const start = block.lastIndexOf("\n") + 1;
  return block.startsWith("|") ? completedTable(block, start) : block.slice(0, start) + closed(block.slice(start));
}

function completedTable(block, start) {
  const end = block.indexOf("\n");
  const head = end < 0 ? block : block.slice(0, end);
  const isHead = end < 0 ? block.trim() !== "|" : end === start - 1 && head.length < 1_000 && /^[\s|:-]*$/.test(block.slice(start));
  if (!isHead) return block.slice(0, start) + closed(block.slice(start));
  const count = head.trim().replace(/^\||\|$/g, "").split("|").length;
  return `${end < 0 ? closed(head) : head}\n|${"-|".repeat(Math.min(count, 32))}`;
}

/** With the mark that the line lacks, or the half of it; the same where it lacks none, or is nothing but marks. */
function closed(line) {
  if (/^[\s*_~`>+-]*$/.test(line)) return line;
  const bare = line.replace(/\\[^]/g, "  ").replace(/`[^`]*`/g, " ");
  const code = bare.lastIndexOf("`");
  if (code >= 0) return code + 1 < bare.length ? `${line}\`` : line;
  for (const mark of ["**", "~~"]) {
    const last = bare.lastIndexOf(mark);
    if (last < 0 || bare.split(mark).length % 2 === 1 || !/^\S/.test(bare.slice(last + 2))) continue;
    return line.trimEnd() + (bare.endsWith(mark[0]) ? mark[0] : mark);
  }
  return line;
}

/** The element's children become the fragment's, beginning with the one at `from`; those that are the same stay. */
export function become(element, fragment, from = 0) {
  const wanted = [...fragment.childNodes];
  let known = element.childNodes[from] ?? null;
  for (const node of wanted) {
    const next = known?.nextSibling ?? null;
    if (!known) element.append(node);
    else if (!becomes(known, node)) known.replaceWith(node);
    known = next;
  }
  while (element.childNodes.length > from + wanted.length) element.lastChild.remove();
}

/** False: it cannot become the other one. */
function becomes(known, node) {
  if (known.isEqualNode(node)) return true;
  if (known.nodeType !== node.nodeType) return false;
  if (known.nodeType === Node.TEXT_NODE) {
    // The browser then lays out the addition alone.
    if (node.data.startsWith(known.data)) known.appendData(node.data.slice(known.data.length));
    else known.data = node.data;
    return true;
  }
  if (known.nodeName !== node.nodeName) return false;
  for (const { name } of [...known.attributes]) if (!node.hasAttribute(name)) known.removeAttribute(name);
  for (const { name, value } of node.attributes) if (known.getAttribute(name) !== value) known.setAttribute(name, value);
  become(known, node);
  return true;
}
