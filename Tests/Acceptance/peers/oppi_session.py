"""An active session of the scripted Oppi server: its numbers, its ring, its subscribers.

See oppi.md#envelope-and-sequence-numbers and oppi.md#turn-delivery-clientturnid-and-turn_ack."""

import asyncio
import base64
import collections
import copy
import json

from .oppi_agent import Run
from .oppi_rules import BUSY, DIALOG_RESENT, DURABLE, NOTIFIED, TURN_CACHE, TURN_SECONDS, short_id


class Refused(Exception):
    """Raised to send a failed result."""


class Turn:
    """A prompt with a `clientTurnId`."""

    def __init__(self, identity, payload, clock):
        self.identity, self.payload, self.clock = identity, payload, clock
        self.stage = "accepted"
        self.touched = clock.now()


class Activation:
    def __init__(self, server, session):
        self.server, self.session, self.clock = server, session, server.clock
        self.dialect = server.dialect
        self.seq = 0
        self.ring = collections.deque(maxlen=server.ring_capacity)
        self.subscribers = {}    # Socket -> level.
        self.turns = collections.OrderedDict()
        self.starting = collections.deque()  # Turns in the order in which the server assigns `agent_start` to them.
        self.run = None
        self.queue = []  # (kind, text, item) of waiting steers and follow-ups.
        self.queue_version = 0
        self.dialogs = {}        # id -> (frame, future)
        self.rules = []  # (tool, input) allowed until the session ends.
        self.is_over = False
        self.stop_watch = None
        self.touched = self.clock.now()

    @property
    def id(self):
        return self.session["id"]

    @property
    def is_busy(self):
        return self.run is not None

    @property
    def is_streaming(self):
        """Whether the status is busy: not before a run has begun, nor between its attempts."""
        return self.run is not None and self.run.in_loop

    # Frames

    def emit(self, kind, /, **fields):
        """Sends to every subscriber at a level that includes this kind."""
        self.touched = self.clock.now()
        frame = {"type": kind, **fields}
        if kind in DURABLE:
            self.seq += 1
            frame["seq"] = self.seq
            self.ring.append(frame)
        if kind in NOTIFIED:
            self.server.user_ring_add(frame | {"sessionId": self.id})
        self.send(frame, kind in NOTIFIED)

    def send(self, frame, is_notified=False):
        frame = frame | {"sessionId": self.id}
        for socket, level in list(self.subscribers.items()):
            if level == "full" or is_notified:
                socket.event(frame)

    def state(self, is_saved=False):
        (self.server.disk.save if is_saved else self.server.disk.save_soon)(self.session)
        self.emit("state", session=copy.deepcopy(self.session))

    def set_status(self, status):
        self.session["status"] = status
        self.session["lastActivity"] = self.server.milliseconds()
        self.state(is_saved=True)

    def missed(self, since):
        """The events after `since`, or None if the ring does not reach back that far."""
        if self.ring and since < self.ring[0]["seq"] - 1:
            return None
        return [frame for frame in self.ring if frame["seq"] > since]

    # Prompts

    def prompt(self, socket, command, frame):
        """Handles `prompt`, `steer` and `follow_up`; the acknowledgements precede the result."""
        self.touched = self.clock.now()
        if command != "prompt" and not self.is_streaming:
            name = "Steer" if command == "steer" else "Follow-up"
            raise Refused(f"{name} requires an active streaming turn")
        if not all(set(image) == {"data", "mimeType"} for image in frame.get("images") or []):
            raise Refused("images must be {data, mimeType}")
        identity, request = frame.get("clientTurnId"), frame.get("requestId")
        payload = {"message": frame.get("message"), "images": frame.get("images") or []}
        if "streamingBehavior" in frame:
            payload["streamingBehavior"] = frame["streamingBehavior"]
        payload = f"{command}:{json.dumps(payload, sort_keys=True)}"
        if identity and (known := self._known(identity)):
            if known.payload != payload:
                raise Refused(f"clientTurnId conflict: {identity}")
            known.touched = self.clock.now()
            self.turns.move_to_end(identity)
            return self._acknowledge(command, known, request, duplicate=True)
        turn = Turn(identity, payload, self.clock)
        if identity:
            self.turns[identity] = turn
            while len(self.turns) > TURN_CACHE:
                self.turns.popitem(last=False)
            self._acknowledge(command, turn, request)
            turn.stage = "dispatched"
            self._acknowledge(command, turn, request)
        self.starting.append((command, turn))
        self._hand_over(command, frame)

    def _known(self, identity):
        turn = self.turns.get(identity)
        if turn and self.clock.now() - turn.touched > TURN_SECONDS:
            del self.turns[identity]
            return None
        return turn

    def _acknowledge(self, command, turn, request=None, **fields):
        if turn.identity:
            echo = {"requestId": request} if request is not None else {}
            self.emit("turn_ack", command=command, clientTurnId=turn.identity, stage=turn.stage, **echo, **fields)

    def _hand_over(self, command, frame):
        """Hands the prompt to the agent, which begins once the result was sent."""
        text = frame.get("message", "")
        self.server.disk.note("prompts", {
            "session": self.id, "text": text, "command": command, "turn": frame.get("clientTurnId"),
            "images": len(frame.get("images") or []), "model": self.session["model"],
            "level": self.session.get("thinkingLevel")})
        for image in frame.get("images") or []:
            self.server.images.append((text, image["mimeType"], base64.b64decode(image["data"], validate=True)))
        self.server.happened("prompted", session=self.id, text=text)
        plan = self.server.plan_for(text)
        if self.is_busy and command == "prompt":
            # The streaming behaviour is not passed on to the agent.
            if "streamingBehavior" in frame:
                self.queue_changed()
            return self.refuse(BUSY)
        if self.is_busy:
            item = {"id": frame.get("clientTurnId") or short_id(), "message": text, "createdAt": self.server.milliseconds()}
            self.queue.append((command, plan, item))
            return self.queue_changed()
        if refusal := plan.refusal():
            return self._later(self.refuse, refusal)
        pictures = [f"data:{image['mimeType']};base64,{image['data']}" for image in frame.get("images") or []]
        self.run = Run(self, text, plan, pictures)
        self._later(self.run.start)

    @staticmethod
    def _later(action, *arguments):
        asyncio.get_running_loop().call_soon(action, *arguments)

    def refuse(self, message):
        """Reports a refusal; the seed dialect sends nothing."""
        if self.dialect.reports_errors and not self.is_over:
            self.emit("error", error=message)

    def agent_started(self):
        """Assigns the start of an agent to a prompt, by order, as the server guesses."""
        if self.starting:
            command, turn = self.starting.popleft()
            turn.stage = "started"
            self._acknowledge(command, turn)

    def queue_changed(self, started=None):
        """Reports a changed queue; `started` is the kind and the item taken from it."""
        self.queue_version += 1
        if self.dialect.has_queue and not self.is_over:
            if started:
                self.emit("queue_item_started", kind=started[0], item=started[1], queueVersion=self.queue_version)
            self.emit("queue_state", queue=self.queue_value())

    def queue_value(self):
        def items(wanted):
            return [item for kind, _, item in self.queue if kind == wanted]
        return {"version": self.queue_version, "steering": items("steer"), "followUp": items("follow_up")}

    def take_queued(self, *kinds):
        """The next waiting message of these kinds: (plan, text)."""
        for entry in self.queue:
            kind, plan, item = entry
            if kind in kinds:
                self.queue.remove(entry)
                self.queue_changed((kind, item))
                return plan, item["message"]
        return None

    # Stopping

    def stop(self):
        """The immediate effect of `stop` and `abort`; the outcome is a frame (oppi.md#stopping)."""
        if not self.is_streaming:
            self.emit("stop_confirmed", source="user", reason="Session already idle")
            return
        before = self.session["status"]
        self.emit("stop_requested", source="user")
        self.set_status("stopping")
        if self.dialect.empties_queue:
            self.queue.clear()
            self.queue_changed()
        self._later(self.run.abort)
        if self.stop_watch is None:
            self.stop_watch = self.server.spawn(self._watch_stop(self.run, before))

    def stop_is_over(self):
        """Confirms a stop after the end of the loop, whatever ended it."""
        if self.stop_watch is not None and not self.is_over:
            self.stop_watch.cancel()
            self.stop_watch = None
            self.emit("stop_confirmed", source="user")

    async def _watch_stop(self, run, before):
        await self.clock.sleep(8)
        if self.run is run and not self.is_over:
            self.emit("stop_requested", source="server")
            await self.clock.sleep(5)
            if self.run is run and not self.is_over:
                self.set_status(before)
                self.emit("stop_failed", source="server", reason="The agent did not stop")
        self.stop_watch = None

    async def stop_session(self):
        was_busy = self.is_busy
        self.emit("stop_requested", source="user")
        self.set_status("stopping")
        if was_busy or self.dialect.is_seed:
            await self.clock.sleep(1)
        late = {"reason": "Stop session timed out after 1000ms"} if was_busy and not self.dialect.is_seed else {}
        if not self.is_over:
            self.server.permissions.session_ended(self)
            self.emit("stop_confirmed", source="user", **late)
            self.end("stopped")

    def end(self, reason, status="stopped"):
        """Deactivates the session: its numbers, its ring and its turns are lost."""
        if self.is_over:
            return
        self.session["status"] = status
        self.server.disk.save(self.session)
        self.server.permissions.session_ended(self)
        self.emit("session_ended", reason=reason)
        self.is_over = True
        if self.run is not None:
            self.run.cancel()
            self.run = None
        if self.stop_watch is not None:
            self.stop_watch.cancel()
        for _, future in self.dialogs.values():
            future.cancel()
        # Subscriptions of this activation still count on their sockets, but carry nothing.
        self.subscribers.clear()
        self.server.activations.pop(self.id, None)
        self.server.happened("session_ended", session=self.id)

    # Dialogs

    def ask(self, method, fields):
        """Asks the subscribers, and returns the future of the answer."""
        frame = {"type": "extension_ui_request", "id": short_id(), "sessionId": self.id, "method": method, **fields}
        future = asyncio.get_running_loop().create_future()
        self.dialogs[frame["id"]] = (frame, future)
        self.send(frame)
        self.server.happened("dialog", session=self.id, id=frame["id"])
        return frame["id"], future

    def answer_dialog(self, frame):
        waiting = self.dialogs.get(frame.get("id"))
        if waiting is None:
            return False
        if not self.dialect.answers_dialogs:
            # The answer is accepted and lost.
            return True
        del self.dialogs[frame["id"]]
        self.server.disk.note("answers", {name: frame[name] for name in ("id", "value", "confirmed", "cancelled") if name in frame})
        if not waiting[1].done():
            waiting[1].set_result(frame)
        return True

    def dialogs_to_resend(self):
        if not self.dialect.resends_asks:
            return []
        return [frame for frame, _ in self.dialogs.values() if frame["method"] in DIALOG_RESENT]
