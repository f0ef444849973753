"""Makes the journals of Tests/Fixtures/journal: a bridge is killed with turns open in every state, and started again with its own program,
whose account is kept. Run once for each form of the records, with the last program that writes that form:
`SOPHON_BRIDGE=PROGRAM .build/python/bin/python Tests/Acceptance/make_journal.py DIRECTORY [AGENT…]`.
"""

import asyncio
import json
import sys
from pathlib import Path

from file_stories import chunk, offered
from harness import until
from kept_worlds import GO_ON, WORLDS, keep_journal
from peers.relay import base62
from peers.scheduler import scheduler_runs
from peers.steps import Approval, Hold, Say, Tool
from stories import words
from taken_up import differences, take_up

MINUTE = 60_000
PICTURE = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", bytes([0, 0, 0, 16, 0, 0, 0, 16, 8, 6, 0, 0, 0])) + chunk(b"IDAT", bytes(range(90)))
           + chunk(b"IEND", b""))
TIMES = 5
"""Restarts of the program on each journal; their accounts must be the same."""


class Frozen:
    """Makes the relay apply and answer no call of chosen methods, from some moment on."""

    def __init__(self, stage):
        self.stage, self.serve, self.stops = stage, stage.relay._serve, lambda method, body: False
        stage.relay._serve = self

    async def __call__(self, call, request):
        if self.stops(call.method, json.loads(request.body or b"{}")):
            await asyncio.sleep(3600)
        return await self.serve(call, request)


def said(name, count=12):
    """Words of a text, the last one without white space, which some agents trim."""
    return words(name, count)[:-1] + [f"{name}-{count - 1}"]


class Story:
    """Events before the kill, the same with every agent."""

    def __init__(self, world, frozen):
        self.world, self.stage, self.frozen, self.turns = world, world.stage, frozen, {}

    def ask(self, text, *steps, session=None, **message):
        self.turns[text] = self.world.ask(text, *steps, session=session, **message)
        return self.turns[text]

    async def shows(self, text, words):
        turn = self.turns[text]
        await until(lambda: (bubble := self.stage.phone.bubble(turn.interaction)) and words in bubble.streamed, 30,
                    f"{words!r} in the bubble of {text!r}")

    async def fill(self):
        world, stage = self.world, self.stage
        closed = self.ask("open closed", world.say(*said("closed")), world.tool(), world.say("The end."))
        await stage.ended(closed)
        await self.first()
        for form in ("open", "sealed"):
            await self.begin(form)
        await self.extras()
        for form in ("open", "sealed"):
            await self.reach(form)
        tool = self.turns["open tool"]
        await asyncio.sleep(1)
        # Messages that wait behind a run; one of them has files.
        files = offered(stage.relay, ("bean.png", "image/png", PICTURE), ("notes.txt", "text/plain", b"peas\nbeans\n"))
        waits = [self.ask(f"{form} waiting", session=self.turns[f"{form} streaming"].session) for form in ("open", "sealed")]
        waits.append(self.ask("open files", session=tool.session, attachments=files))
        for turn in waits:
            await until(lambda: stage.phone.bubble(turn.interaction), 30, "the bubble of one that waits")
        await until(lambda: len(stage.relay.fetches) == 2 and not stage.relay.updates, 30, "the files are fetched")
        await asyncio.sleep(1)
        await self.cut_off()

    async def begin(self, form):
        world, ask, say, hold = self.world, self.ask, self.world.say, self.world.hold
        on = say(" And", " on.")
        ask(f"{form} streaming", say(*said(f"{form} streaming", 40)), hold(GO_ON), on)
        ask(f"{form} asking", say(*said(f"{form} asking")), world.asks(f"systemctl restart {form}-asking"), hold(GO_ON), on)
        ask(f"{form} allowed", say(*said(f"{form} allowed")), world.asks(f"systemctl restart {form}-allowed"), hold(GO_ON), on)
        ask(f"{form} stopping", say(*said(f"{form} stopping")), hold("never"))
        ask(f"{form} ending", say(*said(f"{form} ending")), hold("ending"), say(" The", " end."))
        ask(f"{form} delta", say(*said(f"{form} delta")), hold("delta"), say(" More."), hold(GO_ON), on)
        if world.has_questions:
            ask(f"{form} question", say(*said(f"{form} question")), world.question(), hold(GO_ON), on)
        ask(f"{form} tool", say(*said(f"{form} tool")), world.held_tool(), on)
        if form == "open":
            ask("open denied", say(*said("open denied")), world.asks("systemctl stop open-denied"), hold(GO_ON), on)

    async def reach(self, form):
        for kind in ("streaming", "stopping", "ending", "delta"):
            await self.shows(f"{form} {kind}", said(f"{form} {kind}", 40 if kind == "streaming" else 12)[-1])
        await until(lambda: self.stage.phone.tasks_of(self.turns[f"{form} tool"].interaction), 30, "the card of the tool")
        for kind in ("asking", "allowed") + (("denied",) if form == "open" else ()):
            await self.stage.approval(self.turns[f"{form} {kind}"])
        if self.world.has_questions:
            await self.shows(f"{form} question", self.world.last_option)

    async def cut_off(self):
        """Kills the bridge in the middle of forwarding."""
        world, stage, frozen = self.world, self.stage, self.frozen
        world.hears_decisions(False)
        await self.extras_cut_off()
        for form in ("open", "sealed"):
            stage.relay.decide(await stage.approval(self.turns[f"{form} allowed"]), "approve")
            stopping = self.turns[f"{form} stopping"]
            stage.relay.stop(stopping.session, stopping.interaction)
        await until(lambda: not stage.relay.updates, 30, "decisions and stops acknowledged")
        frozen.stops = lambda method, body: method == "sendMessageEnd"
        world.release("ending")
        await asyncio.sleep(1.5)
        frozen.stops = lambda method, body: method in ("sendMessage", "sendMessageEnd")
        for form in ("open", "sealed"):
            self.ask(f"{form} opening", world.say(*said(f"{form} opening")))
        await asyncio.sleep(0.7)
        frozen.stops = lambda method, body: method in ("sendMessage", "sendMessageEnd", "sendMessageDelta")
        world.release("delta")
        await asyncio.sleep(1)
        # Among several at once, some are accepted without a record yet.
        stage.relay.hooks.append(lambda what, _: what == "ack" and stage.bridge.kill9())
        for number in range(4):
            self.ask(f"open accepted {number}", world.say(f"Accepted {number}."))
        self.ask("sealed accepted", world.say("Accepted, and sealed."))
        await stage.bridge.exit()
        stage.relay.hooks.clear()

    async def first(self):
        pass

    async def extras(self):
        pass

    async def extras_cut_off(self):
        pass


