"""A bare client of an Oppi server, for tests of the scripted one, independent of the bridge."""

import asyncio
import http.client
import itertools
import json
import ssl

from websockets.asyncio.client import connect

from .frame_client import FrameClient


class OppiClient(FrameClient):
    """`async with OppiClient(server) as client`; `client.frames` holds all received frames, in order."""

    def __init__(self, server, token=None, path="/stream", **options):
        self.server, self.token, self.path, self.options = server, token or server.token, path, options
        super().__init__()
        self.requests = itertools.count(1)

    async def __aenter__(self):
        address = self.server.url.replace("http", "ws", 1) + self.path
        if address.startswith("wss"):
            self.options["ssl"] = trusting(self.server)
        await self.begin_reading(await connect(address, additional_headers={"Authorization": f"Bearer {self.token}"}, max_size=None,
                                    open_timeout=30, **self.options))
        await self.until(lambda frame: frame["type"] == "stream_connected")
        return self

    async def send(self, kind, **fields):
        await self.socket.send(json.dumps({"type": kind, **fields}))

    async def type(self, kind, since=0):
        return await self.until(lambda frame: frame["type"] == kind, since)

    async def ask(self, kind, **fields):
        """Sends a request, and returns its result."""
        request = f"r{next(self.requests)}"
        await self.send(kind, requestId=request, **fields)
        return await self.until(lambda frame: frame.get("requestId") == request and frame["type"].endswith("_result"))

    async def settled(self):
        """Waits until everything sent before is handled, with its effects received, by a request that every server answers."""
        await self.ask("unsubscribe", sessionId="none")

    async def run(self, session, text, **fields):
        """Runs a prompt up to the `state` after its end."""
        mark = len(self.frames)
        result = await self.ask("prompt", sessionId=session, message=text, **fields)
        await self.idle(mark)
        return result

    async def idle(self, mark):
        await self.until(lambda frame: frame["type"] == "agent_end", mark)
        await self.until(lambda frame: frame["type"] == "state" and frame["session"]["status"] == "ready"
                         and any(earlier["type"] == "agent_end" for earlier in self.frames[mark:]), mark)

    def types(self, mark=0, without=("state", "git_status")):
        return [frame["type"] for frame in self.frames[mark:] if frame["type"] not in without]


def trusting(server):
    context = ssl.create_default_context(cafile=server.certificates.ca_file)
    return context


async def call(server, method, path, body=None, token=None, headers=None):
    """(status, body, headers) of a REST call; token "" sends none."""
    return await asyncio.to_thread(_call, server, method, path, body, server.token if token is None else token, headers or {})


def _call(server, method, path, body, token, headers):
    if server.certificates:
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=30, context=trusting(server))
    else:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request(method, path, None if body is None else json.dumps(body),
                           headers | ({"Authorization": f"Bearer {token}"} if token else {}))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"{}"), answer.headers
    finally:
        connection.close()
