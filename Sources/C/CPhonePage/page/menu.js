// The chat's menu: its name, the archive, its key, and its removal, which asks for a confirmation.

import { byId, setText } from "./dom.js";
import { lockOf, openRuns, titleOf } from "./state.js";

export function startMenu(phone) {
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
    // A bridge drops the key of a chat that has ended (relay.md#others).
    if (chat.isArchived) await phone.keys.handAgain(chat.id);
  }));
  byId("hand-key").addEventListener("click", done((chat) => phone.keys.handAgain(chat.id)));
  byId("remove").addEventListener("click", done(async (chat) => {
    if (!await askRemoval(chat)) return;
    await phone.client.remove(chat.id);
    await phone.refresh();
    phone.onRemoved?.(chat.id);
  }));
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

/** A deleted chat cannot be restored: the dialog begins at "Cancel", and a closed dialog is no yes. */
function askRemoval(chat) {
  const dialog = byId("ask-removal");
  setText(byId("ask-removal-chat"), titleOf(chat));
  setText(byId("ask-removal-words"), openRuns(chat).length ? "It cannot be brought back, and what runs in it is stopped." : "It cannot be brought back.");
  dialog.returnValue = "";
  dialog.showModal();
  byId("keep-chat").focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "ok"), { once: true });
  });
}
