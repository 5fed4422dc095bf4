#!/usr/bin/env python3
"""Choices of the scoring methods, against the definitions of their objectives in NumPy, in doubles.

scoring_numpy_test.py SCORING_GOLDEN_TEST; exit 77 (skipped) where python3-numpy is not installed.
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("scoring_numpy_test.py: skipped: no module numpy (apt-get install python3-numpy)")
    sys.exit(77)

COUNT, WIDTH, TARGET = 400, 24, 50
CLOSE = 1e-6


class Peer:
    """Weir's own choice, through the program of the golden test."""

    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)

    def choose(self, method, options, values, holdout=None):
        files = []
        for name, array in (("values", values), ("holdout", holdout)):
            if array is not None:
                array.astype("<f4").tofile(self.folder / name)
                files.append(self.folder / name)
        width = values.shape[1] if values.ndim > 1 else 1
        printed = subprocess.run([self.program, method, options, str(TARGET), str(width), "1", *files],
                                 check=True, capture_output=True, text=True).stdout
        rows = [line.split() for line in printed.split("\n\n")[0].splitlines()]
        return [int(row[0]) for row in rows], np.array([float(row[1]) for row in rows])


def expect(what, found, expected, tolerance=CLOSE):
    if not abs(found - expected) <= tolerance * max(1, abs(expected)):
        raise SystemExit(f"{what}: expected {expected!r}, found {found!r}")


def greedy(gain_of):
    """The definition: again and again the element that adds most."""
    chosen = []
    while len(chosen) < TARGET:
        gains = gain_of(chosen)
        gains[chosen] = -np.inf
        chosen.append(int(np.argmax(gains)))
    return chosen


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


# --- objectives, each as (value of a set, gains of all given a set) ---

def facility(similarity):
    def value(chosen):
        return similarity[:, chosen].max(axis=1).clip(0).sum()

    def gains(chosen):
        best = similarity[:, chosen].max(axis=1).clip(0) if chosen else np.zeros(len(similarity))
        return (similarity - best[:, None]).clip(0).sum(axis=0)
    return value, gains


def graph_cut(similarity, diversity):
    def value(chosen):
        return similarity[:, chosen].sum() - diversity * similarity[np.ix_(chosen, chosen)].sum()

    def gains(chosen):
        return (similarity.sum(axis=0) - diversity *
                (2 * similarity[chosen].sum(axis=0) + similarity.diagonal()))
    return value, gains


def log_determinant(rows, ridge):
    kernel = rows @ rows.T / ridge
    np.fill_diagonal(kernel, 1 / ridge + 1)  # of unit length: exactly, so that the first one wins

    def value(chosen):
        return np.linalg.slogdet(kernel[np.ix_(chosen, chosen)])[1]

    def gains(chosen):
        if not chosen:
            return np.log(kernel.diagonal())
        solved = np.linalg.solve(kernel[np.ix_(chosen, chosen)], kernel[chosen])
        return np.log((kernel.diagonal() - (kernel[chosen] * solved).sum(axis=0)).clip(1e-300))
    return value, gains


def check_submodular(peer, rows):
    apart = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    cosine = (1 + unit(rows) @ unit(rows).T) / 2
    farthest = 2 * np.linalg.norm(rows, axis=1).max()
    centred = rows - rows.mean(axis=0)
    cases = [
        ("submodular", "{}", facility(cosine)),
        ("submodular", "{function: graph_cut, diversity: 0.4}", graph_cut(cosine, 0.4)),
        ("submodular", "{function: log_determinant, ridge: 0.2}", log_determinant(unit(rows), 0.2)),
        ("craig", "{}", facility(farthest - apart)),
        ("exemplar_clustering", "{}", facility((centred ** 2).sum(axis=1)[:, None] - apart ** 2)),
    ]
    for method, options, (value, gains) in cases:
        chosen, weights = peer.choose(method, options, rows)
        expect(f"{method} {options}", value(chosen), value(greedy(gains)))
        if method == "craig":
            sizes = np.bincount(apart[:, chosen].argmin(axis=1), minlength=TARGET)
            expect("craig: sizes", np.abs(weights - sizes).sum(), 0)


