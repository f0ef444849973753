"""Stop means stop: whatever the disk and the gateway do, neither a message nor a yes reaches the agent after it, and the abort does."""

import asyncio
import unittest

from harness import Stage, until
from peers.steps import Approval, Hold, Say
from scheduling import Scenarios, scenario
from slow_disk import SlowDisk
from stories import ERAS, with_approval, words


def heard(stage, *methods):
    """The gateway's accepted requests, in order: (method, run or approval, decision)."""
    found = []
    for _, _, direction, frame in stage.gateway.frames:
        if direction != "out" or not isinstance(frame, dict) or frame.get("method") not in methods:
            continue
        params = frame.get("params", {})
        name = params.get("idempotencyKey") or params.get("runId") or params.get("id")
        found.append((frame["method"], name, params.get("decision")))
    return found


RESOLVES = ("exec.approval.resolve", "approval.resolve", "plugin.approval.resolve")


def in_each_era(function):
    function.eras = True
    return function


def spread(test_class):
    for name, function in list(vars(test_class).items()):
        if getattr(function, "eras", False):
            for era in ERAS:
                async def test(self, function=function, era=era):
                    await function(self, era)
                test.__name__ = f"test_{era}_{name}"
                setattr(test_class, test.__name__, scenario(100)(test))
    return test_class


