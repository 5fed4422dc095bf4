#!/usr/bin/env python3
"""The statistics of drift against SciPy and scikit-learn, and where those have none against the definition in NumPy.

drift_scipy_test.py DRIFT_STATISTICS_TEST; exit 77 (skipped) where one of them is not installed.
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from scipy import special, stats
    from scipy.spatial import distance as between
    from sklearn.linear_model import LogisticRegression
except ImportError as missing:
    print(f"drift_scipy_test.py: skipped: {missing} "
          "(apt-get install python3-numpy python3-scipy python3-sklearn)")
    sys.exit(77)


class Weir:
    """Scores of the program under test."""

    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)

    def score(self, name, reference, current, options="{}", correction="bonferroni", seed=7):
        labels = reference.dtype.kind == "i"
        width = 0 if labels else reference.shape[1]
        for file, window in (("reference", reference), ("current", current)):
            window.astype("<i8" if labels else "<f4").tofile(self.folder / file)
        printed = subprocess.run(
            [self.program, name, options, str(width), correction, str(seed),
             self.folder / "reference", self.folder / "current"],
            check=True, capture_output=True, text=True).stdout.split()
        if printed == ["none"]:
            return None
        return float(printed[0]), float(printed[1])


def expect(what, found, expected, tolerance=1e-9):
    if np.isnan(expected) and np.isnan(found):
        return
    if not abs(found - expected) <= tolerance * max(1, abs(expected)):
        raise SystemExit(f"{what}: expected {expected!r}, found {found!r}")


def windows(rng):
    """Pairs of windows: apart, alike, tied, constant, of very different sizes, with holes, on other scales."""
    yield "shifted", rng.normal(size=(80, 3)), rng.normal(0.5, 1.2, size=(70, 3))
    yield "alike", rng.normal(size=(400, 2)), rng.normal(size=(350, 2))
    yield "tied", rng.integers(0, 4, size=(60, 2)), rng.integers(0, 5, size=(90, 2))
    yield "constant", np.full((20, 1), 3.5), np.full((30, 1), 3.5)
    yield "apart", np.full((20, 1), 3.5), np.full((30, 1), 4.5)
    yield "lopsided", rng.normal(size=(3, 1)), rng.normal(size=(500, 1))
    yield "two", rng.normal(size=(2, 1)), rng.normal(size=(2, 1))
    yield "huge", 1e6 * rng.normal(size=(50, 2)), 1e6 * rng.normal(0.1, 1, size=(50, 2))
    holes = rng.normal(size=(60, 2))
    holes[::7, 0] = np.nan
    yield "holes", holes, rng.normal(size=(60, 2))


def as_stored(window):
    return window.astype("<f4").astype("f8")


def present(column):
    return column[np.isfinite(column)]


def whole(window):
    return window[np.isfinite(window).all(axis=1)]


# --- feature by feature: (distance, p-value) ---

def ks(x, y):
    x, y = present(x), present(y)
    pairs = len(x) * len(y)
    distance = stats.ks_2samp(x, y).statistic
    if pairs <= 1e5:
        return distance, stats.ks_2samp(x, y, mode="exact").pvalue
    return distance, special.kolmogorov(np.sqrt(pairs / (len(x) + len(y))) * distance)


def cramer_tail(x):
    """Csörgő & Faraway 1996, (1.2), with SciPy's Bessel functions."""
    k = np.arange(100)
    y = (4 * k + 1) ** 2 / (16 * x)
    terms = special.gamma(k + 0.5) / special.factorial(k) * np.sqrt(4 * k + 1) * np.exp(
        -y) * special.kv(0.25, y)
    return 1 - np.nansum(terms) / (np.pi ** 1.5 * np.sqrt(x))


def cvm(x, y):
    x, y = present(x), present(y)
    m, n = len(x), len(y)
    both = np.concatenate([x, y])
    gaps = [np.searchsorted(np.sort(z), both, "right") / len(z) for z in (x, y)]
    found = m * n / (m + n) ** 2 * ((gaps[0] - gaps[1]) ** 2).sum()
    if len(np.unique(both)) == m + n:
        known = stats.cramervonmises_2samp(x, y, method="asymptotic")
        expect("SciPy's own", known.statistic, found)
        return found, min(known.pvalue, 1)
    mean = (1 + 1 / (m + n)) / 6
    variance = ((m + n + 1) * (4 * m * n * (m + n) - 3 * (m ** 2 + n ** 2) - 2 * m * n) /
                (45 * (m + n) ** 2 * 4 * m * n))
    x = 1 / 6 + (found - mean) / np.sqrt(45 * variance)
    return found, min(1, max(0, cramer_tail(x))) if x > 0 else 1


