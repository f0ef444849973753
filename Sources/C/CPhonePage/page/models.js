// The choice of a chat's model: the agent's own, or one of its list. It belongs to the chat, and is sent with every message.

import { arrange, byId, make, setAttribute, setHidden, setText } from "./dom.js";

const ASKING = "Asking the agent…";

export function modelChoice(phone) {
  const choice = byId("model");
  const words = byId("model-words");
  const opener = byId("model-menu");
  let known = [];
  const options = new Map();
  let isAsking = false;
  // The choice and its chat, until the relay has accepted or refused it.
  let asked = null;

  const say = (text) => {
    setText(words, text);
    setHidden(words, !text);
  };
  const load = async () => {
    if (isAsking) return;
    isAsking = true;
    say(ASKING);
    let answer = "";
    try {
      known = (await phone.client.models()).models ?? [];
      if (!known.length) answer = "The agent names no models.";
    } catch (refusal) {
      answer = refusal.message;
    }
    isAsking = false;
    // An answer to a choice may stand here by now, and stays.
    if (words.textContent === ASKING) say(answer);
    draw(phone.state);
  };
  opener.addEventListener("toggle", () => opener.open && load());
  choice.addEventListener("change", async () => {
    const mine = { session: phone.state.selected, model: choice.value || null };
    asked = mine;
    let words = "";
    try {
      await phone.chooseModel(mine.model);
    } catch (refusal) {
      words = refusal.message;
    }
    // A newer choice was made: the answer to this one is obsolete.
    if (asked !== mine) return;
    asked = null;
    if (phone.state.selected === mine.session) say(words);
    draw(phone.state);
  });
  addEventListener("click", (event) => {
    if (!opener.contains(event.target)) opener.removeAttribute("open");
  });

  /** Keeps the element of a listed model: the list may be open, with a pointer on it. */
  const option = (id, words) => {
    if (!options.has(id)) options.set(id, make("option", { value: id }));
    setText(options.get(id), words);
    return options.get(id);
  };
  const draw = (state) => {
    const model = modelOf(state);
    setHidden(opener, !state.selected);
    setAttribute(opener.firstElementChild, "data-chosen", model ? "" : null);
    setText(byId("model-name"), model ? nameOf(model, known) : "Agent’s own model");
    const listed = new Map(known.map((one) => [one.id, described(one)]));
    // A model chosen earlier may be missing from today's list.
    if (model && !listed.has(model)) listed.set(model, model);
    arrange(choice, [["", "The agent’s own"], ...listed].map(([id, words]) => option(id, words)));
    for (const id of options.keys()) if (id && !listed.has(id)) options.delete(id);
    const value = (asked?.session === state.selected ? asked.model : model) ?? "";
    if (choice.value !== value) choice.value = value;
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
