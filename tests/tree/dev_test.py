#!/usr/bin/env python3
"""`./dev test` on lanes whose results are made up: what is run again, what is said of it, and how it ends; and what a test
of a build with sanitizers says of processes that they ended."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPORTING = ROOT / "tests" / "support" / "reporting"
FAILED = 8  # as ctest says that tests failed
# The tests that fail, a line each, lie in LANE.first and LANE.again, those that a sanitizer has reported something of in LANE.reported.
CTEST = """\
#!/bin/sh
lane=${2%-services} round=first
case "$*" in *--rerun-failed*) round=again ;; esac
echo "$lane $round" >>ran
[ -e "$lane.$round" ] || exit 0
for name in $(cat "$lane.reported" 2>/dev/null); do
    mkdir -p "build/$lane/reports/$name" && echo found >"build/$lane/reports/$name/of.1"
done
mkdir -p "build/$lane/Testing/Temporary"
sed 's/^/7:/' "$lane.$round" >"build/$lane/Testing/Temporary/LastTestsFailed.log"
exit 8
"""
ORCHESTRATOR = """\
#!/bin/sh
exec >told
trap 'echo ended; exit 1' TERM
echo begun
while :; do sleep 0.05; done
"""
WAITING_CTEST = """\
#!/bin/sh
system_test
"""
ALL_INSTALLED = """\
#!/bin/sh
shift 3
for name; do echo "installed $name"; done
"""
# Overflows a number, as a service would whose test looks elsewhere.
SERVICE = """\
int main(int argc, char **argv)
{
    int most = 2147483647;
    (void)argv;
    return most + argc == 0;
}
"""


class Lanes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weir-dev-")
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        shutil.copy(ROOT / "dev", self.tree)
        (self.tree / "bin").mkdir()
        for name, text in (("ctest", CTEST), ("cmake", "#!/bin/sh\n"), ("dpkg-query", ALL_INSTALLED)):
            (self.tree / "bin" / name).write_text(text)
            (self.tree / "bin" / name).chmod(0o755)

    def run_lanes(self, **results):
        """Returns how `./dev test` ended, its last line, and what was run."""
        for name, tests in results.items():
            (self.tree / name.replace("_", ".")).write_text("".join(f"{test}\n" for test in tests))
        done = subprocess.run([self.tree / "dev", "test"], capture_output=True, text=True, check=False,
                              env=dict(os.environ, PATH=f"{self.tree / 'bin'}:{os.environ['PATH']}", TMPDIR=str(self.tree)))
        return done.returncode, done.stdout.splitlines()[-1], (self.tree / "ran").read_text().splitlines()

    def test_what_passes_alone_is_told_last(self):
        for lane, ran in (("dev", ["dev first", "dev again", "asan first"]), ("asan", ["dev first", "asan first", "asan again"])):
            with self.subTest(lane):
                (self.tree / "ran").unlink(missing_ok=True)
                code, last, seen = self.run_lanes(**{f"{lane}_first": ["system_slow"]})
                (self.tree / f"{lane}.first").unlink()
                self.assertEqual((code, seen), (0, ran))
                self.assertEqual(last, "unsteady: system_slow failed beside others and passed alone: mend it")

    def test_the_unsteady_of_all_lanes_are_told(self):
        for name, test in (("dev.first", "one"), ("asan.first", "other")):
            (self.tree / name).write_text(test + "\n")
        code, last, _ = self.run_lanes()
        self.assertEqual((code, last.split()[1]), (0, "other"))

    def test_what_fails_alone_too_ends_the_run(self):
        code, last, ran = self.run_lanes(dev_first=["broken", "slow"], dev_again=["broken"])
        self.assertEqual((code, ran), (FAILED, ["dev first", "dev again"]))
        self.assertIn("unsteady: slow ", last)

    def test_what_a_sanitizer_reported_is_not_run_again(self):
        code, _, ran = self.run_lanes(asan_first=["other", "read_past_end"], asan_reported=["read_past_end"])
        self.assertEqual((code, ran), (FAILED, ["dev first", "asan first"]))

    def test_many_failures_are_not_run_again(self):
        code, _, ran = self.run_lanes(dev_first=[f"test_{i}" for i in range(6)])
        self.assertEqual((code, ran), (FAILED, ["dev first"]))


class Ended(unittest.TestCase):
    """`./dev run` with an orchestrator, and `./dev test` with a ctest and its test, that end only when they are told."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weir-dev-")
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        shutil.copy(ROOT / "dev", self.tree)
        for path, text in (("bin/cmake", "#!/bin/sh\n"), ("bin/dpkg-query", ALL_INSTALLED), ("build/bin/orchestrator", ORCHESTRATOR),
                           ("bin/ctest", WAITING_CTEST), ("bin/system_test", ORCHESTRATOR)):
            (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
            (self.tree / path).write_text(text)
            (self.tree / path).chmod(0o755)
        (self.tree / ".weir/mails").mkdir(parents=True)
        (self.tree / ".weir/mails.kind").write_text("real\n")
        (self.tree / ".weir/mails/manifest.csv").write_text("path,time,label,subject\n")

    def assert_ends(self, verb, number):
        os.mkfifo(self.tree / "told")
        begun = subprocess.Popen([self.tree / "dev", verb], stdout=subprocess.DEVNULL, start_new_session=True,
                                 env=dict(os.environ, PATH=f"{self.tree / 'bin'}:{os.environ['PATH']}", TMPDIR=str(self.tree)))
        with (self.tree / "told").open() as told:  # what it runs holds the other end
            self.assertEqual(told.readline(), "begun\n")
            begun.send_signal(number)
            code = begun.wait()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(begun.pid, signal.SIGKILL)  # whoever is left
            self.assertEqual((code, told.read()), (128 + number, "ended\n"))
        (self.tree / "told").unlink()

    def test_what_it_runs_is_over_when_a_signal_has_ended_it(self):
        for verb in ("run", "test"):
            for number in (signal.SIGTERM, signal.SIGINT):
                with self.subTest(verb=verb, number=number):
                    self.assert_ends(verb, number)


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="weir-reports-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "service.c").write_text(SERVICE)
        subprocess.run(["cc", "-fsanitize=undefined", "-fno-sanitize-recover=all", "-o", cls.folder / "service",
                        cls.folder / "service.c"], check=True)

    def run_test(self, script):
        """A test that is this script; returns how it ends, what it says, and whether a report is kept."""
        reports = self.folder / "reports" / "it"
        done = subprocess.run([REPORTING, reports, "sh", "-c", script, self.folder / "service"], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, reports.exists()

    def test_what_is_reported_of_a_service_fails_the_test_that_passes(self):
        for ends in ("true", "exit 77"):
            code, said, is_kept = self.run_test(f'"$0" >/dev/null 2>&1; {ends}')
            self.assertEqual((code, is_kept), (1, True))
            self.assertIn("runtime error: signed integer overflow", said)

    def test_nothing_else_changes_how_a_test_ends(self):
        for script, ends in (("true", 0), ("exit 77", 77), ("exit 3", 3), ("kill -9 $$", 137)):
            self.assertEqual(self.run_test(script), (ends, "", False))

    def test_a_warning_is_shown_and_fails_nothing(self):
        code, said, is_kept = self.run_test("""eval "${UBSAN_OPTIONS##*:}" && echo Matched 1 suppressions >"$log_path.1\"""")
        self.assertEqual((code, is_kept), (0, False))
        self.assertIn("Matched 1 suppressions", said)


if __name__ == "__main__":
    unittest.main()
