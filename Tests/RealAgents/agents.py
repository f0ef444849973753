"""Real agents for the tests: pinned packages of PyPI, unpacked into a cache that outlives the clone.

`install(agent)` returns the folder, or raises `Missing` with a sentence that gives the reason. `CODEX_VERSION` and `CLAUDE_SDK_VERSION`
select other versions than the pinned ones."""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOWNLOAD_SECONDS = 300


class Missing(Exception):
    """Raised with a sentence that says why there is no agent."""


@dataclass
class Agent:
    name: str
    package: str
    version: str
    pinned: str
    folder: str
    """Folder within the package."""
    programs: tuple
    """Programs under the folder, which must be executable."""
    digests: dict
    """SHA-256 of the wheel of the pinned version, by machine."""
    megabytes: tuple
    """Size downloaded and unpacked."""
    is_shared: bool = True
    """Whether clones share it, in the user's cache; otherwise it is in the clone's."""

    @property
    def place(self):
        return f"{self.name}-{self.version}"


def version(variable, pinned):
    return os.environ.get(variable, pinned), pinned


CODEX = Agent(
    "codex", "openai-codex-cli-bin", *version("CODEX_VERSION", "0.163.0"), "codex_cli_bin",
    ("bin/codex", "bin/codex-code-mode-host", "codex-path/rg", "codex-resources/bwrap"),
    {"x86_64": "76db41fb07fdf9ddacbe892b48d21dfde270031ec0f5666b5e558114355f006d",
     "aarch64": "bb2b0d117eeb02608738cf2bcdf51f6a036343d0028272e11a94e72b0d23b141"}, (142, 377))
# The SDK's wheel contains the program; nothing else of it is unpacked.
CLAUDE = Agent(
    "claude", "claude-agent-sdk", *version("CLAUDE_SDK_VERSION", "0.2.184"), "claude_agent_sdk/_bundled", ("claude",),
    {"x86_64": "40509cadce72d62ded6c3ed831bbcffbff1a7fed8a19cfe1670b3a55418ed089",
     "aarch64": "fdf8e7be4b65f30263724bd516b1147c609127ea3fec96b510c275d111a1686e"}, (165, 373), is_shared=False)


def caches(agent):
    """Folders that may contain an agent, the preferred one first."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    shared = [Path(home) / "sophon-bridge" / "agents"] if agent.is_shared else []
    return [*shared, ROOT / ".build" / "agents"]


def installed(agent):
    """The agent's folder if it is complete: the final rename comes last."""
    return next((place / agent.place for place in caches(agent) if (place / agent.place / agent.programs[0]).exists()), None)


def install(agent, say=lambda line: print(line, flush=True)):
    """Returns the folder of the agent, which the first call downloads."""
    if found := installed(agent):
        return found
    if platform.machine() not in agent.digests or sys.platform != "linux":
        raise Missing(f"there is no {agent.name} for {sys.platform} on {platform.machine()}")
    place = writable(agent)
    say(f"real agents: downloading {agent.package} {agent.version} from PyPI into {place}: "
        f"{agent.megabytes[0]} MB, unpacked {agent.megabytes[1]} MB")
    with tempfile.TemporaryDirectory(dir=place, prefix="download-") as scratch:
        wheel = download(agent, Path(scratch))
        check(agent, wheel, say)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(scratch, [name for name in archive.namelist() if name.startswith(agent.folder + "/")])
        wheel.unlink()
        unpacked = Path(scratch) / agent.folder
        for program in agent.programs:
            if (unpacked / program).exists():
                (unpacked / program).chmod(0o755)
        try:
            unpacked.rename(place / agent.place)
        except OSError:
            # Another run was faster, or a partial folder of an older attempt is there.
            if not installed(agent):
                shutil.rmtree(place / agent.place, ignore_errors=True)
                unpacked.rename(place / agent.place)
    return place / agent.place


def writable(agent):
    for place in caches(agent):
        try:
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place):
                return place
        except OSError:
            continue
    raise Missing(f"no agent can be kept: {', '.join(map(str, caches(agent)))} cannot be written")


def download(agent, scratch):
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-input",
               "--only-binary=:all:", "--retries", "1", "--timeout", "15", "--dest", str(scratch), f"{agent.package}=={agent.version}"]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS)
    except subprocess.TimeoutExpired:
        raise Missing(f"{agent.package} {agent.version} had not come from PyPI after {DOWNLOAD_SECONDS} s") from None
    if ended.returncode != 0:
        lines = [line for line in ended.stderr.splitlines() if line.strip()] or ["pip gave no reason"]
        raise Missing(f"{agent.package} {agent.version} cannot be had from PyPI: {lines[-1].strip()}")
    return next(scratch.glob("*.whl"))


def check(agent, wheel, say):
    if agent.version != agent.pinned:
        return say(f"real agents: {agent.version} is not the pinned version, its checksum is not known here")
    with wheel.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest != agent.digests[platform.machine()]:
        # A failure and no skip: the download is not the reviewed file.
        sys.exit(f"real agents: {wheel.name} has another checksum than the pinned one: {digest}")


if __name__ == "__main__":
    for known in (CODEX, CLAUDE):
        print(install(known))
