"""The gateway's scheduler, whose reports about a job differ by era (openclaw.md#small-ones)."""


def scheduler_runs(gateway, text, session_key, run_id, job_id):
    """Runs a job from its start to its end, with its run."""
    _tell(gateway, "started", job_id, session_key, run_id)
    run = gateway.other_client_sends(text, session_key, run_id)
    run.task.add_done_callback(lambda _: _tell(gateway, "finished", job_id, session_key, run_id))
    return run


def _tell(gateway, action, job_id, session_key, run_id):
    """Reports a job; with its session from E2 on, with its run in E4 alone."""
    payload = {"jobId": job_id, "action": action}
    if gateway.era.name != "E1":
        payload["sessionKey"] = session_key
    if gateway.era.name == "E4":
        payload["runId"] = run_id
    gateway.broadcast("cron", payload)
