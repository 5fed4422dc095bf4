#!/usr/bin/env python3
"""Operators, selection, statistics, metrics and models give the same bits whatever they are compiled for.

arithmetic_test.py TESTS_BIN_DIR. Each program that prints what it computes stands there twice, the second time as NAME_twin with
-O3 for processors that have AVX2 and fused operations (CMakeLists.txt). Both get the same input, drawn from a seed, much of it
hostile; digests of what they print are compared. Exit 77 (skipped) where the processor has none of that.
"""
import hashlib
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import zlib

BIN = pathlib.Path(sys.argv[1])
NEEDED = {"avx2", "fma", "bmi2", "movbe"}
HOSTILE = [float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1e-310, 1e-40, 1e308, -1e308, 3.5e38, 2.0 ** 32, -2.0 ** 31 - 1, 2.0 ** 63, 0.1]

WORDS = "{op: csv_text, field: 1}, {op: tokenize_words}"
MATH = ("log", "signed_log1p", "exp", "sqrt", "square", "power, by: 0.37", "power, by: -3", "sigmoid", "logit", "round", "floor", "ceil")
ON_NUMBERS = ["boxcox, lambda: 0.5", "boxcox, lambda: -0.1", "log1p", "standardize", "clamp, min: -1, max: 3e5", "ratio, pairs: [[0, 1], [2, 3]]",
              "bucketize, borders: [-1, 0.1, 5e5]", "fill_missing, value: 7.5", "cast, to: f64", "cast, to: i64", "cast, to: i32", "cast, to: u8",
              *(f"math, function: {function}" for function in MATH)]
ON_RECORDS = [f"{WORDS}, {{op: tokenize_hash, buckets: 1000, ngrams: 2}}", f"{WORDS}, {{op: vocab, size: 40}}",
              "{op: csv_words, fields: [0, 1], coarse: [0], coarse_scales: 2}, {op: tokenize_hash, buckets: 1000}", "{op: csv_text, field: 1}, {op: target_encode, folds: 3, smooth: 2}",
              "{op: csv_text, field: 2}, {op: calendar, fields: [hour, weekday], cyclic: [month, hour], zone: Europe/Berlin}"]
ON_PICTURES = ["center_crop, size: 7", "random_resized_crop, size: 8", "flip", "grayscale", "blur, kernel_size: 5, sigma: [0.1, 3]",
               "color_jitter, brightness: 1, contrast: [0, 3], saturation: 2, hue: 0.5"]
AS_TENSOR = "{op: resize, size: [9, 14]}, {op: normalize, mean: 0.4, std: 0.3}, {op: to_chw}"


def words(rng):
    return " ".join(rng.choice(["spam", "ham", "eggs", "und", "naïve", "x" * 30]) for _ in range(rng.randrange(9)))


def number(rng):
    return rng.choice(HOSTILE) if rng.random() < 0.1 else rng.choice([1, -1]) * 10 ** rng.uniform(-8, 8)


def numbers(rng):
    """Four floats and four doubles, many beyond the range of what they become."""
    for _ in range(400):
        four = [number(rng) for _ in range(4)]
        yield struct.pack("<4f", *(x if abs(x) < 3.4e38 or x - x != 0 else 3.4e38 for x in four)) + struct.pack("<4d", *four)


def records(rng):
    for i in range(400):
        yield f"{10 ** rng.uniform(-8, 8)},{words(rng)},{1030000000 + 7919 * i}".encode()


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def pictures(rng):
    """PNG, RGB: noise on a gradient."""
    for _ in range(40):
        width, height = rng.randrange(1, 40), rng.randrange(1, 40)
        lines = b"".join(b"\0" + bytes((5 * x + 3 * y + rng.randrange(60)) % 256 for x in range(width) for _ in range(3)) for y in range(height))
        header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
        yield b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


