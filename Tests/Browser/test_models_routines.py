"""Models and routines on the page, through the live bridge."""

import tempfile

from harness import NARROW, BrowserTest, Keys, until
from test_agent import GatewayThread
from test_sealed_live import LiveBridge
from peers.steps import Say  # noqa: E402: test_agent has made them findable


class ModelsAndRoutines(BrowserTest):
    def setUp(self):
        super().setUp()
        self.peer = GatewayThread()
        self.addCleanup(self.peer.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.relay = self.simulator()
        self.bridge = LiveBridge(folder.name, self.relay, self.peer.gateway, admin=True)
        self.addCleanup(self.bridge.kill)
        self.page.open(self.relay.phone_url)
        self.page.says("#bridge", "Bridge connected")

    def choose(self, name):
        page = self.page
        page.click("#model-menu summary")
        page.choose("#model", name)
        page.click("#model-menu summary")

    def answers(self, text, model):
        self.page.write(text + Keys.ENTER)
        until(lambda: (text, model) in self.peer.gateway.answered, f"{text} is answered by {model}, not {self.peer.gateway.answered}")
        until(lambda: self.page.newest()["state"] == "final", "the run has ended")

    def test_a_model_is_chosen_for_each_chat(self):
        for is_sealed in (True, False):
            page, mark = self.page, "sealed" if is_sealed else "open"
            page.new_chat()
            if not is_sealed:
                page.click("#lock")
            self.choose("Quill 2")
            page.says("#model-name", "Quill 2")
            self.answers(f"First, {mark}", "acme/quill-2")
            self.choose("Nib 1")
            page.says("#model-name", "Nib 1")
            if is_sealed:
                page.picture("models")
            self.answers(f"Second, {mark}", "acme/nib-1")
            page.reload()
            page.says("#model-name", "acme/nib-1")
            self.choose("The agent")
            page.says("#model-name", "own model")
            self.answers(f"Third, {mark}", None)
            self.assertNotIn("could not be set", page.text("#messages"))
        self.assertEqual(self.relay.breaches(), [])

    def test_a_refused_model_is_told_of_in_the_bubble(self):
        page = self.page
        page.new_chat()
        self.choose("Quill 2")
        self.peer.gateway.models = self.peer.gateway.models[1:]
        page.write("Hello" + Keys.ENTER)
        page.says("#messages", "The model acme/quill-2 could not be set")

    def test_the_list_of_models_stays_as_it_is_under_an_open_menu(self):
        page, models = self.page, self.peer.gateway.models
        page.new_chat()
        page.click("#model-menu summary")
        until(lambda: page.count("#model option") == len(models) + 1, "the models are listed")
        page.run("window.old = [...document.querySelectorAll('#model option')]")
        same = "return [...document.querySelectorAll('#model option')].map((option) => window.old.indexOf(option))"
        page.run("""const real = window.fetch; window.answers = 0; window.fetch = async (path, options) => {
            const answer = await real(path, options); if (String(path).includes("/v1/me/models")) window.answers += 1; return answer; };""")
        # Each opening asks the agent again, and the answer is the same.
        page.click("#model-menu summary")
        page.click("#model-menu summary")
        until(lambda: page.run("return window.answers") == 1 and page.text("#model-words") == "", "the answer is shown")
        self.assertEqual(page.run(same), list(range(len(models) + 1)))
        # One model was renamed, and one removed: the others are still the same elements.
        self.peer.gateway.models = [models[0] | {"name": "Feather 9"}] + models[2:]
        page.click("#model-menu summary")
        page.click("#model-menu summary")
        until(lambda: any(text.startswith("Feather 9") for text in page.run("return [...document.querySelectorAll('#model option')].map((o) => o.text)")),
              "the new name is listed")
        self.assertEqual(page.run(same), [place for place in range(len(models) + 1) if place != 2])

    def test_a_model_that_the_relay_refuses_is_not_shown_as_chosen(self):
        page = self.page
        page.new_chat()
        self.answers("Hello", None)
        self.choose("Quill 2")
        page.says("#model-name", "Quill 2")
        page.run("""const real = window.fetch; window.fetch = (path, options) => (options?.method === "PATCH"
            ? Promise.resolve(Response.json({ ok: false, error: { code: "too_busy", message: "No other model just now." } }, { status: 503 }))
            : real(path, options));""")
        page.click("#model-menu summary")
        page.choose("#model", "Nib 1")
        page.says("#model-words", "No other model just now.")
        self.assertEqual(page.run("return document.querySelector('#model').value"), "acme/quill-2")
        page.says("#model-name", "Quill 2")

    def test_routines_from_add_to_remove(self):
        page, gateway = self.page, self.peer.gateway
        gateway.plan("Back up everything", Say(["All is saved."]))
        page.click("#open-routines")
        page.says("#routine-words", "No routines yet.")
        page.click("#routine-add summary")
        page.find("#routine-form [name=name]").send_keys("Backup")
        page.find("#routine-form [name=message]").send_keys("Back up everything")
        page.find("#routine-form [name=every]").clear()
        page.find("#routine-form [name=every]").send_keys("2")
        page.choose("#routine-form [name=unit]", "hours")
        page.click("#routine-form button")
        page.says("#routine-list", "every 2 hours")
        job, = gateway.jobs.values()
        self.assertEqual((job["name"], job["schedule"], job["payload"]["message"]),
                         ("Backup", {"kind": "every", "everyMs": 7_200_000}, "Back up everything"))
        page.picture("routines")
        page.click("[aria-label='Turn off Backup']")
        page.says("#routine-list", "off")
        until(lambda: next(iter(gateway.jobs.values()))["enabled"] is False, "it is off at the gateway")
        page.click("[aria-label='Turn on Backup']")
        until(lambda: page.find("[aria-label='Turn off Backup']"), "it is on again")
        page.click("[aria-label='Run now Backup']")
        until(lambda: ("Back up everything", None) in gateway.answered, "it runs")
        page.click("[aria-label='Remove Backup']")
        page.says("#routine-words", "No routines yet.")
        self.assertEqual(gateway.jobs, {})
        page.click("#close-routines")
        # The routine's answer has a chat of its own.
        page.says("#chats", "All is saved.")

    def test_what_the_bridge_refuses_is_shown_beside_the_form(self):
        page = self.page
        page.click("#open-routines")
        page.says("#routine-words", "No routines yet.")
        page.click("#routine-add summary")
        page.find("#routine-form [name=name]").send_keys("Backup")
        page.find("#routine-form [name=message]").send_keys("Back up")
        page.choose("#routine-when", "by a cron")
        page.click("#routine-form button")
        page.says("#routine-words", "schedule.expr must be a text")
        self.bridge.kill()
        page.says("#bridge", "Bridge away")
        page.click("#routine-form button")
        page.says("#routine-words", "No bridge is connected")

    test_what_the_bridge_refuses_is_shown_beside_the_form.complaints = ("502", "503", "504")

    def test_on_a_narrow_screen_both_fit(self):
        self.page.open(self.relay.phone_url, NARROW)
        self.page.says("#bridge", "Bridge connected")
        self.page.click("#open-routines")
        self.page.says("#routine-words", "No routines yet.")
        self.page.click("#routine-add summary")
        self.page.picture("routines-narrow")
        self.assertLessEqual(self.page.run("return document.querySelector('#routines').scrollWidth - document.querySelector('#routines').clientWidth"), 0)
