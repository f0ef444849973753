"""The page's own ciphers, checked against the published vectors and the `cryptography` package."""

import base64
import json
import os
import sys

from harness import ROOT, BrowserTest

sys.path.append(str(ROOT / "Tests" / "Peers"))
import sealing  # noqa: E402

VECTORS = {vector["id"]: vector for vector in json.loads(
    (ROOT / "Tests" / "Fixtures" / "vectors" / "sophon-e2e.json").read_text())["vectors"]}


class SealedModules(BrowserTest):
    def setUp(self):
        super().setUp()
        self.page.open(self.simulator().phone_url)

    def script(self, script, *arguments):
        """Runs a script with both modules: `s` of sealing, `c` of the curve, `h` and `b` to and from hexadecimal."""
        answer = self.browser.execute_async_script(
            "const a = [...arguments], done = a.pop();"
            "Promise.all([import('/phone/sealing.js'), import('/phone/curve.js')]).then(async ([s, c]) => {"
            f"const b = s.bytesOfHex, h = s.hexOf; {script} }})"
            ".then((value) => done({ value }), (error) => done({ error: `${error.code ?? error}` }))", *arguments)
        self.assertNotIn("error", answer)
        return answer["value"]

    def test_keys_are_derived_as_the_vectors_say(self):
        blob, index, agreed = VECTORS["1-blob-key"], VECTORS["2-blind-index"], VECTORS["3-ecdh"]
        self.assertEqual(self.script("return h(await s.blobKey(b(a[0]), a[1]))", blob["root_key_hex"], blob["path"]), blob["blob_key_hex"])
        self.assertEqual(self.script("return s.blindIndex(b(a[0]), a[1], ...a[2])", index["root_key_hex"], index["scope"], index["inputs"]),
                         index["blind_index_b64url"])
        made = self.script("""const [mine, theirs] = [b(a[0]), b(a[1])], raw = await c.scalarProduct(mine, theirs), k = c.hsalsa20(raw);
            return [h(raw), h(c.ladder(mine, theirs)), h(k), h(await s.derived(k, a[2])), h(await c.publicKey(mine)), h(await c.publicKey(b(a[3])))]""",
                           agreed["a_secret_hex"], agreed["b_public_hex"], agreed["install_key_info"], agreed["b_secret_hex"])
        self.assertEqual(made, [agreed["x25519_raw_hex"], agreed["x25519_raw_hex"], agreed["hsalsa20_of_raw_hex"], agreed["install_key_hex"],
                                agreed["a_public_hex"], agreed["b_public_hex"]])

    def test_every_envelope_of_the_vectors_is_opened(self):
        vectors = [vector for vector in VECTORS.values() if vector["kind"] == "symmetric_envelope"]
        self.assertEqual(len(vectors), 6)
        script = """return Promise.all(a[0].map(async (vector) => {
            const sealer = new s.Sealer(vector.session_id, b(vector.session_key_hex)), kind = vector.path.split("/")[0];
            return [h(await s.openEnvelope(b(vector.envelope_hex), b(vector.blob_key_hex))), await sealer.open(kind, vector.envelope_b64)] }))"""
        for vector, made in zip(vectors, self.script(script, vectors)):
            self.assertEqual(made, [vector["plaintext_utf8_hex"], vector["plaintext"]], vector["id"])

    def test_a_file_of_the_agent_and_a_box_are_opened(self):
        file, box = VECTORS["7-agent-file"], VECTORS["8-sealed-session-key"]
        made = self.script("""const index = await s.blindIndex(b(a[0].session_key_hex), "agent_files", a[0].session_id, a[0].real_path);
            const key = await s.blobKey(b(a[0].session_key_hex), `agent_files/${a[0].session_id}/${index}`);
            const text = async (ct) => new TextDecoder().decode(await s.openEnvelope(s.bytesOfBase64(ct), key));
            return [index, h(key), await text(a[0].path_ct_b64), await text(a[0].display_name_ct_b64)]""", file)
        self.assertEqual(made, [file["path_blind_idx"], file["blob_key_hex"], file["real_path"], file["display_name"]])
        made = self.script("""return [h(await s.boxKey(b(a[0].recipient_secret_hex), b(a[0].ephemeral_public_hex))),
            h(await s.unwrap(s.bytesOfBase64(a[0].envelope_b64), b(a[0].recipient_secret_hex)))]""", box)
        self.assertEqual(made, [box["inner_key_hex"], box["plaintext_hex"]])

    def test_what_must_fail_fails(self):
        negative = VECTORS["9-negative"]
        script = """return Promise.all(a[1].map((hex) => s.openEnvelope(b(hex), b(a[0])).then(() => "opened", (error) => error.code)))"""
        cases = [case for case in negative["cases"] if "envelope_hex" in case]
        self.assertGreaterEqual(len(cases), 3)
        for case, made in zip(cases, self.script(script, negative["blob_key_hex"], [case["envelope_hex"] for case in cases])):
            self.assertIn(made, ("malformed", "version", "not_authentic"), case)
        box = base64.b64decode(VECTORS["8-sealed-session-key"]["envelope_b64"])
        boxes = [b"", box[:33], box[:-1], b"\1" + box[1:], box[:-1] + bytes([box[-1] ^ 1]), b"\2" + bytes(32) + box[33:],
                 b"\2" + bytes([1]) + bytes(31) + box[33:]]
        script = "return Promise.all(a[1].map((hex) => s.unwrap(b(hex), b(a[0])).then(() => 'opened', (error) => error.code)))"
        secret = VECTORS["8-sealed-session-key"]["recipient_secret_hex"]
        self.assertEqual(self.script(script, secret, [box.hex() for box in boxes]),
                         ["malformed", "malformed", "not_authentic", "version", "not_authentic", "malformed", "malformed"])
        texts = ["AA", "AA=", "AB==", "A A=", "AA==\n", "*A=="]
        script = "return a[0].map((text) => { try { return s.bytesOfBase64(text).length } catch (error) { return error.code } })"
        self.assertEqual(self.script(script, texts), ["encoding"] * len(texts))

    def test_each_side_opens_what_the_other_has_sealed(self):
        secret, root, session = os.urandom(32), os.urandom(32), "ses_1"
        texts = ["", "a", "Привет 👋", "x" * 49_000, "\ufeffmark", "\0"]
        path = f"messages/{session}"
        theirs = [base64.b64encode(sealing.seal(sealing.blob_key(root, path), text.encode())).decode() for text in texts]
        made = self.script("""const root = await s.unwrap(s.bytesOfBase64(a[0]), b(a[1])), sealer = new s.Sealer(a[2], root);
            const own = s.random(32);
            return { opened: await Promise.all(a[4].map((text) => sealer.open("messages", text))), box: s.base64Of(await s.wrap(own, b(a[5]))), own: h(own),
              sealed: await Promise.all(a[3].map((text) => sealer.seal("messages", text))),
              bytes: await sealer.open("messages", a[6]).catch((error) => error.code) }""",
                           base64.b64encode(sealing.seal_box(root, sealing.public(secret))).decode(), secret.hex(), session, texts, theirs,
                           sealing.public(secret).hex(),
                           base64.b64encode(sealing.seal(sealing.blob_key(root, path), b"\xff\xfe")).decode())
        self.assertEqual(made["opened"], texts)
        self.assertEqual(made["bytes"], "not_text")
        self.assertEqual(sealing.open_box(secret, base64.b64decode(made["box"])).hex(), made["own"])
        for text, envelope in zip(texts, made["sealed"]):
            self.assertEqual(sealing.unseal(sealing.blob_key(root, path), base64.b64decode(envelope)).decode(), text)

    def test_our_own_ladder_agrees_with_the_browsers(self):
        """A browser without X25519 has the same device and the same keys. Points include the edges, and some random ones."""
        prime = 2 ** 255 - 19
        edges = [2, 9, prime - 1, prime, prime + 1, 2 ** 255 - 1, 2 ** 256 - 1, (1 << 255) + 9]
        points = [edge.to_bytes(32, "little").hex() for edge in edges] + [os.urandom(32).hex() for _ in range(8)]
        secrets = [os.urandom(32).hex() for _ in points[:-2]] + ["00" * 32, "ff" * 32]
        script = """return Promise.all(a[0].map(async (secret, at) => [h(c.ladder(b(secret), b(a[1][at]))), h(await c.scalarProduct(b(secret), b(a[1][at])))]))"""
        made = self.script(script, secrets, points)
        for point, (own, browsers) in zip(points, made):
            self.assertEqual(own, browsers, point)
        self.assertGreater(len({own for own, _ in made}), 12)
        # The vector of RFC 7748, section 5.2, independent of both implementations.
        self.assertEqual(self.script("return h(c.ladder(b(a[0]), b(a[1])))",
                                     "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
                                     "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c"),
                         "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552")
