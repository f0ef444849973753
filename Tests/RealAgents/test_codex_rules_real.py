"""The rules that the bridge and the scripted Codex rely on (`codex_rules.py`), checked with the real one, without the bridge."""

import asyncio
import unittest
from contextlib import asynccontextmanager

import model as scripted
from codex_home import AppServer, CodexHome
from codex_rules import CodexRules
from peers import codex_steps as words
from peers.codex_client import CodexClient
from scheduling import Scenarios, scenario


def replies(steps):
    """Converts a turn of the scripted Codex to replies of the scripted model: each call of a tool ends one."""
    made = [[]]
    for step in steps:
        match step:
            case words.Say():
                made[-1].append(scripted.Say("".join(step.chunks), step.phase, len(step.chunks[0]), step.every))
            case words.Command():
                made[-1].append(scripted.Command(step.command, step.asks))
                made.append([])
            case words.Change():
                lines = "".join(f"+{line}\n" for line in step.diff.splitlines())
                made[-1].append(scripted.Patch(f"*** Begin Patch\n*** Add File: {step.path}\n{lines}*** End Patch\n"))
                made.append([])
            case words.Hold():
                made[-1].append(scripted.Hold(step.name))
    return [reply for reply in made if reply]


class Lab:
    def __init__(self, home, model):
        self.home, self.model = home, model
        self.cwd, self.server = str(home.project), AppServer(home)
        self.release, self.asked = model.release, model.texts

    def plan(self, match, *steps):
        self.model.plan(match, *replies(steps))

    def second(self):
        return AppServer(self.home, "second.sock")

    async def second_on_the_same_socket(self):
        other = AppServer(self.home)
        await other.spawn()
        return await asyncio.wait_for(other.process.wait(), 30)


@asynccontextmanager
async def lab():
    async with scripted.Model() as model:
        made = Lab(CodexHome(model.url), model)
        async with made.server:
            try:
                yield made
            except BaseException as error:
                error.add_note(f"standard error of codex: {made.server.log()}")
                raise


class RealRulesTests(CodexRules, Scenarios):
    lab = staticmethod(lab)

    @scenario(90)
    async def test_text_reasoning_and_a_command(self):
        for name in ("gpt-5.5", "gpt-6.1-sol"):
            async with scripted.Model() as model:
                home = CodexHome(model.url, name)
                model.plan("Count", [scripted.Think("**Looking**\n\nI count."), scripted.Say("I look.", "commentary"),
                                     scripted.Command("ls packets | wc -l")], [scripted.Say("There are 3 packets.")])
                async with AppServer(home) as server, CodexClient(server.address) as client:
                    thread = await client.thread(home.project)
                    turn = await client.run(thread, "Count the packets.", client="m1")
                    self.assertEqual((turn["status"], turn["items"][-1]["text"]), ("completed", "There are 3 packets."))
                    listed, = await client.turns(thread)
                    kinds = [item["type"] for item in listed["items"]]
                    self.assertEqual(kinds, ["userMessage", "reasoning", "agentMessage", "commandExecution", "agentMessage"])
                    self.assertEqual(listed["items"][3]["aggregatedOutput"].strip(), "3")
                    self.assertEqual(model.texts(), ["Count the packets."] * 2)


if __name__ == "__main__":
    unittest.main()
