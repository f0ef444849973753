"""Memory of the bridge while the relay is away and thirty agents continue: sixty tools each, with 90 KB of output per tool."""
import asyncio
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "Tests" / "Acceptance"))
from harness import Stage, until  # noqa: E402
from peers.steps import Hold, Say, Tool  # noqa: E402

AGENTS, TOOLS = 30, 60
OUTPUT = "0123456789abcdef" * 5_760
CARDS = ("createTask", "updateTask", "finishTask")


async def measure(is_stalled):
    """Peak memory of the process, in megabytes. Either the port is closed, or calls are accepted and never answered."""
    async with Stage("E3", recording=False) as stage:
        stage.gateway.lane = asyncio.Semaphore(AGENTS)
        # Paced, or the gateway would drop a reader that is slower than Python's writes.
        tools = [Tool(output=OUTPUT, seconds=0.35) for _ in range(TOOLS)]
        asked = [stage.ask(f"agent {number}.", Hold("outage"), *tools, Say(["Done."])) for number in range(AGENTS)]
        await until(lambda: all(stage.phone.bubble(turn.interaction) for turn in asked), 30, "all bubbles")
        await until(lambda: len(stage.gateway.sends) == AGENTS, 30, "all runs")
        if is_stalled:
            stage.relay.hold = {method: asyncio.Event() for method in CARDS}
        else:
            await stage.relay.go_down()
        stage.gateway.release("outage")
        await until(lambda: all(run.state != "running" for run in stage.gateway.runs.values()), 120, "all runs ended")
        if len(stage.gateway.connects) != 1:
            raise SystemExit("the gateway dropped the bridge as a slow reader: the figure would say nothing")
        for event in stage.relay.hold.values():
            event.set()
        if not is_stalled:
            await stage.relay.come_up()
        # The first queued call leaves. All of them take minutes: the relay's bucket allows ten cards a second.
        await asyncio.sleep(3)
        return stage.bridge.peak_megabytes()


def rows():
    for is_stalled, words in ((False, "away"), (True, "stalled")):
        peak = asyncio.run(measure(is_stalled))
        against = f"{AGENTS} agents × {TOOLS} tools × 90 KB"
        yield f"outage: memory, relay {words}", f"{peak:.0f} MB", against, "< 100 MB", peak < 100


if __name__ == "__main__":
    os.environ.setdefault("SOPHON_BRIDGE", str(ROOT / ".build/static/release/sophon-bridge"))
    print(json.dumps(list(rows())))
