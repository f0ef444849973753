"""The file system of the state directory by statfs(2): a library loaded before the C library reports another one."""

import asyncio
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from commands import once
from harness import Stage, bridge_command, until
from scheduling import Scenarios, scenario

NFS, FUSE = "0x6969", "0x65735546"
SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/vfs.h>
int statfs(const char *path, struct statfs *status) {
  int code = ((int (*)(const char *, struct statfs *))dlsym(RTLD_NEXT, "statfs"))(path, status);
  const char *kind = getenv("KIND_OF_FILE_SYSTEM");
  if (code == 0 && kind) status->f_type = strtoul(kind, 0, 0);
  return code;
}
"""


class FileSystemTests(Scenarios):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not (compiler := shutil.which("cc")):
            raise unittest.SkipTest("there is no C compiler")
        if b"/ld-" not in Path(bridge_command()[0]).read_bytes()[:8192]:
            raise unittest.SkipTest("the program is static: no library goes before its own")
        cls.folder = Path(tempfile.mkdtemp(prefix="statfs-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        (cls.folder / "statfs.c").write_text(SOURCE)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", cls.folder / "statfs.so", cls.folder / "statfs.c"], check=True)

    def on(self, kind):
        return {"LD_PRELOAD": str(self.folder / "statfs.so"), "KIND_OF_FILE_SYSTEM": kind}

    @scenario(90)
    async def test_a_networks_takes_no_new_journal_and_warns_of_an_old_one(self):
        async with Stage("E3", start=False) as stage:
            refused = await once("run", directory=stage.directory, environment=stage.environment() | self.on(NFS))
            self.assertEqual(refused.code, 1, refused)
            self.assertIn("is on nfs", refused.err)
            self.assertIn("SOPHON_ANY_FILESYSTEM", refused.err)
            self.assertFalse(stage.state.exists(), "nothing is made there")
            doctor = await once("doctor", directory=stage.directory, environment=stage.environment() | self.on(NFS))
            self.assertIn("no journal begins there", doctor.out)
            await stage.bridge.start()
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            stage.bridge.environment = stage.environment() | self.on(NFS)
            await stage.bridge.start()
            await self.warned(stage, "is on nfs")
            stage.bridge.terminate()
            self.assertEqual(await stage.bridge.exit(), 0)
            stage.bridge.stderr.clear()
            stage.bridge.environment |= {"SOPHON_ANY_FILESYSTEM": "1"}
            await stage.bridge.start()
            said = await self.status(stage)
            self.assertNotIn("is on nfs", said.out + "".join(stage.bridge.stderr))

    @scenario(90)
    async def test_one_of_a_program_warns(self):
        async with Stage("E3", environment=self.on(FUSE)) as stage:
            await self.warned(stage, "is on fuse or virtiofs")
            said = await once("doctor", "--any-filesystem", directory=stage.directory, environment=stage.bridge.environment)
            self.assertNotIn("is on fuse", said.out)

    @unittest.skipUnless(os.access("/dev/shm", os.W_OK), "there is no file system in memory")
    @scenario(60)
    async def test_a_file_system_in_memory_is_a_disk(self):
        state = tempfile.mkdtemp(prefix="state-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, state, ignore_errors=True)
        async with Stage("E3", environment={"SOPHON_STATE_DIR": state}) as stage:
            self.assertNotIn("ANY_FILESYSTEM", "".join(stage.bridge.stderr) + (await self.status(stage)).out)

    async def warned(self, stage, words):
        await until(lambda: words in "".join(stage.bridge.stderr), 10, "the warning in the log")
        self.assertIn(words, (await self.status(stage)).out)
        said = await once("doctor", directory=stage.directory, environment=stage.bridge.environment)
        self.assertIn(words, said.out)

    async def status(self, stage):
        """The status that the bridge wrote when it was ready."""
        for _ in range(80):
            said = await once("status", directory=stage.directory, environment=stage.bridge.environment)
            if ": ready" in said.out:
                return said
            await asyncio.sleep(0.25)
        raise AssertionError(said)


if __name__ == "__main__":
    unittest.main()
