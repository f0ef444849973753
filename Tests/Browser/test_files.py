"""Attachments of a message: chosen, dropped, shown."""

import base64
import tempfile
import urllib.request
from pathlib import Path

from harness import Bridge, BrowserTest, Keys, until
from test_agent import GatewayThread
from test_sealed_live import LiveBridge
from peers.steps import Say  # noqa: E402: test_agent has made them findable

FOX = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="


class Files(BrowserTest):
    def setUp(self):
        super().setUp()
        self.relay = self.simulator()
        self.answered = Bridge.ask(self.relay, "one").open()
        self.answered.end("done")
        self.page.open(self.relay.phone_url)
        self.page.open_chat(self.answered.session)

    def test_files_go_along_and_pictures_are_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            picture, notes = Path(folder, "fox.png"), Path(folder, "notes.txt")
            picture.write_bytes(base64.b64decode(FOX))
            notes.write_text("read me")
            self.page.find("#files").send_keys(f"{picture}\n{notes}")
            self.page.says("#chosen", "notes.txt")
            self.page.click("#chosen li:nth-child(2) button")
            self.page.find("#files").send_keys(str(notes))
            self.page.click("#send")
            self.page.gone("#chosen")
            self.page.says(".message.user:last-of-type .attachments, .message.user .attachments", "notes.txt")
        until(lambda: self.page.run("return document.querySelector('.message.user img.picture')?.naturalWidth"), "the picture is shown")
        sent = self.relay.messages(self.answered.session)[-1]
        self.assertEqual([(file["name"], file["mime"]) for file in sent["attachments"]], [("fox.png", "image/png"), ("notes.txt", "text/plain")])
        with urllib.request.urlopen(sent["attachments"][0]["url"], timeout=30) as answer:
            self.assertEqual(answer.read(), base64.b64decode(FOX))

    def test_files_can_be_dropped_on_the_page(self):
        self.page.run("""const data = new DataTransfer(); data.items.add(new File(["hello"], "dropped.txt", { type: "text/plain" }));
            for (const name of ["dragover", "drop"]) {
              const event = new DragEvent(name, { dataTransfer: data, bubbles: true, cancelable: true });
              document.body.dispatchEvent(event);
              if (!event.defaultPrevented) throw new Error(`${name} was left to the browser`);
            }""")
        self.page.says("#chosen", "dropped.txt")
        self.page.write("Look.")
        self.page.click("#send")
        until(lambda: self.relay.messages(self.answered.session)[-1].get("attachments"), "it was sent")
        self.assertEqual(self.relay.messages(self.answered.session)[-1]["text"], "Look.")


class LiveFiles(BrowserTest):
    """Attachments through the live bridge to the agent."""

    def test_files_reach_the_agent_byte_for_byte_sealed_and_in_the_open(self):
        peer = GatewayThread()
        self.addCleanup(peer.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        relay, page = self.simulator(), self.page
        bridge = LiveBridge(folder.name, relay, peer.gateway)
        self.addCleanup(bridge.kill)
        page.open(relay.phone_url)
        page.says("#bridge", "Bridge connected")
        picture, notes = Path(folder.name, "fox.png"), Path(folder.name, "notes.txt")
        picture.write_bytes(base64.b64decode(FOX))
        notes.write_text("read me")
        for is_sealed in (True, False):
            words = "Look, sealed" if is_sealed else "Look, open"
            peer.gateway.plan(words, Say(["A fox, and a note."]))
            page.new_chat()
            if not is_sealed:
                page.click("#lock")
            page.find("#files").send_keys(f"{picture}\n{notes}")
            page.says("#chosen", "notes.txt")
            page.write(words + Keys.ENTER)
            until(lambda: page.newest()["state"] == "final", "the run has ended")
            page.says("#messages", "A fox, and a note.")
            files = [(name, kind, content) for _, name, kind, content in peer.gateway.files]
            self.assertEqual(files, [("fox.png", "image/png", picture.read_bytes()), ("notes.txt", "text/plain", b"read me")])
            peer.gateway.files.clear()
        self.assertEqual(relay.breaches(), [])
