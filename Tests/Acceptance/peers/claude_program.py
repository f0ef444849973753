#!/usr/bin/env python3
"""A stand-in for the program `claude`: `-p` with JSON lines both ways, `--version`, and `auth status`. `CLAUDE_DOUBLE` names its directory
(`claude_disk.py`); its habits are in `plans.json` there. `--era old` omits the features that older versions lack."""

import argparse
import asyncio
import json
import os
import signal
import sys
import threading
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from peers.claude_disk import VERSION, Disk, Status, Transcript  # noqa: E402
from peers.claude_output import Output  # noqa: E402
from peers.claude_permissions import MODES, Permissions  # noqa: E402
from peers.claude_session import Session  # noqa: E402

LONGEST_SECONDS = 900
AS_ROOT = "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons"


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="claude")
    parser.add_argument("-p", "--print", action="store_true")
    parser.add_argument("--input-format", default="text")
    parser.add_argument("--output-format", default="text")
    for flag in ("--verbose", "--include-partial-messages", "--fork-session", "--replay-user-messages", "--no-session-persistence"):
        parser.add_argument(flag, action="store_true")
    for flag in ("--permission-prompt-tool", "--session-id", "--resume", "--permission-mode", "--model", "--settings", "--mcp-config",
                 "--append-system-prompt", "--effort", "--max-turns"):
        parser.add_argument(flag)
    for flag in ("--allowedTools", "--allowed-tools", "--add-dir"):
        parser.add_argument(flag, action="append", default=[])
    parser.add_argument("--era", choices=["new", "old"], default="new")
    return parser.parse_args(arguments)


def refusal(options, disk):
    """Error text of a start that fails at once."""
    if options.output_format != "stream-json" or options.input_format != "stream-json" or not options.print:
        return "Error: this double speaks JSON lines alone: -p --input-format stream-json --output-format stream-json"
    if not options.verbose:
        return "Error: When using --print, --output-format=stream-json requires --verbose"
    if options.session_id:
        try:
            uuid.UUID(options.session_id)
        except ValueError:
            return "Error: Invalid session ID. Must be a valid UUID."
        if Transcript.find(options.session_id):
            return f"Error: Session ID {options.session_id} is already in use."
    if options.permission_mode not in (None, "manual", *MODES):
        return f"error: option '--permission-mode <mode>' argument '{options.permission_mode}' is invalid."
    mode = Permissions(options.permission_mode, [], os.getcwd()).mode
    if mode == "bypassPermissions" and os.geteuid() == 0 and os.environ.get("IS_SANDBOX") != "1":
        return AS_ROOT
    return disk.habit("start_error")


async def serve(options, disk):
    output = Output()
    if options.resume and not Transcript.find(options.resume):
        words = f"No conversation found with session ID: {options.resume}"
        print(words, file=sys.stderr, flush=True)
        output.put(json.dumps({"type": "result", "subtype": "error_during_execution", "is_error": True, "errors": [words], "num_turns": 0,
                               "session_id": options.resume, "uuid": str(uuid.uuid4())}).encode() + b"\n")
        output.flush()
        os._exit(1)
    await asyncio.sleep(disk.habit("starts_after", 0))
    identity = options.resume or options.session_id or str(uuid.uuid4())
    allowed = [rule for flag in options.allowedTools + options.allowed_tools for rule in flag.split(",") if rule]
    permissions = Permissions(options.permission_mode, allowed, os.getcwd())
    status = Status(identity, exists=options.era != "old" and not options.no_session_persistence)
    session = Session(identity, disk, output, permissions, status, options)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, session.leave, 143)
    loop.add_signal_handler(signal.SIGINT, interrupted, session)

    def read():
        for line in sys.stdin.buffer:
            loop.call_soon_threadsafe(session.take, line)
        loop.call_soon_threadsafe(session.hear_end)
    threading.Thread(target=read, daemon=True).start()
    work = asyncio.create_task(session.work())
    work.add_done_callback(lambda done: done.cancelled() or (done.exception() and fail(session, done.exception())))
    outlives = asyncio.create_task(leave_with(disk.home, session))
    code = await session.ended
    outlives.cancel()
    status.remove()
    output.flush()
    os._exit(code)


def interrupted(session):
    if session.turn:
        session.turn.stop("interrupt")
    asyncio.get_running_loop().call_later(0.1, session.leave, 0)


def fail(session, error):
    """Reports a fault of the double itself, which no client may mistake for a habit."""
    import traceback
    traceback.print_exception(error)
    session.disk.note("violations", "".join(traceback.format_exception(error)))
    session.leave(70)


async def leave_with(home, session):
    """Lets the process outlive its client, but not the test's directory."""
    for _ in range(LONGEST_SECONDS):
        await asyncio.sleep(1)
        if not home.exists():
            break
    session.leave(0)


def main():
    arguments = sys.argv[1:]
    disk = Disk(os.environ["CLAUDE_DOUBLE"])
    disk.note("starts", {"pid": os.getpid(), "arguments": arguments, "environment": sorted(os.environ), "folder": os.getcwd()})
    if arguments[:1] == ["--version"]:
        print(f"{disk.habit('version', VERSION)} (Claude Code)")
    elif arguments[:2] == ["auth", "status"]:
        has_login = not disk.habit("logged_out")
        print(json.dumps({"loggedIn": has_login, "authMethod": "api_key" if has_login else "none", "apiProvider": "firstParty"}))
        sys.exit(0 if has_login else 1)
    else:
        options = options_of(arguments)
        if complaint := refusal(options, disk):
            sys.exit(complaint)
        asyncio.run(serve(options, disk))


if __name__ == "__main__":
    main()
