// Options of a question as buttons. The relay has no questions: a bridge asks in the bubble's text, and takes the chat's next
// message as the answer (DESIGN.md#questions). The options are therefore parsed from that text, and a button sends only text that a
// person could type.

import { make, setHidden, unmasked } from "./dom.js";

const OPTION = /^(\d{1,3})\. (\S.*)$/;
const HINT = /^Reply with (the number of one option|the numbers of all that you choose, such as 1, 3)(, or in your own words)?\. \/skip declines\.$/;
const MOST = 100;

/** The question at the end of a text, and the text before its options, or null if no question with options stands there. */
export function questionAtEndOf(text) {
  const lines = text.trimEnd().split("\n");
  const hint = HINT.exec(lines.at(-1));
  if (!hint) return null;
  const options = [];
  let at = lines.length - 2;
  while (at >= 0 && lines[at].trim() === "") at -= 1;
  // Backwards from the last option, without a gap in the numbers.
  for (; at >= 0; at -= 1) {
    const option = OPTION.exec(lines[at]);
    if (!option || (options.length > 0 && Number(option[1]) !== options[0].number - 1)) break;
    options.unshift({ number: Number(option[1]), label: option[2] });
  }
  if (options.length === 0 || options[0].number !== 1 || options.length > MOST) return null;
  return {
    options, before: lines.slice(0, at + 1).join("\n").trimEnd(), takesWords: Boolean(hint[2]), isSeveral: hint[1].startsWith("the numbers"),
    isNumbered: options.some(({ label }) => /^\d+$/.test(label)),
  };
}

/** The chat's newest open bubble that ends with a question. */
export function askingMessage(chat) {
  return chat.messages.findLast((message) => message.role === "agent" && !message.isFinal && questionAtEndOf(message.preview)) ?? null;
}

/** The row of buttons below a bubble's text. `draw` takes the text that ends with the question, or null. */
export function optionsRow(phone, session) {
  const element = make("div", { class: "options", role: "group", "aria-label": "Answers" });
  let shown = null;
  let chosen = new Set();

  const enable = (isOn) => {
    for (const button of element.querySelectorAll("button")) button.disabled = !isOn || (button.classList.contains("primary") && chosen.size === 0);
  };
  /** Sends text that a person could type; the chat shows it by its name. */
  const send = async (text, name) => {
    const asked = shown;
    // A second tap would answer the next question.
    enable(false);
    const isSent = await phone.send(text, session, undefined, false, [], unmasked(name));
    if (!isSent && shown === asked) enable(true);
  };
  const answer = (question, number) => (question.isNumbered ? `#${number}` : String(number));

  function contents(question) {
    const buttons = question.options.map(({ number, label }) => make("button", {
      type: "button", class: "option", dir: "auto", text: unmasked(label), "aria-pressed": question.isSeveral ? "false" : null,
      on: { click: (event) => {
        if (!question.isSeveral) return void send(answer(question, number), label);
        if (!chosen.delete(number)) chosen.add(number);
        event.currentTarget.setAttribute("aria-pressed", String(chosen.has(number)));
        enable(true);
      } },
    }));
    const all = make("button", { type: "button", class: "option primary", text: "Send", disabled: true, on: { click: () => {
      const all = question.options.filter(({ number }) => chosen.has(number));
      send(all.map(({ number }) => answer(question, number)).join(", "), all.map(({ label }) => label).join(", "));
    } } });
    const skip = make("button", { type: "button", class: "option skip", text: "Skip", on: { click: () => send("/skip", "Skip") } });
    const words = question.takesWords ? [make("p", { class: "quiet", text: "Or write your own words." })] : [];
    return [...buttons, ...(question.isSeveral ? [all] : []), skip, ...words];
  }

  return {
    element,
    draw(text) {
      if (text === shown) return;
      shown = text;
      chosen = new Set();
      const question = text === null ? null : questionAtEndOf(text);
      element.replaceChildren(...(question ? contents(question) : []));
      setHidden(element, !question);
    },
  };
}