def check_k_center(peer, rows):
    """From whatever it began with, each center is the farthest from those before it."""
    chosen, _ = peer.choose("k_center", "{}", rows)
    nearest = np.linalg.norm(rows - rows[chosen[0]], axis=1)
    for center in chosen[1:]:
        expect("k_center: how far the next is", nearest[center], nearest.max(), 1e-5)
        nearest = np.minimum(nearest, np.linalg.norm(rows - rows[center], axis=1))


def nonnegative(gram, toward):
    """min ½ w'Gw - t'w with w >= 0, by active sets (Lawson & Hanson)."""
    free, weights = [], np.zeros(len(toward))
    while True:
        slope = toward - gram @ weights
        slope[free] = -np.inf
        if slope.max(initial=-np.inf) <= 1e-12:
            return weights
        free.append(int(np.argmax(slope)))
        while True:
            tried = np.zeros(len(toward))
            tried[free] = np.linalg.solve(gram[np.ix_(free, free)], toward[free])
            if (tried[free] > 0).all():
                weights = tried
                break
            steps = [weights[i] / (weights[i] - tried[i]) if tried[i] <= 0 else 1 for i in free]
            weights += min(steps) * (tried - weights)
            free = [i for i in free if weights[i] > 1e-15]


def check_grad_match(peer, rows, relative):
    ridge = relative * (rows ** 2).sum(axis=1).mean()
    mean, chosen, error = rows.mean(axis=0), [], rows.mean(axis=0)
    weights = np.zeros(0)
    while len(chosen) < TARGET:
        products = rows @ error
        products[chosen] = -np.inf
        if products.max() <= 0:
            break
        chosen.append(int(np.argmax(products)))
        picked = rows[chosen]
        weights = nonnegative(picked @ picked.T + ridge * np.eye(len(chosen)), picked @ mean)
        error = mean - weights @ picked
    weighty = [i for i, w in zip(chosen, weights) if w > 1e-9 * weights.max()]
    found, found_weights = peer.choose("grad_match", f"{{ridge: {relative}}}", rows)
    expect("grad_match: the same", sorted(found) == sorted(weighty), True)
    expected = dict(zip(chosen, weights / weights.sum() * len(rows)))
    expect("grad_match: weights",
           max(abs(expected[i] - w) for i, w in zip(found, found_weights)), 0, 1e-4)


def check_scores(peer, rng):
    chances = rng.dirichlet(np.full(5, 0.7), COUNT).astype("f4").astype("f8")
    ordered = np.sort(chances, axis=1)
    doubts = {"least_confidence": -ordered[:, -1], "margin": ordered[:, -2] - ordered[:, -1],
              "entropy": -(chances * np.log(np.where(chances > 0, chances, 1))).sum(axis=1)}
    for metric, doubt in doubts.items():
        chosen, _ = peer.choose("uncertainty", f"{{metric: {metric}}}", chances)
        expect(f"uncertainty {metric}", doubt[chosen].sum(), np.sort(doubt)[-TARGET:].sum())
    losses, holdout = rng.exponential(size=(2, COUNT)).astype("f4")
    chosen, _ = peer.choose("rho_loss", "{}", losses, holdout)
    expect("rho_loss", (losses - holdout)[chosen].sum(),
           np.sort(losses - holdout)[-TARGET:].sum(), 1e-5)
    chosen, weights = peer.choose("loss", "{}", losses)
    share, rarest = TARGET / COUNT, weights.argmax()
    closing = -np.log1p(-share / weights[rarest]) / losses[chosen[rarest]]  # all are weighed by one end of the race
    expect("loss: weights", np.abs(weights * -np.expm1(-losses[chosen] * closing) / share - 1).max(), 0, 1e-5)


def main():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        centers = rng.normal(size=(9, WIDTH))
        rows = centers[rng.integers(9, size=COUNT)] + 0.4 * rng.normal(size=(COUNT, WIDTH))
        rows = rows.astype("f4").astype("f8")
        with tempfile.TemporaryDirectory() as folder:
            peer = Peer(sys.argv[1], folder)
            check_submodular(peer, rows)
            check_k_center(peer, rows)
            check_grad_match(peer, rows, 0.5)
            check_grad_match(peer, rows, 0.002)  # weights fall to 0 and come back
            check_scores(peer, rng)
    print("scoring_numpy_test.py: every method as defined")


main()
