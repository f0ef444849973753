"""Models: listed for the phone, set before the message that names them, and reported if they cannot be set."""

import unittest

from harness import Stage, until
from oppi_stage import OppiStage, in_both
from peers.errors import MethodError
from peers.steps import Hold, Say
from pi_home import said
from pi_stage import LINES, PiStage
from scheduling import Scenarios, scenario
from stories import ERAS

ADMIN = {"connections": [{"agent": {"kind": "openclaw", "admin": True}}]}
BIG, SMALL = "acme/quill-2", "acme/nib-1"


def listed_in_era(era):
    @scenario(60)
    async def test(self):
        async with Stage(era) as stage:
            answer = await stage.relay.request("models.list.req")
            self.assertEqual([model["id"] for model in answer["models"]], [BIG, SMALL])
            self.assertEqual(answer["models"][0]["contextWindow"], 200_000)
            self.assertEqual(answer["models"][1]["alias"], "nib")
    return test


def set_in_era(era):
    @scenario(90)
    async def test(self):
        async with Stage(era, start=False) as stage:
            stage.configure(ADMIN)
            await stage.bridge.start()
            one = stage.relay.ask("One?", model=BIG)
            await stage.ended(one)
            # Two messages wait while the model changes between them: each gets its own.
            stage.gateway.plan("Two?", Say(["I think."]), Hold("two"))
            two = stage.relay.ask("Two?", session=one.session, model=SMALL)
            await stage.streaming(two)
            three = stage.relay.ask("Three?", session=one.session, model=BIG)
            stage.relay.choose_model(one.session, None)
            four = stage.relay.ask("Four?", session=one.session, model=None)
            stage.gateway.release("two")
            await stage.ended(two, three, four)
            models = [BIG, SMALL, BIG, None]
            self.assertEqual(stage.gateway.answered, list(zip(["One?", "Two?", "Three?", "Four?"], models)))
            stage.expect(one, "You said: One?")
            stage.check(one, two, three, four)
    return test


def refused_in_era(era):
    @scenario(90)
    async def test(self):
        """A gateway that requires the missing scope: one line at the first refusal, one at the third, then silence."""
        async with Stage(era) as stage:
            session, texts = stage.relay.new_session(), []
            for number in range(5):
                turn = stage.relay.ask(f"Hello {number}?", session=session, model="acme/none")
                await stage.ended(turn)
                texts.append(stage.phone.by_interaction[turn.interaction].final)
            self.assertEqual([text.splitlines()[0] for text in texts], [f"You said: Hello {number}?" for number in range(5)])
            self.assertIn("The model acme/none could not be set", texts[0])
            self.assertIn("refused the model acme/none 3 times", texts[2])
            self.assertEqual([len(text.splitlines()) for text in (texts[1], texts[3], texts[4])], [1, 1, 1])
    return test


class GatewayModelTests(Scenarios):
    for era in ERAS:
        vars()[f"test_listed_in_{era}"] = listed_in_era(era)
        vars()[f"test_set_before_their_messages_in_{era}"] = set_in_era(era)
        vars()[f"test_refused_in_{era}"] = refused_in_era(era)

    @scenario(90)
    async def test_over_kills_and_lost_links_each_message_has_its_own(self):
        async with Stage("E4") as stage:
            one = stage.relay.ask("One?", model=BIG)
            await stage.ended(one)
            await stage.bridge.restart_after_kill()
            # The next process knows that the session's model must be reset.
            two = stage.relay.ask("Two?", session=one.session, model=None)
            await stage.ended(two)
            stage.gateway.cut()
            three = stage.relay.ask("Three?", session=one.session, model=SMALL)
            await stage.bridge.restart_after_kill()
            await stage.ended(three)
            self.assertEqual(stage.gateway.answered, [("One?", BIG), ("Two?", None), ("Three?", SMALL)])
            stage.check(one, two, three)

    @scenario(60)
    async def test_a_gateway_in_trouble_holds_up_no_message(self):
        async with Stage("E4") as stage:
            stage.gateway.patch_answers.append(MethodError("UNAVAILABLE", "the store is locked"))
            one = stage.relay.ask("One?", model=BIG)
            await stage.ended(one)
            self.assertIn("the store is locked", stage.phone.by_interaction[one.interaction].final)
            two = stage.relay.ask("Two?", session=one.session, model=BIG)
            await stage.ended(two)
            stage.expect(two, "You said: Two?")
            self.assertEqual(stage.gateway.answered, [("One?", None), ("Two?", BIG)])

    @scenario(60)
    async def test_a_name_of_ten_kilobytes_or_no_text_is_refused(self):
        async with Stage("E4") as stage:
            for model in ("x" * 10_000, "two words", {"id": "big"}, 7):
                turn = stage.relay.ask("Hello?", model=model)
                await stage.ended(turn)
                text = stage.phone.by_interaction[turn.interaction].final
                self.assertTrue(text.startswith("You said: Hello?\n\nThe chosen model was not set"), text[:200])
                self.assertLess(len(text), 400)
            stage.relay.choose_model(turn.session, "x" * 10_000)
            await until(lambda: not stage.relay.updates, 30, "the update is acknowledged")
            self.assertEqual(stage.gateway.patches, [])

    @scenario(60)
    async def test_what_a_run_cost_and_why_it_ended(self):
        async with Stage("E4") as stage:
            stage.gateway.usage = {"input": 120, "output": 30, "cost": {"total": 0.25}}
            stage.gateway.stop_reason = "max_tokens"
            turn = stage.relay.ask("Hello?", model=BIG)
            await stage.ended(turn)
            bubble = stage.phone.by_interaction[turn.interaction]
            self.assertEqual(bubble.usage, {"input_tokens": 120, "output_tokens": 30, "estimated_cost_usd": 0.25,
                                            "model": "quill-2", "provider": "acme"})
            self.assertEqual(bubble.finish_reason, "length")


