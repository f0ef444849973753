// The phone's state as a value, and its changes by events: `fold(state, event)` returns the next state and changes nothing else.
// Unchanged parts are the same objects in both, so views can skip them.
//
// Events of the relay have their names from it (relay.md#sse-events); names that begin with `page_` are the page's own.

import { plainLine } from "./plain.js";

export function emptyState() {
  return { account: null, isLoaded: false, link: { kind: "connecting" }, chats: new Map(), approvals: new Map(), selected: null,
    keys: { missing: null, canSeal: false, held: new Map(), device: null }, sealsNew: true, newModel: null, stops: new Set(), refused: new Set(), names: new Map() };
}

const FOLDS = {
  message_added: messageAdded,
  message_delta: messageDelta,
  message_finalized: messageFinalized,
  task_created: (state, data) => changeTask(state, data, { status: "running" }),
  task_progress: (state, data) => changeTask(state, data, {}),
  task_completed: (state, data) => changeTask(state, data, { status: "completed" }),
  task_failed: (state, data) => changeTask(state, data, { status: "failed" }),
  task_cancelled: (state, data) => changeTask(state, data, { status: "cancelled" }),
  approval_requested: approvalRequested,
  approval_resolved: approvalResolved,
  file_announced: fileAnnounced,
  session_created: (state, data) => changeChat(state, data.session_id, (chat) => ({ ...chat, source: data.source ?? chat.source })),
  session_updated: (state, data) => changeChat(state, data.session_id, (chat) => ({ ...chat, ...sessionFields(data) })),
  installation_updated: installationUpdated,
  page_account: account,
  page_snapshot: (state, data) => (data.pending_approvals ?? []).reduce(approvalRequested, withoutSettled(state, data)),
  page_history: history,
  page_gap: gap,
  page_files: (state, data) => (data.files ?? []).reduce((state, file) => fileAnnounced(state, { ...file, session_id: data.session_id }), state),
  page_link: (state, data) => ({ ...state, link: data }),
  page_keys: (state, keys) => ({ ...state, keys }),
  page_seals_new: (state, { seals }) => ({ ...state, sealsNew: seals }),
  page_new_model: (state, { model }) => ({ ...state, newModel: model }),
  page_model: (state, data) => changeChat(state, data.session_id, (chat) => ({ ...chat, model: data.model })),
  page_selected: selected,
  page_sending: (state, data) => changeChat(state, data.session_id, (chat) => ({ ...chat, drafts: [...chat.drafts, data.draft] })),
  page_sent: sent,
  page_not_sent: (state, data) => changeDraft(state, data, { error: data.error }),
  // Runs stopped on this page, and labels of buttons pressed on it, by the message sent.
  page_stops: (state, { interactions }) => ({ ...state, stops: new Set([...state.stops, ...interactions]) }),
  page_refused: (state, { approval }) => ({ ...state, refused: new Set([...state.refused, approval]) }),
  page_not_stopped: (state, { interaction }) => ({ ...state, stops: new Set([...state.stops].filter((stopped) => stopped !== interaction)) }),
  page_names: (state, { names }) => ({ ...state, names: new Map([...state.names, ...names]) }),
  page_unread: (state, data) => Object.entries(data).reduce((state, [id, unread]) =>
    (state.chats.has(id) ? changeChat(state, id, (chat) => ({ ...chat, unread })) : state), state),
};

export function fold(state, event) {
  return FOLDS[event.type]?.(state, event.data ?? {}) ?? state;
}

// Chats

function newChat(id) {
  return {
    id, title: null, source: null, createdAt: 0, updatedAt: 0, isArchived: false, messages: [], tasks: [], drafts: [], files: [],
    unread: 0, history: "none", count: 0, model: null,
  };
}

function changeChat(state, id, change) {
  if (!id) return state;
  const chats = new Map(state.chats);
  chats.set(id, change(state.chats.get(id) ?? newChat(id)));
  return { ...state, chats };
}

