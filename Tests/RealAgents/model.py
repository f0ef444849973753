"""A scripted model for real agents: the Responses API of OpenAI over server-sent events, on loopback.

A plan is chosen by words of a person's newest message; each request of that message plays the plan's next reply, and repeats the last one.
A reply is a list of the steps below."""

import asyncio
import json
from dataclasses import dataclass, field

USAGE = (1200, 400, 40, 10)
"""Usage of each reply: input, cached part of it, output, reasoning part of it."""


@dataclass
class Say:
    """A streamed message. `is_whole` False omits its end."""
    text: str
    phase: str = "final_answer"
    piece: int = 6
    every: float = 0.01
    is_whole: bool = True


@dataclass
class Think:
    """A summary of reasoning, streamed."""
    text: str


@dataclass
class Command:
    """A command. `asks` is the model's question to leave the sandbox."""
    command: str
    asks: str | None = None
    more: dict = field(default_factory=dict)


@dataclass
class Patch:
    text: str


@dataclass
class Hold:
    """Waits until the test calls `release(name)`."""
    name: str


@dataclass
class Refuse:
    """An HTTP error in place of a stream: the only step of its reply."""
    status: int
    message: str
    kind: str = "server_error"


@dataclass
class Failed:
    """The stream reports a failed response."""
    code: str
    message: str


@dataclass
class Break:
    """The stream stops without its final event."""


def person_said(body):
    """The newest message of a person. An agent also sends its own additions as the user's messages, inside tags."""
    for item in reversed(body.get("input") or []):
        if item.get("type", "message") != "message" or item.get("role") != "user":
            continue
        content = item.get("content")
        text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])
        if not (text.lstrip().startswith("<") and text.rstrip().endswith(">")):
            return text
    return ""


def offered(body):
    """Tools of a request by name, those inside of groups included."""
    found, waiting = {}, list(body.get("tools") or [])
    waiting += [tool for item in body.get("input") or [] if item.get("type") == "additional_tools" for tool in item["tools"]]
    while waiting:
        tool = waiting.pop()
        found[tool.get("name", tool.get("type"))] = tool
        waiting += tool.get("tools") or []
    return found


def call_of(step, tools):
    """Name of the tool, and its input: a dictionary for a function, text for a custom tool."""
    asks = {"sandbox_permissions": "require_escalated", "justification": step.asks} if getattr(step, "asks", None) else {}
    arguments = {"cmd": step.command} | asks | step.more if isinstance(step, Command) else None
    if tools.get("exec", {}).get("type") == "custom":
        # Models in code mode get one tool that runs JavaScript; the others are functions in it.
        if arguments is None:
            return "exec", f"text(await tools.apply_patch({json.dumps(step.text)}));"
        return "exec", f"const done = await tools.exec_command({json.dumps(arguments)}); text(done.output);"
    return ("apply_patch", step.text) if arguments is None else ("exec_command", arguments)


