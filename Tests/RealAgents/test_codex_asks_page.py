"""Cards of the real Codex on the phone page, in a sealed chat. An unanswered one returns with a message and is allowed there; one answered
with words is refused, and the agent reads the words. With kills of the bridge and without."""

import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "Browser"))
from harness import BrowserTest, Keys, command, until  # noqa: E402: the browser's, not that of the acceptance tests

from codex_home import CodexHome, processes  # noqa: E402
from model import Command, Say  # noqa: E402
from test_codex_page import ModelThread  # noqa: E402


REPLIES = ([Say("I ask.", "commentary"), Command("echo ran >> log", "Write a line?")], [Say("As you decided.")])


class LiveBridge:
    """`run`, between the simulator and the real Codex."""

    def __init__(self, home, relay):
        self.state = home.directory / "state"
        base = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        self.environment = base | home.environment | {
            "SOPHON_BASE_URL": relay.base, "SOPHON_BOT_TOKEN": relay.token, "SOPHON_CONFIG_DIR": str(home.directory / "config"),
            "SOPHON_STATE_DIR": str(self.state), "SOPHON_AGENT": "codex", "SOPHON_WORKSPACE": str(home.project), "NO_COLOR": "1"}
        self.start()

    def start(self):
        self.process = subprocess.Popen(command() + ["run", "--json"], env=self.environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self):
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(30)


class CodexAsksPage(BrowserTest):
    def setUp(self):
        super().setUp()
        self.scripted = ModelThread()
        self.addCleanup(self.scripted.close)
        self.model = self.scripted.model
        self.home = CodexHome(self.model.url)
        self.relay = self.simulator()
        self.bridge = LiveBridge(self.home, self.relay)
        self.addCleanup(self.end)

    def end(self):
        """The bridge, and the server of Codex that outlives it."""
        self.bridge.kill()
        for pid in processes(f"unix://{self.home.directory}/"):
            os.kill(pid, signal.SIGKILL)

    def killed(self):
        self.bridge.kill()
        self.page.says("#bridge", "Bridge away")
        self.bridge.start()
        self.page.says("#bridge", "Bridge connected")

    def write(self, text, *replies):
        self.model.plan(text, *replies)
        self.page.write(text + Keys.ENTER)

    def pending(self):
        return [card["approval_id"] for card in self.relay.call("GET", "/v1/me/snapshot")["pending_approvals"]]

    def walk(self, step, picture):
        page = self.page
        page.open(self.relay.phone_url)
        page.says("#bridge", "Bridge connected")
        page.new_chat()
        page.says("#lock-words", "only your devices and the bridge")
        self.write("Write a line.", *REPLIES)
        page.shown("#sheet")
        page.says("#sheet", "echo ran >> log")
        first, = self.pending()
        shown = page.text("#sheet .verbatim")
        step()
        page.shown("#sheet")
        # Nobody answers: the relay ends the card, and the sheet closes by itself.
        self.relay.call("POST", "/v1/simulator/approvals/expire", {"approval_id": first})
        page.gone("#sheet")
        page.says("#asks", "Nobody answered")
        page.says("#messages", "Nobody answered. It still waits.")
        page.picture(f"codex-asks-{picture}-unanswered")
        step()
        self.write("Are you there?", [Say("I am.")])
        page.shown("#sheet")
        self.assertEqual(self.pending(), [f"{first}-ask-2"])
        self.assertEqual(page.text("#sheet .verbatim"), shown)
        page.picture(f"codex-asks-{picture}-again")
        step()
        page.shown("#sheet")
        # "Allow" is enabled after a delay for a command outside of the sandbox.
        until(lambda: page.is_enabled("#sheet .once"), "Allow has come alive")
        page.click("#sheet .once")
        page.gone("#sheet")
        step()
        # The answer ends with a line that says that this message did not decide the ask.
        until(lambda: page.newest()["state"] == "final" and page.newest()["text"].startswith("I am."),
              lambda: f"both runs have ended, not {page.newest()}", 60)
        page.says("#messages", "As you decided.")
        page.picture(f"codex-asks-{picture}-allowed")
        self.assertEqual((self.home.project / "log").read_text(), "ran\n")
        self.assertEqual((self.home.refusals(), self.pending(), self.relay.breaches()), ([], [], []))

    def test_a_card_that_nobody_answers_comes_back_and_is_allowed_once(self):
        self.walk(lambda: None, "calm")

    def test_the_same_with_the_bridge_killed_at_each_step(self):
        self.walk(self.killed, "killed")

    def refuse_in_words(self, picture, kill_after=None):
        """`kill_after` is the time in seconds from the words to a kill of the bridge."""
        page = self.page
        (self.home.project / "build").mkdir()
        page.open(self.relay.phone_url)
        page.says("#bridge", "Bridge connected")
        page.new_chat()
        page.says("#lock-words", "only your devices and the bridge")
        self.model.plan("use make clean", [Say("I used make clean.")])
        self.write("Clean up.", [Say("I ask.", "commentary"), Command("rm -r build", "Remove it?")], [Say("It is gone.")])
        page.shown("#sheet")
        page.says("#sheet", "rm -r build")
        page.says("#sheet", "or write what to do instead")
        page.picture(f"codex-words-{picture}-asked")
        page.keys(Keys.ESCAPE)
        page.gone("#sheet")
        # Words count as an answer from two seconds after the card.
        time.sleep(2.5)
        page.write("use make clean instead" + Keys.ENTER)
        if kill_after is not None:
            time.sleep(kill_after)
            self.bridge.kill()
            self.bridge.start()
        until(lambda: any("use make clean" in text for text in self.model.texts()), "the agent reads the words", 60)
        body = next(body for text, body in self.model.asked if "use make clean" in text)
        said = [item for item in body["input"] if item.get("type") == "function_call_output" or item.get("role") == "user"]
        outputs = [str(item) for item in said if item.get("type") == "function_call_output"]
        self.assertTrue(any("rejected by user" in output for output in outputs), outputs)
        self.assertIn("use make clean instead", str(said[-1]))
        until(lambda: page.newest()["state"] == "final", lambda: f"the words are answered, not {page.newest()}", 60)
        page.says("#messages", "I used make clean.")
        page.says("#messages", "Refused:")
        page.picture(f"codex-words-{picture}-refused")
        self.assertTrue((self.home.project / "build").is_dir())
        # One request has the words as its newest message; later ones have them further up.
        self.assertEqual(sum(str(body["input"]).count("use make clean instead") for _, body in self.model.asked[-1:]), 1)
        self.assertEqual((len(self.home.refusals()), self.relay.breaches()), (1, []))

    def test_words_refuse_and_the_agent_reads_them(self):
        self.refuse_in_words("calm")

    def test_the_same_with_the_bridge_killed_behind_the_words(self):
        self.refuse_in_words("killed", kill_after=float(os.environ.get("KILL_AFTER", "0.02")))


if __name__ == "__main__":
    unittest.main()
