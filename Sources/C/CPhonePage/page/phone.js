// The behaviour of the phone: the order of its calls, its recovery after a break, and its stored values. It owns the state; views read it.

import { Refusal } from "./client.js";
import { Keys } from "./keys.js";
import { isSealed, opened, openedFiles, openedHistory, openedSnapshot } from "./opened.js";
import { Resume } from "./resume.js";
import { bytesOfBase64 } from "./sealing.js";
import { emptyState, fold, lockOf } from "./state.js";
import { read, readOfTab, write, writeOfTab } from "./storage.js";
import { Stream } from "./stream.js";

const RAW_LIMIT = 300;
// Stopped runs and pressed buttons remembered over a reload.
const REMEMBERED = 200;
// Chats in the list that show their first and last words before they are opened.
const PREVIEWS = 20;
// Longest wait for keys: afterwards sealed content is shown as sealed, and opened when its key arrives.
const KEYS_PATIENCE_MS = 2_000;
const VERSION_WAITS_MS = [250, 1_000, 4_000];

export class Phone {
  /** Calls `changed` after every change of the state. */
  constructor(client, changed) {
    this.client = client;
    this.changed = changed;
    this.state = emptyState();
    this.figures = { events: 0, deltas: 0, connects: 0, gaps: 0 };
    this.raw = [];
    this.loading = new Map();
    this.isAttached = false;
    this.drafts = 0;
    this.resume = new Resume((session) => this.loadHistory(session));
    this.keys = new Keys(client, (session) => this.keysChanged(session));
    // New chats whose key was not handed over yet.
    this.wanted = new Set();
    this.hasAskedKeys = false;
    this.line = Promise.resolve();
    this.waiting = 0;
  }

  /** Cold launch (relay.md#resume): the account, the pending approvals and the chats, and only then live events. */
  async start() {
    try {
      await this.refresh();
    } catch (refusal) {
      if (refusal.status === 401) return this.tell("page_link", { kind: "refused", message: refusal.message });
      this.tell("page_link", { kind: "waiting", message: refusal.message });
      setTimeout(() => this.start(), 1_500);
      return;
    }
    this.tell("page_unread", read("unread", {}));
    this.tell("page_stops", { interactions: read("stops", []) });
    this.tell("page_names", { names: readOfTab("names", []) });
    this.tell("page_seals_new", { seals: read("seals-new", true) !== false });
    this.stream = new Stream(this.client, "/v1/me/stream", {
      opened: () => this.opened(),
      event: (event, last) => this.received(event, last),
      lost: (refusal, wait) => this.tell("page_link", { kind: "waiting", message: refusal.message, until: Date.now() + wait }),
      refused: (refusal) => this.tell("page_link", { kind: "refused", message: refusal.message }),
    });
  }

  /** The answer does not cover events that arrived while it was on its way: only the chats `known` at the request. */
  async refresh() {
    const known = new Set(this.state.chats.keys());
    const models = new Map([...this.state.chats].map(([id, chat]) => [id, chat.model]));
    this.tell("page_account", { ...await this.client.account(), known, models });
    await this.refreshSnapshot();
  }

  async refreshSnapshot() {
    const known = new Set(this.state.approvals.keys());
    const snapshot = await this.client.snapshot();
    // Sealed approvals are left out before the keys are loaded: the opened stream loads them, and refreshes again.
    if (!this.hasAskedKeys) snapshot.pending_approvals = (snapshot.pending_approvals ?? []).filter((approval) => !isSealed(approval));
    this.tell("page_snapshot", { ...await openedSnapshot(snapshot, this.keys), known });
  }

  loadKeys() {
    const patience = new Promise((resolve) => setTimeout(resolve, KEYS_PATIENCE_MS));
    return Promise.race([this.keys.refresh().catch(() => {}), patience]).then(() => (this.hasAskedKeys = true));
  }

  /** Reads content again that arrived before its key; `session` is undefined when devices have changed. */
  keysChanged(session) {
    this.tell("page_keys", { missing: this.keys.missing, canSeal: this.keys.canSeal, held: this.keys.held(), device: this.keys.device });
    const chat = session && this.state.chats.get(session);
    if (!chat) return;
    if (chat.history !== "none" || chat.messages.some((message) => message.seal && message.seal !== "opened")) this.loadHistory(session, true);
    if ([...this.state.approvals.values()].some((approval) => approval.session === session && approval.seal && approval.seal !== "opened")) {
      this.refreshSnapshot().catch(() => {});
    }
  }

