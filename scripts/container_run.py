"""`run` in the root that was made: up to `ready`, healthy, a message answered, and out on SIGTERM."""
import asyncio
import json
import os
import pathlib
import signal
import sys
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Tests" / "Acceptance"))
from peers.gateway import Gateway  # noqa: E402
from peers.steps import Say  # noqa: E402

ROOT = pathlib.Path(sys.argv[1]).resolve()
STATE = "/var/lib/sophon/state"


def command(*arguments, **environment):
    given = [f"{name}={value}" for name, value in environment.items()]
    base = ["HOME=/var/lib/sophon", "PATH=/usr/local/bin:/usr/bin:/bin", f"SOPHON_STATE_DIR={STATE}"]
    return ["chroot", "--userspec=sophon", str(ROOT), "env", "-i", *base, *given, "sophon-bridge", *arguments]


async def line_of(stream, event, seconds=15):
    async def find():
        while raw := await stream.readline():
            found = json.loads(raw)
            if found["event"] == event:
                return found
        raise SystemExit(f"ended before its event {event}")
    return await asyncio.wait_for(find(), seconds)


def phone(base, token, method, path, body=None):
    request = urllib.request.Request(base + path, method=method, data=json.dumps(body).encode() if body else None,
                                     headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)


async def main():
    pipe = asyncio.subprocess.PIPE
    simulator = await asyncio.create_subprocess_exec(*command("simulate", "--strict", "--listen", "127.0.0.1:0", "--json"), stdout=pipe)
    bridge = None
    try:
        relay = await line_of(simulator.stdout, "listening")
        async with Gateway("E3") as gateway:
            gateway.plan("ping", Say(["pong"]))
            bridge = await asyncio.create_subprocess_exec(*command(
                "run", "--json", SOPHON_BASE_URL=relay["base_url"], SOPHON_BOT_TOKEN=relay["token"],
                SOPHON_AGENT="openclaw", OPENCLAW_URL=gateway.url, OPENCLAW_TOKEN=gateway.token), stdout=pipe)
            await line_of(bridge.stdout, "ready")
            print("container-check: ready")
            loop = asyncio.get_running_loop()
            await asyncio.sleep(0)
            sent = await loop.run_in_executor(None, phone, relay["base_url"], relay["user_token"], "POST",
                                              "/v1/simulator/sessions", {"text": "ping"})
            await line_of(bridge.stdout, "turn_ended")
            print(f"container-check: a message was answered ({list(sent)})")
            healthy = await asyncio.create_subprocess_exec(*command("status", "--healthy"))
            if await healthy.wait():
                raise SystemExit("container-check: status --healthy failed")
            os.kill(bridge.pid, signal.SIGTERM)
            code = await asyncio.wait_for(bridge.wait(), 8)
            if code:
                raise SystemExit(f"container-check: run ended with {code} on SIGTERM")
            print("container-check: out on SIGTERM with 0")
    finally:
        for child in (bridge, simulator):
            if child and child.returncode is None:
                child.kill()
                await child.wait()


asyncio.run(main())
