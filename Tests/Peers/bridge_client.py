"""A bridge driven by tests: `bridge_client.py URL TOKEN SCRIPT`. Prints a line on standard output per event.

It follows the relay's documentation: hello, pong, and an ack for every update. The script `oversized` sends a message of 100 MB instead,
`text` three malformed frames.
"""

import asyncio
import json
import sys

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus


def say(*words):
    print(*words, flush=True)


async def obey(socket, script):
    await socket.send(json.dumps({"type": "hello", "version": "9.9.9"}))
    async for text in socket:
        frame = json.loads(text)
        if frame["type"] == "ready":
            say("ready", frame["installation_id"])
            if script == "oversized":
                await socket.send("x" * 100_000_000)
        elif frame["type"] == "ping":
            await socket.send(json.dumps({"type": "pong"}))
            say("ping")
        elif frame["type"] == "update":
            update = frame["update"]
            say("update", update["update_id"], update["type"])
            await socket.send(json.dumps({"type": "ack", "up_to_update_id": update["update_id"]}))
            # The pong shows that the ack has arrived.
            await socket.send(json.dumps({"type": "ping"}))
        elif frame["type"] == "pong":
            say("acknowledged")
        elif "req_id" in frame:
            kind = frame["type"].removesuffix(".req") + ".resp"
            reply = {"models": [{"id": "m", "name": "M", "provider": "p"}], "type": kind, "req_id": frame["req_id"]}
            await socket.send(json.dumps(reply))
            say("request", frame["type"])


async def main():
    url, token, script = sys.argv[1:]
    try:
        headers = {"Authorization": f"Bearer {token}"}
        async with connect(url, additional_headers=headers, compression=None, ping_interval=None) as socket:
            try:
                await obey(socket, script)
            except ConnectionClosed:
                pass
            say("closed", socket.close_code, socket.close_reason)
    except InvalidStatus as error:
        say("refused", error.response.status_code, json.loads(error.response.body)["error"]["code"])


asyncio.run(main())
