"""Steps by which a test scripts a turn of the scripted Codex (codex.md). They pass to its process as JSON."""

from dataclasses import dataclass, field

from .steps import Hold, Wait


@dataclass
class Say:
    """One agent message. `cut` leaves out its end, as a broken stream does."""
    chunks: list
    phase: str = "final_answer"
    every: float = 0.01
    cut: bool = False
    delivery: str | None = None
    """"async" for a message, with `questions`, that is not the turn's answer."""
    questions: list | None = None


@dataclass
class Think:
    chunks: list


@dataclass
class Command:
    """A command. `asks` is the model's question to leave the sandbox; the call then waits for an approval."""
    command: str = "ls packets"
    output: str | None = "a\nb\nc\n"
    parts: list = field(default_factory=list)
    """Streamed output, which is never all of it."""
    code: int = 0
    asks: str | None = None
    gate: str | None = None
    """The command runs until this gate is open."""
    outlives: bool = False
    """The turn continues without the command, which ends at its gate, perhaps after the turn."""
    silent: bool = False
    """The call makes no item."""
    shell: str = "/bin/bash"
    """The shell that runs it: a program of the workspace may have a shell's name."""
    permissions: dict | None = None
    """`additionalPermissions`, granted with the command."""
    again: str | None = None
    """The command asked for next under the same item, after the first one failed in the sandbox and its connections were cut."""


@dataclass
class Input:
    """Input for the process of an earlier command, which requires an approval."""
    text: str = "yes\n"
    command: str = "psql garden"
    asks: str = "The process waits for an answer."


@dataclass
class Change:
    """A patch. It requires an approval outside of the workspace, or in a read-only one."""
    path: str = "labels.txt"
    diff: str = "beans\npeas\n"
    kind: str = "add"
    asks: bool = True


@dataclass
class Tool:
    """A call of an MCP server, which asks by an elicitation."""
    server: str = "garden"
    tool: str = "water"
    arguments: dict = field(default_factory=lambda: {"bed": "north"})
    result: str = "watered north"
    asks: bool = True
    displays: bool = True
    """Whether the request lists the arguments to display."""


@dataclass
class Parallel:
    """Several calls of one model response: all begin, all ask at once."""
    calls: list


@dataclass
class Question:
    """The tool for questions. The next text repeats the answers."""
    questions: list = field(default_factory=lambda: [{
        "id": "colour", "header": "Colour", "question": "Which colour?", "isOther": True, "isSecret": False,
        "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]}])


@dataclass
class Form:
    """An elicitation of an MCP server, for a form of its own."""
    message: str = "Which bed?"
    schema: dict = field(default_factory=lambda: {"type": "object", "properties": {"bed": {"type": "string"}}, "required": ["bed"]})
    mode: str = "form"
    url: str | None = None


@dataclass
class SubAgent:
    """A thread with frames under its own id; the parent waits for it."""
    name: str
    steps: list


@dataclass
class Retry:
    """A failed model request, which Codex itself repeats."""
    message: str = "Reconnecting... 1/2"
    after: float = 0.05


@dataclass
class Fail:
    message: str = "We're currently experiencing high demand, which may cause temporary errors."
    info: object = "internalServerError"


@dataclass
class Flood:
    """Many deltas of one message, as fast as possible; each differs from its neighbours."""
    count: int = 20_000

    def chunks(self):
        return [f"{number % 97} " for number in range(self.count)]


@dataclass
class Emit:
    """Any frame, to the thread's subscribers."""
    frame: dict


@dataclass
class Garbage:
    """A text message that is no JSON, then a batch and a frame of an unknown method."""


@dataclass
class LoseEnd:
    """Omits `turn/completed` of this turn; the thread goes idle."""


@dataclass
class AskLate:
    """An approval requested after the end of the turn."""
    command: str = "rm -r labels"


@dataclass
class Compact:
    """The item of a compacted context, and its warning."""


@dataclass
class Cut:
    """Ends the connections of the thread's clients without a closing frame; the server lives."""


@dataclass
class Die:
    """Ends the process without a word."""


_KINDS = {kind.__name__: kind for kind in (
    Say, Think, Command, Input, Change, Tool, Parallel, Question, Form, SubAgent, Retry, Fail, Hold, Wait, Flood, Emit, Garbage, LoseEnd,
    AskLate, Compact, Cut, Die)}
CALLS = (Command, Input, Change, Tool, Parallel, Question, Form, SubAgent)


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


def messages(steps):
    """The complete messages of a successful turn."""
    texts = []
    for step in steps:
        if isinstance(step, (Say, Flood)) and not getattr(step, "cut", False):
            texts.append("".join(step.chunks() if isinstance(step, Flood) else step.chunks))
    return texts


def answer(steps):
    """The bubble's final text: all complete messages of the turn, in order."""
    return "\n\n".join(text.strip() for text in messages(steps) if text.strip())