  /** Loads what happened before the stream listened, at launch and after a break: the stream does not repeat it. */
  async opened() {
    this.figures.connects += 1;
    this.isAttached = true;
    this.tell("page_link", { kind: "live" });
    const keys = this.loadKeys();
    this.inOrder(() => keys);
    await keys;
    // If this fails, the stream fails too and opens again; the known state is of use until then.
    await this.refresh().catch(() => {});
    this.resume.begin(this.state);
    await this.loadSelected();
    this.loadPreviews();
  }

  received(event, last) {
    this.figures.events += 1;
    if (event.type === "message_delta") this.figures.deltas += 1;
    this.raw.push({ at: Date.now(), number: this.figures.events, ...event });
    if (this.raw.length > RAW_LIMIT) this.raw.splice(0, this.raw.length - RAW_LIMIT);
    const isNext = event.id === null || last === null || event.id === last + 1;
    if (!isNext) this.inOrder(null, () => this.gap(event.id <= last));
    const toOpen = isSealed(event.data) ? () => opened(event.data, this.keys)
      : Keys.concerns(event.type) ? () => this.keys.received(event.type, event.data) : null;
    this.inOrder(toOpen, (data) => this.take(event.type, data ?? event.data));
  }

  take(type, data) {
    this.tell(type, data);
    if (type === "session_created" && !this.state.chats.get(data.session_id)?.createdAt) this.refreshSoon();
    if (type !== "installation_updated") return;
    // A refresh in flight may be older than this event, and arrive after it.
    if (data.state === "connected") this.learnVersion();
    else this.refreshSoon();
  }

