// Runs that were open when the page was closed or killed. Their ids are stored on the device; the next launch loads the history
// every 3 s, for up to 24 s, until it has the final answer (relay.md#pending-run-resume-in-the-app). The stream may be faster.

import { openRuns } from "./state.js";
import { read, write } from "./storage.js";

const INTERVAL_MS = 3_000;
const LIMIT_MS = 24_000;

export class Resume {
  /** `load(session)` loads the history into the phone, and returns false if that failed. */
  constructor(load) {
    this.load = load;
    this.polls = new Map();
  }

  /** Stores the open runs after each change, for the next launch to resume. */
  remember(state) {
    if (!state.isLoaded) return;
    const open = [];
    for (const chat of state.chats.values()) {
      if (chat.history === "none" && chat.messages.length === 0) continue;
      for (const interaction of openRuns(chat)) open.push({ session: chat.id, interaction });
    }
    // Stored runs of chats whose history is not loaded yet stay in the list.
    const unseen = read("runs", []).filter((run) => state.chats.has(run.session) && !this.isKnown(state, run));
    write("runs", [...open, ...unseen].slice(0, 64));
    for (const run of this.polls.values()) if (this.isOver(state, run)) this.end(run);
  }

  /** Resumes all runs that an earlier page left open, and those open when the relay went away. */
  begin(state) {
    for (const run of read("runs", [])) {
      if (this.polls.has(key(run)) || !state.chats.has(run.session)) continue;
      const poll = { ...run, until: Date.now() + LIMIT_MS, timer: null };
      this.polls.set(key(run), poll);
      this.ask(poll);
    }
  }

  async ask(run) {
    await this.load(run.session);
    if (!this.polls.has(key(run))) return;
    if (Date.now() + INTERVAL_MS > run.until) return this.end(run);
    run.timer = setTimeout(() => this.ask(run), INTERVAL_MS);
  }

  end(run) {
    clearTimeout(run.timer);
    this.polls.delete(key(run));
  }

  isKnown(state, run) {
    return state.chats.get(run.session)?.messages.some((message) => message.interaction === run.interaction) ?? false;
  }

  isOver(state, run) {
    const messages = state.chats.get(run.session)?.messages ?? [];
    return messages.some((message) => message.role === "agent" && message.interaction === run.interaction && message.isFinal);
  }
}

const key = (run) => `${run.session} ${run.interaction}`;
