"""The phone's view, folded from the relay's events, and the invariants of relay.md#gaps-and-what-the-emulator-should-do."""

import time
from dataclasses import dataclass, field

TERMINAL = {"task_completed", "task_failed", "task_cancelled"}


@dataclass
class Bubble:
    message_id: str
    session: str
    interaction: str | None
    opening: str
    key: str
    opened_at: float
    deltas: list = field(default_factory=list)
    final: str | None = None
    finish_reason: str | None = None
    usage: dict | None = None
    ended_at: float | None = None

    @property
    def streamed(self):
        return "".join(self.deltas)

    @property
    def text(self):
        """The bubble's current text."""
        if self.final is not None:
            return self.final
        return self.streamed or self.opening


class Phone:
    def __init__(self):
        self.events = []          # (kind, fields) in the order of publication.
        self.bubbles = {}
        self.by_interaction = {}
        self.tasks = {}           # task id: kinds of its events, in order.
        self.task_interaction = {}
        self.approvals = {}       # approval id: body of the request.
        self.decisions = {}
        self.ends = {}  # approval id: the reason of an end by the relay; None if somebody decided.
        self.refused = []  # (approval id, decision): taps on ended cards.
        self.asked = {}           # interaction: (session, text, when)
        self.broken = []          # Sentences.

    def see(self, kind, **fields):
        self.events.append((kind, fields))
        handler = getattr(self, f"_{kind}", None)
        if handler:
            handler(**fields)
        elif kind.startswith("task_"):
            self._task(kind, **fields)

    # Folding

    def _message_added(self, message_id, session, interaction, text, key):
        bubble = Bubble(message_id, session, interaction, text, key, time.monotonic())
        self.bubbles[message_id] = bubble
        if interaction is None:
            return
        if interaction in self.by_interaction:
            self.broken.append(f"a second bubble in {interaction}: keys {self.by_interaction[interaction].key}, {key}")
        if interaction in self.asked and self.asked[interaction][0] != session:
            self.broken.append(f"{interaction} answered in the session {session}")
        self.by_interaction[interaction] = bubble

    def _message_delta(self, message_id, delta):
        self.bubbles[message_id].deltas.append(delta)

    def _message_finalized(self, message_id, text, finish_reason, usage):
        bubble = self.bubbles[message_id]
        bubble.final = bubble.streamed if text is None else text
        bubble.finish_reason, bubble.usage, bubble.ended_at = finish_reason, usage, time.monotonic()
        if bubble.interaction is not None:
            for task, interaction in self.task_interaction.items():
                if interaction == bubble.interaction and not TERMINAL & set(self.tasks[task]):
                    self.broken.append(f"{interaction} ended while the task {task} was open")

    def _task(self, kind, task_id, session, interaction, body):
        states = self.tasks.setdefault(task_id, [])
        if kind == "task_created":
            self.task_interaction[task_id] = interaction
        if TERMINAL & set(states):
            self.broken.append(f"{kind} for the task {task_id} after its end")
        if self.task_interaction.get(task_id) != interaction:
            self.broken.append(f"the task {task_id} changed its interaction to {interaction}")
        self._after_end(interaction, kind)
        states.append(kind)

    def _approval_requested(self, approval_id, session, interaction, body):
        if approval_id in self.approvals:
            self.broken.append(f"the approval {approval_id} was asked twice")
        self._after_end(interaction, "approval_requested")
        self.approvals[approval_id] = body

    def _approval_resolved(self, approval_id, decision, reason):
        self.ends.setdefault(approval_id, reason)

    def open_cards(self, session=None):
        """Ids of the approvals that are still undecided, oldest first."""
        return [name for name, body in self.approvals.items()
                if name not in self.ends and session in (None, body["session_id"])]

    def _after_end(self, interaction, kind):
        bubble = self.by_interaction.get(interaction)
        if interaction is not None and bubble is None:
            self.broken.append(f"{kind} of {interaction} before its bubble")
        elif bubble is not None and bubble.final is not None:
            self.broken.append(f"{kind} of {interaction} after its end")

    # Reading

    def bubble(self, interaction):
        return self.by_interaction.get(interaction)

    def is_ended(self, interaction):
        bubble = self.by_interaction.get(interaction)
        return bubble is not None and bubble.final is not None

    def final(self, interaction):
        bubble = self.by_interaction.get(interaction)
        return bubble.final if bubble else None

    def tasks_of(self, interaction):
        return {task: states for task, states in self.tasks.items() if self.task_interaction[task] == interaction}

    def loose_messages(self, session):
        """Messages without an interaction, in order: continuations, late answers, notices."""
        return [bubble.opening if bubble.final is None else bubble.final for bubble in self.bubbles.values()
                if bubble.session == session and bubble.interaction is None]

    def problems(self, interactions=None, is_prefix=True):
        """A sentence per broken invariant; empty if there is none."""
        found = list(self.broken)
        for interaction in self.asked if interactions is None else interactions:
            bubble = self.by_interaction.get(interaction)
            if bubble is None:
                found.append(f"{interaction} has no bubble")
                continue
            if bubble.final is None:
                found.append(f"{interaction} never ended; it shows {bubble.text[:120]!r}")
                continue
            if not bubble.final.strip():
                found.append(f"{interaction} ended empty")
            if is_prefix and not bubble.final.startswith(bubble.streamed.rstrip()):
                found.append(f"{interaction}: streamed {bubble.streamed[-160:]!r} is no beginning of {bubble.final[-160:]!r}")
            for task, states in self.tasks_of(interaction).items():
                if sum(state in TERMINAL for state in states) != 1:
                    found.append(f"the task {task} of {interaction} ended {states}")
        return found
