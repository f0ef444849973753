"""A bare client of Claude Code over its standard streams, of the scripted program or the real one, independent of the bridge."""

import asyncio
import itertools
import json
import os
import signal
import sys
import uuid
from pathlib import Path

from .frame_client import FrameClient

FLAGS = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
         "--permission-prompt-tool", "stdio"]
LONGEST_LINE = 64 << 20
PARENT = Path(__file__).resolve().parent / "claude_parent.py"


class ClaudeClient(FrameClient):
    """`async with ClaudeClient(command, folder, environment, "--session-id=…") as client`; `client.frames` holds all received frames, and
    `take` reads on behind the last one that it found. With `has_parent` a process of its own holds the pipes, which can be killed."""

    def __init__(self, command, folder, environment, *flags, mode="default", greets=True, has_parent=False):
        super().__init__()
        modes = [f"--permission-mode={mode}"] if mode else []
        self.command = [*command, *FLAGS, *modes, *flags]
        self.folder, self.environment, self.greets, self.has_parent = folder, environment, greets, has_parent
        self.numbers, self.cursor, self.stderr, self.lines = itertools.count(1), 0, b"", []

    async def __aenter__(self):
        command = [sys.executable, str(PARENT), *self.command] if self.has_parent else self.command
        self.process = await asyncio.create_subprocess_exec(
            *command, cwd=self.folder, env=self.environment, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, limit=LONGEST_LINE, start_new_session=True)
        self.pid = self.process.pid
        self._readers = [asyncio.create_task(self._read()), asyncio.create_task(self._read_errors())]
        if self.has_parent:
            self.pid = (await self.take(lambda frame: "child" in frame))["child"]
        if self.greets:
            self.greeting = await self.control("initialize", hooks=None)
        return self

    async def __aexit__(self, *_):
        for pid in {self.process.pid, self.pid}:
            try:
                os.killpg(pid, signal.SIGKILL)
            except OSError:
                pass
        await self.process.wait()
        for reader in self._readers:
            reader.cancel()

    async def _read(self):
        try:
            while line := await self.process.stdout.readline():
                async with self._came:
                    try:
                        self.frames.append(json.loads(line))
                    except ValueError:
                        self.lines.append(line)
                    self._came.notify_all()
        finally:
            async with self._came:
                self._came.notify_all()

    async def _read_errors(self):
        while line := await self.process.stderr.readline():
            self.stderr += line

    # Sending

    async def send(self, frame):
        await self.send_line(json.dumps(frame))

    async def send_line(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        await self.process.stdin.drain()

    async def user(self, text, key=None, **more):
        """Sends a prompt, and returns its uuid."""
        key = key or str(uuid.uuid4())
        await self.send({"type": "user", "uuid": key, "message": {"role": "user", "content": text}, "parent_tool_use_id": None,
                         "session_id": ""} | more)
        return key

    async def begin(self, subtype, **fields):
        """Sends a control request, and returns its id."""
        name = f"req-{next(self.numbers)}"
        await self.send({"type": "control_request", "request_id": name, "request": {"subtype": subtype} | fields})
        return name

    async def reply(self, name):
        frame = await self.until(lambda frame: frame.get("type") == "control_response" and frame["response"]["request_id"] == name)
        return frame["response"]

    async def control(self, subtype, **fields):
        """Sends a control request, and returns the answer, or the whole refusal."""
        response = await self.reply(await self.begin(subtype, **fields))
        return response.get("response") if response["subtype"] == "success" else response

    async def answer(self, request, **response):
        await self.send({"type": "control_response", "response": {"subtype": "success", "request_id": request["request_id"],
                                                                  "response": response}})

    async def allow(self, request, input=None, **more):
        await self.answer(request, behavior="allow", updatedInput=request["request"]["input"] if input is None else input, **more)

    async def deny(self, request, words, **more):
        await self.answer(request, behavior="deny", message=words, **more)

    # Waiting

    async def take(self, wanted, seconds=30):
        """The next wanted frame behind the last one taken."""
        frame = await self.until(wanted, self.cursor, seconds)
        self.cursor += next(index for index, entry in enumerate(self.frames[self.cursor:]) if entry is frame) + 1
        return frame

    async def result(self, seconds=30):
        return await self.take(lambda frame: frame.get("type") == "result", seconds)

    async def asked(self, seconds=30):
        return await self.take(lambda frame: is_ask(frame), seconds)

    async def words(self):
        """The next streamed piece of text."""
        return await self.take(lambda frame: delta(frame) is not None)

    async def called(self):
        """The next call of a tool."""
        return await self.take(lambda frame: block(frame).get("type") == "tool_use")

    async def lifecycle(self, key, state):
        """A prompt's lifecycle frame, received at any time: a prompt has each of its states once."""
        return await self.until(lambda frame: (frame.get("command_uuid"), frame.get("state")) == (key, state))

    async def run(self, text, **options):
        """Runs a turn from its prompt to its result, and allows everything."""
        await self.user(text, **options)
        while True:
            frame = await self.take(lambda frame: frame.get("type") == "result" or is_ask(frame))
            if frame["type"] == "result":
                return frame
            await self.allow(frame)

    # Ends

    async def close(self):
        """Ends the input, and returns the exit code."""
        self.process.stdin.close()
        return await self.exit()

    async def exit(self, seconds=30):
        """The exit code, once all output has been read."""
        code = await asyncio.wait_for(self.process.wait(), seconds)
        await asyncio.wait_for(self._readers[0], seconds)
        await asyncio.wait_for(self._readers[1], seconds)
        return code

    def kill(self):
        """Kills the process and its children."""
        os.killpg(self.process.pid, signal.SIGKILL)

    # Received frames

    def came(self, kind, subtype=None, since=0):
        return [frame for frame in self.frames[since:] if frame.get("type") == kind and subtype in (None, frame.get("subtype"))]

    def texts(self, since=0):
        """Finished texts of the main thread."""
        return [block(frame)["text"] for frame in self.frames[since:]
                if block(frame).get("type") == "text" and not frame.get("parent_tool_use_id")]

    def streamed(self, since=0):
        return "".join(delta(frame) or "" for frame in self.frames[since:])

    def results_of_calls(self, since=0):
        """Blocks of results of calls, each with its frame."""
        return [(entry, frame) for frame in self.came("user", since=since) if isinstance(frame["message"]["content"], list)
                for entry in frame["message"]["content"] if entry["type"] == "tool_result"]

    def fates(self, key):
        return [frame["state"] for frame in self.frames if frame.get("type") == "command_lifecycle" and frame["command_uuid"] == key]

    def shown(self, frame):
        event = frame.get("event", {}).get("type")
        return " ".join(str(word) for word in (frame.get("type"), frame.get("subtype"), frame.get("state"), event, block(frame).get("type")) if word)


def kind(frame):
    """The frame's kind, which determines its fields."""
    content = frame.get("message", {}).get("content")
    part = content[0] if isinstance(content, list) else {"type": "words"} if content else {}
    marks = [name for name in ("error", "aborted", "local_command_source", "isSynthetic") if frame.get(name)]
    helper = "helper" if frame.get("parent_tool_use_id") else None
    asked = frame.get("request", {}).get("subtype")
    failed = "failed" if part.get("is_error") else None
    return " ".join(filter(None, (frame.get("type"), frame.get("subtype"), frame.get("event", {}).get("type"), part.get("type"), failed, helper, asked, *marks)))


def fields(frame):
    """Names of the frame's fields, and of the parts that a client reads."""
    found = set(frame)
    for name, inner in (("request", frame.get("request")), ("message", frame.get("message")), ("info", frame.get("rate_limit_info"))):
        found |= {f"{name}.{key}" for key in inner or {}}
    content = frame.get("message", {}).get("content")
    if frame.get("type") == "user" and isinstance(content, list):
        found |= {f"block.{key}" for key in content[0]}
    for entry in frame.get("tool_result_meta", []):
        found |= {f"meta.{key}" for key in entry}
    return found


def is_ask(frame):
    return frame.get("type") == "control_request" and frame["request"]["subtype"] == "can_use_tool"


def block(frame):
    """The one block of an `assistant` frame."""
    return frame["message"]["content"][0] if frame.get("type") == "assistant" else {}


def delta(frame):
    return frame["event"].get("delta", {}).get("text") if frame.get("type") == "stream_event" else None