function sessionFields(session) {
  const fields = {};
  if ("title" in session) fields.title = session.title;
  if (session.source !== undefined) fields.source = session.source;
  if (session.created_at) fields.createdAt = session.created_at;
  const isArchived = session.is_archived ?? session.archived;
  if (isArchived !== undefined) fields.isArchived = isArchived;
  return fields;
}

/** Removes chats that the account does not list, unless they began after the request. */
function account(state, data) {
  const chats = new Map([...state.chats].filter(([id]) => data.known && !data.known.has(id)));
  for (const session of data.sessions ?? []) {
    const chat = state.chats.get(session.session_id) ?? newChat(session.session_id);
    const updatedAt = Math.max(session.updated_at ?? session.created_at ?? 0, chat.updatedAt);
    // A model chosen while the request was in flight is newer.
    const isOwn = data.models && chat.model !== (data.models.get(chat.id) ?? null);
    const model = isOwn ? chat.model : session.model ?? null;
    chats.set(chat.id, { ...chat, title: session.title ?? null, model, ...sessionFields(session), updatedAt, count: session.messages ?? chat.count });
  }
  const account = { user: data.user ?? null, installations: (data.installations ?? []).map(installation) };
  const selected = chats.has(state.selected) || state.selected === "new" ? state.selected : null;
  return { ...state, isLoaded: true, account, chats, selected };
}

/** The state is `connected`, `degraded`, `revoked` or `never`, derived from the older fields if it is missing. */
function installation(data) {
  const state = data.state ?? (data.is_revoked ? "revoked" : data.is_connected ? "connected" : "never");
  return {
    id: data.installation_id ?? data.id, state, version: data.bridge_version ?? null,
    name: data.custom_display_name ?? null, emoji: data.custom_emoji ?? null,
  };
}

function installationUpdated(state, data) {
  if (!state.account) return state;
  const change = (known) => (known.id !== data.installation_id ? known : {
    ...known, state: data.state ?? known.state, version: data.bridge_version ?? known.version,
    name: "custom_display_name" in data ? data.custom_display_name : known.name,
    emoji: "custom_emoji" in data ? data.custom_emoji : known.emoji,
  });
  return { ...state, account: { ...state.account, installations: state.account.installations.map(change) } };
}

function selected(state, data) {
  const next = { ...state, selected: data.session_id, newModel: data.session_id === "new" ? state.newModel : null };
  const chat = next.chats.get(data.session_id);
  return chat?.unread ? changeChat(next, chat.id, (chat) => ({ ...chat, unread: 0 })) : next;
}

// Messages
//
// `preview` is the streamed text. It is whole if the page saw the message begin; no history can extend it then. If not, `pieces`
// are the deltas received so far, and the history brings `base`, the text before them. The history may be ahead of the stream and
// contain deltas still to come, so both are kept apart until the deltas have passed the end of the base.

function newMessage(data) {
  return {
    id: data.message_id, role: data.role ?? "agent", interaction: data.interaction_id ?? null, text: data.text ?? "", preview: "",
    seal: data.seal ?? null, isCut: false, isFinal: data.role === "user", isWhole: true, base: null, pieces: [], at: data.ts ?? 0,
    usage: data.usage ?? null, reason: data.finish_reason ?? null, attachments: data.attachments ?? [],
  };
}

function changeMessage(chat, id, change) {
  return { ...chat, messages: chat.messages.map((message) => (message.id === id ? change(message) : message)) };
}

/** An agent's message without a run is complete when it arrives. */
const standsAlone = (message) => message.role === "agent" && !message.interaction && (message.text.trim() !== "" || isUnreadable(message));

function messageAdded(state, data) {
  return changeChat(state, data.session_id, (chat) => {
    if (chat.messages.some((message) => message.id === data.message_id)) return chat;
    const message = newMessage(data);
    if (standsAlone(message)) message.isFinal = true;
    if (message.role === "agent" && !message.isFinal) message.preview = message.text.trim() === "" ? "" : message.text;
    const drafts = message.role === "user" ? chat.drafts.filter((draft) => draft.message !== message.id) : chat.drafts;
    const unread = message.isFinal && message.role === "agent" && chat.id !== state.selected ? chat.unread + 1 : chat.unread;
    return { ...chat, messages: [...chat.messages, message], drafts, unread, updatedAt: Math.max(chat.updatedAt, message.at) };
  });
}

