"""Approvals: several at once, long and strange ones, those in parts, and unanswered ones."""

from harness import NARROW, WIDE, Bridge, BrowserTest, Keys, until

LINE = "printf 'line %04d of the script' {:04d} >> out"


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
        # The page's clock stops until the buttons were checked.
        self.page.run("const real = performance.now.bind(performance), at = real(); performance.now = () => (window.isOver ? real() + 5_000 : at)")
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

    def test_who_would_rather_write_is_led_to_the_box_and_the_words_stand_there_once(self):
        page = self.page
        words = "or write what to do instead"
        page.click("#text")
        self.cleaning.approval("a-1", title="Run it", command="rm -r build", message=f"Folder: /work\n{words}")
        page.says("#sheet .actions", words)
        self.assertEqual(page.text("#sheet").count(words), 1)
        self.assertEqual(page.text("#sheet .sheet-message").strip(), "Folder: /work")
        self.assertEqual(page.texts("#sheet .actions button")[-1], words)
        self.assertEqual(page.focused(), "deny")
        page.resize(NARROW)
        page.picture("approval-instead-narrow-light")
        page.click("#sheet .instead")
        page.gone("#sheet")
        self.assertEqual(page.focused(), "text")
        self.assertEqual(self.waiting(), ["a-1"])
        page.says("#asks", "Run it")
        self.assertIn("refuses the card", page.attribute("#text", "placeholder"))
        # The box had the focus when the card came.
        page.keys("Use make", Keys.ENTER)
        page.says("#messages", "Use make")
        page.gone("#asks")
        self.assertEqual(page.attribute("#text", "placeholder"), "Message")
        self.decided_elsewhere("a-1")
        # The words as the whole message, and in another place.
        self.cleaning.approval("a-2", title="Run two", command="ls", message="Or write what to do instead.")
        page.says("#sheet-title", "Run two")
        page.says("#sheet .actions", words)
        self.assertEqual(page.count("#sheet .sheet-message"), 0)
        self.decided_elsewhere("a-2")
        self.cleaning.approval("a-3", title="Run three", command="ls", message=f"Press it {words} now")
        page.says("#sheet-title", "Run three")
        self.assertEqual((page.count("#sheet .instead"), page.text("#sheet .sheet-message").strip()), (0, f"Press it {words} now"))
        page.click("#sheet .deny")
        page.gone("#sheet")

    def test_of_two_cards_the_newest_leads_to_the_box_and_none_takes_the_keyboard(self):
        page = self.page
        hint = "Tap your answer, or write what to do instead"
        for name in ("a-1", "a-2"):
            self.cleaning.approval(name, title=f"Run {name}", command="ls", message=f"Folder: /work\n{hint}")
        page.says("#sheet-title", "Run a-1")
        self.assertEqual(page.text("#sheet .sheet-message").strip(), "Folder: /work")
        until(lambda: page.count("#sheet .instead") == 0, "words would refuse the other one, once it is there")
        page.keys(Keys.ESCAPE)
        self.cleaning.delta("Words. ")
        page.says("#sheet-title", "Run a-2")
        page.click("#sheet .instead")
        page.gone("#sheet")
        self.cleaning.delta("More words. ")
        page.says("#messages", "More words.")
        self.assertEqual((page.is_shown("#sheet"), page.focused()), (False, "text"))
        self.assertEqual(self.waiting(), ["a-1", "a-2"])

    def test_a_card_of_many_lines_is_drawn_at_once(self):
        self.cleaning.approval("a-1", title="Run it", command="ls", message="\n" * 40_000 + "x")
        self.page.says("#sheet-title", "Run it")
        self.assertEqual(self.page.count("#sheet .instead"), 0)

    # Long and strange ones

    def inside(self, *selectors):
        """Whether these are entirely within the window, with nothing over them."""
        return self.page.run("""
            return arguments[0].every((selector) => {
              const box = document.querySelector(selector).getBoundingClientRect();
              const at = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
              return box.width > 0 && box.left >= 0 && box.right <= innerWidth && box.top >= 0 && box.bottom <= innerHeight &&
                at?.closest(selector) !== null;
            });""", selectors)

    def shown_command(self):
        return self.page.run("return document.querySelector('#sheet .verbatim pre').textContent")

    def is_wide(self):
        """Whether anything is cut at its side, or needs sideways scrolling."""
        return self.page.run("""
            return [document.documentElement, ...document.querySelectorAll("#sheet, #sheet pre, #sheet .sheet-message")]
              .some((element) => element.scrollWidth > element.clientWidth + 1)""")

    def long_one(self, name, command, length, message_says=None, **more):
        self.cleaning.approval(name, title=f"Run {name}", severity="low", command=command, **more)
        self.page.says("#sheet-title", f"Run {name}")
        self.assertEqual(self.shown_command(), command)
        self.page.says("#sheet .length", length)
        if message_says:
            self.page.says("#sheet .message-length", message_says)
        for size, form in ((NARROW, "narrow"), (WIDE, "wide")):
            self.page.resize(size)
            self.assertTrue(self.inside("#sheet .once", "#sheet .always", "#sheet .deny"), f"{name}, {form}: the buttons can be reached")
            self.assertFalse(self.is_wide(), f"{name}, {form}")
            self.page.picture(f"approval-{name}-{form}")
        self.assertTrue(self.page.run("""const box = document.querySelector("#sheet pre"); box.scrollTop = 1e6;
            return box.scrollTop + box.clientHeight >= box.scrollHeight - 2"""), "its end can be seen")
        self.page.picture(f"approval-{name}-end")
        self.page.click("#sheet .deny")
        self.page.gone("#sheet")

    def test_long_commands_are_shown_whole_in_a_box_that_scrolls_with_their_length(self):
        script = "\n".join(LINE.format(number) for number in range(2_000))[:47_990] + "\n# the end"
        self.long_one("script", script, f"{script.count(chr(10)) + 1:,} lines", message="folder: /srv/app\nnode: here")
        self.long_one("lines", "\n".join(["x"] * 2_000), "2,000 lines")
        self.long_one("letters", "a" * 39_990 + "; rm -rf /", "1 line, 40,000 letters")
        self.long_one("message", "ls", "", message_says="900 lines", message="\n".join(f"Reason {number}, and why it has to be." for number in range(900)))

    def test_a_title_without_end_leaves_the_buttons_where_they_are(self):
        self.page.resize(NARROW)
        self.ask("a-1", "Very long " * 400, "medium")
        self.page.shown("#sheet")
        self.assertTrue(self.inside("#sheet .once", "#sheet .deny"))
        self.page.picture("approval-title-narrow")

    def test_right_to_left_letters_reorder_nothing_around_them(self):
        command = "cp \u05d0\u05d1\u05d2 /srv/a\n\u05d3\u05d4\u05d5 --force\nls\u202e txt.exe\u2067 a\u00a0b \u3164\U000e0041"
        self.cleaning.approval("a-rtl", title="Copy\n\u202eexe", severity="low", command=command, host="h\u202e",
                               message="\u05d0\u05d1 first\nfolder: /srv/\u05d2\u05d3/x\nand so on")
        self.page.says("#sheet-title", "Copy⟨U+000A⟩⟨U+202E⟩exe")
        self.page.says("#asks .asks-words", "Copy⟨U+000A⟩⟨U+202E⟩exe")
        self.assertIn("ls⟨U+202E⟩ txt.exe⟨U+2067⟩ a⟨U+00A0⟩b ⟨U+3164⟩⟨U+E0041⟩", self.shown_command())
        self.page.says("#sheet figcaption span", "on h⟨U+202E⟩")
        lines = self.page.run("""return [...document.querySelectorAll("#sheet .line")].map((line) => {
            const style = getComputedStyle(line); return [style.unicodeBidi, style.direction, style.display]; })""")
        self.assertEqual(lines[:3], [["isolate", "ltr", "block"]] * 3)
        self.assertEqual([line[1] for line in lines[3:]], ["rtl", "ltr", "ltr"], "each line of a message has its own direction")
        # The word before right-to-left letters is left of them, and the next is right.
        places = self.page.run("""
            const at = (line, start) => { const range = document.createRange(); range.setStart(line.firstChild, start); range.setEnd(line.firstChild, start + 1);
              return range.getBoundingClientRect().left; };
            const [first, second] = document.querySelectorAll("#sheet pre .line");
            return [at(first, 0), at(first, 4), at(first, 7), at(second, 1), at(second, 4)]""")
        self.assertEqual(places[:3], sorted(places[:3]))
        self.assertLess(places[3], places[4])
        for size, form in ((NARROW, "narrow"), (WIDE, "wide")):
            self.page.resize(size)
            self.page.picture(f"approval-rtl-{form}")

    # In parts

    def test_one_in_parts_says_so_and_its_parts_stand_in_the_chat_letter_by_letter(self):
        title = "In 3 parts, read the messages above first: Run a script"
        for number, text in ((2, "**not bold** `x`\n# no heading\n\n\n    \u05d0\u05d1 \u202e<b>"), (3, "echo z" * 6_000)):
            self.cleaning.call("sendMessage", session_id=self.cleaning.session, text=f"Part {number} of 3 of what is asked next:\n{text}")
        self.cleaning.approval("a-1", title=title, severity="critical", command="sh -c '\necho a\n", message="folder: /srv")
        self.page.says("#sheet-title", title)
        self.page.says("#sheet .sheet-parts", "It goes on in the chat: parts 2 to 3 of 3.")
        self.assertTrue(self.inside("#sheet .once", "#sheet .deny"))
        for size, form in ((NARROW, "narrow"), (WIDE, "wide")):
            self.page.resize(size)
            self.page.picture(f"approval-parts-{form}")
        self.page.click("#sheet .sheet-parts button")
        self.page.gone("#sheet")
        self.assertEqual(self.page.run("return [...document.querySelectorAll('.asked-part pre')].map((box) => box.textContent)"),
                         ["**not bold** `x`\n# no heading\n\n\n    \u05d0\u05d1 ⟨U+202E⟩<b>", "echo z" * 6_000])
        self.assertEqual(self.page.run("return document.querySelectorAll('.asked-part :is(strong, h3, b)').length"), 0)
        self.assertTrue(self.inside(".asked-part pre"), "the first of them is in sight")
        for size, form in ((NARROW, "narrow"), (WIDE, "wide")):
            self.page.resize(size)
            self.page.picture(f"approval-parts-chat-{form}")
        self.page.click("#asks button")
        self.page.says("#sheet-title", title)
        until(lambda: self.page.is_enabled("#sheet .once"), "Allow has come alive")
        self.page.click("#sheet .once")
        self.page.says("#sheet-title", "Are you sure?")
        self.page.click("#sheet .confirm")
        self.page.gone("#sheet")

    def test_one_that_can_only_be_denied_has_both_buttons(self):
        self.ask("a-1", "Can only be denied: too long to be shown", "critical")
        self.page.shown("#sheet .once")
        self.assertEqual(self.page.texts("#sheet .actions button"), ["Allow", "Allow always", "Deny"])

    def test_time_to_read_is_five_seconds_for_a_grave_one(self):
        # The test advances the page's clock.
        self.page.run("const at = performance.now(); window.later = 0; performance.now = () => at + window.later")
        self.ask("a-1", "Grave", "high")
        self.page.says("#sheet .cool-down", "Read it first: 5 s")
        self.page.run("window.later = 4900")
        self.page.says("#sheet .cool-down", "Read it first: 1 s")
        self.assertFalse(self.page.is_enabled("#sheet .once"))
        self.assertFalse(self.page.is_enabled("#sheet .always"))
        self.page.run("window.later = 5000")
        until(lambda: self.page.is_enabled("#sheet .once") and self.page.is_enabled("#sheet .always"), "both have come alive")

    # Nobody answers

    def expire(self, approval, reason=None):
        self.relay.call("POST", "/v1/simulator/approvals/expire", {"approval_id": approval} | ({"reason": reason} if reason else {}))

    def test_one_that_nobody_answers_goes_away_with_these_words_and_comes_back_as_one_of_its_own(self):
        self.cleaning.approval("a-1", title="List\u202e it", command="ls", expires_in_ms=1_800_000)
        self.page.says("#sheet-title", "List⟨U+202E⟩ it")
        self.assertIn("Waits until", self.page.text("#sheet"))
        self.expire("a-1")
        self.page.gone("#sheet")
        self.page.says("#asks .asks-words", "Nobody answered: List⟨U+202E⟩ it")
        self.page.picture("approval-expired-wide")
        self.page.resize(NARROW)
        self.page.picture("approval-expired-narrow")
        self.cleaning.approval("a-1-ask-2", title="List\u202e it", command="ls")
        self.page.says("#sheet-title", "List⟨U+202E⟩ it")
        self.assertEqual(self.waiting(), ["a-1-ask-2"])
        self.page.click("#sheet .once")
        self.page.gone("#sheet")
        until(lambda: self.waiting() == [], "it is decided")
        self.page.gone("#asks")

    def test_the_words_are_those_of_the_reason(self):
        for number, (reason, words) in enumerate({"approval_timeout": "Nobody answered: ", "limit": "Denied by the relay (limit): "}.items()):
            self.ask(f"a-{number}", f"Title {number}", "medium")
            self.page.says("#sheet-title", f"Title {number}")
            self.expire(f"a-{number}", reason)
            self.page.gone("#sheet")
            self.page.says("#asks .asks-words", f"{words}Title {number}")

    def test_a_tap_that_comes_too_late_is_refused_with_the_reason(self):
        # A tap stays in flight until it is released.
        self.page.run("""const real = window.fetch;
            window.fetch = (...all) => String(all[0]).includes("/approvals/") && !window.goOn
              ? new Promise((resolve) => { window.goOn = () => resolve(real(...all)); }) : real(...all)""")
        self.ask("a-1", "Slow", "medium")
        self.page.says("#sheet-title", "Slow")
        self.page.click("#sheet .once")
        self.expire("a-1")
        self.page.gone("#sheet")
        self.page.run("window.goOn()")
        self.page.says("#asks .asks-words", "Nobody answered: Slow")

    test_a_tap_that_comes_too_late_is_refused_with_the_reason.complaints = ("409",)
