"""Makes a fixture of a recording by `record`: `trim.py RECORDING FIXTURE`.

Keeps the agent's frames alone. Values that differ between runs (ids, times, process numbers, folders) get fixed ones, so that the
difference between two versions of an agent shows their own differences. Texts of the agent's vendor are cut: descriptions, instructions,
long sentences, all but the first entries of catalogues. Texts of people, of the scripted model and of commands stay."""

import json
import re
import sys
from pathlib import Path

TIMES = {"emittedAtMs": 1_700_000_000_000, "startedAtMs": 1_700_000_000_000, "completedAtMs": 1_700_000_000_000, "startedAt": 1_700_000_000,
         "completedAt": 1_700_000_000, "createdAt": 1_700_000_000, "updatedAt": 1_700_000_000, "recencyAt": 1_700_000_000, "durationMs": 5}
OPAQUE = {"turnsBackwardsCursor": "cursor", "itemsBackwardsCursor": "cursor", "backwardsCursor": "cursor", "nextCursor": "cursor",
          "revision": "revision", "installationId": "installation", "serverName": "host"}
VENDOR = {"description", "instructions", "baseInstructions", "developerInstructions", "developer_instructions", "tool_description",
          "upgrade", "additionalDetails"}
SPOKEN = {"text", "delta", "command", "cmd", "aggregatedOutput", "summary", "content", "diff", "reason", "input", "changes", "output"}
LONGEST, CATALOGUE = 160, 2
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
ROLLOUT = re.compile(r"sessions/\d{4}/\d\d/\d\d/rollout-[^/]*\.jsonl")
NAMES = re.compile(r"\b(int|ses)_[A-Za-z0-9]{16}\b")
FOLDER = re.compile(r"/home/ada/(?:stage|home)-[a-z0-9_]+")


class Trimmer:
    def __init__(self):
        self._seen = {}

    def _number(self, kind, text):
        known = self._seen.setdefault(kind, {})
        return known.setdefault(text, len(known) + 1)

    def text(self, value):
        value = FOLDER.sub("/home/ada", value)
        value = ROLLOUT.sub("sessions/rollout.jsonl", value)
        value = UUID.sub(lambda found: f"00000000-0000-4000-8000-{self._number('id', found[0]):012}", value)
        return NAMES.sub(lambda found: f"{found[1]}_{self._number(found[1], found[0]):016}", value)

    def value(self, value, key=None, is_spoken=False):
        is_spoken = is_spoken or key in SPOKEN
        if isinstance(value, dict):
            return {name: self.value(entry, name, is_spoken) for name, entry in value.items()}
        if isinstance(value, list):
            if key == "data" and value and isinstance(value[0], dict) and "displayName" in value[0]:
                value = value[:CATALOGUE]
            return [self.value(entry, key, is_spoken) for entry in value]
        if value is None or isinstance(value, bool):
            return value
        if key in TIMES:
            return TIMES[key]
        if key in OPAQUE:
            return OPAQUE[key]
        if not isinstance(value, str):
            return value
        if key == "processId":
            return str(self._number("process", value))
        if key in VENDOR:
            return "…" if value else value
        value = self.text(value)
        return value if is_spoken or len(value) <= LONGEST else value[:LONGEST] + "…"

    def lines(self, recording):
        """The lines of the fixture; the clock advances by 10 ms with each."""
        entries = [json.loads(line) for line in recording.splitlines()]
        head = {name: value for name, value in entries[0].items() if name != "date"}
        yield head
        frames = [entry for entry in entries[1:] if entry.get("link") != "relay"]
        for number, entry in enumerate(frames):
            yield entry | {"at_ms": number * 10, "frame": self.value(entry["frame"])}


def trim(recording):
    made = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in Trimmer().lines(recording)]
    return "\n".join(made) + "\n"


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(trim(Path(sys.argv[1]).read_text()))
