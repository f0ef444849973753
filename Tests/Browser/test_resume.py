"""Runs whose page, stream or relay goes away in the middle."""

import sys
import tempfile
from pathlib import Path

from harness import NARROW, ROOT, Bridge, BrowserTest, until

sys.path.append(str(ROOT / "Tests" / "Acceptance"))
from peers.wire import next_port  # noqa: E402

# Records the page's calls in order, with the stream's Last-Event-ID.
NOTING_CALLS = """const real = window.fetch; window.calls = [];
    window.fetch = (path, options) => { window.calls.push([path, options?.headers?.["Last-Event-ID"] ?? null]); return real(path, options); };"""


class Resume(BrowserTest):
    def begin(self, program, size=NARROW):
        run = Bridge.ask(program, "How full is the disk?").open()
        self.page.open(program.phone_url, size)
        self.page.open_chat(run.session)
        run.delta("The disk ", "is ")
        self.page.says(".message.agent .body", "The disk is")
        return run

    def test_a_page_that_was_reloaded_in_mid_run_still_gets_the_answer(self):
        run = self.begin(self.simulator())
        self.page.reload()
        self.page.says(".message.agent .body", "The disk is")
        run.delta("61% full")
        self.page.says(".message.agent .body", "The disk is 61% full")
        run.end("The disk is 61% full.")
        until(lambda: self.page.newest()["state"] == "final", "the run has ended")
        self.assertEqual(self.page.newest()["text"], "The disk is 61% full.")
        self.assertEqual(self.page.count(".message.agent"), 1)

    def test_a_message_that_stands_alone_is_complete_after_a_reload_too(self):
        run = self.begin(self.simulator())
        alone = Bridge(run.program, run.session, None)
        alone.call("sendMessage", session_id=run.session, text="A new device reads along.")
        job = Bridge(run.program, run.session, None)
        job.message = job.call("sendMessage", session_id=run.session, text=" ")["message_id"]
        job.delta("The job ", "says")
        for _ in range(2):
            self.page.says("#messages", "The job says")
            states = {bubble["text"]: bubble["state"] for bubble in self.page.run("""return [...document.querySelectorAll(".message.agent")]
                .map((bubble) => ({ state: bubble.dataset.state, text: bubble.querySelector(".body").textContent.trim() }))""")}
            self.assertEqual(states["A new device reads along."], "final", states)
            self.assertEqual(states["The job says"], "open", states)
            self.page.reload()

    def test_a_page_asks_first_who_it_is_then_what_waits_and_then_follows_what_happens(self):
        program = self.simulator()
        with self.page.beforehand(NOTING_CALLS):
            self.page.open(program.phone_url)
        self.page.says("#bridge", "No bridge has connected yet")
        until(lambda: len(self.page.run("return window.calls")) >= 3, "the page has asked")
        self.assertEqual([path for path, _ in self.page.run("return window.calls")][:3], ["/v1/me", "/v1/me/snapshot", "/v1/me/stream"])

    def test_what_happens_between_the_snapshot_and_the_stream_is_seen_as_well(self):
        program = self.simulator()
        before = Bridge.ask(program, "How full is the disk?").open()
        # The stream attaches only when the test allows it.
        with self.page.beforehand("""const real = window.fetch; window.asked = []; const free = new Promise((resolve) => (window.attach = resolve));
            window.fetch = async (path, options) => { window.asked.push(String(path));
              if (path === "/v1/me/stream") await free; return real(path, options); };"""):
            self.page.open(program.phone_url)
        until(lambda: "/v1/me/stream" in self.page.run("return window.asked"), "the page is about to attach")
        until(lambda: self.page.run("return location.hash").endswith(before.session), "the newest chat is open")
        self.page.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        before.delta("It is ")
        before.approval("a-between", title="Look at the disk", command="df -h")
        late = Bridge.ask(program, "Clean up").open()
        self.page.run("window.attach()")
        self.page.says("#sheet-title", "Look at the disk")
        self.page.says("#chats", "Clean up")
        self.page.click("#sheet .deny")
        self.page.gone("#sheet")
        before.delta("full")
        self.page.says(".message.agent .body", "It is full")
        late.end("Done.")

    def test_a_page_that_was_away_when_the_run_ended_finds_the_answer(self):
        run = self.begin(self.simulator())
        address = self.page.browser.current_url
        self.page.browser.get("about:blank")
        run.delta("61% full")
        run.end("The disk is 61% full.")
        self.page.browser.get(address)
        until(lambda: self.page.newest()["text"] == "The disk is 61% full.", "the answer is there")

    def test_the_history_is_asked_until_the_answer_is_there_even_without_a_word_on_the_stream(self):
        program = self.simulator()
        run = self.begin(program)
        # The page is reloaded, and its stream stays silent, so it must poll every three seconds.
        with self.page.beforehand("""
            const real = window.fetch; window.asked = 0;
            window.fetch = (path, options) => {
              if (String(path).includes("/messages")) window.asked += 1;
              if (!String(path).includes("/v1/me/stream")) return real(path, options);
              return Promise.resolve(new Response(new ReadableStream({ start() {} }), { status: 200 }));
            };"""):
            self.page.reload()
        self.page.says(".message.agent .body", "The disk is")
        run.end("The disk is 61% full.")
        until(lambda: self.page.newest()["text"] == "The disk is 61% full.", "the poll found the answer")
        self.assertGreaterEqual(self.page.run("return window.asked"), 2)

    def test_a_stream_that_broke_goes_on_where_it_was(self):
        program = self.simulator()
        run = self.begin(program)
        program.call("POST", "/v1/simulator/phones/away", {})
        run.delta("61% ", "full")
        self.page.says(".message.agent .body", "The disk is 61% full")
        run.end("The disk is 61% full.")
        until(lambda: self.page.newest()["state"] == "final", "the run has ended")

    test_a_stream_that_broke_goes_on_where_it_was.complaints = ("ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION")

    def test_a_relay_that_was_killed_in_mid_run_still_brings_the_answer(self):
        with tempfile.TemporaryDirectory() as folder:
            state = str(Path(folder) / "relay.json")
            # A port that the system gives to nobody else, because the relay returns to it.
            program = self.program("simulate", "--strict", "--listen", f"127.0.0.1:{next_port()}", "--state", state)
            with self.page.beforehand(NOTING_CALLS):
                run = self.begin(program)
            approval = Bridge.ask(program, "Clean up").open()
            approval.approval("a1", command="rm -r tmp")
            until(lambda: Path(state).exists() and '"id":"a1"' in Path(state).read_text(), "the state is on the disk")
            program.kill()
            self.page.says("#subtitle", "Relay unreachable")
            self.page.picture("relay-away-narrow-light")
            program.start()
            run.delta("61% full")
            run.end("The disk is 61% full.")
            until(lambda: self.page.newest()["text"] == "The disk is 61% full.", "the answer arrived")
            self.assertEqual(self.page.count(".message.agent"), 1)
            self.page.says("#asks", "Clean up")
            streams = [last for path, last in self.page.run("return window.calls") if path == "/v1/me/stream"]
            self.assertEqual(streams[0], None)
            self.assertTrue(all(int(last) > 0 for last in streams[1:]) and streams[1:], streams)
            self.assertEqual(program.breaches(), [])
            # The relay writes its state a moment after each change, here into a directory about to be removed.
            program.kill()

    test_a_relay_that_was_killed_in_mid_run_still_brings_the_answer.complaints = ("ERR_CONNECTION", "ERR_INCOMPLETE_CHUNKED", "ERR_EMPTY")
