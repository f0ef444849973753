"""A bare client of a Codex app-server, scripted or real, independent of the bridge."""

import itertools
import json
import os

from websockets.asyncio.client import connect, unix_connect

from .frame_client import FrameClient

SETTINGS = {"sandbox": "workspace-write", "approvalPolicy": "on-request", "approvalsReviewer": "user"}


class Refused(Exception):
    """The error of a reply: `code`, `message`."""

    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code, self.message = error["code"], error["message"]


class CodexClient(FrameClient):
    """`async with CodexClient(address) as client`, with `unix://PATH` or `ws://HOST:PORT`; `client.frames` holds all received frames."""

    def __init__(self, address, token=None, headers=None, greets=True, experimental=False, **options):
        self.address, self.options, self.greets, self.experimental = address, options, greets, experimental
        self.headers = (headers or {}) | ({"Authorization": f"Bearer {token}"} if token else {})
        super().__init__()
        self.numbers = itertools.count(1)

    async def __aenter__(self):
        options = {"additional_headers": self.headers, "max_size": None, "open_timeout": 30, "compression": None} | self.options
        if self.address.startswith("unix://"):
            await self.begin_reading(await unix_connect(os.path.realpath(self.address[7:]), "ws://localhost/", **options))
        else:
            await self.begin_reading(await connect(self.address, **options))
        if self.greets:
            await self.greet()
        return self

    async def cut(self):
        """Closes without a closing handshake."""
        self.socket.transport.abort()
        await self.closed()

    # Sending

    async def send(self, frame):
        await self.socket.send(frame if isinstance(frame, str) else json.dumps(frame))

    async def greet(self):
        capabilities = {"experimentalApi": True} if self.experimental else {}
        answer = await self.ask("initialize", clientInfo={"name": "peer", "title": "Peer", "version": "1"}, capabilities=capabilities)
        await self.send({"method": "initialized"})
        return answer

    async def begin(self, method, **params):
        """Sends a request, and returns its number."""
        number = next(self.numbers)
        await self.send({"id": number, "method": method, "params": params})
        return number

    async def reply(self, number, since=0, seconds=30):
        frame = await self.until(lambda frame: frame.get("id") == number and "method" not in frame, since, seconds)
        if "error" in frame:
            raise Refused(frame["error"])
        return frame["result"]

    async def ask(self, method, **params):
        mark = len(self.frames)
        return await self.reply(await self.begin(method, **params), mark)

    async def answer(self, request, **result):
        await self.send({"id": request["id"], "result": result})

    # Waiting

    async def method(self, name, since=0, **params):
        """The first notification or request of this method with these values."""
        def wanted(frame):
            return frame.get("method") == name and all(frame["params"].get(key) == value for key, value in params.items())
        return await self.until(wanted, since)

    # Conversations

    async def thread(self, cwd, **overrides):
        return (await self.ask("thread/start", cwd=str(cwd), **SETTINGS | overrides))["thread"]["id"]

    async def resume(self, thread, **overrides):
        return await self.ask("thread/resume", threadId=thread, excludeTurns=True, **overrides)

    async def start(self, thread, text, client=None, **overrides):
        """Starts a turn, and returns the id from the reply."""
        label = {"clientUserMessageId": client} if client else {}
        result = await self.ask("turn/start", threadId=thread, input=[{"type": "text", "text": text}], **label, **overrides)
        return result["turn"]["id"]

    async def ended(self, turn, since=0):
        frame = await self.until(lambda frame: frame.get("method") == "turn/completed" and frame["params"]["turn"]["id"] == turn, since)
        return frame["params"]["turn"]

    async def run(self, thread, text, **options):
        """Runs a turn from its start to its end, and approves everything."""
        mark = len(self.frames)
        turn = await self.start(thread, text, **options)
        return await self.ended(turn, mark)

    async def turns(self, thread, limit=20):
        return (await self.ask("thread/turns/list", threadId=thread, limit=limit, itemsView="full"))["data"]

    def methods(self, since=0, without=()):
        return [frame["method"] for frame in self.frames[since:] if "method" in frame and frame["method"] not in without]

    def shown(self, frame):
        params = frame.get("params") or {}
        status = params.get("status")
        kind = params.get("item", {}).get("type") or isinstance(status, dict) and status.get("type")
        return " ".join(str(word) for word in (frame.get("id"), frame.get("method"), kind) if word not in (None, False))
