#!/usr/bin/env python3
"""target_encode: its numbers are those of the formula in NumPy, and of scikit-learn's TargetEncoder where that is installed (from 1.3
on), both over all of the set and out of fold; and labels do not leak into what a model is trained on: a column that knows nothing of
them gives no signal, however many categories it has.

Skips (exit code 77) where NumPy is not installed.
"""
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError as error:
    print(f"skipped: {error}: install python3-numpy")
    sys.exit(77)
try:
    from sklearn.preprocessing import TargetEncoder
except ImportError:
    TargetEncoder = None

RUN = pathlib.Path(os.environ["WEIR_TEST_BIN_DIR"]) / "run_operators"
SAMPLES, FOLDS = 4000, 5
DRAW = numpy.random.default_rng(7)


def fold_of(number):
    """As preprocess/operators/target_sums.c has it, by the finaliser of SplitMix64."""
    word = (1 << 64) - 1
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & word
    number = (number ^ number >> 27) * 0x94D049BB133111EB & word
    return (number ^ number >> 31) % FOLDS


IN_FOLD = numpy.array([fold_of(i) for i in range(SAMPLES)])


def encode(folder, rows, labels, operators, *words):
    (folder / "rows").write_bytes(b"".join(struct.pack("<I", len(row)) + row for row in map(str.encode, rows)))
    (folder / "labels").write_bytes(numpy.asarray(labels, numpy.float64).tobytes())
    done = subprocess.run([RUN, "--rows", *words, "--labels", folder / "labels", operators, folder / "rows"], check=True,
                          stdout=subprocess.PIPE)
    assert not any(done.stdout[:len(rows)]), operators
    return numpy.frombuffer(done.stdout[len(rows):], numpy.float32).reshape(len(rows), -1)


def by_numpy(categories, labels, smooth, told):
    """Encodes `told` by what the others say."""
    mean = labels.mean()
    known = {name: ((labels[categories == name].sum() + smooth * mean) / ((categories == name).sum() + smooth))
             for name in numpy.unique(categories)}
    return numpy.array([known.get(name, mean) for name in told])


def by_sklearn(categories, labels, smooth, told):
    encoder = TargetEncoder(smooth=smooth, target_type="continuous").fit(categories.reshape(-1, 1), labels)
    return encoder.transform(told.reshape(-1, 1))[:, 0]


def expected(categories, labels, smooth, is_whole, by):
    if is_whole:
        return by(categories, labels, smooth, categories)
    found = numpy.empty(len(labels))
    for fold in range(FOLDS):
        mine = IN_FOLD == fold
        found[mine] = by(categories[~mine], labels[~mine], smooth, categories[mine])
    return found


def expect_near(found, expected, what):
    assert numpy.allclose(found, expected, rtol=1e-6, atol=1e-6), (what, found, expected)


def columns():
    """Two of different sizes, some of whose categories are rare, and one field that is often empty."""
    town = numpy.array([f"t{int(x)}" for x in DRAW.zipf(1.4, SAMPLES) % 500])
    trade = numpy.array([("", "a", "b", "c c")[int(x)] for x in DRAW.integers(0, 4, SAMPLES)])
    labels = numpy.array([len(t) for t in town]) + 3.0 * (trade == "a") + DRAW.normal(0, 1, SAMPLES)
    return town, trade, labels


def test_encodings_are_those_of_the_formula(folder):
    town, trade, labels = columns()
    rows = [f"{a},{b}" for a, b in zip(town, trade)]
    truths = [by_numpy] + [by_sklearn] * (TargetEncoder is not None)
    for smooth in (20, 0, 2.5):
        operators = ("[{op: csv_words, fields: [1, 0], keep_empty: true}, "
                     f"{{op: target_encode, smooth: {smooth}, folds: {FOLDS}}}]")
        for is_whole in (False, True):
            found = encode(folder, rows, labels, operators, *["--evaluate"] * is_whole)
            assert found.shape == (SAMPLES, 2), "a number for each field, in the order of the record"
            for by in truths:
                for column, categories in enumerate((town, trade)):
                    expect_near(found[:, column], expected(categories, labels, smooth, is_whole, by), (smooth, is_whole, by, column))
    print(f"as NumPy{' and scikit-learn' if TargetEncoder else ''}: two columns, three smoothings")


def test_a_text_is_one_category_and_integers_are_one_each(folder):
    town, trade, labels = columns()
    found = encode(folder, list(trade), labels, f"[{{op: target_encode, folds: {FOLDS}}}]")
    expect_near(found[:, 0], expected(trade, labels, 20, False, by_numpy), "text")
    numbers = numpy.array([int(name[1:]) for name in town])
    rows = [f"{a},{a % 3}" for a in numbers]
    found = encode(folder, rows, labels, "[{op: csv_fields, fields: [0, 1]}, {op: cast, to: i64}, "
                   f"{{op: target_encode, folds: {FOLDS}}}]")
    for column, categories in enumerate((numbers, numbers % 3)):
        expect_near(found[:, column], expected(categories, labels, 20, False, by_numpy), ("integers", column))


def test_the_commonest_categories_are_kept(folder):
    town, _, labels = columns()
    names, counts = numpy.unique(town, return_counts=True)
    first = {name: i for i, name in reversed(list(enumerate(town)))}
    kept = sorted(zip(names, counts), key=lambda one: (-one[1], first[one[0]]))[:10]
    found = encode(folder, list(town), labels, "[{op: target_encode, size: 10}]", "--evaluate")[:, 0]
    wanted = by_numpy(town, labels, 20, town)
    wanted[~numpy.isin(town, [name for name, _ in kept])] = labels.mean()
    expect_near(found, wanted, "size")


def auc(scores, labels):
    """The share of pairs in their order; equal ones count half."""
    order = numpy.sort(scores[labels == 0])
    ones = scores[labels == 1]
    below, upto = numpy.searchsorted(order, ones, "left"), numpy.searchsorted(order, ones, "right")
    return (below + upto).sum() / 2 / len(order) / len(ones)


def test_a_column_that_knows_nothing_gives_no_signal(folder):
    labels = DRAW.integers(0, 2, SAMPLES).astype(float)
    for categories in (SAMPLES, SAMPLES // 2, SAMPLES // 4, 50, 2):
        rows = [f"u{int(x)}" for x in DRAW.integers(0, categories, SAMPLES)]
        for smooth in (0, 1, 20):
            operators = f"[{{op: target_encode, smooth: {smooth}, folds: {FOLDS}}}]"
            trained = auc(encode(folder, rows, labels, operators)[:, 0], labels)
            leaked = auc(encode(folder, rows, labels, operators, "--evaluate")[:, 0], labels)
            assert abs(trained - 0.5) < 0.05, (categories, smooth, trained)
            assert categories < SAMPLES // 4 or leaked > 0.7, "the whole fit, which a model is never trained on, knows the labels"
    print(f"random labels: ROC AUC {trained:.3f} out of fold")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as path:
        for name, test in list(globals().items()):
            if name.startswith("test_"):
                test(pathlib.Path(path))
                print("ok", name[5:].replace("_", " "), flush=True)