@spread
class StopTests(Scenarios):
    def expect_no_yes_after(self, stage, mark):
        decisions = [decision for _, _, decision in heard(stage, *RESOLVES)[mark:]]
        self.assertEqual(set(decisions) - {"deny"}, set(), decisions)
        self.assertEqual(stage.gateway.commands, [])

    # The disk

    @in_each_era
    async def on_a_slow_disk_the_send_comes_first_or_never(self, era):
        moments = [0.05, 0.05, 0.4, 0.55, 0.7, 0.9, 1.1, 1.3, 1.6, 2.0]
        with SlowDisk() as disk:
            async with Stage(era, environment=disk.environment) as stage:
                disk.slow()

                async def one(number, delay):
                    text = f"count {number:02}"
                    turn = stage.ask(text, Say(words(text, 3000)))
                    await asyncio.sleep(delay)
                    # Every second stop names no interaction, and stops the whole chat.
                    stage.relay.stop(turn.session, turn.interaction if number % 2 else None)
                    return turn

                turns = await asyncio.gather(*(one(*known) for known in enumerate(moments)))
                await stage.ended(*turns, seconds=40)
                await until(lambda: not stage.relay.updates, 30, "everything acknowledged")
                disk.fast()
                # A send still waiting for the disk would leave now.
                await asyncio.sleep(1)
                calls = heard(stage, "chat.send", "chat.abort")
                for key in {name for method, name, _ in calls if method == "chat.send"}:
                    order = [method for method, name, _ in calls if name == key]
                    self.assertEqual(order[0], "chat.send", f"{key}: {order}")
                    self.assertIn("chat.abort", order)
                self.assertEqual({run.state for run in stage.gateway.runs.values()} - {"aborted"}, set())
                stage.check(*turns)

    @scenario(60)
    async def test_an_allow_that_waits_for_the_disk_never_leaves_after_a_stop(self):
        with SlowDisk(4000) as disk:
            async with Stage("E3", environment=disk.environment) as stage:
                turn = stage.ask("ask", *with_approval("server", "E3", detached=False)[0])
                name = await stage.approval(turn)
                disk.slow()
                # Occupies the disk: the decision's record waits behind it.
                stage.ask("other", Say(["Other."]))
                await asyncio.sleep(0.2)
                stage.relay.decide(name, "approve")
                await asyncio.sleep(0.2)
                stage.relay.stop(turn.session, turn.interaction)
                await stage.ended(turn, seconds=30)
                disk.fast()
                run = await stage.run_of("ask")
                await until(lambda: run.state == "aborted", 30, "the run is stopped")
                await asyncio.sleep(1)
                self.expect_no_yes_after(stage, 0)

    # The gateway

    async def allow_and_stop(self, stage, era):
        """The person allows, the gateway does not answer, the person stops."""
        turn = stage.ask("ask", *with_approval("server", era)[0])
        name = await stage.approval(turn)
        if era in ("E1", "E2"):
            await asyncio.sleep(0.5)
        stage.gateway.is_deaf = True
        stage.relay.decide(name, "approve")
        await until(lambda: any(frame["method"] in RESOLVES for frame in stage.gateway.unheard), 30, "the allow sent")
        stage.relay.stop(turn.session, turn.interaction)
        await stage.ended(turn, seconds=30)
        await until(lambda: not stage.relay.updates, 30, "the stop acknowledged")
        return turn

    @in_each_era
    async def an_allow_without_an_answer_is_denied_on_the_next_link(self, era):
        async with Stage(era) as stage:
            turn = await self.allow_and_stop(stage, era)
            connects = len(stage.gateway.connects)
            stage.gateway.is_deaf = False
            stage.gateway.cut()
            await stage.link_up(40, since=connects)
            await until(lambda: heard(stage, *RESOLVES), 30, "the refusal")
            await asyncio.sleep(0.5)
            await self.expect_aborted(stage, era)
            self.expect_no_yes_after(stage, 0)
            stage.check(turn)

    @in_each_era
    async def an_allow_without_an_answer_is_denied_by_the_next_process(self, era):
        async with Stage(era) as stage:
            turn = await self.allow_and_stop(stage, era)
            stage.gateway.is_deaf = False
            await stage.bridge.restart_after_kill()
            await until(lambda: heard(stage, *RESOLVES), 30, "the refusal")
            await asyncio.sleep(0.5)
            await self.expect_aborted(stage, era)
            self.expect_no_yes_after(stage, 0)
            stage.check(turn)

    async def expect_aborted(self, stage, era):
        run = next(run for run in stage.gateway.runs.values() if run.user_text == "ask")
        # An approval that ended its run leaves nothing to abort.
        wanted = "aborted" if era in ("E3", "E4") else "ok"
        await until(lambda: run.state == wanted, 30, f"the run is {wanted}")

    @scenario(100)
    async def test_an_abort_is_owed_while_the_agent_is_away_and_across_restarts(self):
        async with Stage("E3") as stage:
            turn = stage.ask("count", Say(words("count", 20_000)))
            await stage.streaming(turn)
            await stage.gateway.go_away()
            stage.relay.stop(turn.session, turn.interaction)
            # The phone's turn closes, the abort is owed.
            await stage.ended(turn)
            await until(lambda: not stage.relay.updates, 30, "the stop acknowledged")
            for _ in range(2):
                await stage.bridge.restart_after_kill(ready_seconds=0)
                await asyncio.sleep(1)
            self.assertEqual((await stage.run_of("count")).state, "running")
            await stage.gateway.come_back()
            run = await stage.run_of("count")
            await until(lambda: run.state == "aborted", 60, "the run is stopped")
            # An answered abort is owed no longer. Its answer may have been in flight at the kill, so one repetition is allowed.
            for last in (False, True):
                before = len(heard(stage, "chat.abort"))
                await asyncio.sleep(0.5)
                await stage.bridge.restart_after_kill()
                await asyncio.sleep(1)
                if last or len(heard(stage, "chat.abort")) == before:
                    self.assertEqual(len(heard(stage, "chat.abort")), before)
                    break
            stage.check(turn)

    @scenario(100, weight=0)
    async def test_a_gateway_that_is_deaf_for_minutes_hears_the_stop_on_the_same_link(self):
        async with Stage("E3", scale=20) as stage:
            turn = stage.ask("ask", Say(["May I? "]), Approval("reboot", detached=False), Say(["Done."]))
            await stage.approval(turn)
            stage.gateway.is_deaf = True
            stage.relay.stop(turn.session, turn.interaction)
            await stage.ended(turn)
            # Five minutes: longer than any number of tries in a row.
            await stage.clock.sleep(300)
            stage.gateway.is_deaf = False
            run = await stage.run_of("ask")
            await until(lambda: run.state == "aborted", 30, "the run is stopped")
            await until(lambda: heard(stage, *RESOLVES), 30, "the refusal")
            self.expect_no_yes_after(stage, 0)
            self.assertEqual(len(stage.gateway.connects), 1)

    # Decisions and their age

    @scenario(200, weight=0)
    async def test_a_decision_is_as_old_as_itself_and_not_as_its_turn(self):
        async with Stage("E3", scale=20) as stage:
            turn = stage.ask("long", Say(["Begun. "]), Hold("late"), Approval("uptime", detached=False), Say(["Up."]))
            await stage.streaming(turn)
            await stage.clock.sleep(35 * 60)
            stage.gateway.release("late")
            name = await stage.approval(turn)
            await stage.gateway.go_away()
            stage.relay.decide(name, "approve")
            await until(lambda: not stage.relay.updates, 30, "the decision acknowledged")
            await stage.gateway.come_back()
            stage.gateway.is_deaf = True
            await until(lambda: any(frame["method"] in RESOLVES for frame in stage.gateway.unheard), 60, "the allow sent")
            stage.gateway.is_deaf = False
            await stage.bridge.restart_after_kill()
            await until(lambda: stage.gateway.commands, 30, "the command runs")
            await until(lambda: any("Up." in text for text in stage.phone.loose_messages(turn.session)), 30, "the answer")

    # Scopes

    @scenario(60)
    async def test_a_scoped_always_is_granted_once_and_the_chat_is_told_once(self):
        async with Stage("E3") as stage:
            scopes = [{"scope": "tool", "scope_value": "exec"}, {"scope": "session"}, {"scope": "domain", "scope_value": "x"},
                      {"scope": "planet"}, {"scope": 7}, {"scope": ""}]
            steps = [Say(["May I? "]), *(Approval(f"command {number}", detached=False) for number in range(len(scopes))),
                     Say(["Done."])]
            turn = stage.ask("scoped", *steps)
            for number, scope in enumerate(scopes):
                await until(lambda: len(stage.phone.approvals) > number, 30, "the next approval")
                stage.relay.decide(list(stage.phone.approvals)[-1], "approve_always", **scope)
            await stage.ended(turn)
            self.assertEqual([decision for _, decision in stage.gateway.resolve_calls], ["allow-once"] * len(scopes))
            self.assertEqual(stage.phone.final(turn.interaction).count("allowed once"), 1)
            stage.check(turn)

    @scenario(60)
    async def test_only_an_always_without_limits_is_permanent(self):
        async with Stage("E4") as stage:
            scopes = [{}, {"scope": "all"}, {"scope": None}]
            turn = stage.ask("unscoped", *(Approval(f"command {number}", detached=False) for number in range(3)), Say(["Done."]))
            for number, scope in enumerate(scopes):
                await until(lambda: len(stage.phone.approvals) > number, 30, "the next approval")
                stage.relay.decide(list(stage.phone.approvals)[-1], "approve_always", **scope)
            await stage.ended(turn)
            self.assertEqual([decision for _, decision in stage.gateway.resolve_calls], ["allow-always"] * 3)
            stage.expect(turn, "Done.")
            stage.check(turn)

    # A second message

    @in_each_era
    async def a_second_message_under_an_open_interaction_gets_an_answer_of_its_own(self, era):
        async with Stage(era) as stage:
            first = stage.ask("first", Say(["One. "]), Hold("first"), Say(["Two."]))
            await stage.streaming(first)
            stage.gateway.plan("second", Say(["Three."]))
            second = stage.relay.ask("second", first.session, interaction=first.interaction)
            await until(lambda: not stage.relay.updates, 30, "the second message acknowledged")
            if era == "E4":
                await stage.bridge.restart_after_kill()
            stage.gateway.release("first")
            await stage.ended(first)
            await until(lambda: stage.phone.loose_messages(first.session), 30, "the second answer")
            self.assertEqual(stage.phone.final(first.interaction), "One. Two.")
            self.assertEqual(stage.phone.loose_messages(first.session), ["Three."])
            # The interaction stays known, even after its bubble is closed.
            stage.gateway.plan("third", Say(["Four."]))
            third = stage.relay.ask("third", first.session, interaction=first.interaction)
            await until(lambda: len(stage.phone.loose_messages(first.session)) == 2, 30, "the third answer")
            self.assertEqual(stage.phone.loose_messages(first.session), ["Three.", "Four."])
            self.assertEqual(len({first.message_id, second.message_id, third.message_id}), 3)
            self.assertEqual([run.user_text for run in stage.gateway.runs.values()], ["first", "second", "third"])
            stage.check()

    @scenario(60)
    async def test_a_stop_of_the_interaction_stops_both_of_its_messages(self):
        async with Stage("E3") as stage:
            first = stage.ask("first", Say(["One. "]), Hold("first"), Say(["Two."]))
            await stage.streaming(first)
            stage.relay.ask("second", first.session, interaction=first.interaction)
            await until(lambda: not stage.relay.updates, 30, "the second message acknowledged")
            stage.relay.stop(first.session, first.interaction)
            await stage.ended(first)
            await until(lambda: [run.state for run in stage.gateway.runs.values()] == ["aborted"], 30, "the first run is stopped")
            await asyncio.sleep(1)
            self.assertEqual([run.user_text for run in stage.gateway.runs.values()], ["first"])


if __name__ == "__main__":
    unittest.main()
