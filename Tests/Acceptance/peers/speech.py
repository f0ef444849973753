"""Text of the scripted gateway's runs: each message on `agent`, and the text that `chat` derives from it."""

import asyncio

from .eras import merged

PACE = 0.15


def assistant_message(text, clock):
    return {"role": "assistant", "content": [{"type": "text", "text": text}], "timestamp": clock.milliseconds()}


def visible(text):
    """The visible text: lines that name a file are removed."""
    if "MEDIA:" not in text:
        return text.strip()
    return "\n".join(line for line in text.split("\n") if not line.startswith("MEDIA:")).strip()


def files_in(text):
    return [line[6:].strip() for line in text.split("\n")[:-1] if line.startswith("MEDIA:")] if "MEDIA:" in text else []


class Speech:
    """The text of a run. Frames of `chat`, and from E3 on those of `assistant`, are paced."""

    def __init__(self, gateway, plan):
        self.gateway, self.era, self.clock, self.plan = gateway, gateway.era, gateway.clock, plan
        self.segments, self.files = [""], []
        self.said, self.unspoken = "", ""
        self.chat_text, self.earlier, self.sent_text = "", "", ""
        self.sent_at, self.spoken_at, self.timer = None, None, None
        self.text_receivers = set()
        self.is_silent = False  # E2: silent behind a command that waits for approval.
        self.hides_session = False   # A later attempt in the first era has no chat.

    @property
    def text(self):
        return self.chat_text

    @property
    def final_text(self):
        return self.chat_text.strip()

    def say(self, chunk):
        self.segments[-1] += chunk
        if self.is_silent:
            return
        said, files = visible(self.segments[-1]), files_in(self.segments[-1])
        new, addition = files[len(self.files):], said[len(self.said):]
        if said == self.said and not new:
            return
        self.said, self.files = said, files
        self.chat_text = merged(self.era, self.chat_text, self.earlier, said, addition)
        self.unspoken += addition
        self._speak(new)
        if self.sent_at is None or asyncio.get_running_loop().time() - self.sent_at >= PACE:
            self.send_text()

    def _speak(self, files):
        """Sends the words of one pace in one frame, from E3 on."""
        now = asyncio.get_running_loop().time()
        left = PACE - (now - self.spoken_at) if self.spoken_at is not None and self.era.protocol >= 4 else 0
        if left <= 0 or files:
            return self.speak_rest(files)
        if self.timer is None:
            self.timer = asyncio.get_running_loop().call_later(left, self.speak_rest)

    def speak_rest(self, files=()):
        self.keep_quiet()
        if not self.unspoken and not files:
            return
        data = {"text": self.said, "delta": self.unspoken} | ({"mediaUrls": list(files)} if files else {})
        self.unspoken, self.spoken_at = "", asyncio.get_running_loop().time()
        self.agent("assistant", data)

    def keep_quiet(self):
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None

    def send_text(self):
        """Sends one `chat` delta in the era's form, or one per connection if the era makes them differ."""
        text = self.chat_text
        if not self.plan.deltas or text == self.sent_text or self.hides_session:
            return
        base = {"runId": self.id, "sessionKey": self.key, "seq": self.seq, "state": "delta", **self.named}
        message = assistant_message(text, self.clock)
        if not self.era.delta_text:
            self.gateway.broadcast("chat", base | {"message": message})
        else:
            appends = text.startswith(self.sent_text)
            delta = {"deltaText": text[len(self.sent_text):]} if appends else {"deltaText": text, "replace": True}

            def payload_for(connection):
                may_omit = self.era.may_omit_message and appends and connection in self.text_receivers
                self.text_receivers.add(connection)
                return base | delta | ({} if may_omit else {"message": message})

            self.gateway.broadcast_each("chat", payload_for)
        self.sent_text, self.sent_at = text, asyncio.get_running_loop().time()

    def flush_before_boundary(self):
        """Sends pending text before a tool and before the end; in E1 the words since the last delta never come."""
        if self.era.name != "E1":
            self.send_text()
        self.speak_rest()

    def begin_message(self):
        self.earlier += visible(self.segments[-1])
        self.segments.append("")
        self.said, self.files = "", []
        if not self.era.whole_run_text:
            self.sent_text, self.sent_at = "", None

    def begin_attempt(self):
        """Begins another attempt: earlier text is dropped, except for `chat` in E3, which continues behind it."""
        self.keep_quiet()
        self.segments, self.files = [""], []
        self.said, self.unspoken, self.sent_at = "", "", None
        self.hides_session = self.era.name == "E1"
        if self.era.name == "E3":
            self.earlier = self.chat_text
        else:
            self.chat_text, self.earlier, self.sent_text = "", "", ""
            self.text_receivers.clear()
