"""Samples of every size: very many tiny files, and among them one of 2 GB and some that are too large for a batch. What is
too large is refused with words, by storage or by the worker; all the rest arrives, in memory that does not grow with it.

    sizes_test.py [FILES]     3 000 by default"""

import json
import sys
import threading

from weirlab import DEADLINE_S, Lab, assert_clean_audits, peak_bytes

FILES = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
GB, MB = 1 << 30, 1 << 20
LARGE, LARGE_BYTES = 4, 2 * MB
MEMORY_MAX = {"worker-1": 256 * MB, "worker-2": 256 * MB, "dispatcher": 256 * MB, "storage": 512 * MB}

PIPELINE = """\
pipeline: {{name: sizes, mode: replay}}
datasets:
  - name: notes
    source: {{path: {data}, format: files, include: "**.json", import: reference, on_erase: unlink}}
    time:   {{from: mtime}}
    label:  {{from: folder, classes: stream}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data, seed: 1}}
preprocess:
  operators:
    - {{op: json_text, field: text}}
    - {{op: tokenize_words, max_tokens: 20}}
    - {{op: tokenize_hash, buckets: 1024}}
  batch: {{samples: 256, shuffle: full, order: relaxed, sample_bytes_max: 1MiB}}
training: {{model: {{name: text_bag, buckets: 1024}}, loss: logistic, epochs: {epochs}, seed: 1, optimizer: {{name: sgd, lr: 0.1}}}}
deletion: {{policy: retrain_now}}
"""


def write_files(folder):
    for label in ("ham", "spam"):
        for part in range(0, FILES // 2, 1000):
            (folder / label / f"{part:07}").mkdir(parents=True)
        for i in range(FILES // 2):
            (folder / label / f"{i - i % 1000:07}" / f"{i:07}.json").write_text(json.dumps({"text": f"{label} number {i}"}))
    for i in range(LARGE):
        (folder / "spam" / f"large{i}.json").write_text(json.dumps({"text": "x" * LARGE_BYTES}))
    with open(folder / "spam" / "huge.json", "wb") as huge:
        huge.truncate(2 * GB)  # takes no room on the disk


class Memory:
    """The most that each process of a run has had, looked at until the run has ended."""

    def __init__(self, run):
        self.run, self.peak = run, dict.fromkeys(MEMORY_MAX, 0)
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def _look(self):
        over = threading.Event()
        while self.run.process.poll() is None:
            for name in self.peak:
                for pid in self.run.victims(name):
                    self.peak[name] = max(self.peak[name], peak_bytes(pid))
            over.wait(0.1)  # leaves the processors to those that are looked at

    def end(self):
        self.thread.join(DEADLINE_S)
        return self.peak


def main():
    lab = Lab(samples=1, every=FILES + LARGE, epochs=1, pipeline=PIPELINE)
    write_files(lab.folder / "stream")
    (lab.folder / "stream" / "part0.jsonl").unlink()
    run = lab.run()
    memory = Memory(run)
    run.finish(deadline_s=DEADLINE_S + FILES // 500)
    peak = memory.end()

    assert_clean_audits(run.events)
    (audit,) = [event["audit"] for event in run.of("training_finished")]
    assert (audit["set"], audit["delivered"], audit["failed"]) == (FILES + LARGE, FILES, LARGE), audit
    reasons = {failure["reason"] for failure in audit["failures"]}
    assert len(audit["failures"]) == LARGE and len(reasons) == 1, audit["failures"]
    assert "expected at most 1048576" in reasons.pop(), audit["failures"]
    (notes,) = json.loads(lab.weir("datasets", "--json"))["datasets"]
    assert (notes["live"], notes["quarantined"]) == (FILES + LARGE, 1), notes
    (refused,) = notes["complaints"]
    assert f"spam/huge.json: found {2 * GB} bytes, expected at most {16 * MB} in a sample" in refused, refused
    assert all(0 < peak[name] <= most for name, most in MEMORY_MAX.items()), peak
    print(f"{FILES} tiny files, {LARGE} too large, one of 2 GB refused; at most (MB): "
          f"{ {name: used // MB for name, used in peak.items()} }")
    lab.remove()


main()
