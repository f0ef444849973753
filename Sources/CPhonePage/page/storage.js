// What the page keeps on the device. A browser may refuse to keep anything: then it is forgotten with the page.

const memory = new Map();

export function read(name, fallback) {
  try {
    const text = localStorage.getItem(`phone.${name}`) ?? memory.get(name);
    return text === null || text === undefined ? fallback : JSON.parse(text);
  } catch {
    return fallback;
  }
}

export function write(name, value) {
  const text = JSON.stringify(value);
  memory.set(name, text);
  try {
    if (localStorage.getItem(`phone.${name}`) !== text) localStorage.setItem(`phone.${name}`, text);
  } catch {
    // Full or forbidden: the copy in memory has to do.
  }
}

export function forget(name) {
  memory.delete(name);
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
