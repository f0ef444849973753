"""Approvals under trouble: the gateway away, a second tap, a late tap, another client, no person at all."""

import unittest

from harness import Stage, until
from peers.steps import Approval, Say, Wait
from scheduling import Scenarios, scenario
from stories import with_approval


class ApprovalTests(Scenarios):
    async def tapped_while_away(self, era, kill):
        async with Stage(era) as stage:
            steps, final = with_approval("away", era)
            turn = stage.ask("away", *steps)
            name = await stage.approval(turn)
            await stage.gateway.go_away()
            connects = len(stage.gateway.connects)
            stage.relay.decide(name, "approve")
            await until(lambda: not stage.relay.updates, 30, "the decision acknowledged")
            if kill:
                await stage.bridge.restart_after_kill(ready_seconds=0)
            self.assertEqual(stage.gateway.commands, [])
            await stage.gateway.come_back()
            await stage.link_up(40, since=connects)
            await stage.ended(turn, seconds=40)
            stage.expect(turn, final)
            self.assertEqual(len(stage.gateway.commands), 1)
            stage.check(turn)

    @scenario(100)
    async def test_tapped_while_the_gateway_is_away_is_delivered_when_it_is_back_in_E2(self):
        await self.tapped_while_away("E2", kill=False)

    @scenario(100)
    async def test_tapped_while_the_gateway_is_away_is_delivered_when_it_is_back_in_E3(self):
        await self.tapped_while_away("E3", kill=False)

    @scenario(100)
    async def test_tapped_while_the_gateway_is_away_is_delivered_when_it_is_back_in_E4(self):
        await self.tapped_while_away("E4", kill=False)

    @scenario(100)
    async def test_tapped_while_the_gateway_is_away_survives_a_kill(self):
        await self.tapped_while_away("E4", kill=True)

    async def tapped_twice(self, era):
        async with Stage(era) as stage:
            steps, final = with_approval("twice", era)
            turn = stage.ask("twice", *steps)
            name = await stage.approval(turn)
            for _ in range(2):
                stage.relay.decide(name, "approve")
            await stage.ended(turn)
            stage.relay.decide(name, "deny")
            await until(lambda: not stage.relay.updates, 30, "the late tap acknowledged")
            stage.expect(turn, final)
            self.assertEqual(len(stage.gateway.commands), 1)
            self.assertEqual(stage.gateway.resolve_calls, [(name, "allow-once")])
            stage.check(turn)

    @scenario(60)
    async def test_tapped_twice_is_applied_once_in_E1(self):
        await self.tapped_twice("E1")

    @scenario(60)
    async def test_tapped_twice_is_applied_once_in_E4(self):
        await self.tapped_twice("E4")

    async def expired(self, era, detached):
        async with Stage(era) as stage:
            # The run lasts long enough to keep its end apart from the news of the expiry.
            turn = stage.ask("too late", Say(["May I? "]),
                             Approval("uptime", detached=detached, expires_seconds=5, followup=[Say(["Never."])]),
                             *([] if detached else [Wait(2), Say(["Nobody said yes."])]))
            name = await stage.approval(turn)
            await until(lambda: not stage.gateway.approvals[name].is_pending, 30, "the approval expired")
            stage.relay.decide(name, "approve")
            await stage.ended(turn, seconds=30)
            await until(lambda: not stage.relay.updates, 30, "the late tap acknowledged")
            self.assertEqual(stage.gateway.commands, [])
            self.assertTrue(stage.phone.final(turn.interaction).startswith("May I?"))
            stage.expect_said(turn, "expired", "in time", "too late", "no longer")
            stage.check(turn)

    @scenario(60)
    async def test_expired_with_a_follow_up_run_is_said_in_E1(self):
        await self.expired("E1", detached=True)

    @scenario(60)
    async def test_expired_is_said_in_E3(self):
        await self.expired("E3", detached=False)

    @scenario(60)
    async def test_expired_is_said_in_E4(self):
        await self.expired("E4", detached=False)

    @scenario(90)
    async def test_expired_with_a_follow_up_run_is_said_in_E2(self):
        await self.expired("E2", detached=True)

    @scenario(60)
    async def test_decided_elsewhere_goes_on_and_a_later_tap_changes_nothing(self):
        for era in ("E2", "E4"):
            async with Stage(era) as stage:
                steps, final = with_approval("elsewhere", era)
                turn = stage.ask("elsewhere", *steps)
                name = await stage.approval(turn)
                stage.gateway.approvals[name].decide("allow-once", "the desk")
                await stage.ended(turn)
                stage.relay.decide(name, "deny")
                await until(lambda: not stage.relay.updates, 30, "the late tap acknowledged")
                self.assertTrue(stage.phone.final(turn.interaction).startswith(final))
                self.assertEqual(len(stage.gateway.commands), 1)
                self.assertEqual(stage.gateway.resolve_calls, [])
                stage.check(turn)

    @scenario(60)
    async def test_a_deny_of_the_relay_itself_is_told_apart_and_runs_nothing(self):
        async with Stage("E4") as stage:
            turn = stage.ask("auto", Say(["May I? "]), Approval("uptime", detached=False), Say(["I may not."]))
            stage.relay.decide(await stage.approval(turn), "deny", reason="policy")
            await stage.ended(turn)
            self.assertEqual(stage.gateway.commands, [])
            self.assertEqual([decision for _, decision in stage.gateway.resolve_calls], ["deny"])
            stage.check(turn)

    @scenario(60)
    async def test_a_card_that_nobody_answers_is_asked_again_and_its_old_id_is_worth_nothing(self):
        for reason in ("expired", "approval_timeout"):
            async with Stage("E4") as stage:
                steps, final = with_approval("again", "E4")
                turn = stage.ask("again", *steps)
                first = await stage.card(turn)
                self.assertEqual(stage.phone.approvals[first]["expires_in_ms"] > 0, True)
                stage.relay.expire(first, reason)
                await until(lambda: not stage.relay.updates, 30, "the end is acknowledged")
                self.assertIsNone(stage.relay.decide(first, "approve"), "the relay refuses a tap that comes too late")
                self.assertEqual(stage.gateway.resolve_calls, [])
                other = stage.ask("Are you there?", Say(["Yes."]), session=turn.session)
                second = await stage.card(turn)
                self.assertNotEqual(first, second)
                stage.relay.decide(first, "approve", crosses=True)
                await until(lambda: not stage.relay.updates, 30, "the tap on the first card is acknowledged")
                self.assertEqual(stage.gateway.resolve_calls, [])
                self.assertEqual([stage.phone.approvals[second][name] for name in ("command", "title")],
                                 [stage.phone.approvals[first][name] for name in ("command", "title")])
                stage.relay.decide(second, "approve")
                await stage.ended(turn)
                await stage.ended(other)
                self.assertEqual([decision for _, decision in stage.gateway.resolve_calls], ["allow-once"])
                self.assertEqual(len(stage.gateway.commands), 1)

    @scenario(60)
    async def test_allow_always_is_passed_on(self):
        for era in ("E1", "E4"):
            async with Stage(era) as stage:
                steps, final = with_approval("always", era)
                turn = stage.ask("always", *steps)
                stage.relay.decide(await stage.approval(turn), "approve_always")
                await stage.ended(turn)
                stage.expect(turn, final)
                self.assertEqual([decision for _, decision in stage.gateway.resolve_calls], ["allow-always"])
                stage.check(turn)

    @scenario(60)
    async def test_a_plugin_asks_too(self):
        for era in ("E2", "E4"):
            async with Stage(era) as stage:
                turn = stage.ask("plugin", Say(["The plugin: "]), Approval("send mail", detached=False, plugin=True),
                                 Say(["sent."]))
                stage.relay.decide(await stage.approval(turn), "approve")
                await stage.ended(turn)
                stage.expect(turn, "The plugin:\n\nsent.")
                self.assertEqual(len(stage.gateway.commands), 1)
                stage.check(turn)

    @scenario(60)
    async def test_an_unknown_decision_never_approves(self):
        async with Stage("E4") as stage:
            turn = stage.ask("odd", Say(["May I? "]), Approval("uptime", detached=False), Say(["Ended."]))
            name = await stage.approval(turn)
            stage.relay.decide(name, "perhaps")
            stage.relay.decide("an-approval-that-nobody-asked", "approve")
            await until(lambda: not stage.relay.updates, 30, "both decisions acknowledged")
            self.assertNotIn("allow-once", [decision for _, decision in stage.gateway.resolve_calls])
            self.assertEqual(stage.gateway.commands, [])


if __name__ == "__main__":
    unittest.main()