function messageDelta(state, data) {
  return changeChat(state, data.session_id, (chat) => {
    const delta = data.delta ?? "";
    if (!chat.messages.some((message) => message.id === data.message_id)) {
      const message = { ...newMessage({ ...data, role: "agent" }), isWhole: false, preview: delta, pieces: [delta] };
      return { ...chat, messages: [...chat.messages, message] };
    }
    return changeMessage(chat, data.message_id, (message) => (message.isFinal ? message : {
      ...message, ...grown(message, delta), seal: isUnreadable(message) ? message.seal : data.seal ?? message.seal,
    }));
  });
}

function grown(message, delta) {
  if (message.isWhole) return { preview: message.preview + delta };
  const pieces = [...message.pieces, delta];
  return message.base === null ? { preview: message.preview + delta, pieces } : met(message.base, pieces);
}

/** Once the deltas cannot lie within the base, the seam is certain and the preview whole. */
function met(base, pieces) {
  const preview = joined(base, pieces);
  return base.includes(pieces.join("")) ? { preview, base, pieces, isWhole: false } : { preview, base: null, pieces: [], isWhole: true };
}

function messageFinalized(state, data) {
  return changeChat(state, data.session_id, (chat) => {
    const known = chat.messages.find((message) => message.id === data.message_id);
    if (known?.isFinal) return chat;
    const final = {
      ...(known ?? newMessage({ ...data, role: "agent" })), text: data.text ?? (isUnreadable(data) ? "" : known?.preview) ?? "",
      isFinal: true, isCut: false, base: null, pieces: [], seal: data.seal ?? null, usage: data.usage ?? null, reason: data.finish_reason ?? null,
    };
    const messages = known ? chat.messages.map((message) => (message === known ? final : message)) : [...chat.messages, final];
    return { ...chat, messages, unread: chat.id === state.selected ? chat.unread : chat.unread + 1 };
  });
}

function history(state, data) {
  return changeChat(state, data.session_id, (chat) => {
    const known = new Map(chat.messages.map((message) => [message.id, message]));
    const messages = (data.messages ?? []).map((stored) => {
      const message = merged(known.get(stored.message_id), stored);
      known.delete(stored.message_id);
      return message;
    });
    messages.push(...known.values());
    const updatedAt = messages.reduce((last, message) => Math.max(last, message.at), chat.updatedAt);
    const told = new Set(messages.map((message) => message.id));
    const tasks = (data.messages ?? []).flatMap((stored) => stored.tasks ?? []).map((task) => ({ ...task, isWhole: true })).reduce(withTask, chat.tasks);
    return { ...chat, messages, tasks, updatedAt, history: "loaded", drafts: chat.drafts.filter((draft) => !told.has(draft.message)) };
  });
}

function merged(known, stored) {
  const message = newMessage(stored);
  message.isFinal = (stored.final ?? true) || (stored.deltas === 0 && standsAlone(message));
  if (message.isFinal) return known?.isFinal && known.text === message.text && known.seal === message.seal ? known : { ...known, ...message };
  if (known?.isFinal || (known?.isWhole && !isUnreadable(known))) return known;
  // The relay stores no deltas of sealed messages (relay.md#sendmessageend), so the beginning is missing until the end.
  return { ...message, isCut: message.seal !== null, text: "", ...met(message.text.trim() === "" ? "" : message.text, known?.pieces ?? []) };
}

/** Joins the history's text and the deltas since, some or all of which the history may contain already. */
export function joined(text, pieces) {
  if (text.includes(pieces.join(""))) return text;
  let overlap = "";
  let best = 0;
  pieces.forEach((piece, index) => {
    overlap += piece;
    if (text.endsWith(overlap)) best = index + 1;
  });
  return text + pieces.slice(best).join("");
}

