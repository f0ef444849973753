"""A stand-in for `pi --mode rpc` (pi.md), run as a child of the bridge. `PI_DOUBLE` names a directory:

plans.json     {"match": [steps]} by words of the prompt; `line`: "B" or "L" (pi.md#versions)
models.log     the model of each accepted prompt; `models` in plans.json: further models besides test/model images.log     the raw images of
each prompt that had any pids.log       each prompt with its process prompts.log    each accepted prompt, one JSON text per line,
repetitions included
answers.log    each answer to a dialog, in time or not
executed.log   each command that a `gate` allowed, with the chosen option gates/NAME     a `hold` step waits for this file
sessions/      the session files
"""

import base64
import json
import os
import queue
import sys
import threading
import time
import uuid
from pathlib import Path

HOME = Path(os.environ["PI_DOUBLE"])
PLANS = json.loads((HOME / "plans.json").read_text())
IS_LATER = PLANS.get("line") == "L"
_writing = threading.Lock()


def emit(frame, noise=""):
    line = noise.encode() + json.dumps(frame).encode() + b"\n"
    with _writing:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


def respond(command, identity, success=True, data=None, error=None):
    frame = {"type": "response", "command": command, "success": success}
    if identity is not None:
        frame["id"] = identity
    if data is not None:
        frame["data"] = data
    if error is not None:
        frame["error"] = error
    emit(frame)


ALL_LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"]
LEVELS = ALL_LEVELS[:PLANS.get("levels", 5)]
MODELS = ["test/model", *PLANS.get("models", [])]


