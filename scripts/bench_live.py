"""The live bridge between a scripted gateway and a scripted relay, in separate processes and sockets: latency, start, memory."""
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
from peers.steps import Fail, Say, Wait  # noqa: E402

TOKENS = 100
ROUNDS = 5
# Speed of the clock beside a webhook: a person counts as away after three seconds.
SCALE = 20


def resident_megabytes(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("the bridge has ended")


def lengths_sent(stage):
    """Times at which the first `agent` frame with each length of text left: the bridge reads text from this stream, not from the
    chat's."""
    sent = {}
    for at, _, direction, frame in stage.gateway.frames:
        if direction == "in" and frame.get("event") == "agent" and frame["payload"]["stream"] == "assistant":
            sent.setdefault(len(frame["payload"]["data"]["text"].strip()), at)
    return sent


async def measure(figures):
    async with Stage("E3", start=False) as stage:
        # The first start makes the keys and the journal; later ones find them.
        await stage.bridge.start()
        stage.bridge.terminate()
        await stage.bridge.exit()
        mark, begun = len(stage.bridge.events), time.time() * 1e3
        await stage.bridge.start()
        ready = await stage.bridge.event("ready", mark=mark)
        figures["start"].append(ready["ts"] - begun)
        # Past the first tick at which an idle bridge releases the memory of its start.
        await asyncio.sleep(6)
        figures["rest"].append(resident_megabytes(stage.bridge.pid))
        asked = time.monotonic()
        turn = stage.ask("go", Say([f"w{number} " for number in range(TOKENS)], every=0.04))
        await stage.ended(turn, seconds=30)
        figures["open"] += [(call.at - asked) * 1e3 for call in stage.relay.calls if call.method == "sendMessage"]
        figures["delta"] += waits_of_text(stage)


def waits_of_text(stage):
    """Delays from a frame of the gateway to its text at the relay, in milliseconds."""
    sent, seen, waits = lengths_sent(stage), 0, []
    for call in stage.relay.calls:
        if call.method == "sendMessageDelta":
            seen += len(call.body["delta"])
            if seen in sent:
                waits.append((call.at - sent[seen]) * 1e3)
    return waits


async def beside_webhook(is_told):
    """Measures beside a recipient of notices that accepts connections and answers nothing, or without one."""
    held, taken = [], asyncio.Event()
    server = await asyncio.start_server(lambda *streams: (held.append(streams), taken.set()), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with Stage("E3", start=False, scale=SCALE) as stage:
        if is_told:
            stage.configure({"notify": {"webhook": f"http://127.0.0.1:{port}/", "events": ["failed"]}})
        await stage.bridge.start()
        failed = stage.ask("break", Wait(4), Fail())
        await stage.ended(failed, seconds=30)
        if is_told:
            await asyncio.wait_for(taken.wait(), 30)
        stage.relay.calls.clear()
        turn = stage.ask("go", Say([f"w{number} " for number in range(TOKENS)], every=0.04))
        await stage.ended(turn, seconds=30)
        waits = waits_of_text(stage)
    server.close()
    return statistics.median(waits)


def rows():
    figures = {"start": [], "rest": [], "open": [], "delta": []}
    for _ in range(ROUNDS):
        asyncio.run(measure(figures))
    waits = sorted(figures["delta"])
    middle, tail = statistics.median(waits), waits[int(len(waits) * 0.99)]
    yield "live: agent frame to its text at the relay", f"p50 {middle:.2f} ms", f"p99 {tail:.2f} ms", "p50 < 3, p99 < 15", middle < 3 and tail < 15
    opened = statistics.median(figures["open"])
    yield "live: update to placeholder", f"{opened:.1f} ms", "", "≤ 20 ms", opened <= 20
    started = statistics.median(figures["start"])
    yield "live: start to ready", f"{started:.0f} ms", "", "≤ 50 ms", started <= 50
    rest = statistics.median(figures["rest"])
    yield "live: memory at rest", f"{rest:.1f} MB", "", "< 25 MB", rest < 25
    pairs = [[asyncio.run(beside_webhook(is_told)) for is_told in (False, True)] for _ in range(ROUNDS)]
    alone, beside = (statistics.median(waits) for waits in zip(*pairs))
    more = statistics.median(told - untold for untold, told in pairs)
    yield "live: text beside a webhook that hangs", f"p50 {beside:.2f} ms", f"without {alone:.2f} ms", "< 1 ms more", more < 1


if __name__ == "__main__":
    os.environ.setdefault("SOPHON_BRIDGE", str(ROOT / ".build/static/release/sophon-bridge"))
    print(json.dumps(list(rows())))
