"""A disk with a slow sync: a small library loaded into the bridge before all others."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Slow only while the file exists, so that a test can choose its moment. */
static void take_time(void) {
    const char *file = getenv("SLOW_SYNC_FILE"), *limit = getenv("SLOW_SYNC_MILLISECONDS");
    if (!file || access(file, F_OK) != 0) return;
    long milliseconds = limit ? atol(limit) : 0;
    struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0) {}
}

int fsync(int file) { take_time(); return (int)syscall(SYS_fsync, file); }
int fdatasync(int file) { take_time(); return (int)syscall(SYS_fdatasync, file); }
"""


class SlowDisk:
    """Each sync of the bridge takes `milliseconds` while `slow()` holds."""

    def __init__(self, milliseconds=500):
        self.milliseconds = milliseconds

    def __enter__(self):
        if shutil.which("cc") is None:
            raise unittest.SkipTest("there is no C compiler")
        self.directory = Path(tempfile.mkdtemp(prefix="bridge-slow-disk-"))
        source, self.library = self.directory / "slow.c", self.directory / "slow.so"
        source.write_text(SOURCE)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(self.library), str(source)], check=True)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def environment(self):
        return {"LD_PRELOAD": str(self.library), "SLOW_SYNC_FILE": str(self.directory / "slow"),
                "SLOW_SYNC_MILLISECONDS": str(self.milliseconds)}

    def slow(self):
        (self.directory / "slow").touch()

    def fast(self):
        (self.directory / "slow").unlink(missing_ok=True)
