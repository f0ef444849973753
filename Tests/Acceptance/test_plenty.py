"""Quantities beyond the limits: numbers, runs, bytes, file descriptors."""

import asyncio
import json
import os
import resource
import unittest

from harness import Stage, bridge_command, until
from peers.steps import Hold, Say, Tool
from scheduling import Scenarios, scenario
from stories import words

HOSTILE = ("9223372036854775807", "-9223372036854775808", "1e308", "0.5", "-1")


def numbers(frame, number):
    """The frame as text with every number in it replaced."""
    if isinstance(frame, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{numbers(value, number)}" for key, value in frame.items()) + "}"
    if isinstance(frame, list):
        return "[" + ",".join(numbers(value, number) for value in frame) + "]"
    return number if isinstance(frame, (int, float)) and not isinstance(frame, bool) else json.dumps(frame)


def megabytes(pid, line="VmRSS:"):
    for text in open(f"/proc/{pid}/status"):
        if text.startswith(line):
            return int(text.split()[1]) / 1024
    raise AssertionError(f"no {line}")


def status(stage):
    return json.loads((stage.state / "status.json").read_text())


class HostileNumberTests(Scenarios):
    @scenario(60)
    async def test_a_sequence_of_2_to_the_63_minus_1_kills_nothing(self):
        async with Stage("E3") as stage:
            turn = stage.ask("number", Say(words("before")), Hold("sent"), Say(words("after")))
            await stage.streaming(turn)
            for text in ('{"type":"event","event":"tick","payload":{"ts":1},"seq":9223372036854775807}',
                         '{"type":"event","event":"tick","payload":{"ts":1},"seq":3}',
                         '{"type":"event","event":"tick","payload":{"ts":1},"seq":-9223372036854775808}'):
                stage.gateway.send_text(text)
            stage.gateway.release("sent")
            await stage.ended(turn)
            stage.expect(turn, "".join(words("before") + words("after")).strip())
            self.assertIsNone(stage.bridge.process.returncode)
            self.assertEqual(len(stage.gateway.connects), 1)

    @scenario(90)
    async def test_every_number_of_a_run_s_frames_may_be_any_number(self):
        async with Stage("E3") as stage:
            first = stage.ask("recorded", Say(words("one")), Tool(), Say(words("two")))
            await stage.ended(first)
            frames = [frame for _, _, direction, frame in stage.gateway.frames if direction == "in"]
            turn = stage.ask("number", Say(words("before")), Hold("sent"), Say(words("after")))
            await stage.streaming(turn)
            for number in HOSTILE:
                for frame in frames:
                    if frame.get("event") != "connect.challenge":
                        stage.gateway.send_text(numbers(frame, number))
                for socket in stage.relay.sockets:
                    socket.send('{"type":"ping","ts":%s}' % number)
                    socket.send('{"type":"update","update":{"update_id":%s,"type":"session.ended","created_at":%s,'
                                '"payload":{"session":{"id":"ses_other"},"at":%s}}}' % (number, number, number))
            await asyncio.sleep(1)
            stage.gateway.release("sent")
            await stage.ended(turn)
            stage.expect(turn, "".join(words("before") + words("after")).strip())
            self.assertIsNone(stage.bridge.process.returncode)

    @scenario(60)
    async def test_100_000_parts_in_one_frame_cost_less_than_a_second(self):
        async with Stage("E3") as stage:
            turn = stage.ask("parts", Say(words("before")), Hold("sent"), Say(words("after")))
            await stage.streaming(turn)
            run = await stage.run_of("parts")
            parts = ",".join(["{}"] * 100_000)
            used = self.cpu(stage.bridge.pid)
            for _ in range(3):
                stage.gateway.send_text(
                    '{"type":"event","event":"chat","payload":{"runId":"foreign","sessionKey":"%s","state":"delta",'
                    '"message":{"role":"assistant","content":[%s]}}}' % (run.session.key, parts))
            stage.gateway.release("sent")
            await stage.ended(turn)
            stage.expect(turn, "".join(words("before") + words("after")).strip())
            # A debug build takes a tenth of a second for each; searches from the front took over five.
            self.assertLess(self.cpu(stage.bridge.pid) - used, 3, "seconds of CPU")
            self.assertEqual(len(stage.gateway.connects), 1)

    @staticmethod
    def cpu(pid):
        fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class PlentyTests(Scenarios):
    @scenario(150, weight=4)
    async def test_300_messages_at_once_are_all_answered(self):
        async with Stage("E3", recording=False) as stage:
            asked = [(number, stage.ask(f"run {number}.", Hold("all"), Say([f"This is {number}."])))
                     for number in range(300)]
            await until(lambda: len(stage.gateway.sends) >= 200, 60, "200 runs at the agent")
            await until(lambda: len([1 for _, turn in asked if stage.phone.bubble(turn.interaction)]) == 300, 90, "300 bubbles")
            stage.gateway.release("all")
            await stage.ended(*(turn for _, turn in asked), seconds=120)
            for number, turn in asked:
                stage.expect(turn, f"This is {number}.")
            stage.check(*(turn for _, turn in asked))

    @scenario(150, weight=3)
    async def test_at_the_memory_limit_reading_stops_and_comes_back_by_itself(self):
        configuration = {"limits": {"memory_mb": 4}}
        async with Stage("E3", recording=False, configuration=configuration) as stage:
            text = "0123456789" * 5_800
            asked = [stage.ask(f"run {number}.", Hold("away"), Say([text])) for number in range(120)]
            await until(lambda: all(stage.phone.bubble(turn.interaction) for turn in asked), 90, "120 bubbles")
            await until(lambda: status(stage)["connections"][0]["agent"]["link"]["state"] == "up", 15, "the agent is up")
            await stage.relay.go_down()
            stage.gateway.release("away")
            await until(lambda: status(stage)["connections"][0]["work"].get("is_memory_full"), 60, "the memory limit")
            await until(lambda: "no socket of the agent is read" in "".join(stage.bridge.stderr), 10, "a word in the log")
            held = status(stage)["connections"][0]["work"]["held_bytes"]
            self.assertLess(held, 8 << 20, "reading stops soon after the limit")
            await stage.relay.come_up()
            await stage.ended(*asked, seconds=120)
            for turn in asked:
                stage.expect(turn, text)
            await until(lambda: not status(stage)["connections"][0]["work"].get("is_memory_full"), 30, "room again")
            self.assertIn("the agent is read again", "".join(stage.bridge.stderr))
            later = stage.ask("later", Say(["Read as before."]))
            await stage.ended(later)
            stage.expect(later, "Read as before.")