class OppiModelTests(Scenarios):
    @in_both(scenario(90))
    async def test_listed_and_set(self, dialect):
        async with OppiStage(dialect) as stage:
            answer = await stage.relay.request("models.list.req")
            self.assertEqual([model["id"] for model in answer["models"]], [BIG, SMALL])
            one = stage.relay.ask("One?", model=SMALL)
            await stage.ended(one)
            two = stage.relay.ask("Two?", session=one.session, model=SMALL)
            await stage.ended(two)
            await stage.bridge.restart_after_kill()
            three = stage.relay.ask("Three?", session=one.session, model=None)
            await stage.ended(three)
            bad = stage.relay.ask("Four?", session=one.session, model="acme/none")
            await stage.ended(bad)
            notes = [(note["text"], note["model"]) for note in stage.oppi.disk.notes("prompts")]
            self.assertEqual(notes, [("One?", SMALL), ("Two?", SMALL), ("Three?", BIG), ("Four?", BIG)])
            self.assertIn("Model not found", stage.phone.by_interaction[bad.interaction].final)
            usage = stage.phone.by_interaction[one.interaction].usage
            self.assertEqual((usage["model"], usage["provider"]), ("nib-1", "acme"))
            self.assertGreater(usage["output_tokens"], 0)
            answer = await stage.relay.request("cron.list.req", params={})
            self.assertEqual(answer["error"]["code"], "cron_list_failed")
            self.assertIn("no routines", answer["error"]["message"])


class PiModelTests(Scenarios):
    @scenario(120)
    async def test_listed_and_set(self):
        for line in LINES:
            async with PiStage({"": [said("Yes.")]}, line, pi={"models": ["acme/big/2"]}) as stage:
                answer = await stage.relay.request("models.list.req")
                self.assertEqual([model["id"] for model in answer["models"]], ["test/model", "acme/big/2"])
                one = stage.relay.ask("One?", model="acme/big/2")
                await stage.ended(one)
                two = stage.relay.ask("Two?", session=one.session, model="acme/none")
                await stage.ended(two)
                self.assertIn("Model not found", stage.phone.by_interaction[two.interaction].final)
                await stage.bridge.restart_after_kill()
                three = stage.relay.ask("Three?", session=one.session, model="acme/big/2")
                await stage.ended(three)
                four = stage.relay.ask("Four?", session=one.session)
                await stage.ended(four)
                models = ["acme/big/2", "acme/big/2", "acme/big/2", "test/model"]
                self.assertEqual(stage.log("models"), [list(each) for each in zip(["One?", "Two?", "Three?", "Four?"], models)])
                usage = stage.phone.by_interaction[one.interaction].usage
                self.assertEqual(usage, {"input_tokens": 10, "output_tokens": 5, "estimated_cost_usd": 0.001,
                                         "model": "big/2", "provider": "acme"})
                self.assertEqual(stage.phone.by_interaction[one.interaction].finish_reason, "stop")
                answer = await stage.relay.request("cron.add.req", params={"name": "x"})
                self.assertEqual(answer["error"]["code"], "cron_add_failed")

    @scenario(60)
    async def test_a_pi_that_dies_of_a_model_still_gets_the_message(self):
        async with PiStage({"": [said("Yes.")]}, "L", pi={"models": ["acme/big"], "dies_of_models": True}) as stage:
            turn = stage.relay.ask("One?", model="acme/big")
            await stage.ended(turn, seconds=40)
            self.assertTrue(stage.phone.by_interaction[turn.interaction].final.startswith("Yes.\n\nThe model acme/big could not"))
            self.assertEqual(stage.log("prompts"), ["One?"])


if __name__ == "__main__":
    unittest.main()
