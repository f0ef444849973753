"""The agent of ToySocket on a real socket: it says the words of its prompt one by one, and knows each run. The port comes first on
standard output. Ends when standard input does."""

import asyncio
import json
import sys

from websockets.asyncio.server import serve

runs = {}


async def talk(socket):
    async def say(*words):
        await socket.send(json.dumps({"type": "toy-socket", "words": words}))

    async for message in socket:
        words = json.loads(message)["words"]
        match words[0]:
            case "hello":
                await say("ready", "python")
            case "prompt":
                _, run, _, text = words
                await say("taken", run)
                if run in runs:
                    continue
                runs[run] = text
                for word in text.split():
                    await say("text", run, word + " ")
                await say("end", run, " ".join(text.split()), "stop")
            case "look":
                await say("found", words[1], "over" if words[1] in runs else "unknown", runs.get(words[1], ""))
            case "drop":
                await socket.close()


async def main():
    async with serve(talk, "127.0.0.1", 0) as server:
        print("ready", server.sockets[0].getsockname()[1], flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
