"""A scripted model for Claude Code: the Messages API of Anthropic over server-sent events, on loopback.

Plans and steps are those of `model.py`, with `Call` for a call of any tool. `replies` converts turns of the scripted Claude Code
(`peers/claude_steps.py`) to a plan's replies."""

import asyncio
import json
import socket
import struct
from dataclasses import dataclass, field

from model import USAGE, Break, Command, Hold, Model, Refuse, Say, Stream, Think
from peers import claude_steps as words


@dataclass
class Call:
    name: str
    input: dict


@dataclass
class Overloaded(Refuse):
    """A refusal with the seconds of its `retry-after`."""
    after: float | None = None


@dataclass
class Pause:
    seconds: float


@dataclass
class Usage:
    """Replaced members of a reply's usage."""
    fields: dict = field(default_factory=dict)


def replies(steps):
    """Splits steps into replies: a call of a tool, a refusal and a cut each end one."""
    made = [[]]
    for step in steps:
        match step:
            case words.Say():
                made[-1].append(Say("".join(step.chunks), piece=max(1, len(step.chunks[0])), every=step.every))
            case words.Think():
                made[-1].append(Think(step.text))
            case words.Hold():
                made[-1].append(Hold(step.name))
            case words.Wait():
                made[-1].append(Pause(step.seconds))
            case words.Call():
                made[-1].append(Call(step.name, step.input))
                made.append([])
            case words.Together():
                made[-1] += [Call(call.name, call.input) for call in step.calls]
                made.append([])
            case words.Refuse():
                made += [[Overloaded(step.status, step.message, step.kind, step.after)], []]
            case words.Cut():
                made[-1] += [Say("".join(step.chunks), is_whole=False)] if step.chunks else []
                made[-1].append(Break())
                made.append([])
            case _:
                raise ValueError(f"no model does this: {step}")
    return [reply for reply in made if reply]


class MessageStream(Stream):
    async def event(self, kind, **fields):
        self.writer.write(f"event: {kind}\ndata: {json.dumps({'type': kind} | fields)}\n\n".encode())
        await self.writer.drain()

    def __init__(self, model, writer, body):
        super().__init__(model, writer, body)
        self.body, self.identity = body, model.identity("msg")
        self.blocks = 0

    def message(self, steps, **fields):
        taken, cached, given, _ = USAGE
        usage = {"input_tokens": taken - cached, "cache_creation_input_tokens": 0, "cache_read_input_tokens": cached, "output_tokens": 1}
        for step in steps:
            usage |= step.fields if isinstance(step, Usage) else {}
        return {"id": self.identity, "type": "message", "role": "assistant", "model": self.body.get("model"), "content": [],
                "stop_reason": None, "stop_sequence": None, "usage": usage} | fields

    async def respond(self, steps):
        if self.body.get("stream"):
            return await super().respond(steps)
        # A non-streamed request follows one that was cut.
        content = [{"type": "text", "text": step.text} for step in steps if isinstance(step, Say)]
        content += [{"type": "tool_use", "id": self.model.identity("toolu"), "name": name, "input": given} for name, given in map(called, steps) if name]
        await self.model.whole(self.writer, 200, self.message(steps, content=content, stop_reason=stop_of(steps)))

    async def play(self, steps):
        start = self.message(steps)
        await self.event("message_start", message=start)
        for step in steps:
            match step:
                case Hold():
                    await self.model.gate(step.name).wait()
                case Pause():
                    await asyncio.sleep(step.seconds)
                case Say():
                    await self.block({"type": "text", "text": ""}, "text", step.text, step.piece, step.every, step.is_whole)
                case Think():
                    await self.block({"type": "thinking", "thinking": "", "signature": ""}, "thinking", step.text)
                case Break():
                    return self.reset()
                case Usage():
                    pass
                case _:
                    name, given = called(step)
                    begun = {"type": "tool_use", "id": self.model.identity("toolu"), "name": name, "input": {}}
                    await self.block(begun, "partial_json", json.dumps(given), 500)
        await self.event("message_delta", delta={"stop_reason": stop_of(steps), "stop_sequence": None}, usage=start["usage"] | {"output_tokens": USAGE[2]})
        await self.event("message_stop")

    async def block(self, begun, field, text, size=6, every=0.0, is_whole=True):
        kind = "input_json_delta" if field == "partial_json" else f"{field}_delta"
        await self.event("content_block_start", index=self.blocks, content_block=begun)
        for start in range(0, len(text), size):
            await asyncio.sleep(every)
            await self.event("content_block_delta", index=self.blocks, delta={"type": kind, field: text[start:start + size]})
        if field == "thinking":
            await self.event("content_block_delta", index=self.blocks, delta={"type": "signature_delta", "signature": "AAAA"})
        if is_whole:
            await self.event("content_block_stop", index=self.blocks)
        self.blocks += 1

    def reset(self):
        """Ends the connection with RST, behind the written bytes."""
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


