"""Recorded frames of the real agents (`make record-agents`), replayed: the relay calls must match the golden file beside each."""

import unittest
from pathlib import Path

from commands import once
from scheduling import Scenarios, scenario

RECORDINGS = Path(__file__).resolve().parent.parent / "Fixtures" / "recordings"


class RecordingTests(Scenarios):
    @scenario(60)
    async def test_each_recording_of_a_real_agent_gives_the_calls_of_its_golden_file(self):
        recordings = sorted(RECORDINGS.glob("*.jsonl"))
        self.assertTrue(recordings)
        for path in recordings:
            replayed = await once("replay", str(path), "--expect", str(path.with_suffix(".golden")), directory=path.parent)
            self.assertEqual(replayed.code, 0, replayed)


if __name__ == "__main__":
    unittest.main()
