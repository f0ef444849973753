"""The demo from a person's view: recorded runs through the real bridge, and a page in front of them."""

from harness import NARROW, WIDE, BrowserTest, Keys, until


class Demo(BrowserTest):
    def demo(self, size=WIDE, theme="light", *options):
        program = self.program("demo", "--stay", *options)
        self.page.open(program.phone_url, size, theme)
        return program

    def test_recorded_runs_stream_fold_ask_and_end(self):
        page = self.page
        with page.noting_steps():
            program = self.demo()
        # The first run: a growing answer. A page that loads slowly may find the second one begun.
        self.open_chat_called("Say hello in three short sentences.")
        page.says("#messages", "What shall we do today?")
        until(lambda: page.newest()["state"] == "final", "the first run has ended")
        steps = page.steps(page.run("return document.querySelector('.message.agent').dataset.interaction"))
        # test_agent checks their number, with an agent that waits for the page: here late pieces are joined.
        texts = [text for text in steps if text != "Thinking…"]
        self.assertTrue(texts[-1].endswith("What shall we do today?"), texts)
        for shorter, longer in zip(texts, texts[1:]):
            self.assertTrue(longer.startswith(shorter.rstrip()), (shorter, longer))
        page.picture("demo-wide-light-answer")
        # The relay stores no plain text, as with the real phone.
        self.assertEqual(page.attribute("#lock", "data-lock"), "sealed")
        stored = str([program.messages(session["session_id"]) for session in program.call("GET", "/v1/me")["sessions"]])
        self.assertIn("text_ct", stored)
        self.assertNotIn("What shall we do today?", stored)

        # The second: a tool that folds and opens.
        self.open_chat_called("Count the seed packets.")
        page.says(".tools-words", "Ran 1 command")
        until(lambda: page.newest()["state"] == "final", "the second run has ended")
        self.assertFalse(page.is_shown(".card"))
        page.click(".tools > summary")
        page.click(".card summary")
        page.says(".card-label", "ls packets | wc -l")
        page.says(".card .part:nth-of-type(1)", "ls packets | wc -l")
        page.says(".card .part:nth-of-type(2) h3", "Output")
        page.says(".card .part:nth-of-type(2) pre", "42")
        page.picture("demo-wide-light-tool")

        # The third asks, and nobody but the person answers.
        until(lambda: any("approval" in line for line in page.texts(".row-line")), "the third run asks")
        page.shown(".badge[data-kind=asks]")
        page.click("#asks button")
        page.shown("#sheet")
        page.says("#sheet", "df -h /")
        self.assertEqual(page.focused(), "deny")
        page.says("#subtitle", "Waits for your approval")
        page.picture("demo-wide-light-asks")
        page.click("#sheet .once")
        page.gone("#sheet")
        page.says("#messages", "Your disk is 61% full")
        until(lambda: page.newest()["state"] == "final", "the third run has ended")
        page.says(".tools-words", "Ran 1 command")
        self.assertEqual(program.breaches(), [])

    def test_what_is_denied_is_not_done(self):
        page = self.page
        self.demo(NARROW, "dark")
        until(lambda: any("approval" in line for line in page.texts(".row-line")), "a run asks")
        page.picture("demo-narrow-dark-list")
        page.click(".chats a:has(.badge[data-kind=asks])")
        page.shown("#sheet")
        page.picture("demo-narrow-dark-asks")
        page.click("#sheet .deny")
        page.gone("#sheet")
        until(lambda: page.newest()["state"] == "final", "the run has ended")
        self.assertIn("I will leave it", page.newest()["text"])
        self.assertNotIn("61%", page.text("#messages"))

    def test_what_the_person_writes_starts_a_run_and_stop_stops_it(self):
        page, program = self.page, self.demo()
        # The bridge's calls are slow enough to keep the run open to the end of this test.
        program.call("POST", "/v1/simulator/faults", {"kind": "slow", "milliseconds": 8_000, "count": 50})
        page.new_chat()
        page.says("#lock-words", "only your devices and the bridge")
        page.write("Tell me something" + Keys.ENTER)
        until(lambda: page.newest()["role"] == "agent" and page.newest()["state"] == "open", "a run has begun")
        page.click("#stop")
        program.call("DELETE", "/v1/simulator/faults")
        until(lambda: page.newest()["state"] == "final", "the run was stopped", 60)
        page.gone("#stop")
        page.write("And again" + Keys.ENTER)
        # Before it is shown, the newest is the stopped run.
        until(lambda: page.count(".message.user") == 2, "the second message is shown")
        until(lambda: page.newest()["role"] == "agent" and page.newest()["state"] == "final", "another run has ended")
        self.assertEqual(page.count(".message.user"), 2)
        self.assertEqual(page.attribute("#lock", "data-lock"), "sealed")
        self.assertNotIn("Not sealed", page.text("#messages"))
        self.assertEqual(page.run("return location.hash").split("/")[1], "chat")
        self.assertEqual(program.breaches(), [])

    def test_in_the_open_all_is_as_with_a_phone_that_does_not_seal(self):
        page, program = self.page, self.demo(WIDE, "light", "--plain")
        page.says("#messages", "What shall we do today?")
        until(lambda: page.newest()["state"] == "final", "the first run has ended")
        self.assertEqual(page.attribute("#lock", "data-lock"), "open")
        session = page.run("return location.hash").split("/")[-1]
        self.assertIn("What shall we do today?", program.messages(session)[-1]["text"])
        self.assertEqual(program.breaches(), [])

    def test_models_are_listed_and_routines_are_kept_while_it_runs(self):
        page, program = self.page, self.demo()
        page.new_chat()
        page.click("#model-menu summary")
        page.choose("#model", "Thorough")
        page.says("#model-name", "Thorough")
        page.click("#model-menu summary")
        page.click("#open-routines")
        page.says("#routine-words", "No routines yet.")
        page.click("#routine-add summary")
        page.find("#routine-form [name=name]").send_keys("Backup")
        page.find("#routine-form [name=message]").send_keys("Back up everything")
        page.choose("#routine-when", "by a cron")
        page.click("#routine-form button")
        page.says("#routine-words", "schedule.expr must be a text")
        page.find("#routine-form [name=expr]").send_keys("0 3 * * *")
        page.click("#routine-form button")
        page.says("#routine-list", "cron 0 3 * * *")
        page.picture("demo-routines-wide-light")
        page.click("[aria-label='Turn off Backup']")
        page.click("[aria-label='Turn on Backup']")
        page.click("[aria-label='Run now Backup']")
        page.says("#chats", "Back up everything")
        page.click("[aria-label='Remove Backup']")
        page.says("#routine-words", "No routines yet.")
        self.assertEqual(program.breaches(), [])

    test_models_are_listed_and_routines_are_kept_while_it_runs.complaints = ("502",)

    def open_chat_called(self, title):
        def opened():
            rows = [row for row in self.page.all(".chats a") if title in row.text]
            if rows:
                rows[0].click()
            return rows and self.page.text("#title") == title
        until(opened, f"the chat {title!r} is open")
