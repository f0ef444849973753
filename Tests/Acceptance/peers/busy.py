"""A session that another client's run holds or whose last run was stopped and not let go of, and what a gateway does by itself
after a restart (openclaw.md#seen-on-running-gateways)."""

import asyncio
import uuid

from .runs import Run, assistant_message
from .steps import Plan, Say

DRAINING = "Gateway is draining; new tasks are not accepted"
REFUSED = "⚠️ Gateway is restarting. Please wait a few seconds and try again."
INTERRUPTED = "[System] Your previous turn was interrupted by a gateway restart while it was at work. Continue."
UNSAFE = ("I was interrupted by a gateway restart and couldn't safely resume the previous turn. "
          "Please send that last request again and I'll pick it up cleanly.")


def holder(session):
    """The run that a message would have to wait for: the bridge holds its own."""
    return next((run for run in session.active.values() if run.owner_connection is None), None)


def is_taken(session):
    return session.gateway.era.busy != "beside" and (session.tearing_down or holder(session) is not None)


def takes(run):
    """Accepted and over at once, without a word; the run that answers is another one. Called once its answer is on its way."""
    gateway, session = run.gateway, run.session
    run.state = "ok"
    run.ended_at = gateway.clock.milliseconds()
    run.finished.set()
    gateway.remember(run)
    asyncio.get_running_loop().call_later(0.02, lambda: _passes(gateway, session, run))


def _passes(gateway, session, run):
    other = holder(session)
    if session.tearing_down and gateway.era.busy == "steer":
        return _refuses(gateway, session, run)
    if gateway.era.busy == "steer" and other is not None:
        run.add_question()
        run.chat("final")
        return other.steered.append(run)
    run.chat("final")
    session.queue.append(run)
    if not is_taken(session):
        free(gateway, session)


def _refuses(gateway, session, run):
    run.agent("lifecycle", {"phase": "error", "error": DRAINING, "endedAt": gateway.clock.milliseconds()})
    run.add_question()
    run.chat("final", message=assistant_message(REFUSED, gateway.clock))
    session.add_row("assistant", [{"type": "text", "text": REFUSED}], run.idempotency_key, stopReason="stop")


def free(gateway, session):
    """Begins the next waiting message a second after its session became free."""
    if session.queue:
        asyncio.get_running_loop().call_later(1.0, lambda: _run_next(gateway, session))


def _run_next(gateway, session):
    if session.queue and not is_taken(session):
        asked = session.queue.pop(0)
        begin_own(gateway, session, asked.user_text, asked.plan)


def begin_own(gateway, session, text, plan):
    """Under a name that no client knows."""
    run = Run(gateway, str(uuid.uuid4()), session, session.key, plan, user_text=text)
    run.names_question = False
    gateway._start(run)


def interrupt(gateway):
    """The process ends. The runs that had begun, with which the next one may go on."""
    running = [run for run in gateway.runs.values() if run.state == "running"]
    for run in running:
        run.task.cancel()
    for session in gateway.sessions.values():
        session.queue, session.tearing_down = [], set()
    gateway.approvals.clear()
    gateway.runs.clear()
    return [run for run in running if run.has_begun and run.user_text]


def resume_all(gateway, runs):
    for run in runs if gateway.era.resumes else []:
        asyncio.get_running_loop().call_later(1.0, _resume, gateway, run)


def _resume(gateway, run):
    """E3 resumes a run under a new name; a run that was in a tool ends with a row of the gateway's own."""
    if run.in_tool:
        row = run.session.add_row("assistant", [{"type": "text", "text": UNSAFE}],
                                  f"main-session-restart-recovery:{run.id}:failed-notice", stopReason="stop")
        return gateway.session_message(run.session, row)
    rest = run.plan.steps[run.step:]
    return begin_own(gateway, run.session, INTERRUPTED, Plan("", rest or [Say(["I am back."])]))
