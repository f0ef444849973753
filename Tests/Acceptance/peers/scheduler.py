"""The gateway's scheduler: what it reports about a job differs by era (relay.md#sendmessage-whole-reply-or-the-placeholder-of-a-streamed-one)."""


def scheduler_runs(gateway, text, session_key, run_id, job_id):
    """A job, from its start to its end, and the run that it begins."""
    _tell(gateway, "started", job_id, session_key, run_id)
    run = gateway.other_client_sends(text, session_key, run_id)
    run.task.add_done_callback(lambda _: _tell(gateway, "finished", job_id, session_key, run_id))
    return run


def _tell(gateway, action, job_id, session_key, run_id):
    """The session is told from E2 on, the run in E4 alone."""
    payload = {"jobId": job_id, "action": action}
    if gateway.era.name != "E1":
        payload["sessionKey"] = session_key
    if gateway.era.name == "E4":
        payload["runId"] = run_id
    gateway.broadcast("cron", payload)
