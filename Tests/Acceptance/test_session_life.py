"""Chats, tools and installations ended from the phone, and the commands sent to the agent."""

import unittest

from harness import Stage, until
from peers.steps import Approval, Hold, Say, Tool
from pi_home import said
from pi_stage import PiStage
from scheduling import Scenarios, scenario


def timed_out(reason):
    @scenario(60)
    async def test(self):
        async with Stage("E3") as stage:
            turn = stage.ask("Look.", Say(["I look."]), Tool("exec", seconds=25))
            task = await until(lambda: next(iter(stage.phone.tasks_of(turn.interaction)), None), 30, "its card")
            stage.relay.push("task.timeout", {"task_id": task, "reason": reason}, turn.session)
            await stage.ended(turn)
            self.assertEqual(stage.phone.tasks[task][-1], "task_cancelled")
            words = "cancelled on the phone" if reason == "user_cancelled" else "longer than the relay allows"
            self.assertIn(words, stage.phone.by_interaction[turn.interaction].final)
            self.assertEqual(len(stage.gateway.aborts), 1)
            stage.check(turn)
    return test


class ToolTests(Scenarios):
    for reason in ("user_cancelled", "deadline_exceeded"):
        vars()[f"test_a_tool_that_is_ended_by_{reason}_stops_its_run"] = timed_out(reason)

    @scenario(60)
    async def test_a_task_that_is_over_or_unknown_stops_nothing(self):
        async with Stage("E3") as stage:
            turn = stage.ask("Look.", Say(["I look."]), Tool("exec"), Say(["Still "]), Hold("end"), Say(["here."]))
            task = await until(lambda: next((task for task, kinds in stage.phone.tasks.items() if "task_completed" in kinds), None),
                               30, "its card is over")
            for name in (task, "call_none"):
                stage.relay.push("task.timeout", {"task_id": name, "reason": "user_cancelled"}, turn.session)
            await until(lambda: not stage.relay.updates, 30, "both are acknowledged")
            stage.gateway.release("end")
            await stage.ended(turn)
            stage.check(turn)
            self.assertEqual(stage.gateway.aborts, [])


class ChatTests(Scenarios):
    @scenario(90)
    async def test_with_its_chat_a_run_its_child_and_its_approval_end(self):
        for archives in (True, False):
            plans = {"clean": [said("Let me look."), {"confirm": {"title": "Delete?", "yes": "Done.", "no": "I leave it."}}]}
            async with PiStage(plans, "L") as stage:
                turn = stage.ask("clean up")
                await stage.approval(turn)
                child = stage.child()
                stage.relay.delete_session(turn.session, archives=archives)
                await until(lambda: not runs(child), 30, "its child ends")
                await until(lambda: not stage.relay.updates, 30, "the updates are acknowledged")
                if archives:
                    await stage.ended(turn)
                    again = stage.ask("hello", session=turn.session)
                    await stage.ended(again)
                    self.assertIn("--session", stage.log("starts")[-1]["arguments"], "an archived chat goes on")
                else:
                    fresh = stage.ask("hello")
                    await stage.ended(fresh)
                    self.assertNotIn("--session", stage.log("starts")[-1]["arguments"])


class InstallationTests(Scenarios):
    @scenario(90)
    async def test_with_its_installation_every_run_is_stopped(self):
        async with Stage("E3") as stage:
            one = stage.ask("One.", Say(["I begin."]), Hold("one"))
            two = stage.ask("Two.", Say(["Let me ask."]), Approval("rm -r build"))
            await stage.streaming(one)
            await stage.approval(two)
            stage.relay.push("installation.revoked", {"installation": {"id": stage.relay.installation}, "reason": "user_uninstalled"})
            await until(lambda: len(stage.gateway.aborts) >= 2, 30, "both runs are stopped")
            self.assertEqual([decision for _, decision in stage.gateway.resolve_calls], ["deny"])


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    unittest.main()
