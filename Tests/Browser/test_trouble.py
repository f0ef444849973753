"""An exception in one part of the page stays within that part."""

from harness import Bridge, BrowserTest, until


class Trouble(BrowserTest):
    def setUp(self):
        super().setUp()
        self.relay = self.simulator()
        self.asked = Bridge.ask(self.relay, "How full is the disk?").open()
        self.page.open(self.relay.phone_url)
        self.page.open_chat(self.asked.session)
        self.page.says("#title", "How full")

    def test_figures_that_are_none_are_left_out(self):
        self.asked.end("Done.", usage={"output_tokens": {"toLocaleString": 1, "toString": 1, "valueOf": 1}})
        until(lambda: self.page.newest()["state"] == "final", "the run has ended")
        self.page.says(".message.agent .foot", ":")
        self.assertNotIn("tokens", self.page.text(".message.agent .foot"))

    def test_a_part_of_the_page_that_fails_is_reported_once_and_takes_no_other_with_it(self):
        # Without its title the chat can no longer be drawn.
        self.page.run("document.getElementById('title').remove()")
        self.asked.delta("It is ", "full")
        self.asked.approval("a", title="Look at the disk", command="df -h")
        self.page.says("#sheet-title", "Look at the disk")
        self.page.click("#sheet .deny")
        self.page.gone("#sheet")
        reports = self.page.console()
        self.assertEqual(len(reports), 1, reports)
        self.assertIn("TypeError", reports[0])
