"""The preset `release`, configured as people do: every file of it is hardened, and nothing in it can be told to fail."""
import json
import pathlib
import platform
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FLAGS = ["-DWEIR_NO_FAULTS", "-DNDEBUG", "-D_FORTIFY_SOURCE=3", "-fstack-protector-strong", "-fstack-clash-protection",
         "-ftrivial-auto-var-init=zero"]
if platform.machine() == "x86_64":
    FLAGS.append("-fcf-protection")
SERVICES = {"core", "storage", "selector", "preprocess", "trainer_client", "orchestrator", "cli"}


class ReleaseFlags(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="weir-release-")
        cls.addClassCleanup(folder.cleanup)
        done = subprocess.run(["cmake", "--preset", "release", "-B", folder.name, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
                               "-DWEIR_TESTS=OFF", "-DWEIR_BENCHMARKS=OFF"],
                              cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        commands = json.loads((pathlib.Path(folder.name) / "compile_commands.json").read_text())
        cls.commands = {pathlib.Path(one["file"]): one["command"].split() for one in commands}

    def test_every_file_is_hardened_and_has_no_points_of_failure(self):
        for path, words in self.commands.items():
            self.assertEqual([flag for flag in FLAGS if flag not in words], [], path)
            self.assertNotIn("-fsanitize=", " ".join(words), path)

    def test_every_service_is_there(self):
        folders = {path.relative_to(ROOT).parts[0] for path in self.commands if path.is_relative_to(ROOT)}
        self.assertLessEqual(SERVICES, folders)


if __name__ == "__main__":
    unittest.main()
