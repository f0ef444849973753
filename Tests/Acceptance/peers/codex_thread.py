"""A loaded thread of the scripted Codex: its subscribers, its pending requests, its stored record (codex.md)."""

import asyncio
import time
import uuid
from dataclasses import dataclass

USAGE = {"totalTokens": 1240, "inputTokens": 1200, "cachedInputTokens": 400, "cacheWriteInputTokens": 0, "outputTokens": 40,
         "reasoningOutputTokens": 10}
SANDBOXES = {
    "read-only": {"type": "readOnly", "networkAccess": False},
    "workspace-write": {"type": "workspaceWrite", "writableRoots": [], "networkAccess": False, "excludeTmpdirEnvVar": False,
                        "excludeSlashTmp": False},
    "danger-full-access": {"type": "dangerFullAccess"}}
DEFAULTS = {"model": "gpt-5.5", "approvalPolicy": "on-request", "approvalsReviewer": "user", "sandbox": "read-only"}

LIMITS = {"limitId": "codex"} | dict.fromkeys(("limitName", "normalModelSlug", "primary", "secondary", "credits", "individualLimit",
                                               "spendControlReached", "planType", "rateLimitReachedType"))


def milliseconds():
    return int(time.time() * 1000)


@dataclass(eq=False)
class Request:
    """A request to the clients of a thread."""
    method: str
    params: dict
    answer: asyncio.Future
    turn: object


