"""A bridge with the habits of the relay's own sample connectors: `sample_bridge.py BASE_URL TOKEN [STYLE]`.

They acknowledge on receipt, send no hello, open with an empty text, put colons into their keys (and in one case the text of the
delta), take `id` for `message_id`, and one of them ends with `finish_reason: error`. STYLE is `index`, `text` or `stdio`; the last
does not wait for one delta before it sends the next. Each refusal is a line on standard output, and so is each warning.
"""

import asyncio
import json
import sys
import urllib.error
import urllib.request

from websockets.asyncio.client import connect

BASE, TOKEN = sys.argv[1].rstrip("/"), sys.argv[2]
STYLE = sys.argv[3] if len(sys.argv) > 3 else "index"
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}


def say(*words):
    print(*words, flush=True)


def exchange(method, body):
    request = urllib.request.Request(f"{BASE}/v1/bridge/{method}", json.dumps(body).encode(), HEADERS)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            for warning in answer.headers.get_all("X-Simulator-Warning") or []:
                say("warned", method, warning)
            return json.load(answer)["result"]
    except urllib.error.HTTPError as error:
        say("refused", method, error.code, error.read().decode())
        raise


async def post(method, **body):
    return await asyncio.to_thread(exchange, method, body)


async def respond(update):
    turn = update["interaction_id"]
    text = update.get("payload", {}).get("message", {}).get("text", "")
    reply = f"Echo from the sample: {text}"
    opened = await post("sendMessage", session_id=update["session_id"], interaction_id=turn, text="", idempotency_key=f"{turn}:message")
    message = opened.get("message_id") or opened.get("id")
    pieces = [reply[start:start + 24] for start in range(0, len(reply), 24)]
    calls = [post("sendMessageDelta", message_id=message, delta=piece,
                  idempotency_key=f"{turn}:delta:{piece if STYLE == 'text' else number}")
             for number, piece in enumerate(pieces)]
    if STYLE == "stdio":
        await asyncio.gather(*calls)
    else:
        for call in calls:
            await call
    await post("sendMessageEnd", message_id=message, text=reply, finish_reason="error" if STYLE == "stdio" else "stop",
               idempotency_key=f"{turn}:end")
    say("answered", turn)


async def main():
    async with connect(BASE.replace("http", "ws", 1) + "/v1/bridge/ws", additional_headers={"Authorization": f"Bearer {TOKEN}"}) as socket:
        async for raw in socket:
            frame = json.loads(raw)
            if frame["type"] == "ping":
                await socket.send(json.dumps({"type": "pong"}))
            elif frame["type"] == "update":
                update = frame["update"]
                await socket.send(json.dumps({"type": "ack", "up_to_update_id": update["update_id"]}))
                if update["type"] == "session.message":
                    try:
                        await respond(update)
                    except urllib.error.HTTPError:
                        pass


asyncio.run(main())
