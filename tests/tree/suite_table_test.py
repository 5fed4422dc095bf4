#!/usr/bin/env python3
"""The table of a comparison: policies are compared on the windows that all of them have, and what is left out is said."""
import json
import pathlib
import subprocess
import sys
import unittest

TABLE = pathlib.Path(__file__).resolve().parents[2] / "benchmarks/suite/table"


def cell(policy, values):
    """With windows of a month each; None: it is not defined."""
    windows = [{"from": f"2026-{month:02}", "until": f"2026-{month + 1:02}", "value": value} for month, value in values.items()]
    return {"policy": policy, "state": "done", "axes": {"seed": 1}, "cpu_s": 1.0, "quality": {"value": 0.5}, "windows": windows}


def comparison(*cells):
    judge = {"metric": "accuracy", "better": "higher"}
    policies = [{"policy": c["policy"], "baseline": c is cells[0], "chosen": False, "chosen_by": None, "costs": {"triggers": 1}}
                for c in cells]
    return {"judge": judge, "policies": policies, "cells": list(cells)}


def table(answer, *options):
    done = subprocess.run([sys.executable, TABLE, "/dev/stdin", *options], input=json.dumps(answer), capture_output=True,
                          text=True, check=True)
    return done.stdout


class Windows(unittest.TestCase):
    EARLY = cell("early", {1: 0.1, 2: 0.8, 3: 0.9, 4: 0.7})
    LATE = cell("late", {2: 0.7, 3: 0.6, 4: None})

    def test_a_policy_that_begins_late_is_compared_on_its_windows(self):
        said = table(comparison(self.EARLY, self.LATE), "--from", "2026-01")
        self.assertIn("| early | 1 | 1.0 | 0.8500 |", said)
        self.assertIn("| late | 1 | 1.0 | 0.6500 | -0.2000 |", said)
        self.assertIn("judged by the 2 windows that every policy has; up to 2 more are left out: late has the fewest", said)

    def test_nothing_is_said_where_all_have_all(self):
        said = table(comparison(self.EARLY, cell("other", {1: 0.2, 2: 0.2, 3: 0.2, 4: 0.2})), "--from", "2026-01")
        self.assertIn("| early | 1 | 1.0 | 0.6250 |", said)
        self.assertNotIn("left out", said)

    def test_a_policy_of_which_nothing_was_measured_takes_no_window_from_the_others(self):
        said = table(comparison(self.EARLY, cell("never", {})), "--from", "2026-01")
        self.assertIn("| early | 1 | 1.0 | 0.6250 |", said)
        self.assertNotIn("left out", said)

    def test_what_the_platform_has_left_out_is_said_too(self):
        answer = comparison(self.EARLY, self.LATE)
        answer["judge"] |= {"judged_on": {"windows": 2, "left_out": 0, "fewest": None},
                            "chosen_on": {"windows": 5, "left_out": 3, "fewest": "late"}}
        said = table(answer)
        self.assertIn("chosen by the 5 windows that every policy has; up to 3 more are left out: late has the fewest", said)
        self.assertNotIn("judged by", said)


if __name__ == "__main__":
    unittest.main()
