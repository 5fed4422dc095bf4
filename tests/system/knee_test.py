"""A pool settles near the size that pays for pipelines that nobody has tuned it for: their programs sleep, burn, inflate and shrink,
in an order and by amounts that a seed draws. That size is found by trying each of them; then the pool finds it by itself, while its
workers are killed, frozen and starved, and makes the same batches, each once.

knee_test.py [SEED…]"""

import json
import random
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

from weirlab import (Lab, assert_clean_audits, await_that, binaries, child, everyone_may_write, kill_all, outcome, served, signal_all,
                     stopped, victims)

MAX = 8
SAMPLES, BATCH, EPOCHS = 800, 8, 6
BATCHES = SAMPLES // BATCH * EPOCHS
LOOKED_AT = 18  # batches at each size
ENOUGH = 0.93  # of the most that any size makes: the least size that makes it is the knee

PIPELINE = """\
pipeline: {{name: drawn, mode: replay}}
datasets:
  - name: drawn
    source: {{path: {data}, format: jsonl, include: "*.jsonl", import: reference, on_erase: scrub}}
    time:   {{from: field, field: ts}}
    label:  {{field: label, classes: [work, spam]}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data}}
preprocess:
  operators: [{{op: json_text, field: text}}, OPERATORS, {{op: tokenize_words, max_tokens: 4000}}, {{op: tokenize_hash, buckets: 4096}}]
  batch: {{samples: %d, order: ORDER}}
training: {{program: slow, epochs: {epochs}, seed: 1, digests: true}}
""" % BATCH


