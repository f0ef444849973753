"""The peers' knowledge at a moment, as JSON, so that a bridge of a later version can continue between them.

A kept journal is only a part of a world: the relay knows messages and keys, the phone the keys of its chats, the agent its runs, and a
restart needs files beside the journal. `save` writes that part, `load` restores it on fresh peers; the parts of each agent are in
`saved_gateway`, `saved_oppi` and `saved_codex` (a pi dies with its bridge, and leaves files only). Times move with the clock: a journal
made last year continues as if its bridge had died a few seconds ago.
"""

import base64
import json
import re
import sqlite3
from pathlib import Path

from .relay import Asked
from .sealed_phone import sealing

# Files left out: the journal itself, and those that a start makes anew.
LEFT_OUT = ("journal.db", "journal.db-wal", "journal.db-shm", "status.json")


def save(stage):
    return {"wall": stage.clock.milliseconds(), "directory": str(stage.directory), "url": stage.relay.url,
            "files": _files(stage.directory), "relay": _save_relay(stage)}


def load(stage, saved):
    """Restores the saved knowledge, before the bridge starts."""
    move = Move(saved["wall"], stage.clock.milliseconds() - saved["wall"],
                {saved["directory"]: str(stage.directory), saved["url"]: stage.relay.url})
    for name, content in saved["files"].items():
        path = stage.directory / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(move(base64.b64decode(content)))
        path.chmod(0o600)
    _load_relay(stage, saved["relay"])
    return move


class Move:
    """Rewrites kept bytes: shifts times, and replaces names that differ from those of the original place."""

    MOMENT = re.compile(rb"(?<![0-9])1[0-9]{12}(?![0-9])")
    DAY = 86_400_000

    def __init__(self, wall, milliseconds, names=None):
        self.wall, self.milliseconds, self.names = wall, milliseconds, names or {}

    def __call__(self, content):
        for before, after in self.names.items():
            for form in (lambda text: text, lambda text: text.replace("/", "\\/")):
                content = content.replace(form(before).encode(), form(after).encode())
        return self.MOMENT.sub(self._moment, content)

    def _moment(self, match):
        """Shifts a time in milliseconds since 1970, if it is near the kill."""
        value = int(match[0])
        return str(value + self.milliseconds).encode() if abs(value - self.wall) < self.DAY else match[0]


# Files of the bridge and of the agent

def _files(directory):
    paths = [path for path in sorted(Path(directory).rglob("*")) if path.is_file() and not path.is_symlink()]
    return {str(path.relative_to(directory)): base64.b64encode(path.read_bytes()).decode() for path in paths
            if path.name not in LEFT_OUT and path.suffix != ".lock"}


# The relay

def _save_relay(stage):
    relay, rules, now = stage.relay, stage.relay.rules, stage.clock.now()
    return {
        "installation": relay.installation, "token": relay.token, "sessions": sorted(rules.sessions),
        "interactions": {name: now - at for name, at in rules.interactions.items()},
        "messages": list(rules.messages.values()), "tasks": list(rules.tasks.values()), "approvals": list(rules.approvals.values()),
        "answers": [[list(identity), body, result] for identity, (body, result) in rules.answers.items()],
        "asked": {name: [session, text] for name, (session, text, _) in stage.phone.asked.items()},
        "decisions": stage.phone.decisions, "events": [[kind, fields] for kind, fields in stage.phone.events],
        "files": {path: base64.b64encode(content).decode() for path, content in relay.files.items()},
        "updates": list(relay.updates.values()), "seals": relay.seals and relay.seals.save(),
    }


def _load_relay(stage, saved):
    relay, rules, now = stage.relay, stage.relay.rules, stage.clock.now()
    relay.installation, relay.token = saved["installation"], saved["token"]
    relay.files |= {path: base64.b64decode(content) for path, content in saved["files"].items()}
    rules.sessions |= set(saved["sessions"])
    rules.interactions |= {name: now - age for name, age in saved["interactions"].items()}
    rules.messages |= {message["id"]: message for message in saved["messages"]}
    rules.tasks |= {(body["session_id"], body["task_id"]): body for body in saved["tasks"]}
    rules.approvals |= {body["approval_id"]: body for body in saved["approvals"]}
    rules.answers |= {tuple(identity): (body, result) for identity, body, result in saved["answers"]}
    stage.phone.asked |= {name: (session, text, 0) for name, (session, text) in saved["asked"].items()}
    stage.phone.decisions |= saved["decisions"]
    for kind, fields in saved["events"]:
        stage.phone.see(kind, **fields)
    if saved["seals"]:
        relay.seals.load(saved["seals"])
    for update in saved["updates"]:
        relay.push(update["type"], update["payload"], update["session_id"], update["interaction_id"], update["update_id"])


def turns_by_text(stage):
    return {text: Asked(session, name, "", "", 0) for name, (session, text, _) in stage.phone.asked.items()}


# The journal

COLUMNS = {"turns": ("kept_at", "closed_at"), "messages": ("received_at",), "calls": ("kept_at",), "tries": ("tried_at",),
           "events": ("happened_at",), "stops": ("asked_at",)}
RECORDS = (("turns", "record"), ("messages", "opening"))


def move_journal(path, move, device=None):
    """Shifts all times in a journal. A record states its time in the open; `device` is the secret that seals the rest of a sealed one."""
    key = device and sealing.hkdf(device, "sophon-bridge/v1/records")
    database = sqlite3.connect(path)
    for table, columns in COLUMNS.items():
        for column in columns:
            database.execute(f"UPDATE {table} SET {column} = {column} + ? WHERE {column} IS NOT NULL", (move.milliseconds,))
    for table, name in RECORDS:
        rows = database.execute(f"SELECT number, {name} FROM {table} WHERE length({name}) > 0").fetchall()
        for number, blob in rows:
            database.execute(f"UPDATE {table} SET {name} = ? WHERE number = ?", (_moved_record(blob, move, key), number))
    if database.execute("SELECT 1 FROM sqlite_schema WHERE name = 'parts'").fetchone():
        # Part 0 of a turn is its record.
        for place, blob in database.execute("SELECT place, content FROM parts WHERE place % 1048576 = 0").fetchall():
            database.execute("UPDATE parts SET content = ? WHERE place = ?", (_moved_record(blob, move, key), place))
    for connection, name, value in database.execute("SELECT connection, name, value FROM settings").fetchall():
        value = value.encode() if isinstance(value, str) else value
        database.execute("UPDATE settings SET value = ? WHERE connection = ? AND name = ?", (move(value), connection, name))
    # The named processes are long gone, and others may have their numbers by now.
    database.execute("""UPDATE settings SET name = rtrim(name, '0123456789') || '1' WHERE name LIKE 'agent % process %'""")
    database.commit()
    database.close()


def _moved_record(blob, move, key):
    record = json.loads(move(blob))
    if record.get("sealed") and key:
        content = move(sealing.unseal(key, base64.b64decode(record["sealed"])))
        record["sealed"] = base64.b64encode(sealing.seal(key, content)).decode()
    return json.dumps(record).encode()


def device_secret(stage):
    return bytes.fromhex(json.loads((stage.directory / "config" / "relay-device.json").read_text())["secretHex"])
