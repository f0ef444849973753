"""Every place that can show text of a chat, visited for each agent with sealed chats: by default none shows any
(THREAT_MODEL.md#what-each-place-shows-of-a-sealed-chat)."""

import asyncio
import base64
import json
import os
import re
import unittest

from codex_stage import CodexStage
from commands import once
from harness import Stage, until
from oppi_stage import OppiStage
from peers import codex_steps, oppi_steps, steps
from peers.sealed_hand import SealedHand
from peers.sealed_phone import sealing
from pi_stage import PiStage
from scheduling import Scenarios, scenario

MARK = "quokkawombat"
"""Part of every text here, with a number that identifies it."""
HELD = "held"
"""A gate."""


class Words:
    """Makes a new marked text at each use: words of the person or the agent, a file's name, a command, a title."""

    def __init__(self):
        self.given = {}

    def __call__(self, what):
        word = f"{MARK}{len(self.given)}"
        self.given[word] = what
        return word

    def found(self, content):
        """Marks found in these bytes: raw, in base64 or in hexadecimal."""
        names = sorted({word.decode() for word in re.findall(MARK.encode() + rb"\d*", content)})
        found = [f"{name} ({self.given.get(name, '?')})" for name in names]
        for place in range(3):
            letters = base64.b64encode(b"p" * place + MARK.encode()).decode()
            letters = letters[4 if place else 0:len(letters) // 4 * 4 - (4 if (place + len(MARK)) % 3 else 0)]
            found += [f"base64 {letters}"] if letters.encode() in content else []
        return found + (["hexadecimal"] if MARK.encode().hex().encode() in content.lower() else [])


def openclaw(word):
    return {
        "whole": [steps.Say([word("said")]), steps.Tool("exec", {"command": word("command"), "workdir": f"/{word('folder')}"},
                                                        output=word("output")),
                  steps.Tool("read", {"path": f"/srv/{word('file')}.txt"}, output=word("failure of a tool"), failed=True),
                  steps.Approval(word("command of an ask"), word("output of an ask"), detached=False,
                                 request={"cwd": f"/{word('folder of an ask')}"}), steps.Say([word("said")])],
        "failing": [steps.Say([word("said")]), steps.Retry(word("reason of a retry")), steps.Fail(word("reason of a failure"))],
        "held": [steps.Say([word("said")]), steps.Tool("exec", {"command": word("command")}, output=word("output")), steps.Hold(HELD),
                 steps.Say([word("said")])]}


def oppi(word):
    return {
        "whole": [oppi_steps.Say([word("said")], thinking=word("thought")), oppi_steps.Tool(
            args={"command": word("command of an ask")}, parts=[word("output")], asks=word("reason of an ask")),
                  oppi_steps.Tool("write", {"path": f"/srv/{word('file')}.md", "content": word("content")}, [word("failure of a tool")],
                                  failed=True), oppi_steps.Trouble(word("trouble")), oppi_steps.Say([word("said")])],
        "asking": [oppi_steps.Dialog("ask", {"questions": [
            {"id": "q", "question": word("question"), "options": [{"value": "e", "label": word("option")}]}], "allowCustom": True})],
        "failing": [oppi_steps.Say([word("said")]), oppi_steps.Fail(word("reason of a failure"))],
        "held": [oppi_steps.Say([word("said")]), oppi_steps.Tool(args={"command": word("command")}, parts=[word("output")], hold=HELD),
                 oppi_steps.Say([word("said")])]}


def codex(word):
    ask = {"id": "q", "header": word("header"), "question": word("question"), "isOther": True, "isSecret": False,
           "options": [{"label": word("option"), "description": word("description")}]}
    return {
        "whole": [codex_steps.Think([word("thought")]), codex_steps.Say([word("said")], "commentary"), codex_steps.Command(
            f"cat {word('command of an ask')}", word("output"), [word("output")], asks=word("reason of an ask")),
                  codex_steps.Change(f"{word('file')}.txt", f"{word('line of a file')}\n"),
                  codex_steps.Tool(arguments={"bed": word("argument")}, result=word("result")),
                  codex_steps.Command(f"ls {word('command')}", word("failure of a tool"), code=1), codex_steps.Say([word("said")])],
        "asking": [codex_steps.Question([ask])],
        "failing": [codex_steps.Say([word("said")], "commentary"), codex_steps.Retry(word("reason of a retry")),
                    codex_steps.Fail(word("reason of a failure"))],
        "held": [codex_steps.Say([word("said")], "commentary"), codex_steps.Command(f"ls {word('command')}", word("output")),
                 codex_steps.Hold(HELD), codex_steps.Say([word("said")])]}


def pi(word):
    return {
        "whole": [{"complain": [word("standard error")]}, {"say": [word("said")]},
                  {"tool": {"args": {"command": word("command")}, "parts": [word("output")], "output": word("output")}},
                  {"tool": {"name": "read", "args": {"path": f"/srv/{word('file')}"}, "output": word("failure of a tool"), "failed": True}},
                  {"print": f"{word('no frame')} {{"},
                  {"confirm": {"title": word("title"), "message": word("message of an ask"), "yes": word("said"), "no": word("said")}}],
        "asking": [{"ask": [{"method": "input", "title": word("question"), "placeholder": word("example")}]}],
        "failing": [{"say": [word("said")]}, {"retry": word("reason of a retry")}, {"fail": word("reason of a failure")}],
        "refused": [{"refuse": word("reason of a refusal")}],
        "leaving": [{"complain": [word("last words")]}, {"exit": 1}],
        "held": [{"say": [word("said")]}, {"tool": {"args": {"command": word("command")}, "output": word("output")}}, {"hold": HELD},
                 {"say": [word("said")]}]}


class Walk:
    """A stage where all chats of one agent but one are sealed, with a person who decides."""

    def __init__(self, case, stage, stories, words):
        self.case, self.stage, self.stories, self.words = case, stage, stories, words
        self.seals, self.asked, self.seen = SealedHand(stage.relay), {}, {}

    def ask(self, name):
        self.asked[name] = self.seals.ask(f"{name} {self.words('message')}")
        return self.asked[name]

    async def begin(self):
        stage = self.stage
        stage.configure({"record_dir": str(stage.directory / "records"), "log": {"level": "debug"}})
        await stage.bridge.start()
        await until(lambda: self.seals.bridge, 20, "the bridge's device")
        # One device is pinned, and one is held: the notice goes to a sealed chat.
        for number in (1, 2):
            stage.relay.push("device_added", {"device_id": f"dev_{number}", "pubkey": sealing.public(os.urandom(32)).hex(), "label": "phone",
                                              "platform": "ios"})

    async def play(self):
        stage, phone = self.stage, self.stage.phone
        whole = self.ask("whole")
        await stage.card(whole)
        await self.look("while a card is open", has_doctor=True)
        while not phone.is_ended(whole.interaction):
            for card in phone.open_cards(whole.session):
                stage.relay.decide(card, "approve")
            await asyncio.sleep(0.05)
        self.case.assertIn(MARK, phone.final(whole.interaction))
        if "asking" in self.stories:
            asking = self.ask("asking")
            await stage.streaming(asking)
            await self.look("while a question is open", ("status",))
            self.seals.ask(self.words("answer"), asking.session)
            await stage.ended(asking)
        rest = [self.ask(name) for name in self.stories if name not in ("whole", "asking", "held")]
        await stage.ended(*rest, seconds=60)
        # An open turn, so that the journal contains its words.
        held = self.ask("held")
        await stage.streaming(held)
        await until(lambda: phone.tasks_of(held.interaction), 30, "a tool")
        stage.bridge.kill9()
        await stage.bridge.exit()
        await self.look("after a kill")
        self.release()
        await stage.bridge.start()
        await stage.ended(held, seconds=60)
        await self.look("at the end", ("status",))
        stage.bridge.terminate()
        await stage.bridge.exit()
        await self.look("after the end")

    def release(self):
        stage = self.stage
        match stage:
            case OppiStage(): stage.oppi.release(HELD)
            case CodexStage(): stage.codex.open_gate(HELD)
            case PiStage(): stage.open_gate(HELD)
            case _: stage.gateway.release(HELD)

    # Looking

    async def look(self, when, commands=("status", "top --once", "journal inspect", "journal export", "devices list"), has_doctor=False):
        stage, seen = self.stage, self.seen
        arguments = [tuple(command.split()) for command in commands + (("doctor",) if has_doctor else ())]
        arguments += [(*words, "--json") for words in arguments if "export" not in words]
        names = [name for turn in self.asked.values() for name in (turn.interaction, turn.message_id)]
        arguments += [("explain", name, *more) for name in names for more in ((), ("--json",))] if len(commands) > 1 else []
        free = asyncio.Semaphore(3)
        async def run(words):
            async with free:
                said = await once(*words, directory=stage.directory, environment=stage.bridge.environment)
            seen[f"{' '.join(words)} {when}"] = (said.out + said.err).encode()
        await asyncio.gather(*(run(words) for words in arguments))
        if stage.bridge.process.returncode is None:
            for command in ("asks", "status", "help"):
                turn = stage.relay.ask(f"/bridge {command}")
                await stage.ended(turn)
                seen[f"/bridge {command} in an open chat {when}"] = stage.phone.final(turn.interaction).encode()
        seen["log"], seen["events of run --json"] = "".join(stage.bridge.stderr).encode(), json.dumps(stage.bridge.events).encode()
        seen["calls to the relay"] = b"\n".join(call.raw for call in stage.relay.calls)
        for folder in ("state", "config", "records"):
            for path in (stage.directory / folder).rglob("*"):
                # The log of Codex's server is a separate file, readable by its owner alone.
                if path.is_file() and not (path.name.startswith("codex-") and path.suffix == ".log"):
                    seen[f"{folder}/{path.name} {when}"] = path.read_bytes()

    def check(self):
        for place in ("status while", "explain int_", "journal export after a kill", "/bridge asks", "records/", "journal.db"):
            self.case.assertTrue(any(place in name and content for name, content in self.seen.items()), place)
        for name in ("log", "calls to the relay", "events of run --json"):
            self.case.assertGreater(len(self.seen[name]), 500, name)
        shown = {name: found for name, content in self.seen.items() if (found := self.words.found(content))}
        self.case.assertEqual(shown, {})
        said = json.dumps([list(self.stage.phone.asked.values()), [self.stage.phone.final(turn.interaction) for turn in self.asked.values()]])
        self.case.assertGreater(len(self.words.found(said.encode())), 6, "the phone has heard it")


class SealedPlacesTests(Scenarios):
    async def walks(self, make, stories):
        words = Words()
        story = stories(words)
        async with make(story) as stage:
            walk = Walk(self, stage, story, words)
            await walk.begin()
            await walk.play()
            walk.check()

    @staticmethod
    def planned(make, plan):
        """A stage whose agent is scripted with the stories."""
        class Planned(make):
            async def __aenter__(self):
                await super().__aenter__()
                for text, story in self.stories.items():
                    plan(self)(text, *story)
                return self
        def made(story, **options):
            stage = Planned(**options)
            stage.stories = story
            return stage
        return made

    @scenario(150)
    async def test_openclaw(self):
        make = self.planned(Stage, lambda stage: stage.gateway.plan)
        await self.walks(lambda story: make(story, start=False), openclaw)

    @scenario(150)
    async def test_oppi(self):
        make = self.planned(OppiStage, lambda stage: stage.oppi.plan)
        await self.walks(lambda story: make(story, begins=False), oppi)

    @scenario(150)
    async def test_codex(self):
        make = self.planned(CodexStage, lambda stage: stage.codex.plan)
        await self.walks(lambda story: make(story, begins=False), codex)

    @scenario(150)
    async def test_pi(self):
        await self.walks(lambda story: PiStage(story, start=False), pi)


class MarkTests(unittest.TestCase):
    def test_each_form_of_a_word_is_found(self):
        words = Words()
        word = words("said")
        self.assertEqual(words.found(f"a {word} b".encode()), [f"{word} (said)"])
        for place in range(3):
            self.assertTrue(words.found(base64.b64encode(b"x" * place + f"{word} and more".encode())), place)
        self.assertTrue(words.found(f"a {word}".encode().hex().encode()))
        self.assertEqual(words.found(b"nothing of it"), [])


if __name__ == "__main__":
    unittest.main()
