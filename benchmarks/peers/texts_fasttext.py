#!/usr/bin/env python3
"""Texts into classes: `text_embedding` against fastText, with the same words, n-grams, dimension, buckets and epochs.

texts_fasttext.py fasttext|relaxed|deterministic STREAM SOURCE FOLDER ORCHESTRATOR EPOCHS: prints trained samples a second of CPU time, and
the accuracy on what came after the training data. On Weir's side every process counts: workers, dispatcher, storage, trainer.
STREAM is titles (SOURCE/arxiv/arxiv_titles.tsv.zst) or mails (those of ./dev run, in SOURCE). Exit 77: fastText, zstd or the data are
not there.
"""
import csv
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys

import pipeline

BUCKETS, DIMENSION, NGRAMS = 262144, 32, 2
WORDS_MAX = 1000  # of a text; mails have some that are books
NOT_THERE = 77


@dataclasses.dataclass(frozen=True)
class Stream:
    classes: str
    tested: str  # day from which texts are no longer trained on
    end: str
    every: str  # from the one to the other
    fasttext_rate: float
    weir_rate: float


STREAMS = {
    # Of 0.02, 0.05, 0.1, 0.5 and 1.0, fastText's best on titles; of 0.05, 0.1 and 0.2, Weir's.
    "titles": Stream("math.FA math.GT math.CA math.RT math.ST cond-mat.quant-gas math.GR cs.NI physics.atom-ph stat.ME cs.CR physics.gen-ph "
                     "math.RA math.CV math.QA physics.plasm-ph cs.DC cs.LO physics.chem-ph math.LO",
                     "2018-01-01", "2019-01-01", "1 year", 0.1, 0.05),
    "mails": Stream("ham spam", "2002-10-01", "2003-01-01", "3 months", 0.1, 0.05),
}

PIPELINE = """\
pipeline: {{name: texts, mode: replay}}
datasets:
  - name: texts
    source: {{path: texts, include: "*.tsv", format: csv, delimiter: "\\t", quotes: none, header: false, columns: [id, created, class, text]}}
    time:   {{from: field, field: created}}
    label:  {{field: class, classes: [{classes}]}}
trigger:   {{policy: time, every: {every}, from: {tested}, to: {tested}T00:00:01Z}}
selection: {{policy: new_data, tail_triggers: all, seed: 1}}
preprocess:
  operators:
    - {{op: csv_text, columns: [id, created, class, text], field: text, delimiter: "\\t", quotes: none}}
    - {{op: tokenize_words, max_tokens: {words}}}
    - {{op: tokenize_hash, ngrams: {ngrams}, buckets: {buckets}}}
  batch: {{samples: 64, order: {order}}}
training:
  model: {{name: text_embedding, buckets: {buckets}, dimension: {dimension}}}
  loss: softmax
  epochs: {epochs}
  seed: 1
  optimizer: {{name: adagrad, lr: {lr}}}
evaluation:
  - {{name: after, strategy: slicing, every: {every}, from: {tested}, models: active, metrics: accuracy}}
"""


def titles(source):
    """Number, day, class and text of each."""
    path = source / "arxiv" / "arxiv_titles.tsv.zst"
    if not shutil.which("zstd") or not path.exists():
        sys.exit(NOT_THERE)
    with subprocess.Popen(["zstd", "-dc", path], stdout=subprocess.PIPE, text=True) as lines:
        for line in lines.stdout:
            yield line.rstrip("\n").split("\t")[:4]


def mails(source):
    if not (source / "manifest.csv").exists():
        sys.exit(NOT_THERE)
    with (source / "manifest.csv").open(newline="") as rows:
        for number, row in enumerate(csv.DictReader(rows)):
            yield str(number), row["time"], row["label"], (source / row["path"]).read_text(errors="replace")


def prepare(stream, texts, folder):
    """The same words for both: fastText cuts at spaces alone."""
    (folder / "texts").mkdir(parents=True)
    classes, trained = stream.classes.split(), 0
    with open(folder / "train.txt", "w") as train, open(folder / "test.txt", "w") as test, open(folder / "texts" / "texts.tsv", "w") as all_of_them:
        for number, created, name, text in texts:
            words = " ".join(re.findall("[a-z0-9]+", text.lower())[:WORDS_MAX])
            if name not in classes or created >= stream.end or not words:
                continue
            all_of_them.write(f"{number}\t{created}\t{name}\t{words}\n")
            (test if created >= stream.tested else train).write(f"__label__{name} {words}\n")
            trained += created < stream.tested
    (folder / "trained").write_text(str(trained))


def fasttext(stream, folder, epochs):
    _, seconds = pipeline.run("fasttext", "supervised", "-input", "train.txt", "-output", "model", "-wordNgrams", NGRAMS, "-bucket", BUCKETS,
                              "-dim", DIMENSION, "-epoch", epochs, "-lr", stream.fasttext_rate, "-thread", 1, "-verbose", 0, folder=folder)
    tested, _ = pipeline.run("fasttext", "test", "model.bin", "test.txt", folder=folder)
    return seconds, float(re.search(r"P@1\s+(\S+)", tested).group(1))


def weir(stream, folder, orchestrator, order, epochs):
    text = PIPELINE.format(classes=", ".join(stream.classes.split()), tested=stream.tested, every=stream.every, words=WORDS_MAX,
                           ngrams=NGRAMS, buckets=BUCKETS, dimension=DIMENSION, order=order, epochs=epochs, lr=stream.weir_rate)
    return pipeline.run_pipeline(orchestrator, text, folder)


def main():
    side, name, source, folder, orchestrator, epochs = sys.argv[1:]
    stream, folder, source = STREAMS[name], pathlib.Path(folder), pathlib.Path(source)
    if not shutil.which("fasttext"):
        sys.exit(NOT_THERE)
    if not (folder / "trained").exists():
        prepare(stream, {"titles": titles, "mails": mails}[name](source), folder)

    def train(number):
        return fasttext(stream, folder, number) if side == "fasttext" else weir(stream, folder, orchestrator, side, number)
    print(*pipeline.rate_of_epochs(train, int((folder / "trained").read_text()), int(epochs)))


if __name__ == "__main__":
    main()
