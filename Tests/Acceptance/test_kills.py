"""`kill -9` of the bridge at seeded moments. The phone's final text must not show it."""

import asyncio
import os
import random
import unittest

from harness import Stage, until
from scheduling import Scenarios, scenario
from peers.steps import Hold, Say
from stories import journey, with_approval, words

RUNS, PIECES = 10, 12
MOMENTS = ("before the open", "streaming", "in a tool", "before the end")
SEED = int(os.environ.get("KILL_SEED", "7"))


class Moment:
    """Waits for its moment in one run, and kills the bridge at once or a seeded moment later."""

    def __init__(self, stage, turn_name, interaction, kind, generator):
        self.stage, self.name, self.interaction, self.kind = stage, turn_name, interaction, kind
        # Kill at an incoming frame, an outgoing call, or an applied call whose answer is lost.
        self.after = generator.choice([0, 0, generator.uniform(0.001, 0.03)])
        self.side = generator.choice(["received", "applied", "agent"])
        if kind == "in a tool" and stage.gateway.era.name == "E1":
            # This era reports tools to no client after a restart.
            self.side = "agent"
        self.nth = generator.randint(1, 4)
        self.unsaid = PIECES
        self.fired = asyncio.Event()
        self.at = None

    def arm(self):
        self.stage.relay.hooks.append(self.on_relay)
        self.stage.gateway.hooks.append(self.on_gateway)

    def disarm(self):
        self.stage.relay.hooks.remove(self.on_relay)
        self.stage.gateway.hooks.remove(self.on_gateway)

    def fire(self, at):
        if self.at is None:
            self.at = f"{at}, {self.after * 1000:.0f} ms later"
            asyncio.get_running_loop().call_later(self.after, self.kill)

    def kill(self):
        self.stage.bridge.kill9()
        self.fired.set()

    def mine(self, body):
        bubble = self.stage.phone.bubble(self.interaction)
        return body and (body.get("interaction_id") == self.interaction
                         or bubble and body.get("message_id") == bubble.message_id)

    def on_relay(self, what, fields):
        if self.kind == "before the open" and self.side == "agent" and what == "ack":
            self.fire("at the ack")
        if what != self.side and self.side != "agent" or not self.mine(fields.get("body")):
            return
        match self.kind, fields.get("method"):
            case "before the open", "sendMessage":
                self.fire(f"open {what}")
            case "streaming", "sendMessageDelta":
                self.nth -= 1
                if self.nth <= 0:
                    self.fire(f"delta {what}")
            case "in a tool", "createTask":
                self.fire(f"task {what}")
            case "before the end", "sendMessageEnd":
                self.fire(f"end {what}")

    def on_gateway(self, what, run):
        if run is None or run.user_text != self.name:
            return
        if self.side != "agent":
            # The text may be joined into fewer deltas than the moment waits for; its last piece always comes.
            self.unsaid -= what == "text"
            if self.kind == "streaming" and self.unsaid == 0:
                self.fire("all text sent by the agent")
            return
        match self.kind, what:
            case "streaming", "text":
                self.nth -= 1
                if self.nth <= 0:
                    self.fire("text sent by the agent")
            case "in a tool", "tool":
                self.fire("tool begun by the agent")
            case "before the end", "final":
                self.fire("run ended by the agent")


