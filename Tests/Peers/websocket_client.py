"""A WebSocket client driven by tests: `websocket_client.py URL SCRIPT`. Prints a line on standard output per event."""

import asyncio
import sys

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus


def say(*words):
    print(*words, flush=True)


async def talk(socket, script):
    if script == "echo":
        for message in ["hello", "Grüße", "x" * 300_000]:
            await socket.send(message)
            say("same" if await socket.recv() == message else "different")
        await socket.close(4000, "enough")
    elif script == "ping":
        await (await socket.ping(b"x"))
        say("pong")
        await socket.close()
    elif script == "large":
        await socket.send("y" * 30_000_000)
        say("length", len(await socket.recv()))
    elif script == "listen":
        say("connected")
        try:
            while True:
                say("text", await socket.recv())
        except ConnectionClosed:
            pass
    say("closed", socket.close_code, socket.close_reason)


async def main():
    url, script = sys.argv[1:]
    try:
        async with connect(url, compression=None, max_size=None) as socket:
            await talk(socket, script)
    except InvalidStatus as error:
        say("refused", error.response.status_code, error.response.body.decode().strip())


asyncio.run(main())
