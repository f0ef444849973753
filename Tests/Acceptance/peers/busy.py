"""Sessions held by another client's run, or by a stopped run that was not released, and the gateway's own actions after a restart
(openclaw.md#seen-on-running-gateways)."""

import asyncio
import uuid
from dataclasses import replace

from . import approvals
from .runs import Run
from .speech import assistant_message
from .steps import Plan, Say

AT_WORK = 4

DRAINING = "Gateway is draining; new tasks are not accepted"
REFUSED = "⚠️ Gateway is restarting. Please wait a few seconds and try again."
INTERRUPTED = "[System] Your previous turn was interrupted by a gateway restart while it was at work. Continue."
UNSAFE = ("I was interrupted by a gateway restart and couldn't safely resume the previous turn. "
          "Please send that last request again and I'll pick it up cleanly.")


def holder(session):
    """The run that a message has to wait for."""
    return next((run for run in session.runs if run.has_begun), None) or next(iter(session.runs), None)


def is_taken(session):
    return session.gateway.era.busy != "beside" and (session.tearing_down or holder(session) is not None)


def takes(run):
    """Ends a run at once, without a word: another run answers. Called once its answer is on its way."""
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
    session.write("assistant", REFUSED, run.idempotency_key, is_agents=False, stopReason="stop")
    # The next message releases an unresponsive agent.
    for stopped in [gateway.runs[name] for name in session.tearing_down if name in gateway.runs]:
        asyncio.get_running_loop().call_later(0.06, stopped.let_go)


def free(gateway, session):
    """Begins the next waiting message a second after its session became free."""
    if session.queue:
        asyncio.get_running_loop().call_later(1.0, lambda: _run_next(gateway, session))


def _run_next(gateway, session):
    """Begins one run for all waiting messages."""
    if not session.queue or is_taken(session):
        return
    waited, session.queue = session.queue, []
    text = waited[0].user_text
    if len(waited) > 1:
        text = "\n\n---\n".join(["[Queued messages while agent was busy]", *(
            f"Queued #{number}\n{run.user_text}" for number, run in enumerate(waited, 1))])
    steps = [step for run in waited for step in run.plan.steps]
    run = begin_own(gateway, session, text, replace(waited[0].plan, steps=steps, foreign_run_id=None))
    run.answers = [asked.user_text for asked in waited]


def begin_own(gateway, session, text, plan):
    """Begins a run under a name that no client knows, and that early gateways themselves do not stop by."""
    run = Run(gateway, str(uuid.uuid4()), session, session.key, plan, user_text=text)
    run.names_question, run.is_own = False, True
    gateway._start(run)
    return run


def interrupt(gateway):
    """Ends the process, and returns the runs that had begun, which the next process may continue."""
    running = [run for run in gateway.runs.values() if run.state == "running"]
    for run in running:
        run.task.cancel()
    for session in gateway.sessions.values():
        session.queue, session.tearing_down = [], set()
    approvals.forget(gateway)
    gateway.runs.clear()
    interrupted = [run for run in running if run.has_begun and run.user_text] if gateway.era.resumes else []
    for run in interrupted:
        run.session.resuming += 1
    return interrupted


def announce(gateway):
    """Ends each run with a frame before a requested restart, as E3 does."""
    for run in list(gateway.runs.values()) if gateway.era.resumes else []:
        if run.state == "running" and run.has_begun:
            run.chat("aborted", stopReason="restart")


def resume_all(gateway, runs):
    for run in runs:
        asyncio.get_running_loop().call_later(1.0, _resume, gateway, run)


def _resume(gateway, run):
    """Resumes a run under a new name, as E3 does; a run that was in a tool ends with a row of the gateway's own."""
    run.session.resuming -= 1
    if run.in_tool:
        return run.session.write("assistant", UNSAFE, f"main-session-restart-recovery:{run.id}:failed-notice", is_agents=False,
                                 stopReason="stop")
    run.session.say_changed(run.session.about("running") | {"sessionKey": run.session.key, "reason": "send"})
    rest = run.plan.steps[run.step:]
    return begin_own(gateway, run.session, INTERRUPTED, Plan("", rest or [Say(["I am back."])]))
