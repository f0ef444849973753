// Storage on the device, and storage of the tab, the only place for words written by a person or an agent. A browser may
// refuse either: values then last as long as the page.

const device = { name: "localStorage", memory: new Map() };
const tab = { name: "sessionStorage", memory: new Map() };

export const read = (name, fallback) => readIn(device, name, fallback);
export const write = (name, value) => writeIn(device, name, value);

/** The same for the tab: values survive a reload, are invisible to other tabs, and are deleted with the tab. */
export const readOfTab = (name, fallback) => readIn(tab, name, fallback);
export const writeOfTab = (name, value) => writeIn(tab, name, value);

function readIn({ name: store, memory }, name, fallback) {
  try {
    const text = globalThis[store].getItem(`phone.${name}`) ?? memory.get(name);
    return text === null || text === undefined ? fallback : JSON.parse(text);
  } catch {
    return fallback;
  }
}

function writeIn({ name: store, memory }, name, value) {
  const text = JSON.stringify(value);
  memory.set(name, text);
  try {
    if (globalThis[store].getItem(`phone.${name}`) !== text) globalThis[store].setItem(`phone.${name}`, text);
  } catch {
    // Full or forbidden: the copy in memory serves.
  }
}

export function forget(name) {
  device.memory.delete(name);
  try {
    localStorage.removeItem(`phone.${name}`);
  } catch {
    // Forbidden: only the copy in memory exists.
  }
}

/** Decodes the untrusted fragment of an address; null if it is malformed. */
export function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Moves the user's token from the address, whose fragment no server sees, into storage. Returns whether there was one. */
export function takeToken() {
  const match = /^#token=([^&]+)/.exec(location.hash);
  if (!match) return false;
  history.replaceState(null, "", location.pathname + location.search);
  const token = decoded(match[1]);
  if (token) write("token", token);
  return true;
}
