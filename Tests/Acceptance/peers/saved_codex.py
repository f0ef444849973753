"""The memory of a scripted Codex at a moment (peers/saved.py); its directory has the rest."""

import asyncio

from . import codex_steps as words
from .codex_thread import Request, Thread
from .codex_turn import Turn


def save(server):
    return {"numbers": [server._requests, server._identities, server._processes],
            "threads": [_thread(thread) for thread in server.threads.values()]}


def _thread(thread):
    return {"record": thread.record, "is_stored": thread.is_stored, "status": thread.status, "last_end": thread.last_end,
            "grants": sorted(thread.grants), "turn": thread.turn and _turn(thread.turn),
            "requests": [[number, request.method, request.params] for number, request in thread.requests.items()]}


def _turn(turn):
    return {"id": turn.id, "text": turn.text, "client": turn.client, "content": turn.content, "record": turn.record,
            "steps": words.to_json(turn.ahead), "item": turn.item}


class GoesOn(Turn):
    """A continued turn, whose first step had begun."""

    saved = None

    async def run(self):
        self.is_started = True
        try:
            await self.pick_up()
            await self.play(self.steps[1:])
            self.end("completed")
        except asyncio.CancelledError:
            self.calls.abandon()
            self.end("interrupted")

    async def pick_up(self):
        step, requests = self.steps[0], list(self.thread.requests.values())
        asked = requests and asyncio.create_task(self.thread.answer_to(requests[0]))
        if isinstance(step, words.Command):
            item = self.item = self.saved["item"]
            if not asked:
                await self.calls.go_on(item, step)
            elif await self.calls.is_allowed(item, step, asked):
                await self.calls.run_command(item, step)
        elif isinstance(step, words.Question):
            await self.calls.answered(step, await asked)
        else:
            return await self.play([step])
        self.thread.add_usage()
        self.thread.report_usage(self.id)


def load(server, saved, elapsed):
    server._requests, server._identities, server._processes = saved["numbers"]
    for entry in saved["threads"]:
        record = entry["record"]
        for turn in record["turns"]:
            turn |= {name: turn[name] + elapsed // 1000 for name in ("startedAt", "completedAt") if turn[name]}
        thread = Thread(server, record, is_stored=entry["is_stored"])
        server.disk.lock(thread.id)
        server.threads[thread.id] = thread
        thread.status, thread.last_end, thread.grants = entry["status"], entry["last_end"], set(entry["grants"])
        if entry["turn"]:
            _load_turn(server, thread, entry)


def _load_turn(server, thread, entry):
    saved = entry["turn"]
    turn = thread.turn = GoesOn(thread, saved["text"], saved["client"], saved["content"], words.from_json(saved["steps"]))
    turn.saved, turn.id = saved, saved["id"]
    # Thread and turn share one record.
    turn.record = next(record for record in thread.record["turns"] if record["id"] == turn.id)
    for number, method, params in entry["requests"]:
        thread.requests[number] = Request(method, params, asyncio.get_running_loop().create_future(), turn)
    server.run(turn)
