"""Continues a kept journal with a bridge: the person's actions, and an account of the results that is the same each time.

The comparison is exact: each turn's calls in order with keys and bodies, those of sealed chats as the phone opens them; for calls that the
journal holds without an answer, the very bytes; the agent's inputs and executions. Three things depend on timing alone and are normalised:
the pieces of streamed text (joined; how often a piece is sent depends on the agent's frames), the reports of a tool's progress (left out;
they are limited in rate), and the order of chats among each other."""

import asyncio
import contextlib
import hashlib
import json
import re
import sqlite3

from harness import until
from kept_worlds import GO_ON

NAME = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b(?:msg|int|ses|dev|req)_[A-Za-z0-9]{16}\b")
HIDDEN = ("session_id", "interaction_id", "message_id")
LONG = 2_000
REPLY = "2"
"""The answer to each question."""


class Quiet:
    """Waits until neither relay nor agent has received anything for a while."""

    def __init__(self, world):
        self.world, self.loop = world, asyncio.get_running_loop()

    async def wait(self, seconds):
        seen, since = None, self.loop.time()
        while self.loop.time() - since < seconds:
            now = (len(self.world.stage.relay.calls), len(self.world.heard()))
            if now != seen:
                seen, since = now, self.loop.time()
            await asyncio.sleep(0.05)


async def decide(stage):
    """A person who decides the newest card of each turn: when an ask has returned under another id, the old card is left alone."""
    while True:
        newest = {}
        for name, body in stage.relay.rules.approvals.items():
            newest[body["session_id"], body.get("interaction_id")] = (name, body)
        for name, body in newest.values():
            if name not in stage.phone.decisions:
                is_denied = "denied" in stage.phone.asked.get(body.get("interaction_id"), ("", ""))[1]
                stage.relay.decide(name, "deny" if is_denied else "approve")
        await asyncio.sleep(0.1)


async def take_up(kind, folder=None):
    """Starts on this fixture, and returns the account."""
    async with kind() as world:
        kept = await world.put(folder)
        return await play(world, kept)


async def play(world, kept):
    stage, phone = world.stage, world.stage.phone
    stored = stored_calls(stage.state / "journal.db")
    turns = {text: (interaction, session) for interaction, (session, text, _) in phone.asked.items()}
    quiet = Quiet(world)
    await stage.bridge.start()
    await until(world.is_met, 30, "what the agent does is taken up")
    await quiet.wait(1)
    person = asyncio.create_task(decide(stage))
    try:
        for text, (_, session) in sorted(turns.items()):
            if text.endswith("question") and world.outlives:
                hand = world.seals if text.startswith("sealed") else stage.relay
                hand.ask(REPLY, session)
        await quiet.wait(0.7)
        world.release(GO_ON)
        await until(lambda: not [1 for name, (_, text, _) in phone.asked.items() if text not in world.beside and not phone.is_ended(name)],
                    40, "all bubbles ended")
        await until(lambda: not open_turns(stage), 30, "all turns closed")
        await quiet.wait(0.7)
    finally:
        person.cancel()
    return account(world, kept, stored)


def open_turns(stage):
    with contextlib.closing(sqlite3.connect(f"file:{stage.state}/journal.db?mode=ro", uri=True, timeout=30)) as database:
        return database.execute("SELECT name FROM turns WHERE closed_at IS NULL").fetchall()


