// The developer panel: levels of the buckets, calls of the bridge, breaches, warnings, raw events, and faults to order.
// An open panel follows the relay; a closed one does not, because watchers cost the relay time.

import { bucketGraphs } from "./graphs.js";
import { arrange, byId, icon, make, setHidden, setText } from "./dom.js";
import { faultButtons } from "./faults.js";
import { read, write } from "./storage.js";
import { Stream } from "./stream.js";

const KEPT = 200;
// Graphs move with time, events or not.
const TICK_MS = 250;
const TABS = [["calls", "Calls"], ["events", "Events"], ["breaches", "Breaches"], ["warnings", "Warnings"]];

export function developerPanel(phone, client, redraw) {
  const pane = byId("developer");
  const graphs = bucketGraphs();
  const faults = faultButtons(client);
  const feed = { calls: [], breaches: [], warnings: [], bridge: null, isThere: null, number: 0 };
  const figures = make("p", { class: "figures" });
  const notice = make("p", { class: "notice", hidden: true });
  const alarm = make("p", { class: "alarm", role: "status", hidden: true });
  const caution = make("p", { class: "caution", role: "status", hidden: true });
  const lists = logs(redraw);
  let watch = null;
  let ticking = null;

  pane.append(
    make("header", { class: "bar" }, make("h2", { text: "Developer" }), make("span", { class: "grow" }),
      make("button", { type: "button", class: "round", "aria-label": "Close the developer panel", on: { click: () => toggle(false) } }, icon("cross"))),
    make("div", { class: "developer-body" }, alarm, caution, notice, figures, graphs.element, faults.element, lists.element));

  const isOpen = () => !pane.hidden;
  const coversAll = matchMedia("(max-width: 759px)");
  // A panel that covers the whole page has an entry in the history: Back closes it.
  function toggle(open) {
    if (open && coversAll.matches && !history.state?.isPanel) history.pushState({ isPanel: true }, "");
    turn(open);
    if (!open && history.state?.isPanel) history.back();
  }
  addEventListener("popstate", ({ state }) => {
    const isThere = Boolean(state?.isPanel);
    if (isThere !== isOpen() && coversAll.matches) turn(isThere);
  });
  function turn(open) {
    setHidden(pane, !open);
    document.documentElement.dataset.developer = open ? "open" : "closed";
    for (const button of document.querySelectorAll(".developer-toggle")) button.setAttribute("aria-pressed", String(open));
    write("developer", open);
    attend();
    redraw.ask();
  }

  /** Closes the stream of a closed panel or a hidden page: a browser has six connections to one server, for all its pages. */
  function attend() {
    const isWatched = isOpen() && !document.hidden;
    clearInterval(ticking);
    if (isWatched) ticking = setInterval(() => feed.isThere && redraw.ask(), TICK_MS);
    if (isWatched && !watch) follow();
    if (!isWatched) {
      watch?.stop();
      watch = null;
    }
  }
  document.addEventListener("visibilitychange", attend);
  for (const button of document.querySelectorAll(".developer-toggle")) {
    button.addEventListener("click", () => {
      toggle(!isOpen());
      if (isOpen()) pane.querySelector("button").focus();
    });
  }
  pane.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    toggle(false);
    [...document.querySelectorAll(".developer-toggle")].find((button) => button.offsetParent)?.focus();
  });

  function follow() {
    watch = new Stream(client, "/v1/simulator/watch", {
      opened: () => {
        // A new watcher gets the relay's stored entries again.
        Object.assign(feed, { calls: [], breaches: [], warnings: [], isThere: true });
        faults.ask();
        redraw.ask();
      },
      event: (event) => take(event),
      lost: () => redraw.ask(),
      refused: (refusal) => {
        feed.isThere = false;
        notice.textContent = refusal.status === 404 ? "This relay tells nothing of its calls and buckets; the events are the phone’s own."
          : refusal.message;
        redraw.ask();
      },
    });
  }

  function take({ type, data }) {
    if (type === "call") feed.calls.push({ ...data, number: (feed.number += 1) });
    else if (type === "breach") feed.breaches.push({ ...data, number: (feed.number += 1) });
    else if (type === "warning") {
      // Each call repeats its warning, with a higher count.
      feed.warnings = feed.warnings.filter(({ code, method }) => code !== data.code || method !== data.method);
      feed.warnings.push(data);
    } else if (type === "buckets") graphs.take(data);
    else if (type === "bridge") feed.bridge = data;
    else if (type === "fault") faults.take(data);
    for (const list of [feed.calls, feed.breaches]) if (list.length > KEPT) list.splice(0, list.length - KEPT);
    redraw.ask();
  }

  // A page reloaded while the panel was open shows the panel, so that Back still closes it.
  if (history.state?.isPanel && coversAll.matches) turn(true);
  if (read("developer", false) && matchMedia("(min-width: 1080px)").matches) toggle(true);

  return () => {
    if (!isOpen()) return;
    const { events, deltas, connects, gaps } = phone.figures;
    setText(figures, [
      bridgeText(feed.bridge), `${events} events (${deltas} deltas) in ${redraw.count} redraws`,
      connects > 1 ? `${connects - 1} reconnects` : "", gaps ? `${gaps} gaps` : "",
    ].filter(Boolean).join(" · "));
    setHidden(notice, feed.isThere !== false);
    setHidden(graphs.element, feed.isThere === false);
    setHidden(alarm, feed.breaches.length === 0);
    const count = feed.breaches.length;
    setText(alarm, count ? `${count} ${count === 1 ? "breach" : "breaches"} of the relay’s rules: ${feed.breaches.at(-1).sentence ?? feed.breaches.at(-1).code}` : "");
    const warned = feed.warnings.reduce((sum, warning) => sum + warning.count, 0);
    setHidden(caution, warned === 0);
    setText(caution, warned ? `${warned} ${warned === 1 ? "warning" : "warnings"}; a strict relay refuses such a call: ${feed.warnings.at(-1).sentence}` : "");
    graphs.draw();
    lists.draw(feed, phone.raw);
  };
}

