#!/usr/bin/env python3
"""Metrics against scikit-learn, and where that has none against the definition in NumPy.

metrics_sklearn_test.py ORCHESTRATOR_METRICS_TEST; exit 77 (skipped) where one of them is not installed.
WEIR_UPDATE_GOLDEN=1 writes what scikit-learn says of small inputs to golden/metrics.tsv, for machines without it.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    from sklearn import metrics as sk
except ImportError as missing:
    print(f"metrics_sklearn_test.py: skipped: {missing} (apt-get install python3-numpy python3-sklearn)")
    sys.exit(77)

GOLDEN = pathlib.Path(__file__).parent / "golden" / "metrics.tsv"
warnings.filterwarnings("ignore")


def said(values):
    return (values[:, 0] >= 0.5).astype(int) if values.shape[1] == 1 else values.argmax(axis=1)


def chances(values):
    return np.hstack([1 - values, values]) if values.shape[1] == 1 else values


def ranking(one):
    """One class against the rest, the mean over those that can be told apart."""
    def measure(values, labels):
        two = values.shape[1] <= 2
        found = []
        for k in [1] if two else range(values.shape[1]):
            positive = labels == k
            if 0 < positive.sum() < len(labels):
                found.append(one(positive, values[:, -1 if two else k]))
        return np.mean(found) if found else None
    return measure


def by_class(one):
    def measure(average, values, labels):
        if average == "class":
            return one(labels, said(values), labels=[2], average=None, zero_division=0)[0]
        return one(labels, said(values), average=average, zero_division=0)
    return measure


def log_loss(values, labels):
    return sk.log_loss(labels, chances(values).clip(1e-15, 1 - 1e-15).astype("f8"),
                       labels=np.arange(chances(values).shape[1])) if (
        np.allclose(values.sum(axis=1), 1) or values.shape[1] == 1) else None


def brier(values, labels):
    if values.shape[1] == 1:
        return sk.brier_score_loss(labels, values[:, 0], pos_label=1)
    return ((values - np.eye(values.shape[1])[labels]) ** 2).sum(axis=1).mean()


def calibration_error(values, labels, bins=15):
    chance = chances(values)[np.arange(len(labels)), said(values)]
    at = np.ceil(chance * bins).clip(1).astype(int)
    right = said(values) == labels
    return sum(abs(right[at == b].mean() - chance[at == b].mean()) * (at == b).mean()
               for b in np.unique(at))


def top(n, values, labels):
    order = np.argsort(-values, axis=1, kind="stable")[:, :n]
    return (order == labels[:, None]).any(axis=1).mean()


PRECISION, RECALL, F1 = map(by_class, (sk.precision_score, sk.recall_score, sk.f1_score))
OF_CLASSES = {
    "accuracy": lambda v, y: sk.accuracy_score(y, said(v)),
    "roc_auc": ranking(sk.roc_auc_score),
    "pr_auc": ranking(sk.average_precision_score),
    "log_loss": log_loss,
    "perplexity": lambda v, y: None if log_loss(v, y) is None else np.exp(log_loss(v, y)),
    "brier": brier,
    "calibration_error": calibration_error,
    "{name: calibration_error, bins: 4}": lambda v, y: calibration_error(v, y, 4),
}
for name, measured in (("precision", PRECISION), ("recall", RECALL), ("f1", F1)):
    for average in ("micro", "macro", "weighted"):
        OF_CLASSES[f"{{name: {name}, average: {average}}}"] = (
            lambda v, y, one=measured, a=average: one(a, v, y))
OF_TWO = {name: (lambda v, y, one=one: one("binary", v, y))
          for name, one in (("precision", PRECISION), ("recall", RECALL), ("f1", F1))}
OF_SEVERAL = {f"{{name: {name}, class: 2}}": (lambda v, y, one=one: one("class", v, y))
              for name, one in (("precision", PRECISION), ("recall", RECALL), ("f1", F1))}
OF_SEVERAL |= {f"{{name: top_n, n: {n}}}": (lambda v, y, n=n: top(n, v, y)) for n in (1, 2, 3)}
OF_NUMBERS = {
    "mse": lambda v, y: sk.mean_squared_error(y, v),
    "rmse": lambda v, y: sk.mean_squared_error(y, v, squared=False),
    "mae": lambda v, y: sk.mean_absolute_error(y, v),
    "mape": lambda v, y: sk.mean_absolute_percentage_error(y[y != 0], v.reshape(y.shape)[y != 0]),
    "r2": lambda v, y: sk.r2_score(y, v),
}


def by_group(one, weigh="groups"):
    """Each group for itself; those that `one` has nothing to say of are left out."""
    def measure(values, labels, groups):
        found = [(one(values[groups == g, -1], labels[groups == g]), (groups == g).sum()) for g in np.unique(groups)]
        found = [(v, 1 if weigh == "groups" else n) for v, n in found if v is not None]
        return sum(v * n for v, n in found) / sum(n for _, n in found) if found else None
    return measure


def auc_of(score, label):
    return sk.roc_auc_score(label > 0, score) if 0 < (label > 0).sum() < len(label) else None


def ndcg_of(k):
    return lambda score, label: sk.ndcg_score([label], [score], k=k) if len(label) > 1 and label.any() else None


def recall_of(k):
    """A sample is among the first k with the chance that a random order of its tie puts it there."""
    def measure(score, label):
        if len(label) < 2 or not label.any():
            return None
        ahead = (score[None] > score[:, None]).sum(axis=1)
        tied = (score[None] == score[:, None]).sum(axis=1)
        return (((k - ahead) / tied).clip(0, 1) * (label > 0)).sum() / (label > 0).sum()
    return measure


OF_GROUPS = {
    "group_auc": by_group(auc_of),
    "{name: group_auc, weigh: samples}": by_group(auc_of, "samples"),
    "ndcg": by_group(ndcg_of(10)),
    "{name: ndcg, k: 3, weigh: samples}": by_group(ndcg_of(3), "samples"),
    "{name: recall_at_k, k: 2}": by_group(recall_of(2)),
    "recall_at_k": by_group(recall_of(10)),
}


def inputs(rng, count):
    """(metrics, values, labels, groups): apart, tied, rare classes, a class that is never there, big numbers."""
    for steps in (1000, 4):
        one = rng.integers(0, steps + 1, size=(count, 1)) / steps
        yield OF_CLASSES | OF_TWO, one, (rng.random(count) < 0.1 + 0.8 * one[:, 0]).astype(int), None
        several = rng.integers(1, steps + 1, size=(count, 5)).astype(float)
        several /= several.sum(axis=1, keepdims=True)
        labels = rng.integers(0, 4, size=count)
        labels[:4] = np.arange(4)
        yield OF_CLASSES | OF_SEVERAL, several, labels, None
    two = rng.dirichlet([1, 1], size=count)
    yield OF_CLASSES | OF_TWO, two, (rng.random(count) < two[:, 1]).astype(int), None
    numbers = rng.integers(-50, 50, size=count)
    yield OF_NUMBERS, (numbers + rng.normal(0, 9, size=count))[:, None], numbers, None
    yield OF_NUMBERS, 1e6 + rng.normal(0, 9, size=(count, 1)), 10 ** 6 + rng.integers(-9, 9, size=count), None


def grouped_inputs(rng, count):
    """Groups of one and of one class, ties, grades; labels that are vectors, or have a fraction."""
    for steps in (1000, 4):
        one = rng.integers(0, steps + 1, size=(count, 1)) / steps
        groups = rng.integers(0, 1 + count // 4, size=count) * 10 ** 12
        yield OF_GROUPS, one, (rng.random(count) < 0.1 + 0.8 * one[:, 0]).astype(int), groups
        yield OF_GROUPS, one, rng.integers(0, 5, size=count) * 0.5, groups
    two = rng.dirichlet([1, 1], size=count)
    yield OF_GROUPS, two, (rng.random(count) < two[:, 1]).astype(int), np.zeros(count, int)
    vectors = rng.normal(0, 3, size=(count, 3)) * [1, 10, 100]
    yield OF_NUMBERS, vectors + rng.normal(0, 1, size=(count, 3)), vectors, None
    yield OF_NUMBERS, vectors[:, :1] + 1, vectors[:, 0], None


def write(folder, values, labels, groups):
    """The arguments that tell the program of them."""
    real = labels.dtype.kind == "f"
    label_width = (labels.shape[1] if labels.ndim == 2 else 1) if real else 0
    values.tofile(f"{folder}/values")
    labels.astype("<f8" if real else "<i8").tofile(f"{folder}/labels")
    if groups is not None:
        groups.astype("<i8").tofile(f"{folder}/groups")
    return [str(values.shape[1]), str(label_width), f"{folder}/values", f"{folder}/labels",
            "-" if groups is None else f"{folder}/groups"]


def main():
    golden = []
    rng, more = np.random.default_rng(5), np.random.default_rng(6)
    with tempfile.TemporaryDirectory() as folder:
        for count in (12, 40, 700):
            for wanted, values, labels, groups in (*inputs(rng, count), *grouped_inputs(more, count)):
                stored = values.astype("<f4")
                values = stored.astype("f8")
                given, names = write(folder, stored, labels, groups), list(wanted)
                printed = subprocess.run([sys.argv[1], *given, *names], check=True, capture_output=True,
                                         text=True).stdout.split()
                for name, found in zip(names, printed):
                    expected = wanted[name](values, labels) if groups is None else wanted[name](values, labels, groups)
                    if expected is None:
                        continue
                    if found == "undefined" or abs(float(found) - expected) > 2e-7 * max(1, abs(expected)):
                        raise SystemExit(f"{name}, {count} x {values.shape[1]}: expected {expected!r}, "
                                         f"found {found}")
                    if count == 12:
                        golden.append("\t".join([name, *given[:2], str(expected), " ".join(map(str, labels.ravel())),
                                                 " ".join(repr(float(v)) for v in values.ravel()),
                                                 "-" if groups is None else " ".join(map(str, groups))]))
    if os.environ.get("WEIR_UPDATE_GOLDEN"):
        GOLDEN.write_text("\n".join(golden) + "\n")
    print(f"metrics_sklearn_test.py: {len(golden)} small inputs and as many larger ones agree")


main()
