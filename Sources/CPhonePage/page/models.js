// Which model answers in a chat: the agent's own, or one of its list. It belongs to the chat, and goes along with every message.

import { byId, make, setHidden, setText } from "./dom.js";

export function modelChoice(phone) {
  const choice = byId("model");
  const words = byId("model-words");
  const opener = byId("model-menu");
  let known = [];
  let isAsking = false;
  let drawn = null;

  const say = (text) => {
    setText(words, text);
    setHidden(words, !text);
  };
  const load = async () => {
    if (isAsking) return;
    isAsking = true;
    say("Asking the agent…");
    try {
      known = (await phone.client.models()).models ?? [];
      say(known.length ? "" : "The agent names no models.");
    } catch (refusal) {
      say(refusal.message);
    } finally {
      isAsking = false;
      drawn = null;
      draw(phone.state);
    }
  };
  opener.addEventListener("toggle", () => opener.open && load());
  choice.addEventListener("change", async () => {
    const model = choice.value || null;
    try {
      await phone.chooseModel(model);
      say("");
    } catch (refusal) {
      say(refusal.message);
    }
    drawn = null;
    draw(phone.state);
  });
  addEventListener("click", (event) => {
    if (!opener.contains(event.target)) opener.removeAttribute("open");
  });

  const draw = (state) => {
    const model = modelOf(state);
    setHidden(opener, !state.selected);
    setText(byId("model-name"), model ? nameOf(model, known) : "Agent’s own model");
    const key = JSON.stringify([model, known.map((one) => one.id)]);
    if (key === drawn) return;
    drawn = key;
    const listed = [...known];
    // What was chosen once may not be in today's list.
    if (model && !listed.some((one) => one.id === model)) listed.unshift({ id: model, name: model });
    choice.replaceChildren(make("option", { value: "", text: "The agent’s own" }),
      ...listed.map((one) => make("option", { value: one.id, text: described(one) })));
    choice.value = model ?? "";
  };
  return draw;
}

function modelOf(state) {
  return state.selected === "new" ? state.newModel : state.chats.get(state.selected)?.model ?? null;
}

function nameOf(id, known) {
  return known.find((one) => one.id === id)?.name ?? id;
}

function described(model) {
  const provider = model.provider && !model.name?.includes(model.provider) ? ` · ${model.provider}` : "";
  return `${model.name ?? model.id}${provider}`;
}
