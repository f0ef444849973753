"""The configuration's settings of asks: faults, `status`, and a reload by SIGHUP."""

import os
import signal
import unittest

from commands import lines_of, once
from harness import Stage, until
from peers.steps import Approval, Say
from scheduling import Scenarios, scenario


class AskSettingsTests(Scenarios):
    FAULTY = {
        "connections": [{"when_unanswered": "wait", "severity": [
            {"match": "fine", "severity": "high"}, {"match": "", "severity": "low"}, {"matches": "sudo", "severity": "critical"}]}],
        "limits": {"unanswered": "2 days"},
    }
    FAULTS = {
        "connections[0].when_unanswered": "hold or deny", "connections[0].severity[1].match": "a text of 1 to 1,000 bytes",
        "connections[0].severity[1].severity": "high or critical", "connections[0].severity[2].matches": "one of match, severity",
        "connections[0].severity[2].match": "a text of 1 to 1,000 bytes",
        "limits.unanswered": 'a time from 1m to 24h, such as "1500ms" or "10s"',
    }

    async def connection(self, stage):
        outcome = await once("status", "--json", directory=stage.directory, environment=stage.environment())
        return lines_of(outcome.out)[0]["status"]["connections"][0]

    async def timed_out(self, stage, name):
        """An ask whose card the relay ends by itself."""
        turn = stage.ask(name, Say(["May I? "]), Approval(f"echo {name}", detached=False), Say(["Well."]))
        stage.relay.decide(await stage.approval(turn), "deny", reason="timeout")
        return turn

    @scenario(30)
    async def test_config_check_names_every_fault_of_every_rule(self):
        async with Stage("E4", start=False) as stage:
            stage.configure(self.FAULTY)
            outcome = await once("config", "check", "--json", directory=stage.directory, environment=stage.environment())
            self.assertEqual(outcome.code, 2, outcome)
            faults = [event for event in lines_of(outcome.out) if event["event"] == "config_fault"]
            self.assertEqual({fault["path"]: fault["expected"] for fault in faults}, self.FAULTS)
            self.assertTrue(all(fault["remedy"].startswith("change line 1 of ") for fault in faults), faults)

    @scenario(60)
    async def test_config_show_has_the_texts_as_they_are(self):
        async with Stage("E4", start=False) as stage:
            stage.configure({"connections": [{"severity": [{"match": "${HOME}/x \"y\"", "severity": "critical"}]}]})
            show = lambda *words: once("config", "show", *words, directory=stage.directory, environment=stage.environment())
            shown = (await show()).out
            self.assertIn('[{"match":"${HOME}/x \\"y\\"","severity":"critical"}]', shown)
            self.assertRegex(shown, r'connections\[0\]\.when_unanswered +"hold"  \(default\)')
            self.assertRegex(shown, r'limits\.unanswered +"12h"  \(default\)')

    @scenario(60)
    async def test_SIGHUP_changes_what_becomes_of_asks_and_a_fault_changes_nothing(self):
        async with Stage("E4") as stage:
            rules = [{"match": "${HOME}", "severity": "critical"}]
            stage.configure({"connections": [{"when_unanswered": "deny", "severity": rules}], "limits": {"unanswered": "1h"}})
            os.kill(stage.bridge.pid, signal.SIGHUP)
            await stage.bridge.event("reloaded")
            turn = await self.timed_out(stage, "first")
            await stage.ended(turn)
            self.assertEqual([decision for _, decision in stage.gateway.resolve_calls], ["deny"])
            stage.configure(self.FAULTY)
            os.kill(stage.bridge.pid, signal.SIGHUP)
            self.assertEqual((await stage.bridge.event("error"))["code"], 2)
            self.assertEqual({event["path"] for event in stage.bridge.events if event["event"] == "config_fault"}, set(self.FAULTS))
            turn = await self.timed_out(stage, "second")
            await stage.ended(turn)
            self.assertEqual([decision for _, decision in stage.gateway.resolve_calls], ["deny", "deny"])
            self.assertEqual(stage.gateway.commands, [])
            stage.configure({})
            self.assertEqual((await self.connection(stage))["asks"], [])
            self.assertIn("card_ends", await self.connection(stage))
            stage.check(turn)


if __name__ == "__main__":
    unittest.main()
