// The folded row "Ran 3 commands" of a run, which opens to each tool with its arguments, progress and result.

import { arrange, icon, make, setHidden, setText, unmasked } from "./dom.js";
import { codeBlock } from "./markdown.js";
import { isUnreadable } from "./state.js";

const COMMANDS = /exec|bash|shell|command|terminal|run/i;
const ICONS = { running: "dash", completed: "check", failed: "cross", cancelled: "dash" };
const WORDS = { running: "running", completed: "done", failed: "failed", cancelled: "cancelled" };
// Length of a text that a browser lays out without a pause; a card shows no more.
const LONGEST = 20_000;

export function toolsRow() {
  const cards = new Map();
  const mark = make("span", { class: "tool-mark" }, icon("terminal"));
  const words = make("span", { class: "tools-words", dir: "auto" });
  const list = make("ul", { class: "tool-list" });
  const element = make("details", { class: "tools" },
    make("summary", {}, mark, words, icon("down", "icon chevron")), list);

  const draw = (tasks, isOpen) => {
    setText(words, summary(tasks, isOpen));
    element.dataset.state = tasks.some((task) => task.status === "running") && isOpen ? "running"
      : tasks.some((task) => task.status === "failed") ? "failed" : "done";
    arrange(list, tasks.map((task) => {
      const card = cards.get(task.id) ?? newCard();
      cards.set(task.id, card);
      if (card.task !== task) drawCard(card, task);
      return card.element;
    }));
  };
  return { element, draw };
}

/** "Running df -h /…", "Ran 3 commands", "Used 2 tools, 1 failed". */
function summary(all, isOpen) {
  // A wait for the agent is no tool.
  const tasks = all.filter((task) => task.kind !== "wait");
  if (tasks.length === 0) return label(all[all.length - 1]);
  const running = tasks.filter((task) => task.status === "running");
  if (running.length > 0 && isOpen) {
    return running.length === 1 ? `Running ${label(running[0])}` : `Running ${running.length} tools`;
  }
  const areCommands = tasks.every((task) => COMMANDS.test(`${task.kind} ${task.name ?? ""} ${task.label ?? ""}`));
  const what = areCommands ? (tasks.length === 1 ? "command" : "commands") : tasks.length === 1 ? "tool" : "tools";
  const failed = tasks.filter((task) => task.status === "failed").length;
  const cancelled = tasks.filter((task) => task.status === "cancelled").length;
  return `${areCommands ? "Ran" : "Used"} ${tasks.length} ${what}` +
    (failed ? `, ${failed} failed` : "") + (cancelled ? `, ${cancelled} cancelled` : "");
}

const label = (task) => (isUnreadable(task) && !task.label ? `${task.kind || "a tool"} (sealed)` : unmasked(task.label || task.name || task.kind || "a tool"));

function newCard() {
  const card = {
    task: null, mark: make("span", { class: "card-mark" }), label: make("span", { class: "card-label", dir: "auto" }),
    state: make("span", { class: "card-state" }), bar: make("progress", { max: "100", "aria-label": "Progress" }), parts: make("div", { class: "card-parts" }),
  };
  card.element = make("li", { class: "card" },
    make("details", {}, make("summary", {}, card.mark, card.label, card.state), card.bar, card.parts));
  return card;
}

function drawCard(card, task) {
  card.task = task;
  card.element.dataset.status = task.status;
  card.mark.replaceChildren(task.status === "running" ? make("span", { class: "spinner" }) : icon(ICONS[task.status] ?? "dash"));
  setText(card.label, label(task));
  setText(card.state, task.status === "running" && task.percent !== undefined ? `${task.percent}%` : WORDS[task.status] ?? task.status);
  setHidden(card.bar, task.percent === undefined || task.status !== "running");
  if (task.percent !== undefined) card.bar.value = task.percent;
  const { output, result } = told(task);
  card.parts.replaceChildren(...[
    part("Arguments", task.args), part(task.status === "running" ? "Output so far" : "Output", output), part("Result", result),
    part("Error", task.error), isUnreadable(task) ? make("p", { class: "quiet", text: "Sealed, and this page cannot open all of it." }) : null,
  ].filter(Boolean));
  if (!card.parts.firstChild) card.parts.append(make("p", { class: "quiet", text: "No details." }));
}

/** A tool's progress output unless its result repeats it, and `output` of a result shown apart. */
function told(task) {
  const { partial, result } = task;
  if (result && typeof result === "object" && !Array.isArray(result) && typeof result.output === "string") {
    const { output, ...others } = result;
    return { output, result: Object.keys(others).length ? others : undefined };
  }
  const isToldAgain = result !== undefined && plain(result).includes(plain(partial ?? "").trim());
  return { output: isToldAgain ? undefined : partial, result };
}

function part(name, value) {
  if (value === undefined || value === null || value === "") return null;
  return make("section", { class: `part ${name === "Error" ? "error" : ""}` }, make("h3", { text: name }), codeBlock(plain(value)));
}

/** A text as it is, also as the only field of an object; anything else as formatted JSON. */
function plain(value) {
  let text = typeof value === "string" ? value : null;
  if (text === null && value && typeof value === "object" && !Array.isArray(value)) {
    const fields = Object.entries(value);
    if (fields.length === 1 && typeof fields[0][1] === "string") text = fields[0][1];
  }
  text ??= JSON.stringify(value, null, 2);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}\n… ${text.length - LONGEST} more characters` : text;
}
