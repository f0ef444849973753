"""Makes the journals of Tests/Fixtures/journal: a bridge is killed with turns open in every state. Once for each released
version, with that version's program: `SOPHON_BRIDGE=PROGRAM .build/python/bin/python Tests/Acceptance/make_journal.py DIRECTORY`.
"""

import asyncio
import gzip
import json
import sqlite3
import shutil
import sys
from pathlib import Path

from harness import Stage, until
from peers.relay import base62
from peers.saved import save
from peers.steps import Approval, Hold, Say, Tool
from stories import words

MINUTE = 60_000


class Deaf:
    """The gateway answers nothing to some requests."""

    def __init__(self, stage):
        self.answer, self.hangs = stage.gateway._call, lambda method, params: False
        stage.gateway._call = self

    async def __call__(self, connection, frame):
        if self.hangs(frame["method"], frame.get("params", {})):
            return
        await self.answer(connection, frame)


class Frozen:
    """From some moment on the relay applies no call of these methods and answers none."""

    def __init__(self, stage):
        self.stage, self.serve, self.stops = stage, stage.relay._serve, lambda method, body: False
        stage.relay._serve = self

    async def __call__(self, call, request):
        if self.stops(call.method, json.loads(request.body or b"{}")):
            await asyncio.sleep(3600)
        return await self.serve(call, request)


async def fill(stage, deaf, frozen):
    ask, gateway = stage.ask, stage.gateway

    def late(text, minutes, *steps):
        """A message that the relay made so long ago."""
        gateway.plan(text, *steps)
        interaction = base62("int_")
        stage.relay.rules.interactions[interaction] = stage.clock.now() - minutes * 60
        return stage.relay.ask(text, interaction=interaction,
                               created_at=str(int(stage.clock.milliseconds() - minutes * MINUTE)))

    first = ask("closed", Say(words("closed", 40)), Tool(), Say(words("closed on", 40)))
    gateway.plan("card one", Say(["One. "]), Tool(), Say(["Done."]), call_id="call_same")
    card = ask("card one")
    await stage.ended(first, card)

    # What goes on: streaming, a tool, approvals, the window, a renamed card, a run of the scheduler.
    ask("streaming", Say(words("streaming", 60)), Hold("never"))
    ask("tool", Say(words("tool")), Tool(seconds=3600))
    ask("failing tools", Say(words("failing")), Tool(failed=True), Say(words("again")), Tool(seconds=3600))
    asking = ask("asking", Say(words("asking")), Approval("systemctl restart asking"))
    allowed = ask("allowed", Say(words("allowed")), Approval("systemctl restart allowed"))
    detached = ask("detached", Say(words("detached")), Approval("systemctl restart detached", detached=True))
    followed = ask("followed", Say(words("followed")), Approval("systemctl restart followed", detached=True))
    gateway.plan("card two", Say(["Two. "]), Tool(seconds=3600), call_id="call_same")
    ask("card two")
    busy = ask("busy", Say(words("busy")), Hold("never"))
    late("window", 28.9, Say(words("window")), Hold("never"))
    late("expired", 40, Say(words("expired")), Hold("never"))
    gateway.plan("nightly", Say(words("nightly")), Hold("never"))
    gateway.other_client_sends("nightly", "agent:main:cron:nightly", "cron-run-1")
    for turn in (asking, allowed, detached, followed):
        await stage.approval(turn)
    await asyncio.sleep(9)

    # What is cut off in the middle of being passed on.
    deaf.hangs = lambda method, params: method == "chat.send" and "handed over" in params["message"] or \
        method == "chat.abort" or method.endswith("approval.resolve")
    ask("waiting", session=busy.session)
    ask("handed over", Say(words("handed")), Hold("never"))
    stage.relay.decide(await stage.approval(allowed), "approve_always")
    stage.relay.decide(await stage.approval(followed), "approve")
    stage.relay.stop(stage.relay.new_session(), base62("int_"))
    stopping = ask("stopping", Say(words("stopping")), Hold("never"))
    ending = ask("ending", Say(words("ending")), Hold("ending"), Say(words("end")))
    more = ask("more", Say(words("more")), Hold("more"), Say(["".join(words("long", 6_200))]))
    for turn in (stopping, ending, more):
        await stage.streaming(turn)
    await asyncio.sleep(1)
    frozen.stops = lambda method, body: method == "sendMessageEnd"
    gateway.release("ending")
    gateway.release("more")
    await asyncio.sleep(2)
    frozen.stops = lambda method, body: method in ("sendMessage", "sendMessageEnd")
    ask("opening", Say(words("opening")))
    await asyncio.sleep(0.5)
    # The last delta of this one is stored and not answered.
    frozen.stops = lambda method, body: method != "finishTask"
    ask("delta", Say(words("delta")), Hold("never"))
    frozen.stops = lambda method, body: method in ("sendMessageEnd", "sendMessageDelta") or \
        method == "sendMessage" and not body["text"].strip() and len(stage.phone.asked) > 100
    await asyncio.sleep(1)
    stage.relay.stop(stopping.session, stopping.interaction)
    await asyncio.sleep(0.5)


def keep(stage, directory, name, with_peers):
    """The file as the killed process left it, with its log brought in: one file instead of three."""
    target = directory / f"{name}.db"
    for ending in ("", "-wal"):
        shutil.copy(stage.state / f"journal.db{ending}", f"{target}{ending}")
    database = sqlite3.connect(target)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.execute("VACUUM")
    for row in database.execute("""SELECT turns.name, closed_at IS NULL, length(record), json_extract(opening, '$.content.message.text')
                                FROM turns LEFT JOIN messages ON turn = turns.number ORDER BY turns.number"""):
        print(*row)
    database.close()
    if with_peers:
        peers = json.dumps(save(stage), ensure_ascii=False, separators=(",", ":"))
        (directory / f"{name}.peers.json.gz").write_bytes(gzip.compress(peers.encode(), mtime=0))


async def main(directory):
    directory.mkdir(parents=True, exist_ok=True)
    async with Stage("E4") as stage:
        deaf, frozen = Deaf(stage), Frozen(stage)
        await fill(stage, deaf, frozen)
        stage.relay.hooks.append(lambda what, _: what == "ack" and stage.bridge.kill9())
        # Of so many at once some are accepted and have no record yet.
        for number in range(8):
            stage.ask(f"accepted {number}", Say(["Accepted."]))
        await stage.bridge.exit()
        stage.relay.hooks.clear()
        keep(stage, directory, "killed", True)
        # Taken up by the same version, and killed while it looks for its runs.
        frozen.stops = lambda method, body: False
        deaf.hangs = lambda method, params: method == "chat.history"
        await stage.bridge.start()
        await asyncio.sleep(3)
        stage.bridge.kill9()
        await stage.bridge.exit()
        keep(stage, directory, "searching", False)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