def stored_calls(path):
    """Bodies of calls in the journal without a known answer."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        return {bytes(body if isinstance(body, bytes) else body.encode()) for body, in database.execute(
            "SELECT body FROM calls WHERE delivered = 0 AND body IS NOT NULL")}


# The account

def account(world, kept, stored):
    stage = world.stage
    known = json.dumps(kept).lower()
    directory = str(stage.directory)

    def named(match):
        return match[0] if match[0].lower() in known else "(new)"
    told = {"turns": turns_of(stage, stored), "agent": chats_of(world), "problems": problems(stage)}
    text = json.dumps(told, ensure_ascii=False).replace(directory, "(directory)").replace(stage.relay.url, "(relay)")
    return json.loads(NAME.sub(named, text))


def turns_of(stage, stored):
    turns = {}
    for call in stage.relay.calls:
        if call.body is None or call.method == "devices":
            continue
        turn = turns.setdefault(turn_of(stage, call.body), [])
        said = {"method": call.method} | {name: value for name, value in call.body.items() if name not in HIDDEN}
        if call.method == "sendMessage" and said.get("text", "").isspace():
            said["text"] = " "  # The mark of the state directory, which is drawn at random in each.
        if call.status != 200:
            said |= {"answer": [call.status, call.code]}
        if call.raw in stored:
            turn.append(said | {"bytes": hashlib.sha256(call.raw).hexdigest()})
        elif call.method == "sendMessageDelta":
            if not turn or "deltas" not in turn[-1]:
                turn.append({"method": call.method, "deltas": ""})
            turn[-1]["deltas"] += call.body["delta"]
        elif call.method != "updateTask":
            turn.append(said)
    for calls in turns.values():
        for call in calls:
            call |= {name: shortened(value) for name, value in call.items()}
    return {name: {"calls": calls, "tasks": ends_of_tasks(stage, name)} for name, calls in sorted(turns.items())}


def shortened(value):
    """A long text is shortened to its beginning and a hash."""
    if not isinstance(value, str) or len(value) < LONG:
        return value
    return f"{value[:80]}… ({len(value)} characters, {hashlib.sha256(value.encode()).hexdigest()})"


def turn_of(stage, body):
    message = stage.relay.rules.messages.get(body.get("message_id"), {})
    interaction = body.get("interaction_id") or message.get("interaction")
    if interaction:
        session, text, _ = stage.phone.asked[interaction]
        return text if text != REPLY else f"answer to {chat_of(stage, session)}"
    return f"beside, in the chat of {chat_of(stage, body.get('session_id') or message.get('session'))}"


def chat_of(stage, session):
    return next((text for known, text, _ in stage.phone.asked.values() if known == session), "nobody")


def ends_of_tasks(stage, name):
    found = next((interaction for interaction, (_, text, _) in stage.phone.asked.items() if text == name), None)
    return {task: states[-1] for task, states in sorted(stage.phone.tasks_of(found).items())} if found else {}


def chats_of(world):
    chats = {}
    for chat, fields in world.heard():
        chats.setdefault(chat, []).append(fields)
    if "new" in chats:
        chats["new"].sort(key=str)
    return dict(sorted(chats.items()))


def problems(stage):
    rules = stage.relay.rules
    return {"phone": stage.phone.broken, "conflicts": [method for method, *_ in rules.conflicts],
            "rewrites": [method for method, *_ in rules.rewrites],
            "refused": [[call.method, call.status, call.code] for call in stage.relay.refused()]}


# Comparing

IDENTITIES = ("idempotency_key", "approval_id", "clientTurnId", "clientUserMessageId", "idempotencyKey", "id", "turnId", "prompt", "ran",
              "start")


def differences(kept, taken):
    """Differences as (name, kept, received); the names are listed in DIFFERENCES (test_upgrade.py)."""
    for part, members in (("turns", "calls"), ("agent", None)):
        for name in sorted(set(kept[part]) | set(taken[part])):
            before, after = ((side[part].get(name) or ({members: []} if members else [])) for side in (kept, taken))
            yield from _lists(name, before[members] if members else before, after[members] if members else after)
            if members:
                yield from _fields(f"{name}: tasks", before.get("tasks", {}), after.get("tasks", {}))
    yield from _fields("problems", kept["problems"], taken["problems"])


def _lists(name, before, after):
    before, after = _named(before), _named(after)
    for entry in sorted(set(before) | set(after)):
        if entry not in after:
            yield f"{name}: - {entry}{_streamed(before[entry])}", before[entry], None
        elif entry not in before:
            yield f"{name}: + {entry}{_streamed(after[entry])}", None, after[entry]
        else:
            yield from _fields(f"{name}: {entry}", before[entry], after[entry])
    orders = [[entry for entry in side if entry in before and entry in after] for side in (before, after)]
    if orders[0] != orders[1]:
        yield f"{name}: order", *orders


def _named(entries):
    """Entries by kind and recipient; equal names are numbered."""
    named = {}
    for entry in entries:
        name = " ".join(str(part) for part in (entry.get("method") or entry.get("type"), *(entry.get(key) for key in IDENTITIES)) if part)
        count = sum(1 for known in named if known.split(" #")[0] == name)
        named[f"{name} #{count + 1}" if count else name] = entry
    return named


def _streamed(entry):
    """Names an entry's streamed text."""
    return f" {json.dumps(entry['deltas'], ensure_ascii=False)}" if "deltas" in entry else ""


JOINT = "\n\n"
"""Separator between two messages of one run."""


def _fields(name, before, after):
    """Names a differing text by its difference, so that an allowed difference allows nothing else."""
    for field in sorted(set(before) | set(after)):
        then, now = before.get(field), after.get(field)
        if then == now:
            continue
        how = ""
        if isinstance(then, str) and isinstance(now, str) and then and now:
            if not now.startswith(then):
                bare = then.replace(JOINT, ""), now.replace(JOINT, "")
                if bare[1].startswith(bare[0]):
                    then, now, how = *bare, " in paragraphs"
            if now.startswith(then) and now != then:
                how += f" goes on: {' '.join(now[len(then):].split())}"
        yield f"{name} {field}{how}", before.get(field), after.get(field)
