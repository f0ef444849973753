"""Ends of the process: signals, a second instance, a refused token, an unreachable agent."""

import asyncio
import os
import signal
import unittest

from harness import Bridge, Stage, until
from peers.handshake import Refusal
from peers.steps import Hold, Say, Tool
from scheduling import Scenarios, scenario
from stories import with_approval, words


# A flush longer than the waits below, so that its limit cannot cause an end.
PATIENT = {"limits": {"stop_flush": "60s"}}


class ShutdownTests(Scenarios):
    @scenario(120)
    async def test_SIGTERM_waits_for_none_of_five_runs_and_all_five_end_right_after_the_restart(self):
        for era in ("E1", "E3", "E4"):
            async with Stage(era, configuration=PATIENT) as stage:
                held = [stage.ask(f"run {number}.", Say(words(f"run{number}")), Hold("stopped"), Say(words("rest")))
                        for number in range(3)]
                tool = stage.ask("tool", Say(["Digging. "]), Tool(seconds=2), Say(["Dug."]))
                steps, thanked = with_approval("server", era)
                approval = stage.ask("approval", *steps)
                for turn in held:
                    await stage.streaming(turn)
                name = await stage.approval(approval)
                await until(lambda: stage.phone.tasks_of(tool.interaction), 30, "a task")
                stage.bridge.terminate()
                self.assertEqual(await stage.bridge.exit(20), 0)
                self.assertIn("shutdown", stage.bridge.names())
                stage.gateway.release("stopped")
                stage.relay.decide(name, "approve")
                await stage.bridge.start()
                asked = [*held, tool, approval]
                await stage.ended(*asked, seconds=30)
                for number, turn in enumerate(held):
                    stage.expect(turn, "".join(words(f"run{number}") + words("rest")).strip())
                stage.expect(tool, "Digging.\n\nDug.")
                stage.expect(approval, thanked)
                stage.check(*asked)

    @scenario(60)
    async def test_SIGINT_ends_an_idle_bridge_at_once_with_proper_closes(self):
        async with Stage("E3", configuration=PATIENT) as stage:
            sockets = [*stage.relay.sockets, *(connection.socket for connection in stage.gateway.connections)]
            os.kill(stage.bridge.pid, signal.SIGINT)
            self.assertEqual(await stage.bridge.exit(20), 0)
            await until(lambda: all(socket.closed.is_set() for socket in sockets), 30, "sockets are closed")
            self.assertEqual([socket.close_code for socket in sockets], [1000, 1000])

    @scenario(60)
    async def test_a_second_signal_ends_the_flush(self):
        async with Stage("E3", configuration=PATIENT) as stage:
            turn = stage.ask("stuck", Say(words("stuck", 500)))
            await stage.streaming(turn)
            stage.relay.hold["sendMessageDelta"] = asyncio.Event()
            mark = len(stage.relay.calls)
            await until(lambda: any(call.method == "sendMessageDelta" for call in stage.relay.calls[mark:]), 30, "a held call")
            stage.bridge.terminate()
            # Two pending signals count as one; the closed link shows that the first was handled.
            await until(lambda: not stage.gateway.connections, 30, "the agent's link is closed")
            stage.bridge.terminate()
            await stage.bridge.exit(20)
            stage.relay.hold.pop("sendMessageDelta").set()

    @scenario(60)
    async def test_a_second_instance_leaves_with_24_and_disturbs_nothing(self):
        async with Stage("E3") as stage:
            turn = stage.ask("on", Say(words("on", 60)))
            await stage.streaming(turn)
            second = Bridge(stage.directory, stage.environment())
            await second.start(ready_seconds=0)
            self.assertEqual(await second.exit(), 24)
            self.assertIn("error", second.names())
            await stage.ended(turn)
            stage.check(turn)

    @scenario(60)
    async def test_a_token_that_is_refused_at_the_start_ends_with_23(self):
        async with Stage("E3", start=False, relay_token="inst_0000000000000000:s_test_wrong") as stage:
            await stage.bridge.start(ready_seconds=0)
            self.assertEqual(await stage.bridge.exit(), 23, stage.bridge.story())
            said = "".join(stage.bridge.stderr) + str(stage.bridge.events)
            self.assertIn("sophon-bridge pair", said)
            self.assertNotIn("s_test_wrong", said)

    @scenario(60)
    async def test_a_token_that_is_revoked_in_mid_life_ends_with_23_at_once(self):
        for status, code in ((401, "invalid_token"), (410, "installation_revoked")):
            async with Stage("E3") as stage:
                turn = stage.ask("on", Say(words("on", 500)))
                await stage.streaming(turn)
                stage.relay.revoke(status, code)
                self.assertEqual(await stage.bridge.exit(), 23, code)
                # A removed installation stops the agent's work; a replaced token does not.
                self.assertEqual(bool(stage.gateway.aborts), code == "installation_revoked")
                self.assertIn("sophon-bridge pair", "".join(stage.bridge.stderr) + str(stage.bridge.events))

    @scenario(60)
    async def test_a_removed_installation_denies_what_its_run_asks_before_the_end(self):
        for era in ("E1", "E3"):
            async with Stage(era) as stage:
                steps, _ = with_approval("server", era)
                await stage.approval(stage.ask("approval", *steps))
                stage.relay.revoke(410, "installation_revoked")
                self.assertEqual(await stage.bridge.exit(), 23, era)
                self.assertEqual([decision for _, decision in stage.gateway.resolve_calls], ["deny"], era)

    @scenario(120)
    async def test_an_agent_that_is_away_at_a_removal_is_stopped_by_the_next_start_which_ends_too(self):
        async with Stage("E3") as stage:
            turn = stage.ask("on", Say(words("on")), Hold("removed"))
            await stage.streaming(turn)
            run = await stage.run_of("on")
            await stage.gateway.go_away()
            await stage.bridge.event("agent_lost")
            stage.relay.revoke(410, "installation_revoked")
            # The agent has ten seconds in which to come back.
            self.assertEqual(await stage.bridge.exit(25), 23)
            self.assertEqual((stage.gateway.aborts, run.state), ([], "running"))
            await stage.gateway.come_back()
            for _ in range(2):
                # Nothing is owed at the second start.
                await stage.bridge.start(ready_seconds=0)
                self.assertEqual(await stage.bridge.exit(25), 23)
                self.assertEqual(([abort["runId"] for abort in stage.gateway.aborts], run.state), ([run.id], "aborted"))

    @scenario(60)
    async def test_a_gateway_of_protocol_5_is_explained_and_the_bridge_stays_up(self):
        async with Stage("E4", start=False) as stage:
            stage.gateway.protocol = 5
            await stage.bridge.start(ready_seconds=0)
            await stage.bridge.event("sophon_connected", 15)
            await until(lambda: stage.gateway.connects, 30, "a connect")
            await until(lambda: "protocol" in ("".join(stage.bridge.stderr) + str(stage.bridge.events)).lower(), 30,
                        "words about the protocol")
            self.assertIsNone(stage.bridge.process.returncode)

    @scenario(60)
    async def test_a_wrong_gateway_token_is_explained_and_not_hammered(self):
        async with Stage("E4", start=False, environment={"OPENCLAW_TOKEN": "wrong"}) as stage:
            await stage.bridge.start(ready_seconds=0)
            await stage.bridge.event("sophon_connected", 15)
            await until(lambda: "token" in ("".join(stage.bridge.stderr) + str(stage.bridge.events)).lower(), 30,
                        "words about the token")
            await asyncio.sleep(3)  # No event shows that nothing happens.
            self.assertLessEqual(len(stage.gateway.connects), 3)
            self.assertIsNone(stage.bridge.process.returncode)

    @scenario(60)
    async def test_a_pairing_that_waits_for_consent_says_how_to_give_it(self):
        for era in ("E1", "E3"):
            async with Stage(era, start=False) as stage:
                stage.gateway.pairs_silently = False
                await stage.bridge.start(ready_seconds=0)
                await until(lambda: "openclaw devices approve" in "".join(stage.bridge.stderr), 30, "the remedy")
                # The first era knows an older signature only, which the first connect finds out.
                self.assertEqual(len(stage.gateway.connects), 2 if era == "E1" else 1)
                self.assertIsNone(stage.bridge.process.returncode)

    @scenario(60)
    async def test_a_pairing_that_is_to_be_tried_again_is_tried_again(self):
        async with Stage("E4", start=False) as stage:
            details = {"code": "PAIRING_REQUIRED", "reason": "not-paired", "requestId": "r-1",
                       "recommendedNextStep": "wait_then_retry"}
            stage.gateway.refusals = [Refusal("NOT_PAIRED", "pairing required", details=details)]
            await stage.bridge.start(ready_seconds=30)
            self.assertEqual(len(stage.gateway.connects), 2)

    @scenario(60)
    async def test_a_gateway_that_is_still_starting_is_tried_again(self):
        async with Stage("E3", start=False) as stage:
            stage.gateway.refusals = [Refusal("UNAVAILABLE", "gateway starting; retry shortly", 1013,
                                              {"reason": "startup-sidecars"}, retryable=True, retryAfterMs=500)]
            await stage.bridge.start(ready_seconds=20)
            self.assertEqual(len(stage.gateway.connects), 2)


if __name__ == "__main__":
    unittest.main()
