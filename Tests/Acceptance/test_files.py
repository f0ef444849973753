"""Files that come with messages: fetched once, handed to the agent whole or named, and never left on the disk."""

import asyncio
import base64
import json
import os
import tempfile
import unittest
import urllib.request

from harness import Stage, until
from peers import oppi_steps
from peers.oppi_server import OppiServer
from peers.steps import Hold, Say
from peers.wire import Response
from scheduling import Scenarios, scenario
from test_pi import PiStage, said
from test_sealed import sealed

PNG = b"\x89PNG\r\n\x1a\n" + os.urandom(3000)
JPEG = b"\xff\xd8\xff\xe0" + os.urandom(2000)
GIF = b"GIF89a" + os.urandom(500)
WEBP = b"RIFF\x00\x10\x00\x00WEBP" + os.urandom(700)
FIVE = [("fox.png", "image/png", PNG), ("photo.jpg", "image/jpeg", JPEG), ("paper.pdf", "application/pdf", b"%PDF-1.7\n" + os.urandom(9000)),
        ("notes.txt", "text/plain", "grüße\n".encode() * 100), ("disk.img", "application/octet-stream", os.urandom(90_000))]


def offered(relay, *files):
    """Attachments whose files are on the relay's own origin."""
    for name, _, content in files:
        relay.files[f"/files/{name}"] = content
    return [{"key": f"u/{name}", "url": f"{relay.url}/files/{name}", "mime": kind, "name": name} for name, kind, _ in files]


def on_disk(stage):
    folder = stage.state / "files"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


async def nothing_left(stage):
    await until(lambda: not on_disk(stage), 30, "no file is left on the disk")


class Held:
    """A file whose server waits."""

    def __init__(self, content):
        self.content, self.gate = content, asyncio.Event()

    async def __call__(self):
        await self.gate.wait()
        return Response(200, self.content)


