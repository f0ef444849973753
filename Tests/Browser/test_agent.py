"""A real agent's protocol behind the page: `demo --agent`, with the live bridge between them."""

import asyncio
import os
import sys
import tempfile
import threading
from pathlib import Path

from harness import NARROW, ROOT, BrowserTest, Keys, until

sys.path.append(str(ROOT / "Tests" / "Acceptance"))
from claude_double import ClaudeDouble  # noqa: E402
from peers.claude_steps import edit  # noqa: E402
from peers.gateway import Gateway  # noqa: E402
from peers.steps import Approval, Hold, Say, Tool  # noqa: E402
from pi_home import PiHome, said  # noqa: E402


class GatewayThread:
    """The scripted gateway of the acceptance tests, on a thread of its own."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.gateway = self.run(self._begin())

    def run(self, what):
        return asyncio.run_coroutine_threadsafe(what, self.loop).result(30)

    async def _begin(self):
        return await Gateway("E3").__aenter__()

    def release(self, name):
        self.loop.call_soon_threadsafe(self.gateway.release, name)

    def close(self):
        self.run(self.gateway.__aexit__())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(30)


class Agent(BrowserTest):
    def setUp(self):
        super().setUp()
        self.peer = GatewayThread()
        self.addCleanup(self.peer.close)

    def demo(self, folder, *options):
        gateway = self.peer.gateway
        program = self.program("demo", "--agent", "openclaw", *options, environment={
            "OPENCLAW_URL": gateway.url, "OPENCLAW_TOKEN": gateway.token, "TMPDIR": folder, "HOME": folder,
            "OPENCLAW_STATE_DIR": str(Path(folder) / "openclaw")})
        self.page.open(program.phone_url, NARROW)
        self.page.says("#bridge", "Bridge connected")
        self.page.new_chat()
        return program

    def test_a_long_answer_grows_before_the_eyes_in_at_least_five_steps(self):
        page = self.page
        pieces = [f"part {number}, " for number in range(8)]
        self.peer.gateway.plan("Tell me a story", *(step for piece in pieces for step in (Say([piece]), Hold(piece))))
        with tempfile.TemporaryDirectory() as folder:
            with page.noting_steps():
                program = self.demo(folder)
            page.write("Tell me a story" + Keys.ENTER)
            for piece in pieces:
                # The agent continues once the page shows its text, however long that takes.
                page.says(".message.agent .body", piece.strip())
                self.peer.release(piece)
            until(lambda: page.newest()["state"] == "final", "the run has ended")
            texts = page.steps(page.run("return document.querySelector('.message.agent').dataset.interaction"))
            texts = [text for text in texts if text != "Thinking…"]
            self.assertGreaterEqual(len(texts), 5, texts)
            for shorter, longer in zip(texts, texts[1:]):
                self.assertTrue(longer.startswith(shorter.rstrip()), (shorter, longer))
            self.assertEqual(page.newest()["text"].strip(), "".join(pieces).strip())
            self.assertEqual(program.breaches(), [])

    def test_in_the_open_the_agent_is_talked_to_as_well(self):
        self.peer.gateway.plan("How are you?", Say(["Quite well."]))
        with tempfile.TemporaryDirectory() as folder:
            program = self.demo(folder, "--plain")
            self.page.says("#lock-words", "The bridge has registered no device")
            self.page.write("How are you?" + Keys.ENTER)
            until(lambda: self.page.newest()["text"] == "Quite well.", "it is answered")
            self.assertEqual(self.page.attribute("#lock", "data-lock"), "open")
            self.assertEqual(program.breaches(), [])

    def test_the_page_talks_to_a_gateway_through_the_live_bridge(self):
        page, gateway = self.page, self.peer.gateway
        gateway.plan("How full is the disk?", Say(["Let me ", "look. "]), Tool("exec", {"command": "ls /"}),
                     Approval("df -h /", detached=False), Say(["It is ", "61% full."]))
        with tempfile.TemporaryDirectory() as folder:
            program = self.demo(folder)
            page.write("How full is the disk?" + Keys.ENTER)
            page.shown("#sheet")
            page.says("#sheet", "df -h /")
            page.click("#sheet .once")
            page.gone("#sheet")
            until(lambda: page.newest()["state"] == "final", "the run has ended")
            self.assertIn("61% full.", page.newest()["text"])
            page.says(".tools-words", "Ran")
            self.assertEqual(page.attribute("#lock", "data-lock"), "sealed")
            session, = (session["session_id"] for session in program.call("GET", "/v1/me")["sessions"])
            self.assertNotIn("61%", str(program.messages(session)))
            page.picture("agent-narrow")
            self.assertEqual(program.breaches(), [])
            page.browser.get("about:blank")
            self.assertEqual(program.stop(), 0)
            self.assertEqual([name for name in os.listdir(folder) if name.startswith("sophon-demo")], [])


class PiTest(BrowserTest):
    """`demo --agent pi`: the agent is a child of the program."""

    def test_the_page_talks_to_pi_through_the_live_bridge(self):
        page = self.page
        plans = {"full": [said("Let me ", "look."), {"tool": {}}, {"confirm": {"title": "Clean up?", "message": "rm -r cache",
                                                                            "yes": "It was 61% full.", "no": "As you like."}}]}
        with tempfile.TemporaryDirectory() as folder:
            home = PiHome(Path(folder) / "pi", plans)
            program = self.program("demo", "--agent", "pi", environment=home.bridge_environment | {"TMPDIR": folder, "HOME": folder})
            page.open(program.phone_url, NARROW)
            page.says("#bridge", "Bridge connected")
            page.new_chat()
            page.write("How full is the disk?" + Keys.ENTER)
            page.shown("#sheet")
            page.says("#sheet", "Clean up?")
            page.click("#sheet .once")
            page.gone("#sheet")
            until(lambda: page.newest()["state"] == "final", "the run has ended")
            self.assertIn("It was 61% full.", page.newest()["text"])
            page.says(".tools-words", "Ran 1 command")
            page.picture("agent-pi-narrow")
            self.assertEqual(program.breaches(), [])
            child = home.child()
            page.browser.get("about:blank")
            self.assertEqual(program.stop(), 0)
            until(lambda: not Path(f"/proc/{child}").exists(), "the child is gone with the demo")


class ClaudeTest(BrowserTest):
    """`demo --agent claude`: a process of Claude Code for the chat."""

    def test_the_page_talks_to_claude_code_through_the_live_bridge(self):
        page = self.page
        with tempfile.TemporaryDirectory() as folder:
            double = ClaudeDouble(Path(folder) / "claude")
            self.addCleanup(double.end)
            beds = double.folder / "beds.txt"
            beds.write_text("roses: red\n")
            double.plan("Paint the roses", Say(["Let me look."]), edit(beds, "red", "white"), Say(["They are white."]))
            program = self.program("demo", "--agent", "claude", environment=double.bridge_environment | {"TMPDIR": folder, "HOME": folder})
            page.open(program.phone_url, NARROW)
            page.says("#bridge", "Bridge connected")
            page.new_chat()
            page.write("Paint the roses" + Keys.ENTER)
            page.shown("#sheet")
            for words in ("beds.txt", "-red", "+white", "all edits in this folder"):
                page.says("#sheet", words)
            self.assertEqual(page.texts("#sheet .actions button"), ["Allow", "Allow always", "Deny", "or write what to do instead"])
            page.picture("agent-claude-card-narrow")
            until(lambda: page.is_enabled("#sheet .once"), "Allow has come alive")
            page.click("#sheet .once")
            page.gone("#sheet")
            until(lambda: page.newest()["state"] == "final", "the run has ended")
            self.assertIn("They are white.", page.newest()["text"])
            self.assertEqual(beds.read_text(), "roses: white\n")
            page.picture("agent-claude-narrow")
            self.assertEqual(program.breaches(), [])
            page.browser.get("about:blank")
            self.assertEqual(program.stop(), 0)
            until(lambda: not double.processes(), "the process is gone with the demo")
