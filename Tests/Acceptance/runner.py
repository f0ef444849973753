"""Runs the acceptance files in parallel, and prints one line per test. `run` beside it is the way to call it. `run` alone runs all; `run
test_kills` one file; `run approval` every test whose name contains the word. `--in FOLDER` runs the files of another folder, which may use
the modules of this one."""

import asyncio
import json
import logging
import os
import re
import sys
import time
import traceback
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROCESSES = int(os.environ.get("ACCEPTANCE_PROCESSES", "4"))
FILE_SECONDS = 900
LIMIT = re.compile(r"\bscenario\((\d+)")


# The child: one file

class Result(unittest.TestResult):
    def startTest(self, test):
        super().startTest(test)
        self.begun = time.monotonic()
        self.words = {"test": test._testMethodName, "outcome": "passed", "detail": ""}

    def stopTest(self, test):
        super().stopTest(test)
        self.words["seconds"] = getattr(test, "seconds", time.monotonic() - self.begun)
        say(self.words)

    def failed(self, test, error):
        kind, value, trace = error
        detail = "".join(traceback.format_exception(kind, value, trace))
        if hasattr(self, "words") and isinstance(test, unittest.TestCase):
            self.words |= {"outcome": "failed", "detail": detail}
        else:
            say({"test": str(test), "outcome": "failed", "detail": detail, "seconds": 0})

    addError = addFailure = failed

    def addSkip(self, test, reason):
        if isinstance(test, unittest.TestCase):
            self.words |= {"outcome": "skipped", "detail": reason}
        else:
            say({"test": str(test), "outcome": "skipped", "detail": reason, "seconds": 0})


def say(words):
    print(json.dumps(words), flush=True)


def all_tests(suite):
    for entry in suite:
        yield from all_tests(entry) if isinstance(entry, unittest.TestSuite) else [entry]


def child(folder, name, word):
    # asyncio warns of sockets that die under a writer, which these tests cause on purpose.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    sys.path[:0] = [folder, str(HERE)]
    loader = unittest.TestLoader()
    if word:
        loader.testNamePatterns = [f"*{word}*"]
    loader.loadTestsFromName(name).run(Result())


# The parent

class Runner:
    def __init__(self, folder, word):
        self.folder, self.word = folder, word
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.failures = []
        self.free = asyncio.Semaphore(PROCESSES)

    async def run(self, names):
        await asyncio.gather(*(self.run_file(name) for name in names))

    async def run_file(self, name):
        async with self.free:
            process = await asyncio.create_subprocess_exec(
                sys.executable, str(HERE / "runner.py"), "--child", str(self.folder), name, self.word, cwd=HERE, limit=1 << 24,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
            errors = asyncio.create_task(process.stderr.read())
            try:
                async with asyncio.timeout(FILE_SECONDS):
                    await self.read(name, process.stdout)
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()
                self.tell(name, {"test": "(the file)", "outcome": "failed", "seconds": FILE_SECONDS,
                                 "detail": f"it was not over after {FILE_SECONDS} s"})
            words = (await errors).decode(errors="replace")
            if process.returncode:
                self.tell(name, {"test": "(the file)", "outcome": "failed", "seconds": 0,
                                 "detail": f"it ended with {process.returncode}\n{words}"})
            elif words:
                self.failures.append((f"{name}: written to standard error (no failure)", words[-4000:]))

    async def read(self, name, stream):
        while line := await stream.readline():
            try:
                self.tell(name, json.loads(line))
            except ValueError:
                print(f"       {name}  {line.decode(errors='replace').rstrip()}", flush=True)

    def tell(self, name, words):
        self.counts[words["outcome"]] += 1
        note = f"  ({words['detail']})" if words["outcome"] == "skipped" else ""
        print(f"{words['outcome']:7} {name}  {words['test'].removeprefix('test_')}  {words['seconds']:.1f} s{note}", flush=True)
        if words["outcome"] == "failed":
            self.failures.append((f"{name}.{words['test']}", words["detail"]))


def limits(path):
    """The longest time limit of its scenarios, and their sum."""
    seconds = [int(limit) for limit in LIMIT.findall(path.read_text())]
    return max(seconds, default=0), sum(seconds)


def main(arguments):
    folder, title = HERE, "acceptance"
    if arguments[:1] == ["--in"]:
        folder, arguments = Path(arguments[1]), arguments[2:]
        title = folder.name
    # The longest begin first, so that the whole run ends sooner.
    files = [path.stem for path in sorted(folder.glob("test_*.py"), key=limits, reverse=True)]
    chosen = [name for name in files if name in arguments or name.removeprefix("test_") in arguments]
    word = next((word for word in arguments if word not in chosen and f"test_{word}" not in chosen), "")
    begun = time.monotonic()
    runner = Runner(folder, word)
    asyncio.run(runner.run(chosen or files))
    for heading, detail in runner.failures:
        print(f"\n=== {heading}\n{detail.rstrip()}")
    counts = runner.counts
    print(f"{title}: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped "
          f"in {time.monotonic() - begun:.0f} s")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
    else:
        sys.exit(main(sys.argv[1:]))
