"""Expectations of a person: one tap loses nothing, Back leads one step back, and typed text stays."""

from websockets.sync.client import connect

from harness import NARROW, WIDE, Bridge, BrowserTest, Keys, until


class Care(BrowserTest):
    def setUp(self):
        super().setUp()
        self.relay = self.simulator()

    def answered(self, answer="done", question="one"):
        run = Bridge.ask(self.relay, question).open()
        run.end(answer)
        return run

    def view(self):
        return self.page.run("return document.documentElement.dataset.view")

    def typed(self):
        return self.page.run("return document.getElementById('text').value")

    def test_a_chat_is_deleted_only_after_a_second_yes_and_a_phone_goes_back_to_the_list(self):
        page = self.page
        kept, run = self.answered(question="Keep me"), self.answered(question="Delete me")
        page.open(self.relay.phone_url, NARROW, "light")
        page.open_chat(run.session)
        for leave in (lambda: page.keys(Keys.ENTER), lambda: page.keys(Keys.ESCAPE)):
            page.click("#chat-menu summary")
            page.click("#remove")
            page.shown("#ask-removal")
            page.says("#ask-removal", "Delete me")
            self.assertEqual(page.focused(), "keep-chat")
            page.picture("delete-narrow-light")
            leave()
            page.gone("#ask-removal")
        self.assertEqual(len(self.relay.call("GET", "/v1/me")["sessions"]), 2)
        page.click("#chat-menu summary")
        page.click("#remove")
        page.click("#remove-chat")
        until(lambda: self.view() == "list", "the list is there")
        self.assertEqual([session["session_id"] for session in self.relay.call("GET", "/v1/me")["sessions"]], [kept.session])
        self.assertEqual(page.focused(), kept.session)
        self.assertEqual(page.run("return location.hash"), "")

    def test_back_closes_the_panel_that_covers_the_chat_and_then_leaves_the_chat(self):
        page = self.page
        run = self.answered()
        page.open(self.relay.phone_url, NARROW)
        page.click(f".chats a[data-session={run.session}]")
        page.stands_at(run.session)
        page.click("#chat-developer")
        page.shown("#developer")
        page.browser.back()
        page.gone("#developer")
        self.assertEqual((self.view(), page.run("return location.hash")), ("chat", f"#/chat/{run.session}"))
        page.browser.forward()
        page.shown("#developer")
        page.reload()
        page.shown("#developer")
        page.browser.back()
        page.gone("#developer")
        self.assertEqual(self.view(), "chat")
        # Closed by its own button, the panel leaves no entry in the history.
        page.click("#chat-developer")
        page.click("#developer .bar button")
        page.gone("#developer")
        until(lambda: not page.run("return history.state?.isPanel ?? false"), "its place is given back")
        page.browser.back()
        until(lambda: self.view() == "list", "Back leads to the list")

    def test_what_was_typed_and_not_sent_outlives_a_reload_in_its_own_chat(self):
        page = self.page
        first, second = self.answered(question="first"), self.answered(question="second")
        page.open(self.relay.phone_url)
        page.open_chat(first.session)
        page.write("half a thou")
        page.open_chat(second.session)
        page.write("another")
        page.reload()
        page.stands_at(second.session)
        until(lambda: self.typed() == "another", "it is there again")
        self.assertTrue(page.is_enabled("#send"))
        page.open_chat(first.session)
        until(lambda: self.typed() == "half a thou", "the other one too")
        # The storage of the device, which other tabs share, has none of it.
        self.assertNotIn("half a thou", page.run("return JSON.stringify({ ...localStorage })"))
        page.keys(Keys.END)
        page.write("ght" + Keys.ENTER)
        page.says("#messages", "half a thought")
        page.reload()
        page.stands_at(first.session)
        page.says("#messages", "half a thought")
        self.assertEqual(self.typed(), "")

    def test_a_list_from_right_to_left_has_its_marks_in_sight(self):
        page = self.page
        run = self.answered("1. פתח את הקובץ\n2. שמור\n\n- سطر أول\n- سطر ثان\n\n> ציטוט\n\n1. left\n2. שמור\n\nThen:\n\n998. many\n999. more\n1000. most")
        page.open(self.relay.phone_url, NARROW, "light")
        page.open_chat(run.session)
        page.says("#messages", "most")
        rooms = page.run("""const box = document.querySelector(".message.agent .body").getBoundingClientRect();
            return [...document.querySelectorAll(".markdown li")].map((item) => { const { left, right } = item.getBoundingClientRect();
              return [getComputedStyle(item).direction, getComputedStyle(item).direction === "rtl" ? box.right - right : left - box.left]; })""")
        self.assertEqual([direction for direction, _ in rooms], ["rtl", "rtl", "rtl", "rtl", "ltr", "rtl", "ltr", "ltr", "ltr"])
        for number, (_, room) in enumerate(rooms):
            self.assertGreaterEqual(room, 16 if number < 6 else 40)
        self.assertEqual(page.run("return [...document.querySelectorAll('.markdown > *')].map((block) => getComputedStyle(block).direction)"), ["rtl", "rtl", "rtl", "ltr", "ltr", "ltr"])
        page.picture("right-to-left-narrow-light")

    def test_a_run_that_no_bridge_takes_says_that_it_waits_for_one(self):
        page = self.page
        page.open(self.relay.phone_url, NARROW)
        page.new_chat()
        page.write("Hello" + Keys.ENTER)
        page.says(".message.agent .body", "Waiting for the bridge")
        page.says("#subtitle", "No bridge has connected yet")
        with connect(self.relay.listening["socket_url"], additional_headers={"Authorization": f"Bearer {self.relay.token}"}) as socket:
            socket.send('{"type":"hello","version":"0.13.7"}')
            page.says(".message.agent .body", "Thinking…")
        page.says(".message.agent .body", "Waiting for the bridge")
        session = page.run("return location.hash").split("/")[-1]
        run = Bridge(self.relay, session, self.relay.messages(session)[0]["interaction_id"]).open()
        run.delta("I am here")
        page.says(".message.agent .body", "I am here")
        page.says("#subtitle", "Bridge away")

    def test_a_row_of_the_list_has_words_and_no_marks(self):
        self.page.open(self.relay.phone_url, WIDE)
        answers = {
            "**Bold** and ~~struck~~ and `a_b`": "Bold and struck and a_b", "# Report\n\n| a | b |\n|---|---|\n| 1 | 2 |": "Report a b 1 2",
            "See ![the plan](https://x.y/p.png) or [this](https://x.y)": "See the plan or this", "- one\n- two *three*": "one two three",
            "2 * 3 is snake_case": "2 * 3 is snake_case", "> quoted": "quoted",
        }
        for answer, words in answers.items():
            run = self.answered(answer)
            row = f".chats a[data-session={run.session}] .row-line"
            until(lambda: self.page.text(row) == words, lambda: f"{words!r}, not {self.page.text(row)!r}")

    def test_how_often_a_routine_runs_is_a_whole_number(self):
        page = self.page
        page.open(self.relay.phone_url, NARROW)
        page.click("#open-routines")
        page.shown("#routines")
        page.click("#routine-add summary")
        page.find("#routine-form [name=name]").send_keys("Backup")
        page.find("#routine-form [name=message]").send_keys("Back up everything")
        for every in ("abc", "1.5", "0", "", "1e3"):
            page.run("document.querySelector('#routine-form [name=every]').value = arguments[0]", every)
            page.run("document.getElementById('routine-words').textContent = ''")
            page.click("#routine-form button")
            page.says("#routine-words", "Every must be a whole number")
        self.assertEqual(page.run("return document.activeElement.name"), "every")

    test_how_often_a_routine_runs_is_a_whole_number.complaints = ("502", "503", "504")
