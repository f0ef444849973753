// Opens sealed fields, which the relay sends beside plain twins (relay.md#key-schedule), in events, histories and snapshots.
// `seal` gives the result: `opened`; `no_key`, which may still arrive; `broken` if no known key fits. Unsealed objects have no `seal`.

const TEXTS = { text: "messages", delta: "messages", status_label: "tasks", error: "tasks" };
const VALUES = { args: "tasks", partial_result: "tasks", result: "tasks" };
// Fields of a file touched by the agent, sealed under a key of the file's own, which its blind index names.
const FILE = ["path", "display_name"];
const DETAILS = ["title", "message", "command", "host", "tool_call_id", "approval_slug"];
const NAMES = [...Object.keys(TEXTS), ...Object.keys(VALUES), ...FILE, "details"];

export const isSealed = (data) => NAMES.some((name) => data?.[`${name}_ct`] !== undefined);

/** The opened object, or the same one if nothing is sealed. Sealed fields replace plain ones (relay.md#sessionmessage-the-user-wrote). */
export async function opened(data, keys, session = data.session_id) {
  if (!isSealed(data)) return data;
  const plain = { ...data, seal: "opened" };
  for (const name of NAMES) {
    const sealed = data[`${name}_ct`];
    if (sealed === undefined) continue;
    delete plain[name];
    try {
      Object.assign(plain, await read(name, sealed, keys, session, data.blind_idx));
    } catch (error) {
      if (plain.seal !== "broken") plain.seal = error.code === "no_key" ? "no_key" : "broken";
    }
  }
  return plain;
}

async function read(name, sealed, keys, session, index) {
  if (FILE.includes(name)) return { [name]: await keys.open(session, "agent_files", sealed, index) };
  if (name in TEXTS) return { [name]: await keys.open(session, TEXTS[name], sealed) };
  const value = JSON.parse(await keys.open(session, name === "details" ? "approvals" : VALUES[name], sealed));
  if (name !== "details") return { [name]: value };
  // The sealed details give the content of the question alone; the relay states whose it is, and how severe.
  return Object.fromEntries(DETAILS.filter((detail) => typeof value?.[detail] === "string").map((detail) => [detail, value[detail]]));
}

export async function openedHistory(result, keys, session) {
  const messages = await Promise.all((result.messages ?? []).map(async (message) => {
    const plain = await opened(message, keys, session);
    if (!message.tasks?.length) return plain;
    return { ...plain, tasks: await Promise.all(message.tasks.map((task) => opened(task, keys, session))) };
  }));
  return { ...result, messages };
}

export async function openedFiles(result, keys, session) {
  return { files: await Promise.all((result.files ?? []).map((file) => opened(file, keys, session))) };
}

export async function openedSnapshot(result, keys) {
  return { ...result, pending_approvals: await Promise.all((result.pending_approvals ?? []).map((approval) => opened(approval, keys))) };
}
