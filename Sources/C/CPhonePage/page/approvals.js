// Cards: requests of the agent for an approval. Nothing is approved by default: no key, no timeout and no closed sheet is a yes.

import { byId, icon, make, setHidden, setText, timeText, unmasked, unmaskedLine } from "./dom.js";
import { endedApprovals, isUnreadable, pendingApprovals, titleOf } from "./state.js";
import { lengthOf, lines, newestParts, verbatim } from "./verbatim.js";

/** Delay before "Allow" can be pressed (relay.md#requestapproval); critical cards need a second press besides. */
const COOL_DOWN_MS = { high: 5_000, critical: 2_000 };
const SEVERITY_WORDS = { low: "Low risk", medium: "Medium risk", high: "High risk", critical: "Critical" };

/** Last line of a card that the chat's next message refuses, in the bridge's wording and in variants of it. */
const INSTEAD = "or write what to do instead";
const HINTS = [INSTEAD, `tap your answer, ${INSTEAD}`];

/** Splits a card's text from that line. Only the last line is checked: the agent may have put anything into the rest. */
function parted(message) {
  const said = (message ?? "").trimEnd();
  const begin = said.lastIndexOf("\n") + 1;
  const last = said.slice(begin).trim().replace(/\.$/, "").toLowerCase();
  if (HINTS.includes(last)) return { said: said.slice(0, begin).trimEnd(), takesWords: true };
  const cut = said.length - (said.endsWith(".") ? 1 : 0) - INSTEAD.length;
  const isLast = last.endsWith(INSTEAD) && /[.!?,;:] $/.test(said.slice(Math.max(begin, cut - 2), cut));
  return isLast ? { said: said.slice(0, cut).trimEnd(), takesWords: true } : { said: message, takesWords: false };
}

/** Id of the card that the chat's next message refuses, or null. */
export function refusedByWords(state, session) {
  const newest = pendingApprovals(state, session).at(-1);
  return newest && parted(newest.message).takesWords ? newest.id : null;
}

/** Banner above an open chat: pending approvals of any chat, and those that ended without an answer. */
export function askBanner(phone) {
  const banner = byId("asks");
  const dismissed = new Set();
  let shown = "";
  function ended(state) {
    const approval = endedApprovals(state, state.selected).findLast(({ id }) => !dismissed.has(id));
    setHidden(banner, !approval);
    const key = approval ? `ended ${approval.id}` : "";
    if (key === shown) return;
    shown = key;
    if (!approval) return banner.replaceChildren();
    const why = /expired|timeout/i.test(approval.reason) ? "Nobody answered" : `Denied by the relay (${unmaskedLine(approval.reason)})`;
    const words = `${why}: ${isUnreadable(approval) ? "what was asked" : unmaskedLine(approval.title ?? "what was asked")}`;
    banner.replaceChildren(icon("clock"), make("span", { class: "asks-words", dir: "auto", text: words }),
      make("button", { type: "button", class: "small", text: "OK", on: { click: () => {
        dismissed.add(approval.id);
        ended(phone.state);
      } } }));
    byId("announcer").replaceChildren(make("p", { text: words }));
  }
  return (state) => {
    const pending = pendingApprovals(state);
    const approval = pending.find((approval) => approval.session === state.selected) ?? pending[0];
    if (!approval) return ended(state);
    setHidden(banner, false);
    const key = `${approval.id} ${approval.seal} ${pending.length} ${state.selected}`;
    if (key === shown) return;
    shown = key;
    const chat = state.chats.get(approval.session);
    const isHere = approval.session === state.selected;
    const title = unmaskedLine(approval.title ?? (isHere ? "The agent asks" : "asks"));
    const words = isHere ? title : `${chat ? unmaskedLine(titleOf(chat)) : "Another chat"}: ${title}`;
    banner.replaceChildren(icon("shield"), make("span", { class: "asks-words", dir: "auto", text: words }),
      make("button", { type: "button", class: "small", text: isHere ? "Review" : "Open", on: { click: () => {
        if (!isHere) location.hash = `#/chat/${encodeURIComponent(approval.session)}`;
        dispatchEvent(new CustomEvent("review", { detail: approval.id }));
      } } }));
  };
}

