"""The scripted Codex against the recordings of the real one in Tests/Fixtures/traces: frame by frame, key by key."""

import json
import tempfile
import unittest
from contextlib import asynccontextmanager
from pathlib import Path

from codex_double import CodexDouble, CodexProcess
from peers.codex_client import CodexClient
from peers.codex_steps import Change, Command, Fail, Question, Retry, Say, SubAgent, Think, Tool
from scheduling import Scenarios, scenario

TRACES = Path(__file__).resolve().parent.parent / "Fixtures" / "traces"
ASIDE = ("account/rateLimits/updated", "remoteControl/status/changed", "thread/readState/changed", "turn/diff/updated",
         "mcpServer/startupStatus/updated", "item/reasoning/summaryPartAdded")
"""Frames that a bridge ignores, or that come at other moments."""
SHOWN = ("type", "status", "phase", "source", "delivery", "exitCode", "kind", "willRetry", "mode", "reason", "decision")


@asynccontextmanager
async def codex(*arguments, **options):
    """A double, its process and a client of it."""
    with tempfile.TemporaryDirectory(prefix="codex-double-") as home:
        double = CodexDouble(Path(home) / "codex")
        async with CodexProcess(double, *arguments) as process, CodexClient(process.address, **options) as client:
            yield double, process, client


def received(name):
    """Frames received in one recording, except those about the end of the process and the socket."""
    entries = [json.loads(line) for line in (TRACES / f"codex-{name}.jsonl").read_text().splitlines()]
    return [entry["frame"] for entry in entries if entry["dir"] == "in" and not {"_proc", "_ws"} & set(entry["frame"])]


def shape(frames):
    """The properties that both must share: methods, the shown values, the names of all fields. Deltas of one item count as one."""
    shapes = []
    for frame in frames:
        if frame.get("method") in ASIDE:
            continue
        params = frame.get("params", frame.get("result", frame.get("error"))) or {}
        words = {"method": frame.get("method", "error" if "error" in frame else "reply"), "fields": sorted(params),
                 "emitted": "emittedAtMs" in frame, "request": "method" in frame and "id" in frame}
        for name in ("item", "turn", "error"):
            if isinstance(params.get(name), dict):
                words[name] = sorted(params[name]), {key: params[name][key] for key in SHOWN if key in params[name]}
        if isinstance(params.get("thread"), dict):
            words["thread"] = sorted(params["thread"])
        words |= {name: params[name] for name in SHOWN if name in params}
        if "delta" in words["method"].lower() and shapes and shapes[-1] == words:
            continue
        shapes.append(words)
    return shapes


