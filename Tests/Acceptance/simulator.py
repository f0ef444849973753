"""`simulate` or `demo` as a child process, and a phone's actions over its routes."""

import asyncio
import json
import os
import signal
import urllib.error
import urllib.request
from pathlib import Path

from harness import _children, _die_with_the_parent, bridge_command, until
from peers.wire import next_port
from scheduling import LEEWAY


class Simulator:
    def __init__(self, directory, *options, port=None, command="simulate", environment=None, is_strict=True):
        self.directory, self.options = Path(directory), options
        # The bridge keeps the documented rules, so the simulator may be strict.
        self.strict = ["--strict"] if command == "simulate" and is_strict else []
        self.command, self.environment = command, environment or {}
        self.port = port or next_port()
        self.process = None

    async def start(self):
        base = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "LANG") if name in os.environ}
        self.process = await asyncio.create_subprocess_exec(
            *bridge_command(), self.command, "--json", "--listen", f"127.0.0.1:{self.port}", *self.strict, *self.options,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            cwd=self.directory, preexec_fn=_die_with_the_parent,
            env=base | {"HOME": str(self.directory)} | self.environment)
        _children.add(self.process.pid)
        line = await asyncio.wait_for(self.process.stdout.readline(), 30 * LEEWAY)
        if not line:
            raise AssertionError(f"{self.command} ended with {await self.end()}: {(await self.process.stderr.read()).decode()}")
        self.about = json.loads(line)
        if self.about["event"] != "listening":
            raise AssertionError(f"{self.command} said {self.about}")
        self.url, self.token, self.user_token = (self.about[name] for name in ("base_url", "token", "user_token"))
        return self

    async def end(self, number=None, seconds=30):
        """Waits for the exit code, after a signal if one is given."""
        if number is not None and self.process.returncode is None:
            os.kill(self.process.pid, number)
        code = await asyncio.wait_for(self.process.wait(), seconds * LEEWAY)
        _children.discard(self.process.pid)
        return code

    async def kill9_and_start(self):
        await self.end(signal.SIGKILL)
        await self.start()

    async def close(self):
        if self.process is not None and self.process.returncode is None:
            await self.end(signal.SIGKILL)

    # The user's actions

    def _call(self, method, path, body):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", data, {"Authorization": f"Bearer {self.user_token}"},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read())["result"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from None

    async def user(self, method, path, body=None):
        return await asyncio.to_thread(self._call, method, path, body)

    async def write(self, text, session=None):
        """Sends a message, and returns its ids: session_id, interaction_id, message_id."""
        return await self.user("POST", "/v1/simulator/sessions", {"text": text} | ({"session_id": session} if session else {}))

    async def history(self, session):
        return await self.user("GET", f"/v1/me/sessions/{session}/messages")

    async def bubbles(self, sent):
        messages = (await self.history(sent["session_id"]))["messages"]
        return [message for message in messages
                if message["role"] == "agent" and message.get("interaction_id") == sent["interaction_id"]]

    async def breaches(self):
        return (await self.user("GET", "/v1/simulator/breaches"))["breaches"]

    async def bridge_state(self):
        return (await self.user("GET", "/v1/me"))["installations"][0]["state"]

    async def poll(self, condition, seconds, what):
        """Waits for a condition that needs a call."""
        seconds *= LEEWAY
        end = asyncio.get_running_loop().time() + seconds
        is_over = False
        while not (found := await condition()):
            if is_over:
                raise AssertionError(f"after {seconds} s still not: {what}")
            is_over = asyncio.get_running_loop().time() > end
            await asyncio.sleep(0.5 if is_over else 0.05)
        return found

    async def connected(self, seconds=30):
        async def is_connected():
            return await self.bridge_state() == "connected"
        await self.poll(is_connected, seconds, "a bridge is connected")

    async def ended(self, sent, seconds=30):
        """Waits for the end of a message's one bubble."""
        async def bubble():
            found = await self.bubbles(sent)
            if len(found) > 1:
                raise AssertionError(f"{len(found)} bubbles for one message: {found}")
            return found and found[0]["final"] and found[0]
        return await self.poll(bubble, seconds, f"the answer to {sent} has ended")

    async def saved(self, words, seconds=30):
        """Waits until the state file contains the words."""
        file = next(Path(self.options[at + 1]) for at, word in enumerate(self.options) if word == "--state")
        await until(lambda: file.exists() and words in file.read_text(), seconds, f"{words!r} is in {file}")


class PhoneStream:
    """The event stream of one phone, in a thread, until it ends."""

    def __init__(self, simulator, last=None):
        self.events = []          # (id, name, data)
        self.last = last
        self._simulator = simulator

    async def attach(self):
        headers = {"Authorization": f"Bearer {self._simulator.user_token}"}
        if self.last is not None:
            headers["Last-Event-ID"] = str(self.last)
        request = urllib.request.Request(f"{self._simulator.url}/v1/me/stream", headers=headers)
        answer = await asyncio.to_thread(urllib.request.urlopen, request, timeout=60)
        self.task = asyncio.create_task(asyncio.to_thread(self._read, answer))
        return self

    def _read(self, answer):
        event = {}
        try:
            for line in answer:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name:
                    event[name] = value
                elif "data" in event:
                    self.last = int(event["id"])
                    self.events.append((self.last, event["event"], json.loads(event["data"])))
                    event = {}
        except (OSError, ValueError, AttributeError):
            pass  # The other side was killed, or the test is over.

    def text(self, interaction):
        return "".join(data["delta"] for _, name, data in self.events
                       if name == "message_delta" and data["interaction_id"] == interaction)