class OpenClawStory(Story):
    """Adds features of OpenClaw alone: detached approvals and their follow-up runs, renamed cards, runs of its scheduler. Adds also, once
    for all agents, the relay's window and an answer that needs a second message."""

    def late(self, text, minutes, *steps):
        """A message that the relay made some minutes ago."""
        stage, interaction = self.stage, base62("int_")
        self.world.plan(text, *steps)
        stage.relay.rules.interactions[interaction] = stage.clock.now() - minutes * 60
        self.turns[text] = stage.relay.ask(text, interaction=interaction,
                                           created_at=str(int(stage.clock.milliseconds() - minutes * MINUTE)))

    async def first(self):
        """Runs before any chat is sealed: afterwards the bridge seals the chats that it makes, and no phone is there to receive their
        keys."""
        stage = self.stage
        stage.gateway.plan("nightly", Say(words("nightly")), Hold(GO_ON))
        scheduler_runs(stage.gateway, "nightly", "agent:main:cron:nightly", "cron-run-1", "nightly")
        await until(lambda: any("nightly-11" in bubble.streamed for bubble in stage.phone.bubbles.values()), 30, "the mirrored run")

    async def extras(self):
        ask, gateway, stage = self.ask, self.stage.gateway, self.stage
        gateway.plan("card one", Say(["One. "]), Tool(), Say(["Done."]), call_id="call_same")
        await stage.ended(ask("card one"))
        gateway.plan("card two", Say(["Two. "]), Tool(seconds=3600), call_id="call_same")
        ask("card two")
        ask("failing tools", Say(words("failing")), Tool(failed=True), Say(words("again")), Tool(seconds=3600))
        for text in ("detached", "followed"):
            ask(text, Say(words(text)), Approval(f"systemctl restart {text}", detached=True))
        ask("busy", Say(words("busy")), Hold(GO_ON))
        ask("more", Say(words("more")), Hold("more"), Say(["".join(words("long", 6_200))]))
        self.late("window", 28.9, Say(words("window")), Hold(GO_ON))
        self.late("expired", 40, Say(words("expired")), Hold(GO_ON))
        for text in ("detached", "followed"):
            await stage.approval(self.turns[text])
        # The window of 30 minutes closes.
        await asyncio.sleep(9)

    async def extras_cut_off(self):
        stage = self.stage
        self.ask("handed over", Say(words("handed")), Hold(GO_ON))
        stage.relay.decide(await stage.approval(self.turns["followed"]), "approve")
        stage.relay.stop(stage.relay.new_session(), base62("int_"))
        self.frozen.stops = lambda method, body: method == "sendMessageEnd"
        stage.gateway.release("more")
        await asyncio.sleep(2)


async def make(agent, folder):
    async with WORLDS[agent]() as world:
        if begin := getattr(world, "begin", None):
            await begin()
        frozen = Frozen(world.stage)
        await world.stage.bridge.start()
        await until(lambda: world.seals.bridge, 30, "the bridge's device")
        await (OpenClawStory if agent == "openclaw" else Story)(world, frozen).fill()
        world.keep(folder)
        if agent == "openclaw":
            # Continued by the same program, and killed while it searches for its runs.
            frozen.stops = lambda method, body: False
            world.hangs = lambda method, params: method == "chat.history"
            await world.stage.bridge.start()
            await asyncio.sleep(3)
            world.stage.bridge.kill9()
            await world.stage.bridge.exit()
            keep_journal(world.stage, folder / "searching.db")


async def main(directory, agents):
    for agent in agents:
        folder = directory / agent
        await make(agent, folder)
        accounts = [await take_up(WORLDS[agent], folder) for _ in range(TIMES)]
        (folder / "taken_up.json").write_text(json.dumps(accounts[0], indent=1, ensure_ascii=False) + "\n")
        for number, account in enumerate(accounts):
            for name, kept, taken in differences(accounts[0], account):
                print(f"{agent}: the account {number} differs: {name}: {kept} and {taken}")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2:] or list(WORLDS)))
