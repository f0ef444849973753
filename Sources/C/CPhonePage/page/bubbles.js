// The open chat: bubbles that stream, rendered as Markdown from the first letter. A bubble is redrawn only when its message has changed.

import { bridgeLine, waitingWords } from "./chats.js";
import { messageCopyButton } from "./copy.js";
import { arrange, byId, dayText, icon, make, setAttribute, setHidden, setText, timeText, unmaskedLine } from "./dom.js";
import { endingOf } from "./endings.js";
import { markdown } from "./markdown.js";
import { startMenu } from "./menu.js";
import { askingMessage, optionsRow, questionAtEndOf } from "./questions.js";
import { isUnreadable, lockOf, openRuns, pendingApprovals, titleOf, waitsForBridge } from "./state.js";
import { Streamed } from "./streamed.js";
import { toolsRow } from "./tools.js";
import { partOf, verbatim } from "./verbatim.js";

const NEAR_PX = 90;
const UNREADABLE = {
  no_key: "Sealed: this page has no key for it yet.",
  broken: "Sealed, and it cannot be opened: it was changed on its way, or sealed under a key that this page never had.",
};
const ENDINGS = { length: "Cut off: the answer was too long", content_filter: "Stopped by a content filter", stopped: "Stopped", failed: "Failed" };
const ENDING_ICONS = { stopped: "stop", failed: "cross" };

export function conversation(phone) {
  const scroller = byId("scroller");
  const list = byId("messages");
  const latest = byId("latest");
  let bubbles = new Map();
  let shown = null;
  let isFollowing = true;
  let sent = 0;

  const isNearEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_PX;
  const look = () => {
    isFollowing = isNearEnd();
    setHidden(latest, isFollowing);
  };
  scroller.addEventListener("scroll", look, { passive: true });
  // An opened row stays in view at its top; a button leads to the messages below.
  list.addEventListener("click", (event) => {
    if (event.target.closest("summary")) isFollowing = false;
  });
  list.addEventListener("toggle", (event) => event.target.open || look(), true);
  latest.addEventListener("click", () => {
    isFollowing = true;
    scroller.scrollTop = scroller.scrollHeight;
  });
  // When the list grows or the window shrinks, the newest text stays in view.
  new ResizeObserver(() => isFollowing && (scroller.scrollTop = scroller.scrollHeight)).observe(list);
  startMenu(phone);

  return (state) => {
    const chat = state.chats.get(state.selected);
    const isNew = shown !== state.selected;
    if (isNew) {
      shown = state.selected;
      bubbles = new Map();
      isFollowing = true;
      list.replaceChildren();
      setAttribute(list, "data-session", shown);
    }
    // After a send the list follows the answer, wherever it was scrolled to.
    if (phone.drafts !== sent) isFollowing = true;
    sent = phone.drafts;
    drawHead(state, chat);
    drawEmpty(state, chat);
    arrange(list, chat ? rowsOf(chat, state, bubbles, phone, isNew) : []);
    if (isFollowing) scroller.scrollTop = scroller.scrollHeight;
    else setHidden(latest, isNearEnd());
  };
}

function drawHead(state, chat) {
  setText(byId("title"), chat ? titleOf(chat) : state.selected === "new" ? "New chat" : "Chat");
  const line = bridgeLine(state);
  const isBusy = chat && openRuns(chat).length > 0;
  const asks = chat && pendingApprovals(state, chat.id).length > 0;
  const words = !state.selected ? "" : line.kind !== "connected" && line.kind !== "never" ? line.words
    : asks ? "Waits for your approval" : isBusy && !waitsForBridge(state, chat) ? "Working…" : line.kind === "connected" ? "Bridge connected" : line.words;
  setText(byId("subtitle"), words);
  setAttribute(byId("subtitle"), "data-kind", asks ? "asks" : isBusy && line.kind === "connected" ? "busy" : line.kind);
  setHidden(byId("chat-menu"), !chat);
  setText(byId("archive"), chat?.isArchived ? "Take out of the archive" : "Archive");
  setHidden(byId("hand-key"), !chat || !state.keys.held.has(chat.id));
}

