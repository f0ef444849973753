"""Installs the agents, makes the cell, and runs the tests of this folder inside it with the runner of the acceptance tests. `--record`
plays one conversation instead, and turns its recording into the fixture that the tests replay."""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import agents
import cell
from trim import trim

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FIXTURES = ROOT / "Tests" / "Fixtures" / "recordings"
SCREENS = ROOT / "build" / "screens"
PASSED_ON = ("KILLS", "KILL_SEED", "KILL_AFTER", "ACCEPTANCE_PROCESSES", "ACCEPTANCE_PARALLEL", "REWRITE_GOLDENS")


def program():
    named = shlex.split(os.environ.get("SOPHON_BRIDGE", str(ROOT / ".build" / "debug" / "sophon-bridge")))
    if not Path(named[0]).exists():
        sys.exit("real agents: there is no program: run swift build --product sophon-bridge, or set SOPHON_BRIDGE")
    return [str(Path(named[0]).resolve()), *named[1:]]


def libraries(binary):
    """Folders of its shared libraries outside of the system's: those of the Swift runtime, in a debug build."""
    listed = subprocess.run(["ldd", binary], capture_output=True, text=True).stdout
    paths = [line.partition("=> ")[2].split(" ")[0] for line in listed.splitlines() if "=> /" in line]
    return {str(Path(path).parent) for path in paths if path.split("/")[1] not in cell.SYSTEM}


def skip(sentence):
    print(f"skipped real agents  ({sentence})\nreal agents: 0 passed, 0 failed, 1 skipped", flush=True)


def agent_of(file):
    return agents.CLAUDE if file.startswith("test_claude") else agents.CODEX


def chosen(arguments):
    """The test files that the arguments name, all if they name none, and the arguments that name no file."""
    files = sorted(path.stem for path in HERE.glob("test_*.py"))
    named = [file for file in files if file in arguments or file.removeprefix("test_") in arguments]
    words = [word for word in arguments if word not in files and f"test_{word}" not in files]
    return named or files, words


def install(wanted):
    """Folders of the available agents; each missing one is one skipped test."""
    found = {}
    for agent in wanted:
        try:
            found[agent.name] = agents.install(agent)
        except agents.Missing as missing:
            skip(missing)
    return found


def run(bridge, folders, home, *command):
    """Runs a command in a cell with this home to its end, and returns the exit code. `folders` are those of the agents by name."""
    pythons = [folder for folder in (sys.prefix, sys.base_prefix) if folder != "/usr"]
    SCREENS.mkdir(parents=True, exist_ok=True)
    keep = [HERE, ROOT / "Tests" / "Acceptance", ROOT / "Tests" / "Browser", SCREENS, *folders.values(), bridge[0], *pythons, *libraries(bridge[0])]
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ} | {
        "SOPHON_BRIDGE": shlex.join(bridge), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {f"REAL_{name.upper()}": str(folder) for name, folder in folders.items()}
    return cell.run([sys.executable, *map(str, command)], keep=keep, home=home, environment=environment).returncode


def record(bridge, folders, home):
    if code := run(bridge, folders, home, HERE / "record_codex.py", f"{cell.HOME}/recording.jsonl"):
        return code
    FIXTURES.mkdir(exist_ok=True)
    fixture = FIXTURES / "codex.jsonl"
    fixture.write_text(trim((Path(home) / "recording.jsonl").read_text()))
    replayed = subprocess.run([*bridge, "replay", str(fixture), "--expect", str(fixture.with_suffix(".golden")), "--rewrite"])
    print(f"real agents: recorded {agents.CODEX.version}; read the difference: git diff {FIXTURES.relative_to(ROOT)}")
    return replayed.returncode


def main(arguments):
    bridge = program()
    if refusal := cell.refusal():
        return skip(refusal)
    is_recording = arguments == ["--record"]
    files, words = (["test_codex"], []) if is_recording else chosen(arguments)
    folders = install([agent for agent in (agents.CODEX, agents.CLAUDE) if agent in map(agent_of, files)])
    files = [file for file in files if agent_of(file).name in folders]
    if not files:
        return 0
    with tempfile.TemporaryDirectory(prefix="real-agents-") as home:
        if is_recording:
            return record(bridge, folders, home)
        return run(bridge, folders, home, ROOT / "Tests" / "Acceptance" / "runner.py", "--in", HERE, *files, *words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
