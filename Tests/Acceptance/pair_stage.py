"""Two bridges with one token: a second program beside that of a stage, with its own folders, at the same relay and agent."""

import asyncio
import dataclasses
import random

from claude_stage import ClaudeStage
from codex_stage import CodexStage
from harness import Bridge, Stage, until
from oppi_stage import OppiStage
from peers import codex_steps, oppi_steps, steps
from peers.sealed_hand import SealedHand
from pi_stage import PiStage
from pi_home import said

AGENTS = ("openclaw", "oppi", "pi", "codex", "claude")
TOLD = "another bridge answers with this token"


def texts(count):
    return [f"message number {number:03}" for number in range(count)]


class Pair:
    """`bridges` are the stage's own and the second one. `texts` are the phone's messages, each with an answer of its own."""

    def __init__(self, agent, texts, is_sealed=False, begins=True):
        self.agent, self.texts, self.is_sealed, self._begins = agent, texts, is_sealed, begins
        self.chats, self.asked = {}, []
        match agent:
            case "openclaw":
                self.stage = Stage(start=False)
            case "oppi":
                self.stage = OppiStage(begins=False)
            case "pi":
                self.stage = PiStage({text: [said(self.answer(text))] for text in texts}, start=False)
            case "codex":
                self.stage = CodexStage(begins=False)
            case "claude":
                self.stage = ClaudeStage(start=False)

    @staticmethod
    def answer(text):
        return f"I heard {text}."

    async def __aenter__(self):
        stage = await self.stage.__aenter__()
        self.relay, self.phone = stage.relay, stage.phone
        if self.agent == "openclaw":
            # Before the first conflict each bridge considers the chat free, and a gateway that merges its message into the other's run may
            # run it twice (docs/OPERATING.md): this test judges the relay's part alone.
            stage.gateway.era = dataclasses.replace(stage.gateway.era, busy="beside")
        self.hand = SealedHand(stage.relay) if self.is_sealed else stage.relay
        if self.is_sealed:
            self.hand.several = True
        for text in self.texts:
            match self.agent:
                case "openclaw":
                    stage.gateway.plan(text, steps.Say([self.answer(text)]))
                case "oppi":
                    stage.oppi.plan(text, oppi_steps.Say([self.answer(text)]))
                case "codex":
                    stage.codex.plan(text, codex_steps.Say([self.answer(text)]))
                case "claude":
                    stage.claude.plan(text, steps.Say([self.answer(text)]))
        self.bridges = [stage.bridge, self.second("other")]
        if self._begins:
            await self.start()
        return self

    def second(self, name):
        """A second bridge with state and configuration of its own."""
        place = self.stage.directory / name
        place.mkdir(exist_ok=True)
        environment = self.stage.environment() | {
            "SOPHON_STATE_DIR": str(place / "state"), "SOPHON_CONFIG_DIR": str(place / "config")}
        if self.agent == "openclaw":
            environment["OPENCLAW_STATE_DIR"] = str(place / "openclaw")
        return Bridge(place, environment, clock=self.stage.clock)

    async def start(self):
        await asyncio.gather(*(bridge.start() for bridge in self.bridges))
        await until(lambda: len(self.relay.sockets) == 2 or self.relay.replaces, 20, "both are at the relay")
        if self.is_sealed:
            await until(lambda: len(self.hand.bridges) == 2, 20, "both are registered")

    async def __aexit__(self, kind, error, trace):
        if error is not None and not isinstance(error, asyncio.CancelledError):
            calls = [(call.method, call.status, call.code, call.fault) for call in self.relay.calls[-12:]]
            error.add_note(f"{self.agent}, sealed: {self.is_sealed}, the second bridge: {self.bridges[1].story()}\nlast calls: {calls}")
        for bridge in self.bridges[1:]:
            await bridge.close()
        await self.stage.__aexit__(kind, error, trace)

    # Acting

    def ask(self, text, chat=0):
        if chat not in self.chats:
            self.chats[chat] = self.hand.new_session()
        turn = self.hand.ask(text, self.chats[chat])
        self.asked.append((text, turn))
        return turn

    async def restart(self, index):
        self.bridges[index].kill9()
        await self.bridges[index].exit()
        await self.bridges[index].start()

    # Looking

    def prompts(self):
        match self.agent:
            case "openclaw":
                return [run.user_text for run in self.stage.gateway.runs.values()]
            case "oppi":
                return [note["text"] for note in self.stage.oppi.disk.notes("prompts")]
            case "pi":
                return self.stage.log("prompts")
            case "codex":
                return self.stage.codex.texts()
            case "claude":
                return self.stage.claude.texts()

    def opens(self, turn):
        return [call for call in self.relay.calls if call.method == "sendMessage" and call.body
                and call.body.get("interaction_id") == turn.interaction]

    def seen(self):
        """All events `another_bridge` of both bridges."""
        return [event for bridge in self.bridges for event in bridge.events if event["event"] == "another_bridge"]

    async def ended(self, seconds=30):
        await self.stage.ended(*(turn for _, turn in self.asked), seconds=seconds)

    def problems(self, may_be_said=()):
        """Broken invariants. After a kill the answer may be a sentence of the bridge; a message is prompted once in any case."""
        found = self.phone.problems([turn.interaction for _, turn in self.asked])
        prompts = self.prompts()
        for text, turn in self.asked:
            count, final = prompts.count(text), self.phone.final(turn.interaction)
            if count != 1 and not (count == 0 and text in may_be_said):
                found.append(f"{text!r} was prompted {count} times")
            if final != self.answer(text) and text not in may_be_said:
                found.append(f"{text!r} ended with {final!r}")
            keys = {call.body["idempotency_key"] for call in self.opens(turn)}
            if len(keys) != 1:
                found.append(f"{text!r} was opened under {sorted(keys)}")
        return found + [f"{method} met another body: {earlier} and {later}"
                        for method, earlier, later in self.relay.rules.conflicts if "interaction_id" not in later]


async def conversation(pair, generator=None, kills=0, chats=3, every=0.0):
    """Sends all texts, in some chats, with a number of kills in between, of either bridge by turns."""
    generator = generator or random.Random(7)
    # Both bridges run before the first kill, after the last and between two.
    share = len(pair.texts) // (kills + 1)
    moments = {share * (kill + 1) - generator.randrange(1, 3) for kill in range(kills)}
    killed, restarts = [], []
    for number, text in enumerate(pair.texts):
        pair.ask(text, number % chats)
        if every:
            await asyncio.sleep(every)
        if number in moments:
            await asyncio.gather(*restarts)
            await asyncio.sleep(generator.uniform(0, 0.05))
            killed += [text for text, turn in pair.asked if not pair.phone.is_ended(turn.interaction)]
            restarts = [asyncio.create_task(pair.restart(generator.randrange(2)))]
    await asyncio.gather(*restarts)
    await pair.ended(seconds=60)
    return killed
