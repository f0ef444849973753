"""`scripts/install`: the installed files, and their removal. `scripts/package-deb`: a package's version."""

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
        # The unit suits agents that are children, and names nothing of this machine.
        self.assertIn("\nKillMode=process\n", unit)
        self.assertNotIn(str(Path.home()), unit)
        page = gzip.decompress((share / "man/man1/sophon-bridge.1.gz").read_bytes()).decode()
        for text in (".SH EXIT STATUS", ".SS simulate", "another bridge holds the state directory"):
            self.assertIn(text, page)
        # Another version replaces the file, even of a running bridge.
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


class PackageTests(unittest.TestCase):
    """Decisions made before dpkg runs."""

    def setUp(self):
        path = SCRIPTS / "package-deb"
        self.script = {"__name__": "package_deb", "__file__": str(path)}
        exec(path.read_text(), self.script)
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.tree = self.script["ROOT"] = Path(directory.name)
        self.program = self.tree / "program"
        self.program.write_text("#!/bin/sh\necho 'sophon-bridge 1.2.3 (abc)'\n")
        self.program.chmod(0o755)

    def parts(self, *text):
        (self.tree / "CHANGELOG.md").write_text("# Changelog\n\n" + "\n".join(text))
        return list(self.script["releases"]())

    def version(self, *text):
        return self.script["version_of"](str(self.program), self.parts(*text), "20261128.abc")

    def test_a_version_is_that_of_the_newest_release_or_near_it(self):
        news, release = "## Unreleased\n\n- New.\n", "## 1.2.3 (2026-11-28)\n\n- All.\n"
        self.assertEqual(self.version("## Unreleased\n", release), "1.2.3")
        self.assertEqual(self.version(news, release), "1.2.3+20261128.abc")
        self.assertEqual(self.version(news), "1.2.3~20261128.abc")
        with self.assertRaisesRegex(SystemExit, "1.2.4, and the program says 1.2.3"):
            self.version("## 1.2.4 (2026-11-29)\n\n- More.\n", release)
        with self.assertRaisesRegex(SystemExit, "heading 'Next'"):
            self.version("## Next\n\n- More.\n")

    def test_the_changelog_is_the_newest_part_in_dpkg_s_form(self):
        (_, day, entries), _ = self.parts("## 1.2.3 (2026-11-28)\n\n- Long " + "words " * 30 + "\n  go on.\n- Short.\n", "## 1.2.2\n\n- Old.\n")
        self.assertEqual(day, "2026-11-28")
        lines = self.script["changelog"]("1.2.3", "Ada <ada@example.com>", entries, 0).split("\n")
        self.assertEqual(lines[0], "sophon-bridge (1.2.3) unstable; urgency=medium")
        self.assertEqual(lines[-2], " -- Ada <ada@example.com>  Thu, 01 Jan 1970 00:00:00 -0000")
        self.assertEqual([line for line in lines if line.startswith("  * ")][1], "  * Short.")
        self.assertLess(max(map(len, lines)), 80)


if __name__ == "__main__":
    unittest.main()
