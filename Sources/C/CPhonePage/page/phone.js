// The phone's habits: in which order it asks, what it does after a break, and what it keeps. It owns the state; views read it.

import { Refusal } from "./client.js";
import { Keys } from "./keys.js";
import { isSealed, opened, openedFiles, openedHistory, openedSnapshot } from "./opened.js";
import { Resume } from "./resume.js";
import { bytesOfBase64 } from "./sealing.js";
import { emptyState, fold, lockOf } from "./state.js";
import { read, readOfTab, write, writeOfTab } from "./storage.js";
import { Stream } from "./stream.js";

const RAW_LIMIT = 300;
// So many stopped runs and pressed buttons are remembered over a reload.
const REMEMBERED = 200;
// So many chats of the list show their first and last words without being opened.
const PREVIEWS = 20;
// Longer than this nothing is held back for keys: it is shown as what it is, and opened when they are there.
const KEYS_PATIENCE_MS = 2_000;
const VERSION_WAITS_MS = [250, 1_000, 4_000];

export class Phone {
  /** `changed` is called after every change of the state. */
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
    // New chats whose key could not be handed over yet.
    this.wanted = new Set();
    this.hasAskedKeys = false;
    this.line = Promise.resolve();
    this.waiting = 0;
  }

  /** Cold launch (relay.md#resume): who I am, my pending approvals and chats, and only then live events. */
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

  /** An answer cannot know of what the stream brought while it was on its way: only of what was `known` when it was asked. */
  async refresh() {
    const known = new Set(this.state.chats.keys());
    const models = new Map([...this.state.chats].map(([id, chat]) => [id, chat.model]));
    this.tell("page_account", { ...await this.client.account(), known, models });
    await this.refreshSnapshot();
  }

  async refreshSnapshot() {
    const known = new Set(this.state.approvals.keys());
    const snapshot = await this.client.snapshot();
    // Before the keys were asked for, what is sealed cannot be shown: the stream, which asks, comes here again.
    if (!this.hasAskedKeys) snapshot.pending_approvals = (snapshot.pending_approvals ?? []).filter((approval) => !isSealed(approval));
    this.tell("page_snapshot", { ...await openedSnapshot(snapshot, this.keys), known });
  }

  loadKeys() {
    const patience = new Promise((resolve) => setTimeout(resolve, KEYS_PATIENCE_MS));
    return Promise.race([this.keys.refresh().catch(() => {}), patience]).then(() => (this.hasAskedKeys = true));
  }

  /** What came before its key is read again; `session` is nil when devices have changed. */
  keysChanged(session) {
    this.tell("page_keys", { missing: this.keys.missing, canSeal: this.keys.canSeal, held: this.keys.held(), device: this.keys.device });
    const chat = session && this.state.chats.get(session);
    if (!chat) return;
    if (chat.history !== "none" || chat.messages.some((message) => message.seal && message.seal !== "opened")) this.loadHistory(session, true);
    if ([...this.state.approvals.values()].some((approval) => approval.session === session && approval.seal && approval.seal !== "opened")) {
      this.refreshSnapshot().catch(() => {});
    }
  }

  /** What happened before the stream listened is asked, at the launch as after a break: it is not sent again. */
  async opened() {
    this.figures.connects += 1;
    this.isAttached = true;
    this.tell("page_link", { kind: "live" });
    const keys = this.loadKeys();
    this.inOrder(() => keys);
    await keys;
    // If this fails, so will the stream, which then comes here again; what is known already is of use until then.
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
    // An answer that is under way may be older than this event, and be read after it.
    if (data.state === "connected") this.learnVersion();
    else this.refreshSoon();
  }

  /** The event has no version (relay.md#sse-events), and a bridge says its own a moment after it has connected. */
  async learnVersion() {
    for (const wait of VERSION_WAITS_MS) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      await this.refresh().catch(() => {});
      if (this.state.account.installations.every((known) => known.version)) return;
    }
  }

  /** Opening takes a moment: what comes after it is not to overtake it. */
  inOrder(work, then = () => {}) {
    if (!work && this.waiting === 0) return then();
    this.waiting += 1;
    this.line = this.line.then(async () => then(await work?.())).catch((error) => console.error(error)).finally(() => {
      this.waiting -= 1;
    });
  }

  /** The ring did not reach back to where we were: the durable history has what was missed (relay.md#resume). */
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
    // A piece of text opens and ends nothing.
    if (type === "message_delta") return;
    this.resume.remember(this.state);
    const unread = {};
    for (const chat of this.state.chats.values()) if (chat.unread) unread[chat.id] = chat.unread;
    if (this.state.isLoaded && type !== "page_account") write("unread", unread);
  }

  // What the person does

  select(session) {
    this.tell("page_selected", { session_id: session });
    this.loadSelected();
  }

  /** Not before the stream listens: events in between would be in neither of them. */
  loadSelected() {
    if (!this.isAttached) return Promise.resolve(true);
    const chat = this.state.chats.get(this.state.selected);
    return chat && chat.history === "none" ? this.loadHistory(chat.id) : Promise.resolve(true);
  }

  /** One after the other, the newest first, in the background. */
  async loadPreviews() {
    const newest = [...this.state.chats.values()].sort((a, b) => b.updatedAt - a.updatedAt).slice(0, PREVIEWS);
    for (const { id } of newest) {
      const chat = this.state.chats.get(id);
      if (chat?.history === "none" && chat.count > 0 && !(await this.loadHistory(id))) return;
    }
  }

  /** One question for a chat at a time; who asks again meanwhile gets the same answer, unless it is too old `anew`. */
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

  /** Those that were announced before the stream listened. A relay may have no such list. */
  loadFiles(session) {
    this.client.files(session).then((result) => openedFiles(result, this.keys, session)).then(
      (result) => this.tell("page_files", { ...result, session_id: session }), () => {});
  }

  /** What is in a file that the agent has touched: its type and bytes. */
  async readFile(file) {
    const { mime_type: mime, base64, encrypted } = await this.client.file(file.session, file);
    const bytes = encrypted ? await this.keys.openFile(file.session, base64, file.index) : bytesOfBase64(base64);
    return { mime, bytes };
  }

  /** `sealed`: whether a new chat is to be. `name`: what the button says that sends this. */
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
      // Their bytes and names are not sealed (relay.md#not-sealed).
      if (files.length) body.attachments = await Promise.all(files.map((file) => this.client.upload(file)));
      const sent = await this.client.send(session, body);
      if (name) this.named(sent.message_id, name);
      this.tell("page_sent", { session_id: session, draft_id: id, message_id: sent.message_id });
    } catch (refusal) {
      if (!session) throw refusal;
      this.tell("page_not_sent", { session_id: session, draft_id: id, error: refusal.message });
    }
  }

  /** What goes to the relay: sealed where the chat is, and never in the open in its place. */
  async body(session, text) {
    if (this.wanted.has(session) && !this.keys.has(session)) await this.keys.make(session);
    const chat = this.state.chats.get(session);
    // Whether others have sealed it is in its history.
    if (!this.keys.has(session) && chat?.history !== "loaded" && chat?.count > 0) await this.loadHistory(session);
    const sealer = this.keys.sealer(session);
    if (sealer) return { text_ct: await sealer.seal("messages", text) };
    if (lockOf(this.state, session) === "open") return { text };
    throw new Refusal(0, "no_key", this.keys.missing ?? "This chat is sealed, and no other device has handed its key over yet.");
  }

  /** Of the chat that is open; of a new one it is kept until that is made. */
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
    // The relay keeps no mark of it: what this page knows, its next one is to know as well.
    write("stops", [...read("stops", []).filter((stopped) => stopped !== interaction), interaction].slice(-REMEMBERED));
  }

  /** Someone else may have been faster: then the relay knows no such open question, and the snapshot says so. */
  async decide(approval, decision) {
    try {
      await this.client.decide(approval, decision);
    } catch (refusal) {
      if (refusal.status !== 404) throw refusal;
      await this.refreshSnapshot();
    }
  }
}