export function approvalSheet(phone) {
  const sheet = byId("sheet");
  const putOff = new Set();
  let open = null;
  let timer = null;

  // After a close without an answer the card stays pending, and the banner reopens the sheet. The browser reports a close late: by
  // then the sheet may be open again for the next card, which is left alone.
  sheet.addEventListener("close", () => {
    if (sheet.open) return;
    clearInterval(timer);
    if (open) putOff.add(open.id);
    open = null;
  });
  addEventListener("review", (event) => {
    putOff.delete(event.detail);
    show(phone.state);
  });

  function show(state) {
    const asked = open && state.approvals.get(open.id);
    if (asked?.decision) close();
    else if (asked && asked !== open) {
      // The key arrived: the card can be read now.
      open = asked;
      sheet.replaceChildren(...contents(asked, state));
      coolDown(asked);
    }
    // A message would refuse a newer card than this one.
    if (open && !takesWords(open, state)) sheet.querySelector(".instead")?.remove();
    if (open || document.querySelector("dialog[open]")) return;
    const next = pendingApprovals(state, state.selected).find((approval) => !putOff.has(approval.id));
    if (!next || !state.selected) return;
    open = next;
    sheet.replaceChildren(...contents(next, state));
    sheet.dataset.severity = severity(next);
    sheet.showModal();
    coolDown(next);
    sheet.querySelector(".deny").focus();
  }

  function close() {
    open = null;
    sheet.close();
    // The browser has restored the focus, but Chromium sends no key to the element before the focus has moved once more.
    const focused = document.activeElement;
    focused?.blur();
    focused?.focus();
  }

  /** Enables the buttons after the delay, and shows the seconds left. */
  function coolDown(approval) {
    const wait = COOL_DOWN_MS[severity(approval)] ?? 0;
    const buttons = [...sheet.querySelectorAll("button.allow")];
    const hint = sheet.querySelector(".cool-down");
    clearInterval(timer);
    if (!hint) return;
    const end = performance.now() + wait;
    const tick = () => {
      const left = end - performance.now();
      for (const button of buttons) button.disabled = left > 0;
      hint.classList.toggle("over", left <= 0);
      setText(hint, `Read it first: ${Math.max(1, Math.ceil(left / 1_000))} s`);
      if (left <= 0) clearInterval(timer);
    };
    tick();
    timer = setInterval(tick, 100);
  }

  function contents(approval, state) {
    const level = severity(approval);
    const chat = state.chats.get(approval.session);
    const isSealed = isUnreadable(approval);
    const problem = make("p", { class: "problem", role: "alert", hidden: true });
    const decide = (decision) => async () => {
      for (const button of sheet.querySelectorAll("button")) button.disabled = true;
      try {
        await phone.decide(approval.id, decision);
        if (open?.id === approval.id) close();
      } catch (refusal) {
        for (const button of sheet.querySelectorAll("button")) button.disabled = false;
        setText(problem, refusal.message);
        setHidden(problem, false);
      }
    };
    const allow = (decision, words) => (level === "critical" ? () => confirm(approval, words, decide(decision), state) : decide(decision));
    return [
      make("header", { class: "sheet-head" }, make("span", { class: "sheet-mark" }, icon("shield")),
        make("div", {}, make("p", { class: "severity", text: SEVERITY_WORDS[level] }),
          make("h2", { id: "sheet-title", dir: "auto", text: isSealed ? "The agent asks, and it cannot be read here" : unmaskedLine(approval.title ?? "The agent asks") }))),
      approval.command ? verbatim(approval.command, approval.host ? `on ${unmaskedLine(approval.host)}` : "command") : null,
      parts(approval, chat),
      ...message(approval),
      approval.expires_in_ms && approval.ts ? make("p", { class: "quiet", text: `Waits until ${timeText(approval.ts + approval.expires_in_ms)}` }) : null,
      chat ? make("p", { class: "quiet", dir: "auto", text: `In “${unmaskedLine(titleOf(chat))}”` }) : null,
      isSealed ? make("p", { class: "sheet-message", text: "What it asks is sealed, and this page has no key that opens it. What is not read is not allowed." }) : null,
      problem, COOL_DOWN_MS[level] ? make("p", { class: "cool-down" }) : null,
      make("div", { class: "actions" },
        isSealed ? null : button("Allow", "allow once primary", allow("approve", "Allow")),
        isSealed ? null : button("Allow always", "allow always", allow("approve_always", "Allow always")),
        button("Deny", "deny", decide("deny")), takesWords(approval, state) ? instead(state) : null),
    ].filter(Boolean);
  }

  /** A message refuses the newest card of a chat, so only that one has a button to the box. */
  function takesWords(approval, state) {
    return refusedByWords(state, approval.session) === approval.id;
  }

  /** Closes the sheet for the box, and puts off every other card, so that none covers it; they stay pending in the banner. */
  function instead(state) {
    return button(INSTEAD, "instead", () => {
      for (const { id } of pendingApprovals(phone.state, state.selected)) putOff.add(id);
      close();
      dispatchEvent(new CustomEvent("instead"));
    });
  }

  function message({ message, command }) {
    const { said } = parted(message);
    if (!said || said === command) return [];
    const shown = unmasked(said);
    const isLong = shown.split("\n").length > 12 || shown.length > 600;
    return [make("div", { class: "sheet-message", tabindex: "0" }, ...lines(shown, "auto")),
      isLong ? make("p", { class: "quiet message-length", text: lengthOf(shown) }) : null];
  }

  /** A link to the messages before the card, which hold the rest of its text. */
  function parts(approval, chat) {
    const run = /\bparts?\b/i.test(approval.title ?? "") ? newestParts(chat?.messages ?? []) : [];
    if (run.length === 0) return null;
    const [first, last] = [run[0], run.at(-1)];
    return make("p", { class: "sheet-parts" }, `It goes on in the chat: ${first === last ? "part" : "parts 2 to"} ${last.number} of ${last.count}. `,
      make("button", { type: "button", class: "link", text: "Read on", on: { click: () => {
        sheet.close();
        document.querySelector(`[data-message="${CSS.escape(first.id)}"]`)?.scrollIntoView({ block: "start" });
      } } }));
  }

  /** A critical card needs a second press, on a button of another text in another place. */
  function confirm(approval, words, yes, state) {
    sheet.querySelector("#sheet-title").textContent = "Are you sure?";
    const message = sheet.querySelector(".sheet-message") ?? make("div", { class: "sheet-message" });
    message.textContent = `“${words}” lets the agent do this, and it cannot be taken back.`;
    const actions = sheet.querySelector(".actions");
    actions.before(message);
    actions.replaceChildren(
      button("Yes, do it", "allow danger confirm", yes),
      button("Back", "deny", () => {
        sheet.replaceChildren(...contents(approval, state));
        coolDown(approval);
      }));
    sheet.querySelector(".cool-down")?.remove();
    actions.lastElementChild.focus();
  }

  return show;
}

const button = (text, className, click) => make("button", { type: "button", class: className, text, on: { click } });
const severity = (approval) => (approval.severity in SEVERITY_WORDS ? approval.severity : "medium");