class Inputs:
    """Files in a folder, each drawn from a seed of its own."""

    def __init__(self, folder):
        self.folder = folder

    def put(self, name, content):
        (self.folder / name).write_bytes(content)
        return str(self.folder / name)

    def rows(self, name, draw):
        return self.put(name, b"".join(struct.pack("<I", len(row)) + row for row in draw(random.Random(name))))

    def floats(self, name, count, draw):
        rng = random.Random(name)
        return self.put(name, struct.pack(f"<{count}f", *(draw(rng, i) for i in range(count))))

    def integers(self, name, count, draw):
        rng = random.Random(name)
        return self.put(name, struct.pack(f"<{count}q", *(draw(rng, i) for i in range(count))))


def operators(inputs):
    wide, rows, shown = (inputs.rows(draw.__name__, draw) for draw in (numbers, records, pictures))
    labels = inputs.put("targets", struct.pack("<400d", *(i % 7 / 7 for i in range(400))))
    for op in ON_NUMBERS:
        for at, kind in ((0, "f32"), (16, "f64")):
            if kind == "f32" or op.split(",")[0] not in ("log1p", "ratio"):
                yield "run_operators", "--rows", f"[{{op: record_fields, dense: [{at}, 4, {kind}]}}, {{op: {op}}}]", wide
    for chain in ON_RECORDS:
        yield "run_operators", "--labels", labels, "--rows", f"[{chain}]", rows
    for op in ON_PICTURES:
        for training in ([], ["--evaluate"]):
            yield "run_operators", "--rows", *training, f"[{{op: decode_png}}, {{op: {op}}}, {AS_TENSOR}]", shown


