"""Steps by which a test scripts Oppi's agent (oppi.md#how-a-run-looks-and-where-the-final-text-is)."""

import random
from dataclasses import dataclass, field

from .steps import Hold, Wait


@dataclass
class Say:
    """Text of the current message of the model. It ends at the next tool call, at a failure or at the end of the run."""
    chunks: list
    every: float = 0.01
    thinking: str = ""
    unstreamed: str = ""
    """The end of the text, which the model did not stream: only the seed dialect sends a delta for it."""
    block: bool = False
    """Begins a text block of its own: `message_end` joins the blocks, the trace has an event for each."""


@dataclass
class Tool:
    name: str = "bash"
    args: dict = field(default_factory=lambda: {"command": "df -h"})
    parts: list = field(default_factory=lambda: ["6", "1%\n"])
    failed: bool = False
    asks: str = ""
    """The reason of the policy: the call waits for a permission, and an abort does not end that wait."""
    call: str | None = None
    """The id of the call. "" sends none."""
    every: float = 0.01
    hold: str = ""
    """The gate at which the call waits after its first output."""


@dataclass
class Parallel:
    """Several calls of one message: all begin, their outputs are mixed, they end in the order of the calls."""
    tools: list


@dataclass
class Dialog:
    """A question of an extension. The next text is that of `says` for the answer: "yes", "no", a value, "cancelled", "nothing"."""
    method: str = "confirm"
    fields: dict = field(default_factory=lambda: {"title": "Delete?", "message": "All labels go."})
    says: dict = field(default_factory=dict)
    asks: str = ""
    """Reason of the policy for an `ask`, as for a tool. The questions are shown before the decision."""


@dataclass
class Burst:
    """Many deltas at once. With `kept`, the given number reach each socket of the seed dialect, as if the rest did not fit its buffer. With
    `patience`, the model pauses for slow readers, up to that many seconds in all."""
    count: int
    kind: str = "text_delta"
    size: int = 0
    kept: int | None = None
    seed: int = 1
    patience: float = 0.0

    def pieces(self):
        return [f"{number} ".rjust(self.size, ".") for number in range(self.count)]

    def lost(self, drops):
        """Numbers of the deltas that reach no socket. The last is one of them, so the gap lasts to the end."""
        if not drops or self.kept is None:
            return set()
        numbers = random.Random(self.seed).sample(range(self.count - 1), self.count - 1 - self.kept)
        return {self.count - 1, *numbers}


@dataclass
class Retry:
    """A failed model call, after which another agent loop begins."""
    message: str = "overloaded"
    after: float = 0.05


@dataclass
class Fail:
    message: str = "rate limit reached for this account"


@dataclass
class Trouble:
    """An `error` of the agent that ends nothing, from an extension or a recovering stream."""
    message: str = "An extension threw an error"


@dataclass
class Pause:
    """First in a plan: the agent is silent before its run begins. With `compacts`, it compacts meanwhile, and reports it."""
    seconds: float = 1.0
    compacts: bool = False


@dataclass
class Refuse:
    """The agent refuses the prompt, and no run begins."""
    message: str = "No API key found"


@dataclass
class Compact:
    """Ends the loop and compacts the context; with `will_retry` another loop begins by itself. `overflow` is a failed model call."""
    reason: str = "threshold"
    will_retry: bool = False
    seconds: float = 0.02


@dataclass
class EndSession:
    """Ends the session during the run, as an owner or a crash would."""
    reason: str = "terminated"


@dataclass
class Emit:
    """Any frame, to the session's subscribers."""
    frame: dict


@dataclass
class Die:
    """Ends the server's process without a word."""


@dataclass
class Plan:
    """The steps for a prompt that contains `match`."""
    match: str
    steps: list
    stubborn: bool = False
    """The agent ignores an abort."""

    @property
    def pause(self):
        return next((step for step in self.steps if isinstance(step, Pause)), None)

    def refusal(self):
        return next((step.message for step in self.steps if isinstance(step, Refuse)), None)


def texts(steps):
    """The assistant's messages of a successful run, without empty ones."""
    parts = [""]
    for step in steps:
        if isinstance(step, Say):
            parts[-1] += "".join(step.chunks) + step.unstreamed
        elif isinstance(step, Burst) and step.kind == "text_delta":
            parts[-1] += "".join(step.pieces())
        elif isinstance(step, Retry) or isinstance(step, Compact) and step.reason == "overflow":
            parts[-1] = ""
        elif isinstance(step, (Tool, Parallel, Compact)):
            parts.append("")
    return [part for part in parts if part.strip()]


def answer(steps):
    """The bubble's final text: all texts of the run, in order."""
    return "\n\n".join(texts(steps)).strip()


_WORDS = {"say": Say, "tool": Tool, "dialog": Dialog, "burst": Burst, "pause": Pause, "retry": Retry, "fail": Fail, "trouble": Trouble, "refuse": Refuse,
          "compact": Compact, "end_session": EndSession, "emit": Emit, "die": Die, "hold": Hold, "wait": Wait}


def plan_from_json(value):
    """`{"match": "disk", "steps": [{"say": {"chunks": ["a", "b"]}}, {"tool": {}}]}`"""
    steps = [_WORDS[word](**fields) for entry in value["steps"] for word, fields in entry.items()]
    return Plan(value.get("match", ""), steps, value.get("stubborn", False))


def plan_to_json(plan):
    words = {kind: word for word, kind in _WORDS.items()}
    return {"match": plan.match, "steps": [{words[type(step)]: vars(step)} for step in plan.steps], "stubborn": plan.stubborn}
