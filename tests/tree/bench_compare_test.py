#!/usr/bin/env python3
"""What is noise between two runs of a benchmark, against SciPy; and which files of kept runs are read."""
import math
import os
import pathlib
import random
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))
import compare
import history
import machine

try:
    from scipy import stats
except ImportError:
    stats = None

FAST = [2.0, 2.02, 1.98, 2.01, 1.99]
SLOW = [1.5, 1.52, 1.48, 1.51, 1.49]
NOISY = [1.3, 2.6, 2.1, 1.7, 2.4]
HEADER = {"weir_bench_run": 1, "started": "2026-11-27T09:11:42Z", "commit": "0123456789abcdef", "dirty": False,
          "machine": {"cpu": "Z80", "cores": 2, "memory_mb": 24000, "kernel": "6.1", "compiler": "cc 1"},
          "load": [0.1, 0.2, 0.3], "others": 0.02, "busy": False, "forced": False, "scale": 1, "figures": 1}


def figure(ours, verdict="same", tolerance=0.1, theirs=None, name="t.a"):
    return {"bench": name, "against": "a number", "unit": "1/s", "tolerance": tolerance, "ours": ours,
            "theirs": theirs or [1.0] * len(ours), "verdict": verdict}


def judged(then, now, **how):
    return compare.judge([figure(then)], figure(now, **how))


class WhatIsNoise(unittest.TestCase):
    def test_an_equal_run_is_the_same(self):
        self.assertEqual(judged(FAST, FAST[::-1]).word, "same")

    def test_a_quarter_less_is_worse_and_a_third_more_is_better(self):
        self.assertEqual(judged(FAST, SLOW).word, "worse")
        self.assertEqual(judged(SLOW, FAST).word, "better")
        self.assertAlmostEqual(judged(FAST, SLOW).change.factor, 0.75, places=3)

    def test_a_quarter_less_is_noise_where_pairs_differ_by_half(self):
        self.assertEqual(judged(NOISY, [0.75 * ratio for ratio in NOISY]).word, "same")

    def test_less_than_the_tolerance_is_no_regression_and_said_to_be_beyond_noise(self):
        verdict = judged(FAST, [0.95 * ratio for ratio in FAST])
        self.assertEqual(verdict.word, "same")
        self.assertIn("beyond noise, but within the tolerance of 10 %", verdict.note)
        self.assertEqual(judged(FAST, [0.95 * ratio for ratio in FAST], tolerance=0.02).word, "worse")

    def test_three_pairs_are_too_few_and_four_are_enough(self):
        self.assertIn("too few pairs to tell: 3 and 3", judged(FAST[:3], SLOW[:3]).note)
        self.assertEqual(judged(FAST[:3], SLOW[:3]).word, "same")
        self.assertEqual(judged(FAST[:4], SLOW[:4]).word, "worse")

    def test_the_side_that_has_changed_is_named(self):
        verdict = judged(FAST, FAST, theirs=[2.0, 2.01, 1.99, 2.02, 1.98])
        self.assertEqual((verdict.word, verdict.note), ("worse", "the other side is 2.00 times as fast"))

    def test_what_is_measured_once_is_noise_within_the_range_of_all_that_was_kept(self):
        now = figure([1.4])
        self.assertEqual(compare.judge([figure([2.0])], now).word, "worse")
        self.assertEqual(compare.judge([figure([2.0]), figure([1.3])], now).word, "same")
        self.assertEqual(compare.judge([figure([2.0]), figure([1.9])], now).word, "worse")

    def test_nothing_kept_is_new(self):
        self.assertEqual(compare.judge([], figure(FAST)).word, "new")


@unittest.skipIf(stats is None, "SciPy is not installed")
class AgainstScipy(unittest.TestCase):
    def test_the_interval_excludes_no_change_where_the_exact_test_does(self):
        drawn = random.Random(1)
        for _ in range(200):
            then = [math.exp(drawn.gauss(0, 0.1)) for _ in range(drawn.randint(2, 9))]
            now = [math.exp(drawn.gauss(-0.15, 0.1)) for _ in range(drawn.randint(2, 9))]
            p = stats.mannwhitneyu(now, then, method="exact").pvalue
            self.assertEqual(compare.change_of(then, now).is_beyond_noise(), p <= 1 - compare.LEVEL, (then, now, p))

    def test_so_does_the_approximation_for_many_pairs(self):
        drawn = random.Random(2)
        for shift in (0, -0.01, -0.02, -0.03, -0.05):
            then = [math.exp(drawn.gauss(0, 0.1)) for _ in range(300)]
            now = [math.exp(drawn.gauss(shift, 0.1)) for _ in range(200)]
            p = stats.mannwhitneyu(now, then, method="asymptotic").pvalue
            if abs(p - 0.05) > 0.002:
                self.assertEqual(compare.change_of(then, now).is_beyond_noise(), p < 0.05, p)

    def test_nineteen_of_twenty_intervals_hold_the_change(self):
        drawn, held, runs = random.Random(3), 0, 2000
        for _ in range(runs):
            then = [math.exp(drawn.gauss(0, 0.2)) for _ in range(7)]
            now = [0.9 * math.exp(drawn.gauss(0, 0.2)) for _ in range(7)]
            change = compare.change_of(then, now)
            held += change.low <= 0.9 <= change.high
        self.assertGreater(stats.binomtest(held, runs, compare.LEVEL, alternative="less").pvalue, 0.001, held)


