"""The words in which a test scripts what Oppi's agent does with a prompt (oppi.md#how-a-run-looks-and-where-the-final-text-is)."""

import random
from dataclasses import dataclass, field

from .steps import Hold, Wait


@dataclass
class Say:
    """Text of the message that the model is writing. It ends at the next tool call, at a failure or at the end of the run."""
    chunks: list
    every: float = 0.01
    thinking: str = ""
    unstreamed: str = ""
    """The end of the text, which the model did not stream: only the seed dialect sends a delta for it."""
    block: bool = False
    """It begins a text block of its own: `message_end` joins them, the trace has an event for each."""


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
    """An extension asks. What is said next is `says` by the answer: "yes", "no", a value, "cancelled", "nothing"."""
    method: str = "confirm"
    fields: dict = field(default_factory=lambda: {"title": "Delete?", "message": "All labels go."})
    says: dict = field(default_factory=dict)
    asks: str = ""
    """Of an `ask`: the reason of the policy, as a tool's. The questions are shown before that is decided."""


@dataclass
class Burst:
    """Many deltas at once. With `kept`, as many reach each socket of the seed dialect as if the rest had not fitted its buffer.
    With `patience`, the model pauses for slow readers, so many seconds in all."""
    count: int
    kind: str = "text_delta"
    size: int = 0
    kept: int | None = None
    seed: int = 1
    patience: float = 0.0

    def pieces(self):
        return [f"{number} ".rjust(self.size, ".") for number in range(self.count)]

    def lost(self, drops):
        """The numbers of those that reach no socket. The last is among them: what is missing is missing to the end."""
        if not drops or self.kept is None:
            return set()
        numbers = random.Random(self.seed).sample(range(self.count - 1), self.count - 1 - self.kept)
        return {self.count - 1, *numbers}


@dataclass
class Retry:
    """The model call fails, and another agent loop begins."""
    message: str = "overloaded"
    after: float = 0.05


@dataclass
class Fail:
    message: str = "rate limit reached for this account"


@dataclass
class Trouble:
    """An `error` of the agent that ends nothing: of an extension, or of a stream that recovers."""
    message: str = "An extension threw an error"


@dataclass
class Pause:
    """First in a plan: the agent is silent for so long before its run begins. With `compacts`, it compacts meanwhile, and says so."""
    seconds: float = 1.0
    compacts: bool = False


@dataclass
class Refuse:
    """The agent takes no prompt: no run begins."""
    message: str = "No API key found"


@dataclass
class Compact:
    """The loop ends and the context is compacted; with `will_retry` another loop begins by itself. `overflow` is a model call that fails."""
    reason: str = "threshold"
    will_retry: bool = False
    seconds: float = 0.02


@dataclass
class EndSession:
    """The session ends under the run, as an owner or a crash would end it."""
    reason: str = "terminated"


@dataclass
class Emit:
    """Any frame, on its way to the session's subscribers."""
    frame: dict


@dataclass
class Die:
    """The server's process ends here, without a word."""


@dataclass
class Plan:
    """What a prompt that contains `match` does."""
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
    """The assistant's messages of a run that goes well, those without text left out."""
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
    """What the bubble ends with: all texts of the run in order."""
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
