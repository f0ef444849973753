"""A whole bridge to Sophon: it says back what the user writes, word by word, and asks first if the text has "approve" in it.

    SOPHON_BOT_TOKEN=inst_…:s_… SOPHON_BASE_URL=http://127.0.0.1:8787 python3 python_bridge.py

A message is acknowledged when it is answered, and every key follows from its interaction. So a bridge that dies in the middle
gets the message again and repeats the same calls, which the relay knows: nothing is lost, and nothing said twice."""
import asyncio, collections, contextlib, itertools, json, os, time, urllib.error, urllib.request
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

BASE = os.environ.get("SOPHON_BASE_URL", "http://127.0.0.1:8787")
HEADERS = {"Authorization": f"Bearer {os.environ['SOPHON_BOT_TOKEN']}"}
waiting, handled, known = [], set(), set()  # Updates without an ack, in order; those that are done; ids seen before.
decisions, stopped, turns, tasks, socket = collections.defaultdict(asyncio.Future), set(), {}, set(), None

def post(method, body):
    """Tries again what may pass: with the same bytes, so under the same key, and not before the relay says so."""
    request = urllib.request.Request(f"{BASE}/v1/bridge/{method}", json.dumps(body).encode(), HEADERS)
    for attempt in itertools.count():
        wait = min(0.1 * 2 ** attempt, 2)
        try:
            return json.loads(urllib.request.urlopen(request, timeout=30).read())["result"]
        except urllib.error.HTTPError as error:
            words = error.read().decode()
            if error.code != 429 and error.code < 500:
                raise RuntimeError(f"{method}: {error.code} {words}") from None
            with contextlib.suppress(ValueError, KeyError):
                wait = json.loads(words)["error"]["retry_after_ms"] / 1000
        except (OSError, ValueError):
            pass  # No answer, or half of one: perhaps it took effect, and then the relay knows the key.
        time.sleep(wait)

async def answer(session, turn, text):
    async def call(method, name, **fields):
        return await asyncio.to_thread(post, method, {**fields, "idempotency_key": f"{turn}-{name}"})
    turns[session] = turn
    place, said = {"session_id": session, "interaction_id": turn}, ""
    bubble = (await call("sendMessage", "open", **place, text=" "))["message_id"]  # First, or the user sees nothing.
    if "approve" in text:
        await call("requestApproval", "ask", **place, approval_id=f"{turn}-ask", action="shell.exec", severity="medium",
                   title="Echo", command=f"echo {text[:200]}", message="May I say this back to you?")
        decision = await decisions[f"{turn}-ask"]  # Its update may be here already, if this is the second time.
        text = f"You said {'yes' if decision.startswith('approve') else 'no'}. {text}"
    task = {**place, "task_id": f"{turn}-count"}
    await call("createTask", "task", **task, kind="count", status_label="Counting words", args={"text": text})
    await call("finishTask", "task-end", **task, status="completed", result={"words": len(text.split())})
    for number, word in enumerate(text.split()):
        if turn in stopped:
            break
        await call("sendMessageDelta", f"delta-{number}", message_id=bubble, delta=word + " ")
        said += word + " "
        await asyncio.sleep(0.04)  # 25 calls a second: four such streams fill what the relay allows.
    await call("sendMessageEnd", "end", message_id=bubble, text=said.strip() or "Stopped.")

async def handle(update):
    payload = update["payload"]
    session = payload.get("session", {}).get("id")
    turn = update.get("interaction_id") or turns.get(session)  # A Stop may mean whatever runs in the chat.
    with contextlib.suppress(ConnectionClosed):  # Then the relay sends it again.
        try:
            if update["type"] == "session.message" and payload["message"]["id"] not in known:
                known.add(payload["message"]["id"])  # The relay may send one message under two update ids.
                await answer(session, turn, payload["message"].get("text") or "(no text)")
            elif update["type"] in ("session.cancelled", "approval.resolved"):
                approval = payload.get("approval_id", f"{turn}-ask")
                stopped.update([turn] if update["type"] == "session.cancelled" else [])
                if not decisions[approval].done():
                    decisions[approval].set_result(payload.get("decision", "deny"))
        except RuntimeError as error:
            print("gave up:", error, flush=True)
        handled.add(update["update_id"])
        await acknowledge()

async def acknowledge():
    """An ack holds for all updates before it, so it waits for the first that is not done."""
    while waiting and waiting[0] in handled:
        await socket.send(json.dumps({"type": "ack", "up_to_update_id": waiting.pop(0)}))

async def main():
    global socket
    async for socket in connect(f"ws{BASE.removeprefix('http')}/v1/bridge/ws", additional_headers=HEADERS):
        with contextlib.suppress(ConnectionClosed):
            async for text in socket:
                frame = json.loads(text)
                if frame["type"] == "ping":
                    await socket.send('{"type": "pong"}')
                elif "req_id" in frame:  # Files, models, routines: this bridge has none.
                    reply = {"type": frame["type"].removesuffix(".req") + ".resp", "req_id": frame["req_id"]}
                    await socket.send(json.dumps(reply | {"error": {"code": "unknown_request", "type": frame["type"]}}))
                elif frame["type"] == "update":  # Unacknowledged ones come again every 5 s.
                    update = frame["update"]
                    waiting.extend([update["update_id"]] if update["update_id"] not in waiting else [])
                    if update["update_id"] not in known:
                        known.add(update["update_id"])
                        tasks.add(asyncio.create_task(handle(update)))
                    await acknowledge()

asyncio.run(main())
