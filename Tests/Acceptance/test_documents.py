"""Checks the commands in README and docs: those of the program against its declarations, and by running the ones that can run alone; those
of `make`, of scripts and of tests by the existence of their names.

A command is a line of a block without a language, or of `sh`, or a piece in backticks. The program's name may be missing if more than the
command's name is there. Capitals (`ID`, `NUMBER`) and `…` are for the reader to fill in. docs/SIMULATOR.md has a test of its own,
test_simulator_docs."""

import json
import os
import re
import shlex
import tempfile
import unittest
from pathlib import Path

from commands import once
from harness import HERE
from scheduling import Scenarios, scenario

ROOT = HERE.parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md",
             *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.name != "SIMULATOR.md")]
PROGRAMS = ("sophon-bridge", ".build/debug/sophon-bridge")
RUNNERS = ("Tests/Acceptance/run", "Tests/RealAgents/run", "Tests/Browser/run")
# Commands run verbatim in an empty home, with their exit codes.
ALONE = {
    ("config", "check"): 0, ("config", "show"): 0, ("config", "example"): 0, ("status",): 0, ("journal", "verify"): 1,
    ("journal", "inspect"): 1, ("journal", "export"): 1, ("devices", "list"): 0, ("--version",): 0, ("--help",): 0, ("status", "--healthy"): 1,
}
# All other commands need a phone, a relay, an agent, systemd or unlimited time: only their words and options are checked.
OTHERS = {
    "claude": "an agent's own program", "codex": "an agent's own program", "openclaw": "an agent's own program",
    "docker": "there is no engine where tests run", "systemctl": "the system's", "loginctl": "the system's", "timedatectl": "the system's",
    "kill": "the shell's", "chown": "the system's", "ulimit": "the shell's", "ldd": "the system's", "pip": "a download", "git": "reads the history",
}
BEGINNINGS = (*PROGRAMS, *RUNNERS, "make", "swift", "scripts/")


