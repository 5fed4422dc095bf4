"""What a trainer waits for is named, whoever makes it wait: a program that takes its time, storage that hardly answers, or
nobody, because the trainer is the slow one; and nothing is said of a trainer that is gone."""

import json
import os
import signal
import threading

from weirlab import DEADLINE_S, Lab, await_that, served, signal_all, victims

SAMPLES = 2000
SLEEPER = """\
import runpy, sys, time
class Slow:
    def read(self, size):
        data = sys.__stdin__.buffer.read(size)
        time.sleep(0.05)
        return data
sys.stdin = type("Input", (), {"buffer": Slow()})()
runpy.run_path(%r)
"""
EXAMPLE = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../docs/guides/programs/text_numbers.py"))
WORDS = "{op: tokenize_words, max_tokens: 100}, {op: tokenize_hash, buckets: 4096}"
PROGRAM = "{op: exec, program: sleeper, name: numbers, makes: dense, type: f32, width: 3}"

PIPELINE = """\
pipeline: {{name: {name}, mode: replay}}
datasets:
  - name: {name}
    source: {{path: {data}, format: jsonl, include: "*.jsonl", import: reference, on_erase: scrub}}
    time:   {{from: field, field: ts}}
    label:  {{field: label, classes: [work, spam]}}
trigger:   {{policy: amount, samples: %d}}
selection: {{policy: new_data}}
preprocess:
  operators: [{{op: json_text, field: text}}, {operators}]
  batch: {{samples: 16, order: relaxed}}
training: {{model: {model}, loss: logistic, epochs: 10000, seed: 1, optimizer: {{name: sgd, lr: 0.1}}}}
""" % SAMPLES


class Slowed:
    """Stands still but for a moment now and then."""

    def __init__(self, lab, name, still_s):
        self.lab, self.name, self.still_s, self.over = lab, name, still_s, threading.Event()
        self.thread = threading.Thread(target=self._slow, daemon=True)
        self.thread.start()

    def _tell(self, what):
        signal_all(victims(self.lab.data_dir, self.name), what)

    def _slow(self):
        while not self.over.wait(0.05):
            self._tell(signal.SIGSTOP)
            self.over.wait(self.still_s)
            self._tell(signal.SIGCONT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join(DEADLINE_S)


def run_of(lab, number):
    runs = json.loads(lab.weir("workers", "--json"))["runs"]
    return next((run for run in runs if run["run"] == number), {"stage": None})


def wait_for_stage(lab, number, stage):
    seen = set()

    def run_in_it():
        run = run_of(lab, number)
        seen.add(run["stage"])
        return run if run["stage"] == stage else None
    return await_that(run_in_it, lambda: f"run {number}: expected {stage}, found {seen}", pause_s=0.1)


def begin(lab, name, operators, model):
    file = lab.folder / f"{name}.yaml"
    file.write_text(PIPELINE.format(name=name, data=lab.folder / "stream", operators=operators, model=model))
    lab.weir("submit", str(file))


def program_of(run):
    return next((operator for operator in run.get("operators", []) if operator["operator"] == "exec"), {"bytes_out": 0})


def check_operators(lab):
    begin(lab, "sleeps", PROGRAM, "linear")
    wait_for_stage(lab, 1, "operators")  # said while the program has not answered yet
    await_that(lambda: program_of(run_of(lab, 1))["bytes_out"] > 0)
    run = wait_for_stage(lab, 1, "operators")
    program = program_of(run)
    others = run["read_seconds"] + sum(o["cpu_seconds"] for o in run["operators"] if o is not program)
    assert run["stall_fraction"] > 0.5 and program["cpu_seconds"] > others, run
    assert program["bytes_in"] > 0 and program["bytes_out"] > 0 and program["inflation"] > 0, run
    assert "of its time, for operators" in lab.weir("workers")
    print("a slow program:", run["stage"], program)


def check_trainer_and_storage(lab):
    begin(lab, "words", WORDS, "text_bag")
    with Slowed(lab, "trainer", 0.5):
        run = wait_for_stage(lab, 2, "trainer")
        assert run["stall_fraction"] < 0.05 and "workers keep up" in lab.weir("workers"), run
    print("a slow trainer:", run["stage"])
    with Slowed(lab, "storage", 1.5):
        run = wait_for_stage(lab, 2, "locate")
        assert run["stall_fraction"] > 0.05, run
    print("slow storage:", run["stage"])


def main():
    lab = Lab(samples=SAMPLES)
    sleeper, system = lab.folder / "sleeper.py", lab.folder / "system.yaml"
    sleeper.write_text(SLEEPER % EXAMPLE)
    system.write_text(f"workers: 2\nprograms:\n  sleeper: {{command: [/usr/bin/python3, {sleeper}]}}\n")
    with served(lab, "--system", str(system)):
        check_operators(lab)
        lab.weir("stop", "sleeps")
        check_trainer_and_storage(lab)
        wait_for_stage(lab, 1, None)
        assert "run 1: nothing is heard of a trainer" in lab.weir("workers")
        lab.weir("stop", "words")
    lab.remove()


main()
