// What the page keeps on the device, and what it keeps for the tab alone: words that a person or an agent wrote are kept nowhere else.
// A browser may refuse to keep anything: then it is forgotten with the page.

const device = { name: "localStorage", memory: new Map() };
const tab = { name: "sessionStorage", memory: new Map() };

export const read = (name, fallback) => readIn(device, name, fallback);
export const write = (name, value) => writeIn(device, name, value);

/** The same for the tab: a reload has it, another tab does not, and it goes with the tab. */
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
    // Full or forbidden: the copy in memory has to do.
  }
}

export function forget(name) {
  device.memory.delete(name);
  try {
    localStorage.removeItem(`phone.${name}`);
  } catch {
    // As above.
  }
}

/** The fragment of an address, which is untrusted; null if it is no encoding of anything. */
export function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** The user's token: from the address, where no server sees it, and from there out of sight. Gives whether there was one. */
export function takeToken() {
  const match = /^#token=([^&]+)/.exec(location.hash);
  if (!match) return false;
  history.replaceState(null, "", location.pathname + location.search);
  const token = decoded(match[1]);
  if (token) write("token", token);
  return true;
}
