"""Files of messages: fetched once, handed to the agent whole or by name, and never left on the disk."""

import asyncio
import base64
import json
import unittest
import urllib.request

from codex_stage import CodexStage
from commands import once
from file_stories import BAD_LIMITS, FIVE, GIF, JPEG, PNG, WEBP, FilesTests, Held, nothing_left, offered, on_disk
from harness import Stage, until
from oppi_stage import OppiStage
from peers import codex_steps, oppi_steps
from peers.steps import Hold, Say
from peers.wire import next_port
from rerouted import Rerouted
from scheduling import Scenarios, scenario
from test_pi import PiStage, said
from test_sealed import sealed


class OpenClawFilesTests(FilesTests):
    @scenario(90)
    async def test_files_of_five_types_reach_the_agent_byte_for_byte(self):
        for era in ("E3", "E4"):
            async with Stage(era) as stage:
                stage.gateway.plan("Look at these.", Say(["Nice files."]))
                turn = stage.relay.ask("Look at these.", attachments=offered(stage.relay, *FIVE))
                await stage.ended(turn)
                stage.expect(turn, "Nice files.")
                self.assertEqual([tuple(file[1:]) for file in stage.gateway.files], FIVE)
                stage.check(turn)
                await nothing_left(stage)
                for request in stage.relay.fetches:
                    self.assertNotIn("authorization", request.headers)

    @scenario(90)
    async def test_earlier_gateways_get_pictures_and_the_person_reads_of_the_rest(self):
        for era in ("E1", "E2"):
            async with Stage(era) as stage:
                stage.gateway.plan("Look at these.", Say(["Nice pictures."]))
                turn = stage.relay.ask("Look at these.", attachments=offered(stage.relay, *FIVE))
                await stage.ended(turn)
                self.assertEqual([tuple(file[1:]) for file in stage.gateway.files], FIVE[:2])
                for name in ("paper.pdf", "notes.txt", "disk.img"):
                    stage.expect_said(turn, f"{name} was not passed on: this version of the agent takes pictures alone")
                    self.assertIn(f"[Not attached: {name} was not passed on", stage.gateway.sends[-1]["text"])
                stage.check(turn)
                await nothing_left(stage)

    @scenario(60)
    async def test_a_message_of_files_alone_is_a_message(self):
        async with Stage("E3") as stage:
            stage.gateway.plan("Files sent: fox.png, notes.txt", Say(["A fox."]))
            turn = stage.relay.ask("", attachments=offered(stage.relay, FIVE[0], FIVE[3]))
            await stage.ended(turn)
            stage.expect(turn, "A fox.")
            self.assertEqual([file[1] for file in stage.gateway.files], ["fox.png", "notes.txt"])
            empty = stage.relay.ask(" ")
            await stage.ended(empty)
            stage.expect_said(empty, "empty")

    @scenario(120)
    async def test_each_file_that_cannot_be_had_leaves_a_sentence_and_an_answered_message(self):
        async with Rerouted() as public, Stage("E3", configuration=BAD_LIMITS, environment=public.environment) as stage:
            await self.each_bad_file(stage, public, lambda text: f"You said: {text}", lambda: [send["text"] for send in stage.gateway.sends])
            self.assertEqual(stage.gateway.files, [])

    @scenario(60)
    async def test_no_proxy_of_the_environment_is_asked_for_a_file(self):
        asked = []

        async def proxy(reader, writer):
            asked.append(await reader.readline())
            writer.close()
        async with await asyncio.start_server(proxy, "127.0.0.1", next_port()) as server, Rerouted() as public:
            address = "http://127.0.0.1:%d" % server.sockets[0].getsockname()[1]
            proxies = {name: address for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")}
            # The relay may be reached through a proxy; this one is on this machine.
            environment = public.environment | proxies | {"no_proxy": "127.0.0.1"}
            async with Stage("E3", environment=environment) as stage:
                self.assertTrue(public.is_loaded(stage.bridge.pid))
                turn = stage.relay.ask("Look.", attachments=[{"url": f"{public.url}/a.png", "mime": "image/png", "name": "a.png"}])
                await stage.ended(turn)
                stage.expect_said(turn, "could not show who it is (TLS)")
        self.assertEqual(asked, [])

    @scenario(60)
    async def test_what_the_gateway_does_not_take_is_named_and_the_rest_goes(self):
        async with Stage("E4", start=False) as stage:
            stage.gateway.attachment_policy = {"maxBytes": 20_000, "maxImageBytes": 2_500}
            await stage.bridge.start()
            turn = stage.relay.ask("Look.", attachments=offered(stage.relay, *FIVE))
            await stage.ended(turn)
            self.assertEqual([file[1] for file in stage.gateway.files], ["photo.jpg", "paper.pdf", "notes.txt"])
            for name in ("fox.png", "disk.img"):
                stage.expect_said(turn, f"{name} was not passed on: the agent takes")
                self.assertIn(f"[Not attached: {name} was not passed on", stage.gateway.sends[-1]["text"])
            stage.check(turn)
            await nothing_left(stage)

    @scenario(60)
    async def test_the_bubble_is_there_at_once_and_a_later_message_waits(self):
        async with Stage("E3") as stage:
            held = Held(PNG)
            first = stage.relay.ask("First.", attachments=offered(stage.relay, ("fox.png", "image/png", held)))
            await until(lambda: stage.phone.bubble(first.interaction), 30, "the bubble")
            await until(lambda: stage.relay.fetches, 30, "the file is asked for")
            second = stage.relay.ask("Second.", session=first.session)
            other = stage.relay.ask("Elsewhere.")
            await stage.ended(other)
            self.assertEqual([send["text"] for send in stage.gateway.sends], ["Elsewhere."])
            held.gate.set()
            await stage.ended(first, second)
            self.assertEqual([send["text"] for send in stage.gateway.sends], ["Elsewhere.", "First.", "Second."])
            self.assertEqual([file[3] for file in stage.gateway.files], [PNG])
            stage.check(first, second, other)

    @scenario(60)
    async def test_stop_during_a_download_ends_it(self):
        async with Stage("E3") as stage:
            held = Held(PNG)
            turn = stage.relay.ask("Look.", attachments=offered(stage.relay, FIVE[3], ("fox.png", "image/png", held)))
            await until(lambda: len(stage.relay.fetches) == 2, 30, "the second file is asked for")
            self.assertEqual(len(on_disk(stage)), 2)
            stage.relay.stop(turn.session, turn.interaction)
            await stage.ended(turn)
            stage.expect(turn, "Stopped before it began, so the agent did not get this message. Please send it again if it is still meant.")
            await nothing_left(stage)
            held.gate.set()
            after = stage.relay.ask("And now?", session=turn.session)
            await stage.ended(after)
            self.assertEqual([send["text"] for send in stage.gateway.sends], ["And now?"])
            stage.check(turn, after)

    @scenario(90)
    async def test_a_kill_between_download_and_hand_over_sends_nothing_twice_and_leaves_nothing(self):
        async with Stage("E3") as stage:
            # The first message is at the agent; the second has its file and waits; the third waits for its own.
            first = stage.ask("First.", Say(["One "]), Hold("first"), Say(["done."]))
            await stage.streaming(first)
            held = Held(JPEG)
            second = stage.relay.ask("Second.", session=first.session, attachments=offered(stage.relay, FIVE[0]))
            third = stage.relay.ask("Third.", attachments=offered(stage.relay, ("photo.jpg", "image/jpeg", held)))
            await until(
                lambda: len(on_disk(stage)) == 2 and len(stage.relay.fetches) == 2, 30,
                "both files are there, or are coming")
            await stage.bridge.restart_after_kill()
            await until(lambda: len(stage.relay.fetches) == 4, 30, "the next process fetches both again")
            self.assertEqual(len(on_disk(stage)), 2)
            held.gate.set()
            stage.gateway.release("first")
            await stage.ended(first, second, third)
            self.assertEqual(sorted(file[3] for file in stage.gateway.files), sorted([PNG, JPEG]))
            self.assertEqual(sorted(send["text"] for send in stage.gateway.sends), ["First.", "Second.", "Third."])
            stage.check(first, second, third)
            await nothing_left(stage)

    @scenario(90)
    async def test_a_kill_after_hand_over_sends_nothing_twice_and_never_without_its_file(self):
        async with Stage("E3") as stage:
            stage.gateway.plan("Look.", Say(["I look "]), Hold("look"), Say(["and see."]))
            turn = stage.relay.ask("Look.", attachments=offered(stage.relay, FIVE[0]))
            await until(lambda: stage.gateway.files, 30, "the agent has the file")
            await stage.bridge.restart_after_kill()
            stage.gateway.release("look")
            await stage.ended(turn)
            stage.expect(turn, "I look and see.")
            self.assertEqual([file[3] for file in stage.gateway.files], [PNG])
            stage.check(turn)
            await nothing_left(stage)

    @scenario(60)
    async def test_a_logout_leaves_nothing_of_a_process_that_was_killed(self):
        async with Stage("E3") as stage:
            stage.relay.ask("Look.", attachments=offered(stage.relay, ("fox.png", "image/png", Held(PNG))))
            await until(lambda: on_disk(stage), 30, "the file is asked for")
            stage.bridge.kill9()
            await stage.bridge.exit()
            self.assertEqual(len(on_disk(stage)), 1)
            outcome = await once("logout", directory=stage.directory, environment=stage.environment())
            self.assertEqual(outcome.code, 0, outcome)
            self.assertEqual(on_disk(stage), [])

    @scenario(60)
    async def test_a_shutdown_leaves_nothing(self):
        async with Stage("E3") as stage:
            stage.relay.ask("Look.", attachments=offered(stage.relay, ("fox.png", "image/png", Held(PNG))))
            await until(lambda: on_disk(stage), 30, "the file is asked for")
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            self.assertEqual(on_disk(stage), [])


class PiFilesTests(FilesTests):
    @scenario(60)
    async def test_pictures_reach_pi_byte_for_byte_and_the_rest_is_named(self):
        files = [FIVE[0], FIVE[1], ("a.gif", "image/gif", GIF), ("b.webp", "image/webp", WEBP), FIVE[2]]
        for line in ("B", "L"):
            async with PiStage({"Look": [said("Nice.")]}, line) as stage:
                turn = stage.relay.ask("Look.", attachments=offered(stage.relay, *files))
                await stage.ended(turn)
                sentence = "paper.pdf was not passed on: pi takes pictures alone (PNG, JPEG, GIF, WebP)."
                stage.expect(turn, f"Nice.\n\n{sentence}")
                (prompt,) = stage.log("images")
                self.assertEqual(prompt["text"], f"Look.\n\n[Not attached: {sentence}]")
                images = [(image["mimeType"], base64.b64decode(image["data"])) for image in prompt["images"]]
                self.assertEqual(images, [(kind, content) for _, kind, content in files[:4]])
                stage.check(turn)
                stage.check_prompts(turn)
                await nothing_left(stage)

    @scenario(120)
    async def test_each_file_that_cannot_be_had_leaves_a_sentence_and_an_answered_message(self):
        async with Rerouted() as public, PiStage(
                {"What": [said("Nothing.")]}, configuration=BAD_LIMITS, environment=public.environment) as stage:
            await self.each_bad_file(stage, public, lambda _: "Nothing.", lambda: stage.log("prompts"))
            self.assertEqual(stage.log("images"), [])

    @scenario(60)
    async def test_a_picture_alone_and_one_that_is_missing(self):
        async with PiStage({"Files sent": [said("A fox.")]}) as stage:
            alone = stage.relay.ask("", attachments=offered(stage.relay, FIVE[0]))
            await stage.ended(alone)
            stage.expect(alone, "A fox.")
            missing = stage.relay.ask("", attachments=[{"url": f"{stage.relay.url}/none", "mime": "image/png", "name": "b.png"}])
            await stage.ended(missing)
            stage.expect(missing, "b.png could not be fetched: the server answered 404.")
            self.assertEqual([prompt["text"] for prompt in stage.log("images")], ["Files sent: fox.png"])
            stage.check_prompts(alone)
            await nothing_left(stage)


class OppiFilesTests(FilesTests):
    @scenario(60)
    async def test_pictures_reach_oppi_byte_for_byte_and_the_rest_is_named(self):
        files = [FIVE[0], FIVE[1], ("a.gif", "image/gif", GIF), ("b.webp", "image/webp", WEBP), FIVE[2]]
        for dialect in ("seed", "head"):
            async with OppiStage(dialect) as stage:
                stage.oppi.plan("Look", oppi_steps.Say(["Nice."]))
                turn = stage.relay.ask("Look.", attachments=offered(stage.relay, *files))
                await stage.ended(turn)
                sentence = "paper.pdf was not passed on: Oppi takes pictures alone (PNG, JPEG, GIF, WebP)."
                stage.expect(turn, f"Nice.\n\n{sentence}")
                text = f"Look.\n\n[Not attached: {sentence}]"
                self.assertEqual(stage.oppi.images, [(text, kind, content) for _, kind, content in files[:4]])
                self.assertEqual(stage.oppi.prompts(), [text])
                stage.check(turn)
                await nothing_left(stage)

    @scenario(120)
    async def test_each_file_that_cannot_be_had_leaves_a_sentence_and_an_answered_message(self):
        async with Rerouted() as public, OppiStage("head", configuration=BAD_LIMITS, environment=public.environment) as stage:
            stage.oppi.plan("What", oppi_steps.Say(["Nothing."]))
            await self.each_bad_file(stage, public, lambda _: "Nothing.", stage.oppi.prompts)
            self.assertEqual(stage.oppi.images, [])

    @scenario(60)
    async def test_a_kill_while_a_picture_is_fetched_sends_it_once(self):
        async with OppiStage("head") as stage:
            held = Held(PNG)
            turn = stage.relay.ask("", attachments=offered(stage.relay, ("fox.png", "image/png", held)))
            await until(lambda: stage.relay.fetches, 30, "the file is asked for")
            await stage.bridge.restart_after_kill()
            held.gate.set()
            await stage.ended(turn)
            self.assertEqual(stage.oppi.images, [("Files sent: fox.png", "image/png", PNG)])
            await nothing_left(stage)


class CodexFilesTests(FilesTests):
    @scenario(90)
    async def test_pictures_reach_codex_byte_for_byte_and_the_rest_is_named(self):
        files = [FIVE[0], FIVE[1], ("a.gif", "image/gif", GIF), ("b.webp", "image/webp", WEBP), FIVE[2]]
        async with CodexStage() as stage:
            stage.codex.plan("Look", codex_steps.Say(["Nice."]))
            # The agent reads the files some time after its answer.
            stage.codex.habits(message_after=0.3)
            turn = stage.relay.ask("Look.", attachments=offered(stage.relay, *files))
            await stage.ended(turn)
            sentence = "paper.pdf was not passed on: Codex takes pictures alone (PNG, JPEG, GIF, WebP)."
            stage.expect(turn, f"Nice.\n\n{sentence}")
            text = f"Look.\n\n[Not attached: {sentence}]"
            seen = [(image["text"], base64.b64decode(image["content"])) for image in stage.codex.log("images")]
            self.assertEqual(seen, [(text, content) for _, _, content in files[:4]])
            self.assertEqual(stage.codex.texts(), [text])
            stage.check(turn)
            await nothing_left(stage)

    @scenario(90)
    async def test_a_picture_alone_and_a_file_that_codex_does_not_take(self):
        async with CodexStage() as stage:
            stage.codex.plan("Files sent", codex_steps.Say(["A fox."]))
            alone = stage.relay.ask("", attachments=offered(stage.relay, FIVE[0]))
            await stage.ended(alone)
            stage.expect(alone, "A fox.")
            paper = stage.relay.ask("", attachments=offered(stage.relay, FIVE[2]))
            await stage.ended(paper)
            stage.expect_said(paper, "None of its files could be passed on")
            stage.expect_said(paper, "paper.pdf was not passed on")
            self.assertEqual(stage.codex.texts(), ["Files sent: fox.png"])
            await nothing_left(stage)

    @scenario(120)
    async def test_each_file_that_cannot_be_had_leaves_a_sentence_and_an_answered_message(self):
        async with Rerouted() as public, CodexStage(configuration=BAD_LIMITS, environment=public.environment) as stage:
            stage.codex.plan("What", codex_steps.Say(["Nothing."]))
            await self.each_bad_file(stage, public, lambda _: "Nothing.", stage.codex.texts)
            self.assertEqual(stage.codex.log("images"), [])

    @scenario(90)
    async def test_a_kill_while_a_picture_is_fetched_sends_it_once(self):
        async with CodexStage() as stage:
            stage.codex.plan("Files sent", codex_steps.Say(["A fox."]))
            held = Held(PNG)
            turn = stage.relay.ask("", attachments=offered(stage.relay, ("fox.png", "image/png", held)))
            await until(lambda: stage.relay.fetches, 30, "the file is asked for")
            await stage.bridge.restart_after_kill()
            held.gate.set()
            await stage.ended(turn)
            self.assertEqual([base64.b64decode(image["content"]) for image in stage.codex.log("images")], [PNG])
            await nothing_left(stage)


class SealedFilesTests(Scenarios):
    @scenario(90)
    async def test_files_of_a_sealed_chat_reach_the_agent_and_what_is_said_of_them_is_sealed(self):
        async with sealed(era="E3") as talk:
            url = talk.stage.simulator.url

            def upload(name, options=""):
                request = urllib.request.Request(f"{url}/v1/simulator/files?name={name}{options}", PNG, {
                    "Content-Type": "image/png", "Authorization": f"Bearer {talk.stage.simulator.user_token}"})
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return json.load(answer)["result"]
            fox, gone = await talk.do(upload, "fox.png"), await talk.do(upload, "gone.png", "&status=404")
            chat = await talk.chat()
            talk.stage.gateway.plan("Look.", Say(["A fox."]))
            looked = await talk.do(talk.phone.send, chat, "Look.", attachments=[fox, gone])
            line = "gone.png could not be fetched: the server answered 404."
            self.assertEqual((await talk.ended(looked))["text"], f"A fox.\n\n{line}")
            talk.stage.gateway.plan("Files sent: fox.png", Say(["The same fox."]))
            alone = await talk.do(talk.phone.send, chat, "", attachments=[fox])
            self.assertEqual((await talk.ended(alone))["text"], "The same fox.")
            self.assertEqual([file[1:] for file in talk.stage.gateway.files], [("fox.png", "image/png", PNG)] * 2)
            self.assertEqual(await talk.stage.simulator.breaches(), [])


if __name__ == "__main__":
    unittest.main()
