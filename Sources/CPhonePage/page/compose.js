// The box to write in, Send and Stop.

import { byId, setHidden, setText } from "./dom.js";
import { openRuns } from "./state.js";

export function composeBox(phone) {
  const form = byId("compose");
  const text = byId("text");
  const send = byId("send");
  const stop = byId("stop");
  const problem = byId("compose-error");
  const kept = new Map();
  let shown = null;

  const fit = () => {
    text.style.height = "auto";
    // Hidden, it has no height to go by; its own one line is right then.
    if (text.scrollHeight) text.style.height = `${Math.min(text.scrollHeight, 180)}px`;
    send.disabled = text.value.trim() === "";
    setHidden(problem, true);
  };
  const complain = (refusal) => {
    setText(problem, refusal.message);
    setHidden(problem, false);
  };
  text.addEventListener("input", fit);
  text.addEventListener("keydown", (event) => {
    // While an input method is at work, Enter is its own.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const words = text.value.trim();
    if (!words) return;
    const session = phone.state.selected === "new" ? null : phone.state.selected;
    text.value = "";
    fit();
    try {
      await phone.send(words, session, undefined, phone.state.keys.canSeal && phone.state.sealsNew);
    } catch (refusal) {
      text.value = words;
      fit();
      complain(refusal);
    }
  });
  stop.addEventListener("click", () => {
    const chat = phone.state.chats.get(phone.state.selected);
    if (!chat) return;
    setHidden(problem, true);
    for (const interaction of openRuns(chat)) {
      // A user who has gone to another chat meanwhile is not told there.
      phone.stop(chat.id, interaction).catch((refusal) => chat.id === phone.state.selected && complain(refusal));
    }
    text.focus();
  });

  return (state) => {
    const chat = state.chats.get(state.selected);
    setHidden(form, !state.selected || (state.selected !== "new" && !chat));
    if (shown !== state.selected) {
      // What was not sent yet belongs to its chat.
      if (shown) kept.set(shown, text.value);
      text.value = kept.get(state.selected) ?? "";
      shown = state.selected;
      fit();
    }
    const runs = chat ? openRuns(chat) : [];
    setHidden(stop, runs.length === 0);
    const isStopping = runs.length > 0 && runs.includes(chat.stopping);
    if (stop.disabled !== isStopping) stop.disabled = isStopping;
    stop.setAttribute("aria-label", isStopping ? "Stopping…" : "Stop the run");
  };
}