class KillTests(Scenarios):
    async def kill_many(self, era, seed):
        generator = random.Random(f"{seed} {era}")
        # Each kind of moment five times, two for each run.
        kinds = [kind for kind in MOMENTS for _ in range(RUNS // 2)]
        generator.shuffle(kinds)
        plans = [sorted(kinds[number::RUNS], key=MOMENTS.index) for number in range(RUNS)]
        self.killing, self.log = asyncio.Lock(), []
        async with Stage(era) as stage:
            # A held run occupies a place at the agent, so each run gets one.
            stage.gateway.lane = asyncio.Semaphore(RUNS)
            try:
                turns = await asyncio.gather(*(self.run_one(stage, era, f"run {number}.", plans[number], generator)
                                               for number in range(RUNS)))
                await stage.ended(*(turn for turn, _ in turns), seconds=40)
                for turn, final in turns:
                    stage.expect(turn, final)
                for turn, _ in turns:
                    # No task if the tool began and ended while the bridge was dead: it is not reported later.
                    self.assertLessEqual(len(stage.phone.tasks_of(turn.interaction)), 1)
                self.assertEqual(len(stage.gateway.runs), RUNS)
                stage.check(*(turn for turn, _ in turns))
            except BaseException as error:
                error.add_note(f"KILL_SEED={seed}, era {era}, kills: " + "; ".join(self.log))
                raise
            self.assertGreaterEqual(len(self.log), 15, self.log)

    async def run_one(self, stage, era, name, kinds, generator):
        steps, final = journey(name, era, every=0.03, count=PIECES, hold=name)
        parts = {"say": ("streaming",), "tool": ("in a tool",), "end": ("before the end",)}
        if kinds.count("before the open"):
            async with self.killing:
                turn = await self.killed(stage, name, None, "before the open", generator, lambda: stage.ask(name, *steps))
        else:
            turn = stage.ask(name, *steps)
        for part, here in parts.items():
            act = lambda part=part: stage.gateway.release(f"{name}-{part}")
            if any(kind in here for kind in kinds):
                async with self.killing:
                    await self.killed(stage, name, turn, here[0], generator, act)
            else:
                act()
        return turn, final

    async def killed(self, stage, name, turn, kind, generator, act):
        """Continues the run and kills within this part; the gate of the next part is still closed."""
        await until(lambda: stage.gateway.connections and stage.relay.sockets, 20, "both links are up")
        if turn:
            # The run must have begun, or the kill would hit another moment.
            await until(lambda: stage.phone.bubble(turn.interaction), 20, f"the bubble of {name}")
            await stage.run_of(name, 20)
        moment = Moment(stage, name, turn and turn.interaction, kind, generator)
        moment.arm()
        if turn is None:
            turn = act()
            moment.interaction = turn.interaction
        else:
            act()
        try:
            await asyncio.wait_for(moment.fired.wait(), 90)
        except TimeoutError:
            raise AssertionError(f"the moment {kind!r} ({moment.side}) of {name!r} did not come") from None
        finally:
            moment.disarm()
        self.log.append(f"{name} {kind}: {moment.at}")
        await stage.bridge.exit()
        await stage.bridge.start()
        return turn

    @scenario(150)
    async def test_20_kills_in_10_runs_leave_no_trace_in_E1(self):
        await self.kill_many("E1", SEED)

    @scenario(150)
    async def test_20_kills_in_10_runs_leave_no_trace_in_E2(self):
        await self.kill_many("E2", SEED)

    @scenario(150)
    async def test_20_kills_in_10_runs_leave_no_trace_in_E3(self):
        await self.kill_many("E3", SEED)

    @scenario(150)
    async def test_20_kills_in_10_runs_leave_no_trace_in_E4(self):
        await self.kill_many("E4", SEED)

    @scenario(60)
    async def test_a_kill_in_the_instant_of_the_ack_loses_no_message(self):
        async with Stage("E3") as stage:
            stage.relay.hooks.append(lambda what, _: what == "ack" and stage.bridge.kill9())
            turn = stage.ask("remember me", Say(words("answer")))
            await stage.bridge.exit()
            self.assertEqual(stage.relay.updates, {})
            stage.relay.hooks.clear()
            await stage.bridge.start()
            await stage.ended(turn)
            stage.expect(turn, "".join(words("answer")).strip())
            stage.check(turn)

    @scenario(60)
    async def test_one_update_id_with_two_messages_answers_both(self):
        async with Stage("E4") as stage:
            stage.gateway.plan("first", Say(["The first."]))
            stage.gateway.plan("second", Say(["The second."]))
            stage.gateway.plan("third", Say(["The third."]))
            first = stage.relay.ask("first", update_id="77")
            second = stage.relay.ask("second", update_id="77")
            await stage.ended(first, second)
            await stage.bridge.restart_after_kill()
            third = stage.relay.ask("third", update_id="77")
            await stage.ended(third)
            for turn, text in ((first, "The first."), (second, "The second."), (third, "The third.")):
                stage.expect(turn, text)
            stage.check(first, second, third)

    @scenario(60)
    async def test_a_message_that_comes_again_is_answered_once_also_after_a_restart(self):
        async with Stage("E3") as stage:
            stage.gateway.plan("once", Say(["Once."]))
            turn = stage.relay.ask("once")
            again = lambda: stage.relay.ask("once", turn.session, interaction=turn.interaction, message_id=turn.message_id)
            again()
            await stage.ended(turn)
            again()
            await until(lambda: not stage.relay.updates, 30, "the repeat acknowledged")
            await stage.bridge.restart_after_kill()
            again()
            await until(lambda: not stage.relay.updates, 30, "the repeat acknowledged after the restart")
            last = stage.ask("last", Say(["Last."]), session=turn.session)
            await stage.ended(last)
            self.assertEqual([send["text"] for send in stage.gateway.sends], ["once", "last"])
            stage.check(turn, last)

    @scenario(60)
    async def test_a_kill_while_an_approval_is_open_asks_no_second_time(self):
        for era in ("E2", "E4"):
            async with Stage(era) as stage:
                steps, final = with_approval("server", era)
                turn = stage.ask("ask me", *steps)
                name = await stage.approval(turn)
                await stage.bridge.restart_after_kill()
                stage.relay.decide(name, "approve")
                await stage.ended(turn, seconds=30)
                stage.expect(turn, final)
                self.assertEqual(len(stage.gateway.commands), 1)
                stage.check(turn)

    @scenario(60)
    async def test_a_run_that_ends_while_the_bridge_is_dead_is_delivered(self):
        for era in ("E1", "E3", "E4"):
            async with Stage(era) as stage:
                turn = stage.ask("go on", Say(words("before")), Hold("dead"), Say(words("after")))
                await stage.streaming(turn)
                stage.bridge.kill9()
                await stage.bridge.exit()
                stage.gateway.release("dead")
                await (await stage.run_of("go on")).finished.wait()
                await stage.bridge.start()
                await stage.ended(turn, seconds=30)
                stage.expect(turn, "".join(words("before") + words("after")).strip())
                stage.check(turn)


if __name__ == "__main__":
    unittest.main()
