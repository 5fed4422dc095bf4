#!/usr/bin/env python3
"""Runs of benchmarks/run on a program whose figures are made up: what is kept, what is said of it, and how it ends."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
OK, FAILED, BAD_USAGE = 0, 1, 2
# Prints one measurement, and the next one from then on if there is one.
PROGRAM = """\
#!/bin/sh
cd "$(dirname "$0")" && cat now && if [ -e next ]; then mv next now; fi
"""
FAST = [2.0, 2.02, 1.98, 2.01, 1.99]
SLOW = [1.5, 1.52, 1.48, 1.51, 1.49]
NOISY = [1.3, 2.6, 2.1, 1.7, 2.4]


def lines_of(rates):
    """The lines that a benchmark prints, of {NAME: the ratios of its pairs}."""
    lines = []
    for name, ours in rates.items():
        ratio = sorted(ours)[len(ours) // 2]
        lines.append(json.dumps({"bench": name, "against": "a number", "ratio": ratio, "min": min(ours), "max": max(ours),
                                 "runs": len(ours), "bar": 0.5, "pass": ratio >= 0.5, "unit": "1/s", "peer": "", "tolerance": 0.1,
                                 "ours": ours, "theirs": [1.0] * len(ours)}) + "\n")
    return "".join(lines)


class Bench:
    def __init__(self, folder):
        self.folder, self.kept = folder, folder / "kept"
        (folder / "bin").mkdir()
        program = folder / "bin" / "bench_t"
        program.write_text(PROGRAM)
        program.chmod(0o755)

    def run(self, *words, rates=None, then=None):
        """Keeps what is measured, however busy others keep the machine."""
        for name, measured in (("now", rates), ("next", then)):
            if measured is not None:
                (self.folder / "bin" / name).write_text(lines_of(measured))
        command = [sys.executable, ROOT / "benchmarks" / "run", "--programs", self.folder / "bin", "--out", self.folder / "out",
                   "--keep-busy", *words]
        environment = dict(os.environ, WEIR_BENCH_DIR=str(self.kept))
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)

    def files(self):
        return sorted(self.kept.glob("*.jsonl"))


def verdict_of(done, name):
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith(name + " ")]
    return lines[-1][1]


def what_is_slower_beyond_noise_fails_and_says_how_to_repeat_it(bench):
    first = bench.run(rates={"t.a": FAST, "t.b": NOISY})
    assert first.returncode == OK and verdict_of(first, "t.a") == "new", first
    done = bench.run("--runs", "5", rates={"t.a": SLOW, "t.b": [rate * 0.75 for rate in NOISY]})
    assert done.returncode == FAILED and verdict_of(done, "t.a") == "worse" and verdict_of(done, "t.b") == "same", done
    assert "measuring again" in done.stderr and "repeat: ./dev bench t.a --runs=5\n" in done.stderr, done.stderr
    again = bench.run("t.a", "--json")
    line = json.loads(again.stdout.splitlines()[0])
    assert again.returncode == FAILED and line["verdict"] == "worse", "a regression was taken for what later runs are compared with"
    assert bench.run("--accept").returncode == OK
    same = bench.run()
    assert same.returncode == OK and verdict_of(same, "t.a") == "same", same
    assert bench.run("--history", "t.a").stdout.count("t.a ") == len(bench.files()) == 5


def what_is_slower_once_is_no_regression_and_what_is_below_its_bar_fails(bench):
    bench.run(rates={"t.a": FAST})
    done = bench.run("--no-keep", rates={"t.a": SLOW}, then={"t.a": FAST})
    assert done.returncode == OK and verdict_of(done, "t.a") == "same" and "measuring again" in done.stderr, done
    assert bench.run("--accept", rates={"t.a": [rate / 10 for rate in FAST]}).returncode == FAILED
    assert len(bench.files()) == 2


def files_that_are_cut_off_and_other_machines_are_not_compared_with(bench):
    bench.run(rates={"t.a": FAST})
    whole = bench.files()[0]
    run, line = whole.read_text().splitlines()
    foreign = dict(json.loads(run), machine=dict(json.loads(run)["machine"], cpu="Z80"))
    (bench.kept / "20990101T000000Z-none.jsonl").write_text(json.dumps(foreign) + "\n" + line)
    (bench.kept / "20990101T000001Z-none.jsonl").write_text(run + "\n" + line[:-20])
    done = bench.run(rates={"t.a": SLOW})
    assert done.returncode == FAILED and verdict_of(done, "t.a") == "worse", done
    assert "left out: 20990101T000001Z-none.jsonl:2: " in done.stderr, done.stderr
    assert bench.run("--against", "20990101T000000Z").returncode == BAD_USAGE
    assert bench.run("--against", whole.stem, "--no-keep", rates={"t.a": FAST}).returncode == OK


def what_is_not_there_is_bad_usage(bench):
    assert bench.run("u").returncode == BAD_USAGE
    assert bench.run("peers", "cat").returncode == BAD_USAGE
    for words, products in ((["suite"], []), (["peers", "numpy", "--runs", "3"], ["numpy"]),
                            (["peers"], ["torch", "fasttext", "numpy", "sklearn", "postgres"])):
        assert bench.run("--products", *words).stdout.split() == products, words
    refused = bench.run("--products", "suite.bank", "nothing.there")  # before anything is installed or built
    assert refused.returncode == BAD_USAGE and "no benchmark 'nothing'" in refused.stderr, refused
    assert bench.run("--against", "2026").returncode == BAD_USAGE
    assert bench.run("--history", "t").returncode == FAILED
    unwritable = bench.run("--keep", bench.folder / "bin" / "now", rates={"t.a": FAST})
    assert unwritable.returncode == FAILED and "cannot keep the run: " in unwritable.stderr, unwritable
    assert not bench.kept.exists()


def main():
    for check in (what_is_slower_beyond_noise_fails_and_says_how_to_repeat_it,
                  what_is_slower_once_is_no_regression_and_what_is_below_its_bar_fails,
                  files_that_are_cut_off_and_other_machines_are_not_compared_with, what_is_not_there_is_bad_usage):
        with tempfile.TemporaryDirectory() as folder:
            check(Bench(pathlib.Path(folder)))
        print(f"{check.__name__.replace('_', ' ')}: so it is", flush=True)


main()
