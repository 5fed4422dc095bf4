#!/usr/bin/env python3
"""Models that learn embeddings, against the equations of their papers in NumPy, in doubles: outputs, loss, gradients, embeddings.

models_numpy_test.py RUN_MODEL; exit 77 (skipped) where python3-numpy is not installed.
"""
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    print("models_numpy_test.py: skipped: no module numpy (apt-get install python3-numpy)")
    sys.exit(77)

SAMPLES, FEATURES, CLASSES = 16, 4, 3
CLOSE = 2e-5
MASK = (1 << 64) - 1


def mix64(x):
    """The finalizer of SplitMix64 (Steele, Lea, Flood 2014), as core/base/rng.h has it."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def run(program, model, options, loss):
    classes = CLASSES if loss == "softmax" else 2
    printed = subprocess.run([program, model, options, loss, str(classes)], check=True, capture_output=True, text=True).stdout
    return {line.split()[0]: np.array([float(word) for word in line.split()[1:]]) for line in printed.splitlines()}


def tokens_of(found, sample):
    first, end = found["offsets"][sample:sample + 2].astype(int)
    return found["tokens"][first:end].astype(int)


def mean_loss(outputs, found, loss):
    """Weighted mean of the losses and its slope at the outputs."""
    weights, labels = found["weights"] / found["weights"].sum(), found["labels"].astype(int)
    if loss == "softmax":
        highest = outputs.max(axis=1, keepdims=True)
        logs = outputs - highest - np.log(np.exp(outputs - highest).sum(axis=1, keepdims=True))
        each, slopes = -logs[np.arange(SAMPLES), labels], np.exp(logs) - np.eye(CLASSES)[labels]
    else:
        each = np.logaddexp(0, outputs[:, 0]) - labels * outputs[:, 0]
        slopes = 1 / (1 + np.exp(-outputs)) - labels[:, None]
    return (weights * each).sum(), slopes * weights[:, None]


def expect(what, found, expected):
    apart = np.abs(np.ravel(found) - np.ravel(expected)).max()
    assert apart < CLOSE * (1 + np.abs(expected).max()), f"{what}: {apart} apart"


def fm_features(found, buckets, normalise):
    """The design matrix: dense numbers, then a column per bucket; twice in a bucket are two features, so they stay a list."""
    dense, samples = found["features"].reshape(SAMPLES, FEATURES), []
    for s in range(SAMPLES):
        tokens = tokens_of(found, s)
        rows = list(range(FEATURES)) + [FEATURES + mix64(int(t)) % buckets for t in tokens]
        values = np.array(list(dense[s]) + [1 / len(tokens) for _ in tokens])
        samples.append((rows, values / np.linalg.norm(values) if normalise else values))
    return samples


def check_fm(program, loss, normalise):
    """Rendle 2010, equation 1, pair by pair."""
    buckets, factors = 37, 3
    found = run(program, "fm", f"{{buckets: {buckets}, factors: {factors}, normalise: {str(normalise).lower()}}}", loss)
    outputs = CLASSES if loss == "softmax" else 1
    linear = found["linear"].reshape(FEATURES + buckets + 1, outputs)
    vectors = found["factors"].reshape(FEATURES + buckets, outputs, factors)
    features = fm_features(found, buckets, normalise)
    scores, sums = np.empty((SAMPLES, outputs)), np.zeros((SAMPLES, outputs, factors))
    for s, (rows, values) in enumerate(features):
        scores[s] = linear[-1] + values @ linear[rows]
        for i in range(len(rows)):
            sums[s] += values[i] * vectors[rows[i]]
            for j in range(i):
                scores[s] += (vectors[rows[i]] * vectors[rows[j]]).sum(axis=1) * values[i] * values[j]
    mean, slopes = mean_loss(scores, found, loss)
    to_linear, to_factors = np.zeros_like(linear), np.zeros_like(vectors)
    for s, (rows, values) in enumerate(features):
        to_linear[-1] += slopes[s]
        for i, row in enumerate(rows):
            others = sum(values[j] * vectors[rows[j]] for j in range(len(rows)) if j != i)
            to_linear[row] += slopes[s] * values[i]
            to_factors[row] += slopes[s][:, None] * values[i] * others
    expect("outputs", found["outputs"], scores)
    expect("loss", found["loss"], mean)
    expect("embeddings", found["embed"], sums)
    expect("gradient of linear", found["gradient.linear"], to_linear)
    expect("gradient of factors", found["gradient.factors"], to_factors)


def check_text_embedding(program, loss):
    """Joulin et al. 2017, section 2."""
    buckets, dimension = 32, 11
    found = run(program, "text_embedding", f"{{buckets: {buckets}, dimension: {dimension}}}", loss)
    outputs = CLASSES if loss == "softmax" else 1
    embeddings, output = found["embeddings"].reshape(buckets, dimension), found["output"].reshape(dimension, outputs)
    bags = np.zeros((SAMPLES, buckets))
    for s in range(SAMPLES):
        for token in tokens_of(found, s):
            bags[s, token] += 1 / len(tokens_of(found, s))
    hidden = bags @ embeddings
    assert (bags.sum(axis=1) == 0).any(), "no text without tokens is among them"
    mean, slopes = mean_loss(hidden @ output, found, loss)
    expect("outputs", found["outputs"], hidden @ output)
    expect("loss", found["loss"], mean)
    expect("embeddings", found["embed"], hidden)
    expect("gradient of output", found["gradient.output"], hidden.T @ slopes)
    expect("gradient of embeddings", found["gradient.embeddings"], bags.T @ (slopes @ output.T))


def main():
    program = sys.argv[1]
    for loss in ("logistic", "softmax"):
        check_text_embedding(program, loss)
        for normalise in (False, True):
            check_fm(program, loss, normalise)
    print("models agree with NumPy")


if __name__ == "__main__":
    main()
