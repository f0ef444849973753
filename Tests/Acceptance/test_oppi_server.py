"""The scripted Oppi server against the traces of oppi.md in Tests/Fixtures/traces: frame by frame, key by key."""

import json
import tempfile
import unittest
from contextlib import asynccontextmanager
from pathlib import Path

from harness import until
from peers.oppi_client import OppiClient, call
from peers.oppi_server import OppiServer
from peers.oppi_steps import Burst, Hold, Say, Tool
from scheduling import Scenarios, scenario

TRACES = Path(__file__).resolve().parent.parent / "Fixtures" / "traces"
FILES = ("piSessionId", "piSessionFile", "piSessionFiles")
SHOWN = ("type", "role", "content", "delta", "tool", "args", "command", "stage", "success", "isError", "output", "mode",
         "displaySummary", "reason", "action", "expires", "details", "catchUpComplete")


@asynccontextmanager
async def oppi(dialect, **options):
    with tempfile.TemporaryDirectory(prefix="oppi-") as home:
        async with OppiServer(home, dialect, **options) as server:
            yield server
            assert not server.faults, server.faults


async def new_session(server):
    status, body, _ = await call(server, "POST", "/workspaces/wsGarden/sessions", {"name": "Seed catalogue"})
    assert status == 201, body
    return body["session"]["id"]


def result_of(dialect):
    return "rpc_result" if dialect == "seed" else "command_result"


def trace(name):
    """Incoming frames and REST answers."""
    entries = [json.loads(line) for line in (TRACES / f"{name}.jsonl").read_text().splitlines()]
    return [entry["frame"] for entry in entries if entry["dir"] == "in"]


def frames_of(name):
    return [frame for frame in trace(name) if "type" in frame and frame["type"] not in ("state", "stream_connected")]


def shape(frames):
    """The properties that both must share: the shown values, the names of all fields, seq counted from the first."""
    frames = [frame for frame in frames if frame["type"] not in ("state", "stream_connected", "git_status")]
    base = next((frame["seq"] for frame in frames if "seq" in frame), 0)
    shown = []
    for frame in frames:
        words = {name: frame[name] for name in SHOWN if name in frame}
        words["fields"] = sorted(frame)
        if "seq" in frame:
            words["seq"] = frame["seq"] - base
        if isinstance(frame.get("data"), dict):
            words["data"] = sorted(frame["data"])
            words["complete"] = frame["data"].get("catchUpComplete")
        if "session" in frame:
            # The recorded sessions come from a server that did not name its files yet.
            words["session"] = sorted(set(frame["session"]) - {"lastMessage", "firstMessage", *FILES})
        shown.append(words)
    return shown