def called(step):
    match step:
        case Call():
            return step.name, step.input
        case Command():
            return "Bash", {"command": step.command, "description": step.asks or "Work in the garden"} | step.more
    return None, None


def stop_of(steps):
    return "tool_use" if any(called(step)[0] for step in steps) else "end_turn"


def texts_of(message):
    content = message.get("content")
    return [content] if isinstance(content, str) else [part["text"] for part in content or [] if part.get("type") == "text"]


def session_of(body):
    """The session in the request's metadata. The device beside it differs if several processes make a new home at once."""
    user = body.get("metadata", {}).get("user_id") or ""
    return json.loads(user).get("session_id") if user.startswith("{") else user


def prompts_of(message):
    """Prompts of a person, and reports of background tasks. A prompt that met a running turn is in a system message, among the program's
    own."""
    match message.get("role"):
        case "user":
            return [text for text in texts_of(message) if not text.startswith("<system-reminder>") or "<task-notification>" in text]
        case "system":
            return [text for text in texts_of(message) if text.startswith("The user sent a new message")]
    return []


class ClaudeModel(Model):
    path = "/messages"
    stream = MessageStream

    def __init__(self):
        super().__init__()
        self.prompts = {}
        """Number of the last reply to each prompt, and whether it was a failure."""

    @property
    def url(self):
        """The base address; Claude Code appends the path."""
        return f"http://127.0.0.1:{self.port}"

    def script(self, match, *steps):
        self.plan(match, *replies(steps))

    def reply(self, body):
        """The next reply. Each message of a person plays its plan from the beginning, repeated texts included."""
        match, times, is_new = self.newest(body)
        prompt = (session_of(body), match, times)
        before, has_failed = self.prompts.get(prompt, (-1, False))
        # An unanswered prompt: a failed request that is repeated, or the prompt of another helper with the same text.
        number = 0 if is_new and not has_failed else before + 1
        self.asked.append((match, body))
        replies = next((replies for known, replies in self.plans if known == match), ([Say("Understood.")],))
        chosen = replies[min(number, len(replies) - 1)]
        self.prompts[prompt] = number, any(isinstance(step, (Refuse, Break)) for step in chosen)
        return chosen

    def newest(self, body):
        """The plan of the newest text with one, the number of texts with that plan, and whether it is unanswered."""
        found, is_new = [], True
        for message in body.get("messages") or []:
            is_new = is_new and message.get("role") != "assistant"
            for text in prompts_of(message):
                if match := next((match for match, _ in self.plans if match in text), None):
                    found.append(match)
                    is_new = True
        return (found[-1], found.count(found[-1]), is_new) if found else ("", 0, is_new)

    async def elsewhere(self, writer, method, path):
        if method == "HEAD":
            writer.write(b"HTTP/1.1 200 Scripted\r\ncontent-length: 0\r\n\r\n")
            await writer.drain()
            return True
        if path.endswith("/count_tokens"):
            return await self.whole(writer, 200, {"input_tokens": USAGE[0]})
        return await self.whole(writer, 404, {"type": "error", "error": {"type": "not_found_error", "message": "there is nothing here"}})

    async def refuse(self, writer, step):
        after = {"retry_after": step.after} if getattr(step, "after", None) is not None else {}
        return await self.whole(writer, step.status, {"type": "error", "error": {"type": step.kind, "message": step.message}}, **after)
