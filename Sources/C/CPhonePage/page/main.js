// Connects the parts: the token, the phone, the views, and the address, which names the open chat.

import { approvalSheet, askBanner } from "./approvals.js";
import { conversation } from "./bubbles.js";
import { chatList } from "./chats.js";
import { Client } from "./client.js";
import { composeBox } from "./compose.js";
import { agentFiles } from "./files.js";
import { developerPanel } from "./developer.js";
import { byId } from "./dom.js";
import { lockView } from "./lock.js";
import { modelChoice } from "./models.js";
import { Phone } from "./phone.js";
import { Redraw } from "./redraw.js";
import { routineSheet } from "./routines.js";
import { decoded, forget, read, takeToken, write } from "./storage.js";
import { startTheme } from "./theme.js";

startTheme(byId("theme"));
takeToken();
// Opening the printed address in a page that is already open changes only the fragment behind the "#".
addEventListener("hashchange", (event) => {
  if (!takeToken()) return;
  event.stopImmediatePropagation();
  location.reload();
});
const token = read("token", null);
if (token) start(token);
else door();

function start(token) {
  const client = new Client(token);
  const redraw = new Redraw(() => draw());
  const phone = new Phone(client, () => redraw.ask());
  const views = [
    chatList(phone), conversation(phone), composeBox(phone), askBanner(phone), approvalSheet(phone), lockView(phone), agentFiles(phone),
    modelChoice(phone), routineSheet(phone),
    developerPanel(phone, client, redraw),
  ];
  const failures = new Set();

  function draw() {
    const state = phone.state;
    if (state.link.kind === "refused") return door(state.link.message);
    chooseFirst(state);
    for (const view of views) show(view, state);
    const unread = [...state.chats.values()].reduce((sum, chat) => sum + chat.unread, 0);
    document.title = (unread ? `(${unread}) ` : "") + "Phone";
  }

  /** Draws a view and isolates its exceptions from the others. It would fail at every redraw, so each is reported once. */
  function show(view, state) {
    try {
      view(state);
    } catch (error) {
      if (!failures.has(String(error))) console.error(error);
      failures.add(String(error));
    }
  }

  /** A wide page opens the newest chat, instead of an empty half. */
  function chooseFirst(state) {
    if (state.selected || location.hash || !isWide.matches) return;
    const newest = [...state.chats.values()].filter((chat) => !chat.isArchived).sort((a, b) => b.updatedAt - a.updatedAt)[0];
    if (newest) history.replaceState(null, "", `#/chat/${encodeURIComponent(newest.id)}`), route();
  }

  const isWide = matchMedia("(min-width: 760px)");
  isWide.addEventListener("change", () => redraw.ask());

  function route() {
    const match = /^#\/chat\/(.+)$/.exec(location.hash);
    const session = location.hash === "#/new" ? "new" : match ? decoded(match[1]) : null;
    document.documentElement.dataset.view = session ? "chat" : "list";
    phone.select(session);
    // Drawn at once, because the next typed letter belongs to the newly selected chat.
    redraw.now();
  }

  addEventListener("hashchange", route);
  phone.onNewChat = (session) => {
    history.replaceState(null, "", `#/chat/${encodeURIComponent(session)}`);
    route();
  };
  /** Leaves a removed chat if it is still open, without a way back to it. A wide page opens another one by itself. */
  phone.onRemoved = (session) => {
    if (location.hash !== `#/chat/${encodeURIComponent(session)}`) return;
    history.replaceState(null, "", location.pathname);
    route();
    if (!isWide.matches) (document.querySelector(".chats a[tabindex='0']") ?? byId("new-chat")).focus();
  };
  byId("new-chat").addEventListener("click", () => {
    if (location.hash !== "#/new") history.pushState(null, "", "#/new");
    route();
    byId("text").focus();
  });
  byId("back").addEventListener("click", () => leave());
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    const menu = document.querySelector("details.menu[open]");
    if (menu) return menu.removeAttribute("open"), menu.querySelector("summary").focus();
    if (!isWide.matches && location.hash) leave();
  });

  function leave() {
    const session = phone.state.selected;
    history.pushState(null, "", location.pathname);
    route();
    const row = [...document.querySelectorAll(".chats a")].find((row) => row.dataset.session === session);
    row?.focus();
  }

  addEventListener("themechange", () => redraw.ask());
  route();
  redraw.ask();
  phone.start();
}

/** The form for a token, if there is none, or if the relay refuses it. */
function door(message) {
  // Each redraw calls this, and the address or another tab may have stored a new token since.
  if (read("token", null) === token) forget("token");
  byId("app").hidden = true;
  byId("door").hidden = false;
  if (message) byId("door-text").textContent = `${message} Open the address that the program printed, or paste the user’s token.`;
  byId("door-token").focus();
  byId("door-form").onsubmit = (event) => {
    event.preventDefault();
    const given = byId("door-token").value.trim();
    if (!given) return;
    write("token", given);
    location.reload();
  };
}
