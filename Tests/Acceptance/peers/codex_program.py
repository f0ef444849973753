"""A stand-in for the program `codex`: `--version`, and `app-server --listen ADDRESS`. `CODEX_DOUBLE` names its directory
(`codex_disk.py`); its habits are in `plans.json` there."""

import argparse
import asyncio
import contextlib
import fcntl
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from peers.codex_disk import Disk  # noqa: E402
from peers.codex_server import VERSION, CodexServer  # noqa: E402

LONGEST_SECONDS = 900


async def serve(options, disk):
    with first_start(disk):
        await asyncio.sleep(disk.habit("first_start_takes", 0))
    await asyncio.sleep(disk.habit("starts_after", 0))
    if disk.habit("never_listens"):
        await asyncio.Event().wait()
    if options.listen == "stdio://":
        return await CodexServer(disk.home, has_goals="goals" not in options.disable).serve_stdio()
    token = Path(options.ws_token_file).read_text().strip() if options.ws_token_file else None
    server = CodexServer(disk.home, has_goals="goals" not in options.disable, token=token)
    await server.listen(options.listen)
    ended = asyncio.Event()
    terms = []

    def on_term():
        terms.append(1)
        if len(terms) == 1:
            asyncio.ensure_future(server.drain()).add_done_callback(lambda _: ended.set())
        else:
            ended.set()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, on_term)
    # SIGINT ends the process at once, by the signal.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    print(server.address, flush=True)
    for _ in range(disk.habit("floods_megabytes", 0)):
        sys.stderr.write("it never ends\n" * 75_000)
        sys.stderr.flush()
        await asyncio.sleep(0)
    orphaned = asyncio.ensure_future(leave_with(disk.home, ended))
    await ended.wait()
    orphaned.cancel()
    if server.path:
        server.path.unlink(missing_ok=True)


@contextlib.contextmanager
def first_start(disk):
    """Lets one of several first starts with the same home live, and ends the others."""
    begun = disk.home / "begun"
    if begun.exists():
        yield
        return
    with (disk.home / "begins").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            disk.note("clashes", {"pid": os.getpid(), "arguments": sys.argv[1:]})
            sys.exit("Error: failed to initialise the state database: database is locked")
        yield
        begun.touch()


async def leave_with(home, ended):
    """Lets the process outlive its bridge, but not the test's directory."""
    begun = time.monotonic()
    while home.exists() and time.monotonic() - begun < LONGEST_SECONDS:
        await asyncio.sleep(1)
    ended.set()


def main():
    disk = Disk(os.environ["CODEX_DOUBLE"])
    disk.note("starts", {"pid": os.getpid(), "arguments": sys.argv[1:], "environment": sorted(os.environ), "cwd": os.getcwd()})
    if "--version" in sys.argv[1:]:
        print(f"codex-cli {disk.habit('version', VERSION)}")
        return
    if complaint := disk.habit("start_error"):
        sys.exit(complaint)
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["app-server"])
    parser.add_argument("--listen", default="stdio://")
    parser.add_argument("--disable", action="append", default=[])
    parser.add_argument("--enable", action="append", default=[])
    parser.add_argument("-c", "--config", action="append", default=[])
    parser.add_argument("--ws-auth")
    parser.add_argument("--ws-token-file")
    options = parser.parse_args()
    asyncio.run(serve(options, disk))


if __name__ == "__main__":
    main()
