#!/usr/bin/env python3
"""Titles of arXiv into classes: `text_embedding` against fastText, with the same words, n-grams, dimension, buckets and epochs.

titles.py fasttext|relaxed|deterministic DATA FOLDER ORCHESTRATOR EPOCHS: prints trained samples a second of CPU time, and the accuracy
on the year after the training data. Each side is trained for one epoch and for EPOCHS; the difference is what is measured, so that
neither pays for reading its input once, and on Weir's side every process counts: workers, dispatcher, storage, trainer. Exit 77:
fastText, zstd or the data are not there.
"""
import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys

CLASSES = ("math.FA math.GT math.CA math.RT math.ST cond-mat.quant-gas math.GR cs.NI physics.atom-ph stat.ME cs.CR physics.gen-ph "
           "math.RA math.CV math.QA physics.plasm-ph cs.DC cs.LO physics.chem-ph math.LO").split()
BUCKETS, DIMENSION, NGRAMS = 262144, 32, 2
# Of 0.02, 0.05, 0.1, 0.5 and 1.0, fastText's best here; of 0.05, 0.1 and 0.2, Weir's.
FASTTEXT_LR, WEIR_LR = 0.1, 0.05
TESTED, END = "2018-01-01", "2019-01-01"

PIPELINE = """\
pipeline: {{name: titles, mode: replay}}
datasets:
  - name: titles
    source: {{path: titles, include: "*.tsv", format: csv, delimiter: "\\t", quotes: none, header: false, columns: [id, created, class, title]}}
    time:   {{from: field, field: created}}
    label:  {{field: class, classes: [{classes}]}}
trigger:   {{policy: time, every: 1 year, from: 2018-01-01, to: 2018-01-02}}
selection: {{policy: new_data, tail_triggers: all, seed: 1}}
preprocess:
  operators:
    - {{op: csv_text, columns: [id, created, class, title], field: title, delimiter: "\\t", quotes: none}}
    - {{op: tokenize_words}}
    - {{op: tokenize_hash, ngrams: {ngrams}, buckets: {buckets}}}
  batch: {{samples: 64, order: {order}}}
training:
  model: {{name: text_embedding, buckets: {buckets}, dimension: {dimension}}}
  loss: softmax
  epochs: {epochs}
  seed: 1
  optimizer: {{name: adagrad, lr: {lr}}}
evaluation:
  - {{name: next_year, strategy: slicing, every: 1 year, from: 2018-01-01, models: active, metrics: accuracy}}
"""


def prepare(data, folder):
    """The same words for both: fastText cuts at spaces alone."""
    (folder / "titles").mkdir(parents=True)
    source = subprocess.Popen(["zstd", "-dc", data / "arxiv" / "arxiv_titles.tsv.zst"], stdout=subprocess.PIPE, text=True)
    trained = 0
    with open(folder / "train.txt", "w") as train, open(folder / "test.txt", "w") as test, open(folder / "titles" / "titles.tsv", "w") as titles:
        for line in source.stdout:
            number, created, name, title = line.rstrip("\n").split("\t")[:4]
            if name not in CLASSES or created >= END:
                continue
            words = " ".join(re.findall("[a-z0-9]+", title.lower()))
            titles.write(f"{number}\t{created}\t{name}\t{words}\n")
            (test if created >= TESTED else train).write(f"__label__{name} {words}\n")
            trained += created < TESTED
    (folder / "trained").write_text(str(trained))


def run(*command, folder):
    """Its output and the CPU seconds of it and of all that it has waited for."""
    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    before = spent()
    done = subprocess.run([str(word) for word in command], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout, spent() - before


def fasttext(folder, epochs):
    _, seconds = run("fasttext", "supervised", "-input", "train.txt", "-output", "model", "-wordNgrams", NGRAMS, "-bucket", BUCKETS, "-dim",
                     DIMENSION, "-epoch", epochs, "-lr", FASTTEXT_LR, "-thread", 1, "-verbose", 0, folder=folder)
    tested, _ = run("fasttext", "test", "model.bin", "test.txt", folder=folder)
    return seconds, float(re.search(r"P@1\s+(\S+)", tested).group(1))


def weir(folder, orchestrator, order, epochs):
    text = PIPELINE.format(classes=", ".join(CLASSES), ngrams=NGRAMS, buckets=BUCKETS, dimension=DIMENSION, order=order, epochs=epochs, lr=WEIR_LR)
    (folder / "titles.yaml").write_text(text)
    shutil.rmtree(folder / "data", ignore_errors=True)
    printed, seconds = run(orchestrator, "run", "titles.yaml", "--data-dir", "data", "--json", folder=folder)
    events = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    return seconds, next(e["value"] for e in events if e["event"] == "evaluation")


def main():
    side, data, folder, orchestrator, epochs = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4], int(sys.argv[5])
    if not shutil.which("fasttext") or not shutil.which("zstd") or not (data / "arxiv" / "arxiv_titles.tsv.zst").exists():
        sys.exit(77)
    if not (folder / "trained").exists():
        prepare(data, folder)
    train = fasttext if side == "fasttext" else lambda folder, epochs: weir(folder, orchestrator, side, epochs)
    (once, _), (all_of_them, accuracy) = train(folder, 1), train(folder, epochs)
    print(int((folder / "trained").read_text()) * (epochs - 1) / (all_of_them - once), accuracy)


if __name__ == "__main__":
    main()