class KeptRuns(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name) / "a" / "b"

    def keep(self, *figures, **header):
        return history.write(self.folder, dict(HEADER, **header), figures)

    def put(self, text, number):
        path = self.folder / f"20990101T0000{number:02}Z-none.jsonl"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def test_what_is_kept_is_read_again_newest_first(self):
        names = [self.keep(figure(FAST), started=f"2026-11-27T09:11:4{second}Z") for second in range(3)]
        runs, complaints = history.read_all(self.folder)
        self.assertEqual([run.name for run in runs], names[::-1])
        self.assertEqual((runs[0].figures["t.a"], complaints), (figure(FAST), []))

    def test_two_runs_of_one_second_are_both_kept(self):
        self.assertEqual([self.keep(figure(FAST)), self.keep(figure(SLOW))],
                         ["20261127T091142Z-0123456789ab", "20261127T091142Z-0123456789ab.2"])
        self.assertEqual(len(history.read_all(self.folder)[0]), 2)

    def test_runs_of_one_second_are_read_again_newest_first(self):
        names = [self.keep(figure(FAST)) for _ in range(11)]
        self.assertEqual([run.name for run in history.read_all(self.folder)[0]], names[::-1])

    def test_no_folder_is_no_run_and_what_is_no_folder_is_said(self):
        self.assertEqual(history.read_all(self.folder), ([], []))
        self.folder.parent.mkdir(parents=True)
        self.folder.write_text("")
        runs, complaints = history.read_all(self.folder)
        self.assertEqual((runs, len(complaints)), ([], 1))

    def test_files_that_are_cut_off_or_made_up_are_left_out_with_words(self):
        self.keep(figure(FAST))
        run, line = next(self.folder.iterdir()).read_text().splitlines()
        damaged = ["", run, f"{run}\n{line[:-9]}", "[" * 100000, f"{run}\n{{}}", f"{run}\n[]", "null", b"\x00\xff",
                   run.replace('"weir_bench_run": 1', '"weir_bench_run": 2') + "\n" + line, run.replace("24000", '"much"') + "\n" + line,
                   *(f"{run}\n{line.replace('1.98', bad)}" for bad in ("NaN", "1e999", "-1", "true", '"2"', "1" + "0" * 400)),
                   f"{run}\n{line.replace('t.a', chr(92) + 'u001b[2J')}", f"{run}\n{line.replace('2.02, ', '')}",
                   f"{run}\n{line.replace('0.1', '7')}", f"{run}\n{line}\n{line}"]
        for number, text in enumerate(damaged):
            self.put(text, number)
        os.mkfifo(self.folder / "20990101T000050Z-none.jsonl")
        (self.folder / "20990101T000051Z-none.jsonl").symlink_to("/dev/zero")
        (self.folder / "20990101T000052Z-none.jsonl").mkdir()
        (self.folder / "notes.jsonl").write_text("of somebody else")
        runs, complaints = history.read_all(self.folder)
        self.assertEqual(([run.name for run in runs], len(complaints)), (["20261127T091142Z-0123456789ab"], len(damaged) + 3))
        self.assertIn("left out: 20990101T000001Z-none.jsonl: 0 figures, expected 1: cut off", complaints)
        self.assertTrue(all(complaint.isprintable() and len(complaint) < 300 for complaint in complaints), complaints)

    def test_runs_of_busy_machines_and_regressions_are_no_baseline(self):
        self.keep(figure([1.0]), started="2026-11-27T09:11:41Z")
        self.keep(figure([2.0], verdict="worse"), started="2026-11-27T09:11:42Z")
        self.keep(figure([3.0]), started="2026-11-27T09:11:43Z", busy=True)
        runs, _ = history.read_all(self.folder)
        self.assertEqual([kept["ours"] for kept in history.kept_of(runs, "t.a")], [[1.0]])
        self.keep(figure([4.0]), started="2026-11-27T09:11:44Z", busy=True, forced=True)
        self.assertEqual(history.kept_of(history.read_all(self.folder)[0], "t.a")[0]["ours"], [4.0])

    def test_a_run_is_found_by_its_name_and_by_its_commit(self):
        name = self.keep(figure(FAST))
        runs, _ = history.read_all(self.folder)
        for word, found in ((name, True), ("20261127", True), ("01234567", True), ("012", False), ("2027", False)):
            self.assertEqual(history.find(runs, word) is not None, found, word)

    def test_the_folder_is_where_the_environment_says(self):
        for environment, given, folder in (({"HOME": "/h"}, None, "/h/.local/state/weir/bench"), ({"XDG_STATE_HOME": "/s"}, None, "/s/weir/bench"),
                                           ({"XDG_STATE_HOME": "/s", "WEIR_BENCH_DIR": "/b"}, None, "/b"), ({"WEIR_BENCH_DIR": "/b"}, "/g", "/g")):
            self.assertEqual(str(history.folder_of(environment, given)), folder)


class Machines(unittest.TestCase):
    def test_this_one_is_the_same_as_itself_and_not_as_one_with_more_cores(self):
        here = machine.describe("cc")
        self.assertTrue(machine.is_same(here, here))
        self.assertFalse(machine.is_same(here, dict(here, cores=here["cores"] + 1)))
        self.assertEqual(machine.differences(here, dict(here, kernel="7")), [f"kernel: {here['kernel']} then, 7 now"])


if __name__ == "__main__":
    unittest.main()