/** After missed events, streamed texts may have a hole, and histories are out of date. */
function gap(state, data) {
  const chats = new Map();
  if (data.isAnotherRelay) return { ...emptyState(), selected: state.selected, link: state.link, keys: state.keys, sealsNew: state.sealsNew, stops: state.stops, names: state.names };
  for (const [id, chat] of state.chats) {
    const messages = chat.messages.map((message) => (message.isFinal ? message : { ...message, isWhole: false, base: null, pieces: [] }));
    chats.set(id, { ...chat, messages, history: "none" });
  }
  return { ...state, chats };
}

// Drafts: the user's messages, shown at once, and replaced by the message that the relay reports.

function sent(state, data) {
  const next = changeDraft(state, data, { message: data.message_id });
  return changeChat(next, data.session_id, (chat) => {
    const isThere = chat.messages.some((message) => message.id === data.message_id);
    return isThere ? { ...chat, drafts: chat.drafts.filter((draft) => draft.id !== data.draft_id) } : chat;
  });
}

function changeDraft(state, data, change) {
  return changeChat(state, data.session_id, (chat) => ({
    ...chat, drafts: chat.drafts.map((draft) => (draft.id === data.draft_id ? { ...draft, ...change } : draft))
      .filter((draft) => !(data.isGivenUp && draft.id === data.draft_id)),
  }));
}

// Tools and approvals

function changeTask(state, data, change) {
  return changeChat(state, data.session_id, (chat) => ({ ...chat, tasks: withTask(chat.tasks, { ...data, ...change }) }));
}

function withTask(tasks, data) {
  const known = tasks.find((task) => task.id === data.task_id && (!data.interaction_id || task.interaction === data.interaction_id));
  const before = known ?? { id: data.task_id, interaction: data.interaction_id ?? null, status: "running", kind: "tool" };
  // A late event does not reopen a finished task.
  if (before.status !== "running" && (data.status ?? "running") === "running") return tasks;
  const task = {
    ...before, status: data.status ?? before.status, kind: data.kind ?? before.kind, name: data.name ?? before.name,
    label: data.status_label ?? before.label, percent: data.progress_percent ?? before.percent, args: data.args ?? before.args,
    partial: data.partial_result ?? before.partial, result: data.result ?? before.result, error: data.error ?? before.error,
    seal: isUnreadable(before) && !data.isWhole ? before.seal : data.seal ?? before.seal ?? null,
  };
  return known ? tasks.map((other) => (other === known ? task : other)) : [...tasks, task];
}

/** The same approval comes by the stream and by the snapshot (relay.md#resume): the id keeps it from being asked twice. */
function approvalRequested(state, data) {
  const known = state.approvals.get(data.approval_id);
  if (!data.approval_id || (known && !(isUnreadable(known) && data.seal === "opened"))) return state;
  const approvals = new Map(state.approvals);
  approvals.set(data.approval_id, { ...data, id: data.approval_id, session: data.session_id, decision: known?.decision ?? null });
  return changeChat({ ...state, approvals }, data.session_id, (chat) => ({ ...chat, updatedAt: Math.max(chat.updatedAt, data.ts ?? 0) }));
}

function approvalResolved(state, data) {
  const known = state.approvals.get(data.approval_id);
  if (!known || known.decision) return state;
  return { ...state, approvals: new Map(state.approvals).set(known.id, { ...known, decision: data.decision ?? "deny", reason: data.reason ?? null }) };
}

/** Approvals missing from the snapshot were decided while the page was away, unless they are newer than the request. */
function withoutSettled(state, data) {
  const asked = new Set((data.pending_approvals ?? []).map((approval) => approval.approval_id));
  return [...state.approvals.values()].filter(({ id, decision }) => !decision && !asked.has(id) && data.known?.has(id) !== false)
    .reduce((state, approval) => approvalResolved(state, { approval_id: approval.id, decision: "elsewhere" }), state);
}

