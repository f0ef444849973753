"""A sealed chat through the live bridge, in which the page, the relay and the bridge each go away and return."""

import os
import signal
import subprocess
import tempfile
from pathlib import Path

from harness import BrowserTest, Keys, command, until
from test_agent import GatewayThread
from peers.steps import Approval, Fail, Hold, Say, Tool  # noqa: E402: test_agent has made them findable

WORDS = ("treasure", "old oak", "dig --deep", "seven feet", "Thank you", "welcome")


class LiveBridge:
    """`run`, between a relay and a gateway."""

    def __init__(self, folder, relay, gateway, admin=False):
        """With `admin` the bridge requests the scope for edits of routines."""
        base = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "LANG") if name in os.environ}
        self.environment = base | {
            "HOME": folder, "SOPHON_BASE_URL": relay.base, "SOPHON_BOT_TOKEN": relay.token, "SOPHON_CONFIG_DIR": f"{folder}/config",
            "SOPHON_STATE_DIR": f"{folder}/state", "SOPHON_AGENT": "openclaw", "OPENCLAW_URL": gateway.url,
            "OPENCLAW_TOKEN": gateway.token, "OPENCLAW_STATE_DIR": f"{folder}/openclaw", "NO_COLOR": "1"}
        if admin:
            Path(folder, "config").mkdir(mode=0o700)
            Path(folder, "config", "bridge.json").write_text('{"connections": [{"agent": {"kind": "openclaw", "admin": true}}]}')
        self.start()

    def start(self):
        self.process = subprocess.Popen(command() + ["run", "--json"], env=self.environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self):
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(30)


class SealedLive(BrowserTest):
    def setUp(self):
        super().setUp()
        self.peer = GatewayThread()
        self.addCleanup(self.peer.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.relay = self.simulator()
        self.bridge = LiveBridge(self.folder, self.relay, self.peer.gateway)
        self.addCleanup(self.bridge.kill)

    def test_a_failed_and_a_stopped_run_of_the_bridge_are_known_as_what_they_are_after_a_reload_too(self):
        page, gateway = self.page, self.peer.gateway
        gateway.plan("One", Say(["Begun, "]), Fail())
        gateway.plan("Two", Say(["Once upon a time"]), Hold("never"))
        gateway.plan("Three", Say(["All of it."]))
        page.open(self.relay.phone_url)
        page.says("#bridge", "Bridge connected")
        page.new_chat()
        ended = lambda *wanted: until(lambda: page.run(  # noqa: E731
            """return [...document.querySelectorAll(".message.agent[data-state=final]")].map((row) => row.dataset.ending ?? "by itself")""") == list(wanted), wanted)
        page.write("One" + Keys.ENTER)
        ended("failed")
        page.write("Two" + Keys.ENTER)
        page.says(".message.agent:last-child .body", "Once upon a time")
        page.click("#stop")
        ended("failed", "stopped")
        page.write("Three" + Keys.ENTER)
        ended("failed", "stopped", "by itself")
        page.reload()
        ended("failed", "stopped", "by itself")
        self.assertEqual(page.attribute("#lock", "data-lock"), "sealed")
        # The page copies any text that it can read.
        page.run("navigator.clipboard.writeText = async (text) => void (window.copied = text)")
        page.click(".message.agent:last-child .copy-message")
        until(lambda: page.run("return window.copied") == "All of it.", "it is copied")
        page.click(".again")
        self.assertEqual(page.run("return document.getElementById('text').value"), "One")
        self.assertEqual(self.relay.breaches(), [])

    def test_it_streams_asks_is_answered_and_outlives_a_reload_and_a_killed_bridge(self):
        page, gateway = self.page, self.peer.gateway
        gateway.plan("Where is the treasure?", Say(["Under the ", "old oak, "]), Tool("exec", {"command": "measure"}, output="seven feet"),
                     Approval("dig --deep", detached=False), Hold("killed"), Say(["and seven feet ", "down."]))
        gateway.plan("Thank you", Say(["You are welcome."]))
        page.open(self.relay.phone_url)
        page.says("#bridge", "Bridge connected")
        page.new_chat()
        page.says("#lock-words", "only your devices and the bridge")
        page.write("Where is the treasure?" + Keys.ENTER)
        page.shown("#sheet")
        page.says("#sheet", "dig --deep")
        page.reload()
        page.shown("#sheet")
        page.says("#sheet", "dig --deep")
        page.click("#sheet .once")
        page.gone("#sheet")
        # The agent continues while the bridge is dead.
        self.bridge.kill()
        page.says("#bridge", "Bridge away")
        self.peer.release("killed")
        self.bridge.start()
        until(lambda: page.newest()["state"] == "final", "the run has ended")
        text = page.newest()["text"]
        self.assertTrue(text.startswith("Under the old oak,") and text.endswith("and seven feet down."), text)
        page.reload()
        until(lambda: page.newest()["text"] == text, "it is read again")
        self.assertEqual(page.attribute("#lock", "data-lock"), "sealed")
        page.write("Thank you" + Keys.ENTER)
        until(lambda: page.newest()["text"] == "You are welcome.", "the chat goes on under its key")
        page.picture("sealed-live")
        self.assertNotIn("Not sealed", page.text("#messages"))
        sessions = self.relay.call("GET", "/v1/me")["sessions"]
        stored = str([self.relay.messages(session["session_id"]) for session in sessions])
        journal = b"".join(file.read_bytes() for file in Path(self.folder, "state").rglob("*") if file.is_file())
        for words in WORDS:
            self.assertNotIn(words, stored)
            self.assertNotIn(words.encode(), journal)
        self.assertEqual(self.relay.breaches(), [])
