"""The end of a run is shown and stays shown; the message of a failed one can be sent again."""

from harness import NARROW, WIDE, Bridge, BrowserTest, Keys, until

NEVER_BEGAN = "Stopped before it began, so the agent did not get this message. Please send it again if it is still meant."
LIMIT = "The model's rate limit is reached. Please wait a little and ask again. (429 too many requests)"


class Endings(BrowserTest):
    def setUp(self):
        super().setUp()
        self.relay = self.simulator()

    def begin(self, text="Tell me a story", size=NARROW, session=None):
        run = Bridge.ask(self.relay, text, session).open()
        self.page.open(self.relay.phone_url, size, "light")
        self.page.open_chat(run.session)
        return run

    def ending(self):
        return self.page.run("return [...document.querySelectorAll('.message.agent')].map((row) => row.dataset.ending ?? null)")

    def foot(self):
        return self.page.run("return [...document.querySelectorAll('.message.agent .foot')].at(-1).innerText")

    def final(self):
        until(lambda: self.page.newest()["state"] == "final", "the run has ended")

    def test_a_run_that_was_stopped_says_so_after_a_reload(self):
        page = self.page
        run = self.begin()
        other = Bridge.ask(self.relay, "And another", run.session).open()
        run.delta("Once upon a time")
        until(lambda: page.count(".message.agent") == 2, "both runs are there")
        page.click("#stop")
        until(lambda: self.relay.call("GET", "/v1/simulator/state")["pending_updates"] >= 4, "both stops are on their way")
        run.end("Once upon a time")
        other.end("Stopped.")
        self.final()
        until(lambda: self.ending() == ["stopped", "stopped"], "both are marked")
        page.reload()
        page.says("#messages", "Once upon a time")
        until(lambda: self.ending() == ["stopped", "stopped"], "both are marked after a reload too")
        self.assertIn("Stopped", self.foot())
        page.picture("stopped-narrow-light")
        # A run that had ended before the Stop came does not count as stopped.
        third = Bridge.ask(self.relay, "Quick", run.session).open()
        until(lambda: page.count(".message.agent") == 3, "the third run is there")
        page.click("#stop")
        third.end("All of it.", finish_reason="stop")
        self.final()
        self.assertEqual(self.ending()[-1], None)

    def test_a_stop_that_the_relay_refused_marks_nothing(self):
        page = self.page
        with page.beforehand("""const real = window.fetch; window.fetch = async (path, options) => (String(path).endsWith("/stop")
              ? Response.json({ ok: false, error: { code: "too_busy", message: "No stop just now." } }, { status: 503 }) : real(path, options));"""):
            run = self.begin()
        page.click("#stop")
        page.says("#compose-error", "No stop just now.")
        run.end("Once upon a time there was an end.")
        self.final()
        self.assertEqual(self.ending(), [None])

    def test_a_run_that_failed_looks_failed_and_can_be_tried_again(self):
        page = self.page
        run = self.begin("Summarise my mail")
        run.end(f"I began.\n\n{LIMIT}")
        self.final()
        until(lambda: self.ending() == ["failed"], "it is marked")
        self.assertTrue(self.foot().startswith("Failed"), self.foot())
        colour = "return getComputedStyle(document.querySelector(arguments[0])).borderColor"
        self.assertNotEqual(page.run(colour, "[data-ending=failed] .bubble"), page.run("""const bubble = document.createElement("div"), row = document.createElement("li");
            bubble.className = "bubble"; row.className = "message agent"; row.append(bubble); document.getElementById("messages").append(row);
            const colour = getComputedStyle(bubble).borderColor; row.remove(); return colour"""))
        page.picture("failed-narrow-light")
        page.theme("dark")
        page.picture("failed-narrow-dark")
        page.write("Please")
        page.click(".again")
        # The text goes into the box, and is not sent.
        self.assertEqual(page.run("return document.getElementById('text').value"), "Please\nSummarise my mail")
        self.assertEqual(page.focused(), "text")
        self.assertEqual([message["text"] for message in self.relay.messages(run.session) if message["role"] == "user"], ["Summarise my mail"])
        page.keys(Keys.ENTER)
        until(lambda: page.count(".message.user") == 2, "it was sent as it stood")

    def test_only_the_bridges_own_words_at_the_end_or_the_relays_mark_make_a_failure(self):
        messages = [
            ({"text": LIMIT}, "failed"), ({"text": f"So far.\n\n{LIMIT}\n\nThe model a was not set."}, "failed"), ({"text": f"{LIMIT}\n\nThat was\n\nthe message."}, None),
            ({"text": f"It said: {LIMIT}"}, None), ({"text": LIMIT, "reason": "stop"}, None), ({"text": "x", "reason": "error"}, "failed"),
            ({"text": "x", "reason": "cancelled"}, "stopped"), ({"text": "Stopped."}, "stopped"), ({"text": NEVER_BEGAN}, "stopped"), ({"text": "x", "interaction": "int_s"}, "stopped"),
            ({"text": LIMIT, "role": "user"}, None), ({"text": LIMIT, "isFinal": False}, None), ({"text": LIMIT, "interaction": None}, None),
            ({"text": "x", "reason": "length"}, "length"), ({"text": "x", "reason": "constructor"}, None),
        ]
        self.page.open(self.relay.phone_url)
        found = self.browser.execute_async_script("""const [messages, done] = arguments; import("/phone/endings.js").then(({ endingOf }) => done(messages.map((message) =>
            endingOf({ role: "agent", isFinal: true, reason: null, interaction: "int_r", ...message }, new Set(["int_s"])))))""", [message for message, _ in messages])
        self.assertEqual(found, [ending for _, ending in messages])

    def test_a_message_is_copied_as_it_was_written(self):
        page = self.page
        with page.beforehand("window.copied = []; navigator.clipboard.writeText = async (text) => void window.copied.push(text);"):
            run = self.begin("What *is* it?", WIDE)
            run.delta("**Bold**")
            page.says(".message.agent strong", "Bold")
            self.assertFalse(page.is_shown(".message.agent .copy-message"), "what still grows is not copied")
            run.end("**Bold** and `code`:\n\n```\nls\n```")
            self.final()
            page.run("document.querySelector('.message.user .copy-message').focus()")
            page.keys(Keys.ENTER)
            page.keys(Keys.TAB, Keys.TAB, Keys.TAB)
            self.assertIn("copy-message", page.focused())
            page.keys(Keys.ENTER)
            page.says("#announcer", "Copied")
            page.click(".code .copy")
            until(lambda: len(page.run("return window.copied")) == 3, "three were copied")
        self.assertEqual(page.run("return window.copied"), ["What *is* it?", "**Bold** and `code`:\n\n```\nls\n```", "ls"])
        self.assertEqual(page.attribute(".message.agent .copy-message", "aria-label"), "Copied")
