// Buttons that order faults: each kind that the relay lists, a number of times, or a random mix of them.

import { make, setHidden, setText } from "./dom.js";

const PATH = "/v1/simulator/faults";
const GROUPS = {
  call: "Calls of the bridge", connection: "Connections", update: "Updates", message: "Messages of the user", grant: "Key grants",
  acknowledgement: "Acknowledgements",
};

export function faultButtons(client) {
  const count = make("input", { type: "number", min: "1", max: "100", value: "1", id: "fault-count", class: "fault-count" });
  const planned = make("p", { class: "planned quiet" });
  const kinds = make("div", { class: "fault-kinds" });
  const problem = make("p", { class: "problem", role: "alert", hidden: true });
  const element = make("details", { class: "faults", hidden: true },
    make("summary", {}, make("span", { text: "Faults" }), planned),
    make("div", { class: "fault-head" },
      make("label", { for: "fault-count", text: "How many" }), count, make("span", { class: "grow" }),
      make("button", { type: "button", class: "small", text: "Mix 5 %", title: "Random faults on 5 of 100 calls", on: { click: () => order({ kind: "mix", rate: 0.05, seed: 1 }) } }),
      make("button", { type: "button", class: "small", text: "Forget all", on: { click: () => forget() } })),
    problem, kinds);

  const report = (action) => action.then(() => setHidden(problem, true), (refusal) => {
    setText(problem, refusal.message);
    setHidden(problem, false);
  }).then(ask);
  const order = (fault) => report(client.call("POST", PATH, fault));
  const forget = () => report(client.call("DELETE", PATH));

  let events = 0;

  /** Shows the planned faults, unless an event is newer than the answer. The list of kinds is loaded once. */
  async function ask() {
    const known = events;
    let list;
    try {
      list = await client.call("GET", PATH);
    } catch {
      return;
    }
    if (events === known) show(list);
    if (!kinds.firstChild && list.kinds) kinds.append(...groups(list.kinds));
    setHidden(element, !kinds.firstChild);
  }

  function groups(list) {
    const names = [...new Set(list.map((kind) => kind.strikes))];
    return names.map((name) => make("div", { class: "fault-group", role: "group", "aria-label": GROUPS[name] ?? name },
      make("h3", { text: GROUPS[name] ?? name }),
      ...list.filter((kind) => kind.strikes === name).map((kind) => make("button", {
        type: "button", class: "chip", text: kind.kind, title: kind.what,
        on: { click: () => order({ kind: kind.kind, count: Math.max(1, Math.min(100, Number(count.value) || 1)) }) },
      }))));
  }

  function take(list) {
    events += 1;
    show(list);
  }

  function show(list) {
    const words = (list.faults ?? []).map((fault) => `${fault.kind}${fault.method ? ` (${fault.method})` : ""} × ${fault.left}`);
    if (list.mix) words.push(`mix ${Math.round(list.mix.rate * 100)} %`);
    setText(planned, words.join(", ") || "none planned");
    element.classList.toggle("armed", words.length > 0);
  }

  return { element, take, ask };
}