class TraceTests(Scenarios):
    def compare(self, frames, name, begin=0, end=None):
        """`begin` and `end` count the recording's turns: frames before the first and after the last are left out."""
        ours, theirs = shape(frames), shape(received(name))
        starts = [number for number, words in enumerate(theirs) if words["method"] == "reply" and "turn" in words]
        starts += [len(theirs)]
        theirs = theirs[starts[begin]:starts[end] if end else len(theirs)]
        for number, (mine, wanted) in enumerate(zip(ours, theirs)):
            self.assertEqual(mine, wanted, f"frame {number} of {name}, after {[words['method'] for words in theirs[:number]][-5:]}")
        self.assertEqual(len(ours), len(theirs), [words["method"] for words in ours[len(theirs):] or theirs[len(ours):]])

    @scenario(60)
    async def test_the_handshake_and_a_text_turn_are_the_recording(self):
        async with codex() as (double, _, client):
            double.plan("beans", Think(["**Looking", " at beans**"]), Say(["Runner beans ", "and pole beans climb."]))
            await client.ask("account/read")
            thread = await client.thread("/home/ada/project")
            # In the recording the request came so early that the notification is behind it.
            await client.method("thread/started")
            mark = len(client.frames)
            await client.run(thread, "Which beans climb?", client="m-4")
            before, wanted = shape(client.frames[:mark]), shape(received("plain"))
            self.assertEqual([entry for entry in before if entry["method"] != "thread/started"], wanted[:3])
            self.assertEqual(before[-1], wanted[3])
            self.compare(client.frames[mark:], "plain")

    @scenario(60)
    async def test_commands_with_output_and_with_an_approval_are_the_recording(self):
        async with codex() as (double, _, client):
            double.plan("slowly", Say(["I list them."], "commentary"), Command("ls", parts=["a\n", "b\n"]), Say(["There are three."]))
            double.plan("mouldy", Say(["I ask first."], "commentary"), Command("rm -r x", None, asks="May I delete the mouldy labels?"),
                        Say(["As you decided."]))
            thread = await client.thread("/home/ada/project")
            await client.method("thread/started")
            mark = len(client.frames)
            await client.run(thread, "List the packets slowly.", client="m-3")
            turn = await client.start(thread, "Throw away the mouldy labels.", "m-4")
            await client.answer(await client.method("item/commandExecution/requestApproval"), decision="accept")
            await client.ended(turn)
            self.compare(client.frames[mark:], "command-approved")

    @scenario(60)
    async def test_a_declined_command_is_the_recording(self):
        async with codex() as (double, _, client):
            double.plan("mouldy", Say(["I ask first."], "commentary"), Command("rm -r x", None, asks="May I delete the mouldy labels?"),
                        Say(["As you decided."]))
            thread = await client.thread("/home/ada/project")
            await client.method("thread/started")
            mark = len(client.frames)
            turn = await client.start(thread, "Throw away the mouldy labels.", "m-3")
            await client.answer(await client.method("item/commandExecution/requestApproval"), decision="decline")
            await client.ended(turn)
            self.compare(client.frames[mark:], "command-declined", end=1)
            self.assertEqual(double.ran(), [])
            # `cancel` also ends the turn; the order of three of its frames is chance.
            turn = await client.start(thread, "Throw away the mouldy labels, please!", "m-4")
            asked = await client.method("item/commandExecution/requestApproval", turnId=turn)
            mark = len(client.frames)
            await client.answer(asked, decision="cancel")
            self.assertEqual((await client.ended(turn))["status"], "interrupted")
            ended = [frame["params"]["item"].get("status") for frame in client.frames[mark:] if frame["method"] == "item/completed"]
            self.assertEqual(ended, ["declined"])

    @scenario(60)
    async def test_changes_of_a_file_are_the_recording(self):
        async with codex() as (double, _, client):
            double.plan("Write", Say(["I add one file."], "commentary"), Change(), Say(["The labels are written."]))
            double.plan("broad", Change(kind="update", diff="@@ -1 +1 @@\n-beans\n+broad beans\n"), Say(["I left it alone."]))
            thread = await client.thread("/home/ada/project")
            await client.method("thread/started")
            mark = len(client.frames)
            for text, decision in (("Write the labels.", "accept"), ("Make the beans broad.", "decline")):
                turn = await client.start(thread, text)
                await client.answer(await client.method("item/fileChange/requestApproval", turnId=turn), decision=decision)
                await client.ended(turn)
            self.compare(client.frames[mark:], "file-change")
            self.assertEqual(double.ran(), ["labels.txt"])

    @scenario(60)
    async def test_errors_that_are_retried_and_those_that_end_the_turn_are_the_recording(self):
        async with codex() as (double, _, client):
            double.plan("twice", Retry(), Say(["Half a sen"], cut=True), Retry("Reconnecting... 2/2"), Say(["Third time lucky."]))
            double.plan("Always", Retry(), Retry(), Fail())
            double.plan("plan", Fail("You've hit your usage limit.", "usageLimitExceeded"))
            thread = await client.thread("/home/ada/project")
            await client.method("thread/started")
            mark = len(client.frames)
            await client.run(thread, "Fail twice.")
            self.compare(client.frames[mark:], "model-error-retry", end=1)
            mark = len(client.frames)
            await client.run(thread, "Always fail.")
            # The usage is repeated if an earlier request had succeeded.
            frames = [frame for frame in client.frames[mark:] if frame.get("method") != "thread/tokenUsage/updated"]
            self.compare(frames, "model-error-retry", begin=1, end=2)
            mark = len(client.frames)
            await client.run(thread, "Use up the plan.")
            self.compare(client.frames[mark:], "model-error-retry", begin=2)

    @scenario(60)
    async def test_interrupts_are_the_recording(self):
        async with codex() as (double, _, client):
            double.habits(started_after=0.3)
            double.plan("story", Say(["Let me think."], "commentary"), Command(), Say(["Once ", "upon "] * 200, every=0.05))
            double.plan("mouldy", Say(["I ask first."], "commentary"), Command("rm -r x", None, asks="May I delete the mouldy labels?"))
            thread = await client.thread("/home/ada/project")
            await client.method("thread/started")
            mark = len(client.frames)
            turn = await client.start(thread, "Tell me a long story.", "m-3")
            refused = await client.begin("turn/interrupt", threadId=thread, turnId=turn)
            await client.until(lambda frame: frame.get("id") == refused and "error" in frame)
            # In the middle of a message.
            await client.method("item/agentMessage/delta", delta="Once ")
            await client.begin("turn/interrupt", threadId=thread, turnId=turn)
            await client.ended(turn)
            listed = await client.turns(thread, 1)
            self.assertEqual([item["type"] for item in listed[0]["items"]], ["userMessage", "agentMessage", "commandExecution"])
            turn = await client.start(thread, "Throw away the mouldy labels.", "m-7")
            await client.method("item/commandExecution/requestApproval")
            await client.begin("turn/interrupt", threadId=thread, turnId=turn)
            await client.method("serverRequest/resolved")
            self.compare(client.frames[mark:], "interrupt")

    @scenario(60)
    async def test_steering_is_the_recording(self):
        async with codex() as (double, _, client):
            double.plan("story", Say(["Let me think."], "commentary"), Command(), Say(["Once ", "upon "] * 500, every=0.05))
            double.plan("beans", Say(["A bean grew."]))
            thread = await client.thread("/home/ada/project")
            await client.method("thread/started")
            mark = len(client.frames)
            turn = await client.start(thread, "Tell me a long story.", "m-3")
            await client.method("item/agentMessage/delta", delta="upon ")
            about = [{"type": "text", "text": "Only about beans."}]
            await client.ask("turn/steer", threadId=thread, expectedTurnId=turn, clientUserMessageId="m-steer", input=about)
            await client.ended(turn)
            await client.begin("turn/steer", threadId=thread, expectedTurnId=turn, input=about)
            await client.until(lambda frame: "error" in frame)
            self.compare(client.frames[mark:], "steer")

    @scenario(60)
    async def test_a_command_that_outlives_its_turn_is_the_recording(self):
        async with codex(experimental=True) as (double, _, client):
            double.plan("sprinkler", Command("sprinkle", "drop 1\n", ["drop 2\n"], gate="dry", outlives=True), Say(["It runs."]))
            double.plan("rain", Say(["I wait."], "commentary"), Command("sleep 30", None, gate="never"))
            thread = await client.thread("/home/ada/project")
            await client.method("thread/started")
            mark = len(client.frames)
            turn = await client.start(thread, "Start the sprinkler.", "m-3")
            await client.ended(turn)
            double.open_gate("dry")
            await client.until(lambda frame: frame.get("method") == "item/completed" and frame["params"]["item"]["type"] == "commandExecution")
            turn = await client.start(thread, "Wait for rain.", "m-4")
            await client.until(lambda frame: frame.get("method") == "item/started" and frame["params"]["turnId"] == turn
                               and frame["params"]["item"]["type"] == "commandExecution")
            await client.ask("turn/interrupt", threadId=thread, turnId=turn)
            await client.ended(turn)
            late = len(client.frames)
            self.assertEqual(len((await client.ask("thread/backgroundTerminals/list", threadId=thread))["data"]), 1)
            await client.ask("thread/backgroundTerminals/clean", threadId=thread)
            await client.method("item/completed", since=late)
            frames = client.frames[mark:]
            wanted = [frame for frame in received("background-command")]
            # In the recording more output came after the turn's end.
            wanted = [frame for number, frame in enumerate(wanted) if frame.get("method") != "item/commandExecution/outputDelta"]
            ours = [frame for frame in frames if frame.get("method") != "item/commandExecution/outputDelta"]
            theirs = shape(wanted)
            first = next(number for number, words in enumerate(theirs) if words["method"] == "reply" and "turn" in words)
            self.assertEqual([words["method"] for words in shape(ours)], [words["method"] for words in theirs[first:]])
            self.assertEqual(shape(ours)[-1], theirs[-1])

    @scenario(60)
    async def test_a_sub_agent_is_the_recording(self):
        async with codex() as (double, _, client):
            double.plan("apprentice", SubAgent("apprentice", [
                Say(["I ask first."], "commentary"), Command("rm -r x", None, asks="May I delete the mouldy labels?"),
                Say(["The labels are gone."])]), Say(["The apprentice is done."]))
            thread = await client.thread("/home/ada/project")
            await client.method("thread/started")
            mark = len(client.frames)
            turn = await client.start(thread, "Ask the apprentice.", "m-3")
            asked = await client.method("item/commandExecution/requestApproval")
            self.assertNotEqual(asked["params"]["threadId"], thread)
            await client.answer(asked, decision="accept")
            await client.ended(turn)
            # In the recording the parent's first model request ends after the child began; the order between two threads is chance.
            def of(frames, parent):
                frames = [frame for frame in frames if "params" in frame and (frame["params"].get("threadId") == parent)
                          and frame["method"] != "thread/tokenUsage/updated"]
                return shape(frames)
            theirs = received("subagent")
            parent = next(frame["result"]["thread"]["id"] for frame in theirs if "thread" in frame.get("result", {}))
            child = next(frame["params"]["item"]["agentThreadId"] for frame in theirs
                         if frame.get("params", {}).get("item", {}).get("type") == "subAgentActivity")
            self.assertEqual(of(client.frames[mark:], thread), of(theirs, parent))
            self.assertEqual(of(client.frames[mark:], asked["params"]["threadId"]), of(theirs, child))

    @scenario(60)
    async def test_questions_are_the_recording(self):
        async with codex() as (double, _, client):
            double.plan("Water", Tool(), Say(["The bed is watered."]))
            double.plan("Plan", Say(["I have a question."], "commentary"), Question())
            double.plan("Ask", Say(["Which colour?"], delivery="async", questions=[{"title": "Which colour?", "options": ["Red"]}]),
                        Say(["I go on."]))
            thread = await client.thread("/home/ada/project")
            await client.method("thread/started")
            mark = len(client.frames)
            turn = await client.start(thread, "Water the north bed.")
            await client.answer(await client.method("mcpServer/elicitation/request"), action="accept", content={},
                                _meta={"persist": "session"})
            await client.ended(turn)
            turn = await client.start(thread, "Plan the north bed.")
            asked = await client.method("item/tool/requestUserInput")
            await client.answer(asked, answers={"colour": {"answers": ["Red"]}})
            ended = await client.ended(turn)
            self.assertEqual(ended["items"][0]["text"], "got Red")
            wanted = shape(received("questions"))
            first = next(number for number, words in enumerate(wanted) if words["method"] == "reply" and "turn" in words)
            ours = shape(client.frames[mark:])
            self.assertEqual(ours, wanted[first:first + len(ours)])
            # Allowed for the thread, so no second ask comes.
            self.assertEqual((await client.run(thread, "Water the north bed, again."))["status"], "completed")
            mark = len(client.frames)
            await client.run(thread, "Ask me while you work.")
            ours = [words for words in shape(client.frames[mark:]) if words.get("item", [0, {}])[1].get("delivery") == "async"]
            theirs = [words for words in wanted if words.get("item", [0, {}])[1].get("delivery") == "async"]
            self.assertEqual(ours, theirs)


if __name__ == "__main__":
    unittest.main()