function drawEmpty(state, chat) {
  const empty = byId("empty");
  const isEmpty = state.isLoaded && (!chat || (chat.messages.length === 0 && chat.drafts.length === 0 && chat.history === "loaded"));
  setHidden(empty, !isEmpty);
  if (!isEmpty) return;
  const isGone = state.selected && state.selected !== "new" && !chat;
  setText(empty.firstElementChild, isGone ? "This chat is not there any more" : state.selected ? "Say something" : "Nothing is open");
  setText(empty.lastElementChild, isGone || !state.selected ? "Choose a chat, or begin a new one."
    : "What you write goes through the relay and the bridge to the agent.");
}

// Rows: messages in their order, the tools of a run in its bubble, days between them.

function rowsOf(chat, state, bubbles, phone, isNew) {
  const rows = [];
  const seen = new Set();
  const told = new Set();
  let lastDay = null;
  const isSealed = lockOf(state, chat.id) !== "open";
  const asking = askingMessage(chat);
  const waiting = waitingWords(state, chat);
  const isSilent = (message) => !message.isFinal && message.preview.trim() === "";
  const row = (key, make, draw) => {
    if (!bubbles.has(key)) bubbles.set(key, make());
    const bubble = bubbles.get(key);
    draw(bubble);
    seen.add(key);
    rows.push(bubble.element);
  };
  for (const message of chat.messages) {
    const day = dayText(message.at);
    if (day && day !== lastDay) row(`day ${day}`, () => dayRow(day), () => {});
    lastDay = day || lastDay;
    const isFirst = message.role === "agent" && message.interaction && !told.has(message.interaction);
    if (isFirst) told.add(message.interaction);
    const tasks = isFirst ? chat.tasks.filter((task) => task.interaction === message.interaction) : [];
    const asks = message.role === "agent" && !message.isFinal
      ? pendingApprovals(state, chat.id).filter((approval) => approval.interaction === message.interaction) : [];
    row(message.id, () => newBubble(message), (bubble) => {
      drawBubble(bubble, message, tasks, asks, isNew, chat, {
        isOpen: isSealed && !message.seal, ending: endingOf(message, state.stops), waiting: isSilent(message) ? waiting : null,
        name: state.names.get(message.id) ?? null, isAsking: message === asking,
      });
      drawOptions(bubble, message === asking, message, phone, chat);
    });
  }
  for (const draft of chat.drafts) row(draft.id, () => newDraft(chat.id, draft, phone), (bubble) => drawDraft(bubble, draft));
  for (const interaction of openRuns(chat)) {
    if (told.has(interaction)) continue;
    const tasks = chat.tasks.filter((task) => task.interaction === interaction);
    row(`wait ${interaction}`, () => newBubble({ role: "agent" }), (bubble) =>
      drawBubble(bubble, { role: "agent", isFinal: false, preview: "", at: 0, isWaiting: true }, tasks, [], isNew, chat, { waiting }));
  }
  for (const key of bubbles.keys()) if (!seen.has(key)) bubbles.delete(key);
  return rows;
}

function dayRow(day) {
  return { element: make("li", { class: "day" }, make("span", { text: day })) };
}

function newBubble(message) {
  const bubble = {
    tools: null, options: null, streamed: null, body: make("div", { class: "body" }), message: null, tasks: [], asks: 0, marks: {},
    who: make("span", { class: "unseen", text: message.role === "user" ? "You: " : "Agent: " }), mark: make("span", { class: "foot-mark" }),
    words: make("span", { class: "foot-words" }), copy: messageCopyButton(() => bubble.marks.name ?? bubble.message.text), again: null,
  };
  bubble.foot = make("p", { class: "foot" }, bubble.mark, bubble.words, bubble.copy);
  bubble.bubble = make("div", { class: "bubble" }, bubble.who, bubble.body);
  bubble.element = make("li", { class: `message ${message.role}`, "data-message": message.id, "data-interaction": message.interaction },
    bubble.bubble, bubble.foot);
  return bubble;
}

