"""Runs scenarios concurrently: most of them mostly wait, so they share one loop, and each test reports its own."""

import asyncio
import os
import time
import unittest

# Time limits are for an idle machine; a slower or shared one gets this factor.
LEEWAY = 3
CAPACITY = int(os.environ.get("ACCEPTANCE_PARALLEL", "5"))


def scenario(seconds, weight=1):
    """Makes an async test a scenario. Weight 0 is for one that only waits, and starts at once."""
    def mark(function):
        def test(self):
            _scheduler.wait(self)
        test.__name__, test.__doc__ = function.__name__, None
        test.scenario = (function, seconds, weight)
        return test
    return mark


class Scenarios(unittest.TestCase):
    """Starts every selected scenario of every class with the first test, the longest first."""

    maxDiff = 2000

    def __init__(self, name="runTest"):
        super().__init__(name)
        if hasattr(getattr(self, name, None), "scenario"):
            _scheduler.selected.append(self)


class _Scheduler:
    def __init__(self):
        self.selected = []
        self._tasks = {}
        self._used = 0
        self._loop = None

    def wait(self, test):
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._changed = asyncio.Condition()
        if test not in self._tasks:
            self._begin()
        self._loop.run_until_complete(self._tasks[test])

    def _begin(self):
        waiting = [test for test in self.selected if test not in self._tasks]
        for test in sorted(waiting, key=lambda test: -self._scenario(test)[1]):
            self._tasks[test] = self._loop.create_task(self._run(test))

    @staticmethod
    def _scenario(test):
        return getattr(test, test._testMethodName).scenario

    async def _run(self, test):
        function, seconds, weight = self._scenario(test)
        async with self._changed:
            await self._changed.wait_for(lambda: self._used + weight <= CAPACITY or not self._used)
            self._used += weight
        begun = time.monotonic()
        try:
            async with asyncio.timeout(seconds * LEEWAY):
                await function(test)
        except TimeoutError as error:
            raise AssertionError(f"the scenario was not over after {seconds * LEEWAY} s") from error
        finally:
            test.seconds = time.monotonic() - begun
            async with self._changed:
                self._used -= weight
                self._changed.notify_all()


_scheduler = _Scheduler()
