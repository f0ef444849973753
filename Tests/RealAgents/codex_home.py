"""A home with a configured Codex in it, inside the cell."""

import asyncio
import json
import os
import tempfile
from pathlib import Path

from cell import HOME

CODEX = Path(os.environ.get("REAL_CODEX", "/nowhere"))
CONFIGURATION = """model = "{model}"
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "Scripted"
base_url = "{url}"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 1
stream_max_retries = 2
stream_idle_timeout_ms = 60000
"""


def processes(word):
    """Process ids whose command line has this word, of all that run in the cell."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and word.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return sorted(found)


class CodexHome:
    """`directory` is the home, `project` the workspace, with a few files of a garden."""

    def __init__(self, model_url, model="gpt-5.5", directory=None):
        # Outside of the system's temporary folder, where Codex refuses to make links to its helpers.
        self.directory = directory or Path(tempfile.mkdtemp(prefix="home-", dir=HOME))
        self.project = self.directory / "project"
        (self.project / "packets").mkdir(parents=True)
        for name in "abc":
            (self.project / "packets" / name).touch()
        (self.project / "labels" / "mouldy").mkdir(parents=True)
        self.codex_home = self.directory / ".codex"
        self.codex_home.mkdir()
        self.configure(CONFIGURATION.format(model=model, url=model_url))

    def configure(self, text):
        (self.codex_home / "config.toml").write_text(text)

    @property
    def environment(self):
        """Environment of Codex and the bridge, which passes unknown variables on, such as the key."""
        folders = [CODEX / "bin", CODEX / "codex-path", CODEX / "codex-resources", "/usr/bin", "/bin"]
        return {"PATH": ":".join(map(str, folders)), "HOME": str(self.directory), "CODEX_HOME": str(self.codex_home),
                "SCRIPTED_KEY": "none", "LANG": "C.UTF-8", "TERM": "dumb"}

    def refusals(self):
        """Entries of Codex's records of its threads about refused calls and interrupted turns."""
        found = []
        for path in self.codex_home.rglob("rollout-*.jsonl"):
            for entry in (json.loads(line) for line in path.read_text().splitlines()):
                payload = entry.get("payload") or {}
                kind, item = payload.get("type", ""), payload.get("item") or {}
                if kind == "turn_aborted" or item.get("status") in ("declined", "failed"):
                    found.append(payload)
                elif kind.endswith("_output") and any(word in str(payload).lower() for word in ("reject", "denied", "declined", "aborted")):
                    found.append(payload)
        return found


class AppServer:
    """`codex app-server` on a socket of its own, for tests of Codex without the bridge."""

    def __init__(self, home, name="codex.sock"):
        self.home, self.path = home, home.directory / name

    @property
    def address(self):
        return f"unix://{self.path}"

    async def __aenter__(self):
        await self.start()
        return self

    async def __aexit__(self, *_):
        await self.kill()

    async def start(self):
        await self.spawn()
        async with asyncio.timeout(60):
            while not await self.answers():
                if self.process.returncode is not None:
                    raise AssertionError(f"codex ended with {self.process.returncode}: {self.log()}")
                await asyncio.sleep(0.02)

    async def spawn(self):
        self.process = await asyncio.create_subprocess_exec(
            str(CODEX / "bin" / "codex"), "app-server", "--listen", self.address, "--disable", "goals", cwd=self.home.project,
            env=self.home.environment, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
            stderr=(self.home.directory / "codex.log").open("ab"), start_new_session=True)

    async def answers(self):
        """Whether the server answers: the socket left by a killed one does not."""
        try:
            _, writer = await asyncio.open_unix_connection(os.path.realpath(self.path))
        except OSError:
            return False
        writer.close()
        return True

    async def kill(self):
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()

    def log(self):
        return (self.home.directory / "codex.log").read_text()[-2000:]
