"""The page as a device: it makes keys, hands them over, seals and opens, and shows what it cannot read."""

import os
import subprocess
import sys

from harness import NARROW, ROOT, Bridge, BrowserTest, Keys, until
from sealed_hand import Device, SealedBridge

sys.path.append(str(ROOT / "Tests" / "Acceptance"))
from peers.sealed_phone import SealedPhone  # noqa: E402

SECRETS = ("Where is the treasure?", "Under the old oak", "dig --deep", "seven feet", "Run dig")


class Sealed(BrowserTest):
    def setUp(self):
        super().setUp()
        self.relay = self.simulator()

    def open(self, size=(1000, 800)):
        self.page.open(self.relay.phone_url, size)
        until(lambda: "connecting" not in (self.page.text("#bridge") or "").lower(), "the page is attached")

    def begin(self, words="Where is the treasure?"):
        """Begins a chat on the page, and waits for the bridge to receive it."""
        self.page.new_chat()
        self.page.says("#lock-words", "only your devices and the bridge")
        self.page.write(words + Keys.ENTER)
        run, is_sealed = self.device.asked(words)
        self.assertTrue(is_sealed)
        return run

    def lock(self):
        return self.page.attribute("#lock", "data-lock")

    def wire(self):
        """All data at the relay."""
        calls = ["/v1/me", "/v1/me/snapshot"] + [f"/v1/me/sessions/{session['session_id']}/messages"
                                                for session in self.relay.call("GET", "/v1/me")["sessions"]]
        return "".join(str(self.relay.call("GET", path)) for path in calls)

    def test_what_is_typed_into_a_sealed_chat_is_stored_nowhere(self):
        self.device = Device(self.relay)
        self.open()
        page = self.page
        page.new_chat()
        page.says("#lock-words", "only your devices and the bridge")
        page.write("the north cellar")
        self.assertNotIn("north cellar", page.run("return JSON.stringify([{ ...sessionStorage }, { ...localStorage }])"))
        page.write(Keys.ENTER)
        self.device.asked("the north cellar")
        page.says(".message.user .body", "the north cellar")
        page.write("the south gate")
        self.assertNotIn("south gate", page.run("return JSON.stringify([{ ...sessionStorage }, { ...localStorage }])"))

    def test_a_sealed_chat_streams_asks_and_is_read_again_after_a_reload(self):
        self.device = Device(self.relay)
        self.open()
        page, run = self.page, self.begin()
        run.open().task("t1", "dig --deep", args={"command": "dig --deep"})
        run.delta("Under the ", "old oak")
        page.says(".message.agent .body", "Under the old oak")
        run.progress("t1", partial_result="seven feet")
        run.finish("t1", result={"output": "seven feet"})
        page.says(".tools-words", "Ran 1 command")
        run.approval("a1", "Run dig", command="dig --deep", message="Run dig?")
        page.shown("#sheet")
        page.says("#sheet", "dig --deep")
        page.picture("sealed-approval")
        page.click("#sheet .once")
        page.gone("#sheet")
        run.end("Under the **old oak**, seven feet.")
        until(lambda: page.newest()["text"] == "Under the old oak, seven feet.", "the end is shown")
        self.assertEqual(self.lock(), "sealed")
        page.shown(".row-lock[data-lock=sealed]")
        self.assertFalse(page.is_shown("#lock-words"))
        page.click("#lock")
        page.says("#lock-words", "passes on what it cannot read")
        page.picture("sealed-chat")
        for words in SECRETS:
            self.assertNotIn(words, self.wire())
        page.reload()
        until(lambda: page.newest()["text"] == "Under the old oak, seven feet.", "it is read again")
        page.click(".tools > summary")
        page.click(".card summary")
        page.says(".card-parts", "dig --deep")
        page.says(".card-parts", "seven feet")
        page.says(".row-title", "Where is the treasure?")
        # Later messages use the same session key.
        page.write("And then?" + Keys.ENTER)
        run, is_sealed = self.device.asked("And then?")
        self.assertTrue(is_sealed)
        self.assertEqual(len(self.relay.call("GET", f"/v1/me/devices/{self.device.name}/keys")["keys"]), 1)
        # A page loaded in the middle lacks the beginning: the relay stores no sealed deltas.
        run.open().delta("We ")
        page.says(".message.agent:last-child .body", "We")
        page.reload()
        until(lambda: page.newest()["state"] == "open", "the run is shown")
        run.delta("dig.")
        until(lambda: page.newest()["text"] == "… dig.", "what comes now is shown")
        run.end("We dig.")
        until(lambda: page.newest()["text"] == "We dig.", "the end has all of it")
        self.assertEqual(self.relay.breaches(), [])

    def test_a_chat_of_the_bridge_is_read_when_its_key_is_handed_over(self):
        self.device = Device(self.relay)
        self.open()
        until(lambda: len(self.relay.call("GET", "/v1/me/devices")["devices"]) == 2, "the page is a device")
        session = self.device.post("createSession", source="cron")["session_id"]
        self.device.keys[session] = os.urandom(32)
        run = SealedBridge(self.device, session, None, self.device.keys[session])
        run.call("sendMessage", session_id=session, text="The night report: all is well.")
        self.page.open_chat(session)
        self.page.says(".body.unreadable", "no key for it yet")
        self.page.says("#lock-words", "no device has handed its key")
        own = next(device for device in self.relay.call("GET", "/v1/me/devices")["devices"] if device["platform"] == "web")["device_id"]
        self.page.says("#lock-words", f"run “sophon-bridge devices allow {own}” on its machine")
        self.assertEqual(self.lock(), "locked")
        self.page.picture("sealed-without-key")
        # Without a key nothing is sent in the open.
        self.page.write("Thanks" + Keys.ENTER)
        self.page.says(".draft .foot", "This chat is sealed")
        run.approval("a1", "Run dig", command="dig --deep")
        self.page.shown("#sheet")
        self.page.says("#sheet", "it cannot be read here")
        self.assertEqual(self.page.texts("#sheet .actions button"), ["Deny"])
        self.device.hand(session, self.device.keys[session])
        self.page.says("#sheet", "dig --deep")
        self.page.click("#sheet .deny")
        self.page.gone("#sheet")
        self.page.says(".message.agent .body", "The night report: all is well.")
        self.page.click(".draft .link")
        self.assertTrue(self.device.asked("Thanks")[1])
        self.assertEqual(self.lock(), "sealed")

    def test_what_was_changed_on_its_way_is_said_and_harms_nothing_else(self):
        self.device = Device(self.relay)
        self.open()
        run = self.begin()
        run.open()
        other = SealedBridge(self.device, run.session, run.interaction, os.urandom(32))
        other.message = run.message
        run.delta("Under ")
        other.delta("a false ")
        self.page.says(".body.unreadable", "cannot be opened")
        other.task("t1", "dig")
        self.page.says(".tools-words", "exec (sealed)")
        run.end("Under the old oak")
        until(lambda: self.page.newest()["text"] == "Under the old oak", "the end is another envelope, and good")
        Bridge.ask(self.relay, "Hello", run.session).open().end("In the open")
        self.page.says(".message.agent:last-child .foot", "Not sealed")
        self.page.picture("sealed-and-not")

    def test_a_chat_is_in_the_open_where_the_person_or_the_bridge_wants_it(self):
        self.open()
        page = self.page
        page.new_chat()
        page.says("#lock-words", "The bridge has registered no device")
        self.device = Device(self.relay)
        page.says("#lock-words", "only your devices and the bridge")
        page.click("#lock")
        page.says("#lock-words", "Not sealed: the relay can read it")
        page.write("In the open" + Keys.ENTER)
        run, is_sealed = self.device.asked("In the open")
        self.assertFalse(is_sealed)
        self.assertIn("In the open", self.wire())
        Bridge(self.relay, run.session, run.interaction).open().end("And back")
        page.says(".message.agent .body", "And back")
        self.assertEqual(self.lock(), "open")
        self.assertNotIn("Not sealed", page.text(".message.agent .foot"))
        # The choice survives a reload.
        page.reload()
        page.new_chat()
        page.says("#lock-words", "Not sealed: the relay can read it")
        page.click("#lock")
        self.assertIn(self.begin("Hidden").session, self.device.keys)

    def test_another_phone_is_given_the_keys_and_one_that_is_lost_ends_them(self):
        self.device = Device(self.relay)
        self.open()
        run = self.begin()
        phone = SealedPhone(self.relay.base, self.relay.user_token).register()
        until(lambda: phone.fetch_keys() or run.session in phone.keys, "the page hands its keys over")
        self.assertEqual(phone.messages(run.session)[0]["text"], "Where is the treasure?")
        before = self.device.key(run.session)
        self.relay.call("DELETE", f"/v1/me/devices/{phone.device}")
        until(lambda: self.device.take_keys()[run.session] != before, "the page has made another key")
        run.open().end("Under the old oak")
        self.page.says(".message.agent .body", "Under the old oak")
        self.assertFalse(self.page.is_shown("#lock-words"), "it was the page's own doing")
        # A key from another device while one is in use.
        other = os.urandom(32)
        self.device.hand(run.session, other)
        self.page.says("#lock-words", "was changed while it was in use")
        # The bridge has a new key pair: it gets all keys again.
        self.device = Device(self.relay)
        self.assertEqual(self.device.key(run.session), other)
        self.page.click("#chat-menu summary")
        self.page.click("#hand-key")

    def test_a_browser_without_x25519_is_the_same_device(self):
        self.device = Device(self.relay)
        without = """const real = crypto.subtle.importKey.bind(crypto.subtle); crypto.subtle.importKey = (form, key, cipher, ...more) =>
            (cipher === "X25519" ? Promise.reject(new DOMException("Unrecognized name.", "NotSupportedError")) : real(form, key, cipher, ...more));"""
        with self.page.beforehand(without):
            self.open()
            run = self.begin()
            self.page.reload()
            run.open().end("Under the old oak")
            self.page.says(".message.agent .body", "Under the old oak")

    def test_a_page_without_ciphers_says_why_and_goes_on_in_the_open(self):
        self.device = Device(self.relay)
        phone = SealedPhone(self.relay.base, self.relay.user_token).register()
        sealed = phone.send(phone.new_chat(), "Where is the treasure?")
        without = """Object.defineProperty(Crypto.prototype, "subtle", { value: undefined });
            Object.defineProperty(globalThis, "isSecureContext", { value: false });"""
        with self.page.beforehand(without):
            self.page.open(self.relay.phone_url, NARROW)
            self.page.says("#no-ciphers", "crypto.subtle is missing")
            self.page.says("#no-ciphers", "http://127.0.0.1")
            self.page.picture("sealed-without-ciphers")
            self.page.open_chat(sealed["session_id"])
            self.page.says(".body.unreadable", "no key for it yet")
            self.page.says("#lock-words", "crypto.subtle is missing")
            self.page.write("Hello" + Keys.ENTER)
            self.page.says(".draft .foot", "Not sent")
            self.page.click("#back")
            self.page.new_chat()
            self.page.says("#lock-words", "Not sealed")
            self.page.write("In the open" + Keys.ENTER)
            self.assertFalse(self.device.asked("In the open")[1])


