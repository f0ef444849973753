"""Sealed messages by the `cryptography` package, without the bridge's own code, for tests that compare the two. `sealing.py open|seal JSON`
answers with one line of JSON, and ends with its standard input."""

import base64
import json
import os
import struct
import sys

from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def hkdf(key, info):
    return HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=info.encode()).derive(key)


def hsalsa20(key):
    """HSalsa20 of NaCl, for a key and sixteen zero bytes: relay.md#key-agreement-the-trap."""
    k = struct.unpack("<8I", key)
    c = struct.unpack("<4I", b"expand 32-byte k")
    x = [c[0], *k[:4], c[1], 0, 0, 0, 0, c[2], *k[4:], c[3]]

    def mix(to, a, b, bits):
        word = (x[a] + x[b]) & 0xFFFFFFFF
        x[to] ^= ((word << bits) | (word >> (32 - bits))) & 0xFFFFFFFF

    rounds = [(0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11),
              (0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14)]
    for _ in range(10):
        for a, b, c_, d in rounds:
            mix(b, a, d, 7)
            mix(c_, b, a, 9)
            mix(d, c_, b, 13)
            mix(a, d, c_, 18)
    return struct.pack("<8I", *(x[i] for i in (0, 5, 10, 15, 6, 7, 8, 9)))


def seal(key, content):
    if not content:
        return b"\0"
    nonce = os.urandom(12)
    return b"\1" + nonce + AESGCM(key).encrypt(nonce, content, None)


def unseal(key, envelope):
    if envelope == b"\0":
        return b""
    assert envelope[0] == 1
    return AESGCM(key).decrypt(envelope[1:13], envelope[13:], None)


def public(secret):
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def box_key(secret, theirs):
    shared = X25519PrivateKey.from_private_bytes(secret).exchange(X25519PublicKey.from_public_bytes(theirs))
    return hkdf(hsalsa20(shared), "sophon/v1/sealed-box")


def seal_box(key, theirs):
    ephemeral = os.urandom(32)
    return b"\2" + public(ephemeral) + seal(box_key(ephemeral, theirs), key)


def open_box(secret, box):
    assert box[0] == 2
    return unseal(box_key(secret, box[1:33]), box[33:])


def blob_key(root, path):
    return hkdf(root, "sophon/v1/blob/" + path)


def blind_index(root, *words):
    code = hmac.HMAC(hkdf(root, "sophon/v1/blind-index"), hashes.SHA256())
    code.update(b"\xff".join(word.encode() for word in words))
    return base64.urlsafe_b64encode(code.finalize()[:16]).decode().rstrip("=")


def answer(asked, word):
    if asked == "open":
        # From the bridge: a box for this device's secret, then texts sealed under the key in it.
        root = open_box(bytes.fromhex(word["secret"]), base64.b64decode(word["box"]))
        return {"key": root.hex(), "index": blind_index(root, "agent_files", word["session"], word["file"]),
                "texts": [unseal(blob_key(root, path), base64.b64decode(text)).decode() for path, text in word["sealed"]]}
    root = os.urandom(32)
    return {"key": root.hex(), "box": base64.b64encode(seal_box(root, bytes.fromhex(word["public"]))).decode(),
            "index": blind_index(root, "agent_files", word["session"], word["file"]),
            "sealed": [[path, base64.b64encode(seal(blob_key(root, path), text.encode())).decode()]
                       for path, text in word["texts"]]}


if __name__ == "__main__":
    print(json.dumps(answer(sys.argv[1], json.loads(sys.argv[2]))), flush=True)
    sys.stdin.read()
