// The page as a device: its own key, which it stores, and the keys of the chats (relay.md#session-key-life-cycle). The relay
// has each in a box per device. The page seals under the newest key that it was given or made.
//
// The page makes no key for a chat that another device began, and sends nothing unsealed in a sealed chat without a key.

import { publicKey } from "./curve.js";
import { Sealer, SealingError, base64Of, bytesOfBase64, bytesOfHex, hexOf, missing, random, unwrap, wrap } from "./sealing.js";
import { read, write } from "./storage.js";

const EMPTY = "AA==";
// Keys of a chat kept for reading, the newest included.
const OLDER = 4;

export class Keys {
  /** Calls `changed(session)` after a chat's key has changed, and `changed()` after any other change. */
  constructor(client, changed) {
    this.client = client;
    this.changed = changed;
    this.missing = missing();
    this.device = null;
    this.devices = new Map();
    this.chats = new Map();
    this.lacked = new Set();
  }

  /** Registers the device on every attach of the stream, because the relay may have forgotten it, or be another one. */
  async refresh() {
    if (this.missing) return this.changed();
    this.secret ??= await ownSecret();
    const pubkey = hexOf(await publicKey(this.secret));
    let registered;
    try {
      registered = await this.client.register(pubkey);
    } catch (refusal) {
      if (refusal.status === 404 || refusal.status === 405) this.missing = "This relay knows nothing of devices.";
      throw refusal;
    }
    if (this.device !== registered.device_id) this.chats.clear();
    this.device = registered.device_id;
    this.devices = new Map((await this.client.devices()).devices.map((device) => [device.device_id, device]));
    for (const key of (await this.client.keysOf(this.device)).keys) await this.take(key);
    this.changed();
    for (const device of this.others()) this.supply(device).catch(() => {});
  }

  others() {
    return [...this.devices.values()].filter((device) => device.device_id !== this.device);
  }

  /** Whether a bridge can read sealed chats: it then has a device. */
  get canSeal() {
    return !this.missing && this.device !== null && this.others().some((device) => device.platform === "bridge");
  }

  // Keys of chats

  /** The chats with a key, and whether each key changed while in use. */
  held = () => new Map([...this.chats].map(([session, chat]) => [session, chat.isChanged]));

  has = (session) => this.chats.has(session);

  /** The newest key, or null if this page has none. */
  sealer = (session) => this.chats.get(session)?.sealers[0] ?? null;

  async open(session, kind, envelope, index) {
    if (envelope === EMPTY) return "";
    return this.opening(session, (sealer) => sealer.open(kind, envelope, index));
  }

  /** Bytes of a file touched by the agent. */
  async openFile(session, envelope, index) {
    return this.opening(session, (sealer) => sealer.openBytes("agent_files", envelope, index));
  }

  /** Opens with the first of the chat's keys that fits. */
  async opening(session, open) {
    if (!this.has(session)) this.lack(session);
    let failure = new SealingError("no_key");
    for (const sealer of [...this.chats.get(session)?.sealers ?? [], ...olderSealers(session)]) {
      try {
        return await open(sealer);
      } catch (error) {
        failure = error;
        if (error.code !== "not_authentic") break;
      }
    }
    throw failure;
  }

  /** Announces the device once per chat: some bridges seal under keys of their own, and hand them over on the announcement. */
  lack(session) {
    if (this.lacked.has(session) || !this.device) return;
    this.lacked.add(session);
    this.client.announce(this.device).catch(() => this.lacked.delete(session));
  }

  /** Makes a key for a chat that this page began, or a new one in place of the old. All devices get it before it is used. */
  async make(session) {
    const root = random(32);
    await this.hand(session, root, [...this.devices.values()]);
    if (this.add(session, root)) this.changed(session);
  }

  /** Hands the key over again, to a bridge that lost it or that was told that the chat had ended. */
  async handAgain(session) {
    const root = this.sealer(session)?.root;
    if (root) await this.hand(session, root, this.others());
  }

  async hand(session, root, devices) {
    const recipients = [];
    for (const device of devices) {
      try {
        recipients.push({ device_id: device.device_id, wrapped_session_key: base64Of(await wrap(root, bytesOfHex(device.pubkey))) });
      } catch (error) {
        // An invalid public key: that device gets no box.
        if (!(error instanceof SealingError)) throw error;
      }
    }
    if (recipients.length) await this.client.grant(session, recipients, this.device);
  }

  /** Hands over the keys that the relay lacks for that device. */
  async supply(device) {
    const there = new Set((await this.client.keysOf(device.device_id)).keys.map((key) => key.session_id));
    for (const [session, chat] of [...this.chats]) {
      if (!there.has(session)) await this.hand(session, chat.sealers[0].root, [device]);
    }
  }

  async take({ session_id: session, wrapped_session_key: box, wrapped_by_device_id: maker }) {
    let root;
    try {
      root = await unwrap(bytesOfBase64(box), this.secret);
    } catch {
      // The box is for another device, or for an earlier key of this one; its maker may hand it over again.
      return;
    }
    if (this.add(session, root, maker)) this.changed(session);
  }

  /** Adds a key. Returns false if it is the current one. */
  add(session, root, maker = this.device) {
    const known = this.chats.get(session);
    if (known && hexOf(known.sealers[0].root) === hexOf(root)) {
      known.maker = maker;
      return false;
    }
    const sealers = [new Sealer(session, root), ...known?.sealers ?? []].slice(0, OLDER);
    this.chats.set(session, { sealers, maker, isChanged: known !== undefined && maker !== this.device });
    remember(session, sealers);
    return true;
  }

  // Events of the relay

  static concerns = (type) => type === "device_added" || type === "device_revoked" || type === "session_key_granted";

  async received(type, data) {
    if (!this.device) return;
    if (type === "session_key_granted") {
      if (data.device_id === this.device) await this.take(data);
    } else if (type === "device_added") {
      this.devices.set(data.device_id, data);
      this.changed();
      if (data.device_id !== this.device) this.supply(data).catch(() => {});
    } else {
      this.devices.delete(data.device_id);
      this.changed();
      this.renew().catch(() => {});
    }
  }

  /** Replaces keys that a revoked device knows: each device makes new keys for the chats that it began. */
  async renew() {
    for (const [session, chat] of [...this.chats]) if (chat.maker === this.device) await this.make(session);
  }
}

async function ownSecret() {
  const kept = read("device", null);
  if (typeof kept === "string" && /^[0-9a-f]{64}$/.test(kept)) return bytesOfHex(kept);
  const secret = random(32);
  write("device", hexOf(secret));
  return secret;
}

function remember(session, sealers) {
  const kept = read("keys", {});
  delete kept[session];
  const chats = Object.entries({ ...kept, [session]: sealers.map((sealer) => hexOf(sealer.root)) });
  write("keys", Object.fromEntries(chats.slice(-500)));
}

/** Keys stored by earlier pages. They open nothing if a relay without memory has reused the name of a chat. */
function olderSealers(session) {
  const kept = read("keys", {})[session];
  return Array.isArray(kept) ? kept.filter((key) => /^[0-9a-f]{64}$/.test(key)).map((key) => new Sealer(session, bytesOfHex(key))) : [];
}
