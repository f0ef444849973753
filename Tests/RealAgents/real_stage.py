"""The simulator's phone, the bridge, and the real Codex with a scripted model, all in the cell."""

import asyncio
import os
import signal

from cell import HOME
from codex_home import CodexHome, processes
from model import Model
from scheduling import LEEWAY
from simulated import PhoneStage


class RealStage(PhoneStage):
    def __init__(self, model="gpt-5.5", **options):
        super().__init__(prefix="stage-", parent=HOME, **options)
        self._model = model

    async def enter_agent(self):
        self.model = await Model().__aenter__()
        self.home = CodexHome(self.model.url, self._model, self.directory)

    async def leave_agent(self):
        for pid in self.servers():
            os.kill(pid, signal.SIGKILL)
        await self.model.__aexit__()

    def agent_environment(self):
        return {"SOPHON_AGENT": "codex", "SOPHON_WORKSPACE": str(self.home.project)} | self.home.environment

    def servers(self):
        """Codex's servers of this stage, whose socket is in the bridge's state directory."""
        return processes(f"unix://{self.directory}/")

    def kill_codex(self):
        for pid in self.servers():
            os.kill(pid, signal.SIGKILL)

    async def ask(self, text, *replies, session=None):
        if replies:
            self.model.plan(text, *replies)
        return await self.send(text, session)

    async def stop(self, turn):
        await self.simulator.call("POST", f"/v1/me/sessions/{turn['session_id']}/stop", {})

    # Waiting

    async def until(self, condition, what, seconds=60):
        seconds *= LEEWAY
        end = asyncio.get_running_loop().time() + seconds
        while not (result := await condition()):
            if asyncio.get_running_loop().time() > end:
                raise AssertionError(f"after {seconds} s still not: {what}")
            await asyncio.sleep(0.02)
        return result

    async def shows(self, turn, words, seconds=60):
        """Waits until the bubble shows these words, while it streams or afterwards."""
        async def shown():
            return any(words in message["text"] for message in await self.answers(turn))
        await self.until(shown, f"{words!r} in the bubble", seconds)

    async def reached(self, text, count=1, seconds=60):
        """Waits until the model has this number of requests for this message."""
        async def has():
            return self.model.texts().count(text) >= count
        await self.until(has, f"{count} requests for {text!r}", seconds)

    async def card(self, seconds=60):
        async def pending():
            return (await self.simulator.call("GET", "/v1/me/snapshot"))["pending_approvals"]
        return (await self.until(pending, "an approval", seconds))[0]

    async def decide_card(self, card, decision):
        await self.simulator.call("POST", f"/v1/me/approvals/{card['approval_id']}", {"decision": decision})

    async def final(self, turn, seconds=90):
        await self.ended(turn, seconds=seconds)
        return "\n\n".join(message["text"] for message in await self.answers(turn))

    # Checking

    async def check(self, *turns):
        """Checks that each message has one bubble, and that no rule of the relay was broken."""
        for turn in turns:
            answers = await self.answers(turn)
            assert len(answers) == 1, f"{len(answers)} bubbles: {answers}"
        breaches = await self.simulator.breaches()
        assert not breaches, breaches

    def story(self):
        logs = [path.read_text()[-1500:] for path in self.directory.rglob("codex*.log")]
        return f"{super().story()}\nmodel: {self.model.texts()[-12:]}\ncodex: {self.servers()} {logs}"