/** Files touched by the agent, the newest last; a repeated announcement moves a file to the end. */
function fileAnnounced(state, data) {
  const id = data.blind_idx ?? data.path;
  if (!id) return state;
  const file = {
    id, session: data.session_id, index: data.blind_idx ?? null, path: data.path ?? null, name: data.display_name ?? null,
    tool: data.tool ?? "", size: data.size_bytes ?? null, mime: data.mime ?? "", seal: data.seal ?? null,
  };
  return changeChat(state, data.session_id, (chat) => ({ ...chat, files: [...chat.files.filter((other) => other.id !== id), file] }));
}

// Queries of the views and of `Resume`

/** Runs without a final message: interactions of user messages, and of open agent messages. */
export function openRuns(chat, now = Date.now()) {
  const runs = new Map();
  for (const message of chat.messages) {
    if (!message.interaction) continue;
    if (message.role === "agent") runs.set(message.interaction, !message.isFinal);
    // The relay refuses answers after half an hour (relay.md#sessionmessage-the-user-wrote).
    else if (!runs.has(message.interaction) && now - message.at < 1_800_000) runs.set(message.interaction, true);
  }
  return [...runs].filter(([, isOpen]) => isOpen).map(([interaction]) => interaction);
}

export function pendingApprovals(state, session) {
  return [...state.approvals.values()].filter((approval) => !approval.decision && !state.refused.has(approval.id) && (!session || approval.session === session));
}

/** The id of an ask: a later card of the same ask appends a number to it. */
const askOf = ({ id }) => id.replace(/-ask-\d+$/, "");

/** Approvals of a chat that the relay ended by itself, and that were not asked again. */
export function endedApprovals(state, session) {
  const all = [...state.approvals.values()].filter((approval) => approval.session === session);
  const newest = new Map(all.map((approval) => [askOf(approval), approval]));
  return all.filter((approval) => approval.reason && newest.get(askOf(approval)) === approval);
}

/** Sealed and not opened: the key is missing, or the content was changed on its way. */
export const isUnreadable = ({ seal }) => Boolean(seal) && seal !== "opened";

/** `sealed`; `locked` if this page has no key; or `open`. */
export function lockOf(state, session) {
  if (state.keys.held.has(session)) return "sealed";
  const chat = state.chats.get(session);
  const isSealed = [...chat?.messages ?? [], ...chat?.tasks ?? [], ...pendingApprovals(state, session)].some(({ seal }) => seal);
  return isSealed ? "locked" : "open";
}

export function titleOf(chat) {
  if (chat.title) return chat.title;
  const first = chat.messages.find((message) => message.text.trim() !== "");
  const line = first?.text.trim().split("\n")[0].slice(0, 120);
  return (first?.role === "user" ? line : plainLine(line ?? "")) || chat.drafts[0]?.text.slice(0, 120) || "New chat";
}

/** The chat's last message in plain words; `waiting` is the text of a run without output. */
export function lastLine(chat, waiting = "Thinking…") {
  const last = chat.messages.at(-1);
  if (!last) return "";
  // A growing text shows its newest words, a complete one its first.
  const text = isUnreadable(last) ? "Sealed message" : last.isFinal ? last.text.slice(0, 400).trim() : last.preview.slice(-120).trim();
  if (!text) return last.role === "agent" && !last.isFinal ? waiting : "";
  // Markdown is rendered in an agent's text alone.
  return last.role === "user" ? `You: ${text.replace(/\s+/g, " ").slice(0, 140)}` : plainLine(text).slice(0, 140);
}

/** Whether runs of the chat can only wait: no bridge is connected, and none has streamed anything yet. */
export function waitsForBridge(state, chat) {
  const bridge = state.account?.installations[0];
  return state.link.kind === "live" && bridge?.state !== "connected" &&
    !chat.messages.some((message) => message.role === "agent" && !message.isFinal && message.preview.trim() !== "");
}