class OpenClawFilesTests(Scenarios):
    @scenario(90)
    async def test_files_of_five_types_reach_the_agent_byte_for_byte(self):
        for era in ("E1", "E4"):
            async with Stage(era) as stage:
                stage.gateway.plan("Look at these.", Say(["Nice files."]))
                turn = stage.relay.ask("Look at these.", attachments=offered(stage.relay, *FIVE))
                await stage.ended(turn)
                stage.expect(turn, "Nice files.")
                self.assertEqual([tuple(file[1:]) for file in stage.gateway.files], FIVE)
                stage.check(turn)
                await nothing_left(stage)
                for request in stage.relay.fetches:
                    self.assertNotIn("authorization", request.headers)

    @scenario(60)
    async def test_a_message_of_files_alone_is_a_message(self):
        async with Stage("E3") as stage:
            stage.gateway.plan("Attached: fox.png, notes.txt", Say(["A fox."]))
            turn = stage.relay.ask("", attachments=offered(stage.relay, FIVE[0], FIVE[3]))
            await stage.ended(turn)
            stage.expect(turn, "A fox.")
            self.assertEqual([file[1] for file in stage.gateway.files], ["fox.png", "notes.txt"])
            empty = stage.relay.ask(" ")
            await stage.ended(empty)
            stage.expect_said(empty, "empty")

    @scenario(90)
    async def test_each_file_that_cannot_be_had_leaves_a_sentence_and_an_answered_message(self):
        async with Stage("E3", configuration={"limits": {"file_time": "1s", "file_mb": 1}}) as stage:
            relay = stage.relay
            relay.files |= {
                "/files/metadata": Response(302, b"", {"Location": "https://169.254.169.254/latest"}),
                "/files/open": Response(302, b"", {"Location": "http://192.0.2.1/"}),
                "/files/page": b"<html>expired</html>", "/files/big": bytes(2 << 20), "/files/slow": Held(b""),
                "/files/empty": b"", "/files/packed": Response(200, b"x" * 9, {"Content-Encoding": "gzip"}),
            }
            for name, url, words in (
                ("gone.png", f"{relay.url}/files/none", "the server answered 404"),
                ("metadata.png", f"{relay.url}/files/metadata", "private network"),
                ("private.png", "https://10.1.2.3/a.png", "private network"),
                ("loop.png", "https://localhost/a.png", "private network"),
                ("mapped.png", "https://[::ffff:127.0.0.1]/a.png", "private network"),
                ("open.png", f"{relay.url}/files/open", "not encrypted"),
                ("local.png", "file:///etc/passwd", "cannot be used"),
                ("page.png", f"{relay.url}/files/page", "not the picture"),
                ("big.png", f"{relay.url}/files/big", "larger than 1 MB"),
                ("slow.png", f"{relay.url}/files/slow", "too slow"),
                ("empty.png", f"{relay.url}/files/empty", "it is empty"),
                ("packed.png", f"{relay.url}/files/packed", "packed"),
                ("nowhere.png", None, "does not say where"),
            ):
                text = f"What is {name}?"
                file = {"key": "u/1", "mime": "image/png", "name": name} | ({"url": url} if url else {})
                turn = relay.ask(text, attachments=[file])
                await stage.ended(turn)
                stage.expect_begins(turn, f"You said: {text}")
                stage.expect_said(turn, words)
                said = stage.gateway.sends[-1]["text"]
                self.assertTrue(said.startswith(f"{text}\n\n[Not attached: {name} could not be fetched: ") and words in said, said)
                self.assertEqual(stage.phone.final(turn.interaction).count(f"{name} could not be fetched"), 2)
                stage.check(turn)
            self.assertEqual(stage.gateway.files, [])
            await nothing_left(stage)

    @scenario(60)
    async def test_what_the_gateway_does_not_take_is_named_and_the_rest_goes(self):
        async with Stage("E4", start=False) as stage:
            stage.gateway.attachment_policy = {"maxBytes": 20_000, "maxImageBytes": 2_500}
            await stage.bridge.start()
            turn = stage.relay.ask("Look.", attachments=offered(stage.relay, *FIVE))
            await stage.ended(turn)
            self.assertEqual([file[1] for file in stage.gateway.files], ["photo.jpg", "paper.pdf", "notes.txt"])
            for name in ("fox.png", "disk.img"):
                stage.expect_said(turn, f"{name} was not passed on: the agent takes")
                self.assertIn(f"[Not attached: {name} was not passed on", stage.gateway.sends[-1]["text"])
            stage.check(turn)
            await nothing_left(stage)

    @scenario(60)
    async def test_the_bubble_is_there_at_once_and_a_later_message_waits(self):
        async with Stage("E3") as stage:
            held = Held(PNG)
            first = stage.relay.ask("First.", attachments=offered(stage.relay, ("fox.png", "image/png", held)))
            await until(lambda: stage.phone.bubble(first.interaction), 30, "the bubble")
            await until(lambda: stage.relay.fetches, 30, "the file is asked for")
            second = stage.relay.ask("Second.", session=first.session)
            other = stage.relay.ask("Elsewhere.")
            await stage.ended(other)
            self.assertEqual([send["text"] for send in stage.gateway.sends], ["Elsewhere."])
            held.gate.set()
            await stage.ended(first, second)
            self.assertEqual([send["text"] for send in stage.gateway.sends], ["Elsewhere.", "First.", "Second."])
            self.assertEqual([file[3] for file in stage.gateway.files], [PNG])
            stage.check(first, second, other)

    @scenario(60)
    async def test_stop_during_a_download_ends_it(self):
        async with Stage("E3") as stage:
            held = Held(PNG)
            turn = stage.relay.ask("Look.", attachments=offered(stage.relay, FIVE[3], ("fox.png", "image/png", held)))
            await until(lambda: len(stage.relay.fetches) == 2, 30, "the second file is asked for")
            self.assertEqual(len(on_disk(stage)), 2)
            stage.relay.stop(turn.session, turn.interaction)
            await stage.ended(turn)
            stage.expect(turn, "Stopped.")
            await nothing_left(stage)
            held.gate.set()
            after = stage.relay.ask("And now?", session=turn.session)
            await stage.ended(after)
            self.assertEqual([send["text"] for send in stage.gateway.sends], ["And now?"])
            stage.check(turn, after)

    @scenario(90)
    async def test_a_kill_between_download_and_hand_over_sends_nothing_twice_and_leaves_nothing(self):
        async with Stage("E3") as stage:
            # The first is at the agent; the second has its file and waits; the third waits for its own.
            first = stage.ask("First.", Say(["One "]), Hold("first"), Say(["done."]))
            await stage.streaming(first)
            held = Held(JPEG)
            second = stage.relay.ask("Second.", session=first.session, attachments=offered(stage.relay, FIVE[0]))
            third = stage.relay.ask("Third.", attachments=offered(stage.relay, ("photo.jpg", "image/jpeg", held)))
            await until(lambda: len(on_disk(stage)) == 2, 30, "both files are there, or are coming")
            await stage.bridge.restart_after_kill()
            await until(lambda: len(stage.relay.fetches) == 4, 30, "the next process fetches both again")
            self.assertEqual(len(on_disk(stage)), 2)
            held.gate.set()
            stage.gateway.release("first")
            await stage.ended(first, second, third)
            self.assertEqual(sorted(file[3] for file in stage.gateway.files), sorted([PNG, JPEG]))
            self.assertEqual(sorted(send["text"] for send in stage.gateway.sends), ["First.", "Second.", "Third."])
            stage.check(first, second, third)
            await nothing_left(stage)

    @scenario(90)
    async def test_a_kill_after_hand_over_sends_nothing_twice_and_never_without_its_file(self):
        async with Stage("E3") as stage:
            stage.gateway.plan("Look.", Say(["I look "]), Hold("look"), Say(["and see."]))
            turn = stage.relay.ask("Look.", attachments=offered(stage.relay, FIVE[0]))
            await until(lambda: stage.gateway.files, 30, "the agent has the file")
            await stage.bridge.restart_after_kill()
            stage.gateway.release("look")
            await stage.ended(turn)
            stage.expect(turn, "I look and see.")
            self.assertEqual([file[3] for file in stage.gateway.files], [PNG])
            stage.check(turn)
            await nothing_left(stage)

    @scenario(60)
    async def test_a_shutdown_leaves_nothing(self):
        async with Stage("E3") as stage:
            stage.relay.ask("Look.", attachments=offered(stage.relay, ("fox.png", "image/png", Held(PNG))))
            await until(lambda: on_disk(stage), 30, "the file is asked for")
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            self.assertEqual(on_disk(stage), [])