/** `marks` are the properties of a bubble that its message does not have. */
function drawBubble(bubble, message, tasks, asks, isNew, chat, marks) {
  const isSame = bubble.message === message && bubble.asks === asks.length && bubble.tasks.length === tasks.length &&
    bubble.tasks.every((task, index) => task === tasks[index]) && Object.keys(marks).every((name) => bubble.marks[name] === marks[name]);
  if (isSame) return;
  const wasFinal = bubble.message?.isFinal ?? isNew;
  Object.assign(bubble, { message, tasks, asks: asks.length, marks });
  if (tasks.length > 0 && !bubble.tools) {
    bubble.tools = toolsRow();
    bubble.body.before(bubble.tools.element);
  }
  bubble.tools?.draw(tasks, !message.isFinal);
  setAttribute(bubble.element, "data-state", message.isFinal ? "final" : message.isWaiting ? "waiting" : "open");
  setAttribute(bubble.element, "data-ending", marks.ending);
  drawBody(bubble, message);
  drawFoot(bubble, message, chat);
  if (message.isFinal && !wasFinal && message.role === "agent") announce(message, chat);
}

function drawOptions(bubble, isAsking, message, phone, chat) {
  if (isAsking && !bubble.options) {
    bubble.options = optionsRow(phone, chat.id);
    bubble.bubble.append(bubble.options.element);
  }
  bubble.options?.draw(isAsking ? message.preview : null);
}

function drawBody(bubble, message) {
  const { body } = bubble;
  const text = isUnreadable(message) ? "" : shownOf(message, bubble.marks);
  const isStreaming = message.role === "agent" && !message.isFinal && text !== "";
  setHidden(body, Boolean(bubble.marks.isAsking) && text === "");
  if (isStreaming) {
    body.className = "body markdown";
    body.removeAttribute("dir");
    (bubble.streamed ??= new Streamed(body)).show(text);
    return;
  }
  const { streamed } = bubble;
  streamed?.stop();
  bubble.streamed = null;
  if (isUnreadable(message)) {
    body.className = "body plain quiet unreadable";
    setText(body, UNREADABLE[message.seal] ?? UNREADABLE.broken);
  } else if (message.isFinal && message.role === "agent" && partOf(message.text)) {
    const part = partOf(message.text);
    body.className = "body asked-part";
    body.replaceChildren(make("p", { dir: "auto", text: unmaskedLine(part.head) }), verbatim(part.rest, `part ${part.number} of ${part.count}`));
  } else if (message.isFinal && message.role === "agent") {
    const isEmpty = message.text.trim() === "";
    body.className = isEmpty ? "body plain quiet" : "body markdown";
    if (isEmpty) setText(body, bubble.tasks.length ? "" : "(no text)");
    else if (streamed) streamed.end(message.text);
    else body.replaceChildren(markdown(message.text));
    setHidden(body, isEmpty && bubble.tasks.length > 0);
  } else if (message.isFinal) {
    body.className = "body plain";
    setAttribute(body, "dir", "auto");
    body.replaceChildren(text, ...attachments(message.attachments ?? []));
  } else {
    // Made once: a new element would restart the shimmer from the left.
    if (!body.classList.contains("thinking")) body.replaceChildren(make("span"));
    body.className = "body thinking";
    setText(body.firstChild, bubble.marks.waiting);
  }
}

/** A pressed button is shown by its name; options shown as buttons are left out of the text. */
function shownOf(message, { name, isAsking }) {
  if (message.isFinal) return name ?? message.text;
  const text = isAsking ? questionAtEndOf(message.preview)?.before ?? message.preview : message.preview;
  return text.trim() === "" ? "" : (message.isCut ? "… " : "") + text;
}

