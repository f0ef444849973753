"""The example for authors of bridges, with the page behind the simulator."""

import os
import subprocess
import sys

from harness import ROOT, BrowserTest, Keys, until


class PythonBridge(BrowserTest):
    def setUp(self):
        super().setUp()
        self.simulate = self.simulator()
        environment = {"PATH": os.environ["PATH"], "SOPHON_BASE_URL": self.simulate.base, "SOPHON_BOT_TOKEN": self.simulate.token}
        bridge = subprocess.Popen([sys.executable, ROOT / "Examples" / "python_bridge.py"], env=environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(bridge.wait)
        self.addCleanup(bridge.kill)

    def test_the_example_converses_with_the_page(self):
        page = self.page
        page.open(self.simulate.phone_url)
        page.says("#bridge", "Bridge connected")
        page.new_chat()
        page.write("Is anybody there?" + Keys.ENTER)
        until(lambda: page.newest() == {"state": "final", "role": "agent", "text": "Is anybody there?"}, "it is said back")
        page.says(".tools-words", "Used 1 tool")
        page.write("Please approve this" + Keys.ENTER)
        page.shown("#sheet")
        page.says("#sheet", "echo Please approve this")
        page.click("#sheet .once")
        page.gone("#sheet")
        until(lambda: page.newest() == {"state": "final", "role": "agent", "text": "You said yes. Please approve this"},
              "the tap came back to it")
        # The person stops a long answer.
        page.run("document.getElementById('text').value = arguments[0]", " ".join(["word"] * 1_500))
        page.write(Keys.ENTER)
        until(lambda: "word word" in page.newest()["text"] and page.newest()["role"] == "agent", "it streams")
        page.click("#stop")
        until(lambda: page.newest()["state"] == "final", "it ends")
        self.assertLess(len(page.newest()["text"].split()), 1_500)
        self.assertEqual(self.simulate.breaches(), [])
