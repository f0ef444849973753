// Server-sent events over fetch: the browser's EventSource cannot send the Authorization header, and a token must not be in an address.

import { Client, Refusal } from "./client.js";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;
// The relay sends a byte at least every 15 s; three times that in silence is a dead connection.
const SILENCE_MS = 45_000;

/** Splits text into events, whatever pieces it arrives in. */
export function eventReader(tell) {
  let rest = "";
  return (text) => {
    const blocks = (rest + text).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const event = { id: null, type: "message", data: "" };
      const data = [];
      for (const line of block.split(/\r?\n/)) {
        if (line.startsWith(":")) continue;
        const colon = line.indexOf(":");
        const name = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (name === "id") event.id = Number(value);
        else if (name === "event") event.type = value;
        else if (name === "data") data.push(value);
      }
      if (data.length === 0) continue;
      try {
        event.data = JSON.parse(data.join("\n"));
      } catch {
        continue;
      }
      tell(event);
    }
  };
}

/**
 * Follows a stream until `stop` is called: with Last-Event-ID after a break, and with a back-off of 0.5 s to 10 s.
 * `tell` has `opened()`, `event(event)`, `lost(refusal, waitMilliseconds)` and `refused(refusal)`, the last for a response
 * that a retry cannot change.
 */
export class Stream {
  constructor(client, path, tell) {
    this.client = client;
    this.path = path;
    this.tell = tell;
    this.lastEventId = null;
    this.wait = FIRST_WAIT_MS;
    this.isStopped = false;
    this.hurry = () => this.wake?.();
    addEventListener("online", this.hurry);
    this.run();
  }

  stop() {
    this.isStopped = true;
    removeEventListener("online", this.hurry);
    this.abort?.abort();
    this.wake?.();
  }

  async run() {
    while (!this.isStopped) {
      let failure;
      try {
        await this.follow();
        failure = new Refusal(0, "closed", "The relay ended the stream.");
      } catch (error) {
        failure = error instanceof Refusal ? error : new Refusal(0, "unreachable", "The relay cannot be reached.");
      }
      if (this.isStopped) return;
      if ([401, 403, 404].includes(failure.status)) return this.tell.refused(failure);
      const wait = this.wait * (0.85 + Math.random() * 0.3);
      this.tell.lost(failure, wait);
      await this.pause(wait);
      this.wait = Math.min(this.wait * 2, LONGEST_WAIT_MS);
    }
  }

  async follow() {
    this.abort = new AbortController();
    let silence;
    const listen = () => {
      clearTimeout(silence);
      silence = setTimeout(() => this.abort.abort(), SILENCE_MS);
    };
    listen();
    try {
      const headers = this.client.headers(this.lastEventId === null ? {} : { "Last-Event-ID": String(this.lastEventId) });
      const response = await fetch(this.path, { headers, cache: "no-store", signal: this.abort.signal });
      if (!response.ok || !response.body) await Client.result(response);
      this.tell.opened();
      const read = eventReader((event) => {
        const last = this.lastEventId;
        if (event.id !== null) this.lastEventId = event.id;
        this.tell.event(event, last);
      });
      const reader = response.body.getReader();
      const decoder = new TextDecoder();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        listen();
        this.wait = FIRST_WAIT_MS;
        read(decoder.decode(value, { stream: true }));
      }
    } finally {
      clearTimeout(silence);
      this.abort.abort();
    }
  }

  pause(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
