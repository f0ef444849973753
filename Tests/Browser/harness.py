"""A headless Chromium in front of the program's phone page, and a bridge by hand behind its relay."""

import contextlib
import itertools
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

ROOT = Path(__file__).resolve().parent.parent.parent
SCREENS = ROOT / "build" / "screens"
DRIVERS = ["/usr/bin/chromedriver", "/usr/lib/chromium/chromedriver"]
BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser"]
WIDE = (1440, 900)
NARROW = (390, 844)


def command():
    """`SOPHON_BRIDGE` may be a path or a whole command line."""
    if named := os.environ.get("SOPHON_BRIDGE"):
        return shlex.split(named)
    return [str(ROOT / ".build" / "debug" / "sophon-bridge")]


def until(condition, what, seconds=30.0):
    """Waits for a condition, and fails with a sentence, given as a text or a function. Elements that the page is replacing count as
    absent."""
    end = time.monotonic() + seconds
    last, is_over = None, False
    while True:
        try:
            if result := condition():
                return result
        except Exception as error:  # noqa: BLE001: an element that was replaced, a server that is not up yet
            if isinstance(error, AssertionError):
                raise
            last = error
        if is_over:
            what = what() if callable(what) else what
            raise AssertionError(f"after {seconds} s still not: {what}" + (f" ({last})" if last else ""))
        # After a stall of the machine, check once more past the deadline.
        is_over = time.monotonic() > end
        time.sleep(0.5 if is_over else 0.02)


# The program

class Program:
    """A running `simulate` or `demo`."""

    def __init__(self, *arguments, environment=None):
        self.arguments = arguments
        self.environment = environment or {}
        self.events = []
        self.errors = []
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            command() + list(self.arguments) + ["--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=os.environ | self.environment)
        mark = len(self.events)
        threading.Thread(target=self._read, args=(self.process.stdout, self.events, json.loads), daemon=True).start()
        threading.Thread(target=self._read, args=(self.process.stderr, self.errors, str), daemon=True).start()
        self.listening = until(lambda: next((event for event in self.events[mark:] if event["event"] == "listening"), None),
                               lambda: f"{self.arguments} listens; it said {''.join(self.errors)}", 60)
        self.base, self.token = self.listening["base_url"], self.listening["token"]
        self.user_token, self.phone_url = self.listening["user_token"], self.listening["phone_url"]

    @staticmethod
    def _read(stream, lines, read):
        for line in stream:
            lines.append(read(line))

    def kill(self):
        self._end(signal.SIGKILL)

    def stop(self):
        self._end(signal.SIGTERM)
        return self.process.returncode

    def _end(self, number):
        if self.process.poll() is None:
            os.kill(self.process.pid, number)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait(30)
            raise AssertionError(f"{self.arguments} had not ended after 30 s") from None

    # Calls of the page, made directly

    def call(self, method, path, body=None, token=None):
        request = urllib.request.Request(
            self.base + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token or self.user_token}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)["result"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path} was refused: {error.read().decode()}") from None

    def messages(self, session):
        return self.call("GET", f"/v1/me/sessions/{session}/messages")["messages"]

    def breaches(self):
        return self.call("GET", "/v1/simulator/breaches")["breaches"]