def choices(inputs):
    columns = [lambda rng, i: i + 1, lambda rng, i: rng.randrange(50), lambda rng, i: rng.randrange(4), lambda rng, i: 1 + rng.randrange(3),
               lambda rng, i: rng.randrange(2)]
    pool = inputs.integers("pool", 2000, lambda rng, at: columns[at // 400](rng, at % 400))
    for policy, options in (("new_data", "{keep: newest}"), ("freshness", "{unused_ratio: 0.3}"), ("random", "{}"),
                            ("random_without_replacement", "{}"), ("recency_weighted", "{half_life: 7us}"), ("reservoir", "{size: 100}"),
                            ("label_balanced", "{}"), ("trigger_balanced", "{}"), ("mixture", "{over: labels, shares: {0: 3, 1: 1, 2: 0.5}}")):
        yield "selection_policies_test", policy, options, "90", "20", pool
    values = inputs.floats("embeddings", 400 * 24, lambda rng, i: abs(rng.gauss(i // 24 % 7 * (i % 24) / 24, 0.3)))
    holdout = inputs.floats("holdout", 400, lambda rng, i: rng.random())
    for method, options in (("loss", "{}"), ("grad_norm", "{}"), ("rho_loss", "{}"), ("rs2", "{}")):
        yield "scoring_golden_test", method, options, "50", "1", "3", holdout, inputs.floats("losses", 400, lambda rng, i: rng.random())
    for method, options in (("k_center", "{}"), ("exemplar_clustering", "{}"), ("craig", "{}"), ("grad_match", "{}"),
                            *(("uncertainty", f"{{metric: {metric}}}") for metric in ("least_confidence", "entropy", "margin")),
                            *(("submodular", f"{{{rest}}}") for rest in ("optimizer: lazy", "optimizer: stochastic, epsilon: 0.2",
                                                                         "function: graph_cut", "function: log_determinant"))):
        yield "scoring_golden_test", method, options, "50", "24", "2", values, values


def statistics(inputs):
    windows = [inputs.floats(name, 300 * 4, lambda rng, i, shift=shift: rng.gauss(shift, 1 + i % 4) if rng.random() < 0.98 else float("nan"))
               for name, shift in (("reference", 0), ("current", 0.2))]
    labels = [inputs.integers(name, 300, lambda rng, i, classes=classes: rng.randrange(classes)) for name, classes in (("before", 4), ("after", 6))]
    for name, options in (("mmd", "{permutations: 60}"), ("ks", "{}"), ("cvm", "{}"), ("wasserstein", "{}"), ("hellinger", "{}"),
                          ("jensen_shannon", "{by: width, bins: 7}"), ("psi", "{}"), ("chi_square", "{}"), ("kullback_leibler", "{bins: 5}"),
                          ("lsdd", "{permutations: 60}"), ("classifier", "{}")):
        yield "drift_statistics_test", name, options, "4", "fdr", "3", *windows
        yield "drift_statistics_test", name, options, "0", "bonferroni", "3", *labels
    for policy in ("ddm", "eddm", "adwin", "page_hinkley, limit: 5", "kswin"):
        yield "drift_detectors_test", f"{{policy: {policy}}}"


def metrics(inputs):
    def chance(rng, i):
        return (i % 97 + 1) / 98 if i % 2 == 0 else 1 - ((i - 1) % 97 + 1) / 98
    two = inputs.floats("two", 2 * 300, chance)
    labels = inputs.integers("labels", 300, lambda rng, i: rng.randrange(2))
    yield ("orchestrator_metrics_test", "2", "0", two, labels, "-", "accuracy", "log_loss", "perplexity", "brier", "roc_auc", "pr_auc", "f1",
           "{name: calibration_error, bins: 7}")
    groups = inputs.integers("groups", 300, lambda rng, i: rng.randrange(40))
    grades = inputs.put("grades", struct.pack("<300d", *(i % 5 / 2 for i in range(300))))
    one = inputs.floats("one", 300, lambda rng, i: rng.gauss(0, 3))
    yield "orchestrator_metrics_test", "1", "1", one, grades, groups, "ndcg", "{name: ndcg, k: 3}"
    yield "orchestrator_metrics_test", "1", "1", one, grades, "-", "mse", "rmse", "mae", "mape"


def models(_):
    for loss, classes in (("logistic", "2"), ("softmax", "3")):
        for model, options in (("linear", "{bias: true}"), ("text_bag", "{buckets: 32, counts: log}"), ("text_embedding", "{buckets: 32, dimension: 11}"),
                               ("fm", "{factors: 4, buckets: 32, normalise: true}")):
            yield "run_model", model, options, loss, classes
    for name, rest in (("sgd", "momentum: 0.9"), ("adagrad", "epsilon: 1e-3"), ("adam", "weight_decay: 0.25"), ("adamw", "beta1: 0.5")):
        yield "optimizers_test", f"{{name: {name}, lr: 0.07, {rest}}}", "300"


def printed(program, arguments):
    rng = random.Random(7)
    numbers = " ".join("1" if rng.random() < (0.1 if i // 300 % 2 else 0.5) else "0" for i in range(1500))
    done = subprocess.run([BIN / program, *arguments], input=numbers.encode(), capture_output=True, check=False)
    if done.returncode != 0 or not done.stdout:
        raise SystemExit(f"{program} {arguments}: exit {done.returncode}: {done.stderr.decode()[-500:]}")
    return done.stdout


def main():
    flags = next((line.split() for line in open("/proc/cpuinfo") if line.startswith("flags")), [])
    if not NEEDED.issubset(flags):
        print(f"arithmetic_test.py: skipped: this processor has no {', '.join(sorted(NEEDED.difference(flags)))}")
        sys.exit(77)
    cases = differ = 0
    with tempfile.TemporaryDirectory(prefix="weir-arithmetic-") as name:
        inputs = Inputs(pathlib.Path(name))
        for family in (operators, choices, statistics, metrics, models):
            for program, *arguments in family(inputs):
                digest, twin = (hashlib.sha256(printed(one, arguments)).hexdigest()[:16] for one in (program, f"{program}_twin"))
                what = " ".join(argument for argument in arguments if not argument.startswith(name))
                print(digest, program, what, "" if digest == twin else f"  DIFFERS: twin {twin}")
                cases, differ = cases + 1, differ + (digest != twin)
    if differ or cases < 100:
        raise SystemExit(f"{differ} of {cases} cases differ between the builds, expected none of 100 or more")
    print(f"arithmetic_test.py: {cases} cases alike")


main()
