"""Figures and texts of the Oppi protocol (oppi.md), and the differences between its two dialects."""

import secrets
from dataclasses import dataclass

RING_CAPACITY = 500
USER_RING_CAPACITY = 2000
TURN_CACHE = 256
TURN_SECONDS = 15 * 60
IDLE_SECONDS = 10 * 60
PING_SECONDS = 30
BUFFER_BYTES = 65_536
SUBSCRIBES, SUBSCRIBE_SECONDS = 30, 5
LIMITS = {"seed": (3, 5), "head": (20, 40)}  # Of active sessions: in a workspace, in all.
HUNDRED_YEARS = 100 * 365 * 24 * 3600 * 1000

BUSY = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."

# oppi.md#classes
DURABLE = {"agent_start", "agent_end", "message_end", "tool_start", "tool_end", "stop_requested", "stop_confirmed",
           "stop_failed", "session_ended", "error"}
NOTIFIED = {"agent_start", "agent_end", "state", "session_ended", "stop_requested", "stop_confirmed", "stop_failed", "error"}
DROPPABLE = {"text_delta", "thinking_delta", "tool_output"}
DIALOG_RESENT = {"ask"}

SESSION_COMMANDS = {
    "prompt", "steer", "follow_up", "abort", "stop", "stop_session", "get_state", "get_messages", "get_session_stats",
    "set_model", "cycle_model", "get_available_models", "set_thinking_level", "cycle_thinking_level", "new_session",
    "set_session_name", "compact", "set_auto_compaction", "set_auto_retry", "fork", "get_fork_messages", "switch_session",
    "set_steering_mode", "set_follow_up_mode", "abort_retry", "abort_bash", "get_commands", "extension_ui_response"}
SEED_COMMANDS = {"bash"}
HEAD_COMMANDS = {"get_queue", "set_queue", "get_file_suggestions"}


def short_id(length=8):
    """An id of URL-safe characters, as long as those of sessions (8) and permissions (12)."""
    return secrets.token_urlsafe(length)[:length]


@dataclass(frozen=True)
class Dialect:
    name: str

    @property
    def is_seed(self):
        return self.name == "seed"

    @property
    def result(self):
        return "rpc_result" if self.is_seed else "command_result"

    @property
    def one_full(self):
        """A second `full` on a socket turns the first into `notifications`."""
        return self.is_seed

    @property
    def drops(self):
        """Deltas are dropped for a socket with too much buffered."""
        return self.is_seed

    @property
    def pings_missed(self):
        """Ticks without a pong before the socket is ended."""
        return 1 if self.is_seed else 3

    @property
    def has_turns(self):
        return self.is_seed

    @property
    def reports_errors(self):
        return not self.is_seed

    @property
    def has_queue(self):
        return not self.is_seed

    @property
    def empties_queue(self):
        return not self.is_seed

    @property
    def answers_dialogs(self):
        return not self.is_seed

    @property
    def resends_asks(self):
        return not self.is_seed

    @property
    def max_message(self):
        return (100 << 20) if self.is_seed else (16 << 20)

    def commands(self):
        return SESSION_COMMANDS | (SEED_COMMANDS if self.is_seed else HEAD_COMMANDS)


def ask_answers(questions, answers):
    """Maps an answer back to a label as the server does: the first option whose label contains it, ignoring case
    (oppi.md#extension-dialogs)."""
    got = {}
    for question in questions:
        answer = answers.get(question["id"])
        if answer is None:
            continue
        value = answer[0] if isinstance(answer, list) else answer
        labels = [option["label"] for option in question["options"]]
        label = next((label for label in labels if value.lower() in label.lower()), value)
        meant = next((option["value"] for option in question["options"] if option["label"] == label), label)
        got[question["id"]] = [meant] if question.get("multiSelect") else meant
    return got
