// The agent's routines, which it runs on a schedule. The agent owns them; this view lists and changes them.

import { arrange, byId, icon, make, setHidden, setText } from "./dom.js";

const UNITS = { minutes: 60_000, hours: 3_600_000, days: 86_400_000 };

export function routineSheet(phone) {
  const sheet = byId("routines");
  const list = byId("routine-list");
  const words = byId("routine-words");
  const form = byId("routine-form");
  const when = byId("routine-when");

  const say = (text, isBad = false) => {
    setText(words, text);
    setHidden(words, !text);
    words.classList.toggle("problem", isBad);
  };
  const reload = async () => {
    const answer = await phone.client.cron("list", { includeDisabled: true });
    const jobs = answer.jobs ?? [];
    arrange(list, jobs.map((job) => row(job, act)));
    say(jobs.length ? "" : "No routines yet.");
  };
  /** Runs a call, then shows the agent's list, or the error. */
  const act = async (verb, params) => {
    for (const button of sheet.querySelectorAll("button")) button.disabled = true;
    try {
      if (verb) await phone.client.cron(verb, params);
      await reload();
      return true;
    } catch (refusal) {
      say(refusal.message, true);
      return false;
    } finally {
      for (const button of sheet.querySelectorAll("button")) button.disabled = false;
    }
  };

  byId("open-routines").addEventListener("click", () => {
    list.replaceChildren();
    say("Asking the agent…");
    sheet.showModal();
    act();
  });
  byId("close-routines").addEventListener("click", () => sheet.close());
  const showFields = () => {
    for (const part of form.querySelectorAll("[data-when]")) setHidden(part, part.dataset.when !== when.value);
  };
  when.addEventListener("change", showFields);
  showFields();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(form));
    if (fields.when === "every" && !(Number(fields.every) > 0 && /^\d{1,9}$/.test(fields.every.trim()))) {
      say("Every must be a whole number, and at least 1.", true);
      return form.elements.every.focus();
    }
    const isDone = await act("add", {
      name: fields.name.trim(), schedule: scheduleOf(fields), sessionTarget: "isolated", wakeMode: "now",
      payload: { kind: "agentTurn", message: fields.message.trim() },
    });
    if (!isDone) return;
    form.reset();
    showFields();
    byId("routine-add").removeAttribute("open");
  });
  return () => {};
}

export function scheduleOf(fields) {
  if (fields.when === "at") return { kind: "at", at: fields.at ? new Date(fields.at).toISOString() : "" };
  if (fields.when === "every") return { kind: "every", everyMs: Math.round(Number(fields.every) * UNITS[fields.unit]) };
  return { kind: "cron", expr: fields.expr.trim() };
}

/** A schedule in words. */
export function scheduleWords(schedule) {
  if (schedule?.kind === "cron") return `cron ${schedule.expr}${schedule.tz ? ` (${schedule.tz})` : ""}`;
  if (schedule?.kind === "at") return `once, ${new Date(schedule.at).toLocaleString()}`;
  if (schedule?.kind !== "every") return String(schedule?.kind ?? "");
  const [unit, length] = Object.entries(UNITS).reverse().find(([, length]) => schedule.everyMs % length === 0) ?? ["seconds", 1_000];
  const count = schedule.everyMs / length;
  return count === 1 ? `every ${unit.slice(0, -1)}` : `every ${count} ${unit}`;
}

function row(job, act) {
  const does = (text, verb, params, label) => make("button", {
    type: "button", "aria-label": `${label ?? text} ${job.name}`, on: { click: () => act(verb, params) },
  }, text);
  const said = job.payload?.message ?? job.payload?.text ?? job.payload?.kind ?? "";
  return make("li", { class: job.enabled ? "" : "off", "data-job": job.id },
    make("div", { class: "routine-top" }, icon("clock"), make("strong", { text: job.name, dir: "auto" }),
      make("span", { class: "quiet", text: job.enabled ? scheduleWords(job.schedule) : `${scheduleWords(job.schedule)}, off` })),
    make("p", { class: "quiet", text: said, dir: "auto" }),
    make("div", { class: "routine-acts" }, does("Run now", "run", { id: job.id, mode: "force" }),
      job.enabled ? does("Turn off", "update", { id: job.id, patch: { enabled: false } }) : does("Turn on", "update", { id: job.id, patch: { enabled: true } }),
      does("Remove", "remove", { id: job.id })));
}
