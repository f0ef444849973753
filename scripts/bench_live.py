"""The live bridge between a scripted gateway and a scripted relay, in processes and sockets of their own: latency, start, memory."""
import asyncio
import json
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "Tests" / "Acceptance"))
from harness import Stage  # noqa: E402
from peers.steps import Say  # noqa: E402

TOKENS = 100
ROUNDS = 5


def resident_megabytes(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("the bridge has ended")


def lengths_sent(stage):
    """When the first `chat` frame left that told so much text."""
    sent = {}
    for at, _, direction, frame in stage.gateway.frames:
        if direction != "in" or frame.get("event") != "chat" or frame["payload"].get("state") != "delta":
            continue
        sent.setdefault(len(frame["payload"]["message"]["content"][0]["text"].strip()), at)
    return sent


async def measure(figures):
    async with Stage("E3", start=False) as stage:
        # The first start makes its keys and its journal; every other one finds them.
        await stage.bridge.start()
        stage.bridge.terminate()
        await stage.bridge.exit()
        mark, begun = len(stage.bridge.events), time.time() * 1e3
        await stage.bridge.start()
        ready = await stage.bridge.event("ready", mark=mark)
        figures["start"].append(ready["ts"] - begun)
        # Past the first of the ticks by which a bridge at rest gives back what only the start needed.
        await asyncio.sleep(6)
        figures["rest"].append(resident_megabytes(stage.bridge.pid))
        asked = time.monotonic()
        turn = stage.ask("go", Say([f"w{number} " for number in range(TOKENS)], every=0.04))
        await stage.ended(turn, seconds=30)
        sent, seen = lengths_sent(stage), 0
        for call in stage.relay.calls:
            if call.method == "sendMessage":
                figures["open"].append((call.at - asked) * 1e3)
            elif call.method == "sendMessageDelta":
                seen += len(call.body["delta"])
                if seen in sent:
                    figures["delta"].append((call.at - sent[seen]) * 1e3)


def rows():
    figures = {"start": [], "rest": [], "open": [], "delta": []}
    for _ in range(ROUNDS):
        asyncio.run(measure(figures))
    waits = sorted(figures["delta"])
    middle, tail = statistics.median(waits), waits[int(len(waits) * 0.99)]
    yield "live: chat frame to its text at the relay", f"p50 {middle:.2f} ms", f"p99 {tail:.2f} ms", "p50 < 3, p99 < 15", middle < 3 and tail < 15
    opened = statistics.median(figures["open"])
    yield "live: update to placeholder", f"{opened:.1f} ms", "", "≤ 20 ms", opened <= 20
    started = statistics.median(figures["start"])
    yield "live: start to ready", f"{started:.0f} ms", "", "≤ 50 ms", started <= 50
    rest = statistics.median(figures["rest"])
    yield "live: memory at rest", f"{rest:.1f} MB", "", "< 25 MB", rest < 25


if __name__ == "__main__":
    os.environ.setdefault("SOPHON_BRIDGE", str(ROOT / ".build/static/release/sophon-bridge"))
    print(json.dumps(list(rows())))
