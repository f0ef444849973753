"""One turn of the scripted Codex: its frames in order, and the moments of its writes (codex.md#a-turn, codex.md#ends-and-errors)."""

import asyncio
import base64
import os
import time
import uuid

from . import codex_steps as words
from .codex_calls import Calls
from .codex_thread import milliseconds


class Failed(Exception):
    pass


class Steered(Exception):
    """Raised to cut off the streaming message for another model request."""


class Turn:
    def __init__(self, thread, text, client=None, content=None, steps=None):
        self.thread, self.server = thread, thread.server
        self.text, self.client, self.content = text, client, content or [{"type": "text", "text": text, "text_elements": []}]
        self.steps = steps
        self.id = str(uuid.uuid4())
        self.record = {"id": self.id, "items": [], "status": "inProgress", "error": None, "startedAt": None, "completedAt": None,
                       "durationMs": None}
        self.begun = time.monotonic()
        self.is_started = self.loses_end = False
        self.steers, self.replies, self.cleared, self.late = [], [], [], []
        self.calls = Calls(self)
        self.task = None
        self.ahead, self.item = [], None
        """The current and later steps; the item of a started command."""
        self.open = {}
        """Started calls, which no list contains."""

    @property
    def is_child(self):
        return "parent" in self.thread.record

    def shown(self, items=(), view="notLoaded"):
        return {"id": self.id, "rootTurnId": self.id, "items": list(items), "itemsView": view} | {
            name: self.record[name] for name in ("status", "error", "startedAt", "completedAt", "durationMs")}

    # Items

    def notify(self, method, **params):
        self.thread.notify(method, turnId=self.id, **params)

    def item_started(self, item):
        if item.get("status") == "inProgress":
            self.open[item["id"]] = dict(item)
        self.notify("item/started", item=dict(item), startedAtMs=milliseconds())

    def item_completed(self, item, is_kept=True):
        """Completes an item. A refused call is in no history."""
        self.open.pop(item["id"], None)
        if is_kept:
            self.record["items"].append(dict(item))
            self.thread.save()
        self.notify("item/completed", item=dict(item), completedAtMs=milliseconds())

    def whole_item(self, item):
        self.item_started(item)
        self.item_completed(item)

    def user_message(self, text, client, content=None):
        self.server.disk.note("turns", {"thread": self.thread.id, "turn": self.id, "text": text, "client": client})
        self.whole_item({"type": "userMessage", "id": str(uuid.uuid4()), "clientId": client,
                         "content": content or [{"type": "text", "text": text, "text_elements": []}]})

    def look_at_pictures(self):
        """Reads pictures of this machine; an unreadable one is no error (codex.md#methods)."""
        for part in self.content:
            if part.get("type") != "localImage":
                continue
            try:
                with open(part["path"], "rb") as file:
                    content = base64.b64encode(file.read()).decode()
            except OSError as error:
                content = None
                self.server.disk.note("unread", {"text": self.text, "path": part["path"], "error": str(error)})
            self.server.disk.note("images", {"text": self.text, "content": content})

    # The turn

    async def run(self):
        thread, disk = self.thread, self.server.disk
        try:
            await asyncio.sleep(disk.habit("started_after", 0.02))
            self.is_started = True
            self.record["startedAt"] = int(time.time())
            thread.set_status("active")
            thread.notify("turn/started", turn=self.shown())
            await asyncio.sleep(disk.habit("message_after", 0.01))
            thread.record["turns"].append(self.record)
            if not self.is_child:
                self.look_at_pictures()
                self.user_message(self.text, self.client, self.content)
            steps = self.steps or disk.steps(self.text) or [words.Say(["Understood."])]
            while True:
                try:
                    await self.play(steps)
                    break
                except Steered:
                    thread.report_usage(self.id)
                    steps = self.take_steer()
            self.end("completed")
        except Failed as failure:
            message, info = failure.args
            self.fail({"message": message, "codexErrorInfo": info, "additionalDetails": None, "misalignment": None})
        except asyncio.CancelledError:
            self.calls.abandon()
            self.end("interrupted")

    def take_steer(self):
        steps = []
        for text, client in self.steers:
            self.server.disk.note("steers", {"thread": self.thread.id, "turn": self.id, "text": text, "client": client})
            self.user_message(text, client)
            steps += self.server.disk.steps(text) or [words.Say(["Understood."])]
        self.steers = []
        return steps

    async def play(self, steps):
        is_counted = True
        for number, step in enumerate(steps):
            self.ahead = steps[number:]
            await getattr(self, f"do_{type(step).__name__.lower()}", self.calls.play)(step)
            is_counted = isinstance(step, words.CALLS)
            if is_counted:
                self.thread.add_usage()
                self.thread.report_usage(self.id)
                self.cut_in()
        if not is_counted:
            self.thread.add_usage()
            self.thread.report_usage(self.id)

    def cut_in(self):
        if self.steers:
            raise Steered

    async def pause(self, seconds=0.01):
        await asyncio.sleep(seconds)
        self.cut_in()

    # Steps; calls of tools are in `Calls`

    async def do_say(self, step):
        item = {"type": "agentMessage", "id": self.server.identity("msg" if not step.delivery else "call"), "text": "",
                "phase": step.phase, "memoryCitation": None, "delivery": step.delivery, "questions": step.questions}
        if step.delivery:
            return self.whole_item(item | {"text": "".join(step.chunks)})
        self.item_started(item)
        for chunk in step.chunks:
            await self.pause(step.every)
            self.notify("item/agentMessage/delta", itemId=item["id"], delta=chunk)
        if not step.cut:
            self.item_completed(item | {"text": "".join(step.chunks)})

    async def do_flood(self, step):
        item = {"type": "agentMessage", "id": self.server.identity("msg"), "text": "", "phase": "final_answer", "memoryCitation": None,
                "delivery": None, "questions": None}
        self.item_started(item)
        for number, chunk in enumerate(step.chunks()):
            if number % 200 == 0:
                await self.pause(0)
            self.notify("item/agentMessage/delta", itemId=item["id"], delta=chunk)
        self.item_completed(item | {"text": "".join(step.chunks())})

    async def do_think(self, step):
        item = {"type": "reasoning", "id": self.server.identity("rs"), "summary": [], "content": []}
        self.item_started(item)
        self.notify("item/reasoning/summaryPartAdded", itemId=item["id"], summaryIndex=0)
        for chunk in step.chunks:
            await self.pause()
            self.notify("item/reasoning/summaryTextDelta", itemId=item["id"], delta=chunk, summaryIndex=0)
        self.item_completed(item | {"summary": ["".join(step.chunks)]})

    async def do_hold(self, step):
        while not self.server.disk.gate_is_open(step.name):
            await self.pause()

    async def do_wait(self, step):
        await self.pause(step.seconds)

    async def do_retry(self, step):
        self.report_error({"message": step.message, "codexErrorInfo": {"responseStreamDisconnected": {"httpStatusCode": None}},
                         "additionalDetails": "stream disconnected before completion", "misalignment": None}, True)
        await self.pause(step.after)

    async def do_fail(self, step):
        raise Failed(step.message, step.info)

    async def do_emit(self, step):
        for connection in list(self.thread.subscribers):
            connection.send(step.frame)

    async def do_garbage(self, _):
        for connection in list(self.thread.subscribers):
            for text in ("Segmentation fault", "[1,2]", '{"method":"future/thing","params":{"threadId":7,"x":[[]]}}',
                         '{"id":"never asked","result":{}}', "null", '{"method":7}'):
                connection.send_text(text)

    async def do_loseend(self, _):
        self.loses_end = True

    async def do_asklate(self, step):
        self.late.append(step)

    async def do_compact(self, _):
        self.thread.notify("warning", message="The conversation was compacted.")
        self.whole_item({"type": "contextCompaction", "id": str(uuid.uuid4())})

    async def do_cut(self, _):
        for connection in list(self.thread.subscribers):
            connection.socket.cut()

    async def do_die(self, _):
        os._exit(1)

    # The end

    def report_error(self, error, will_retry):
        self.notify("error", error=error, willRetry=will_retry)

    def fail(self, error):
        self.thread.report_usage(self.id)
        self.thread.set_status("systemError")
        self.report_error(error, False)
        self.record["error"] = error
        self.close("failed", [])

    def end(self, status):
        last = [item for item in self.record["items"] if item["type"] == "agentMessage" and not item["delivery"]][-1:]
        if status == "interrupted":
            self.thread.report_usage(self.id)
            for reply in self.replies:
                reply()
        self.thread.turn = None
        self.thread.set_status("idle")
        self.close(status, last if status == "completed" else [])

    def close(self, status, items):
        thread = self.thread
        thread.turn, thread.last_end = None, status
        self.record |= {"status": status, "completedAt": int(time.time()), "durationMs": int((time.monotonic() - self.begun) * 1000)}
        thread.save()
        self.server.disk.note("ended", {"turn": self.id, "status": status})
        # A draining server has just closed its sockets.
        if not self.loses_end and not self.server.is_draining:
            thread.notify("turn/completed", turn=self.shown(items, "summary" if items else "notLoaded"))
        for number in self.cleared:
            thread.notify("serverRequest/resolved", requestId=number)
        replies, thread.unanswered = thread.unanswered, []
        for reply in replies:
            reply()
        for step in self.late:
            self.calls.ask_late(step)
        self.server.turn_ended(thread)
