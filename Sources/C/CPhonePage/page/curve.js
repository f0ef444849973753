// Key agreement of a device with the maker of a key: X25519 followed by HSalsa20 (relay.md#key-agreement-the-trap).

const PRIME = 2n ** 255n - 19n;
// PKCS #8 header that WebCrypto requires before a raw secret.
const PKCS8 = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x6e, 4, 0x22, 4, 0x20];
const BASE_POINT = Uint8Array.of(9, ...new Uint8Array(31));

/** X25519 of a secret and a point, 32 bytes each: the browser's own, or `ladder` if it has none or refuses the point. */
export async function scalarProduct(secret, point) {
  try {
    const mine = await crypto.subtle.importKey("pkcs8", Uint8Array.of(...PKCS8, ...secret), "X25519", false, ["deriveBits"]);
    const theirs = await crypto.subtle.importKey("raw", point, "X25519", false, []);
    return new Uint8Array(await crypto.subtle.deriveBits({ name: "X25519", public: theirs }, mine, 256));
  } catch {
    return ladder(secret, point);
  }
}

export const publicKey = (secret) => scalarProduct(secret, BASE_POINT);

/** The ladder of RFC 7748, section 5. Not of constant time: for trying out, not for secrets that others can time. */
export function ladder(secret, point) {
  const scalar = (number(secret) & ((1n << 255n) - 8n)) | (1n << 254n);
  const u = (number(point) & ((1n << 255n) - 1n)) % PRIME;
  let [x2, z2, x3, z3] = [1n, 0n, u, 1n];
  let swapped = 0n;
  for (let at = 254n; at >= 0n; at -= 1n) {
    const bit = (scalar >> at) & 1n;
    if (bit !== swapped) [x2, x3, z2, z3] = [x3, x2, z3, z2];
    swapped = bit;
    const a = x2 + z2, b = x2 - z2, aa = (a * a) % PRIME, bb = (b * b) % PRIME, e = aa - bb;
    const da = (x3 - z3) * a, cb = (x3 + z3) * b;
    x3 = reduced((da + cb) ** 2n);
    z3 = reduced(u * reduced((da - cb) ** 2n));
    x2 = reduced(aa * bb);
    z2 = reduced(e * (aa + 121_665n * e));
  }
  if (swapped) [x2, z2] = [x3, z3];
  return bytes(reduced(x2 * power(z2, PRIME - 2n)));
}

const reduced = (value) => ((value % PRIME) + PRIME) % PRIME;

function power(base, exponent) {
  let result = 1n;
  for (let rest = exponent, square = reduced(base); rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % PRIME;
    square = (square * square) % PRIME;
  }
  return result;
}

const number = (bytes) => bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
const bytes = (value) => Uint8Array.from({ length: 32 }, (_, at) => Number((value >> BigInt(8 * at)) & 255n));

/** HSalsa20 of NaCl, for a key of 32 bytes and sixteen zero bytes. */
export function hsalsa20(key) {
  const k = words(key), c = words(new TextEncoder().encode("expand 32-byte k"));
  const x = Uint32Array.of(c[0], k[0], k[1], k[2], k[3], c[1], 0, 0, 0, 0, c[2], k[4], k[5], k[6], k[7], c[3]);
  const mix = (to, a, b, bits) => {
    const sum = (x[a] + x[b]) >>> 0;
    x[to] ^= (sum << bits) | (sum >>> (32 - bits));
  };
  const quarter = (a, b, c, d) => {
    mix(b, a, d, 7);
    mix(c, b, a, 9);
    mix(d, c, b, 13);
    mix(a, d, c, 18);
  };
  for (let round = 0; round < 10; round += 1) {
    quarter(0, 4, 8, 12), quarter(5, 9, 13, 1), quarter(10, 14, 2, 6), quarter(15, 3, 7, 11);
    quarter(0, 1, 2, 3), quarter(5, 6, 7, 4), quarter(10, 11, 8, 9), quarter(15, 12, 13, 14);
  }
  const out = new DataView(new ArrayBuffer(32));
  [0, 5, 10, 15, 6, 7, 8, 9].forEach((word, at) => out.setUint32(4 * at, x[word], true));
  return new Uint8Array(out.buffer);
}

function words(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length / 4 }, (_, at) => view.getUint32(4 * at, true));
}
