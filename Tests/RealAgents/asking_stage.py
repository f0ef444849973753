"""Asks of the real Codex that a person answers late or never, and Codex's own records of them."""

from codex_home import AppServer
from model import Command, Say
from real_stage import RealStage
from simulator import PhoneStream

WAITS = "Nobody answered. It still waits."
WRITES = Command("echo ran >> log", "Write a line?")
REPLIES = ([Say("I ask.", "commentary"), WRITES], [Say("As you decided.")])


def shown(card):
    """The fields of a card that a person reads."""
    return {name: card.get(name) for name in ("title", "command", "message", "host", "severity", "action")}


class AskingStage(RealStage):
    """A stage with a server that the bridge starts and that outlives it."""

    async def __aenter__(self):
        await super().__aenter__()
        self.events = await PhoneStream(self.simulator).attach()
        return self

    async def begins(self, text="Write a line.", *replies):
        """Begins a turn, and returns it with its first card."""
        turn = await self.ask(text, *(replies or REPLIES))
        return turn, await self.card()

    async def expires(self, turn, card):
        """Expires a card at the relay, and waits for the line in the chat."""
        await self.simulator.call("POST", "/v1/simulator/approvals/expire", {"approval_id": card["approval_id"]})
        await self.shows(turn, WAITS)

    async def tap_crosses(self, card, decision):
        """A tap in flight when the card ended; the relay refuses any later one. The bridge has it in its journal."""
        payload = {"approval_id": card["approval_id"], "decision": decision, "interaction_id": card["interaction_id"]}
        await self.simulator.call("POST", "/v1/simulator/updates", {
            "type": "approval.resolved", "session_id": card["session_id"], "payload": payload})
        await self.all_told()

    async def all_told(self):
        """Waits until the bridge has acknowledged every update."""
        async def none_waits():
            return (await self.state())["pending_updates"] == 0
        await self.until(none_waits, "every update is acknowledged")

    async def state(self):
        return await self.simulator.call("GET", "/v1/simulator/state")

    def cards_asked(self):
        """Ids of all cards shown on the phone."""
        return [data["approval_id"] for _, name, data in self.events.events if name == "approval_requested"]

    async def cards_open(self):
        return [card["approval_id"] for card in (await self.simulator.call("GET", "/v1/me/snapshot"))["pending_approvals"]]

    def ran(self):
        """Lines of the log, one per execution of the command."""
        log = self.home.project / "log"
        return log.read_text().split() if log.exists() else []


class JoinedStage(AskingStage):
    """A stage with a server of the person's own (`CODEX_URL`)."""

    async def enter_agent(self):
        await super().enter_agent()
        self.server = AppServer(self.home)
        await self.server.start()

    async def leave_agent(self):
        await self.server.kill()
        await super().leave_agent()

    def agent_environment(self):
        return super().agent_environment() | {"CODEX_URL": self.server.address}


STAGES = (AskingStage, JoinedStage)