class DescriptorTests(Scenarios):
    @scenario(90)
    async def test_without_a_file_descriptor_the_links_wait_and_come_back(self):
        async with Stage("E3") as stage:
            turn = stage.ask("descriptors", Say(words("before")), Hold("none"), Say(words("after")))
            await stage.streaming(turn)
            allowed = resource.prlimit(stage.bridge.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(stage.bridge.pid, resource.RLIMIT_NOFILE, (6, allowed[1]))
            stage.gateway.cut()
            stage.relay.cut()
            await asyncio.sleep(5)
            await until(lambda: "ulimit -n" in "".join(stage.bridge.stderr), 30, "a word about descriptors in the log")
            self.assertIsNone(stage.bridge.process.returncode, "it lives without a descriptor to spare")
            resource.prlimit(stage.bridge.pid, resource.RLIMIT_NOFILE, allowed)
            await stage.link_up(60, since=1)
            stage.gateway.release("none")
            await stage.ended(turn, seconds=40)
            stage.expect(turn, "".join(words("before") + words("after")).strip())

    @scenario(120)
    async def test_a_start_with_few_descriptors_ends_with_a_sentence_or_works(self):
        async with Stage("E3", start=False) as stage:
            for limit in range(4, 30):
                command = ["bash", "-c", f'ulimit -n {limit} && exec "$0" "$@"', *bridge_command(), "run", "--json"]
                process = await asyncio.create_subprocess_exec(
                    *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.PIPE, env={"PATH": os.environ["PATH"], "HOME": str(stage.directory)}
                    | stage.environment())
                try:
                    _, errors = await asyncio.wait_for(process.communicate(), 1.5)
                except TimeoutError:
                    process.terminate()
                    await process.communicate()
                    continue
                self.assertGreaterEqual(process.returncode, 0, f"killed by a signal with {limit}: {errors[-2000:]}")
                self.assertNotIn(b"Fatal error", errors)
                self.assertTrue(errors.strip(), f"not a word with {limit} descriptors")


if __name__ == "__main__":
    unittest.main()
