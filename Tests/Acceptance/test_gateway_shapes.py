"""Events of the gateway's double have the kinds and members of those from running gateways (Tests/Fixtures/gateways)."""

import asyncio
import json
import unittest
from pathlib import Path

from peers.gateway import Gateway
from peers.gateway_client import GatewayClient
from peers.steps import Approval, Fail, Say, Tool
from scheduling import Scenarios, scenario

RECORDED = Path(__file__).resolve().parent.parent / "Fixtures" / "gateways"
CHAT = "agent:main:chat"
STORIES = {
    "plain": [Say(["Hello.", " The disk is 61 % full."])],
    "tools": [Say(["Let me look. "]), Tool(seconds=0.3), Say(["There is one file."]), Tool(failed=True, seconds=0.3), Say(["It says hello."])],
    "error": [Say(["I begin, "]), Fail("429 rate limit exceeded")],
    "stop": [Say(["long "] * 100, every=0.05)],
    "approval-allow": [Say(["I will make it. "]), Approval("echo made > made.txt", followup=[Say(["Done: it ran."])]), Say(["Asked."])],
}
# Members about a session and its numbers, not about a run. Most were cut from the recordings.
OF_SESSIONS = {
    "activeRunIds", "agentRuntime", "archived", "archivedAt", "category", "channel", "effectiveResponseUsage", "estimatedCostUsd",
    "goal", "hasActiveRun", "hasAutomation", "inputTokens", "label", "lastInteractionAt", "outputTokens", "pinned", "pinnedAt",
    "chatType", "contextTokens", "deliveryContext", "displayName", "kind", "lastChannel", "origin", "session", "systemSent",
    "totalTokensFresh", "runtimeMs", "thinkingLevel", "totalTokens", "unread", "updatedAt", "endedAt", "startedAt", "status"}
# Members that the double omits, or that depend on the run.
LEFT_OUT = {"message.responseId", "data.replayInvalid", "data.startedAt", "data.summary", "data.output", "data.error"}
# Kinds missing from some recordings.
KINDS = {"sessions.changed cron-bindings-loaded", "sessions.changed send"}


def shape(frame):
    """(kind, members) of an event of a run or of its session."""
    event, payload = frame.get("event"), frame.get("payload") or {}
    words, parts = [event], {"": payload}
    if event in ("agent", "session.tool"):
        data = payload["data"]
        words += [payload["stream"], data.get("phase"), data.get("status") if payload["stream"] == "lifecycle" else data.get("kind")]
        parts["data."] = data
    elif event == "chat":
        words.append(payload["state"])
    elif event == "session.message":
        words += [payload["message"]["role"], payload["message"].get("stopReason")]
        parts["message."] = payload["message"]
    elif event == "sessions.changed":
        words.append(payload.get("phase") or payload.get("reason"))
    elif event in ("exec.approval.requested", "exec.approval.resolved"):
        parts["request."] = payload["request"]
    else:
        return None
    return " ".join(filter(None, words)), {prefix + name for prefix, part in parts.items() for name in part}


def shapes(frames):
    found = {}
    for kind, members in filter(None, map(shape, frames)):
        found.setdefault(kind, set()).update(members)
    return found


def recorded(name):
    lines = [json.loads(line) for line in (RECORDED / f"{name}.jsonl").read_text().splitlines()[1:]]
    return shapes(line["frame"] for line in lines if line.get("dir") == "in" and isinstance(line.get("frame"), dict))


async def played(era, story):
    async with Gateway(era) as gateway:
        gateway.plan("q0", *STORIES[story])
        async with GatewayClient(gateway) as client:
            await client.follow(CHAT)
            await client.send("q0", CHAT, "run")
            if story == "stop":
                await asyncio.sleep(0.6)
                await client.request("chat.abort", sessionKey=CHAT, runId="run")
            elif story == "approval-allow":
                asked = await client.event("exec.approval.requested")
                await asyncio.sleep(0.2)
                gateway.has_heartbeats = False
                await client.request("exec.approval.resolve", id=asked["id"], decision="allow-once")
            await asyncio.sleep(2)
            return shapes(client.frames)


class GatewayShapeTests(Scenarios):
    async def alike(self, era):
        found = []
        for story in STORIES:
            real, double = recorded(f"{era.lower()}-{story}"), await played(era, story)
            found += [f"{story}: {kind}" for kind in (set(real) ^ set(double)) - KINDS]
            for kind in set(real) & set(double):
                differ = (real[kind] ^ double[kind]) - OF_SESSIONS - LEFT_OUT
                found += [f"{story}: {kind}: {name} {'lacks' if name in real[kind] else 'is too much'}" for name in differ]
        self.assertFalse(found, "\n".join(sorted(found)))

    @scenario(60)
    async def test_events_of_E1(self):
        await self.alike("E1")

    @scenario(60)
    async def test_events_of_E2(self):
        await self.alike("E2")

    @scenario(60)
    async def test_events_of_E3(self):
        await self.alike("E3")


if __name__ == "__main__":
    unittest.main()
