"""Files for messages, valid and invalid, and checks for any agent that receives them."""

import asyncio
import functools
import os
import zlib

from harness import until
from peers.wire import Endless, Response
from scheduling import Scenarios


def chunk(name, content):
    return len(content).to_bytes(4, "big") + name + content + bytes(4)


# Files in valid form, from their size to their end.
PNG = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", bytes([0, 0, 0, 16, 0, 0, 0, 16, 8, 6, 0, 0, 0])) + chunk(b"IDAT", os.urandom(3000))
       + chunk(b"IEND", b""))
JPEG = (bytes.fromhex("ffd8 ffe00004 0000 ffc0000b 08 0010 0010 01 011100 ffda0002") + os.urandom(2000).replace(b"\xff", b"\xfe")
        + b"\xff\xd9")
GIF = b"GIF89a\x10\x00\x10\x00" + os.urandom(500)
WEBP = b"RIFF" + (712).to_bytes(4, "little") + b"WEBPVP8X" + bytes([10, 0, 0, 0, 0, 0, 0, 0, 15, 0, 0, 15, 0, 0]) + os.urandom(690)
FIVE = [("fox.png", "image/png", PNG), ("photo.jpg", "image/jpeg", JPEG), ("paper.pdf", "application/pdf", b"%PDF-1.7\n" + os.urandom(9000)),
        ("notes.txt", "text/plain", "grüße\n".encode() * 100), ("disk.img", "application/octet-stream", os.urandom(90_000))]


def offered(relay, *files):
    """Attachments with files on the relay's own origin."""
    for name, _, content in files:
        relay.files[f"/files/{name}"] = content
    return [{"key": f"u/{name}", "url": f"{relay.url}/files/{name}", "mime": kind, "name": name} for name, kind, _ in files]


def on_disk(stage):
    folder = stage.state / "files"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


async def nothing_left(stage):
    await until(lambda: not on_disk(stage), 30, "no file is left on the disk")


class Held:
    """A file that the server holds back."""

    def __init__(self, content):
        self.content, self.gate = content, asyncio.Event()

    async def __call__(self):
        await self.gate.wait()
        return Response(200, self.content)


@functools.cache
def bomb():
    packed = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packed.compress(bytes(1 << 20)) for _ in range(64)) + packed.flush()


BAD_LIMITS = {"limits": {"file_time": "3s", "file_mb": 1}}


def bad_files(relay, public):
    """Name, address and the expected explanation of each."""
    relay.files |= {
        "/files/metadata": Response(302, b"", {"Location": "https://169.254.169.254/latest"}),
        "/files/metadata-open": Response(302, b"", {"Location": "http://169.254.169.254/latest"}),
        "/files/round": Response(302, b"", {"Location": "/files/round"}),
        "/files/page": b"<html>expired</html>", "/files/big": bytes(2 << 20), "/files/slow": Held(b""), "/files/empty": b"",
        "/files/says-more": Response(200, PNG, {"Content-Length": len(PNG) + 1_000, "Connection": "close"}),
        "/files/says-much": Response(200, PNG, {"Content-Length": 99_999_999_999, "Connection": "close"}),
        "/files/endless": Response(200, Endless(bytes(65_536))), "/files/dripping": Response(200, Endless(b"x", 0.05)),
        "/files/bomb": Response(200, bomb(), {"Content-Encoding": "gzip"}),
    }
    here = f"{relay.url}/files"
    return [
        ("gone.png", f"{here}/none", "the server answered 404"), ("nowhere.png", None, "does not say where"),
        ("metadata.png", f"{here}/metadata", "private network"), ("open.png", f"{here}/metadata-open", "not encrypted"),
        ("private.png", "https://10.1.2.3/a.png", "private network"), ("name.png", "https://localhost/a.png", "private network"),
        ("mapped.png", "https://[::ffff:127.0.0.1]/a.png", "private network"), ("local.png", "file:///etc/passwd", "cannot be used"),
        ("round.png", f"{here}/round", "without an end"), ("page.png", f"{here}/page", "not the picture"),
        ("big.png", f"{here}/big", "larger than 1 MB"), ("much.png", f"{here}/says-much", "larger than 1 MB"),
        ("more.png", f"{here}/says-more", "broke off"), ("endless.png", f"{here}/endless", "larger than 1 MB"),
        ("dripping.png", f"{here}/dripping", "too slow"), ("slow.png", f"{here}/slow", "too slow"),
        ("empty.png", f"{here}/empty", "it is empty"), ("bomb.png", f"{here}/bomb", "packed"),
        ("tls.png", f"{public.url}/a.png", "could not show who it is (TLS)"),
    ]


class FilesTests(Scenarios):
    async def each_bad_file(self, stage, public, answer, prompts):
        """`answer` is the agent's answer to each message, `prompts` the list of prompts so far."""
        self.assertTrue(public.is_loaded(stage.bridge.pid))
        for name, url, words in bad_files(stage.relay, public):
            text = f"What is {name}?"
            file = {"key": "u/1", "mime": "image/png", "name": name} | ({"url": url} if url else {})
            turn = stage.relay.ask(text, attachments=[file])
            await stage.ended(turn, seconds=30)
            stage.expect_begins(turn, answer(text))
            stage.expect_said(turn, words)
            asked = prompts()[-1]
            self.assertTrue(asked.startswith(f"{text}\n\n[Not attached: {name} could not be fetched: ") and words in asked, asked)
            notice = stage.phone.final(turn.interaction).split("\n\n")[-1]
            self.assertTrue(notice.startswith(f"{name} could not be fetched: ") and words in notice, notice)
            stage.check(turn)
        self.assertEqual(public.requests, [])
        await nothing_left(stage)
