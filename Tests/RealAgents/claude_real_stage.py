"""The simulator's phone, the bridge, and the real Claude Code with a scripted model, all in the cell."""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

from claude_home import CLAUDE, ClaudeHome
from codex_home import processes
from real_stage import RealStage


class ClaudeRealStage(RealStage):
    """Turns are scripted by the steps of `peers/claude_steps.py`."""

    def __init__(self, configuration=None, **options):
        super().__init__(**options)
        self.configuration = configuration

    async def enter_agent(self):
        self.home = await ClaudeHome(self.directory).__aenter__()
        self.model = self.home.model

    async def leave_agent(self):
        for pid in self.children():
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        await self.home.__aexit__()

    def agent_environment(self):
        return self.home.bridge_environment

    async def ask(self, text, *steps, session=None):
        """`steps` are those of the turn that this message begins."""
        if steps:
            self.model.script(text, *steps)
        return await self.send(text, session)

    async def card(self, turn, command=None, seconds=60):
        """Waits for a card of this turn, with this command. A card of a stopped turn stays with the phone, since the relay cannot withdraw
        it."""
        async def open_card():
            cards = (await self.simulator.call("GET", "/v1/me/snapshot"))["pending_approvals"]
            return [card for card in cards if card["session_id"] == turn["session_id"]
                    and card.get("interaction_id") == turn["interaction_id"] and command in (None, card.get("command"))]
        return (await self.until(open_card, f"a card of {turn}", seconds))[-1]

    # Processes

    def children(self):
        """Processes of this stage, each the leader of its group."""
        home = f"HOME={self.directory}".encode()
        return [pid for pid in processes(str(CLAUDE)) if home in words_of(pid, "environ") and leads(pid)]

    def kill_children(self):
        """Kills the children with the commands of their shells, and returns how many there were."""
        found = self.children()
        for pid in found:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        return len(found)

    async def left(self):
        """Waits until all children have ended."""
        async def gone():
            return not self.children()
        await self.until(gone, "no Claude Code runs")

    # Results

    def touch(self, name):
        """Makes the file that a command waits for."""
        (self.home.project / name).touch()

    def effects(self):
        """Lines of the effects, one per execution of a command."""
        return [line for path in self.home.project.rglob("effects") for line in path.read_text().split()]

    def rows(self):
        """Rows of all transcripts. The last row of a killed process may be cut."""
        found = []
        for path in sorted(self.home.configuration.glob("projects/*/*.jsonl")):
            for line in path.read_text().splitlines():
                with suppress(ValueError):
                    found.append(json.loads(line))
        return found

    def results(self):
        """Results of calls that the model received."""
        contents = [row.get("message", {}).get("content") for row in self.rows() if row.get("type") == "user"]
        return [str(part.get("content")) for content in contents if isinstance(content, list) for part in content if part.get("type") == "tool_result"]

    def sessions(self):
        return {path.stem for path in self.home.configuration.glob("projects/*/*.jsonl")}

    def story(self):
        last = [{name: row.get(name) for name in ("type", "uuid", "message")} for row in self.rows()[-8:]]
        return f"{super(RealStage, self).story()}\nmodel: {self.model.texts()[-12:]}\nclaude: {self.children()} {str(last)[-1500:]}"


def words_of(pid, name):
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes().split(b"\0")
    except OSError:
        return []


def leads(pid):
    """Whether the process leads its group: helpers run the same program in their leader's group."""
    with suppress(ProcessLookupError):
        return os.getpgid(pid) == pid
    return False
