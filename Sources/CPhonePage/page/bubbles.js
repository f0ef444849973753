// The open chat: bubbles that stream, and the final text as Markdown. A bubble is touched only when its message has changed.

import { bridgeLine } from "./chats.js";
import { arrange, byId, dayText, make, setAttribute, setHidden, setText, timeText, unmaskedLine } from "./dom.js";
import { markdown } from "./markdown.js";
import { askingMessage, optionsRow } from "./questions.js";
import { isUnreadable, lockOf, openRuns, pendingApprovals, titleOf } from "./state.js";
import { toolsRow } from "./tools.js";
import { partOf, verbatim } from "./verbatim.js";

const NEAR_PX = 90;
const UNREADABLE = {
  no_key: "Sealed: this page has no key for it yet.",
  broken: "Sealed, and it cannot be opened: it was changed on its way, or sealed under a key that this page never had.",
};
const REASONS = { length: "Cut off: the answer was too long", content_filter: "Stopped by a content filter", stopped: "Stopped" };

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
  // An opened row is read from its top; what is below it has a button.
  list.addEventListener("click", (event) => {
    if (event.target.closest("summary")) isFollowing = false;
  });
  list.addEventListener("toggle", (event) => event.target.open || look(), true);
  latest.addEventListener("click", () => {
    isFollowing = true;
    scroller.scrollTop = scroller.scrollHeight;
  });
  // A window that gets smaller must not push the newest text out of sight.
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
    // Who writes wants to see what becomes of it, whatever was read above.
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
    : asks ? "Waits for your approval" : isBusy ? "Working…" : line.kind === "connected" ? "Bridge connected" : line.words;
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
      drawBubble(bubble, message, tasks, asks, isNew, chat, isSealed && !message.seal);
      drawOptions(bubble, message === asking, message, phone, chat);
    });
  }
  for (const draft of chat.drafts) row(draft.id, () => newDraft(chat.id, draft, phone), (bubble) => drawDraft(bubble, draft));
  for (const interaction of openRuns(chat)) {
    if (told.has(interaction)) continue;
    const tasks = chat.tasks.filter((task) => task.interaction === interaction);
    row(`wait ${interaction}`, () => newBubble({ role: "agent" }), (bubble) =>
      drawBubble(bubble, { role: "agent", isFinal: false, preview: "", at: 0, isWaiting: true }, tasks, [], isNew, chat));
  }
  for (const key of bubbles.keys()) if (!seen.has(key)) bubbles.delete(key);
  return rows;
}

function dayRow(day) {
  return { element: make("li", { class: "day" }, make("span", { text: day })) };
}

function newBubble(message) {
  const bubble = {
    tools: null, options: null, body: make("div", { class: "body" }), foot: make("p", { class: "foot" }), message: null, tasks: [], asks: 0,
    who: make("span", { class: "unseen", text: message.role === "user" ? "You: " : "Agent: " }),
  };
  bubble.bubble = make("div", { class: "bubble" }, bubble.who, bubble.body);
  bubble.element = make("li", { class: `message ${message.role}`, "data-message": message.id, "data-interaction": message.interaction },
    bubble.bubble, bubble.foot);
  return bubble;
}

function drawBubble(bubble, message, tasks, asks, isNew, chat, isOpen = false) {
  const isSame = bubble.message === message && bubble.isOpen === isOpen && bubble.asks === asks.length && bubble.tasks.length === tasks.length &&
    bubble.tasks.every((task, index) => task === tasks[index]);
  if (isSame) return;
  const wasFinal = bubble.message?.isFinal ?? isNew;
  Object.assign(bubble, { message, tasks, asks: asks.length, isOpen });
  if (tasks.length > 0 && !bubble.tools) {
    bubble.tools = toolsRow();
    bubble.body.before(bubble.tools.element);
  }
  bubble.tools?.draw(tasks, !message.isFinal);
  setAttribute(bubble.element, "data-state", message.isFinal ? "final" : message.isWaiting ? "waiting" : "open");
  drawBody(bubble, message);
  setText(bubble.foot, footOf(message, isOpen));
  setHidden(bubble.foot, !bubble.foot.textContent);
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
    else body.replaceChildren(markdown(message.text));
    setHidden(body, isEmpty && bubble.tasks.length > 0);
  } else if (message.isFinal || message.preview.trim() !== "") {
    body.className = "body plain";
    setAttribute(body, "dir", "auto");
    grow(body, message.isFinal ? message.text : (message.isCut ? "… " : "") + message.preview);
    if (message.attachments?.length) {
      body.append(...attachments(message.attachments));
    }
  } else if (!body.classList.contains("thinking")) {
    body.className = "body thinking";
    body.replaceChildren(make("span", { text: "Thinking…" }));
  }
}