class Bridge:
    """Plays a bridge's part in one run."""

    _numbers = itertools.count(1)

    def __init__(self, program, session, interaction):
        self.program, self.session, self.interaction = program, session, interaction

    @classmethod
    def ask(cls, program, text, session=None):
        """Sends a message of the user from another device."""
        body = {"text": text} | ({"session_id": session} if session else {})
        sent = program.call("POST", "/v1/simulator/sessions", body)
        return cls(program, sent["session_id"], sent["interaction_id"])

    def call(self, name, **fields):
        fields["idempotency_key"] = f"browser-{os.getpid()}-{next(self._numbers)}"
        return self.program.call("POST", f"/v1/bridge/{name}", fields, self.program.token)

    def open(self, text=" "):
        self.message = self.call("sendMessage", session_id=self.session, interaction_id=self.interaction, text=text)["message_id"]
        return self

    def delta(self, *pieces):
        for piece in pieces:
            self.call("sendMessageDelta", message_id=self.message, delta=piece)

    def end(self, text, **more):
        self.call("sendMessageEnd", message_id=self.message, text=text, **more)

    def task(self, task, label, kind="exec", **more):
        self.call("createTask", session_id=self.session, interaction_id=self.interaction, task_id=task, kind=kind,
                  status_label=label, **more)

    def progress(self, task, **more):
        self.call("updateTask", session_id=self.session, task_id=task, **more)

    def finish(self, task, status="completed", **more):
        self.call("finishTask", session_id=self.session, task_id=task, status=status, **more)

    def approval(self, approval, title="Run a command", severity="medium", **more):
        self.call("requestApproval", session_id=self.session, interaction_id=self.interaction, approval_id=approval,
                  action="exec", title=title, message=more.pop("message", title), severity=severity, **more)


# The page

def driver(profile):
    """A browser with its profile in this directory."""
    binary = next((path for path in BROWSERS if Path(path).exists()), None)
    service = next((path for path in DRIVERS if Path(path).exists()), None)
    if not binary or not service:
        raise unittest.SkipTest("there is no Chromium with its driver: run scripts/setup")
    os.environ["SE_OFFLINE"] = "true"
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
                     "--disable-background-networking", "--disable-component-update", "--no-first-run",
                     "--lang=en-GB", f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=service))
    browser.set_script_timeout(120)
    return browser