function bridgeText(bridge) {
  if (!bridge) return "";
  const version = bridge.version ? ` ${bridge.version}` : "";
  if (bridge.state === "never") return "no bridge yet";
  return `bridge ${bridge.state}${version}${bridge.sockets > 1 ? ` on ${bridge.sockets} sockets` : ""}`;
}

// Four lists behind tabs, newest first. A line is drawn once, and opens to the whole entry.

function logs(redraw) {
  const tabs = new Map();
  const panels = new Map();
  let chosen = read("tab", "calls");
  const bar = make("div", { class: "tabs", role: "tablist", "aria-label": "Logs" });
  const element = make("section", { class: "logs" }, bar);
  const choose = (name) => {
    chosen = name;
    write("tab", name);
    for (const [other, tab] of tabs) {
      tab.setAttribute("aria-selected", String(other === name));
      tab.tabIndex = other === name ? 0 : -1;
      setHidden(panels.get(other).element, other !== name);
    }
    redraw.ask();
  };
  for (const [name, words] of TABS) {
    const tab = make("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `log-${name}`, on: { click: () => choose(name) } },
      words, make("span", { class: "count" }));
    tabs.set(name, tab);
    bar.append(tab);
    const list = make("ol", { class: "log" });
    const panel = make("div", { role: "tabpanel", id: `log-${name}`, "aria-labelledby": `tab-${name}` }, list,
      make("p", { class: "quiet", text: { breaches: "No rule was broken.", warnings: "Nothing to warn of." }[name] ?? "Nothing yet." }));
    panels.set(name, { element: panel, list, rows: new Map() });
    element.append(panel);
  }
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const names = TABS.map(([name]) => name);
    choose(names[(names.indexOf(chosen) + step + names.length) % names.length]);
    tabs.get(chosen).focus();
  });
  choose(tabs.has(chosen) ? chosen : "calls");

  const draw = (feed, raw) => {
    const entries = { calls: feed.calls, events: raw, breaches: feed.breaches, warnings: feed.warnings };
    const lines = { calls: callLine, events: eventLine, breaches: breachLine, warnings: warningLine };
    for (const [name] of TABS) {
      setText(tabs.get(name).lastChild, entries[name].length ? String(entries[name].length) : "");
      tabs.get(name).classList.toggle("bad", name === "breaches" && feed.breaches.length > 0);
      tabs.get(name).classList.toggle("warn", name === "warnings" && feed.warnings.length > 0);
      if (name === chosen) fill(panels.get(name), entries[name], lines[name]);
    }
  };
  return { element, draw };
}

function fill(panel, entries, line) {
  const kept = new Map();
  const rows = entries.map((entry) => {
    const row = panel.rows.get(entry) ?? line(entry);
    kept.set(entry, row);
    return row;
  }).reverse();
  panel.rows = kept;
  arrange(panel.list, rows);
  setHidden(panel.element.lastElementChild, rows.length > 0);
}

const moment = (milliseconds) => (milliseconds ? new Date(milliseconds).toISOString().slice(11, 23) : "");

/** A line, whose whole JSON is rendered when it is opened. */
function logRow(className, parts, entry) {
  const summary = make("summary", {}, ...parts);
  const details = make("details", {}, summary);
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(make("pre", { dir: "ltr", text: JSON.stringify(entry, null, 2).slice(0, 20_000) }));
  });
  return make("li", { class: className }, details);
}

const word = (className, text) => make("span", { class: className, dir: "auto", text: text ?? "" });

function callLine(call) {
  const isGood = call.status >= 200 && call.status < 300;
  const warnings = (call.warnings ?? []).join(", ");
  return logRow(isGood ? (warnings ? "warn" : "") : call.status === 429 ? "warn" : "bad", [
    word("log-time", moment(call.at_ms)), word("log-what", call.method), word("log-status", call.code ? `${call.status} ${call.code}` : call.status),
    word("log-more", call.fault ? `fault: ${call.fault}` : warnings ? `warning: ${warnings}` : call.bytes !== undefined ? `${call.bytes} B` : ""),
  ], call);
}

function eventLine(event) {
  const { data } = event;
  const gist = data.delta ?? data.text ?? data.status_label ?? data.title ?? data.decision ?? data.state ?? "";
  return logRow("", [
    word("log-time", moment(event.at)), word("log-what", event.type), word("log-more", typeof gist === "string" ? gist.slice(0, 80) : ""),
  ], { id: event.id, type: event.type, data });
}

function breachLine(breach) {
  return logRow("bad", [
    word("log-time", moment(breach.at_ms)), word("log-what", breach.code), word("log-more", breach.sentence),
  ], breach);
}

function warningLine(warning) {
  return logRow("warn", [
    word("log-time", moment(warning.at_ms)), word("log-what", warning.code),
    word("log-more", `${warning.count} × ${warning.method}: ${warning.sentence}`),
  ], warning);
}
