"""A machine dies with turns open, and its volume moves to another one: the bridge is killed, its folders are moved, and the next process
has another host name, another machine id and another boot id. `DRILLS=20 Tests/Acceptance/run dead_machine` plays twenty for each agent."""

import asyncio
import os
import random
import subprocess
import unittest

from harness import Stage, bridge_command, until
from oppi_stage import OppiStage
from peers import oppi_steps, steps
from pi_home import said, words as pi_words
from pi_stage import PiStage
from scheduling import Scenarios, scenario
from stories import words

DRILLS = int(os.environ.get("DRILLS", "2"))
SEED = int(os.environ.get("DRILL_SEED", "7"))
TURNS, PIECES = 3, 12
LONG = 100
"""Pieces of a message that is never whole in pi's session at a kill of the drill."""
ENDED = "The agent stopped before it had finished. Please ask again. (its process ended)"
MACHINE = """set -e
mount --bind "$1/machine-id" /etc/machine-id
mount --bind "$1/boot-id" /proc/sys/kernel/random/boot_id
echo "$2" >/proc/sys/kernel/hostname
shift 2; exec "$@"
"""


def can_isolate():
    tried = subprocess.run(["unshare", "--mount", "--uts", "mount", "--bind", "/etc/hostname", "/etc/machine-id"], capture_output=True)
    return tried.returncode == 0


class Volume:
    """The bridge's folders, which one machine after another mounts at a place of its own."""

    def __init__(self, stage):
        self.stage, self.machines = stage, 0

    def move(self):
        """Moves to a machine that shares only the volume with the previous one."""
        stage, name = self.stage, f"machine-{self.machines}"
        self.machines += 1
        place = stage.directory / name
        place.mkdir()
        (place / "machine-id").write_text(f"{self.machines:032x}\n")
        (place / "boot-id").write_text(f"00000000-0000-4000-8000-{self.machines:012x}\n")
        for folder, variable in (("state", "SOPHON_STATE_DIR"), ("config", "SOPHON_CONFIG_DIR")):
            before = stage.bridge.environment[variable]
            if os.path.exists(before):
                os.rename(before, place / folder)
            stage.bridge.environment[variable] = str(place / folder)
        stage.bridge.command = ["unshare", "--mount", "--uts", "bash", "-c", MACHINE, "bash", str(place), name, *bridge_command(),
                                "run", "--json"]


class DeadMachineTests(Scenarios):
    def setUp(self):
        if not can_isolate():
            self.skipTest("no mount namespace can be made here")

    async def drill(self, stage, generator, ask, release, beside=None):
        """Plays turns in different states, a kill at some moment, and the volume on another machine. Returns the turns."""
        volume = Volume(stage)
        stage.bridge.environment = stage.environment()
        volume.move()
        await stage.bridge.start()
        if beside:
            await beside()
        turns = [ask(number) for number in range(TURNS)]
        # At least one turn streams; the others are in any state.
        await stage.streaming(turns[0], letters=generator.randint(1, 30))
        await asyncio.sleep(generator.uniform(0, 0.1))
        stage.bridge.kill9()
        await stage.bridge.exit()
        volume.move()
        await stage.bridge.start()
        release()
        late = ask(TURNS)
        await stage.ended(*turns, late, seconds=60)
        return turns, late

    async def drills(self, agent, play):
        for number in range(DRILLS):
            generator = random.Random(f"{SEED} {agent} {number}")
            try:
                await play(generator)
            except BaseException as error:
                error.add_note(f"DRILL_SEED={SEED}, {agent}, drill {number}")
                raise

    @scenario(60 * DRILLS)
    async def test_with_openclaw_nothing_is_lost_or_doubled(self):
        async def play(generator):
            async with Stage("E3", start=False, configuration={"connections": [{"mirror": "all"}]}) as stage:
                def plan(number):
                    return steps.Say(words(f"a{number}", PIECES)), steps.Hold("rest"), steps.Say(["Done."])

                def made():
                    return [call for call in stage.relay.calls if call.method == "createSession"]

                def shown():
                    return [bubble.final for bubble in stage.phone.bubbles.values() if bubble.interaction is None and bubble.final]

                async def run_of_another_client():
                    if generator.random() < 0.5:
                        stage.relay.planned["createSession"] = ["applied-but-lost"]
                    stage.gateway.plan("theirs", *plan("-theirs"))
                    stage.gateway.other_client_sends("theirs", "agent:main:terminal", "terminal-1")
                    await until(made, 30, "a chat for the run of another client")

                turns, late = await self.drill(stage, generator, lambda number: stage.ask(f"ask {number}", *plan(number)),
                                               lambda: stage.gateway.release("rest"), run_of_another_client)
                for number, turn in enumerate([*turns, late]):
                    stage.expect(turn, "".join(words(f"a{number}", PIECES)) + "Done.")
                await until(shown, 60, "the answer to another client")
                self.assertEqual(shown(), ["".join(words("a-theirs", PIECES)) + "Done."])
                # One chat, and an empty one if the answer to its creation was lost.
                self.assertLessEqual(len(made()), 2)
                stage.check(*turns, late)
        await self.drills("openclaw", play)

    @scenario(60 * DRILLS)
    async def test_with_oppi_nothing_is_lost_or_doubled(self):
        async def play(generator):
            async with OppiStage("head", begins=False) as stage:
                def plan(number):
                    return [oppi_steps.Say(words(f"a{number}", PIECES)), oppi_steps.Hold("rest"), oppi_steps.Say(["Done."])]
                turns, late = await self.drill(stage, generator, lambda number: stage.ask(f"ask {number}", *plan(number)),
                                               lambda: stage.oppi.release("rest"))
                for number, turn in enumerate([*turns, late]):
                    stage.expect_answer(turn, plan(number))
                stage.check(*turns, late)
        await self.drills("oppi", play)

    @scenario(60 * DRILLS)
    async def test_with_a_child_each_turn_ends_with_its_text_and_a_sentence_and_runs_once(self):
        async def play(generator):
            plans = {f"ask {number}": [said(*pi_words(f"a{number}", LONG)), said("Done.")] for number in range(TURNS + 1)}
            async with PiStage(plans, start=False) as stage:
                turns, late = await self.drill(stage, generator, lambda number: stage.ask(f"ask {number}"), lambda: None)
                for number, turn in enumerate(turns):
                    text, final = "".join(pi_words(f"a{number}", LONG)), stage.phone.final(turn.interaction)
                    if number and final == f"{text}\n\nDone.":
                        # The prompt had not reached the dead child, and ran in the new one.
                        continue
                    so_far = stage.phone.bubble(turn.interaction).streamed.strip()
                    self.assertTrue(text.startswith(so_far), so_far)
                    self.assertEqual(final, "\n\n".join(part for part in (so_far, ENDED) if part))
                stage.expect(late, "".join(pi_words(f"a{TURNS}", LONG)) + "\n\nDone.")
                stage.check_prompts(*turns, late)
        await self.drills("pi", play)


if __name__ == "__main__":
    unittest.main()