class ReferenceBridge(BrowserTest):
    """The double of the public bridge, which seals everything it sends, even answers to unsealed messages."""

    def setUp(self):
        super().setUp()
        # The double's approvals have keys with colons, and it breaks other rules of a strict relay.
        self.relay = self.program("simulate", "--listen", "127.0.0.1:0")

    def connect(self):
        environment = {"PATH": os.environ["PATH"], "SOPHON_BASE_URL": self.relay.base, "SOPHON_BOT_TOKEN": self.relay.token}
        bridge = subprocess.Popen([sys.executable, ROOT / "Tests" / "Acceptance" / "peers" / "reference_bridge.py"], env=environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(bridge.wait)
        self.addCleanup(bridge.kill)

    def test_it_is_readable_on_the_page(self):
        page = self.page
        page.open(self.relay.phone_url)
        page.says("#bridge", "No bridge has connected yet")
        self.connect()
        page.says("#bridge", "Bridge connected · 0.13.7")
        page.new_chat()
        page.says("#lock-words", "only your devices and the bridge")
        page.write("Please approve this" + Keys.ENTER)
        page.shown("#sheet")
        page.says("#sheet", "Run Please approve this?")
        page.click("#sheet .once")
        until(lambda: page.newest()["text"] == "You said approve. You wrote: Please approve this", "it is read")
        page.says(".tools-words", "Ran 1 command")
        # The bridge answers an unsealed message under a key of its own, which it hands over once it hears of a device.
        run = Bridge.ask(self.relay, "Hello in the open")
        page.open_chat(run.session)
        until(lambda: page.newest()["text"] == "You wrote: Hello in the open", "it is read too")
        page.says(".message.user .foot", "Not sealed")
        page.picture("sealed-reference")
        self.assertEqual(self.relay.breaches(), [])