  /** The event has no version (relay.md#sse-events), and a bridge reports its own a moment after it has connected. */
  async learnVersion() {
    for (const wait of VERSION_WAITS_MS) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      await this.refresh().catch(() => {});
      if (this.state.account.installations.every((known) => known.version)) return;
    }
  }

  /** Runs events in order: opening one takes a moment, and later ones must not overtake it. */
  inOrder(work, then = () => {}) {
    if (!work && this.waiting === 0) return then();
    this.waiting += 1;
    this.line = this.line.then(async () => then(await work?.())).catch((error) => console.error(error)).finally(() => {
      this.waiting -= 1;
    });
  }

  /** The ring did not reach back to the last event: the durable history has the missed ones (relay.md#resume). */
  gap(isAnotherRelay) {
    this.figures.gaps += 1;
    this.tell("page_gap", { isAnotherRelay });
    this.refresh().then(() => {
      this.resume.begin(this.state);
      this.loadSelected();
      this.loadPreviews();
    }, () => {});
  }

  refreshSoon() {
    clearTimeout(this.refreshTimer);
    this.refreshTimer = setTimeout(() => this.refresh().catch(() => {}), 250);
  }

  tell(type, data) {
    const before = this.state;
    this.state = fold(before, { type, data });
    if (this.state === before) return;
    this.changed();
    // A delta neither opens nor ends a run.
    if (type === "message_delta") return;
    this.resume.remember(this.state);
    const unread = {};
    for (const chat of this.state.chats.values()) if (chat.unread) unread[chat.id] = chat.unread;
    if (this.state.isLoaded && type !== "page_account") write("unread", unread);
  }

  // Actions of the person

  select(session) {
    this.tell("page_selected", { session_id: session });
    this.loadSelected();
  }

  /** Waits for the stream: events between history and stream would be in neither. */
  loadSelected() {
    if (!this.isAttached) return Promise.resolve(true);
    const chat = this.state.chats.get(this.state.selected);
    return chat && chat.history === "none" ? this.loadHistory(chat.id) : Promise.resolve(true);
  }

  /** Loads histories in the background, one at a time, the newest first. */
  async loadPreviews() {
    const newest = [...this.state.chats.values()].sort((a, b) => b.updatedAt - a.updatedAt).slice(0, PREVIEWS);
    for (const { id } of newest) {
      const chat = this.state.chats.get(id);
      if (chat?.history === "none" && chat.count > 0 && !(await this.loadHistory(id))) return;
    }
  }

  /** Runs one request per chat at a time; a second caller shares its answer, or with `anew` the next one's. */
  loadHistory(session, anew = false) {
    const under = this.loading.get(session);
    if (under) return anew ? under.then(() => this.loadHistory(session)) : under;
    this.loadFiles(session);
    const asked = this.client.messages(session).then((result) => openedHistory(result, this.keys, session)).then(
      (result) => this.tell("page_history", { ...result, session_id: session }) ?? true,
      () => false,
    ).finally(() => this.loading.delete(session));
    this.loading.set(session, asked);
    return asked;
  }

  /** Loads the files announced before the stream listened. A relay may not have this list. */
  loadFiles(session) {
    this.client.files(session).then((result) => openedFiles(result, this.keys, session)).then(
      (result) => this.tell("page_files", { ...result, session_id: session }), () => {});
  }

  /** Type and bytes of a file touched by the agent. */
  async readFile(file) {
    const { mime_type: mime, base64, encrypted } = await this.client.file(file.session, file);
    const bytes = encrypted ? await this.keys.openFile(file.session, base64, file.index) : bytesOfBase64(base64);
    return { mime, bytes };
  }

  /** `sealed` asks for a new chat to be sealed; `name` is the label of the button that sends this. */
  async send(text, session, draftId, sealed = false, files = [], name = null) {
    const id = draftId ?? `draft-${(this.drafts += 1)}`;
    const draft = { id, text, name, files, at: Date.now(), error: null, message: null };
    if (session && draftId) this.tell("page_not_sent", { session_id: session, draft_id: id, error: null });
    else if (session) this.tell("page_sending", { session_id: session, draft });
    try {
      if (!session) {
        session = (await this.client.newChat(this.state.newModel)).session_id;
        if (sealed) this.wanted.add(session);
        this.tell("page_sending", { session_id: session, draft });
        this.onNewChat?.(session);
      }
      const body = await this.body(session, text);
      // The relay sees the files' bytes and names (relay.md#not-sealed).
      if (files.length) body.attachments = await Promise.all(files.map((file) => this.client.upload(file)));
      const sent = await this.client.send(session, body);
      if (name) this.named(sent.message_id, name);
      this.tell("page_sent", { session_id: session, draft_id: id, message_id: sent.message_id });
      return true;
    } catch (refusal) {
      if (!session) throw refusal;
      this.tell("page_not_sent", { session_id: session, draft_id: id, error: refusal.message });
      return false;
    }
  }

  /** Body of a message: sealed if the chat is, and never plain instead. */
  async body(session, text) {
    if (this.wanted.has(session) && !this.keys.has(session)) await this.keys.make(session);
    const chat = this.state.chats.get(session);
    // The history shows whether others sealed the chat.
    if (!this.keys.has(session) && chat?.history !== "loaded" && chat?.count > 0) await this.loadHistory(session);
    const sealer = this.keys.sealer(session);
    if (sealer) return { text_ct: await sealer.seal("messages", text) };
    if (lockOf(this.state, session) === "open") return { text };
    throw new Refusal(0, "no_key", this.keys.missing ?? "This chat is sealed, and no other device has handed its key over yet.");
  }

  /** Sets the model of the open chat; for a new one it is held until the chat is made. */
  async chooseModel(model) {
    const session = this.state.selected;
    if (session === "new") return this.tell("page_new_model", { model });
    await this.client.chooseModel(session, model);
    this.tell("page_model", { session_id: session, model });
  }

  chooseSeal(seals) {
    write("seals-new", seals);
    this.tell("page_seals_new", { seals });
  }

  named(message, name) {
    this.tell("page_names", { names: [[message, name]] });
    writeOfTab("names", [...this.state.names].slice(-REMEMBERED));
  }

  giveUp(session, draftId) {
    this.tell("page_not_sent", { session_id: session, draft_id: draftId, isGivenUp: true });
  }

  async stop(session, interaction) {
    this.tell("page_stops", { interactions: [interaction] });
    try {
      await this.client.stop(session, interaction);
    } catch (refusal) {
      this.tell("page_not_stopped", { interaction });
      throw refusal;
    }
    // The relay has no record of the Stop, so it is stored for the next load of this page.
    write("stops", [...read("stops", []).filter((stopped) => stopped !== interaction), interaction].slice(-REMEMBERED));
  }

  /** Another device may have decided first: the relay then answers 404, and the snapshot shows it. */
  async decide(approval, decision) {
    try {
      await this.client.decide(approval, decision);
    } catch (refusal) {
      if (refusal.status !== 404) throw refusal;
      await this.refreshSnapshot();
    }
  }
}
