// Sealing: envelopes, the keys of a chat, and boxes for one device (relay.md#end-to-end-encryption).

import { hsalsa20, scalarProduct, publicKey } from "./curve.js";

/** `code` is `encoding`, `malformed`, `version`, `not_authentic`, `not_text`, `empty` or `no_key`. */
export class SealingError extends Error {
  constructor(code) {
    super(`sealed: ${code}`);
    this.code = code;
  }
}

/** Why this browser cannot seal here, or null. Browsers offer their ciphers to pages from this machine and over https alone. */
export function missing() {
  if (globalThis.crypto?.subtle) return null;
  return globalThis.isSecureContext === false
    ? "This browser has no ciphers for a page that came over plain http from another machine (crypto.subtle is missing). " +
      "Open the page at http://127.0.0.1 on the machine of the program, or behind https."
    : "This browser has no ciphers (crypto.subtle is missing).";
}

// Bytes

export const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

export function bytesOfHex(text) {
  if (!/^([0-9a-f]{2})*$/.test(text)) throw new SealingError("encoding");
  return Uint8Array.from(text.match(/../g) ?? [], (digits) => parseInt(digits, 16));
}

export function base64Of(bytes) {
  let letters = "";
  for (let at = 0; at < bytes.length; at += 4_096) letters += String.fromCharCode(...bytes.subarray(at, at + 4_096));
  return btoa(letters);
}

/** Decodes the standard alphabet with padding; other spellings that a browser accepts are refused. */
export function bytesOfBase64(text) {
  let letters;
  try {
    letters = atob(text);
  } catch {
    throw new SealingError("encoding");
  }
  if (btoa(letters) !== text) throw new SealingError("encoding");
  return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
}

const encode = (text) => new TextEncoder().encode(text);

function textOf(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new SealingError("not_text");
  }
}

function joined(...parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
  return all;
}

export const random = (count) => crypto.getRandomValues(new Uint8Array(count));

// Keys

export async function derived(key, info) {
  const base = await crypto.subtle.importKey("raw", key, "HKDF", false, ["deriveBits"]);
  const parameters = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info: encode(info) };
  return new Uint8Array(await crypto.subtle.deriveBits(parameters, base, 256));
}

export const blobKey = (root, path) => derived(root, `sophon/v1/blob/${path}`);

export async function blindIndex(root, scope, ...inputs) {
  const key = await crypto.subtle.importKey(
    "raw", await derived(root, "sophon/v1/blind-index"), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const message = joined(encode(scope), ...inputs.flatMap((input) => [Uint8Array.of(0xff), encode(input)]));
  const code = new Uint8Array(await crypto.subtle.sign("HMAC", key, message)).subarray(0, 16);
  return base64Of(code).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

const cipher = (key) => crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt", "decrypt"]);

// Envelopes

const ENVELOPE = 1;
const BOX = 2;

/** `key` is a `CryptoKey` of `cipher`. */
async function sealed(content, key) {
  if (content.length === 0) return Uint8Array.of(0);
  const nonce = random(12);
  return joined(Uint8Array.of(ENVELOPE), nonce, new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv: nonce }, key, content)));
}

async function unsealed(envelope, key) {
  if (envelope.length === 0) throw new SealingError("malformed");
  if (envelope.length === 1 && envelope[0] === 0) return new Uint8Array(0);
  if (envelope[0] !== ENVELOPE) throw new SealingError("version");
  if (envelope.length < 29) throw new SealingError("malformed");
  try {
    return new Uint8Array(await crypto.subtle.decrypt({ name: "AES-GCM", iv: envelope.subarray(1, 13) }, key, envelope.subarray(13)));
  } catch {
    throw new SealingError("not_authentic");
  }
}

export const openEnvelope = async (envelope, key) => unsealed(envelope, await cipher(key));

// Boxes

/** Key of a box between a secret and a public key. A point of small order is refused: its giver would know the product. */
export async function boxKey(secret, theirs) {
  const product = await scalarProduct(secret, theirs);
  if (product.every((byte) => byte === 0)) throw new SealingError("malformed");
  return derived(hsalsa20(product), "sophon/v1/sealed-box");
}

/** Puts a session key into a box for one device. */
export async function wrap(sessionKey, theirs) {
  const ephemeral = random(32);
  const envelope = await sealed(sessionKey, await cipher(await boxKey(ephemeral, theirs)));
  return joined(Uint8Array.of(BOX), await publicKey(ephemeral), envelope);
}

export async function unwrap(box, secret) {
  if (box.length < 34) throw new SealingError("malformed");
  if (box[0] !== BOX) throw new SealingError("version");
  const sessionKey = await openEnvelope(box.subarray(33), await boxKey(secret, box.subarray(1, 33)));
  if (sessionKey.length !== 32) throw new SealingError("malformed");
  return sessionKey;
}

/** Seals and opens content of one chat under one key. `kind` is `messages`, `tasks`, `approvals`, or `agent_files` with an `index`. */
export class Sealer {
  constructor(session, root) {
    this.session = session;
    this.root = root;
    this.ciphers = new Map();
  }

  cipher(kind, index) {
    const path = `${kind}/${this.session}${index ? `/${index}` : ""}`;
    if (!this.ciphers.has(path)) this.ciphers.set(path, blobKey(this.root, path).then(cipher));
    return this.ciphers.get(path);
  }

  async seal(kind, text) {
    return base64Of(await sealed(encode(text), await this.cipher(kind)));
  }

  /** Opens a text. An empty one is not authenticated: anybody on the way may have emptied it. */
  async open(kind, envelope, index) {
    return textOf(await this.openBytes(kind, envelope, index));
  }

  async openBytes(kind, envelope, index) {
    return unsealed(bytesOfBase64(envelope), await this.cipher(kind, index));
  }
}
