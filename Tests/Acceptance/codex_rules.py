"""The guarantees that a client of Codex may rely on (codex.md), as tests of a server: of the scripted one here, of the real one in
Tests/RealAgents. `lab` is an asynchronous context: `plan`, `release`, `asked` (texts that reached the model), `cwd`, `server` with
`address`, `path`, `start` and `kill`, `second()`, another server on the same home, and `second_on_the_same_socket()`."""

import asyncio
import os
import signal
import stat

from peers.codex_client import CodexClient, Refused
from peers.codex_steps import Change, Command, Hold, Say
from scheduling import scenario

STORY = [Say(["Let me think."], "commentary"), Command("ls packets"), Say([f"word{number} " for number in range(40)], every=0.05),
         Hold("end")]
ASKS = [Say(["I ask."], "commentary"), Command("rm -r labels/mouldy", None, asks="Delete the labels?"), Say(["As you decided."])]
REQUEST = "item/commandExecution/requestApproval"


class CodexRules:
    async def refused(self, client, method, begins, code=-32600, **params):
        with self.assertRaises(Refused) as caught:
            await client.ask(method, **params)
        self.assertEqual((caught.exception.code, caught.exception.message[:len(begins)]), (code, begins))

    @staticmethod
    def ended_calls(client):
        """Final states of commands."""
        return [frame["params"]["item"]["status"] for frame in client.frames if frame.get("method") == "item/completed"
                and frame["params"]["item"]["type"] == "commandExecution"]

    async def telling(self, lab, client, text="Tell a story."):
        """A thread with a turn in the middle of a message."""
        lab.plan("story", *STORY)
        thread = await client.thread(lab.cwd)
        turn = await client.start(thread, text, "m1")
        await client.until(lambda frame: frame.get("method") == "item/agentMessage/delta" and "word" in frame["params"]["delta"])
        return thread, turn

    @scenario(90)
    async def test_requests_that_are_refused_and_frames_that_get_no_answer(self):
        async with self.lab() as lab, CodexClient(lab.server.address, greets=False) as client:
            await self.refused(client, "account/read", "Not initialized")
            await client.greet()
            await self.refused(client, "initialize", "Already initialized", clientInfo={"name": "again", "version": "1"})
            for frame in ("not JSON", "[]", '[{"id":1,"method":"account/read","params":{}}]', '{"id":null,"method":"account/read","params":{}}',
                          '{"id":77,"result":{}}', '{"method":"what/is/this","params":{}}'):
                await client.send(frame)
            mark = len(client.frames)
            await client.send({"id": "a name", "method": "account/read", "params": {}})
            await client.until(lambda frame: frame.get("id") == "a name" and "result" in frame)
            # Replies may come in any order, but the earlier requests would have been answered by now.
            self.assertEqual([frame for frame in client.frames[mark:] if "error" in frame], [])
            await client.send({"id": 5, "method": "account/read"})
            refusal = await client.until(lambda frame: frame.get("id") == 5)
            self.assertEqual(refusal["error"]["code"], -32600)
            await self.refused(client, "no/such/method", "Invalid request: unknown variant `no/such/method`")
            await self.refused(client, "thread/start", "Invalid request: unknown variant", cwd=lab.cwd, sandbox="workspaceWrite")
            unknown = "01a2008c-34f4-7601-8e2e-5792c10f7418"
            await self.refused(client, "turn/start", "thread not found: ", threadId=unknown, input=[])
            await self.refused(client, "thread/resume", "no rollout found for thread id ", threadId=unknown)
            thread = await client.thread(lab.cwd)
            await self.refused(client, "thread/backgroundTerminals/list", "thread/backgroundTerminals/list requires experimentalApi",
                               threadId=thread)
            await self.refused(client, "turn/interrupt", "no active turn to interrupt", threadId=thread, turnId=unknown)

    @scenario(90)
    async def test_a_busy_thread_is_steered_in_silence(self):
        async with self.lab() as lab, CodexClient(lab.server.address) as client:
            lab.plan("beans", Say(["A bean grew."]))
            thread, turn = await self.telling(lab, client)
            mark = len(client.frames)
            self.assertEqual(await client.start(thread, "Only about beans.", "m2"), turn)
            ended = await client.ended(turn)
            self.assertEqual(ended["items"][0]["text"], "A bean grew.")
            self.assertNotIn("turn/started", client.methods(mark))
            listed, = await client.turns(thread)
            clients = [item["clientId"] for item in listed["items"] if item["type"] == "userMessage"]
            self.assertEqual(clients, ["m1", "m2"])
            texts = [item["text"] for item in listed["items"] if item["type"] == "agentMessage"]
            self.assertEqual(texts, ["Let me think.", "A bean grew."])

    @scenario(90)
    async def test_a_prompt_behind_one_whose_turn_has_not_begun_is_taken_into_it(self):
        async with self.lab() as lab, CodexClient(lab.server.address) as client:
            lab.plan("Count", Say([f"{number} " for number in range(40)], every=0.05))
            lab.plan("beans", Say(["A bean grew."]))
            thread = await client.thread(lab.cwd)
            await client.run(thread, "Hello.")
            mark = len(client.frames)
            for label, text in (("m1", "Count to forty."), ("m2", "Only about beans.")):
                last = await client.begin("turn/start", threadId=thread, input=[{"type": "text", "text": text}], clientUserMessageId=label)
            turn = (await client.reply(last, mark))["turn"]["id"]
            await client.ended(turn)
            self.assertEqual(client.methods(mark).count("turn/started"), 1)
            listed = (await client.turns(thread))[0]
            self.assertEqual(listed["id"], turn)
            said = [item.get("clientId") or item.get("text") for item in listed["items"] if item["type"] != "reasoning"]
            self.assertEqual(said, ["m1", "m2", "A bean grew."])

    @scenario(90)
    async def test_interrupts(self):
        async with self.lab() as lab, CodexClient(lab.server.address) as client:
            thread, turn = await self.telling(lab, client)
            other = "01a2008c-3508-7810-9786-230b9df5e35a"
            await self.refused(client, "turn/interrupt", f"expected active turn id {other} but found {turn}", threadId=thread, turnId=other)
            await client.ask("turn/interrupt", threadId=thread, turnId=turn)
            ended = await client.ended(turn)
            self.assertEqual((ended["status"], ended["items"]), ("interrupted", []))
            mark = len(client.frames)
            again = await client.begin("turn/interrupt", threadId=thread, turnId=turn)
            await client.ask("account/read")
            await asyncio.sleep(0.3)
            self.assertFalse([frame for frame in client.frames[mark:] if frame.get("id") == again and "method" not in frame])
            ended = await client.run(thread, "Hello.")
            self.assertEqual(ended["status"], "completed")
            await client.reply(again, mark)
            await self.refused(client, "turn/interrupt", "no active turn to interrupt", threadId=thread, turnId=ended["id"])
            # No item contains the streamed text.
            texts = [item.get("text") for item in (await client.turns(thread))[1]["items"]]
            self.assertFalse([text for text in texts if text and "word" in text])

    @scenario(90)
    async def test_a_label_is_no_key(self):
        async with self.lab() as lab, CodexClient(lab.server.address) as client:
            thread = await client.thread(lab.cwd)
            first = await client.run(thread, "Once.", client="m1")
            second = await client.run(thread, "Once.", client="m1")
            self.assertNotEqual(first["id"], second["id"])
            self.assertEqual(lab.asked().count("Once."), 2)

    @scenario(90)
    async def test_a_client_that_comes_back_in_the_middle_of_a_message_gets_the_rest_and_then_all_of_it(self):
        async with self.lab() as lab:
            async with CodexClient(lab.server.address) as client:
                thread, turn = await self.telling(lab, client)
                await client.cut()
            async with CodexClient(lab.server.address) as client:
                resumed = await client.resume(thread)
                self.assertEqual(resumed["thread"]["status"], {"type": "active", "activeFlags": []})
                listed, = await client.turns(thread)
                self.assertEqual((listed["status"], listed["completedAt"]), ("inProgress", None))
                lab.release("end")
                ended = await client.ended(turn)
                text = "".join(STORY[2].chunks)
                self.assertEqual(ended["items"][0]["text"], text)
                item = ended["items"][0]["id"]
                deltas = [frame["params"]["delta"] for frame in client.frames if frame.get("method") == "item/agentMessage/delta"]
                self.assertTrue(text.endswith("".join(deltas)))
                self.assertLess(len("".join(deltas)), len(text))
                self.assertFalse([frame for frame in client.frames if frame.get("method") == "item/started"
                                  and frame["params"]["item"]["id"] == item])

    @scenario(90)
    async def test_a_turn_that_ended_while_the_client_was_away_is_listed(self):
        async with self.lab() as lab:
            async with CodexClient(lab.server.address) as client:
                thread, turn = await self.telling(lab, client)
                await client.cut()
            lab.release("end")
            async with CodexClient(lab.server.address) as client:
                await client.resume(thread)
                async with asyncio.timeout(30):
                    while (listed := (await client.turns(thread))[0])["status"] == "inProgress":
                        await asyncio.sleep(0.05)
                self.assertEqual((listed["id"], listed["status"]), (turn, "completed"))
                self.assertEqual([item["text"] for item in listed["items"] if item["type"] == "agentMessage"],
                                 ["Let me think.", "".join(STORY[2].chunks)])

    @scenario(90)
    async def test_an_open_approval_is_asked_again_after_a_resume(self):
        async with self.lab() as lab:
            lab.plan("mouldy", *ASKS)
            async with CodexClient(lab.server.address) as client:
                thread = await client.thread(lab.cwd)
                turn = await client.start(thread, "Throw away the mouldy labels.")
                first = await client.method(REQUEST)
                await client.cut()
            async with CodexClient(lab.server.address) as client:
                mark = len(client.frames)
                resumed = await client.resume(thread)
                self.assertEqual(resumed["thread"]["status"]["activeFlags"], ["waitingOnApproval"])
                again = await client.method(REQUEST)
                self.assertEqual((again["id"], again["params"]["itemId"]), (first["id"], first["params"]["itemId"]))
                replied = next(number for number, frame in enumerate(client.frames[mark:]) if "result" in frame)
                self.assertGreater(client.frames[mark:].index(again), replied)
                await client.answer(again, decision="accept")
                self.assertEqual((await client.ended(turn))["items"][0]["text"], "As you decided.")

    @scenario(90)
    async def test_an_open_change_is_in_the_page_of_a_resume_and_in_no_list(self):
        async with self.lab() as lab:
            lab.plan("labels", Say(["I ask."], "commentary"), Change("../labels.txt"), Say(["As you decided."]))
            async with CodexClient(lab.server.address) as client:
                thread = await client.thread(lab.cwd)
                turn = await client.start(thread, "Write the labels.")
                first = await client.method("item/fileChange/requestApproval")
                began = next(frame["params"]["item"] for frame in client.frames if frame.get("method") == "item/started"
                             and frame["params"]["item"]["id"] == first["params"]["itemId"])
                await client.cut()
            async with CodexClient(lab.server.address, experimental=True) as client:
                resumed = await client.resume(thread, initialTurnsPage={"limit": 1, "itemsView": "full"})
                again = await client.method("item/fileChange/requestApproval")
                self.assertEqual((again["id"], again["params"]), (first["id"], first["params"]))
                page, = resumed["initialTurnsPage"]["data"]
                self.assertEqual((page["id"], page["status"]), (turn, "inProgress"))
                self.assertEqual([item for item in page["items"] if item["type"] == "fileChange"], [began])
                listed, = await client.turns(thread)
                entries = (await client.ask("thread/items/list", threadId=thread, turnId=turn))["data"]
                items = [*listed["items"], *(entry["item"] for entry in entries)]
                self.assertEqual([item for item in items if item["type"] == "fileChange"], [])
                await client.answer(again, decision="decline")
                self.assertEqual((await client.ended(turn))["items"][0]["text"], "As you decided.")

    @scenario(90)
    async def test_two_clients_are_asked_and_the_first_answer_counts(self):
        async with self.lab() as lab, CodexClient(lab.server.address) as one, CodexClient(lab.server.address) as two:
            lab.plan("mouldy", *ASKS)
            thread = await one.thread(lab.cwd)
            await one.run(thread, "Hello.")
            await two.resume(thread)
            turn = await one.start(thread, "Throw away the mouldy labels.")
            asked = await one.method(REQUEST)
            self.assertEqual((await two.method(REQUEST))["id"], asked["id"])
            await two.answer(asked, decision="decline")
            resolved = await one.method("serverRequest/resolved")
            self.assertEqual(resolved["params"], {"threadId": thread, "requestId": asked["id"]})
            await one.answer(asked, decision="accept")
            await one.ended(turn)
            self.assertEqual(self.ended_calls(one), ["declined"])
            # A refused command is in no history.
            self.assertNotIn("commandExecution", [item["type"] for item in (await one.turns(thread))[0]["items"]])

    @scenario(90)
    async def test_answers(self):
        for answer, status, text in (({"decision": "acceptForSession"}, "completed", "As you decided."),
                                     ({"decision": "no such word"}, "failed", "As you decided."),
                                     ({"decision": "cancel"}, "declined", None)):
            async with self.lab() as lab, CodexClient(lab.server.address) as client:
                lab.plan("mouldy", *ASKS)
                thread = await client.thread(lab.cwd)
                turn = await client.start(thread, "Throw away the mouldy labels.")
                await client.answer(await client.method(REQUEST), **answer)
                ended = await client.ended(turn)
                self.assertEqual(ended["items"][0]["text"] if ended["items"] else None, text)
                self.assertEqual(self.ended_calls(client), [status], answer)
                if status == "completed":
                    # `acceptForSession`: the same command is not asked again.
                    mark = len(client.frames)
                    await client.run(thread, "Throw away the mouldy labels again.")
                    self.assertNotIn(REQUEST, client.methods(mark))

    @scenario(90)
    async def test_what_a_kill_leaves(self):
        async with self.lab() as lab:
            async with CodexClient(lab.server.address) as client:
                unused = await client.thread(lab.cwd)
                thread, turn = await self.telling(lab, client)
                await lab.server.kill()
            await lab.server.start()
            async with CodexClient(lab.server.address) as client:
                await self.refused(client, "turn/start", f"thread not found: {thread}", threadId=thread, input=[])
                listed, = await client.turns(thread)
                self.assertEqual((listed["id"], listed["status"], listed["completedAt"]), (turn, "interrupted", None))
                self.assertEqual([item["type"] for item in listed["items"]], ["userMessage", "agentMessage", "commandExecution"])
                self.assertEqual(listed["items"][0]["clientId"], "m1")
                await self.refused(client, "thread/resume", "no rollout found", threadId=unused)
                resumed = await client.resume(thread)
                # A cold resume does not restore the settings of `thread/start`.
                self.assertEqual(resumed["sandbox"]["type"], "readOnly")
                usage = await client.method("thread/tokenUsage/updated")
                self.assertEqual(usage["params"]["tokenUsage"]["total"]["totalTokens"], 1240)
                self.assertEqual((await client.run(thread, "Hello."))["status"], "completed")

    @scenario(90)
    async def test_one_process_writes_a_thread(self):
        async with self.lab() as lab, CodexClient(lab.server.address) as client:
            thread, turn = await self.telling(lab, client)
            async with lab.second() as second, CodexClient(second.address) as other:
                await self.refused(other, "thread/resume", f"thread {thread} already has an active writer", threadId=thread)
                listed, = (await other.turns(thread))
                # The turn runs, but the other process reports it as interrupted.
                self.assertEqual((listed["status"], listed["completedAt"]), ("interrupted", None))
                lab.release("end")
                self.assertEqual((await client.ended(turn))["status"], "completed")
                await lab.server.kill()
                await other.resume(thread)

    @scenario(90)
    async def test_the_socket(self):
        async with self.lab() as lab:
            path = lab.server.path
            self.assertTrue(path.is_symlink())
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            self.assertEqual(await lab.second_on_the_same_socket(), 1)
            await lab.server.kill()
            self.assertTrue(path.is_symlink())
            await lab.server.start()
            async with CodexClient(lab.server.address) as client:
                thread, turn = await self.telling(lab, client)
                # The first signal lets the turn end; whether its end is reported before the socket closes is chance.
                os.kill(lab.server.process.pid, signal.SIGTERM)
                lab.release("end")
                await client.closed()
            await asyncio.wait_for(lab.server.process.wait(), 30)
            self.assertFalse(path.exists())
            await lab.server.start()
            async with CodexClient(lab.server.address) as client:
                listed, = await client.turns(thread)
                self.assertEqual(listed["status"], "completed")

    @scenario(90)
    async def test_an_archived_thread(self):
        async with self.lab() as lab, CodexClient(lab.server.address) as client:
            thread = await client.thread(lab.cwd)
            await client.run(thread, "Hello.")
            await client.ask("thread/archive", threadId=thread)
            await self.refused(client, "turn/start", f"thread not found: {thread}", threadId=thread, input=[])
            await self.refused(client, "thread/resume", f"session {thread} is archived. Run", threadId=thread)
            await client.ask("thread/unarchive", threadId=thread)
            await client.resume(thread)
            self.assertEqual((await client.run(thread, "Again."))["status"], "completed")
