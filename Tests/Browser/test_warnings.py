"""A sample connector's breaches of the documented rules, in the developer panel."""

import unittest

from harness import NARROW, BrowserTest


class WarningTests(BrowserTest):
    def test_the_panel_shows_what_a_strict_relay_would_refuse(self):
        program = self.program("simulate", "--listen", "127.0.0.1:0")
        page = self.page
        page.open(program.phone_url)
        page.click(".developer-toggle")
        page.shown("#developer")
        sent = program.call("POST", "/v1/simulator/sessions", {"text": "Hello, sample"})
        turn, bridge = sent["interaction_id"], lambda method, **body: program.call("POST", f"/v1/bridge/{method}", body, program.token)
        page.click("#tab-warnings")
        page.says("#log-warnings", "Nothing to warn of.")
        message = bridge("sendMessage", session_id=sent["session_id"], interaction_id=turn, text="", idempotency_key=f"{turn}:message")
        for number in range(3):
            bridge("sendMessageDelta", message_id=message["message_id"], delta="Echo ", idempotency_key=f"{turn}:delta:{number}")
        bridge("sendMessageEnd", message_id=message["message_id"], text="Echo Echo Echo", finish_reason="error",
               idempotency_key=f"{turn}:end")
        page.says("#developer .caution", "7 warnings; a strict relay refuses such a call")
        page.says("#log-warnings", "3 × sendMessageDelta")
        rows = page.texts("#log-warnings li")
        self.assertEqual(len(rows), 5, rows)
        self.assertIn("emptyPlaceholder", rows[-1])
        self.assertIn("keyOutsideAlphabet", rows[0])
        # A repeated warning replaces its earlier row.
        self.assertEqual(sum("sendMessageDelta" in row for row in rows), 1)
        page.open_chat(sent["session_id"])
        page.picture("warnings")
        page.click("#tab-calls")
        page.says("#log-calls", "warning: emptyPlaceholder, keyOutsideAlphabet")
        page.picture("warnings-calls")
        # A page opened later shows them too.
        page.reload()
        page.says("#developer .caution", "7 warnings")
        page.click("#tab-warnings")
        page.resize(NARROW)
        page.theme("dark")
        page.shown("#log-warnings li")
        page.picture("warnings-narrow-dark")
        self.assertFalse(page.is_shown("#developer .alarm"))
        self.assertEqual(program.breaches(), [])

    def test_a_strict_relay_shows_a_breach_instead(self):
        program = self.simulator()
        self.page.open(program.phone_url)
        self.page.click(".developer-toggle")
        sent = program.call("POST", "/v1/simulator/sessions", {"text": "Hello, sample"})
        with self.assertRaisesRegex(AssertionError, "must not be empty"):
            program.call("POST", "/v1/bridge/sendMessage", {
                "session_id": sent["session_id"], "interaction_id": sent["interaction_id"], "text": "",
                "idempotency_key": "key"}, program.token)
        self.page.says("#developer .alarm", "1 breach of the relay’s rules")
        self.assertFalse(self.page.is_shown("#developer .caution"))


if __name__ == "__main__":
    unittest.main()
