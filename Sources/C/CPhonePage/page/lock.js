// The lock in a chat's head, which shows whether it is sealed, with an explanation. In a new chat the lock is a switch.

import { byId, setAttribute, setHidden, setText } from "./dom.js";
import { lockOf } from "./state.js";

const SEALED = "Sealed: the relay passes on what it cannot read. Names of tools, states and figures are in the open.";
const CHANGED = "The key of this chat was changed while it was in use. If you have not taken a device away, ask yourself who did.";
const LOCKED = "Sealed, and no device has handed its key to this page yet.";
/** The relay chooses the id, so only harmless characters go into a command that a person copies into a shell. */
const remedy = (device) => (/^[\w-]{1,80}$/.test(device ?? "") ? ` If the bridge started this chat, run “sophon-bridge devices allow ${device}” on its machine to let this phone read it.` : "");

export function lockView(phone) {
  const button = byId("lock");
  const line = byId("lock-words");
  let asked = null;
  button.addEventListener("click", () => {
    if (phone.state.selected === "new" && phone.state.keys.canSeal) return phone.chooseSeal(!phone.state.sealsNew);
    asked = asked === phone.state.selected ? null : phone.state.selected;
    phone.changed();
  });

  return (state) => {
    const { keys, selected } = state;
    setHidden(byId("no-ciphers"), !keys.missing);
    setText(byId("no-ciphers"), keys.missing ? `Sealed chats cannot be read here. ${keys.missing}` : "");
    const isNew = selected === "new";
    setHidden(button, !selected || (!isNew && !state.chats.has(selected)));
    const lock = isNew ? (keys.canSeal && state.sealsNew ? "sealed" : "open") : lockOf(state, selected);
    const words = isNew ? wordsOfNew(state, lock) : wordsOf(state, lock);
    button.querySelector("use").setAttribute("href", lock === "open" ? "#icon-unlocked" : "#icon-locked");
    setAttribute(button, "data-lock", lock);
    setAttribute(button, "aria-pressed", isNew ? String(lock === "sealed") : null);
    setAttribute(button, "aria-label", isNew ? "Seal the new chat" : { sealed: "Sealed", locked: "Sealed, without a key", open: "Not sealed" }[lock]);
    setAttribute(button, "title", words);
    setText(line, words);
    setAttribute(line, "data-lock", lock);
    setHidden(line, !selected || !(isNew || lock === "locked" || keys.held.get(selected) || asked === selected));
  };
}

function wordsOfNew({ keys, sealsNew }, lock) {
  if (lock === "sealed") return "Sealed: only your devices and the bridge can read it.";
  if (keys.canSeal && !sealsNew) return "Not sealed: the relay can read it.";
  return `Not sealed. ${keys.missing ?? "The bridge has registered no device, so it is written to in the open."}`;
}

function wordsOf({ keys, selected }, lock) {
  if (lock === "open") return "Not sealed: the relay can read what is said here.";
  if (lock === "locked") return keys.missing ?? LOCKED + remedy(keys.device);
  return keys.held.get(selected) ? CHANGED : SEALED;
}
