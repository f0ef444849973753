"""`scripts/install`: what is put where, and taken away again."""

import gzip
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import bridge_command

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
INSTALLED = {
    "bin/sophon-bridge", "share/man/man1/sophon-bridge.1.gz", "share/systemd/user/sophon-bridge.service",
    "share/bash-completion/completions/sophon-bridge", "share/zsh/site-functions/_sophon-bridge",
    "share/fish/vendor_completions.d/sophon-bridge.fish",
}


class InstallTests(unittest.TestCase):
    def setUp(self):
        if len(bridge_command()) > 1:
            self.skipTest("the program is not one file")
        self.directory = Path(tempfile.mkdtemp(prefix="bridge-acceptance-"))
        self.addCleanup(shutil.rmtree, self.directory)

    def install(self, *arguments, prefix="/opt/bridge", root=None):
        done = subprocess.run(
            [SCRIPTS / "install", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, env={
                "PATH": os.environ["PATH"], "PREFIX": prefix, "DESTDIR": str(self.directory) if root is None else root,
                "PROGRAM": os.path.realpath(bridge_command()[0])})
        return done.returncode, done.stderr

    def files(self):
        return {str(path.relative_to(self.directory)) for path in self.directory.rglob("*") if path.is_file()}

    def test_all_of_it_is_installed_and_taken_away(self):
        self.assertEqual(self.install()[0], 0)
        self.assertEqual(self.files(), {f"opt/bridge/{name}" for name in INSTALLED})
        share = self.directory / "opt/bridge/share"
        unit = (share / "systemd/user/sophon-bridge.service").read_text()
        self.assertIn("\nExecStart=/opt/bridge/bin/sophon-bridge run\n", unit)
        self.assertIn("\nEnvironmentFile=-%h/.config/sophon/bridge.env\n", unit)
        # As of a unit for agents that are children, and of nothing on this machine.
        self.assertIn("\nKillMode=process\n", unit)
        self.assertNotIn(str(Path.home()), unit)
        page = gzip.decompress((share / "man/man1/sophon-bridge.1.gz").read_bytes()).decode()
        for text in (".SH EXIT STATUS", ".SS simulate", "another bridge holds the state directory"):
            self.assertIn(text, page)
        # Another version over it, as over a running one: the file is replaced.
        before = (self.directory / "opt/bridge/bin/sophon-bridge").stat().st_ino
        self.assertEqual(self.install()[0], 0)
        self.assertNotEqual((self.directory / "opt/bridge/bin/sophon-bridge").stat().st_ino, before)
        code, said = self.install("--remove")
        self.assertEqual((code, self.files()), (0, set()), said)
        self.assertIn("state stay", said)

    def test_a_prefix_that_cannot_be_written_is_said_before_anything_is_written(self):
        (self.directory / "usr").write_text("")
        code, said = self.install(prefix="/usr")
        self.assertEqual(code, 1)
        self.assertIn(f"cannot write {self.directory}/usr", said)
        self.assertEqual(self.files(), {"usr"})

    def test_a_relative_prefix_is_refused(self):
        code, said = self.install(prefix="usr")
        self.assertEqual((code, self.files()), (2, set()))
        self.assertIn('PREFIX is "usr"', said)

    def test_the_system_unit_is_the_same_but_for_its_user(self):
        program = os.path.realpath(bridge_command()[0])
        user, system = (set(subprocess.run([SCRIPTS / "unit", program, kind, "/usr/bin/sophon-bridge"], check=True, text=True,
                                           capture_output=True).stdout.splitlines()) for kind in ("user", "system"))
        self.assertEqual({line.split("=")[0] for line in user - system},
                         {"Description", "Environment", "EnvironmentFile", "WantedBy"})
        self.assertLessEqual({"User=%i", "WantedBy=multi-user.target"}, system)


if __name__ == "__main__":
    unittest.main()