class PiFilesTests(Scenarios):
    @scenario(60)
    async def test_pictures_reach_pi_byte_for_byte_and_the_rest_is_named(self):
        files = [FIVE[0], FIVE[1], ("a.gif", "image/gif", GIF), ("b.webp", "image/webp", WEBP), FIVE[2]]
        for line in ("B", "L"):
            async with PiStage({"Look": [said("Nice.")]}, line) as stage:
                turn = stage.relay.ask("Look.", attachments=offered(stage.relay, *files))
                await stage.ended(turn)
                sentence = "paper.pdf was not passed on: pi takes pictures alone (PNG, JPEG, GIF, WebP)."
                stage.expect(turn, f"Nice.\n\n{sentence}")
                (prompt,) = stage.log("images")
                self.assertEqual(prompt["text"], f"Look.\n\n[Not attached: {sentence}]")
                images = [(image["mimeType"], base64.b64decode(image["data"])) for image in prompt["images"]]
                self.assertEqual(images, [(kind, content) for _, kind, content in files[:4]])
                stage.check(turn)
                stage.check_prompts(turn)
                await nothing_left(stage)

    @scenario(60)
    async def test_a_picture_alone_and_one_that_is_missing(self):
        async with PiStage({"Attached": [said("A fox.")]}) as stage:
            alone = stage.relay.ask("", attachments=offered(stage.relay, FIVE[0]))
            await stage.ended(alone)
            stage.expect(alone, "A fox.")
            missing = stage.relay.ask("", attachments=[{"url": f"{stage.relay.url}/none", "mime": "image/png", "name": "b.png"}])
            await stage.ended(missing)
            stage.expect(missing, "A fox.\n\nb.png could not be fetched: the server answered 404.")
            self.assertEqual(len(stage.log("images")), 1)
            await nothing_left(stage)


