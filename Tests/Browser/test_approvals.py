"""Several questions that wait at the same time: the sheet goes from one to the next."""

from harness import Bridge, BrowserTest, until


class Approvals(BrowserTest):
    def setUp(self):
        super().setUp()
        self.relay = self.simulator()
        self.cleaning = Bridge.ask(self.relay, "Clean up").open()
        self.page.open(self.relay.phone_url)
        self.page.open_chat(self.cleaning.session)

    def ask(self, approval, title, severity):
        self.cleaning.approval(approval, title=title, severity=severity, command="ls")

    def decided_elsewhere(self, approval):
        self.relay.call("POST", f"/v1/me/approvals/{approval}", {"decision": "deny"})

    def waiting(self):
        return [approval["approval_id"] for approval in self.relay.call("GET", "/v1/me/snapshot")["pending_approvals"]]

    def test_a_dangerous_question_that_follows_another_one_on_the_sheet_comes_alive(self):
        self.ask("a-1", "First", "medium")
        self.page.says("#sheet-title", "First")
        # The page's clock stands until the buttons were looked at.
        self.page.run("const real = performance.now.bind(performance), at = real(); performance.now = () => (window.isOver ? real() : at)")
        self.ask("a-2", "Second", "high")
        self.decided_elsewhere("a-1")
        self.page.says("#sheet-title", "Second")
        self.assertFalse(self.page.is_enabled("#sheet .once"))
        self.page.run("window.isOver = true")
        until(lambda: self.page.is_enabled("#sheet .once"), "Allow has come alive")
        self.page.click("#sheet .once")
        self.page.gone("#sheet")
        self.assertEqual(self.waiting(), [])

    def test_a_question_that_follows_another_one_on_the_sheet_closes_it_when_it_is_answered(self):
        self.ask("a-1", "First", "medium")
        self.page.says("#sheet-title", "First")
        self.ask("a-2", "Second", "medium")
        self.ask("a-3", "Third", "low")
        self.decided_elsewhere("a-1")
        for title in ("Second", "Third"):
            self.page.says("#sheet-title", title)
            self.page.click("#sheet .once")
        self.page.gone("#sheet")
        self.assertEqual(self.waiting(), [])