class Session:
    """The session file: a line per message, written at the message's end."""

    def __init__(self, path):
        self.path = Path(path) if path else HOME / "sessions" / f"{uuid.uuid4()}.jsonl"
        self.path.parent.mkdir(exist_ok=True)
        lines = [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []
        self.messages = [line for line in lines if not {"model_change", "level_change"} & set(line)]
        self.level = ["low", *(line["level_change"] for line in lines if "level_change" in line)][-1]
        self.model = [MODELS[0], *(line["model_change"] for line in lines if "model_change" in line)][-1]

    def change_model(self, name):
        """Changes the model. Whether a session file keeps it is unknown (pi.md); here the later line's does."""
        self.model = name
        if not IS_LATER:
            return
        self._write({"model_change": name})

    def change_level(self, level):
        self.level = level
        self._write({"level_change": level})

    def add(self, message):
        self.messages.append(message)
        self._write(message)

    def _write(self, line):
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def model_of(name):
    provider, identity = name.split("/", 1)
    return {"provider": provider, "id": identity, "name": identity.title()}


class Aborted(Exception):
    pass


def is_image(image):
    try:
        base64.b64decode(image["data"], validate=True)
    except (KeyError, TypeError, ValueError):
        return False
    return set(image) == {"type", "data", "mimeType"} and image["type"] == "image" and image["mimeType"].startswith("image/")


class Pi:
    def __init__(self, session):
        self.session = session
        self.streaming = False
        self.aborting = threading.Event()
        self.idle = threading.Event()
        self.idle.set()
        self.answers = {}
        self.queued = []
        self.produced = []

    # Commands

    def serve(self):
        for line in sys.stdin.buffer:
            try:
                command = json.loads(line)
            except ValueError:
                respond("parse", None, False, error="Failed to parse command")
                continue
            # Commands are handled concurrently, and answered as each completes.
            threading.Thread(target=self.command, args=(command,), daemon=True).start()
        # The later line ends with its input, the base line once its loop is idle.
        if not IS_LATER:
            self.idle.wait()
        os._exit(0)

    def command(self, command):
        kind, identity = command.get("type"), command.get("id")
        if PLANS.get("mute"):
            return
        if kind == "get_state":
            respond(kind, identity, data={
                "model": model_of(self.session.model), "isStreaming": self.streaming, "isCompacting": False,
                "thinkingLevel": self.session.level, "sessionFile": str(self.session.path), "sessionId": self.session.path.stem,
                "pendingMessageCount": len(self.queued), "messageCount": len(self.session.messages)})
        elif kind == "get_messages":
            respond(kind, identity, data={"messages": self.session.messages})
        elif kind == "get_available_models":
            respond(kind, identity, data={"models": [model_of(name) for name in MODELS]})
        elif kind == "set_model":
            self.set_model(kind, identity, f"{command.get('provider')}/{command.get('modelId')}")
        elif kind == "get_available_thinking_levels" and IS_LATER:
            respond(kind, identity, data={"levels": LEVELS})
        elif kind == "set_thinking_level":
            self.set_level(kind, identity, command.get("level"))
        elif kind == "prompt":
            self.prompt(command, identity)
        elif kind == "abort":
            if PLANS.get("ignores_abort") and self.streaming:
                return
            self.aborting.set()
            self.idle.wait()
            self.aborting.clear()
            respond(kind, identity)
        elif kind == "extension_ui_response":
            with (HOME / "answers.log").open("a") as log:
                log.write(json.dumps(command) + "\n")
            # A late or unknown answer is ignored silently (pi.md#extension-ui).
            if waiting := self.answers.pop(identity, None):
                waiting.put(command)
        else:
            respond(kind, identity if IS_LATER else None, False, error=f"Unknown command: {kind}")

    def set_model(self, kind, identity, name):
        if PLANS.get("dies_of_models"):
            os._exit(1)
        if name not in MODELS:
            # The base line names neither the command nor its id (pi.md#responses-stdout).
            return respond(kind if IS_LATER else "parse", identity if IS_LATER else None, False,
                           error=f"Failed to parse command: Model not found: {name}")
        self.session.change_model(name)
        respond(kind, identity, data=model_of(name))

    def set_level(self, kind, identity, level):
        if level not in ALL_LEVELS:
            return respond(kind, identity if IS_LATER else None, False, error=f"Invalid thinking level: {level}")
        # A level above the model's highest is lowered to that, silently.
        self.session.change_level(LEVELS[min(ALL_LEVELS.index(level), len(LEVELS) - 1)])
        respond(kind, identity)

    def prompt(self, command, identity):
        text = command["message"]
        for name, value in (("levels", self.session.level), ("models", self.session.model), ("pids", os.getpid())):
            with (HOME / f"{name}.log").open("a") as log:
                log.write(json.dumps([text, value]) + "\n")
        with (HOME / "prompts.log").open("a") as log:
            log.write(json.dumps(text) + "\n")
        if images := command.get("images"):
            if not all(is_image(image) for image in images):
                return respond("prompt", identity, False, error="images must be {type, data, mimeType}")
            with (HOME / "images.log").open("a") as log:
                log.write(json.dumps({"text": text, "images": images}) + "\n")
        if self.streaming:
            if "streamingBehavior" not in command:
                respond("prompt", identity, False, error="Agent is already processing.")
                if IS_LATER:
                    return
            else:
                self.queued.append(text)
            return respond("prompt", identity)
        steps = next((plan for match, plan in PLANS["plans"].items() if match in text), None)
        if refusal := next((step["refuse"] for step in steps or [] if "refuse" in step), None):
            if not IS_LATER:
                respond("prompt", identity)
            return respond("prompt", identity, False, error=refusal)
        if any("command" in step for step in steps or []):
            return respond("prompt", identity)
        self.streaming = True
        self.idle.clear()
        respond("prompt", identity)
        # Pictures stay in the session: each later history and each end of a run has them (pi.md#framing).
        content = [{"type": "text", "text": text}, *images] if images else text
        threading.Thread(target=self.run, args=(content, steps or [{"say": ["Hello."]}]), daemon=True).start()

    # The loop

    def run(self, content, steps):
        question = {"role": "user", "content": content, "timestamp": int(time.time() * 1000)}
        self.produced = [question]
        emit({"type": "agent_start"})
        emit({"type": "turn_start"})
        emit({"type": "message_start", "message": question})
        emit({"type": "message_end", "message": question})
        self.session.add(question)
        self.noise = ""
        try:
            for step in steps:
                (word, value), = step.items()
                getattr(self, f"do_{word}")(value)
            self.end("stop")
        except Aborted:
            emit(self.message([], "aborted", error="Request was aborted"))
            self.end("aborted")
        except Exception as error:  # A step that fails the run, with its own text as the error.
            failed = self.message([], "error", error=str(error))
            emit(failed)
            self.produced.append(failed["message"])
            self.end("error")

    def end(self, stop):
        emit({"type": "turn_end", "message": {}, "toolResults": []})
        ended = {"type": "agent_end", "messages": self.produced}
        if IS_LATER:
            ended["willRetry"] = False
        self.streaming = False
        emit(ended, self.noise)
        if IS_LATER:
            emit({"type": "agent_settled"})
        self.idle.set()

    def message(self, content, stop, error=None):
        provider, model = self.session.model.split("/", 1)
        message = {"role": "assistant", "content": content, "provider": provider, "model": model, "stopReason": stop,
                   "usage": {"input": 10, "output": 5, "cost": {"total": 0.001}}, "timestamp": 0}
        if error:
            message["errorMessage"] = error
        return {"type": "message_end", "message": message}

    def pause(self, seconds=0.01):
        if self.aborting.wait(seconds):
            raise Aborted

    def do_say(self, chunks, stop="stop"):
        emit({"type": "message_start", "message": {"role": "assistant", "content": []}})
        text = ""
        for chunk in chunks:
            text += chunk
            event = {"type": "text_delta", "contentIndex": 0, "delta": chunk}
            frame = {"type": "message_update", "assistantMessageEvent": event}
            if not IS_LATER:
                frame["message"] = event["partial"] = {"role": "assistant", "content": [{"type": "text", "text": text}]}
            emit(frame)
            self.pause()
        ended = self.message([{"type": "text", "text": text}], stop)
        emit(ended)
        self.produced.append(ended["message"])
        self.session.add(ended["message"])

    def do_tool(self, value):
        call, name = f"call|{uuid.uuid4()}", value.get("name", "bash")
        arguments = value.get("args", {"command": "df -h"})
        emit({"type": "tool_execution_start", "toolCallId": call, "toolName": name, "args": arguments})
        for part in value.get("parts", ["6", "61%"]):
            emit({"type": "tool_execution_update", "toolCallId": call, "toolName": name, "args": arguments,
                  "partialResult": {"content": [{"type": "text", "text": part}], "details": {}}})
            self.pause()
        if "hold" in value:
            self.do_hold(value["hold"])
        emit({"type": "tool_execution_end", "toolCallId": call, "toolName": name, "isError": value.get("failed", False),
              "result": {"content": [{"type": "text", "text": value.get("output", "61%")}], "details": {}}})

    def begin_dialog(self, method, **fields):
        """Begins a dialog, and returns the handle that `answer_to` waits on. It expires silently."""
        identity, answer = str(uuid.uuid4()), queue.Queue()
        self.answers[identity] = answer
        emit({"type": "extension_ui_request", "id": identity, "method": method, **fields})
        return identity, answer, time.monotonic() + fields.get("timeout", 600_000) / 1000

    def answer_to(self, dialog):
        """The answer, or None if the dialog was cancelled or expired."""
        identity, answer, end = dialog
        while time.monotonic() < end:
            self.pause()
            try:
                answered = answer.get_nowait()
            except queue.Empty:
                continue
            return None if answered.get("cancelled") else answered
        self.answers.pop(identity, None)
        return None

    def do_confirm(self, value):
        """Asks for a confirmation; the next text depends on the answer."""
        fields = {name: value[name] for name in ("title", "message", "timeout") if name in value}
        answer = self.answer_to(self.begin_dialog("confirm", **{"message": ""} | fields)) or {}
        self.do_say([value["yes"] if answer.get("confirmed") is True else value["no"]])

    def do_gate(self, value):
        """Asks like extensions that guard the shell: the title contains the whole command, and the command itself runs."""
        command, options = value["command"], value.get("options", ["Yes", "No"])
        dialog = self.begin_dialog("select", title=f"\u26a0\ufe0f Dangerous command:\n\n  {command}\n\nAllow?", options=options)
        chosen = (self.answer_to(dialog) or {}).get("value")
        if chosen in value.get("yes", options[:1]):
            with (HOME / "executed.log").open("a") as log:
                log.write(json.dumps({"approval": dialog[0], "tool": "bash", "command": command, "folder": os.getcwd(), "node": None,
                                      "option": chosen}) + "\n")
            return self.do_say(["Done."])
        self.do_say(["Nothing was said." if chosen is None else "Blocked."])

    def do_ask(self, dialogs):
        """Asks all dialogs at once, then says the answers."""
        begun = [self.begin_dialog(**dialog) for dialog in dialogs]
        answers = [self.answer_to(dialog) for dialog in begun]
        self.do_say(["got " + ", ".join("nothing" if answer is None else repr(answer.get("value")) for answer in answers)])

    def do_ask_beside(self, dialog):
        """A dialog of an extension that does not wait for the answer."""
        self.begin_dialog(**dialog)

    def do_hold(self, name):
        while not (HOME / "gates" / name).exists():
            self.pause()

    def do_retry(self, message):
        failed = self.message([], "error", error=message)
        emit(failed)
        emit({"type": "turn_end", "message": failed["message"], "toolResults": []})
        ended = {"type": "agent_end", "messages": [failed["message"]]}
        emit(ended | ({"willRetry": True} if IS_LATER else {}))
        emit({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 50, "errorMessage": message})
        self.pause(0.05)
        emit({"type": "agent_start"})
        emit({"type": "turn_start"})

    def do_fail(self, message):
        raise RuntimeError(message)

    def do_noise(self, text):
        """Text before the next record, that of `agent_end`."""
        self.noise = text

    def do_print(self, line):
        with _writing:
            sys.stdout.buffer.write(line.encode() + b"\n")
            sys.stdout.buffer.flush()

    def do_long_line(self, size):
        with _writing:
            sys.stdout.buffer.write(b'{"type":"')
            for _ in range(size // (1 << 20)):
                sys.stdout.buffer.write(b"x" * (1 << 20))
            sys.stdout.buffer.write(b'"}\n')
            sys.stdout.buffer.flush()

    def do_complain(self, lines):
        """Writes lines to standard error: a number of them, or the given ones."""
        for line in [f"complaint {number}" for number in range(lines)] if isinstance(lines, int) else lines:
            print(line, file=sys.stderr)
        sys.stderr.flush()

    def do_exit(self, code):
        print("the model went away", file=sys.stderr, flush=True)
        os._exit(code)


def main():
    arguments = sys.argv[1:]
    if "start_error" in PLANS:
        sys.exit(PLANS["start_error"])
    with (HOME / "starts.log").open("a") as log:
        log.write(json.dumps({"pid": os.getpid(), "arguments": arguments, "environment": sorted(os.environ),
                              "folder": os.getcwd()}) + "\n")
    path = arguments[arguments.index("--session") + 1] if "--session" in arguments else None
    Pi(Session(path)).serve()


if __name__ == "__main__":
    main()