def pieces(text):
    """All code: blocks line by line, then pieces in backticks."""
    blocks = re.findall(r"^```(?:sh)?\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    rest = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines()] + re.findall(r"`([^`\n]+)`", rest)


def commands(text, names=()):
    """Each command as words, without leading variables and comments; `&&` and `;` begin another. `names` are the program's commands."""
    for piece in pieces(text):
        try:
            words = shlex.split(piece.replace("\\|", "|"), comments=True)
        except ValueError:
            continue
        for line in split(words, ("&&", ";", "|")):
            while line and re.fullmatch(r"[A-Z][A-Z0-9_]*=.*", line[0]):
                line.pop(0)
            if line and (line[0] in (*PROGRAMS, *RUNNERS, "make", "swift") or re.fullmatch(r"scripts/[\w-]+", line[0])):
                redirected = next((at for at, word in enumerate(line) if re.match(r"[12]?>", word)), len(line))
                yield line[:redirected]
                if line[:2] == ["make", "run"]:
                    yield [PROGRAMS[0], *shlex.split(line[2].removeprefix("ARGS="))] if line[2:] else [PROGRAMS[0]]
            elif len(line) > 1 and line[0] in names:
                yield [PROGRAMS[0], *line]


def split(words, marks):
    line = []
    for word in words:
        ends = word in marks or word.endswith(";")
        if not ends or word.endswith(";") and word != ";":
            line.append(word.rstrip(";") if ends else word)
        if ends:
            yield line
            line = []
    yield line


def found(names=()):
    return [(path, words) for path in DOCUMENTS for words in commands(path.read_text(), names)]


class DocumentTests(Scenarios):
    def faults(self, check, names):
        faults = []
        for path, words in found():
            if words[0] in names or any(name.endswith("/") and words[0].startswith(name) for name in names):
                problem = check(words)
                if problem:
                    faults.append(f"{path.relative_to(ROOT)}: {' '.join(words)}: {problem}")
        return faults

    def test_targets_of_make_are_there(self):
        targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        self.assertGreater(len(targets), 15)
        def check(words):
            named = [word for word in words[1:] if re.fullmatch(r"[a-z-]+", word)]
            return ", ".join(f"no target {name}" for name in named if name not in targets)
        self.assertEqual(self.faults(check, ("make",)), [])

    def test_scripts_and_what_tests_are_asked_for_are_there(self):
        suites = "\n".join(path.read_text() for path in (ROOT / "Tests").rglob("*.swift"))
        def check(words):
            if words[0].startswith("scripts/"):
                return None if os.access(ROOT / words[0], os.X_OK) else "no such script"
            if words[0] == "swift":
                names = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "--filter"]
                return ", ".join(f"no test has {name}" for name in names if name not in suites and not (ROOT / "Tests" / name).is_dir())
            folder = (ROOT / words[0]).parent
            tests = "\n".join([file.stem + "\n" + file.read_text() for file in folder.glob("test_*.py")])
            return ", ".join(f"no test has {word}" for word in words[1:] if not word.startswith("-") and word not in tests)
        self.assertEqual(self.faults(check, (*RUNNERS, "swift", "scripts/")), [])

    @scenario(300)
    async def test_commands_of_the_program_are_as_its_declarations_say(self):
        faults, judged = [], {}
        with tempfile.TemporaryDirectory(prefix="documents-") as directory:
            listed = (await once("--help", directory=directory)).out.split("\n\n")[2]
            names = [line.split()[0] for line in listed.splitlines()]
            self.assertLessEqual({"run", "journal"}, set(names))
            ours = [(path, words[1:]) for path, words in found(names) if words[0] in PROGRAMS]
            self.assertGreater(len(ours), 100)
            for path, words in ours:
                words = tuple("1" if word in ("…", "...") else word for word in words)
                if words not in judged:
                    judged[words] = await self.fault(words, directory)
                if judged[words]:
                    faults.append(f"{path.relative_to(ROOT)}: sophon-bridge {' '.join(words)}: {judged[words]}")
        self.assertEqual(faults, [])
        self.assertEqual(set(ALONE) - set(judged), set(), "every command that is said to run alone stands in a document")

    async def fault(self, words, directory):
        if not words:
            return None
        if words in ALONE:
            left = await once(*words, directory=directory)
            if left.code != ALONE[words]:
                return f"it leaves with {left.code}: {left.err}"
        usage = await once(*words[:1], "--help", directory=directory)
        if usage.code:
            return usage.err
        if words[0].startswith("-"):
            return None
        # `--help` comes last, so that each option is parsed first.
        judged = await once(*words, "--help", directory=directory)
        # An option that is only mentioned needs no value.
        if judged.code and not (words[-1].startswith("--") and f"{words[-1]} needs a value" in judged.err):
            return judged.err
        operands = usage.out.splitlines()[0].split()[3]
        if "|" in operands and len(words) > 1 and words[1] not in operands.split("|"):
            return f"it has {operands}"
        return None

    @scenario(60)
    async def test_configurations_of_the_documents_have_no_fault(self):
        checked = 0
        with tempfile.TemporaryDirectory(prefix="documents-") as directory:
            for path in DOCUMENTS:
                for block in re.findall(r"^```(?:json)?\n([{\"].*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE):
                    if not re.match(r'\{"connections"|"(workspaces|notify|severity)"', block):
                        continue
                    text = block if block.startswith("{") else "{" + block + "}"
                    if block.startswith('"severity"'):
                        text = json.dumps({"connections": [json.loads(text)]})
                    file = Path(directory, "bridge.json")
                    file.write_text(text.replace('"@/etc/sophon/ntfy-token"', '"secret"'))
                    outcome = await once("config", "check", "--config", str(file), directory=directory)
                    self.assertEqual(outcome.code, 0, f"{path.name}: {text}\n{outcome.err}")
                    checked += 1
        self.assertGreaterEqual(checked, 4)

    def test_all_that_looks_like_a_command_is_ours_or_known_as_anothers(self):
        unknown = set()
        for path in DOCUMENTS:
            for block in re.findall(r"^```sh\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE):
                for line in block.splitlines():
                    words = shlex.split(line, comments=True)
                    while words and re.fullmatch(r"[A-Z][A-Z0-9_]*=.*", words[0]):
                        words.pop(0)
                    if words and words[0] not in OTHERS and not words[0].startswith(BEGINNINGS):
                        unknown.add(f"{path.name}: {line}")
        self.assertEqual(unknown, set())


if __name__ == "__main__":
    unittest.main()