class Thread:
    def __init__(self, server, record=None, cwd="/", is_stored=True):
        self.server = server
        now = int(time.time())
        self.record = record or {"id": str(uuid.uuid4()), "cwd": cwd, "settings": dict(DEFAULTS), "turns": [], "requests": 0,
                                 "created": now, "archived": False, "name": None}
        self.is_stored = is_stored
        self.subscribers = []
        self.status = {"type": "idle"}
        self.turn = None
        """The running turn."""
        self.last_end = None
        self.requests = {}
        """JSON-RPC id -> pending request to the clients."""
        self.grants = set()
        """Commands and tools allowed for this thread."""
        self.terminals = {}
        """Process id -> (item, task) of a command that outlives its turn."""
        self.unanswered = []
        """Replies to interrupts of an interrupted turn: they come with the end of the next one."""

    @property
    def id(self):
        return self.record["id"]

    @property
    def settings(self):
        return self.record["settings"]

    def shown(self, is_loaded=True):
        record = self.record
        first = next((item for turn in record["turns"] for item in turn["items"] if item["type"] == "userMessage"), None)
        return {"id": self.id, "environments": [{"environmentId": "local", "cwd": record["cwd"],
                                                 "runtimeWorkspaceRoots": [record["cwd"]]}] if is_loaded else None,
                "extra": None, "sessionId": self.id, "forkedFromId": None, "parentThreadId": record.get("parent"),
                "preview": first["content"][0].get("text", "") if first else "", "ephemeral": False, "section": None,
                "sectionEnteredAt": None, "projectId": None, "historyMode": "paginated", "modelProvider": "scripted",
                "model": self.settings["model"], "reasoningEffort": self.settings.get("effort"), "createdAt": record["created"],
                "updatedAt": int(time.time()), "recencyAt": record["created"],
                "status": self.status if is_loaded else {"type": "notLoaded"}, "path": f"/nowhere/rollout-{self.id}.jsonl",
                "cwd": record["cwd"], "cliVersion": self.server.version, "originator": "peer", "source": "vscode",
                "canAcceptDirectInput": True if is_loaded else None, "threadSource": None, "agentNickname": None, "agentRole": None,
                "gitInfo": None, "name": record["name"], "daybreakEnabled": None, "turns": []}

    def started(self):
        """Fields that the replies to start and resume share."""
        settings = self.settings
        return {"thread": self.shown(), "model": settings["model"], "modelProvider": "scripted", "serviceTier": None,
                "disabledPluginIds": [], "cwd": self.record["cwd"], "runtimeWorkspaceRoots": [self.record["cwd"]],
                "instructionSources": [], "approvalPolicy": settings["approvalPolicy"],
                "approvalsReviewer": settings["approvalsReviewer"], "sandbox": SANDBOXES[settings["sandbox"]],
                "activePermissionProfile": None, "reasoningEffort": settings.get("effort"), "multiAgentMode": "explicitRequestOnly"}

    # Writing

    def save(self):
        self.is_stored = True
        self.server.disk.save(self.id, self.record)

    def save_empty(self):
        """Makes the file of an unused thread at its first turn; it is empty before the first output."""
        if not self.is_stored:
            self.is_stored = True
            self.server.disk.save(self.id, None)

    # Sending

    def notify(self, method, **params):
        frame = {"method": method, "params": {"threadId": self.id} | params}
        for connection in list(self.subscribers):
            connection.notify(frame)

    def set_status(self, kind=None):
        """Sets the status and notifies every connection, subscribed or not."""
        kind = kind or self.status["type"]
        status = {"type": kind}
        if kind == "active":
            asks = [request.method for request in self.requests.values()]
            waiting = "waitingOnUserInput" if any("requestUserInput" in method for method in asks) else "waitingOnApproval"
            status["activeFlags"] = [waiting] if asks else []
        if status != self.status:
            self.status = status
            self.server.broadcast({"method": "thread/status/changed", "params": {"threadId": self.id, "status": status}})

    def add_usage(self):
        self.record["requests"] += 1
        self.save()

    def report_usage(self, turn, connection=None):
        """Reports usage to all subscribers with the account's limits, or to one that has just resumed."""
        count = self.record["requests"]
        if not count:
            return
        usage = {"total": {name: value * count for name, value in USAGE.items()}, "last": USAGE, "modelContextWindow": 258400}
        frame = {"method": "thread/tokenUsage/updated", "params": {"threadId": self.id, "turnId": turn, "tokenUsage": usage}}
        if connection:
            return connection.notify(frame)
        for connection in list(self.subscribers):
            connection.notify(frame)
            connection.notify({"method": "account/rateLimits/updated", "params": {"rateLimits": LIMITS}})

    # Asking

    async def ask(self, method, _first=None, _keeps_status=False, **params):
        """The first connection's answer, or None for an error. Request numbers count over all threads."""
        number = self.server.next_request()
        request = self.requests[number] = Request(method, {"threadId": self.id} | params, asyncio.get_running_loop().create_future(), self.turn)
        if not _keeps_status:
            self.set_status("active")
        if _first:
            _first()
        for connection in list(self.subscribers):
            connection.send({"method": method, "id": number, "params": request.params})
        return await self.answer_to(request, _keeps_status)

    async def answer_to(self, request, _keeps_status=False):
        try:
            return await request.answer
        finally:
            # The request may have been renumbered.
            number = next(key for key, entry in self.requests.items() if entry is request)
            del self.requests[number]
            if request.answer.cancelled() and request.turn:
                request.turn.cleared.append(number)
            else:
                self.notify("serverRequest/resolved", requestId=number)
                if not _keeps_status:
                    self.set_status()

    def ask_again(self, connection):
        """Repeats pending requests after the reply to a resume, with the same numbers, or with new ones under the habit `renumber`."""
        for number in list(self.requests):
            request = self.requests[number]
            if self.server.disk.habit("renumber"):
                del self.requests[number]
                number = self.server.next_request()
                self.requests[number] = request
            connection.send({"method": request.method, "id": number, "params": request.params})

    def answered(self, connection, number, result):
        """Whether the number was one of this thread's. Answers of connections without a subscription, and invalid ones, are dropped."""
        if number not in self.requests:
            return False
        request = self.requests[number]
        if connection in self.subscribers and not request.answer.done():
            item, turn = request.params.get("itemId"), request.params.get("turnId")
            self.server.disk.note("answers", {"method": request.method, "item": item, "turn": turn, "result": result})
            request.answer.set_result(result)
        return True
