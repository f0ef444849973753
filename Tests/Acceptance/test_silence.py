"""Silent runs (docs/OPERATING.md), with children that speak like pi: a model that falls silent, and a slow tool. Clocks run faster than the
world."""

import json
import os
import signal
import unittest

from harness import until
from pi_home import said
from pi_stage import PiStage
from scheduling import Scenarios, scenario

# A minute lasts a second.
SCALE = 60
LIMITS = {"limits": {"quiet": "1m", "stuck": "5m"}}


def labels(stage, turn):
    """Labels of the tasks that report a run's state."""
    bodies = [call.body for call in stage.relay.calls if call.method in ("createTask", "updateTask") and call.status == 200]
    return [body["status_label"] for body in bodies
            if body["task_id"].startswith("bridge-status-") and body["interaction_id"] == turn.interaction]


def shown(stage, turn):
    bubble = stage.phone.bubble(turn.interaction)
    return bubble.text if bubble else ""


class SilenceTests(Scenarios):
    @scenario(90)
    async def test_a_run_that_says_nothing_is_told_once_and_stopped_by_a_word(self):
        plans = {"freeze": [said("I begin. "), {"hold": "never"}], "test": [{"tool": {"args": {"command": "npm test"}, "hold": "done"}},
                                                                           said("It works.")]}
        async with PiStage(plans, scale=SCALE, configuration=LIMITS) as stage:
            testing = stage.ask("test")
            await until(lambda: stage.phone.tasks_of(testing.interaction), 30, "the tool")
            frozen = stage.ask("freeze")
            await until(lambda: "I begin." in shown(stage, frozen), 30, "its first words")
            event = await stage.bridge.event("stuck", 40)
            self.assertEqual(event["turn"], frozen.interaction)
            await until(lambda: "Still nothing." in shown(stage, frozen), 30, "the line")
            behind = stage.ask("more", session=frozen.session)
            await until(lambda: labels(stage, behind), 30, "what waits behind it")
            status = stage.ask("/bridge status")
            await stage.ended(status)
            listed = stage.phone.final(status.interaction)
            for line in ("\u201cfreeze\u201d: still nothing, for ", "\u201ctest\u201d: ", " runs since "):
                self.assertIn(line, listed)
            self.assertLess(listed.index("\u201cfreeze\u201d"), listed.index("\u201ctest\u201d"))
            word = stage.ask("/bridge stop", session=frozen.session)
            await stage.ended(word, frozen, behind)
            stage.open_gate("done")
            await stage.ended(testing)
            self.assertEqual(stage.phone.final(word.interaction), "The run in this chat is stopped.")
            self.assertTrue(all(label.startswith("no sign of life for ") for label in labels(stage, frozen)))
            self.assertEqual(set(labels(stage, behind)), {"waits behind a run"})
            self.assertEqual(len(set(labels(stage, testing))), 1)
            self.assertRegex(labels(stage, testing)[0], r"npm test runs since \d\d:\d\d")
            self.assertEqual(stage.bridge.names().count("stuck"), 1)
            self.assertEqual(stage.phone.final(frozen.interaction).count("Still nothing."), 1)
            self.assertNotIn("Still nothing.", stage.phone.final(testing.interaction))
            stage.check(testing, frozen, behind)

    @scenario(90)
    async def test_a_child_that_is_suspended_ends_its_run_with_a_line_of_its_own_and_one_notice(self):
        plans = {"freeze": [said("I begin. "), {"hold": "never"}], "after": [said("Here.")]}
        async with PiStage(plans, scale=SCALE, start=False) as stage:
            file = stage.directory / "got"
            stage.configure(LIMITS | {"notify": {"command": ["/bin/sh", "-c", f"cat >> {file}"], "events": ["failed", "stuck", "ended"]}})
            await stage.bridge.start()
            frozen = stage.ask("freeze")
            await until(lambda: "I begin." in shown(stage, frozen), 30, "its first words")
            child = stage.child()
            os.kill(child, signal.SIGSTOP)
            await stage.ended(frozen, seconds=60)
            said_last = stage.phone.final(frozen.interaction)
            self.assertIn("pi does not answer any more", said_last)
            self.assertNotIn("Still nothing.", said_last)
            await stage.bridge.event("notified")
            after = stage.ask("after", session=frozen.session)
            await stage.ended(after)
            stage.expect(after, "Here.")
            notices = [json.loads(line) for line in file.read_text().replace("}{", "}\n{").splitlines()]
            self.assertEqual([body["event"] for body in notices], ["failed"])
            self.assertNotEqual(stage.child(), child)


if __name__ == "__main__":
    unittest.main()