class Page:
    """The page, seen and used like a person."""

    def __init__(self, browser):
        self.browser = browser
        self.complaints = []

    def open(self, address, size=WIDE, theme=None):
        self.resize(size)
        if theme:
            self.theme(theme)
        # An already open page gets a new fragment only, and reloads a moment later.
        self.run("window.isOld = true")
        self.browser.get(address)
        until(lambda: self.run("return !window.isOld && document.querySelector('#bridge .bridge-words') !== null"), "the page is there")

    def resize(self, size):
        """Sets the size of the page, not of the window around it."""
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False})

    def theme(self, scheme, motion="no-preference"):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion}]})

    def reload(self):
        self.browser.refresh()
        until(lambda: self.find("#bridge .bridge-words"), "the page is there again")

    # The page may replace an element between find and read, so texts are read by selector, in one script, with retries. Found elements are
    # for parts that are never replaced, and inside `until`.

    def find(self, selector):
        return next(iter(self.all(selector)), None)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? null", selector)

    def texts(self, selector):
        """Texts of all visible elements, in order."""
        return self.run("""return [...document.querySelectorAll(arguments[0])]
            .filter((element) => element.checkVisibility({ visibilityProperty: true })).map((element) => element.innerText)""", selector)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def attribute(self, selector, name):
        """The attribute, or null if it or the element is missing."""
        return self.run("return document.querySelector(arguments[0])?.getAttribute(arguments[1]) ?? null", selector, name)

    def is_shown(self, selector):
        """Whether the first element is visible."""
        return self.steady(lambda: (element := self.find(selector)) is not None and element.is_displayed())

    def is_enabled(self, selector):
        """Whether any element is enabled; a disabled one ignores clicks."""
        return self.steady(lambda: any(element.is_enabled() for element in self.all(selector)))

    @staticmethod
    def steady(look):
        while True:
            with contextlib.suppress(StaleElementReferenceException):
                return look()

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def shown(self, selector, what=None, seconds=30.0):
        return until(lambda: next((element for element in self.all(selector) if element.is_displayed()), None),
                     what or f"{selector} is shown", seconds)

    def gone(self, selector, seconds=30.0):
        until(lambda: not any(element.is_displayed() for element in self.all(selector)), f"{selector} is gone", seconds)

    def says(self, selector, words, seconds=30.0):
        until(lambda: words in (self.text(selector) or ""), lambda: f"{selector} says {words!r}, not {self.text(selector)!r}", seconds)

    def click(self, selector):
        def clicked():
            element = next((element for element in self.all(selector) if element.is_displayed() and element.is_enabled()), None)
            if element is None:
                return False
            element.click()
            return True
        until(clicked, f"{selector} can be clicked")

    def open_chat(self, session):
        self.run("location.hash = `#/chat/${arguments[0]}`", session)
        self.stands_at(session)

    def new_chat(self):
        self.click("#new-chat")
        self.stands_at("new")

    def stands_at(self, session):
        """Waits until the whole page is at this chat, so that the next text goes there."""
        until(lambda: self.attribute("#messages", "data-session") == session, f"the page is at {session}")
        self.shown("#compose")

    def choose(self, selector, words):
        """Chooses the option of a list that begins with these words, and returns its text."""
        def chosen():
            option = next((option for option in self.all(f"{selector} option") if option.text.startswith(words)), None)
            if option is None:
                return None
            text = option.text
            option.click()
            return text
        return until(chosen, f"{selector} has {words!r}")

    def write(self, text):
        self.shown("#text").send_keys(text)

    def keys(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def chord(self, held, *keys):
        ActionChains(self.browser).key_down(held).send_keys(*keys).key_up(held).perform()

    def focused(self):
        return self.run("const e = document.activeElement; return e.id || e.dataset.session || e.className || e.tagName")

    def newest(self):
        """State, role and text of the last bubble."""
        return self.run("""const all = document.querySelectorAll(".message"); const last = all[all.length - 1];
            return last && { state: last.dataset.state, role: last.classList.contains("user") ? "user" : "agent",
              text: last.querySelector(".body").innerText }""") or {"state": None, "role": None, "text": ""}

    @contextlib.contextmanager
    def beforehand(self, script):
        """Runs the script in each page loaded meanwhile, before the page's own."""
        name = self.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})["identifier"]
        try:
            yield
        finally:
            self.browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": name})

    def noting_steps(self):
        """Records every text shown by each run's bubble, from the first moment on."""
        return self.beforehand("""const seen = window.seenTexts = {};
            new MutationObserver(() => { for (const bubble of document.querySelectorAll(".message.agent[data-interaction]")) {
                const texts = seen[bubble.dataset.interaction] ??= [], text = bubble.querySelector(".body").textContent;
                if (texts.at(-1) !== text) texts.push(text); } })
              .observe(document, { subtree: true, childList: true, characterData: true });""")

    def steps(self, interaction):
        return self.run("return window.seenTexts[arguments[0]] ?? []", interaction)

    def picture(self, name):
        SCREENS.mkdir(parents=True, exist_ok=True)
        # Two frames, so that the last drawing is in the picture.
        self.browser.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))")
        self.browser.save_screenshot(str(SCREENS / f"{name}.png"))

    def console(self):
        """The browser's complaints since the last call."""
        return [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


class BrowserTest(unittest.TestCase):
    """One browser per class; every program has a port, and so a page with storage, of its own."""

    @classmethod
    def setUpClass(cls):
        cls.profile = tempfile.mkdtemp(prefix="phone-page-")
        cls.browser = driver(cls.profile)
        cls.page = Page(cls.browser)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        shutil.rmtree(cls.profile, ignore_errors=True)

    def setUp(self):
        self.programs = []
        self.page.console()

    def program(self, *arguments, **options):
        program = Program(*arguments, **options)
        self.programs.append(program)
        return program

    def simulator(self, *more):
        return self.program("simulate", "--strict", "--listen", "127.0.0.1:0", *more)

    def tearDown(self):
        # A test that stops the relay causes complaints about that, and names them.
        expected = getattr(getattr(self, self._testMethodName), "complaints", ())
        complaints = [words for words in self.page.console() if not any(allowed in words for allowed in expected)]
        self.browser.get("about:blank")
        self.page.console()
        for program in self.programs:
            program.stop()
        self.assertEqual(complaints, [], "the browser complained")


__all__ = ["Bridge", "BrowserTest", "By", "Keys", "NARROW", "Page", "Program", "ROOT", "SCREENS", "WIDE", "driver", "until"]
