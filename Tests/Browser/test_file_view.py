"""Files touched by the agent's tools, opened on the page through the live bridge: sealed and in the open."""

import base64
import os
import tempfile
from pathlib import Path

from harness import BrowserTest, Keys, until
from test_agent import GatewayThread
from test_files import FOX
from test_sealed_live import LiveBridge
from peers.steps import Say, Tool  # noqa: E402: test_agent has made them findable

FILES = ("notes.md", "fox.png", "gone.txt", "grown.txt")
NOTES = "# Treasure\nunder the old oak, <b>seven</b> feet down\n"


class FileView(BrowserTest):
    def setUp(self):
        super().setUp()
        self.peer = GatewayThread()
        self.addCleanup(self.peer.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = Path(folder.name).resolve() / "work"
        self.work.mkdir()
        self.relay = self.simulator()
        self.bridge = LiveBridge(folder.name, self.relay, self.peer.gateway)
        self.addCleanup(self.bridge.kill)
        (self.work / "notes.md").write_text(NOTES)
        (self.work / "fox.png").write_bytes(base64.b64decode(FOX))
        (self.work / "gone.txt").write_text("x")
        (self.work / "grown.txt").write_text("x")
        self.peer.gateway.plan("Go.", *[Tool("write", {"path": str(self.work / name)}) for name in FILES], Say(["Done."]))

    def open_and_look(self, isSealed):
        page = self.page
        page.open(self.relay.phone_url)
        page.says("#bridge", "Bridge connected")
        page.new_chat()
        if not isSealed:
            page.click("#lock")
            until(lambda: page.attribute("#lock", "data-lock") == "open", "the chat is not to be sealed")
        page.write("Go." + Keys.ENTER)
        for name in FILES:
            page.says("#agent-files", name)
        self.look("notes.md", lambda: page.says("#file-body", "under the old oak, <b>seven</b> feet down"))
        self.look("fox.png", lambda: until(lambda: page.run("return document.querySelector('#file-body img')?.naturalWidth"), "the picture is shown"))
        os.unlink(self.work / "gone.txt")
        self.look("gone.txt", lambda: page.says("#file-body", "not there any more"))
        (self.work / "grown.txt").write_bytes(b"x" * 1_600_000)
        self.look("grown.txt", lambda: page.says("#file-body", "larger than 1.5 MiB"))
        page.reload()
        page.says("#agent-files", "notes.md")
        self.look("notes.md", lambda: (page.says("#file-body", "Treasure"), page.picture(f"file-view-{'sealed' if isSealed else 'open'}")))
        self.assertEqual(self.relay.breaches(), [])

    def look(self, name, check):
        self.page.run("[...document.querySelectorAll('#agent-files button')].find((button) => button.textContent.includes(arguments[0])).click()", name)
        self.page.shown("#file-view")
        self.page.says("#file-name", name)
        check()
        self.page.click("#file-view .primary")
        self.page.gone("#file-view")

    def listed(self):
        return [file for session in self.relay.call("GET", "/v1/me")["sessions"]
                for file in self.relay.call("GET", f"/v1/me/sessions/{session['session_id']}/files")["files"]]

    def test_in_the_open(self):
        self.open_and_look(False)
        self.assertEqual({file["path"] for file in self.listed()}, {str(self.work / name) for name in FILES})

    test_in_the_open.complaints = ("404", "413")

    def test_sealed_the_relay_learns_neither_names_nor_content(self):
        self.open_and_look(True)
        self.assertEqual(len(self.listed()), len(FILES))
        self.assertNotIn("notes", str(self.listed()))

    test_sealed_the_relay_learns_neither_names_nor_content.complaints = ("404", "413")
