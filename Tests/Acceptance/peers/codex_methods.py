"""Methods of the scripted Codex (codex.md#methods): each gets its connection and the parameters, and returns a `Reply`."""

import os
import uuid
from dataclasses import dataclass
from typing import Callable

from .codex_thread import SANDBOXES, Thread
from .codex_turn import Turn

POLICIES = ("untrusted", "on-request", "never")
MODELS = [{"id": "gpt-6.1-sol", "isDefault": True, "inputModalities": ["text", "image"]},
          {"id": "gpt-5.5", "isDefault": False, "inputModalities": ["text", "image"]}]
EFFORTS = [{"reasoningEffort": name, "description": name.capitalize()} for name in ("low", "medium", "high", "xhigh")]
MAX_INPUT = 1_048_576


class Refusal(Exception):
    def __init__(self, message, code=-32600, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({"data": data} if data else {})


@dataclass
class Reply:
    result: dict
    after: Callable = lambda: None
    """Runs after the reply was sent."""


LATER = object()
"""Returned by a method that replies itself, or never."""


def method(name, experimental=False):
    def mark(function):
        METHODS[name] = (function, experimental)
        return function
    return mark


METHODS = {}


def loaded(connection, params):
    thread = connection.server.threads.get(params.get("threadId"))
    if thread is None:
        raise Refusal(f"thread not found: {params.get('threadId')}")
    return thread


def stored(connection, params):
    """The thread, loaded or not: (thread, whether it is loaded)."""
    identity = params.get("threadId")
    if thread := connection.server.threads.get(identity):
        return thread, True
    record = connection.server.disk.load(identity)
    if record is None:
        raise Refusal(f"no rollout found for thread id {identity}")
    if record == "":
        raise Refusal(f"failed to read thread: rollout at /nowhere/rollout-{identity}.jsonl is empty", -32603)
    # A turn that runs in another process, or was killed, reads as interrupted.
    for turn in record["turns"]:
        if turn["status"] == "inProgress":
            turn["status"] = "interrupted"
    return Thread(connection.server, record), False


def override(thread, params):
    """Applies settings of start and resume; `sandboxPolicy` of a turn has another spelling and is not read here."""
    for name, allowed in (("approvalPolicy", POLICIES), ("approvalsReviewer", ("user", "auto_review")), ("sandbox", tuple(SANDBOXES))):
        value = params.get(name)
        if value is None:
            continue
        if isinstance(value, str) and value not in allowed:
            raise Refusal(f"Invalid request: unknown variant `{value}`, expected one of {', '.join(allowed)}")
        thread.settings[name] = value
    if params.get("model"):
        thread.settings["model"] = params["model"]


# The account and the models

@method("account/read")
def account(connection, params):
    if connection.server.disk.habit("logged_out"):
        return Reply({"account": None, "requiresOpenaiAuth": True, "workspaceRouting": None})
    return Reply({"account": None, "requiresOpenaiAuth": False, "workspaceRouting": None})


@method("account/rateLimits/read")
def rate_limits(connection, params):
    raise Refusal("chatgpt authentication required to read rate limits")


@method("model/list")
def models(connection, params):
    shown = [model | {"model": model["id"], "displayName": model["id"].upper(), "description": "A model.", "hidden": False,
                      "supportedReasoningEfforts": EFFORTS, "defaultReasoningEffort": "medium", "serviceTiers": []} for model in MODELS]
    start = int(params.get("cursor") or 0)
    end = start + (params.get("limit") or len(shown))
    return Reply({"data": shown[start:end], "nextCursor": str(end) if end < len(shown) else None})


# Threads

@method("thread/start")
def thread_start(connection, params):
    thread = Thread(connection.server, cwd=params.get("cwd") or os.getcwd(), is_stored=False)
    override(thread, params)
    connection.server.disk.note("threads", {"thread": thread.id, "params": params})
    connection.server.disk.lock(thread.id)
    connection.server.threads[thread.id] = thread
    connection.subscribe(thread)
    return Reply(thread.started(), lambda: connection.server.broadcast({"method": "thread/started", "params": {"thread": thread.shown()}}))


@method("thread/resume")
def thread_resume(connection, params):
    thread, is_loaded = stored(connection, params)
    if thread.record["archived"]:
        raise Refusal(f"session {thread.id} is archived. Run `codex unarchive {thread.id}` to resume it.")
    if not is_loaded:
        if not connection.server.disk.lock(thread.id):
            raise Refusal(f"thread {thread.id} already has an active writer")
        # A cold resume uses the stored policy, and the sandbox of the configuration.
        thread.settings["sandbox"] = "read-only"
        connection.server.threads[thread.id] = thread
        thread.status = {"type": "notLoaded"}
    override(thread, params)
    connection.server.disk.note("resumes", {"thread": thread.id, "params": params})
    if not is_loaded:
        thread.set_status("idle")
    connection.subscribe(thread)

    def after():
        if not is_loaded and thread.record["turns"]:
            thread.report_usage(thread.record["turns"][-1]["id"], connection)
        connection.notify({"method": "thread/goal/cleared", "params": {"threadId": thread.id}})
        thread.ask_again(connection)
    turns = [] if params.get("excludeTurns") else [shown_turn(turn) for turn in thread.record["turns"]]
    page = params.get("initialTurnsPage")
    result = thread.started() | {"initialTurnsPage": page and newest_turns(thread, page), "turnsBackwardsCursor": "0", "itemsBackwardsCursor": "0"}
    return Reply(result | {"thread": result["thread"] | {"turns": turns}}, after)


def newest_turns(thread, page):
    """The newest turns in the list's form, with the open calls of the running turn if all items are requested."""
    newest = thread.record["turns"][::-1]
    limit, view = page.get("limit") or 25, page.get("itemsView") or "summary"
    turns = [shown_turn(turn, view) for turn in newest[:limit]]
    if thread.turn and view == "full":
        for turn in turns:
            turn["items"] = turn["items"] + (list(thread.turn.open.values()) if turn["id"] == thread.turn.id else [])
    return {"data": turns, "nextCursor": str(limit) if limit < len(newest) else None, "backwardsCursor": "0"}


@method("thread/read")
def thread_read(connection, params):
    thread, is_loaded = stored(connection, params)
    shown = thread.shown(is_loaded)
    if params.get("includeTurns"):
        shown["turns"] = [shown_turn(turn) for turn in thread.record["turns"]]
    return Reply({"thread": shown})


@method("thread/turns/list")
def turns_list(connection, params):
    thread, _ = stored(connection, params)
    turns = thread.record["turns"]
    if params.get("sortDirection", "desc") == "desc":
        turns = turns[::-1]
    start = int(params.get("cursor") or 0)
    end = start + (params.get("limit") or 25)
    view = params.get("itemsView", "summary")
    return Reply({"data": [shown_turn(turn, view) for turn in turns[start:end]], "nextCursor": str(end) if end < len(turns) else None,
                  "backwardsCursor": "0"})


def shown_turn(turn, view="full"):
    items = turn["items"]
    if view == "notLoaded":
        items = []
    elif view == "summary":
        messages = [item for item in items if item["type"] == "agentMessage"]
        items = [item for item in items if item["type"] == "userMessage"][:1] + messages[-1:]
    return turn | {"rootTurnId": turn["id"], "items": items, "itemsView": view}


@method("thread/items/list")
def items_list(connection, params):
    thread, _ = stored(connection, params)
    data = [{"turnId": turn["id"], "item": item, "startedAtMs": 0, "completedAtMs": 0} for turn in thread.record["turns"]
            if params.get("turnId") in (None, turn["id"]) for item in turn["items"]]
    if params.get("sortDirection") == "desc":
        data = data[::-1]
    start = int(params.get("cursor") or 0)
    end = start + (params.get("limit") or 25)
    return Reply({"data": data[start:end], "nextCursor": str(end) if end < len(data) else None, "backwardsCursor": None})


@method("thread/loaded/list")
def loaded_list(connection, params):
    return Reply({"data": list(connection.server.threads), "nextCursor": None})


@method("thread/unsubscribe")
def unsubscribe(connection, params):
    thread = connection.server.threads.get(params.get("threadId"))
    if thread is None:
        return Reply({"status": "notLoaded"})
    was = connection in thread.subscribers
    connection.unsubscribe(thread)
    return Reply({"status": "unsubscribed" if was else "notSubscribed"})


@method("thread/archive")
def archive(connection, params):
    return archived(connection, params, True)


@method("thread/unarchive")
def unarchive(connection, params):
    return archived(connection, params, False)


def archived(connection, params, value):
    thread, is_loaded = stored(connection, params)
    if not is_loaded and not connection.server.disk.lock(thread.id):
        raise Refusal(f"thread {thread.id} already has an active writer")
    thread.record["archived"] = value
    thread.save()
    connection.server.unload(thread)
    return Reply({})


@method("thread/name/set")
def name_set(connection, params):
    thread, _ = stored(connection, params)
    thread.record["name"] = params["name"]
    thread.save()
    return Reply({})


for _name in ("get", "set", "clear"):
    @method(f"thread/goal/{_name}")
    def goal(connection, params):
        if connection.server.has_goals:
            return Reply({"goal": None})
        raise Refusal("goals feature is disabled")


# Turns

@method("turn/start")
def turn_start(connection, params):
    thread = loaded(connection, params)
    content = params.get("input") or []
    text = "".join(part.get("text", "") for part in content if part.get("type") == "text")
    if len(text) > MAX_INPUT:
        raise Refusal("input is too large", -32602, {"input_error_code": "input_too_large", "max_chars": MAX_INPUT})
    if any(part.get("type") == "image" and not part["url"].startswith("data:") for part in content):
        raise Refusal("Invalid request: image url must be a data url")
    if connection.server.disk.habit("refuses_turns"):
        raise Refusal(connection.server.disk.habit("refuses_turns"), -32603)
    content = [part | ({"text_elements": []} if part["type"] == "text" else {}) for part in content]
    if thread.turn:
        # Merged silently: the same turn, and no event.
        thread.turn.steers.append((text, params.get("clientUserMessageId")))
        return Reply({"turn": thread.turn.shown()})
    if params.get("model"):
        thread.settings["model"] = params["model"]
    if effort := params.get("effort"):
        known = [known["reasoningEffort"] for known in EFFORTS]
        if effort not in known:
            raise Refusal(f"Invalid request: unknown variant `{effort}`, expected one of {', '.join(f'`{word}`' for word in known)}")
        # The effort stays for later turns.
        thread.settings["effort"] = effort
    thread.save_empty()
    turn = thread.turn = Turn(thread, text, params.get("clientUserMessageId"), content)
    connection.server.disk.note("started", {"thread": thread.id, "turn": turn.id, "params": params,
                                            "effort": thread.settings.get("effort")})
    return Reply({"turn": turn.shown()}, lambda: connection.server.run(turn))


@method("turn/steer")
def turn_steer(connection, params):
    thread = loaded(connection, params)
    if not thread.turn or not thread.turn.is_started:
        raise Refusal("no active turn to steer")
    if params.get("expectedTurnId") != thread.turn.id:
        raise Refusal(f"expected active turn id {params.get('expectedTurnId')} but found {thread.turn.id}")
    text = "".join(part.get("text", "") for part in params.get("input") or [])
    thread.turn.steers.append((text, params.get("clientUserMessageId")))
    return Reply({"turnId": thread.turn.id})


@method("turn/interrupt")
def turn_interrupt(connection, params):
    thread, number = loaded(connection, params), connection.number
    connection.server.disk.note("interrupts", {"thread": thread.id, "turn": params.get("turnId")})
    if connection.server.disk.habit("ignores_interrupt"):
        return LATER
    turn = thread.turn
    if turn is None and thread.last_end == "interrupted":
        # Unanswered until another turn of the thread has ended.
        thread.unanswered.append(lambda: connection.reply(number, {}))
        return LATER
    if turn is None or not turn.is_started:
        raise Refusal("no active turn to interrupt")
    if params.get("turnId") != turn.id:
        raise Refusal(f"expected active turn id {params.get('turnId')} but found {turn.id}")
    turn.replies.append(lambda: connection.reply(number, {}))
    turn.task.cancel()
    return LATER


# Commands that outlive their turn

@method("thread/backgroundTerminals/list", experimental=True)
def terminals(connection, params):
    thread = loaded(connection, params)
    data = [{"itemId": item["id"], "processId": number, "command": item["commandActions"][0]["command"], "cwd": item["cwd"],
             "osPid": None, "cpuPercent": None, "rssKb": None} for number, (item, _) in thread.terminals.items()]
    return Reply({"data": data, "nextCursor": None})


@method("thread/backgroundTerminals/clean", experimental=True)
def clean(connection, params):
    thread = loaded(connection, params)
    connection.server.disk.note("terminated", {"thread": thread.id, "processes": list(thread.terminals)})
    return Reply({}, lambda: [task.cancel() for _, task in list(thread.terminals.values())])


@method("thread/backgroundTerminals/terminate", experimental=True)
def terminate(connection, params):
    thread = loaded(connection, params)
    if params.get("processId") not in thread.terminals:
        raise Refusal(f"no such process: {params.get('processId')}")
    connection.server.disk.note("terminated", {"thread": thread.id, "processes": [params["processId"]]})
    return Reply({}, lambda: thread.terminals[params["processId"]][1].cancel())


@method("thread/fork")
def fork(connection, params):
    source, _ = stored(connection, params)
    thread = Thread(connection.server, source.record | {"id": str(uuid.uuid4())})
    override(thread, params)
    thread.save()
    connection.server.disk.lock(thread.id)
    connection.server.threads[thread.id] = thread
    connection.subscribe(thread)
    return Reply(thread.started())
