"""Conversations used by several files: steps for the agent, and the phone's final text."""

from peers.eras import canonical_text
from peers.steps import Approval, Hold, Say, Tool, segments

ERAS = ("E1", "E2", "E3", "E4")
INLINE_ERAS = ("E3", "E4")
"""Eras with inline approvals. In earlier ones an exec approval always ends its run, and a follow-up run comes
(openclaw.md#approvals)."""


def words(name, count=12):
    """Pieces of text that all differ, so that a gap or a repetition shows."""
    return [f"{name}-{number} " for number in range(count)]


def journey(name, era, every=0.02, count=12, hold=None):
    """Text, a tool, text; with a gate before each part if `hold` is given. Returns (steps, final text)."""
    gate = (lambda part: [Hold(f"{hold}-{part}")]) if hold else (lambda part: [])
    steps = [*gate("say"), Say(words(f"{name} a", count), every), *gate("tool"), Tool(output=f"{name} 61%", seconds=0.3),
             *gate("end"), Say(words(f"{name} b", count), every)]
    return steps, canonical_text(era, segments(steps))


def with_approval(name, era, detached=None):
    """Text, then a command that asks first, then text: inline in the same run, detached in the follow-up run. With `detached` None the era
    decides."""
    detached = era not in INLINE_ERAS if detached is None else detached
    before, after = Say(words(f"{name} a")), Say(words(f"{name} b"))
    if detached:
        # A kill may come before the gateway has sent the first run's text without its trailing white space.
        before.chunks[-1] = before.chunks[-1].rstrip()
        steps = [before, Approval(f"restart {name}", detached=True, followup=[after])]
        return steps, "".join(before.chunks) + "\n\n" + "".join(after.chunks).strip()
    steps = [before, Approval(f"restart {name}", detached=False), after]
    return steps, canonical_text(era, segments(steps))
