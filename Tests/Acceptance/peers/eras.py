"""The differences between OpenClaw gateways of each era (openclaw.md#eras)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Era:
    name: str
    version: str
    protocol: int
    whole_run_text: bool      # `chat` text is the whole run, not the newest segment
    delta_text: bool          # deltaText and replace beside the message
    may_omit_message: bool    # append frames without message
    has_items: bool           # item, approval and command_output streams
    seq_per_client: bool
    hello_auth_always: bool
    tool_results_always: bool
    inline_approvals: bool
    followup_nonce: bool
    has_approval_list: bool
    has_approval_resolve: bool  # approval.get and approval.resolve
    says_status: bool         # chat state "status"
    has_in_flight_run: bool
    keeps_deviceless_scopes: bool
    forbidden_code: str
    error_details: bool
    signature_versions: tuple
    max_payload: int
    max_buffered: int
    tick_milliseconds: int
    approval_seconds: float
    chat_merge: str           # `chat` text: the "newest" message, "unrepeated" pieces, or "glued"
    question_key: str | None  # key of a user's row, derived from the run's
    busy: str                 # a message into another client's run is queued ("queue"), put into it ("steer") or run ("beside")
    joins_texts: bool  # a text already running in its session begins no run
    teardown_seconds: float  # from `aborted` until the agent releases the session
    wait_tells_failures: bool  # `agent.wait` and a repeated key report failures
    resumes: bool  # resumes its runs after a restart, under new names
    questions_late: bool      # the first question of a chat is on disk with its first answer
    takes_length: bool        # `chat.history` with maxChars
    pictures_alone: bool  # other files are dropped silently
    rows_have_ids: bool  # and keys, if they have any
    mirrors_tools: bool       # `session.tool` reaches the run's own client too, beside `agent`


def _early(name, version, **differences):
    base = dict(
        protocol=3, whole_run_text=True, delta_text=False, may_omit_message=False, has_items=True, seq_per_client=False,
        hello_auth_always=False, tool_results_always=False, inline_approvals=False, followup_nonce=False,
        has_approval_list=True, has_approval_resolve=False, says_status=False, has_in_flight_run=False,
        keeps_deviceless_scopes=False, forbidden_code="INVALID_REQUEST", error_details=True,
        signature_versions=("v3", "v2"), max_payload=26214400, max_buffered=52428800, tick_milliseconds=30000,
        approval_seconds=1800.0, chat_merge="unrepeated", question_key=None, busy="queue", joins_texts=False, teardown_seconds=0.035,
        wait_tells_failures=False, resumes=False, questions_late=True, takes_length=True, pictures_alone=True,
        rows_have_ids=True, mirrors_tools=True,
    )
    return Era(name=name, version=version, **(base | differences))


def _late(name, version, **differences):
    return _early(name, version, **(dict(
        protocol=4, delta_text=True, hello_auth_always=True, tool_results_always=True, inline_approvals=True,
        followup_nonce=True, keeps_deviceless_scopes=True, forbidden_code="FORBIDDEN", seq_per_client=True,
        has_approval_resolve=True, has_in_flight_run=True, chat_merge="glued", question_key="{}:user", busy="steer",
        joins_texts=True, teardown_seconds=0.4, resumes=True, questions_late=False, pictures_alone=False,
        mirrors_tools=False,
    ) | differences))


ERAS = {
    "E1": _early("E1", "2026.3.13", whole_run_text=False, has_items=False, has_approval_list=False,
                 chat_merge="newest", takes_length=False, error_details=False, signature_versions=("v2",), approval_seconds=120.0,
                 rows_have_ids=False),
    "E2": _early("E2", "2026.4.22"),
    "E3": _late("E3", "2026.6.11"),
    "E4": _late("E4", "2026.9.28", may_omit_message=True, says_status=True, tick_milliseconds=15000, question_key="{}",
                busy="beside", teardown_seconds=0.03, wait_tells_failures=True, resumes=False),
}


def canonical_text(_era, segments):
    """The phone's final text, by the bridge's design (section 7, "Final"), for any era: the messages of `assistant`, trimmed, one paragraph
    each."""
    return "\n\n".join(part.strip() for part in segments if part.strip())


def merged(era, text, earlier, said, addition):
    """The text of `chat` for a message that says `said` now, behind the messages `earlier`: each era with its own faults."""
    if era.chat_merge == "newest":
        return said
    if era.chat_merge == "unrepeated":
        if said.startswith(text):
            return said
        overlap = next(size for size in range(min(len(addition), len(text)), -1, -1) if text.endswith(addition[:size]))
        return text + addition[overlap:]
    return said if earlier and said.startswith(text) else text + addition
