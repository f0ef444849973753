"""Two bridges with one token, for longer than a test may take: 200 messages at the buckets' pace with each agent, with kills of either, and
the time from a message to its prompt. Prints a line for each.

    .build/python/bin/python Tests/Acceptance/two_bridges_at_length.py [messages|prompts] [agent …]"""

import asyncio
import random
import statistics
import sys
import time

from pair_stage import AGENTS, Pair, conversation, texts


async def messages(agent, is_sealed):
    async with Pair(agent, texts(200), is_sealed) as pair:
        begun = time.monotonic()
        killed = await conversation(pair, random.Random(11), kills=4, chats=8, every=0.12)
        prompts, problems = pair.prompts(), pair.problems(killed)
        print(f"{agent}, {'sealed' if is_sealed else 'plain'}, {time.monotonic() - begun:.0f} s: "
              f"{sum(prompts.count(text) == 1 for text in pair.texts)} prompted once, {sum(prompts.count(text) > 1 for text in pair.texts)} "
              f"more often, {sum(pair.phone.final(turn.interaction) == pair.answer(text) for text, turn in pair.asked)} answered, "
              f"{len(set(killed))} open at one of 4 kills, {len(pair.seen())} times seen to be the other's", *problems, sep="\n  ", flush=True)


async def prompts(agent, away):
    async with Pair(agent, texts(21)) as pair:
        pair.relay.away_seconds = away
        pair.ask(pair.texts[0])
        await pair.ended()
        taken = []
        for text in pair.texts[1:]:
            begun = time.monotonic()
            pair.ask(text)
            while text not in pair.prompts():
                await asyncio.sleep(0.001)
            taken.append((time.monotonic() - begun) * 1000)
            await pair.ended()
        print(f"{agent}, relay {away * 1000:.0f} ms away: {statistics.median(taken):.0f} ms from message to prompt", flush=True)


async def main(arguments):
    agents = [agent for agent in AGENTS if agent in arguments] or AGENTS
    for agent in agents:
        if "prompts" not in arguments:
            for is_sealed in (False, True):
                await messages(agent, is_sealed)
        if "messages" not in arguments:
            for away in (0, 0.15):
                await prompts(agent, away)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
