"""Runs in the cell: the bridge records a conversation with the real Codex, and the recording is copied to the given path."""

import asyncio
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "Acceptance"))

from model import Break, Command, Failed, Patch, Refuse, Say, Think  # noqa: E402
from real_stage import RealStage  # noqa: E402
from test_codex_real import ASKS, LABELS  # noqa: E402


async def converse(stage):
    """Each turn ends before the next begins, so that the order of frames is the same at each run."""
    async def turn(text, *replies, session=None, decision=None, stops_at=None):
        sent = await stage.ask(text, *replies, session=session)
        if decision:
            await stage.decide_card(await stage.card(), decision)
        if stops_at:
            await stage.shows(sent, stops_at)
            await stage.stop(sent)
        await stage.final(sent)
        return sent["session_id"]
    chat = await turn("Count the packets.", [Think("**Looking**\n\nI count."), Say("I look.", "commentary"), Command("ls packets | wc -l")],
                      [Say("There are 3 packets.")])
    await turn("Throw away the mouldy labels.", *ASKS, session=chat, decision="deny")
    await turn("Throw away the mouldy labels, please.", *ASKS, session=chat, decision="approve")
    await turn("Write the labels.", [Say("I add one file.", "commentary"), Patch(LABELS)], [Say("The labels are written.")], session=chat)
    await turn("Talk.", [Say("Once upon a time, in a small town, ", "commentary"), Say("there " * 2_000, every=0.2)], session=chat,
               stops_at="there")
    await turn("Fail once.", [Refuse(500, "upstream is tired")], [Say("Half a sen", is_whole=False), Break()], [Say("Third time lucky.")],
               session=chat)
    await turn("Use up the plan.", [Failed("usage_limit_reached", "You have hit your usage limit.")], session=chat)
    await turn("Which beans climb?", [Say("Runner beans.")])


async def main(into):
    stage = RealStage()
    stage.configuration = {"record_dir": str(into.parent / "records")}
    async with stage:
        await converse(stage)
        stage.bridge.terminate()
        await stage.bridge.exit()
        recording, = (into.parent / "records").iterdir()
        shutil.copyfile(recording, into)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