/** Shows pictures from this relay; other attachments appear by name and cannot be opened here. */
function attachments(files) {
  const isShown = (file) => /^image\/(png|jpeg|gif|webp)$/.test(file.mime ?? "") && isOfThisRelay(file.url);
  const name = (file) => file.name ?? file.mime ?? "file";
  const others = files.filter((file) => !isShown(file));
  return [
    ...files.filter(isShown).map((file) => make("img", { class: "picture", src: file.url, alt: name(file), loading: "lazy" })),
    ...(others.length ? [make("span", { class: "attachments", text: `📎 ${others.map(name).join(", ")}` })] : []),
  ];
}

function isOfThisRelay(address) {
  try {
    return new URL(address).origin === location.origin;
  } catch {
    return false;
  }
}

function drawFoot(bubble, message, chat) {
  const { ending } = bubble.marks;
  setText(bubble.words, footOf(message, bubble.marks));
  const drawing = ENDING_ICONS[ending];
  bubble.mark.replaceChildren(...(drawing ? [icon(drawing)] : []));
  setHidden(bubble.copy, !message.isFinal || isUnreadable(message) || message.text.trim() === "");
  setHidden(bubble.foot, !bubble.words.textContent && bubble.copy.hidden);
  const asked = ending === "failed" ? chat.messages.find(({ role, interaction }) => role === "user" && interaction === message.interaction) : null;
  bubble.again?.remove();
  bubble.again = null;
  if (!asked || isUnreadable(asked) || asked.text.trim() === "") return;
  // The text goes into the box and is not sent: the person should check first what the failed run has already done.
  bubble.again = make("button", { type: "button", class: "link again", text: "Try again", title: "Puts your message into the box below; nothing is sent yet",
    on: { click: () => dispatchEvent(new CustomEvent("write", { detail: asked.text })) } });
  bubble.words.after(bubble.again);
}

function footOf(message, { isOpen, ending }) {
  if (!message.at || (!message.isFinal && message.role === "agent")) return "";
  // The agent's figures arrive unchecked, and may be of any type.
  const count = message.usage?.output_tokens;
  const tokens = Number.isFinite(count) && count > 0 ? `${count.toLocaleString()} tokens` : "";
  return [isOpen ? "Not sealed" : "", ENDINGS[ending] ?? "", timeText(message.at), tokens].filter(Boolean).join(" · ");
}

/** A screen reader gets complete answers only: a growing text would interrupt it all the time. */
function announce(message, chat) {
  const words = isUnreadable(message) ? "A sealed message came." : message.text.slice(0, 1_000);
  byId("announcer").replaceChildren(make("p", { text: `${titleOf(chat).slice(0, 60)}: ${words}` }));
}

// Drafts

function newDraft(session, draft, phone) {
  const body = make("div", { class: "body plain", dir: "auto", text: draft.name ?? draft.text });
  if (draft.files.length) body.append(...attachments(draft.files.map((file) => ({ name: file.name }))));
  const words = make("span");
  const again = make("button", { type: "button", class: "link", text: "Try again", on: { click: () => phone.send(draft.text, session, draft.id, false, draft.files, draft.name) } });
  const away = make("button", { type: "button", class: "link", text: "Discard", on: { click: () => phone.giveUp(session, draft.id) } });
  const foot = make("p", { class: "foot" }, words, " ", again, " ", away);
  const element = make("li", { class: "message user draft" }, make("div", { class: "bubble" }, body), foot);
  return { element, words, again, away };
}

function drawDraft(bubble, draft) {
  setText(bubble.words, draft.error ? `Not sent: ${draft.error}` : "Sending…");
  setHidden(bubble.again, !draft.error);
  setHidden(bubble.away, !draft.error);
  bubble.element.classList.toggle("failed", Boolean(draft.error));
}