def wasserstein(x, y):
    x, y = present(x), present(y)
    return stats.wasserstein_distance(x, y) / (x.std() or 1), np.nan


def counts(x, y, bins, by):
    """Of both in the bins that the reference lays out; empty ones are left out."""
    known = np.sort(present(x))
    shares = np.arange(1, bins) / bins
    edges = (known[np.arange(1, bins) * len(known) // bins] if by == "quantile"
             else known[0] + (known[-1] - known[0]) * shares)
    return tabulate([[np.searchsorted(np.unique(edges[edges > known[0]]), present(z), "right"),
                      np.full(len(z) - len(present(z)), bins)] for z in (x, y)], bins + 1)


def tabulate(sides, bins):
    table = np.array([np.bincount(np.concatenate(side).astype(int), minlength=bins)
                      for side in sides])
    return table[:, table.sum(axis=0) > 0]


def hellinger(table):
    p, q = table / table.sum(axis=1, keepdims=True)
    return np.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2), np.nan


def jensen_shannon(table):
    return between.jensenshannon(*table, base=2), np.nan


def psi(table):
    p, q = table + 0.5
    return stats.entropy(p, q) + stats.entropy(q, p), np.nan


def chi_square(table):
    if table.shape[1] < 2:
        return 0, 1
    found, p_value, _, _ = stats.chi2_contingency(table, correction=False)
    return np.sqrt(found / table.sum()), p_value


def kullback_leibler(table):
    p, q = table + 0.5
    return stats.entropy(q, p), np.nan


FEATURES = {"ks": ks, "cvm": cvm, "wasserstein": wasserstein}
BINNED = {"hellinger": hellinger, "jensen_shannon": jensen_shannon, "psi": psi,
          "chi_square": chi_square, "kullback_leibler": kullback_leibler}


def corrected(p_values, correction):
    p_values = np.sort(p_values)
    if np.isnan(p_values).any():
        return np.nan
    ranks = 1 if correction == "bonferroni" else np.arange(1, len(p_values) + 1)
    return min(1, (p_values * len(p_values) / ranks).min())


def check_features(weir, name, reference, current, what, bins=10, by="quantile"):
    def of(x, y):
        return BINNED[name](counts(x, y, bins, by)) if name in BINNED else FEATURES[name](x, y)
    options = f"{{bins: {bins}, by: {by}}}" if name in BINNED else "{}"
    scores = np.array([of(x, y) for x, y in zip(reference.T, current.T)])
    for correction in ("bonferroni", "fdr"):
        distance, p_value = weir.score(name, reference, current, options, correction)
        expect(f"{what}: distance", distance, scores[:, 0].mean(), 1e-8)
        expect(f"{what}: p-value by {correction}", p_value, corrected(scores[:, 1], correction),
               1e-7)


def check_labels(weir, rng):
    for classes, count in ((3, 200), (1, 20), (40, 60)):
        reference, current = rng.integers(-2, classes, size=count), rng.integers(0, classes, size=90)
        table = tabulate([[reference + 2], [current + 2]], classes + 2)
        for name, of in BINNED.items():
            distance, p_value = weir.score(name, reference, current)
            expect(f"{classes} classes: {name}", distance, of(table)[0], 1e-8)
            expect(f"{classes} classes: p-value of {name}", p_value, of(table)[1], 1e-8)


# --- all at once ---

def squared_distances(rows):
    return ((rows[:, None] - rows[None]) ** 2).sum(axis=2)


