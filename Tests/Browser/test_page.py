"""The page with a bridge played by hand."""

from websockets.sync.client import connect

from harness import NARROW, WIDE, Bridge, BrowserTest, Keys, until

REPORT = """# Disk report

Your disk is **61% full**, so there is *plenty* of room left. Most of it is in `~/Videos`.

1. Empty the trash
2. Move old videos to the [archive](https://example.com/archive)
   - those of 2023
   - those of 2024

> Keep a tenth free, says the manual.

```sh
du -sh ~/* | sort -h | tail -5
```

| folder | size | files |
|---|---:|:---:|
| Videos | 112 GB | 240 |
| Pictures | 31 GB | 18,204 |
"""


class ThePage(BrowserTest):
    def setUp(self):
        super().setUp()
        self.relay = self.simulator()

    def open(self, session=None, size=WIDE, theme="light"):
        self.page.open(self.relay.phone_url, size, theme)
        if session:
            self.page.open_chat(session)

    def ask(self, text="How full is the disk?", session=None):
        return Bridge.ask(self.relay, text, session)

    def ended(self):
        until(lambda: self.page.newest()["state"] == "final", "the run has ended")

    # Display

    def test_a_text_is_shown_as_markdown(self):
        run = self.ask().open()
        self.open(run.session)
        run.delta("# Disk report\n\nYour disk is **61")
        self.page.says(".message.agent .body", "Your disk is 61")
        self.assertTrue(self.page.all(".body h3"))
        run.end(REPORT, usage={"input_tokens": 2120, "output_tokens": 431})
        self.ended()
        body = ".message.agent .markdown"
        for selector in ("h3", "strong", "em", "p > code", "ol > li", "li ul li", "blockquote p", "pre code", "table td.align-end"):
            self.assertTrue(self.page.all(f"{body} {selector}"), selector)
        self.assertEqual([self.page.attribute(f"{body} a", name) for name in ("href", "rel", "target")],
                         ["https://example.com/archive", "noopener noreferrer", "_blank"])
        self.page.says(".message.agent .foot", "431 tokens")
        self.page.click(f"{body} .copy")
        self.page.picture("markdown-wide-light")
        self.page.theme("dark")
        self.page.resize(NARROW)
        self.page.picture("markdown-narrow-dark")

    def test_tools_fold_into_one_row_and_open_to_everything_about_them(self):
        run = self.ask().open()
        self.open(run.session)
        run.task("t1", "df -h /", args={"command": "df -h /"})
        self.page.says(".tools-words", "Running df -h /")
        run.finish("t1", result="/dev/sda1 458G 279G 61% /")
        run.task("t2", "du -sh ~/*", args={"command": "du -sh ~/*", "timeout": 30})
        run.finish("t2", status="failed", error="du: cannot read '.cache': Permission denied")
        run.task("t3", "find ~/Videos", args={"command": "find ~/Videos"})
        run.progress("t3", progress_percent=40, partial_result="412 files so far")
        self.page.click(".tools > summary")
        for card in (1, 2, 3):
            self.page.click(f".card:nth-child({card}) summary")
        self.page.says(".card:nth-child(3) .card-state", "40%")
        self.page.says(".card:nth-child(3)", "412 files so far")
        self.page.picture("tools-wide-light")
        run.finish("t3", result="1200 files")
        self.page.says(".card:nth-child(1)", "458G")
        self.page.says(".card:nth-child(2) .part.error", "Permission denied")
        self.page.says(".card:nth-child(2)", '"timeout": 30')
        self.page.says(".card:nth-child(3)", "1200 files")
        self.assertIsNotNone(self.page.attribute(".card:nth-child(3) details", "open"), "what is open stays open")
        run.end("Done.")
        self.page.says(".tools-words", "Ran 3 commands, 1 failed")
        self.page.resize(NARROW)
        self.page.theme("dark")
        self.page.picture("tools-narrow-dark")
        # Tools are part of the history.
        self.page.reload()
        self.page.says(".tools-words", "Ran 3 commands, 1 failed")

    def test_deltas_are_joined_into_few_redraws_and_every_letter_is_there(self):
        run = self.ask().open()
        self.open(run.session)
        pieces = [f"word{number} " for number in range(150)]
        # Frames are held back, so that all requested redraws happen at once.
        self.page.run("""window.frames_held = []; window.realFrame = requestAnimationFrame;
            window.requestAnimationFrame = (draw) => window.frames_held.push(draw);""")
        run.delta(*pieces)
        self.page.run("window.requestAnimationFrame = window.realFrame; for (const draw of window.frames_held) requestAnimationFrame(draw)")
        self.page.says(".message.agent .body", "word149")
        self.assertEqual(self.page.newest()["text"].strip(), "".join(pieces).strip())
        self.page.click("#chat-developer")
        self.page.shown("#developer")
        figures = """const m = /(\\d+) events .* (\\d+) redraws/.exec(document.querySelector(".figures").textContent);
            return m && [Number(m[1]), Number(m[2])]"""
        events, redraws = until(lambda: self.page.run(figures), "the figures are shown")
        self.assertGreaterEqual(events, 150)
        self.assertLess(redraws, events / 2)
        run.end("".join(pieces))

    def test_chats_have_unread_marks_until_they_are_opened(self):
        first = self.ask("one").open()
        second = self.ask("two").open()
        self.open(first.session)
        second.end("An answer for later")
        row = f".chats a[data-session={second.session}]"
        self.page.says(f"{row} .badge", "1")
        until(lambda: self.page.browser.title == "(1) Phone", "the title counts")
        self.page.reload()
        self.page.says(f"{row} .badge", "1")
        self.page.click(row)
        self.page.gone(f"{row} .badge")
        until(lambda: self.page.browser.title == "Phone", "the title counts no more")

    def test_a_hostile_final_text_is_harmless(self):
        hostile = "\n\n".join([
            "<script>window.hurt = 1</script><img src=x onerror='window.hurt = 2'>",
            "[click](javascript:window.hurt=3) [data](data:text/html,<script>window.hurt=4</script>) [x](JaVaScRiPt&colon;alert(1))",
            "<https://example.com> https://example.com/\"><b>x", "\u202eright to left\u202c \u2066isolated \u200b\u200b\u200d\u2060", "a" * 3_000,
            "👩‍👩‍👧‍👦" * 50, "z" + "\u0301\u0316" * 200, "*" * 2_000, "[" * 2_000, ">" * 500, "`" * 500, "_a" * 500, "- " * 500, "| - " * 300,
        ])
        hostile += "\n" + "ü" * ((65_000 - len(hostile.encode())) // 2)
        run = self.ask("<b>bold?</b> \u202egnp.exe").open()
        run.task("t", "<img src=x onerror=window.hurt=5> \u202e", args={"<script>": "</pre><script>window.hurt=6</script>"})
        run.finish("t", result="<svg onload=window.hurt=7>")
        self.open(run.session, NARROW)
        run.end(hostile)
        self.ended()
        self.page.click(".tools > summary")
        self.page.click(".card summary")
        self.assertIsNone(self.page.run("return window.hurt ?? null"))
        self.assertFalse(self.page.all("#messages script, #messages img, #messages b, #messages svg[onload]"))
        links = self.page.run("return [...document.querySelectorAll('#messages a')].map((link) => link.href)")
        self.assertTrue(all(link.startswith(("https://example.com", "http://example.com")) for link in links), links)
        self.assertIn("<script>window.hurt = 1</script>", self.page.text("#messages"))
        self.assertLessEqual(self.page.run("return document.documentElement.scrollWidth"), NARROW[0], "nothing sticks out")
        self.assertLessEqual(self.page.run("const s = document.getElementById('scroller'); return s.scrollWidth - s.clientWidth"), 0)
        self.page.run("document.getElementById('scroller').scrollTop = 0")
        self.page.picture("hostile-narrow-light")

    # Approvals

    def test_a_dangerous_command_needs_time_and_a_critical_one_a_second_yes(self):
        run = self.ask("Clean up").open()
        self.open(run.session)
        # The page's clock stops until the reload, so that the time to read cannot pass unchecked.
        self.page.run("const at = performance.now(); performance.now = () => at")
        run.approval("a-high", title="Delete 3 folders", severity="high", command="rm -rf ~/.cache/thumbnails ~/tmp", host="gateway",
                     message="The agent wants to delete files outside its workspace.")
        self.page.shown("#sheet")
        self.assertFalse(self.page.is_enabled("#sheet .once"))
        self.assertTrue(self.page.is_enabled("#sheet .deny"))
        self.page.says("#sheet .cool-down", "Read it first")
        self.page.picture("approval-high-wide-light")
        # A card put off stays pending; a reload shows it again, from the snapshot, once.
        self.page.keys(Keys.ESCAPE)
        self.page.gone("#sheet")
        self.assertEqual(self.relay.call("GET", "/v1/me/snapshot")["pending_approvals"][0]["approval_id"], "a-high")
        self.page.reload()
        self.page.shown("#sheet")
        until(lambda: self.page.is_enabled("#sheet .once"), "Allow has come alive")
        self.page.click("#sheet .once")
        self.page.gone("#sheet")
        run.approval("a-critical", title="Erase the disk", severity="critical", command="mkfs.ext4 /dev/sda1")
        self.page.shown("#sheet")
        self.page.says("#sheet .severity", "Critical")
        until(lambda: self.page.is_enabled("#sheet .once"), "Allow has come alive")
        self.page.click("#sheet .once")
        self.page.says("#sheet-title", "Are you sure?")
        self.assertEqual(self.page.focused(), "deny")
        self.page.resize(NARROW)
        self.page.theme("dark")
        self.page.picture("approval-critical-narrow-dark")
        self.page.click("#sheet .confirm")
        self.page.gone("#sheet")
        until(lambda: not self.relay.call("GET", "/v1/me/snapshot")["pending_approvals"], "both are decided")
        run.approval("a-low", title="List a folder", severity="low", command="ls")
        self.page.shown("#sheet")
        # Another client answers: the sheet closes by itself.
        self.relay.call("POST", "/v1/me/approvals/a-low", {"decision": "deny"})
        self.page.gone("#sheet")
        run.end("Done.")

    # Actions of the person

    def test_what_is_written_is_sent_shown_once_and_can_be_stopped(self):
        self.open()
        self.page.new_chat()
        self.page.write("first line" + Keys.SHIFT + Keys.ENTER + Keys.NULL + "second line")
        self.assertIsNone(self.page.find(".message"))
        self.page.keys(Keys.ENTER)
        self.page.says(".message.user .body", "first line\nsecond line")
        self.page.says(".message.agent .body", "Waiting for the bridge")
        session = self.page.run("return location.hash").split("/")[-1]
        sent = self.relay.messages(session)
        self.assertEqual([message["text"] for message in sent], ["first line\nsecond line"])
        run = Bridge(self.relay, session, sent[0]["interaction_id"]).open()
        run.delta("One moment")
        self.page.click("#stop")
        self.page.says("#messages", "One moment")
        until(lambda: self.relay.call("GET", "/v1/simulator/state")["pending_updates"] >= 2, "the stop is on its way to the bridge")
        run.end("One moment")
        self.ended()
        self.page.says(".message.agent .foot", "Stopped")
        self.page.gone("#stop")
        self.assertEqual(self.page.count(".message.user"), 1)

    def test_who_writes_sees_what_was_written_wherever_they_were_reading(self):
        run = self.ask().open()
        run.end("word\n\n" * 200)
        self.open(run.session)
        self.ended()
        self.page.run("document.getElementById('scroller').scrollTop = 0")
        self.page.shown("#latest")
        self.page.write("And now?" + Keys.ENTER)
        self.page.says("#messages", "And now?")
        self.page.gone("#latest")

    def test_a_stop_that_is_refused_says_so_and_can_be_tried_again(self):
        run = self.ask().open()
        with self.page.beforehand("""const real = window.fetch; window.isRefusing = true;
            window.fetch = async (path, options) => (window.isRefusing && String(path).endsWith("/stop")
              ? Response.json({ ok: false, error: { code: "too_busy", message: "No stop just now." } }, { status: 503 }) : real(path, options));"""):
            self.open(run.session)
        self.page.click("#stop")
        self.page.says("#compose-error", "No stop just now.")
        self.page.run("window.isRefusing = false")
        self.page.click("#stop")
        self.page.gone("#compose-error")
        until(lambda: self.relay.call("GET", "/v1/simulator/state")["pending_updates"] >= 2, "the stop is on its way to the bridge")
        run.end("Stopped.")
        self.ended()

    def test_a_chat_can_be_renamed_archived_and_deleted(self):
        run = self.ask("one").open()
        run.end("done")
        self.open(run.session)
        self.page.click("#chat-menu summary")
        self.page.click("#rename")
        self.page.shown("#ask-text").find_element("css selector", "input").send_keys(Keys.CONTROL + "a" + Keys.NULL + "Cellar <b>")
        self.page.keys(Keys.ENTER)
        self.page.says("#title", "Cellar <b>")
        self.page.click("#chat-menu summary")
        self.page.click("#archive")
        self.page.says(f".chats a[data-session={run.session}] .row-line", "Archived")
        self.page.click("#chat-menu summary")
        self.page.click("#remove")
        self.page.click("#remove-chat")
        self.page.gone(f".chats a[data-session={run.session}]")

    def test_everything_works_from_the_keyboard(self):
        runs = [self.ask(f"chat {number}").open() for number in range(3)]
        for run in runs:
            run.end("done")
        self.open()
        until(lambda: self.page.count(".chats a") == 3, "the chats are there")
        self.page.run("document.querySelector('.chats a[tabindex=\"0\"]').focus()")
        first = self.page.focused()
        self.page.keys(Keys.ARROW_DOWN)
        second = self.page.focused()
        self.assertNotEqual(first, second)
        self.page.keys(Keys.ENTER)
        self.page.stands_at(second)
        for _ in range(12):
            if self.page.focused() == "text":
                break
            self.page.keys(Keys.TAB)
        self.assertEqual(self.page.focused(), "text")
        self.page.keys("from the keyboard", Keys.ENTER)
        self.page.says("#messages", "from the keyboard")
        # A message is shown before it is sent.
        asked = until(lambda: next((message for message in self.relay.messages(second) if message["text"] == "from the keyboard"), None), "it was sent")
        run = Bridge(self.relay, second, asked["interaction_id"]).open()
        run.approval("k", command="ls")
        self.page.shown("#sheet")
        self.page.chord(Keys.SHIFT, Keys.TAB, Keys.TAB)
        self.assertIn("once", self.page.focused())
        self.page.keys(Keys.ENTER)
        until(lambda: not self.relay.call("GET", "/v1/me/snapshot")["pending_approvals"], "it was allowed from the keyboard")
        run.end("thanks")
        self.page.says("#announcer", "thanks")
        self.page.resize(NARROW)
        self.page.keys(Keys.ESCAPE)
        until(lambda: self.page.run("return document.documentElement.dataset.view") == "list", "Escape leads back to the list")
        self.assertEqual(self.page.focused(), second)

    def test_the_page_tells_how_the_bridge_is(self):
        self.open()
        self.page.says("#bridge", "No bridge has connected yet")
        with connect(self.relay.listening["socket_url"], additional_headers={"Authorization": f"Bearer {self.relay.token}"}) as socket:
            socket.send('{"type":"hello","version":"0.13.7"}')
            self.page.says("#bridge", "Bridge connected")
        self.page.says("#bridge", "Bridge away")
        self.page.theme("dark")
        self.page.picture("bridge-away-wide-dark")

    def test_a_wrong_token_leads_to_the_door(self):
        self.page.open(self.relay.base + "/phone/#token=usr_wrong")
        self.page.says("#door-text", "token")
        self.page.shown("#door-token").send_keys(self.relay.user_token + Keys.ENTER)
        self.page.says("#bridge", "No bridge has connected yet")

    test_a_wrong_token_leads_to_the_door.complaints = ("401",)

    # The developer panel

    def test_the_developer_sees_calls_buckets_breaches_and_orders_faults(self):
        run = self.ask().open()
        self.open(run.session)
        self.page.click("#chat-developer")
        self.page.shown(".bucket canvas")
        self.assertEqual(self.page.count(".bucket"), 6)
        run.task("t1", "df -h /", args={"command": "df -h /"})
        run.finish("t1", result="61%")
        for number in range(25):
            Bridge.ask(self.relay, f"load {number}").open()
        until(lambda: int(self.page.text(".bucket:has(.bucket-name) .bucket-level").split("/")[0]) >= 0, "levels are shown")
        self.page.says("#log-calls", "createTask")
        self.page.click("#tab-events")
        self.page.says("#log-events", "task_created")
        # The first row changes while events come.
        until(lambda: self.page.run("""const row = document.querySelector("#log-events li details");
            if (!row.open) row.querySelector("summary").click(); return row.querySelector("pre")?.innerText.includes("session_id")"""), "an event is opened")
        self.page.click(".faults > summary")
        self.page.click("button.chip[title*='internal_error']")
        self.page.says(".planned", "500 × 1")
        try:
            run.delta("lost")
        except AssertionError:
            pass
        self.page.says(".planned", "none planned")
        # A mix stays until it is removed, whatever else is planned and strikes meanwhile.
        self.relay.call("POST", "/v1/simulator/faults", {"kind": "mix", "rate": 0.25, "kinds": ["silent"]})
        self.page.says(".planned", "mix 25 %")
        self.page.click("button.chip[title*='internal_error']")
        self.page.says(".planned", "500 × 1, mix 25 %")
        self.page.click(".fault-head button:last-child")
        self.page.says(".planned", "none planned")
        self.page.click(".faults > summary")
        self.page.click("#tab-calls")
        self.page.says("#log-calls .bad", "500")
        run.delta("The disk is fine, ", "as far as I can see.")
        run.end("The disk is fine, as far as I can see.")
        self.refused(run)
        self.page.says(".alarm", "breach")
        self.page.picture("developer-wide-light")
        self.page.theme("dark")
        self.page.picture("developer-wide-dark")
        self.page.resize(NARROW)
        self.page.picture("developer-narrow-dark")
        self.page.keys(Keys.ESCAPE)
        self.page.gone("#developer")

    @staticmethod
    def refused(run):
        try:
            run.delta("too late")
        except AssertionError:
            pass

    def test_every_width_and_colour_is_fit_to_be_looked_at(self):
        run = self.ask("Hello").open()
        run.end("Hello there.")
        run = self.ask("How full is the disk?").open()
        run.task("t", "df -h /", args={"command": "df -h /"})
        run.delta("Let me look at the disk for you; ", "this takes a moment.")
        for name, size in (("wide", WIDE), ("tablet", (820, 1100)), ("narrow", NARROW), ("small", (360, 640))):
            for theme in ("light", "dark"):
                self.open(run.session, size, theme)
                self.page.says("#messages", "takes a moment")
                self.assertLessEqual(self.page.run("return document.documentElement.scrollWidth"), size[0])
                self.assertEqual(self.nameless(), [])
                self.assertGreater(self.page.run("return document.getElementById('title').clientWidth"), 90)
                ground = self.page.run("return getComputedStyle(document.body).backgroundColor")
                self.assertEqual(sum(map(int, ground[4:-1].split(","))) > 380, theme == "light", ground)
                self.page.picture(f"streaming-{name}-{theme}")
        run.end("Enough.")

    def nameless(self):
        """Controls without a name for a screen reader."""
        return self.page.run("""return [...document.querySelectorAll("button, a, summary, input, textarea")]
            .filter((e) => e.offsetParent && !e.getAttribute("aria-label") && !e.textContent.trim() && !e.labels?.length)
            .map((e) => e.outerHTML.slice(0, 120))""")
