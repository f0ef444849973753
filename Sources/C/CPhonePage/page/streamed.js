// Draws a growing text as Markdown. Blocks that no later letter can change are drawn once: all but the last block of the complete
// lines, since its own lines and the next one decide a block (`list` looks one further, and only past a blank line). The rest,
// which is the last block and the incomplete line, is drawn anew each time and only differences are applied, so that a selection,
// the focus and scrolling inside a block stay.

import { blocksOf, markdown } from "./markdown.js";

// A last block that is slow to draw is drawn less often: drawing takes at most a quarter of the time.
const REST = 3;

export class Streamed {
  constructor(element) {
    this.element = element;
    this.rest = 0;
    this.begin();
  }

  begin() {
    this.text = "";
    // Letters and children that are final.
    this.from = 0;
    this.settled = 0;
  }

  /** Draws now, or after the pause that the last drawing requires. */
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

  /** Draws the complete text; unchanged elements stay. */
  end(text) {
    this.stop();
    become(this.element, markdown(text), 0);
  }

  /** Stops drawing, because other content replaces this text. */
  stop() {
    clearTimeout(this.timer);
    this.timer = null;
  }
}

const withoutReturns = (text) => (text.includes("\r") ? text.replaceAll("\r\n", "\n") : text);

/**
 * The last block in its probable form: a table's head counts as a table before its second line, and a mark opened in the last
 * line is closed. Applied while the text grows; the end is drawn as it is.
 */
export function completed(block) {
  // Text inside a fence is no Markdown.
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

/** The line with its missing mark, or the missing half of it; unchanged if nothing is missing, or if it has nothing but marks. */
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

/** Turns the element's children, beginning at `from`, into the fragment's; equal ones stay. */
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

/** Turns a node into another. False if it cannot. */
function becomes(known, node) {
  if (known.isEqualNode(node)) return true;
  if (known.nodeType !== node.nodeType) return false;
  if (known.nodeType === Node.TEXT_NODE) {
    // An appended text makes the browser lay out the addition alone.
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
