"""Runs the browser tests one after the other and says one line for each. `run` beside it is the way to call it."""

import sys
import time
import traceback
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.stories = []

    def startTest(self, test):
        super().startTest(test)
        self.begun, self.outcome, self.note = time.monotonic(), "passed", ""

    def stopTest(self, test):
        super().stopTest(test)
        self.tell(name_of(test), time.monotonic() - self.begun)

    def tell(self, name, seconds):
        self.counts[self.outcome] += 1
        print(f"{self.outcome:7} {name}  {seconds:.1f} s{self.note}", flush=True)

    def failed(self, test, error):
        self.outcome = "failed"
        self.stories.append((name_of(test), "".join(traceback.format_exception(*error))))
        if not isinstance(test, unittest.TestCase):
            self.tell(name_of(test), 0)

    def addError(self, test, error):
        super().addError(test, error)
        self.failed(test, error)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.failed(test, error)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.outcome, self.note = "skipped", f"  ({reason})"


def name_of(test):
    if not isinstance(test, unittest.TestCase):
        return str(test)
    module, _, method = test.id().split(".")
    return f"{module}  {method.removeprefix('test_')}"


def main(arguments):
    sys.path.insert(0, str(HERE))
    files = sorted(path.stem for path in HERE.glob("test_*.py"))
    chosen = [name for name in files if name in arguments or name.removeprefix("test_") in arguments]
    words = [word for word in arguments if word not in chosen and f"test_{word}" not in chosen]
    loader = unittest.TestLoader()
    if words:
        loader.testNamePatterns = [f"*{word}*" for word in words]
    begun = time.monotonic()
    result = Result()
    for name in chosen or files:
        loader.loadTestsFromName(name).run(result)
    for title, story in result.stories:
        print(f"\n=== {title}\n{story.rstrip()}")
    counts = result.counts
    print(f"browser: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped "
          f"in {time.monotonic() - begun:.0f} s")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
