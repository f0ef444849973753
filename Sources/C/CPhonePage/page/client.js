// The phone's calls to the relay. Responses have the relay's envelope, or are the bare result (relay.md#rest).

export class Refusal extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const PATIENCE_MS = 20_000;

export class Client {
  constructor(token) {
    this.token = token;
  }

  headers(more = {}) {
    return { Authorization: `Bearer ${this.token}`, ...more };
  }

  async call(method, path, body) {
    if (method === "GET") return this.exchange(path, { method, headers: this.headers() });
    const headers = this.headers({ "Content-Type": "application/json" });
    return this.exchange(path, { method, headers, body: JSON.stringify(body ?? {}) });
  }

  /** The app's upload is undocumented. This route is the simulator's; its response has the form that `send` expects. */
  async upload(file) {
    const headers = this.headers({ "Content-Type": file.type || "application/octet-stream" });
    return this.exchange(`/v1/simulator/files?name=${encodeURIComponent(file.name)}`, { method: "POST", headers, body: file });
  }

  async exchange(path, request) {
    let response;
    try {
      response = await fetch(path, { ...request, cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
    } catch (error) {
      throw new Refusal(0, "unreachable", error.name === "TimeoutError" ? "The relay does not answer." : "The relay cannot be reached.");
    }
    return Client.result(response);
  }

  static async result(response) {
    let answer;
    try {
      answer = await response.json();
    } catch {
      throw new Refusal(response.status, "not_json", `The relay answered ${response.status} without words.`);
    }
    if (!response.ok || answer?.ok === false) {
      const error = answer?.error ?? {};
      throw new Refusal(response.status, error.code ?? "unknown", error.message ?? `The relay answered ${response.status}.`);
    }
    return answer && typeof answer === "object" && "result" in answer ? answer.result : answer;
  }

  account = () => this.call("GET", "/v1/me");
  snapshot = () => this.call("GET", "/v1/me/snapshot");
  messages = (session) => this.call("GET", `${chat(session)}/messages`);
  files = (session) => this.call("GET", `${chat(session)}/files`);
  file = (session, file) => this.call("GET", `${chat(session)}/file?${new URLSearchParams(file.index ? { blind_idx: file.index } : { path: file.path })}`);
  send = (session, body) => this.call("POST", `${chat(session)}/send`, body);
  stop = (session, interaction) => this.call("POST", `${chat(session)}/stop`, interaction ? { interaction_id: interaction } : {});
  newChat = (model) => this.call("POST", "/v1/me/sessions", model ? { model } : {});
  chooseModel = (session, model) => this.call("PATCH", chat(session), { model });
  // Routes of the simulator: those of the app are undocumented.
  models = () => this.call("GET", "/v1/me/models");
  cron = async (verb, params) => (await this.call("POST", `/v1/me/cron/${verb}`, params)).result ?? {};
  rename = (session, title) => this.call("PATCH", chat(session), { title });
  archive = (session, isArchived) => this.call("POST", `${chat(session)}/${isArchived ? "archive" : "unarchive"}`);
  remove = (session) => this.call("DELETE", chat(session));
  devices = () => this.call("GET", "/v1/me/devices");
  register = (pubkey) => this.call("POST", "/v1/me/devices", { pubkey, label: "phone page", platform: "web" });
  announce = (device) => this.call("POST", `/v1/me/devices/${encodeURIComponent(device)}/announce`);
  keysOf = (device) => this.call("GET", `/v1/me/devices/${encodeURIComponent(device)}/keys`);
  grant = (session, recipients, maker) => this.call("POST", `${chat(session)}/recipients`, { recipients, wrapped_by_device_id: maker });
  decide = (approval, decision) => this.call("POST", `/v1/me/approvals/${encodeURIComponent(approval)}`, { decision });
}

const chat = (session) => `/v1/me/sessions/${encodeURIComponent(session)}`;
