"""`demo --agent codex` with the real Codex on the phone page: text, tools, an approval, a stop, an error."""

import asyncio
import os
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "Browser"))
from harness import NARROW, WIDE, BrowserTest, Keys, until  # noqa: E402: the browser's, not that of the acceptance tests

from codex_home import CodexHome  # noqa: E402
from model import Command, Failed, Hold, Model, Patch, Say, Think  # noqa: E402

LABELS = "*** Begin Patch\n*** Add File: labels.txt\n+beans\n+peas\n*** End Patch\n"
REPORT = "There are **3 packets**:\n\n1. `a`, beans\n2. `b`, peas\n3. `c`, nothing yet\n\n```sh\nls packets | wc -l\n```\n"


class ModelThread:
    """The scripted model, on a thread of its own."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.model = self.run(Model().__aenter__())

    def run(self, what):
        return asyncio.run_coroutine_threadsafe(what, self.loop).result(30)

    def release(self, name):
        self.loop.call_soon_threadsafe(self.model.release, name)

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(30)


class CodexPage(BrowserTest):
    def setUp(self):
        super().setUp()
        self.scripted = ModelThread()
        self.addCleanup(self.scripted.close)
        self.model = self.scripted.model
        self.home = CodexHome(self.model.url)
        temporary = self.home.directory / "tmp"
        temporary.mkdir()
        self.program_ = self.program("demo", "--agent", "codex", environment=self.home.environment | {
            "SOPHON_WORKSPACE": str(self.home.project), "TMPDIR": str(temporary)})
        self.temporary = temporary

    def ended(self, text):
        until(lambda: self.page.newest()["state"] == "final" and text in self.page.newest()["text"],
              lambda: f"the run ends with {text!r}, not {self.page.newest()}", 60)

    def write(self, text, *replies):
        self.model.plan(text, *replies)
        self.page.write(text + Keys.ENTER)

    def test_a_conversation_as_a_person_sees_it(self):
        page = self.page
        page.open(self.program_.phone_url, WIDE, "light")
        page.says("#bridge", "Bridge connected")
        page.new_chat()
        page.says("#lock-words", "only your devices and the bridge")

        self.write("Count the packets.", [Think("**Looking**\n\nI count."), Say("I look.", "commentary"), Command("ls packets | wc -l")],
                   [Say("There are "), Hold("rest"), Say(REPORT)])
        page.says("#messages", "There are")
        page.says(".tools-words", "Ran 1 command")
        page.picture("codex-wide-light-streams")
        self.scripted.release("rest")
        self.ended("3 packets")
        page.click(".tools > summary")
        page.click(".card summary")
        page.says(".card", "ls packets | wc -l")
        page.picture("codex-wide-light-tool")

        # An approval, allowed in the narrow page and the dark theme.
        page.resize(NARROW)
        page.theme("dark")
        self.write("Throw away the mouldy labels.", [Say("I ask.", "commentary"), Command("rm -r labels/mouldy", "Delete the mouldy labels?")],
                   [Say("They are gone.")])
        page.shown("#sheet")
        page.says("#sheet", "rm -r labels/mouldy")
        page.picture("codex-narrow-dark-asks")
        page.click("#sheet .once")
        page.gone("#sheet")
        self.ended("They are gone.")
        self.assertFalse((self.home.project / "labels" / "mouldy").exists())
        page.picture("codex-narrow-dark-allowed")

        self.write("Write the labels.", [Say("I add one file.", "commentary"), Patch(LABELS)], [Say("The labels are written.")])
        self.ended("The labels are written.")
        page.says("#agent-files", "labels.txt")
        page.picture("codex-narrow-dark-file")

        self.write("Talk.", [Say("Once upon a time, " + "in a small town, " * 2_000, every=0.05)])
        page.says("#messages", "Once upon a time")
        page.click("#stop")
        until(lambda: page.newest()["state"] == "final", "the run was stopped", 60)
        page.gone("#stop")
        page.picture("codex-narrow-dark-stopped")

        self.write("Use up the plan.", [Failed("usage_limit_reached", "You have hit your usage limit.")])
        self.ended("usage limit")
        page.theme("light")
        page.picture("codex-narrow-light-error")
        self.assertLessEqual(page.run("return document.documentElement.scrollWidth"), NARROW[0])

        # Codex's models are on the page.
        page.click("#model-menu summary")
        until(lambda: page.count("#model option") > 1, "models are listed", 60)
        page.picture("codex-narrow-light-models")
        page.click("#model-menu summary")
        self.assertEqual(self.program_.breaches(), [])
        page.browser.get("about:blank")
        self.assertEqual(self.program_.stop(), 0)
        self.assertEqual([name for name in os.listdir(self.temporary) if name.startswith("sophon-demo")], [])


if __name__ == "__main__":
    unittest.main()
