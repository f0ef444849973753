// Copy buttons. Each reads the shown text at the press: a block that still grows is copied as far as it has come.

import { byId, icon, make } from "./dom.js";

const SHOWN_MS = 1_600;

/** Button in the head of a figure: copies the code below it. */
export function copyButton() {
  const button = make("button", { type: "button", class: "copy", "aria-label": "Copy the code" }, icon("copy"), "Copy");
  button.addEventListener("click", async () => {
    const isDone = await copied(button.closest("figure").querySelector("pre").textContent);
    button.lastChild.textContent = isDone ? "Copied" : "Not copied";
    setTimeout(() => (button.lastChild.textContent = "Copy"), SHOWN_MS);
  });
  return button;
}

/** Button at the foot of a message; `text()` returns the message as written. */
export function messageCopyButton(text) {
  const label = "Copy the message";
  const button = make("button", { type: "button", class: "copy copy-message", "aria-label": label, title: label }, icon("copy"));
  const show = (words, drawing) => {
    button.setAttribute("aria-label", words);
    button.querySelector("use").setAttribute("href", `#icon-${drawing}`);
  };
  button.addEventListener("click", async () => {
    const isDone = await copied(text());
    show(isDone ? "Copied" : "Not copied", isDone ? "check" : "cross");
    byId("announcer").replaceChildren(make("p", { text: isDone ? "Copied" : "Not copied" }));
    setTimeout(() => show(label, "copy"), SHOWN_MS);
  });
  return button;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
