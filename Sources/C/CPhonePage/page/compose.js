// The box to write in, the files that go along, Send and Stop.

import { byId, icon, make, setHidden, setText } from "./dom.js";
import { refusedByWords } from "./approvals.js";
import { lockOf, openRuns } from "./state.js";
import { readOfTab, writeOfTab } from "./storage.js";

// Unsent text survives a reload, in the storage of the tab; that of a sealed chat stays in memory.
const KEPT_DRAFTS = 30;
const LONGEST_DRAFT = 20_000;

export function composeBox(phone) {
  const form = byId("compose");
  const text = byId("text");
  const send = byId("send");
  const stop = byId("stop");
  const problem = byId("compose-error");
  const picker = byId("files");
  const chosen = byId("chosen");
  const kept = new Map();
  let files = [];
  let shown = null;
  for (const [session, words] of readOfTab("drafts", [])) kept.set(session, { words, files: [] });

  const isSealed = (chat) => chat === "new" ? phone.state.keys.canSeal && phone.state.sealsNew : lockOf(phone.state, chat) !== "open";
  const store = (chat, words) => {
    const { chats, isLoaded } = phone.state;
    const isThere = (session) => session === "new" || !isLoaded || chats.has(session);
    const others = readOfTab("drafts", []).filter(([session]) => session !== chat && isThere(session) && !isSealed(session));
    const own = words.trim() === "" || isSealed(chat) ? [] : [[chat, words.slice(0, LONGEST_DRAFT)]];
    writeOfTab("drafts", [...others, ...own].slice(-KEPT_DRAFTS));
  };
  const keep = () => shown && store(shown, text.value);
  const fit = () => {
    text.style.height = "auto";
    // A hidden box has no height; one line is right then.
    if (text.scrollHeight) text.style.height = `${Math.min(text.scrollHeight, 180)}px`;
    send.disabled = text.value.trim() === "" && files.length === 0;
    setHidden(problem, true);
  };
  const complain = (refusal) => {
    setText(problem, refusal.message);
    setHidden(problem, false);
  };
  const choose = (list) => {
    files = list;
    chosen.replaceChildren(...files.map((file) => make("li", {},
      make("span", { text: file.name }),
      make("button", { type: "button", class: "link", "aria-label": `Leave out ${file.name}`, on: { click: () => choose(files.filter((other) => other !== file)) } }, icon("cross")))));
    setHidden(chosen, files.length === 0);
    fit();
  };
  const add = (more) => {
    if (more.length && !form.hidden) choose([...files, ...more]);
  };
  byId("attach").addEventListener("click", () => picker.click());
  picker.addEventListener("change", () => {
    add(picker.files);
    picker.value = "";
  });
  // Without this handler, a file dropped beside the box would replace the page.
  for (const name of ["dragover", "drop"]) {
    addEventListener(name, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      form.classList.toggle("dropping", name === "dragover" && !form.hidden);
      if (name === "drop") add(event.dataTransfer.files);
    });
  }
  addEventListener("dragleave", (event) => event.relatedTarget === null && form.classList.remove("dropping"));
  text.addEventListener("paste", (event) => add(event.clipboardData?.files ?? []));
  text.addEventListener("input", () => {
    fit();
    keep();
  });
  /** Text from another part of the page, put behind the typed one; nothing is sent. */
  addEventListener("write", ({ detail }) => {
    if (form.hidden) return;
    if (detail) text.value = text.value.trim() === "" ? detail : `${text.value.trimEnd()}\n${detail}`;
    fit();
    keep();
    text.focus();
  });
  const usualHint = text.placeholder;
  addEventListener("instead", () => {
    text.placeholder = "What to do instead; this refuses the card";
    text.focus();
  });
  text.addEventListener("keydown", (event) => {
    // During the composition of an input method, Enter belongs to it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const words = text.value.trim();
    const along = files;
    if (!words && along.length === 0) return;
    const session = phone.state.selected === "new" ? null : phone.state.selected;
    const from = shown;
    const refused = session && refusedByWords(phone.state, session);
    text.value = "";
    text.placeholder = usualHint;
    choose([]);
    keep();
    try {
      await phone.send(words, session, undefined, phone.state.keys.canSeal && phone.state.sealsNew, along);
      // The card stays pending at the relay until it expires: the API has no call that cancels it (relay.md#requestapproval).
      if (refused) phone.tell("page_refused", { approval: refused });
    } catch (refusal) {
      if (shown !== from) {
        // The words must not appear in another chat's box, which may be unsealed.
        kept.set(from, { words, files: along });
        return store(from, words);
      }
      text.value = words;
      choose(along);
      keep();
      complain(refusal);
    }
  });
  stop.addEventListener("click", () => {
    const chat = phone.state.chats.get(phone.state.selected);
    if (!chat) return;
    setHidden(problem, true);
    for (const interaction of openRuns(chat)) {
      // The error belongs to its chat, so it is not shown in another one.
      phone.stop(chat.id, interaction).catch((refusal) => chat.id === phone.state.selected && complain(refusal));
    }
    text.focus();
  });

  return (state) => {
    const chat = state.chats.get(state.selected);
    setHidden(form, !state.selected || (state.selected !== "new" && !chat));
    if (shown !== state.selected) {
      // Unsent words and files belong to their chat.
      if (shown) kept.set(shown, { words: text.value, files });
      const left = kept.get(state.selected);
      text.placeholder = usualHint;
      text.value = left?.words ?? "";
      shown = state.selected;
      choose(left?.files ?? []);
      keep();
    }
    const runs = chat ? openRuns(chat) : [];
    setHidden(stop, runs.length === 0);
    const isStopping = runs.length > 0 && runs.every((interaction) => state.stops.has(interaction));
    if (stop.disabled !== isStopping) stop.disabled = isStopping;
    stop.setAttribute("aria-label", isStopping ? "Stopping…" : "Stop the run");
  };
}
