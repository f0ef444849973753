// Files touched by the agent: a row of them below the chat's head, and an opened one, as text or as a picture.

import { arrange, byId, icon, make, setHidden, setText, unmasked } from "./dom.js";
import { codeBlock } from "./markdown.js";
import { base64Of } from "./sealing.js";

const SHOWN = 30;
// Length of a text that a browser lays out without a pause.
const LONGEST = 200_000;
const PICTURES = /^image\/(png|jpeg|gif|webp|bmp)$/;
const TEXTS = /^text\/|^application\/(json|xml|yaml|toml)$|^image\/svg/;
const SENTENCES = {
  not_found: "The file is not there any more.", forbidden: "The bridge does not show this file.",
  permission_denied: "The bridge may not read this file.", too_large: "The file is larger than 1.5 MiB, the most that is shown here.",
  no_session_key: "The bridge has no key for this chat.", upstream_error: "The bridge has not answered in time.",
};

export function agentFiles(phone) {
  const list = byId("agent-files");
  const dialog = byId("file-view");
  const rows = new Map();
  let shown = null;
  let address = null;
  dialog.addEventListener("close", () => {
    if (address) URL.revokeObjectURL(address);
    address = null;
    byId("file-body").replaceChildren();
  });

  async function open(file) {
    setText(byId("file-name"), nameOf(file));
    setText(byId("file-path"), unmasked(file.path ?? ""));
    setHidden(byId("file-save"), true);
    byId("file-body").replaceChildren(make("p", { class: "quiet", text: "Reading…" }));
    dialog.showModal();
    try {
      show(file, await phone.readFile(file));
    } catch (refusal) {
      const words = Object.hasOwn(SENTENCES, refusal.code) ? SENTENCES[refusal.code] : refusal.message;
      byId("file-body").replaceChildren(make("p", { class: "error", text: words }));
    }
  }

  function show(file, { mime, bytes }) {
    // The type keeps a browser from running the file: it can only be saved.
    address = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
    const body = PICTURES.test(mime) ? make("img", { src: `data:${mime};base64,${base64Of(bytes)}`, alt: nameOf(file) })
      : TEXTS.test(mime) ? textBlock(new TextDecoder().decode(bytes)) : make("p", { class: "quiet", text: `${mime}, ${bytes.length} bytes` });
    byId("file-body").replaceChildren(body);
    const save = byId("file-save");
    save.setAttribute("href", address);
    save.setAttribute("download", nameOf(file));
    setHidden(save, false);
  }

  return (state) => {
    const chat = state.chats.get(state.selected);
    const files = chat?.files ?? [];
    if (shown === files) return;
    shown = files;
    const newest = files.slice(-SHOWN).reverse();
    arrange(list, newest.map((file) => {
      if (rows.get(file.id)?.file !== file) rows.set(file.id, { file, element: row(file, open) });
      return rows.get(file.id).element;
    }));
    for (const id of rows.keys()) if (!newest.some((file) => file.id === id)) rows.delete(id);
    setHidden(list, newest.length === 0);
  };
}

const nameOf = (file) => unmasked(file.name ?? (file.path ?? "Sealed file").split("/").pop());

function row(file, open) {
  const words = { read: "Read", write: "Wrote", edit: "Edited" }[file.tool] ?? "";
  return make("li", {}, make("button", {
    type: "button", title: `${words} ${file.path ?? ""}`.trim(), on: { click: () => open(file) },
  }, icon("file"), nameOf(file)));
}

function textBlock(text) {
  return codeBlock(text.length > LONGEST ? `${text.slice(0, LONGEST)}\n… ${text.length - LONGEST} more characters` : text);
}
