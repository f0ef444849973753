"""Reactions of a scripted Claude Code to refusals of its model's server: whether it retries, and its final text."""

from dataclasses import dataclass

RETRIED = {401: "authentication_failed", 408: "server_error", 409: "server_error", 429: "rate_limit", 529: "overloaded"}


@dataclass
class Failure(Exception):
    """The end of a turn by an error of the model's server. `status` is None if no server was asked."""
    status: int | None
    error: str
    sentence: str
    reason: str = "api_error"


LOGGED_OUT = Failure(None, "authentication_failed", "Not logged in · Please run /login")


def retried(step, has_subscription):
    """The error of `api_retry`, or None if the first refusal is final."""
    if step.status == 429 and has_subscription:
        return None
    if step.status == 403 and "revoked" in step.message:
        return "authentication_failed"
    return RETRIED.get(step.status, "server_error" if step.status >= 500 else None)


def final(step, model, has_subscription):
    status, text = step.status, step.message
    if status in (400, 403) and "credit balance is too low" in text.lower():
        return Failure(status, "billing_error", "Credit balance is too low")
    if status == 400 and "prompt is too long" in text:
        return Failure(status, "invalid_request", "Prompt is too long", "prompt_too_long")
    match status:
        case 401 if not has_subscription:
            return Failure(status, "authentication_failed", "Invalid API key · Fix external API key")
        case 401:
            return Failure(status, "authentication_failed", f"Failed to authenticate. API Error: 401 {text}")
        case 403 if "revoked" in text:
            return Failure(status, "authentication_failed",
                           "Failed to authenticate: OAuth token revoked. Please log in again or contact your administrator.")
        case 403:
            return Failure(status, "authentication_failed", f"Failed to authenticate. API Error: 403 {text}")
        case 404:
            return Failure(status, "model_not_found", f"There's an issue with the selected model ({model}). It may not exist or you may not "
                                                      "have access to it. Run --model to pick a different model.")
        case 429 if has_subscription:
            return Failure(status, "rate_limit", "You've hit your 5-hour limit · resets 5:08pm (UTC)")
        case 429:
            return Failure(status, "rate_limit", f"API Error: Request rejected (429) · {text}")
        case 529:
            return Failure(status, "server_error", "API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually "
                                                   "temporary. Try again in a moment.")
    return Failure(status, "server_error" if status >= 500 else "unknown", f"API Error: {status} {text}")
