// The list of chats, with the bridge's state above it.

import { arrange, byId, dayText, icon, make, setAttribute, setHidden, setText, timeText } from "./dom.js";
import { lastLine, lockOf, openRuns, pendingApprovals, titleOf, waitsForBridge } from "./state.js";

export const BRIDGE_WORDS = {
  connected: "Bridge connected", degraded: "Bridge away: answers wait until it is back", revoked: "Bridge removed: pair it anew",
  never: "No bridge has connected yet",
};

/** Text of a run without output so far. */
export const waitingWords = (state, chat) => (waitsForBridge(state, chat) ? "Waiting for the bridge" : "Thinking…");

/** Text of the line above the list. The state of the relay comes first: without it the others are unknown. */
export function bridgeLine(state) {
  if (state.link.kind === "waiting") return { kind: "lost", words: "Relay unreachable; trying again" };
  if (!state.isLoaded || state.link.kind === "connecting") return { kind: "waiting", words: "Connecting…" };
  const bridge = state.account.installations[0];
  if (!bridge) return { kind: "never", words: "No bridge is paired" };
  const version = bridge.state === "connected" && bridge.version ? ` · ${bridge.version}` : "";
  const name = bridge.name ? `${bridge.emoji ? `${bridge.emoji} ` : ""}${bridge.name} · ` : "";
  return { kind: bridge.state, words: name + (BRIDGE_WORDS[bridge.state] ?? bridge.state) + version };
}

export function chatList(phone) {
  const list = byId("chats");
  const bridge = byId("bridge");
  const rows = new Map();
  bridge.append(make("span", { class: "dot" }), make("span", { class: "bridge-words", dir: "auto" }));

  list.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    links[Math.max(0, Math.min(to, links.length - 1))]?.focus();
  });

  return (state) => {
    const line = bridgeLine(state);
    setAttribute(bridge, "data-kind", line.kind);
    setText(bridge.lastElementChild, line.words);
    const chats = [...state.chats.values()]
      .sort((a, b) => a.isArchived - b.isArchived || b.updatedAt - a.updatedAt || (a.id < b.id ? 1 : -1));
    setHidden(byId("no-chats"), chats.length > 0 || !state.isLoaded);
    for (const id of rows.keys()) if (!state.chats.has(id)) rows.delete(id);
    // The whole list is one tab stop; the arrow keys move inside.
    const stop = state.chats.has(state.selected) ? state.selected : chats[0]?.id;
    arrange(list, chats.map((chat) => {
      const row = rows.get(chat.id) ?? newRow(chat.id);
      rows.set(chat.id, row);
      drawRow(row, chat, state, chat.id === stop);
      return row.item;
    }));
  };
}

function newRow(id) {
  const row = {
    title: make("span", { class: "row-title", dir: "auto" }), time: make("time", { class: "row-time" }),
    line: make("span", { class: "row-line", dir: "auto" }), badge: make("span", { class: "badge" }),
    lock: make("span", { class: "row-lock", role: "img" }, icon("locked")), avatar: make("span", { class: "avatar", "aria-hidden": "true" }),
  };
  row.link = make("a", { href: `#/chat/${encodeURIComponent(id)}`, "data-session": id }, row.avatar,
    make("span", { class: "row-words" }, make("span", { class: "row-top" }, row.lock, row.title, row.time),
      make("span", { class: "row-bottom" }, row.line, row.badge)));
  row.item = make("li", {}, row.link);
  row.avatar.append(icon("terminal"));
  row.avatar.dataset.hue = String([...id].reduce((sum, letter) => sum + letter.codePointAt(0), 0) % 6);
  return row;
}

function drawRow(row, chat, state, isStop) {
  const asks = pendingApprovals(state, chat.id).length > 0;
  const runs = openRuns(chat).length > 0;
  const isToday = dayText(chat.updatedAt) === "Today";
  setText(row.title, titleOf(chat));
  setText(row.time, chat.updatedAt ? (isToday ? timeText(chat.updatedAt) : dayText(chat.updatedAt)) : "");
  setText(row.line, asks ? "Waits for your approval" : chat.isArchived ? "Archived" : lastLine(chat, waitingWords(state, chat)) || (chat.count ? `${chat.count} messages` : "No messages yet"));
  const lock = lockOf(state, chat.id);
  setHidden(row.lock, lock === "open");
  setAttribute(row.lock, "data-lock", lock);
  setAttribute(row.lock, "aria-label", lock === "locked" ? "Sealed, without a key" : "Sealed");
  setText(row.badge, asks ? "!" : chat.unread ? String(chat.unread) : "");
  setHidden(row.badge, !asks && !chat.unread);
  setAttribute(row.badge, "data-kind", asks ? "asks" : "unread");
  setAttribute(row.badge, "aria-label", asks ? "asks for approval" : chat.unread ? `${chat.unread} unread` : null);
  setAttribute(row.link, "aria-current", chat.id === state.selected ? "true" : null);
  setAttribute(row.link, "tabindex", isStop ? "0" : "-1");
  row.link.classList.toggle("runs", runs);
  row.link.classList.toggle("unread", chat.unread > 0);
  row.link.classList.toggle("archived", chat.isArchived);
}