class TraceTests(Scenarios):
    def compare(self, frames, name, first=0):
        ours, theirs = shape(frames), shape(frames_of(name)[first:])
        for number, (mine, wanted) in enumerate(zip(ours, theirs)):
            self.assertEqual(mine, wanted, f"frame {number} of {name}")
        self.assertEqual(len(ours), len(theirs), f"{[frame['type'] for frame in ours]} for {name}")

    @scenario(60)
    async def test_a_text_run_is_the_trace(self):
        async with oppi("seed") as server:
            server.plan("beans", Say(["Runner and ", "pole beans ", "climb; bush beans do not."], thinking="Pole types."))
            session = await new_session(server)
            async with OppiClient(server) as client:
                await client.ask("subscribe", sessionId=session, level="full")
                await client.run(session, "Which beans climb?", clientTurnId="turn-01")
                # The trace streams the thinking; here it comes when the message ends.
                frames = [frame for frame in client.frames if frame["type"] != "thinking_delta"]
                wanted = [frame for frame in frames_of("oppi-text") if frame["type"] != "thinking_delta"]
                self.assertEqual(shape(frames), shape(wanted))

    @scenario(60)
    async def test_a_tool_run_is_the_trace_in_seed(self):
        async with oppi("seed") as server:
            server.plan("Count", Say(["I will look."]), Tool(args={"command": "ls packets | wc -l"}, parts=["4", "2\n"]),
                        Say(["There are ", "42 packets."]))
            session = await new_session(server)
            async with OppiClient(server) as client:
                await client.ask("subscribe", sessionId=session)
                await client.run(session, "first")
            async with OppiClient(server) as client:
                await client.ask("subscribe", sessionId=session, level="full")
                await client.run(session, "Count the seed packets.", clientTurnId="turn-02")
                self.compare(client.frames, "oppi-tool")

    @scenario(60)
    async def test_a_tool_run_is_the_trace_in_head(self):
        """The trace has three fragments of the arguments and a cut output; their number depends on the text."""
        async with oppi("head") as server:
            server.plan("Count", Say(["I will look."]), Tool(args={"command": "ls packets | wc -l"}, parts=["42\n", "x" * 20_480]),
                        Say(["There are 42 packets."]))
            session = await new_session(server)
            async with OppiClient(server) as client:
                await client.ask("subscribe", sessionId=session)
                mark = len(client.frames)
                await client.run(session, "Count the seed packets.", clientTurnId="turn-02")
                folded = []
                for frame in shape(client.frames[mark:]):
                    frame.pop("seq", None)
                    frame.pop("args", None)
                    if frame["type"] == "tool_output":
                        frame.pop("output")
                    if not folded or folded[-1] != frame:
                        folded.append(frame)
                wanted = []
                for frame in shape(frames_of("oppi-tool-head")):
                    frame.pop("seq", None)
                    frame.pop("args", None)
                    if frame["type"] == "tool_output":
                        frame.pop("output")
                    if not wanted or wanted[-1] != frame:
                        wanted.append(frame)
                self.assertEqual(folded, wanted)
                starts = [frame for frame in client.frames if frame["type"] == "tool_start"]
                self.assertGreaterEqual(len(starts), 4)
                self.assertEqual(starts[0]["args"], {})
                self.assertEqual(starts[-1]["args"], {"command": "ls packets | wc -l"})
                self.assertEqual(len({frame["seq"] for frame in starts}), len(starts))

    @scenario(60)
    async def test_a_permission_is_the_trace(self):
        async with oppi("seed") as server:
            server.plan("mouldy", Tool(args={"command": "rm -r labels/mouldy"}, parts=[], asks="Recursive delete"), Say(["Gone."]))
            session = await new_session(server)
            async with OppiClient(server) as client:
                await client.ask("subscribe", sessionId=session)
                mark = len(client.frames)
                await client.send("prompt", sessionId=session, message="Throw away the mouldy labels.")
                asked = await client.type("permission_request")
                self.assertGreater(asked["timeoutAt"], server.milliseconds())
                await client.ask("permission_response", id=asked["id"], action="allow", scope="once")
                await client.idle(mark)
                frames = [frame for frame in client.frames[mark:] if frame["type"] not in ("turn_start", "turn_end")
                          and frame.get("command") != "prompt"]
                # The trace omits the segments of the call.
                frames = [{name: value for name, value in frame.items() if name != "callSegments"} for frame in frames]
                self.compare(frames, "oppi-permission")

    @scenario(60)
    async def test_catching_up_inside_the_ring_is_the_trace(self):
        async with oppi("seed") as server:
            server.plan("east", Say(["Start with ", "carrots"]), Hold("cut"), Say([", then check the soil."]),
                        Tool("read", {"path": "soil.txt"}, [], hold=""), Hold("back"), Say(["The soil is ", "sandy."]))
            session = await new_session(server)
            async with OppiClient(server) as client:
                await client.ask("subscribe", sessionId=session)
                await client.send("prompt", sessionId=session, message="Plan the east bed.")
                await client.until(lambda frame: frame.get("delta") == "carrots")
                seen = max(frame["seq"] for frame in client.frames if "seq" in frame)
                server.cut()
                self.assertEqual(await client.closed(), 1006)
            server.release("cut")
            async with OppiClient(server) as other:
                # Another client waits for the end of the tool.
                await other.ask("subscribe", sessionId=session, sinceSeq=seen)
                await other.type("tool_end")
            async with OppiClient(server) as client:
                result = await client.ask("subscribe", sessionId=session, level="full", sinceSeq=seen)
                self.assertEqual(result["data"]["currentSeq"], seen + 3)
                mark = len(client.frames)
                server.release("back")
                await client.idle(0)
                frames = [frame for frame in client.frames if frame["type"] not in ("turn_start", "turn_end")]
                frames = [{name: value for name, value in frame.items() if name not in ("callSegments", "details")}
                          for frame in frames]
                self.assertGreater(len(client.frames), mark)
                self.compare(frames, "oppi-catchup", first=next(
                    number for number, frame in enumerate(frames_of("oppi-catchup")) if frame["type"] == "connected"))

    @scenario(60)
    async def test_catching_up_outside_the_ring_is_the_trace(self):
        async with oppi("seed") as server:
            server.plan("Thanks", Say([], unstreamed="You are welcome."))
            server.plan("many", *[Tool("read", {"path": "a"}, [])] * 200)
            session = await new_session(server)
            async with OppiClient(server) as client:
                await client.ask("subscribe", sessionId=session)
                await client.run(session, "many")
            async with OppiClient(server) as client:
                result = await client.ask("subscribe", sessionId=session, level="full", sinceSeq=27)
                self.assertFalse(result["data"]["catchUpComplete"])
                status, body, _ = await call(
                    server, "GET", f"/workspaces/wsGarden/sessions/{session}?view=full&traceView=full")
                rest = next(frame["_http"] for frame in trace("oppi-catchup-truncated") if "_http" in frame)
                self.assertEqual((status, sorted(body)), (200, sorted(rest["body"])))
                ours = {event["type"]: sorted(event) for event in body["trace"]}
                for event in rest["body"]["trace"]:
                    self.assertEqual(ours.get(event["type"], sorted(event)), sorted(event))
                status, body, _ = await call(server, "GET", f"/permissions/pending?sessionId={session}")
                self.assertEqual((status, body["pending"], sorted(body)), (200, [], ["pending", "serverTime"]))
                await client.run(session, "Thanks.")
                frames = [frame for frame in client.frames if frame["type"] not in ("turn_start", "turn_end", "text_delta")
                          and frame.get("command") != "prompt"]
                self.compare(frames, "oppi-catchup-truncated")

    @scenario(60)
    async def test_a_restart_is_the_trace(self):
        async with oppi("seed") as server:
            server.plan("Friday", Say([], unstreamed="No, rain is due."))
            session = await new_session(server)
            async with OppiClient(server) as client:
                await client.ask("subscribe", sessionId=session)
                await client.run(session, "Rain today?")
                await server.restart()
                self.assertEqual(await client.closed(), 1006)
            async with OppiClient(server) as client:
                result = await client.ask("subscribe", sessionId=session, level="full", sinceSeq=42)
                self.assertEqual((result["data"]["currentSeq"], result["data"]["catchUpComplete"]), (0, True))
                await client.run(session, "And Friday?")
                frames = [frame for frame in client.frames if frame["type"] not in ("turn_start", "turn_end", "text_delta")
                          and frame.get("command") != "prompt"]
                self.compare(frames, "oppi-restart")
                _, body, _ = await call(server, "GET", f"/workspaces/wsGarden/sessions/{session}?view=full")
                self.assertEqual([event["text"] for event in body["trace"] if event["type"] != "system"],
                                 ["Rain today?", "You said: Rain today?", "And Friday?", "No, rain is due."])

    @scenario(60)
    async def test_a_burst_drops_deltas_only_in_seed_and_never_the_text(self):
        for dialect in ("seed", "head"):
            async with oppi(dialect, recording=False) as server:
                burst = Burst(20_000, kept=8_000)
                server.plan("much", burst)
                session = await new_session(server)
                async with OppiClient(server) as client:
                    await client.ask("subscribe", sessionId=session)
                    await client.run(session, "much")
                    deltas = [frame["delta"] for frame in client.frames if frame["type"] == "text_delta"]
                    self.assertEqual(len(deltas), 8_000 if dialect == "seed" else 20_000)
                    ended = [frame for frame in client.frames if frame["type"] == "message_end"][-1]
                    self.assertEqual(ended["content"], "".join(burst.pieces()))

    @scenario(60)
    async def test_a_client_that_does_not_read_loses_deltas_in_seed(self):
        async with oppi("seed", recording=False) as server:
            server.plan("flood", Burst(20_000, "thinking_delta", 1_000), Say(["After."]))
            session = await new_session(server)
            async with OppiClient(server, max_queue=1) as client:
                await client.ask("subscribe", sessionId=session)
                client._reader.cancel()
                await client.send("prompt", sessionId=session, message="flood")
                await until(server.prompts, 30, "the prompt")
                await until(lambda: not server.activations[session].is_busy, 60, "the end of the run")
                self.assertGreater(server.sockets[0].dropped, 1_000)


if __name__ == "__main__":
    unittest.main()
