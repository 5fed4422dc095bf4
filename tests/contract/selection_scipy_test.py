#!/usr/bin/env python3
"""Selection against SciPy and brute force: how likely each set is, what greedy promises, what the best fit is.

selection_scipy_test.py SELECTION_POLICIES_TEST SCORING_GOLDEN_TEST; exit 77 (skipped) where python3-scipy is not installed.
"""
import itertools
import math
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from scipy import optimize, spatial, stats
except ImportError as missing:
    print(f"selection_scipy_test.py: skipped: {missing} (apt-get install python3-numpy python3-scipy)")
    sys.exit(77)

SEEDS = 20000
IMPROBABLE = 1e-4  # the seeds are always the same: what passes once passes for ever
FACILITY = ("submodular", "craig", "exemplar_clustering")


class Weir:
    """The programs that choose."""

    def __init__(self, policies, methods, folder):
        self.policies, self.methods, self.file = policies, methods, pathlib.Path(folder) / "columns"

    def draw(self, policy, options, target, seeds=SEEDS, **columns):
        """Sets of places, one for each seed; columns that are not given are 0."""
        count = len(next(iter(columns.values())))
        names = ("ids", "times", "labels", "triggers", "past")
        columns = {"ids": range(1, count + 1)} | columns
        np.array([columns.get(name, np.zeros(count)) for name in names], "<i8").tofile(self.file)
        printed = subprocess.run([self.policies, policy, options, str(target), str(seeds), self.file],
                                 check=True, capture_output=True, text=True).stdout
        return [tuple(int(word.split(":")[0]) for word in line.split()) for line in printed.splitlines()]

    def choose(self, method, options, rows, target, seeds=1):
        """(places in the order they were chosen, weights) for each seed."""
        rows.astype("<f4").tofile(self.file)
        width = rows.shape[1] if rows.ndim > 1 else 1
        printed = subprocess.run([self.methods, method, options, str(target), str(width), str(seeds),
                                  self.file], check=True, capture_output=True, text=True).stdout
        lines = [[line.split() for line in one.splitlines()] for one in printed.split("\n\n")[:seeds]]
        return [([int(p) for p, _ in one], np.array([float(w) for _, w in one])) for one in lines]


def expect(what, holds):
    if not holds:
        raise SystemExit(f"selection_scipy_test.py: {what}")


# --- how likely each set is ---

def check_chances(what, sets, chances):
    """`sets` were drawn; `chances` says of each that can come out how likely it is."""
    counts = dict.fromkeys(chances, 0)
    for one in sets:
        expect(f"{what}: {one} cannot come out", tuple(sorted(one)) in counts)
        counts[tuple(sorted(one))] += 1
    if len(counts) == 1:
        return  # nothing is left to chance
    expected = np.array([chances[one] for one in counts]) * len(sets)
    found = stats.chisquare(list(counts.values()), expected * len(sets) / expected.sum())
    expect(f"{what}: chi-square {found.statistic:.1f}, p = {found.pvalue:.2g}",
           found.pvalue > IMPROBABLE)


def evenly(sets):
    sets = [tuple(sorted(one)) for one in sets]
    return {one: 1 / len(sets) for one in sets}


def of_each(*groups):
    """So many of each group's members: every combination."""
    return [sum(parts, ()) for parts in
            itertools.product(*(itertools.combinations(members, n) for members, n in groups))]


def one_by_one(rates, target):
    """Drawn without replacement, each time in proportion to the rates that are left."""
    chances = {}
    for order in itertools.permutations(range(len(rates)), target):
        chance, left = 1, sum(rates)
        for place in order:
            chance *= rates[place] / left
            left -= rates[place]
        one = tuple(sorted(order))
        chances[one] = chances.get(one, 0) + chance
    return chances


def check_policies(weir):
    groups = np.array([1, 2, 1, 1, 2, 2, 1, 2])
    ones, twos = np.flatnonzero(groups == 1), np.flatnonzero(groups == 2)
    ones, twos = tuple(map(int, ones)), tuple(map(int, twos))
    all_of_eight = evenly(itertools.combinations(range(8), 4))
    balanced = evenly(of_each((ones, 2), (twos, 2)))
    ages = np.array([0, 1, 1, 2, 4, 7])
    cases = [
        ("random", "{}", 4, {"ids": range(1, 9)}, all_of_eight),
        ("new_data", "{keep: random}", 4, {"ids": range(1, 9)}, all_of_eight),
        ("reservoir", "{size: 4}", 4, {"ids": range(1, 9)}, all_of_eight),
        ("coreset", "{score: {method: loss}}", 4, {"ids": range(1, 9)}, all_of_eight),
        ("random_without_replacement", "{}", 4, {"past": np.where(groups == 2, 3, 1)},
         evenly([ones])),  # the four that are left of the epoch
        ("random_without_replacement", "{}", 6, {"past": np.where(groups == 2, 3, 1)},
         evenly(of_each((ones, 4), (twos, 2)))),  # and then some of the next
        ("freshness", "{unused_ratio: 0.75}", 4, {"past": groups - 1},
         evenly(of_each((ones, 3), (twos, 1)))),
        ("label_balanced", "{}", 4, {"labels": groups}, balanced),
        ("trigger_balanced", "{}", 4, {"triggers": groups}, balanced),
        ("mixture", "{over: labels, shares: {1: 3, 2: 1}}", 4, {"labels": groups},
         evenly(of_each((ones, 3), (twos, 1)))),
        ("recency_weighted", "{half_life: 2us}", 3, {"times": 10 - ages},
         one_by_one(0.5 ** (ages / 2), 3)),
    ]
    for policy, options, target, columns, chances in cases:
        check_chances(f"{policy} {options} of {target}",
                      weir.draw(policy, options, target, **columns), chances)


