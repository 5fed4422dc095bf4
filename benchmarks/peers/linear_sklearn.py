#!/usr/bin/env python3
"""Logistic regression on clicks that are made up (13 counts of suite/clicks.h, their logarithms): `linear` against scikit-learn.

linear_sklearn.py sgd|optimum|weir GENERATE ROWS FOLDER ORCHESTRATOR EPOCHS: prints trained samples a second of CPU time, and one over the
log loss on the last sixth. sgd: SGDClassifier, averaged, an epoch a pass, on one thread, rows in memory. optimum: LogisticRegression to
its end, by the solver that is fastest for few numbers: no better weights exist; its rate counts every row once. On Weir's side every process counts. Exit 77: scikit-learn is not there.
"""
import pathlib
import subprocess
import sys
import time

import pipeline

try:
    import numpy as np
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.metrics import log_loss
except ImportError:
    sys.exit(77)

RECORD = [("time", "<i8"), ("label", "<i4"), ("counts", "<f4", 13), ("categories", "<i4", 26)]
DAYS, TESTED_FROM, DAY_US = 12, 10, 86400 * 1000000
# Of its schedules, and rates from 0.003 to 0.1, the one with the least log loss here.
SGD = {"loss": "log_loss", "tol": None, "penalty": None, "random_state": 1, "average": True, "learning_rate": "invscaling", "eta0": 0.1}
TESTED = "2024-01-12"  # the first day is 2024-01-02

PIPELINE = """\
pipeline: {{name: clicks, mode: replay}}
datasets:
  - name: clicks
    source: {{path: clicks, include: "*.bin", format: binary, record_bytes: 168}}
    time:   {{from: field, offset: 0, type: i64, unit: us}}
    label:  {{offset: 8, type: i32}}
trigger:   {{policy: time, every: 2d, from: {tested}, to: {tested}T00:00:01Z}}
selection: {{policy: new_data, tail_triggers: all, seed: 1}}
preprocess:
  operators:
    - {{op: record_fields, dense: [12, 13, f32]}}
    - {{op: log1p, on: dense}}
  batch: {{samples: 64}}
training: {{model: linear, loss: logistic, epochs: {epochs}, seed: 1, optimizer: {{name: adagrad, lr: 0.1}}}}
evaluation:
  - {{name: after, strategy: slicing, every: 2d, from: {tested}, models: active, metrics: log_loss}}
"""


def prepare(generate, rows, folder):
    (folder / "clicks").mkdir(parents=True)
    with (folder / "clicks" / "part").open("wb") as out:
        subprocess.run([generate, "--rows", str(rows), "--period", "0", "--every", str(DAYS * DAY_US // rows)], stdout=out, check=True)
    (folder / "clicks" / "part").rename(folder / "clicks" / "clicks.bin")


def arrays_of(folder):
    """Numbers and labels of the rows that are trained on, and of the others."""
    records = np.memmap(folder / "clicks" / "clicks.bin", RECORD, "r")
    split = len(records) * TESTED_FROM // DAYS
    numbers, labels = np.log1p(records["counts"]).astype(np.float64), np.array(records["label"])
    return numbers[:split], labels[:split], numbers[split:], labels[split:]


def fit(model, arrays):
    """CPU seconds of training alone, and the quality."""
    numbers, labels, tested, truth = arrays
    began = time.process_time()
    model.fit(numbers, labels)
    seconds = time.process_time() - began
    return seconds, 1 / log_loss(truth, model.predict_proba(tested)[:, 1])


def main():
    side, generate, rows, folder, orchestrator, epochs = sys.argv[1:]
    folder, rows, epochs = pathlib.Path(folder), int(rows), int(epochs)
    if not (folder / "clicks" / "clicks.bin").exists():
        prepare(generate, rows, folder)
    trained = rows * TESTED_FROM // DAYS
    if side == "optimum":
        seconds, quality = fit(LogisticRegression(penalty=None, solver="newton-cholesky", max_iter=1000), arrays_of(folder))
        print(trained / seconds, quality)
        return
    arrays = arrays_of(folder)

    def train(number):
        if side == "sgd":
            return fit(SGDClassifier(max_iter=number, **SGD), arrays)
        seconds, loss = pipeline.run_pipeline(orchestrator, PIPELINE.format(tested=TESTED, epochs=number), folder)
        return seconds, 1 / loss
    print(*pipeline.rate_of_epochs(train, trained, epochs))


if __name__ == "__main__":
    main()
