// What the agent asks before it acts. Nothing passes by itself: no key, no time and no closed sheet is a yes.

import { byId, icon, make, setHidden, setText, unmasked } from "./dom.js";
import { codeBlock } from "./markdown.js";
import { isUnreadable, pendingApprovals, titleOf } from "./state.js";

/** Before this time "Allow" cannot be pressed: a tap that was meant for something else does no harm. */
const COOL_DOWN_MS = { high: 1_500, critical: 2_000 };
const SEVERITY_WORDS = { low: "Low risk", medium: "Medium risk", high: "High risk", critical: "Critical" };

/** Above an open chat: the pending approvals, here or in another chat. */
export function askBanner(phone) {
  const banner = byId("asks");
  let shown = "";
  return (state) => {
    const pending = pendingApprovals(state);
    const approval = pending.find((approval) => approval.session === state.selected) ?? pending[0];
    setHidden(banner, !approval);
    const key = approval ? `${approval.id} ${pending.length} ${state.selected}` : "";
    if (key === shown) return;
    shown = key;
    if (!approval) return banner.replaceChildren();
    const chat = state.chats.get(approval.session);
    const isHere = approval.session === state.selected;
    const words = isHere ? approval.title ?? "The agent asks" : `${chat ? titleOf(chat) : "Another chat"}: ${approval.title ?? "asks"}`;
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

  // Closed without an answer, the question stays: the banner brings the sheet back. The browser reports a close later than it
  // happens, and the sheet may be open again by then, for the next question: that one is not touched.
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
      // Its key has come.
      open = asked;
      sheet.replaceChildren(...contents(asked, state));
      coolDown(asked);
    }
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
    // The browser has given the focus back, but Chromium sends no key there before it has moved once more.
    const focused = document.activeElement;
    focused?.blur();
    focused?.focus();
  }

  /** The buttons come alive after a while, which the sheet shows. */
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
          make("h2", { id: "sheet-title", dir: "auto", text: isSealed ? "The agent asks, and it cannot be read here" : unmasked(approval.title ?? "The agent asks") }))),
      approval.command ? codeBlock(unmasked(approval.command), approval.host ? `on ${unmasked(approval.host)}` : "command") : null,
      approval.message && approval.message !== approval.command
        ? make("p", { class: "sheet-message", dir: "auto", text: unmasked(approval.message) }) : null,
      chat ? make("p", { class: "quiet", dir: "auto", text: `In “${titleOf(chat)}”` }) : null,
      isSealed ? make("p", { class: "sheet-message", text: "What it asks is sealed, and this page has no key that opens it. What is not read is not allowed." }) : null,
      problem, COOL_DOWN_MS[level] ? make("p", { class: "cool-down" }) : null,
      make("div", { class: "actions" },
        isSealed ? null : button("Allow", "allow once primary", allow("approve", "Allow")),
        isSealed ? null : button("Allow always", "allow always", allow("approve_always", "Allow always")),
        button("Deny", "deny", decide("deny"))),
    ].filter(Boolean);
  }

  /** What is critical is said yes to twice, the second time in other words and at another place. */
  function confirm(approval, words, yes, state) {
    sheet.querySelector("#sheet-title").textContent = "Are you sure?";
    const message = sheet.querySelector(".sheet-message") ?? make("p", { class: "sheet-message" });
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
