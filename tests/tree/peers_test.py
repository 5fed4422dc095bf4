#!/usr/bin/env python3
"""Products that benchmarks are compared with: each that a figure names is installed by name, and scripts do the work they say.

Usage: peers_test.py GENERATE_CLICKS
"""
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "benchmarks" / "peers"
HAS_NUMPY = importlib.util.find_spec("numpy") is not None
HAS_SKLEARN = importlib.util.find_spec("sklearn") is not None
NOT_THERE = 77


def script(name, *words):
    return subprocess.run([sys.executable, PEERS / name, *map(str, words)], capture_output=True, text=True)


class Peers(unittest.TestCase):
    generate = None

    def test_every_product_of_a_figure_is_listed_and_explained_and_every_one_that_is_listed_has_a_figure(self):
        figures = "".join(path.read_text() for path in ROOT.glob("benchmarks/*/main.c"))
        lines = [line.split() for line in (PEERS / "packages").read_text().splitlines()]
        self.assertEqual(set(re.findall(r'\.peer = "(\w+)"', figures)), {line[0] for line in lines})
        self.assertEqual(set(re.findall(r"(?m)^## .*\(`(\w+)`\)$", (ROOT / "docs" / "peers.md").read_text())), {line[0] for line in lines})
        self.assertTrue(all(len(line) > 2 for line in lines), "PRODUCT LICENCE PACKAGE…")

    @unittest.skipUnless(HAS_NUMPY, "NumPy is not installed")
    def test_numpy_takes_every_second_record_once(self):
        sys.path.insert(0, str(PEERS))
        import clicks
        import clicks_numpy
        with tempfile.TemporaryDirectory() as folder:
            files = pathlib.Path(folder) / "clicks"
            files.mkdir()
            for day in (1, 2):
                (files / f"day_{day}").write_bytes(b"".join(number.to_bytes(4, "little") * 40 for number in range(500 * (day - 1), 500 * day)))
            for threads in (0, 3):
                total, count = clicks_numpy.epoch(clicks.mapped(files), 64, threads)
                self.assertEqual((total, count), (40 * sum(range(0, 1000, clicks.STRIDE)), 500))
            done = script("clicks_numpy.py", files, 64, 2)
            self.assertGreater(float(done.stdout), 0, done.stderr)

    @unittest.skipUnless(HAS_SKLEARN, "scikit-learn is not installed")
    def test_the_best_weights_are_not_worse_than_those_of_a_descent(self):
        with tempfile.TemporaryDirectory() as folder:
            common = (self.generate, 6000, pathlib.Path(folder) / "linear", "orchestrator", 5)
            qualities = []
            for side in ("optimum", "sgd"):
                done = script("linear_sklearn.py", side, *common)
                self.assertEqual(done.returncode, 0, done.stderr)
                rate, quality = map(float, done.stdout.split())
                self.assertGreater(rate, 0)
                qualities.append(quality)
            self.assertGreater(qualities[0], 0.98 * qualities[1])

    def test_data_that_are_not_there_are_said_to_be_so(self):
        with tempfile.TemporaryDirectory() as folder:
            done = script("texts_fasttext.py", "fasttext", "mails", pathlib.Path(folder) / "nothing", pathlib.Path(folder) / "made", "orchestrator", 5)
        self.assertEqual(done.returncode, NOT_THERE, done.stderr)


if __name__ == "__main__":
    Peers.generate = sys.argv.pop(1)
    unittest.main()
