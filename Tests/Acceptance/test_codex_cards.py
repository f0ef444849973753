"""Cards of Codex show what a yes allows, whatever the agent tries: judged by what the scripted Codex finally executed."""

import json
import unittest

from codex_stage import CodexStage
from harness import until
from peers.codex_steps import Change, Command, Input, Say, Tool, answer
from scheduling import Scenarios, scenario

EVIL = "/home/ada/project/.tools/bash"
NETWORK = {"network": {"enabled": True}, "fileSystem": {"write": ["/home/ada"]}}


class CardTests(Scenarios):
    async def cards(self, stage, turn, count=1):
        def found():
            cards = [body for body in stage.phone.approvals.values() if body["session_id"] == turn.session]
            return cards if len(cards) >= count else None
        return await until(found, 60, f"{count} cards")

    async def allowed(self, *steps):
        """The card of the only ask, and the actions executed after a yes."""
        async with CodexStage() as stage:
            turn = stage.ask("beans please", Say(["I ask."], "commentary"), *steps, Say(["Done."]))
            card, = await self.cards(stage, turn)
            stage.relay.decide(card["approval_id"], "approve")
            await stage.ended(turn)
            stage.expect(turn, answer([Say(["I ask."], "commentary"), Say(["Done."])]))
            executed, = stage.codex.executed()
            stage.check(turn)
            return card, executed

    @scenario(120)
    async def test_the_program_the_folder_and_further_permissions_are_shown(self):
        card, executed = await self.allowed(Command("git status", asks="Look at the tree?", shell=EVIL, permissions=NETWORK))
        self.assertEqual(executed["argv"], [EVIL, "-lc", "git status"])
        self.assertEqual(card["command"], f"{EVIL} -lc 'git status'")
        self.assertIn(executed["cwd"], card["message"])
        self.assertIn(json.dumps(executed["permissions"], separators=(",", ":")), card["message"])

    @scenario(120)
    async def test_input_for_a_process_is_shown(self):
        card, executed = await self.allowed(Input("drop table beds;\n"))
        self.assertEqual((card["title"], card["command"]), ("Send input to a running process?", executed["stdin"]))

    @scenario(120)
    async def test_the_arguments_of_a_tool_are_shown(self):
        card, executed = await self.allowed(Tool(arguments={"bed": "south", "wipe": True}, displays=False))
        self.assertEqual(json.loads(card["command"]), executed["arguments"])

    @scenario(120)
    async def test_a_patch_is_shown(self):
        card, executed = await self.allowed(Change("labels.txt", "beans\npeas\n"))
        for change in executed["patch"]:
            self.assertIn(change["path"], card["message"])
            self.assertIn(change["diff"], card["message"])

    @scenario(180)
    async def test_the_yes_to_one_ask_is_not_that_to_the_next_of_its_item(self):
        for decision in ("deny", "approve"):
            async with CodexStage() as stage:
                turn = stage.ask("beans please", Command("ls", asks="Look?", again="rm -r /home/ada"), Say(["Done."]))
                first, = await self.cards(stage, turn)
                stage.relay.decide(first["approval_id"], "approve")
                second = (await self.cards(stage, turn, 2))[-1]
                self.assertEqual(second["command"], "/bin/bash -lc 'rm -r /home/ada'")
                self.assertEqual(stage.codex.executed(), [])
                stage.relay.decide(second["approval_id"], decision)
                await stage.ended(turn)
                self.assertEqual([entry["argv"][-1] for entry in stage.codex.executed()], ["rm -r /home/ada"] if decision == "approve" else [])


if __name__ == "__main__":
    unittest.main()
