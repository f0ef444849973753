"""Effects of the calls of a scripted Claude Code. Write and Edit change files. The shell runs only harmless commands below the folder, in a
real shell that outlives a killed parent; other commands are only logged, and return the output of their step."""

import asyncio
import contextlib
import os
import re
import signal
from pathlib import Path

WORD = r"(?!/|\S*\.\./)[\w./-]+"
PIECE = re.compile(rf"until \[ -e {WORD} \]|do sleep [\d.]+|done|sleep [\d.]+|echo(?: [\w.-]+)*(?: >> {WORD})?|touch(?: {WORD})+|"
                   rf"rm(?: -[rf]+)?(?: {WORD})+|mkdir(?: -p)?(?: {WORD})+|ls(?: {WORD})*|cat {WORD}|pwd|true|false")
LONGEST = 30_000
NO_OUTPUT = "(Bash completed with no output)"


class ToolError(Exception):
    """A failed call, with the text that the model reads."""


def is_harmless(command):
    return all(PIECE.fullmatch(piece.strip()) for piece in re.split(r"&&|;", command))


class Shell:
    """A running command."""

    def __init__(self, command, step):
        self.command, self.step, self.process = command, step, None

    async def run(self):
        """Runs the command, and returns its output and exit code."""
        if self.step.seconds:
            await asyncio.sleep(self.step.seconds)
        if not is_harmless(self.command):
            return self.step.output, 1 if self.step.failed else 0
        self.process = await asyncio.create_subprocess_exec(
            "/bin/sh", "-c", self.command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
        try:
            output, _ = await self.process.communicate()
        except asyncio.CancelledError:
            self.kill()
            raise
        return output.decode(errors="replace").rstrip("\n"), self.process.returncode

    def kill(self):
        if self.process and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGKILL)


def normalised(name, given):
    """The input as it appears in frames, with added keys. A question has them in another order."""
    return {"replace_all": False} | given if name == "Edit" else given


def check(name, given):
    """Raises faults that are found before anybody is asked."""
    path = Path(given.get("file_path", ""))
    if name != "Edit" or not path.exists():
        return
    count = path.read_text().count(given["old_string"])
    if not count:
        raise ToolError(f"<tool_use_error>String to replace not found in file.\nString: {given['old_string']}</tool_use_error>")
    if count > 1 and not given.get("replace_all"):
        raise ToolError(f"<tool_use_error>Found {count} matches of the string to replace, but replace_all is false.</tool_use_error>")


def patch(path, old, new):
    lines = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
    return [{"oldStart": 1, "oldLines": len(old.splitlines()), "newStart": 1, "newLines": len(new.splitlines()), "lines": lines}]


async def perform(step, given):
    """Text for the model, and `tool_use_result` (None to send none)."""
    name = step.name
    if name == "Bash":
        output, code = await Shell(given.get("command", ""), step).run()
        if code:
            raise ToolError(f"Exit code {code}" + (f"\n{output}" if output else ""))
        more = {"persistedOutputPath": "/home/ada/claude/output.txt"} if len(output) > LONGEST else {}
        said = {"stdout": output[:LONGEST], "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
        return output[:LONGEST] or NO_OUTPUT, said | more
    if step.seconds:
        await asyncio.sleep(step.seconds)
    if name in ("Write", "Edit"):
        return change(name, given)
    if name == "Read":
        path = Path(given.get("file_path", ""))
        if not path.is_file():
            raise ToolError(f"File does not exist. Note: your current working directory is {os.getcwd()}.")
        return path.read_text(errors="replace")[:LONGEST], {"type": "text"}
    if step.failed:
        raise ToolError(step.output)
    return step.output, None


def change(name, given):
    path = Path(given["file_path"])
    before = path.read_text() if path.exists() else None
    if name == "Write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(given["content"])
        kind, after = "create" if before is None else "update", given["content"]
        words = f"File created successfully at: {path}" if before is None else f"The file {path} has been updated successfully."
        return words, {"type": kind, "filePath": str(path), "content": after, "originalFile": before,
                                                          "structuredPatch": [] if before is None else patch(path, before, after)}
    if before is None:
        raise ToolError("File does not exist.")
    after = before.replace(given["old_string"], given["new_string"], -1 if given.get("replace_all") else 1)
    path.write_text(after)
    return f"The file {path} has been updated successfully.", {
        "filePath": str(path), "oldString": given["old_string"], "newString": given["new_string"], "originalFile": before,
        "structuredPatch": patch(path, before, after), "replaceAll": bool(given.get("replace_all"))}
