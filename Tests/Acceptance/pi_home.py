"""One scripted pi (peers/pi_program.py): its directory, with its script and its logs."""

import json
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "peers" / "pi_program.py"
COMMAND = [sys.executable, str(PROGRAM), "--mode", "rpc"]


class PiHome:
    def __init__(self, directory, plans, line="B", **more):
        self.directory = Path(directory)
        (self.directory / "gates").mkdir(parents=True)
        self.workspace.mkdir()
        self.write_plans({"plans": plans, "line": line} | more)

    @property
    def workspace(self):
        """Folder in which pi works: the bridge itself runs in its home directory here."""
        return self.directory / "work"

    @property
    def environment(self):
        """Environment of pi."""
        return {"PI_DOUBLE": str(self.directory)}

    @property
    def bridge_environment(self):
        return {"SOPHON_AGENT": "pi", "PI_COMMAND": " ".join(COMMAND), "SOPHON_WORKSPACE": str(self.workspace)} | self.environment

    def write_plans(self, plans):
        (self.directory / "plans.json").write_text(json.dumps(plans))

    def open_gate(self, name):
        (self.directory / "gates" / name).touch()

    def log(self, name):
        path = self.directory / f"{name}.log"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def child(self):
        """Id of the newest process."""
        return self.log("starts")[-1]["pid"]

    def check_prompts(self, phone, *asked):
        """Checks that no message was prompted twice."""
        prompts = self.log("prompts")
        for turn in asked:
            text = phone.asked[turn.interaction][1]
            assert prompts.count(text) <= 1, f"{text!r} was prompted {prompts.count(text)} times"


def said(*parts):
    return {"say": list(parts)}


def words(name, count=12):
    """Words of a text, the last one without white space: neither pi nor the bridge trims inside a text."""
    return [f"{name}-{number} " for number in range(count - 1)] + [f"{name}-{count - 1}"]
