"""The known behaviour of the public reference bridge's sealed side (relay.md#session-key-life-cycle), without an agent: it seals everything
it sends, even answers to unsealed messages; makes a missing key, and hands keys over only when it hears of a device; registers once, after
its first connect; acknowledges before it handles; requests approvals under random names. `reference_bridge.py` reads SOPHON_BASE_URL and
SOPHON_BOT_TOKEN. A message that contains "approve" asks first."""

import asyncio
import base64
import json
import os
import sys
import urllib.error
import urllib.request
import uuid
from pathlib import Path

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

sys.path.append(str(Path(__file__).resolve().parents[2] / "Peers"))
import sealing  # noqa: E402

VERSION = "0.13.7"


class ReferenceBridge:
    def __init__(self, base, token):
        self.base, self.token = base, token
        self.secret, self.device = os.urandom(32), None
        self.keys, self.phones, self.asks, self.seen = {}, {}, {}, set()
        self.tasks = set()

    async def run(self):
        address = self.base.replace("http", "ws", 1) + "/v1/bridge/ws"
        async for self.socket in connect(address, additional_headers={"Authorization": f"Bearer {self.token}"}):
            try:
                await self.socket.send(json.dumps({"type": "hello", "version": VERSION}))
                async for text in self.socket:
                    await self.frame(json.loads(text))
            except (OSError, ConnectionClosed):
                continue

    async def frame(self, frame):
        if frame["type"] == "ready" and self.device is None:
            answer = await self.post("devices", pubkey=sealing.public(self.secret).hex(), label="reference")
            self.device = answer["device_id"]
        elif frame["type"] == "ping":
            await self.socket.send('{"type":"pong"}')
        elif frame["type"] == "update":
            update = frame["update"]
            await self.socket.send(json.dumps({"type": "ack", "up_to_update_id": update["update_id"]}))
            if update["update_id"] not in self.seen:
                self.seen.add(update["update_id"])
                task = asyncio.create_task(self.update(update["type"], update))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)

    async def post(self, method, **body):
        request = urllib.request.Request(
            f"{self.base}/v1/bridge/{method}", json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
        try:
            answer = await asyncio.to_thread(lambda: urllib.request.urlopen(request, timeout=30).read())
        except urllib.error.HTTPError as error:
            print(f"{method}: {error.code} {error.read().decode()}", file=sys.stderr, flush=True)
            raise
        return json.loads(answer)["result"]

    # Updates of the relay

    async def update(self, kind, update):
        payload = update["payload"]
        if kind == "session_key_granted" and payload["device_id"] == self.device:
            # A granted key always overwrites the known one.
            self.keys[payload["session_id"]] = sealing.open_box(self.secret, base64.b64decode(payload["wrapped_session_key"]))
        elif kind == "device_added" and payload.get("platform") != "bridge":
            for session, key in list(self.keys.items()):
                box = base64.b64encode(sealing.seal_box(key, bytes.fromhex(payload["pubkey"]))).decode()
                await self.post(f"sessions/{session}/recipients", wrapped_by_device_id=self.device,
                                recipients=[{"device_id": payload["device_id"], "wrapped_session_key": box}])
        elif kind == "approval.resolved" and payload["approval_id"] in self.asks:
            self.asks.pop(payload["approval_id"]).set_result(payload["decision"])
        elif kind == "session.message":
            await self.answer(update["session_id"], update["interaction_id"], payload["message"])

    def key(self, session):
        """`getOrCreate`."""
        return self.keys.setdefault(session, os.urandom(32))

    def sealed(self, session, text, kind="messages"):
        return base64.b64encode(sealing.seal(sealing.blob_key(self.key(session), f"{kind}/{session}"), text.encode())).decode()

    async def answer(self, session, interaction, message):
        text = message.get("text")
        if envelope := message.get("text_ct"):
            if session not in self.keys:
                return print(f"no key for {session}: dropped", file=sys.stderr, flush=True)
            root = sealing.blob_key(self.keys[session], f"messages/{session}")
            text = sealing.unseal(root, base64.b64decode(envelope)).decode()
        names = {"session_id": session, "interaction_id": interaction}
        key = lambda: {"idempotency_key": str(uuid.uuid4())}
        bubble = (await self.post("sendMessage", **names, text_ct="AA==", **key()))["message_id"]
        task = f"call_{uuid.uuid4().hex[:8]}"
        await self.post("createTask", **names, task_id=task, kind="exec", status_label_ct=self.sealed(session, "exec command=look", "tasks"),
                        args_ct=self.sealed(session, json.dumps({"command": "look"}), "tasks"))
        await self.post("finishTask", **names, task_id=task, status="completed",
                        result_ct=self.sealed(session, json.dumps({"output": "seen"}), "tasks"))
        said = f"You wrote: {text}"
        if "approve" in text:
            said = f"You said {await self.ask(names, text)}. {said}"
        half = len(said) // 2
        for piece in (said[:half], said[half:]):
            await self.post("sendMessageDelta", message_id=bubble, delta_ct=self.sealed(session, piece), **key())
            await asyncio.sleep(0.04)
        await self.post("sendMessageEnd", message_id=bubble, text_ct=self.sealed(session, said), **key())

    async def ask(self, names, text):
        approval = str(uuid.uuid4())
        self.asks[approval] = asyncio.get_running_loop().create_future()
        details = {"title": "exec", "message": f"Run {text}?", "command": text}
        await self.post("requestApproval", **names, approval_id=approval, action="shell.exec", severity="medium",
                        details_ct=self.sealed(names["session_id"], json.dumps(details), "approvals"), idempotency_key=str(uuid.uuid4()))
        return await self.asks[approval]


if __name__ == "__main__":
    asyncio.run(ReferenceBridge(os.environ["SOPHON_BASE_URL"], os.environ["SOPHON_BOT_TOKEN"]).run())
