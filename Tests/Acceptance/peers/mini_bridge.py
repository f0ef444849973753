"""A naive bridge in a hundred lines: correct in the good case, helpless in any bad one. It proves the peers, nothing else."""

import asyncio
import base64
import hashlib
import json
import os
import signal
import time
import urllib.request

from websockets.asyncio.client import connect

from . import ed25519
from .handshake import signed_text

SCOPES = ["operator.read", "operator.write", "operator.approvals"]


class MiniBridge:
    def __init__(self, base_url, bot_token, gateway_url, gateway_token, emit=lambda event: None):
        self.base_url, self.bot_token = base_url, bot_token
        self.gateway_url, self.gateway_token, self.emit = gateway_url, gateway_token, emit
        self.turns, self.pending, self.tools, self.approvals, self.seen = {}, {}, {}, {}, set()
        self.tasks = set()
        self.ids = iter(range(1, 1 << 30))

    async def run(self):
        relay_socket = self.base_url.replace("http", "ws") + "/v1/bridge/ws"
        async with connect(self.gateway_url, max_size=None) as self.gateway, connect(
                relay_socket, additional_headers={"Authorization": f"Bearer {self.bot_token}"}) as self.relay:
            await self.shake_hands(json.loads(await self.gateway.recv())["payload"])
            self.emit({"event": "openclaw_connected"})
            try:
                await asyncio.gather(self.read_relay(), self.read_gateway())
            finally:
                for task in self.tasks:
                    task.cancel()

    async def shake_hands(self, challenge):
        seed = hashlib.sha256(b"mini bridge").digest()
        public = ed25519.public_key(seed)
        encode = lambda data: base64.urlsafe_b64encode(data).decode().rstrip("=")
        params = {"minProtocol": 3, "maxProtocol": 4, "role": "operator", "scopes": SCOPES, "caps": ["tool-events"],
                  "client": {"id": "gateway-client", "version": "0", "platform": "linux", "mode": "backend"},
                  "auth": {"token": self.gateway_token},
                  "device": {"id": hashlib.sha256(public).hexdigest(), "publicKey": encode(public),
                             "signedAt": challenge["ts"], "nonce": challenge["nonce"], "signature": ""}}
        params["device"]["signature"] = encode(ed25519.sign(seed, signed_text("v2", params, self.gateway_token)))
        await self.gateway.send(json.dumps({"type": "req", "id": "0", "method": "connect", "params": params}))
        answer = json.loads(await self.gateway.recv())
        if not answer["ok"]:
            raise SystemExit(f"the gateway refused: {answer['error']}")

    async def request(self, method, **params):
        number = str(next(self.ids))
        self.pending[number] = asyncio.get_running_loop().create_future()
        await self.gateway.send(json.dumps({"type": "req", "id": number, "method": method, "params": params}))
        return await self.pending[number]

    async def call(self, method, **body):
        request = urllib.request.Request(f"{self.base_url}/v1/bridge/{method}", json.dumps(body).encode(), {
            "Authorization": f"Bearer {self.bot_token}", "Content-Type": "application/json"})
        answer = await asyncio.to_thread(lambda: urllib.request.urlopen(request, timeout=30).read())
        return json.loads(answer)["result"]

    async def read_relay(self):
        async for text in self.relay:
            frame = json.loads(text)
            if frame["type"] == "ready":
                await self.relay.send(json.dumps({"type": "hello", "version": "0"}))
                self.emit({"event": "ready"})
            elif frame["type"] == "ping":
                await self.relay.send('{"type":"pong"}')
            elif frame["type"] == "update":
                await self.relay.send(json.dumps({"type": "ack", "up_to_update_id": frame["update"]["update_id"]}))
                self.tasks.add(asyncio.create_task(self.update(frame["update"])))

    async def update(self, update):
        payload = update["payload"]
        if update["type"] == "session.message" and payload["message"]["id"] not in self.seen:
            self.seen.add(payload["message"]["id"])
            turn = {"session": update["session_id"], "interaction": update["interaction_id"], "streamed": "",
                    "n": 0, "open": {}, "queue": asyncio.Queue(), "done": "", "pause": None}
            self.turns[update["interaction_id"]] = turn
            place = {"session_id": turn["session"], "interaction_id": turn["interaction"]}
            opened = await self.call("sendMessage", **place, text=" ", idempotency_key=f"{turn['interaction']}-open")
            turn["message"] = opened["message_id"]
            self.tasks.add(asyncio.create_task(self.work(turn, place)))
            await self.request("chat.send", sessionKey=self.key(turn), message=payload["message"]["text"],
                               idempotencyKey=turn["interaction"])
        elif update["type"] == "session.cancelled":
            turn = self.turns[update["interaction_id"]]
            await self.request("chat.abort", sessionKey=self.key(turn), runId=turn["interaction"])
        elif update["type"] == "approval.resolved":
            decision = {"approve": "allow-once", "approve_always": "allow-always"}.get(payload["decision"], "deny")
            await self.request("exec.approval.resolve", id=payload["approval_id"], decision=decision)

    @staticmethod
    def key(turn):
        return f"agent:main:sophon:{turn['session'].lower()}"

    async def read_gateway(self):
        async for text in self.gateway:
            frame = json.loads(text)
            if frame["type"] == "res":
                if frame["id"] in self.pending:
                    self.pending.pop(frame["id"]).set_result(frame)
            elif (turn := self.turn_of(frame["event"], frame["payload"])) is not None:
                turn["queue"].put_nowait((frame["event"], frame["payload"]))

    def turn_of(self, event, payload):
        if event == "exec.approval.requested":
            turn = next((turn for turn in self.turns.values() if self.key(turn) == payload["request"]["sessionKey"]), None)
            self.approvals[payload["id"]] = turn
            return turn
        if event == "exec.approval.resolved":
            return self.approvals.get(payload["id"])
        run = payload.get("runId", "")
        if run.startswith("exec-approval-followup:"):
            return self.approvals.get(run.split(":")[1])
        # In E1 the rest belongs to a run of an unknown name.
        return self.turns.get(run) or next((turn for turn in self.approvals.values() if self.key(turn) == payload.get("sessionKey")), None)

    async def work(self, turn, place):
        text, segment_of = "", None
        while True:
            event, payload = await turn["queue"].get()
            if event == "exec.approval.requested":
                request = payload["request"]
                await self.call("requestApproval", **place, approval_id=payload["id"], action="shell.exec", title="exec",
                                message=f"Run {request['command']}?", command=request["command"],
                                idempotency_key=f"a-{payload['id']}")
                turn["pause"] = payload["id"]
            elif event == "exec.approval.resolved":
                turn["pause"] = None
            elif event == "agent" and payload["stream"] == "tool":
                await self.tool(turn, place, payload["data"])
            elif event == "chat":
                if payload["runId"] != segment_of and segment_of is not None:
                    text, turn["done"] = "", turn["done"] + text.strip() + "\n\n"
                segment_of = payload["runId"]
                before, text = text, self.reduce(text, payload)
                if before and not text.startswith(before) and not before.startswith(text):
                    turn["done"] += before.strip() + "\n\n"  # E1: a new segment.
                await self.stream(turn, turn["done"] + text)
                if await self.is_over(turn, place, payload, text):
                    return

    @staticmethod
    def reduce(text, payload):
        if "message" in payload:
            return "".join(block["text"] for block in payload["message"]["content"])
        if payload.get("replace"):
            return payload["deltaText"]
        return text + payload.get("deltaText", "")

    async def stream(self, turn, text):
        if len(text) > len(turn["streamed"]) and text.startswith(turn["streamed"]):
            turn["n"] += 1
            await self.call("sendMessageDelta", message_id=turn["message"], delta=text[len(turn["streamed"]):],
                            idempotency_key=f"{turn['interaction']}-d-{turn['n']}")
            turn["streamed"] = text

    async def tool(self, turn, place, data):
        if data["phase"] == "start":
            turn["open"][data["toolCallId"]] = False
            await self.call("createTask", **place, task_id=data["toolCallId"], kind=data["name"], args=data["args"])
        elif data["phase"] == "result" and data["toolCallId"] in turn["open"]:
            if not turn.get("pause"):
                del turn["open"][data["toolCallId"]]
                await self.call("finishTask", **place, task_id=data["toolCallId"],
                                status="failed" if data["isError"] else "completed")
            else:
                turn["open"][data["toolCallId"]] = True

    async def is_over(self, turn, place, payload, text):
        if payload["state"] not in ("final", "aborted", "error"):
            return False
        if payload["state"] == "final" and any(turn["open"].values()) and self.turns.get(payload["runId"]) is turn:
            return False  # Detached: the follow-up run continues.
        for call in turn["open"]:
            await self.call("finishTask", **place, task_id=call,
                            status="cancelled" if payload["state"] == "aborted" else "completed")
        said = (turn["done"] + text).strip()
        said = "\n\n".join(filter(None, [said, payload.get("errorMessage", "")])) or "(no answer)"
        await self.call("sendMessageEnd", message_id=turn["message"], text=said, finish_reason="stop",
                        idempotency_key=f"{turn['interaction']}-end")
        return True


def main():
    def emit(event):
        print(json.dumps(event | {"ts": int(time.time() * 1000)}), flush=True)

    async def run():
        names = ("SOPHON_BASE_URL", "SOPHON_BOT_TOKEN", "OPENCLAW_URL", "OPENCLAW_TOKEN")
        task = asyncio.create_task(MiniBridge(*(os.environ[name] for name in names), emit).run())
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        emit({"event": "starting"})
        try:
            await task
        except asyncio.CancelledError:
            emit({"event": "shutdown"})

    asyncio.run(run())


if __name__ == "__main__":
    main()
