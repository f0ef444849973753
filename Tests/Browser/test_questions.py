"""Options of a question are buttons, each of which sends text that a person could type."""

from harness import NARROW, Bridge, BrowserTest, until

HINT = "Reply with the number of one option. /skip declines."
QUESTION = f"Let me ask.\n\nWhich colour?\n\nFor the door.\n\n1. Red\n2. Light Green: new\n3. Blue\n\n{HINT}"
SEVERAL = "Which rooms?\n\n1. Hall\n2. Kitchen\n3. Attic\n\nReply with the numbers of all that you choose, such as 1, 3, or in your own words. /skip declines."


class Questions(BrowserTest):
    def setUp(self):
        super().setUp()
        self.relay = self.simulator()
        self.turn = Bridge.ask(self.relay, "Paint it").open()
        self.page.open(self.relay.phone_url, NARROW)
        self.page.open_chat(self.turn.session)

    def written(self):
        """The user's messages, the newest last."""
        return [message["text"] for message in self.relay.messages(self.turn.session) if message["role"] == "user"]

    def options(self):
        return self.page.texts(".options .option")

    def asks(self, text):
        self.turn.delta(text)
        self.page.shown(".options")

    def test_an_option_is_sent_by_its_number_once(self):
        page = self.page
        self.asks(QUESTION)
        self.assertEqual(self.options(), ["Red", "Light Green: new", "Blue", "Skip"])
        # The bubble omits the options that the buttons show.
        self.assertEqual(page.text(".message.agent .body"), "Let me ask.\n\nWhich colour?\n\nFor the door.")
        self.assertNotIn("your own words", page.text(".options"))
        page.picture("question")
        page.click(".options .option:nth-child(2)")
        until(lambda: self.written() == ["Paint it", "2"], "the number was sent")
        until(lambda: page.texts(".message.user .body") == ["Paint it", "Light Green: new"], "the chat shows what the button said")
        until(lambda: not page.is_enabled(".options .option"), "a second tap does nothing")
        self.turn.delta("\n\nAnswered: Light Green")
        page.gone(".options")
        page.says(".message.agent .body ol", "Light Green: new")
        self.assertEqual(self.written(), ["Paint it", "2"])
        page.reload()
        until(lambda: page.texts(".message.user .body") == ["Paint it", "Light Green: new"], "after a reload too")
        self.assertNotIn("Light Green", page.run("return JSON.stringify({ ...localStorage })"))

    def test_a_refused_answer_opens_the_buttons_again_and_a_taken_one_does_not(self):
        page = self.page
        self.asks(QUESTION)
        page.run("""const real = window.fetch;
            window.fetch = (address, options) =>
                options?.method === "POST" ? Promise.reject(new TypeError("away")) : real(address, options);
            window.reachable = () => { window.fetch = real; };""")
        page.click(".options .option")
        page.shown(".message.user.failed")
        until(lambda: page.is_enabled(".options .option"), "the answer can be given again")
        page.run("window.reachable()")
        page.click(".options .option")
        until(lambda: self.written() == ["Paint it", "1"], "the number was sent")
        until(lambda: page.texts(".message.user .body").count("Red") == 2, "the chat shows both tries")
        self.assertFalse(page.is_enabled(".options .option"))

    def test_several_are_chosen_and_sent_together(self):
        page = self.page
        self.asks(SEVERAL)
        self.assertEqual(self.options(), ["Hall", "Kitchen", "Attic", "Send", "Skip"])
        page.says(".options", "Or write your own words.")
        self.assertFalse(page.is_enabled(".options .primary"))
        for place in (3, 2, 1, 2):
            page.click(f".options .option:nth-child({place})")
        self.assertEqual(page.attribute(".options .option", "aria-pressed"), "true")
        page.picture("question-several")
        page.click(".options .primary")
        until(lambda: self.written() == ["Paint it", "1, 3"], "the numbers were sent")
        until(lambda: page.texts(".message.user .body")[-1] == "Hall, Attic", "the chat shows their names")

    def test_skip_declines(self):
        self.asks(QUESTION)
        self.page.click(".options .skip")
        until(lambda: self.written() == ["Paint it", "/skip"], "it was declined")

    def test_a_label_that_is_a_number_is_not_taken_for_a_place(self):
        self.asks(f"How many?\n\n1. 3\n2. 5\n3. 10\n\n{HINT}")
        self.page.click(".options .option:nth-child(3)")
        until(lambda: self.written() == ["Paint it", "#3"], "the place was sent")

    def test_only_the_newest_open_bubble_that_ends_with_a_question_has_buttons(self):
        page = self.page
        self.asks(QUESTION)
        other = Bridge.ask(self.relay, "And this", self.turn.session).open()
        other.delta(SEVERAL)
        until(lambda: self.options() == ["Hall", "Kitchen", "Attic", "Send", "Skip"], "the newest asks")
        other.end("Enough.")
        until(lambda: self.options() == ["Red", "Light Green: new", "Blue", "Skip"], "the first asks again")
        page.reload()
        until(lambda: self.options() == ["Red", "Light Green: new", "Blue", "Skip"], "after a reload too")
        self.turn.end(QUESTION)
        page.gone(".options")

    def test_what_only_resembles_a_question_has_no_buttons(self):
        page = self.page
        for text in (f"Words.\n\n{HINT}", f"1. Red\n3. Blue\n\n{HINT}", f"2. Red\n3. Blue\n\n{HINT}", "1. Red\n2. Blue",
                     f"1. Red\n\n{HINT}\n\nMore words."):
            run = Bridge.ask(self.relay, "Say", self.turn.session).open()
            run.delta(text)
            # A list item's number is its mark, and not part of the text.
            until(lambda: text.split("\n")[-1].removeprefix("2. ") in page.newest()["text"], "it is shown")
            self.assertEqual(self.options(), [], text)
            run.end("Done.")
        hostile = Bridge.ask(self.relay, "Say", self.turn.session).open()
        hostile.delta(f"1. <img src=x onerror=alert(1)>\n2. a\u202eb\n\n{HINT}")
        until(lambda: self.options() == ["<img src=x onerror=alert(1)>", "a⟨U+202E⟩b", "Skip"], "text stays text")