/** Pictures of this relay are shown; what else comes with a message has a name here, and is opened by nobody. */
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

/** What is streamed only grows: the browser then lays out the addition, and a selection stays. */
function grow(element, text) {
  const node = element.firstChild;
  const isGrowing = element.childNodes.length === 1 && node.nodeType === Node.TEXT_NODE && text.startsWith(node.data);
  if (isGrowing) node.appendData(text.slice(node.data.length));
  else element.replaceChildren(text);
}

function footOf(message, isOpen) {
  if (!message.at || (!message.isFinal && message.role === "agent")) return "";
  // The agent's own figures, passed on as they are: of any kind.
  const count = message.usage?.output_tokens;
  const tokens = Number.isFinite(count) && count > 0 ? `${count.toLocaleString()} tokens` : "";
  const reason = Object.hasOwn(REASONS, message.reason) ? REASONS[message.reason] : "";
  return [isOpen ? "Not sealed" : "", reason, timeText(message.at), tokens].filter(Boolean).join(" · ");
}

/** Only whole answers are read out: a growing text would never let a listener go. */
function announce(message, chat) {
  const words = isUnreadable(message) ? "A sealed message came." : message.text.slice(0, 1_000);
  byId("announcer").replaceChildren(make("p", { text: `${titleOf(chat).slice(0, 60)}: ${words}` }));
}

// What is on its way

function newDraft(session, draft, phone) {
  const body = make("div", { class: "body plain", dir: "auto", text: draft.text });
  if (draft.files.length) body.append(...attachments(draft.files.map((file) => ({ name: file.name }))));
  const words = make("span");
  const again = make("button", { type: "button", class: "link", text: "Try again", on: { click: () => phone.send(draft.text, session, draft.id, false, draft.files) } });
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

// The chat's own menu

function startMenu(phone) {
  const menu = byId("chat-menu");
  const done = (action) => async () => {
    menu.removeAttribute("open");
    const chat = phone.state.chats.get(phone.state.selected);
    if (!chat) return;
    try {
      await action(chat);
      await phone.refresh();
    } catch (refusal) {
      byId("announcer").textContent = refusal.message;
    }
  };
  byId("archive").addEventListener("click", done(async (chat) => {
    await phone.client.archive(chat.id, !chat.isArchived);
    // A bridge forgets the key of a chat that has ended (relay.md#others).
    if (chat.isArchived) await phone.keys.handAgain(chat.id);
  }));
  byId("hand-key").addEventListener("click", done((chat) => phone.keys.handAgain(chat.id)));
  byId("remove").addEventListener("click", done((chat) => phone.client.remove(chat.id)));
  byId("rename").addEventListener("click", done(async (chat) => {
    const isSealed = lockOf(phone.state, chat.id) !== "open";
    const title = await askText(chat.title ?? (isSealed ? "" : titleOf(chat)), isSealed ? "The name is not sealed: the relay can read it." : "");
    if (title !== null) await phone.client.rename(chat.id, title.trim() || null);
  }));
  addEventListener("click", (event) => {
    if (!menu.contains(event.target)) menu.removeAttribute("open");
  });
}

function askText(text, hint) {
  const dialog = byId("ask-text");
  const field = byId("ask-text-field");
  field.value = text.slice(0, 200);
  setText(byId("ask-text-hint"), hint);
  dialog.returnValue = "";
  dialog.showModal();
  field.select();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "ok" ? field.value : null), { once: true });
  });
}