class Drawn:
    """A pipeline, and the trainer that takes its batches. A batch takes a worker as long as `need` steps of the trainer: sleeping
    mostly, and for long, so that it is the pool that has to grow, however few processors there are and whatever else they do."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.step_ms = draw.randint(400, 550)
        self.need = draw.randint(2, MAX - 2) - draw.uniform(0.25, 0.6)
        burn_s = draw.uniform(0.002, 0.01)
        sleeps = draw.choice([1, 2])
        sleep_s = (self.step_ms / 1000 * self.need - burn_s) / sleeps
        self.programs = [("burn", burn_s), ("inflate", draw.randint(2, 40)), ("shrink", draw.uniform(0.1, 0.5))]
        self.programs += [("sleep", sleep_s)] * sleeps
        draw.shuffle(self.programs)
        self.order = draw.choice(["deterministic", "relaxed"])

    def text(self):
        return f"{self.programs}, {self.order}, {self.step_ms} ms a step: needs {self.need:.2f} workers"

    def pipeline(self, order):
        operators = ", ".join(f"{{{{op: exec, program: p{i}, makes: text}}}}" for i in range(len(self.programs)))
        return PIPELINE.replace("OPERATORS", operators).replace("ORDER", order)

    def system(self, folder, taken):
        toil = folder / "toil.py"
        shutil.copy(Path(__file__).parent / "toil.py", toil)
        shutil.copy(binaries().parent / "tests/bin/slow_loop", folder)
        lines = [f"  p{i}: {{command: [/usr/bin/python3, {toil}, {kind}, '{amount}']}}" for i, (kind, amount) in enumerate(self.programs)]
        lines += [f"  slow: {{command: [{folder}/slow_loop, '{self.step_ms}', {taken}], modes: [train]}}"]
        return f"workers: {{min: 1, max: {MAX}}}\nprograms:\n" + "\n".join(lines) + "\n"


class Play:
    """One training of a drawn pipeline on a platform of its own."""

    def __init__(self, drawn, order):
        self.lab = Lab(samples=SAMPLES, every=SAMPLES, epochs=EPOCHS, pipeline=drawn.pipeline(order))
        self.file, self.system_file = self.lab.folder / "taken" / "batches", self.lab.folder / "system.yaml"
        self.file.parent.mkdir()
        self.file.touch()
        everyone_may_write(self.file.parent)
        self.system_file.write_text(drawn.system(self.lab.folder, self.file))

    def served(self):
        return served(self.lab, "--system", str(self.system_file))

    def submit(self):
        self.lab.weir("submit", str(self.lab.pipeline))

    def taken(self):
        return self.file.stat().st_size

    def await_taken(self, batches):
        await_that(lambda: self.taken() >= batches, lambda: f"{self.taken()} of {batches} batches", pause_s=0.2)

    def workers(self):
        return json.loads(self.lab.weir("workers", "--json"))

    def size(self):
        return len(self.workers()["pool"]["members"])

    def at_work(self):
        """Workers that have made something."""
        return sum(worker["bytes_sent"] > 0 for worker in self.workers()["workers"])

    def finish(self):
        await_that(lambda: "FINISHED" in self.lab.weir("list", "--json"), lambda: f"{self.taken()} batches", pause_s=0.5)
        events = [json.loads(line) for line in self.lab.weir("watch", "drawn", "--json").splitlines()]
        assert_clean_audits(events)
        return outcome(events)


def rate_of(play, size):
    """Batches a second with so many workers."""
    play.lab.weir("workers", "set", str(size))
    await_that(lambda: play.size() == size and play.at_work() == size, play.workers, pause_s=0.2)
    play.await_taken(play.taken() + size)  # which were made before
    before, began = play.taken(), time.monotonic()
    play.await_taken(before + LOOKED_AT)
    return (play.taken() - before) / (time.monotonic() - began)


def try_each_size(drawn):
    """Returns the knee, and what the training came to: batches come as they are made, that what a size makes is seen at once."""
    play = Play(drawn, "relaxed")
    with play.served():
        play.lab.weir("workers", "set", "1")
        play.submit()
        rates = {size: rate_of(play, size) for size in range(1, MAX + 1)}
        result = play.finish()
    knee = min(size for size, rate in rates.items() if rate >= ENOUGH * max(rates.values()))
    print(f"  by size: {', '.join(f'{size}: {rate:.2f}' for size, rate in rates.items())} batches/s, knee {knee}", flush=True)
    play.lab.remove()
    return knee, result


def a_worker(play, draw):
    return [draw.choice(await_that(lambda: victims(play.lab.data_dir, "worker")))]


def killed(play, draw):
    kill_all(a_worker(play, draw))


def frozen(play, draw):
    with stopped(a_worker(play, draw)):
        threading.Event().wait(draw.uniform(2, 15))


def starved(play, draw):
    """A worker has a tenth of the time, and everybody's processors are busy."""
    busy = [child.start([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    worker, until = a_worker(play, draw), time.monotonic() + draw.uniform(4, 10)
    while time.monotonic() < until:
        signal_all(worker, signal.SIGSTOP)
        threading.Event().wait(0.09)
        signal_all(worker, signal.SIGCONT)
        threading.Event().wait(0.01)
    for one in busy:
        one.kill()
        one.wait()


def find_by_itself(drawn, seed):
    """Returns the sizes that the pool had in the last quarter of the training, and what it came to."""
    play, draw = Play(drawn, drawn.order), random.Random(-seed)
    hardships = [killed, frozen, starved, killed, frozen]
    draw.shuffle(hardships)
    with play.served():
        play.submit()
        for i, hardship in enumerate(hardships):
            play.await_taken(BATCHES * (i + 1) // 12)
            before, size = play.taken(), play.size()
            hardship(play, draw)
            print(f"  {hardship.__name__} at {before} of {BATCHES} batches, {size} workers", flush=True)
        play.await_taken(BATCHES * 3 // 4)
        killed(play, draw)
        sizes = []
        while play.taken() < BATCHES - 10:
            runs = play.workers()["runs"]
            sizes += [run["scaling"]["workers"] for run in runs if run["scaling"]]
            threading.Event().wait(0.5)
        scaling = [(run["scaling"]["reports"], run["scaling"]["why"], run["scaling"]["need"]) for run in runs]
        print(f"  sizes at last: {sorted(set(sizes))} {scaling}", flush=True)
        result = play.finish()
    play.lab.remove()
    return sizes, result


def check(seed):
    drawn = Drawn(seed)
    print(f"seed {seed}: {drawn.text()}", flush=True)
    knee, undisturbed = try_each_size(drawn)
    sizes, disturbed = find_by_itself(drawn, seed)
    assert disturbed == undisturbed and "batches" in disturbed[1], (disturbed, undisturbed)
    assert sizes and all(abs(size - knee) <= 1 for size in sizes), (sizes, knee)


def main():
    for seed in map(int, sys.argv[1:] or ["1"]):
        check(seed)


if __name__ == "__main__":
    main()
