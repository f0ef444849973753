"""Steps by which a test scripts a turn of Claude Code, both of the scripted one (`claude_program.py`) and of the real one with a scripted
model. They pass to the double's process as JSON."""

from dataclasses import dataclass, field

from .steps import Hold, Say, Wait


@dataclass
class Think:
    text: str


@dataclass
class Call:
    """A call of a tool. The double executes Write, Edit and the few commands of its shell (`claude_tools.py`); every other call has this
    `output`."""
    name: str
    input: dict
    output: str = "done"
    failed: bool = False
    seconds: float = 0
    """Duration of the double's call, besides the wait of its command."""
    steps: list = field(default_factory=list)
    """The turn of the helper that this call starts (Task)."""


@dataclass
class Together:
    """Several calls of one message of the model."""
    calls: list


@dataclass
class Refuse:
    """The model's server refuses a request: `kind` is the error's type in the body, `after` the seconds of its `retry-after`."""
    status: int
    kind: str
    message: str
    after: float | None = None


@dataclass
class Cut:
    """Resets the connection to the model: in a block that began with `chunks`, or behind a finished one."""
    chunks: list = field(default_factory=list)


@dataclass
class Limit:
    """A `rate_limit_event`, which only the double of a subscription has."""
    status: str = "allowed"
    resets_at: int = 1_795_453_695
    kind: str = "five_hour"


@dataclass
class Emit:
    """Any frame of the double."""
    frame: dict


@dataclass
class Line:
    """Any line of the double, such as one that is no JSON."""
    text: str


@dataclass
class LongLine:
    """A frame of an unknown type with this size."""
    size: int = 16 << 20


@dataclass
class Complain:
    """Lines on standard error."""
    lines: list


@dataclass
class Die:
    """The process ends here, with this exit code and no further frame."""
    code: int = 1


@dataclass
class LoseEnd:
    """No `result` comes for this turn."""


_KINDS = {kind.__name__: kind for kind in (Say, Think, Call, Together, Refuse, Cut, Limit, Emit, Line, LongLine, Complain, Die, LoseEnd, Hold, Wait)}


def bash(command, **more):
    return Call("Bash", {"command": command, "description": "Work in the garden"} | more)


def write(path, content):
    return Call("Write", {"file_path": str(path), "content": content})


def edit(path, old, new):
    return Call("Edit", {"file_path": str(path), "old_string": old, "new_string": new})


def question(*texts, options=("Green", "Blue"), several=False):
    return Call("AskUserQuestion", {"questions": [
        {"question": text, "header": "Garden", "multiSelect": several,
         "options": [{"label": label, "description": f"{label} it is"} for label in options]} for text in texts]})


def to_json(step):
    if isinstance(step, list):
        return [to_json(entry) for entry in step]
    if type(step).__name__ in _KINDS:
        return {"step": type(step).__name__} | {name: to_json(value) for name, value in vars(step).items()}
    return step


def from_json(value):
    if isinstance(value, list):
        return [from_json(entry) for entry in value]
    if isinstance(value, dict) and "step" in value:
        return _KINDS[value["step"]](**{name: from_json(entry) for name, entry in value.items() if name != "step"})
    return value