class Stream:
    """The events of one reply."""

    def __init__(self, model, writer, body):
        self.model, self.writer, self.tools = model, writer, offered(body)
        self.sent = self.items = 0

    async def event(self, kind, **fields):
        data = json.dumps({"type": kind, "sequence_number": self.sent} | fields)
        self.sent += 1
        self.writer.write(f"event: {kind}\ndata: {data}\n\n".encode())
        await self.writer.drain()

    async def respond(self, steps):
        self.writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        await self.play(steps)

    async def play(self, steps):
        response = {"id": self.model.identity("resp"), "status": "in_progress"}
        await self.event("response.created", response=response)
        for step in steps:
            match step:
                case Hold():
                    await self.model.gate(step.name).wait()
                case Say():
                    await self.say(step)
                case Think():
                    await self.think(step)
                case Failed():
                    error = {"code": step.code, "message": step.message}
                    return await self.event("response.failed", response=response | {"status": "failed", "error": error})
                case Break():
                    return
                case _:
                    await self.call(step)
        taken, cached, given, reasoning = USAGE
        await self.event("response.completed", response=response | {"status": "completed", "usage": {
            "input_tokens": taken, "input_tokens_details": {"cached_tokens": cached}, "output_tokens": given,
            "output_tokens_details": {"reasoning_tokens": reasoning}, "total_tokens": taken + given}})

    async def begin(self, item):
        self.items += 1
        await self.event("response.output_item.added", output_index=self.items - 1, item=item)

    async def end(self, item):
        await self.event("response.output_item.done", output_index=self.items - 1, item=item)

    async def pieces(self, kind, identity, text, size=6, every=0.0, **place):
        for start in range(0, len(text), size):
            await asyncio.sleep(every)
            await self.event(kind, item_id=identity, output_index=self.items - 1, delta=text[start:start + size], **place)

    async def say(self, step):
        item = {"type": "message", "id": self.model.identity("msg"), "role": "assistant", "phase": step.phase}
        await self.begin(item | {"status": "in_progress", "content": []})
        await self.pieces("response.output_text.delta", item["id"], step.text, step.piece, step.every, content_index=0)
        if step.is_whole:
            content = [{"type": "output_text", "text": step.text, "annotations": []}]
            await self.end(item | {"status": "completed", "content": content})

    async def think(self, step):
        item = {"type": "reasoning", "id": self.model.identity("rs")}
        await self.begin(item | {"summary": []})
        part = {"type": "summary_text", "text": ""}
        await self.event("response.reasoning_summary_part.added", item_id=item["id"], output_index=self.items - 1,
                         summary_index=0, part=part)
        await self.pieces("response.reasoning_summary_text.delta", item["id"], step.text, summary_index=0)
        await self.end(item | {"summary": [part | {"text": step.text}], "encrypted_content": "AAAA"})

    async def call(self, step):
        name, given = call_of(step, self.tools)
        call = {"call_id": self.model.identity("call"), "name": name}
        if isinstance(given, str):
            item, text, field = call | {"type": "custom_tool_call", "id": self.model.identity("ctc")}, given, "input"
            delta = "response.custom_tool_call_input.delta"
        else:
            item, text = call | {"type": "function_call", "id": self.model.identity("fc")}, json.dumps(given)
            field, delta = "arguments", "response.function_call_arguments.delta"
        await self.begin(item | {field: ""})
        await self.event(delta, item_id=item["id"], output_index=self.items - 1, delta=text)
        await self.end(item | {field: text, "status": "completed"})


class Model:
    path = "/responses"
    stream = Stream

    def __init__(self):
        self.plans, self.gates, self.serial = [], {}, 0
        self.asked = []
        """Each answered request: the person's text and the whole body."""

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self.server.close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    def plan(self, match, *replies):
        self.plans.insert(0, (match, replies))

    def gate(self, name):
        return self.gates.setdefault(name, asyncio.Event())

    def release(self, name):
        self.gate(name).set()

    def identity(self, prefix):
        self.serial += 1
        return f"{prefix}_{self.serial:05}"

    def texts(self):
        return [text for text, _ in self.asked]

    def reply(self, body):
        text = person_said(body)
        before = self.texts().count(text)
        self.asked.append((text, body))
        replies = next((replies for match, replies in self.plans if match in text), ([Say("Understood.")],))
        return replies[min(before, len(replies) - 1)]

    async def serve(self, reader, writer):
        try:
            while await self.answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def answer(self, reader, writer):
        """Answers one request. Returns whether the connection is kept."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        path = path.partition("?")[0]
        if method == "GET" and path.endswith("/models"):
            return await self.whole(writer, 200, {"object": "list", "data": [], "models": []})
        if method != "POST" or not path.endswith(self.path):
            return await self.elsewhere(writer, method, path)
        body = json.loads(raw)
        steps = self.reply(body)
        if isinstance(steps[0], Refuse):
            return await self.refuse(writer, steps[0])
        await self.stream(self, writer, body).respond(steps)
        return False

    async def elsewhere(self, writer, method, path):
        return await self.whole(writer, 404, {"error": {"message": "there is nothing here"}})

    async def refuse(self, writer, step):
        return await self.whole(writer, step.status, {"error": {"message": step.message, "type": step.kind}})

    @staticmethod
    async def whole(writer, status, body, **headers):
        raw = json.dumps(body).encode()
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\n{more}content-length: {len(raw)}\r\n\r\n".encode() + raw)
        await writer.drain()
        return True