class OppiStage(Stage):
    """A relay, an Oppi server in one of its dialects, and the bridge between them."""

    def __init__(self, dialect):
        super().__init__(start=False)
        self._dialect = dialect

    async def __aenter__(self):
        self._home = tempfile.TemporaryDirectory(prefix="oppi-")
        self.oppi = await OppiServer(self._home.name, self._dialect).__aenter__()
        await super().__aenter__()
        await self.bridge.start()
        return self

    async def __aexit__(self, *error):
        await super().__aexit__(*error)
        await self.oppi.__aexit__()
        self._home.cleanup()

    def environment(self):
        base = super().environment()
        for name in ("OPENCLAW_URL", "OPENCLAW_TOKEN", "OPENCLAW_STATE_DIR"):
            base.pop(name)
        return base | {"SOPHON_AGENT": "oppi", "OPPI_URL": self.oppi.url, "OPPI_TOKEN": self.oppi.token}


class OppiFilesTests(Scenarios):
    @scenario(60)
    async def test_pictures_reach_oppi_byte_for_byte_and_the_rest_is_named(self):
        files = [FIVE[0], FIVE[1], ("a.gif", "image/gif", GIF), ("b.webp", "image/webp", WEBP), FIVE[2]]
        for dialect in ("seed", "head"):
            async with OppiStage(dialect) as stage:
                stage.oppi.plan("Look", oppi_steps.Say(["Nice."]))
                turn = stage.relay.ask("Look.", attachments=offered(stage.relay, *files))
                await stage.ended(turn)
                sentence = "paper.pdf was not passed on: Oppi takes pictures alone (PNG, JPEG, GIF, WebP)."
                stage.expect(turn, f"Nice.\n\n{sentence}")
                text = f"Look.\n\n[Not attached: {sentence}]"
                self.assertEqual(stage.oppi.images, [(text, kind, content) for _, kind, content in files[:4]])
                self.assertEqual(stage.oppi.prompts(), [text])
                stage.check(turn)
                await nothing_left(stage)

    @scenario(60)
    async def test_a_kill_while_a_picture_is_fetched_sends_it_once(self):
        async with OppiStage("head") as stage:
            held = Held(PNG)
            turn = stage.relay.ask("", attachments=offered(stage.relay, ("fox.png", "image/png", held)))
            await until(lambda: stage.relay.fetches, 30, "the file is asked for")
            await stage.bridge.restart_after_kill()
            held.gate.set()
            await stage.ended(turn)
            self.assertEqual(stage.oppi.images, [("Attached: fox.png", "image/png", PNG)])
            await nothing_left(stage)


class SealedFilesTests(Scenarios):
    @scenario(90)
    async def test_files_of_a_sealed_chat_reach_the_agent_and_what_is_said_of_them_is_sealed(self):
        async with sealed(era="E3") as talk:
            url = talk.stage.simulator.url

            def upload(name, options=""):
                request = urllib.request.Request(f"{url}/v1/simulator/files?name={name}{options}", PNG, {
                    "Content-Type": "image/png", "Authorization": f"Bearer {talk.stage.simulator.user_token}"})
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return json.load(answer)["result"]
            fox, gone = await talk.do(upload, "fox.png"), await talk.do(upload, "gone.png", "&status=404")
            chat = await talk.chat()
            talk.stage.gateway.plan("Look.", Say(["A fox."]))
            looked = await talk.do(talk.phone.send, chat, "Look.", attachments=[fox, gone])
            line = "gone.png could not be fetched: the server answered 404."
            self.assertEqual((await talk.ended(looked))["text"], f"A fox.\n\n{line}")
            talk.stage.gateway.plan("Attached: fox.png", Say(["The same fox."]))
            alone = await talk.do(talk.phone.send, chat, "", attachments=[fox])
            self.assertEqual((await talk.ended(alone))["text"], "The same fox.")
            self.assertEqual([file[1:] for file in talk.stage.gateway.files], [("fox.png", "image/png", PNG)] * 2)
            self.assertEqual(await talk.stage.simulator.breaches(), [])


if __name__ == "__main__":
    unittest.main()
