"""What an OpenClaw gateway of each era does differently (relay.md#errors)."""

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


def _early(name, version, **differences):
    base = dict(
        protocol=3, whole_run_text=True, delta_text=False, may_omit_message=False, has_items=True, seq_per_client=True,
        hello_auth_always=False, tool_results_always=False, inline_approvals=False, followup_nonce=False,
        has_approval_list=True, has_approval_resolve=False, says_status=False, has_in_flight_run=False,
        keeps_deviceless_scopes=False, forbidden_code="INVALID_REQUEST", error_details=True,
        signature_versions=("v3", "v2"), max_payload=524288, max_buffered=1572864, tick_milliseconds=30000,
        approval_seconds=1800.0,
    )
    return Era(name=name, version=version, **(base | differences))


def _late(name, version, **differences):
    return _early(name, version, **(dict(
        protocol=4, delta_text=True, hello_auth_always=True, tool_results_always=True, inline_approvals=True,
        followup_nonce=True, keeps_deviceless_scopes=True, forbidden_code="FORBIDDEN", max_payload=26214400,
        max_buffered=52428800, tick_milliseconds=15000,
    ) | differences))


ERAS = {
    "E1": _early("E1", "2026.3.13", whole_run_text=False, has_items=False, seq_per_client=False, has_approval_list=False,
                 error_details=False, signature_versions=("v2",), approval_seconds=120.0),
    "E2": _early("E2", "2026.4.22"),
    "E3": _late("E3", "2026.6.11"),
    "E4": _late("E4", "2026.9.28", may_omit_message=True, has_approval_resolve=True, says_status=True,
                has_in_flight_run=True),
}


def canonical_text(_era, segments):
    """The text that the phone must end with, by the rules of the bridge's design (section 7, "Final"): of every era the messages as
    `assistant` has them, trimmed, a paragraph each."""
    return "\n\n".join(part.strip() for part in segments if part.strip())