def median_square(squares):
    pairs = np.sort(squares[np.triu_indices(len(squares), 1)])
    median = pairs[(len(pairs) - 1) // 2]
    positive = pairs[pairs > 0]
    return median if median > 0 or not len(positive) else positive[(len(positive) - 1) // 2]


def mmd(kernel, first):
    """Of rows [first] against the others, without bias."""
    inside, outside = kernel[np.ix_(first, first)], kernel[np.ix_(~first, ~first)]
    m, n = len(inside), len(outside)
    return ((inside.sum() - np.trace(inside)) / m / (m - 1) +
            (outside.sum() - np.trace(outside)) / n / (n - 1) -
            2 * kernel[np.ix_(first, ~first)].mean())


def check_mmd(weir, reference, current, what, rng):
    reference, current = whole(reference), whole(current)
    rows = np.concatenate([reference, current])
    squares = squared_distances(rows)
    kernel = np.exp(-squares / (median_square(squares) or 1))
    first = np.arange(len(rows)) < len(reference)
    found = mmd(kernel, first)
    drawn = [mmd(kernel, rng.permutation(first)) for _ in range(300)]
    distance, p_value = weir.score("mmd", reference, current, "{permutations: 2000}")
    expect(f"{what}: mmd", distance, found, 2e-6)
    expect(f"{what}: p-value of mmd", p_value, np.mean(np.array(drawn) >= found - 1e-9), 0.11)


def lsdd(first, kernel, overlap, ridge):
    """Sugiyama et al. 2013, (2.8), less the common factor."""
    h = kernel[first].mean(axis=0) - kernel[~first].mean(axis=0)
    theta = np.linalg.solve(overlap + ridge * np.eye(len(overlap)), h)
    return 2 * h @ theta - theta @ overlap @ theta


def check_lsdd(weir, reference, current, what, rng):
    reference, current = whole(reference), whole(current)
    rows = np.concatenate([reference, current])
    squares = squared_distances(rows)
    scale = median_square(squares) or np.inf
    count = min(100, len(rows))
    centers = np.arange(count) * len(rows) // count
    kernel = np.exp(-squares[:, centers] / scale)
    overlap = np.exp(-squares[np.ix_(centers, centers)] / (2 * scale))
    first = np.arange(len(rows)) < len(reference)
    for ridge in (0.01, 1):
        found = lsdd(first, kernel, overlap, ridge)
        drawn = [lsdd(rng.permutation(first), kernel, overlap, ridge) for _ in range(100)]
        distance, p_value = weir.score("lsdd", reference, current,
                                       f"{{ridge: {ridge}, permutations: 100}}")
        expect(f"{what}: lsdd", distance, found, 1e-6)
        expect(f"{what}: p-value of lsdd", p_value, np.mean(np.array(drawn) >= found - 1e-9), 0.2)


def check_classifier(weir, reference, current, what):
    reference, current = whole(reference), whole(current)
    if min(len(reference), len(current)) < 5:
        expect(f"{what}: classifier", weir.score("classifier", reference, current) is None, True)
        return
    rows = np.concatenate([reference, current])
    rows = (rows - rows.mean(axis=0)) / np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1)
    label = np.arange(len(rows)) >= len(reference)
    fold = np.concatenate([np.arange(len(reference)) % 5, np.arange(len(current)) % 5])
    scores = np.zeros(len(rows))
    for k in range(5):
        model = LogisticRegression(C=1, tol=1e-10, max_iter=10000)
        model.fit(rows[fold != k], label[fold != k])
        scores[fold == k] = rows[fold == k] @ model.coef_[0]
    known = stats.mannwhitneyu(scores[label], scores[~label], alternative="greater",
                               use_continuity=False, method="asymptotic")
    pairs = label.sum() * (~label).sum()
    distance, p_value = weir.score("classifier", reference, current)
    expect(f"{what}: classifier", distance, 2 * known.statistic / pairs - 1, 0.003)
    expect(f"{what}: p-value of classifier", p_value,
           1 if np.isnan(known.pvalue) else known.pvalue, 0.01)


def main():
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        weir = Weir(sys.argv[1], folder)
        for kind, reference, current in windows(rng):
            reference, current = as_stored(reference), as_stored(current)
            for name in (*FEATURES, *BINNED):
                check_features(weir, name, reference, current, f"{kind}: {name}")
            check_features(weir, "hellinger", reference, current, kind, bins=7, by="width")
            check_mmd(weir, reference, current, kind, rng)
            check_lsdd(weir, reference, current, kind, rng)
            check_classifier(weir, reference, current, kind)
        check_labels(weir, rng)
    print("drift_scipy_test.py: every statistic agrees")


main()
