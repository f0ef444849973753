"""Steps by which a test scripts an agent's run."""

from dataclasses import dataclass, field


@dataclass
class Say:
    """Text increments in the current segment; the first after a tool begins a new segment."""
    chunks: list
    every: float = 0.02


@dataclass
class Tool:
    """A tool call that needs no approval: frames on `tool` and, from E2, on `item` and `command_output`."""
    name: str = "exec"
    arguments: dict = field(default_factory=lambda: {"command": "df -h /"})
    output: str = "61%"
    failed: bool = False
    seconds: float = 0.02


@dataclass
class Approval:
    """An exec that asks first. With `detached` None the era decides."""
    command: str = "systemctl restart devserver"
    output: str = "restarted"
    detached: bool | None = None
    followup: list = field(default_factory=list)
    expires_seconds: float | None = None
    plugin: bool = False
    request: dict = field(default_factory=dict)
    """Additional or replaced members of its request: cwd, nodeId, commandArgv, resolvedPath…"""


@dataclass
class Retry:
    """Fails this attempt and begins another under the same run id; earlier text is dropped."""
    message: str = "The model service is overloaded."
    after: float = 0.2


@dataclass
class Fail:
    """A lifecycle error now; the `chat` error follows after the gateway's hold-back."""
    message: str = "rate limit reached for this account"
    kind: str = "rate_limit"


@dataclass
class Hold:
    """Waits until the test calls `gateway.release(name)`."""
    name: str


@dataclass
class Wait:
    seconds: float


@dataclass
class Broadcast:
    """Any event in the middle of a run: unknown names and streams, mostly."""
    event: str
    payload: dict


@dataclass
class TimeOver:
    """The run exceeds its gateway's time limit."""


@dataclass
class Aside:
    """An answer beside the conversation, by a run of its own (`/btw`)."""
    text: str


@dataclass
class Plan:
    """The steps for a message that contains `match`."""
    match: str
    steps: list
    foreign_run_id: str | None = None
    """The answer adopts this run (E3 and later), under whose id the text comes."""
    text_only_in_history: bool = False
    """The `final` has no message; the rows have the text."""
    call_id: str | None = None
    """The id of every tool call of the run: some providers restart their count in each run."""
    is_command: bool = False
    """A command of the gateway, whose end without text is no failure of a model."""
    deltas: bool = True
    """False to send no `chat` delta, only the final (or nothing, with `text_only_in_history`)."""


def segments(steps):
    """Texts of the last attempt, one per stretch between tools."""
    parts = [""]
    for step in steps:
        if isinstance(step, Say):
            parts[-1] += "".join(step.chunks)
        elif isinstance(step, (Tool, Approval)):
            parts.append("")
        elif isinstance(step, Retry):
            parts = [""]
    return [part for part in parts if part]


_WORDS = {"say": Say, "tool": Tool, "approval": Approval, "retry": Retry, "fail": Fail, "hold": Hold, "wait": Wait, "aside": Aside,
          "time_over": TimeOver}


def plan_from_json(value):
    """`{"match": "disk", "steps": [{"say": {"chunks": ["a", "b"]}}, {"tool": {}}]}`"""
    steps = [_step_from_json(entry) for entry in value["steps"]]
    extra = {name: value[name] for name in ("foreign_run_id", "text_only_in_history", "deltas") if name in value}
    return Plan(value.get("match", ""), steps, **extra)


def _step_from_json(entry):
    (word, fields), = entry.items()
    fields = dict(fields)
    if "followup" in fields:
        fields["followup"] = [_step_from_json(inner) for inner in fields["followup"]]
    return _WORDS[word](**fields)