def check_inclusion(weir):
    """Of many candidates each is as likely as any other, and no two hang together."""
    count, target, seeds = 300, 60, 4000
    sets = np.array(weir.draw("random", "{}", target, seeds, ids=range(1, count + 1)))
    hits = np.bincount(sets.ravel(), minlength=count)
    share = target / count
    spread = ((hits - seeds * share) ** 2 / (seeds * share * (1 - share))).sum() * (count - 1) / count
    expect(f"random: inclusion {spread:.0f}", IMPROBABLE < stats.chi2.sf(spread, count - 1) < 1 - IMPROBABLE)
    low = (sets < count // 2).sum(axis=1)
    drawn = stats.hypergeom(count, count // 2, target)
    edges = np.arange(24, 37)
    expected = np.diff(np.concatenate([[0], drawn.cdf(edges), [1]])) * seeds
    found = np.histogram(low, np.concatenate([[-1], edges, [target]]) + 0.5)[0]
    expect("random: how many of the lower half", stats.chisquare(found, expected).pvalue > IMPROBABLE)


def check_scores_draw(weir):
    losses = np.array([0.5, 1, 1, 2, 4, 0.25])
    for method in ("loss", "grad_norm"):
        drawn = weir.choose(method, "{}", losses, 3, SEEDS)
        check_chances(method, [places for places, _ in drawn], one_by_one(losses, 3))
    drawn = weir.choose("rs2", "{}", losses, 3, SEEDS)
    check_chances("rs2", [places for places, _ in drawn], evenly(itertools.combinations(range(6), 3)))


# --- what greedy promises ---

def similarity_of(method, rows):
    """What facility location is over, as the papers define it."""
    apart = spatial.distance.cdist(rows, rows)
    if method == "craig":
        return 2 * np.linalg.norm(rows, axis=1).max() - apart
    if method == "exemplar_clustering":
        return np.maximum(((rows - rows.mean(axis=0)) ** 2).sum(axis=1)[:, None] - apart ** 2, 0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return (1 + unit @ unit.T) / 2


def cover(similarity, places):
    return similarity[:, list(places)].max(axis=1).sum()


def greedy_value(similarity, target):
    best, value = np.zeros(len(similarity)), 0
    for _ in range(target):
        gains = np.maximum(similarity - best[:, None], 0).sum(axis=0)
        value += gains.max()
        best = np.maximum(best, similarity[:, gains.argmax()])
    return value


def degenerate(rng):
    """Inputs on which a careless method divides by nothing, loops, or takes a sample twice."""
    line = np.arange(12)[:, None] * np.array([[1.0, -2.0, 0.5]])
    return {
        "all the same": np.ones((12, 3)),
        "all nothing": np.zeros((12, 3)),
        "on a line": line,
        "every one twice": np.repeat(rng.normal(size=(6, 3)), 2, axis=0),
        "one far away": np.vstack([rng.normal(size=(11, 3)), [[1e4, 1e4, 1e4]]]),
        "nothing among others": np.vstack([rng.normal(size=(11, 3)), np.zeros((1, 3))]),
        "of one number": rng.normal(size=(12, 1)),
    }


def check_degenerate(weir, rng):
    methods = FACILITY + ("k_center", "grad_match", "rs2", "uncertainty")
    functions = ("{function: graph_cut}", "{function: log_determinant}")
    cases = [(m, "{}") for m in methods] + [("submodular", f) for f in functions]
    for what, rows in degenerate(rng).items():
        rows = rows.astype("f4").astype("f8")
        for method, options in cases:
            for target in (1, 5, 11, 12, 20):
                places, weights = weir.choose(method, options, rows, target)[0]
                where = f"{method} {options}, {what}, {target} of 12: {places}"
                wanted = min(target, 12)
                expect(where, len(set(places)) == len(places) <= wanted and len(places) > 0)
                expect(where, len(places) == wanted or method == "grad_match")
                expect(where, np.isfinite(weights).all() and (weights > 0).all())
                if method in FACILITY and options == "{}" and target < 12:
                    similarity = similarity_of(method, rows)
                    expect(where, math.isclose(cover(similarity, places),
                                               greedy_value(similarity, target), rel_tol=1e-5,
                                               abs_tol=1e-3 * max(1, similarity.max())))


def check_lazy(weir, rng):
    """Lazy chooses what naive does, in the same order, and that is what greedy is; rows of more than one block."""
    rows = rng.normal(size=(1100, 4)).astype("f4").astype("f8")
    for method in FACILITY:
        naive, lazy = (weir.choose(method, f"{{optimizer: {how}}}", rows, 12)[0][0]
                       for how in ("naive", "lazy"))
        expect(f"{method}: lazy is naive", naive == lazy)
        similarity = similarity_of(method, rows)
        expect(f"{method}: greedy", math.isclose(cover(similarity, lazy), greedy_value(similarity, 12),
                                                 rel_tol=1e-6))
    for function in ("graph_cut", "log_determinant"):
        naive, lazy = (weir.choose("submodular", f"{{function: {function}, optimizer: {how}}}", rows,
                                   12)[0][0] for how in ("naive", "lazy"))
        expect(f"{function}: lazy is naive", naive == lazy)


def check_guarantees(weir, rng):
    for _ in range(12):
        rows = rng.normal(size=(11, 2)).astype("f4").astype("f8")
        triples = list(itertools.combinations(range(11), 3))
        for method in FACILITY:
            similarity = similarity_of(method, rows)
            best = max(cover(similarity, one) for one in triples)
            for how, share in (("lazy", 1 - 1 / math.e), ("approximate, epsilon: 0.3", 1 - math.exp(-0.7))):
                places, _ = weir.choose(method, f"{{optimizer: {how}}}", rows, 3)[0]
                expect(f"{method} {how}: {cover(similarity, places)} of {best}",
                       cover(similarity, places) >= share * best * (1 - 1e-6))
        values = [cover(similarity_of("submodular", rows), places) for places, _ in
                  weir.choose("submodular", "{optimizer: stochastic, epsilon: 0.1}", rows, 3, 50)]
        best = max(cover(similarity_of("submodular", rows), one) for one in triples)
        expect("stochastic: in the mean", np.mean(values) >= (1 - 1 / math.e - 0.1) * best)
        apart = spatial.distance.cdist(rows, rows)
        radius = min(apart[:, list(one)].min(axis=1).max() for one in triples)
        for centers, _ in weir.choose("k_center", "{}", rows, 3, 20):
            expect(f"k_center: {centers}", apart[:, centers].min(axis=1).max() <= 2 * radius * (1 + 1e-6))


# --- the best fit ---

def fit(rows, places, ridge):
    """min |mean - Σ w g|² + ridge |w|², w >= 0."""
    picked = rows[places]
    left = np.vstack([picked.T, math.sqrt(ridge) * np.eye(len(places))])
    return optimize.nnls(left, np.concatenate([rows.mean(axis=0), np.zeros(len(places))]))[0]


def pursue(rows, target, ridge):
    """Orthogonal matching pursuit with weights that are not negative."""
    chosen, weights, error = [], np.zeros(0), rows.mean(axis=0)
    while len(chosen) < target:
        products = rows @ error
        products[chosen] = -np.inf
        if products.max() <= 0:
            break
        chosen.append(int(products.argmax()))
        weights = fit(rows, chosen, ridge)
        error = rows.mean(axis=0) - weights @ rows[chosen]
    return {p: w for p, w in zip(chosen, weights) if w > 1e-9 * weights.max()}


def check_grad_match(weir, rng):
    for count, width, target, relative in ((60, 5, 10, 0.5), (200, 12, 25, 0.05), (40, 30, 30, 0.5)):
        rows = (rng.normal(size=(count, width)) + 0.3).astype("f4").astype("f8")
        ridge = relative * (rows ** 2).sum(axis=1).mean()
        expected = pursue(rows, target, ridge)
        places, weights = weir.choose("grad_match", f"{{ridge: {relative}}}", rows, target)[0]
        where = f"grad_match {count} x {width}"
        expect(f"{where}: {sorted(places)}, expected {sorted(expected)}", set(places) == set(expected))
        scale = count / sum(expected.values())
        expect(f"{where}: weights", all(math.isclose(w, expected[p] * scale, rel_tol=1e-3, abs_tol=1e-4)
                                        for p, w in zip(places, weights)))


def main():
    rng = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as folder:
        weir = Weir(sys.argv[1], sys.argv[2], folder)
        check_policies(weir)
        check_inclusion(weir)
        check_scores_draw(weir)
        check_degenerate(weir, rng)
        check_lazy(weir, rng)
        check_guarantees(weir, rng)
        check_grad_match(weir, rng)
    print("selection_scipy_test.py: as likely, as good and as near as it should be")


main()
