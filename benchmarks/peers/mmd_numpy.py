#!/usr/bin/env python3
"""Permutation test of the maximum mean discrepancy in NumPy, as one would write it: the peer of orchestrator.mmd.

mmd_numpy.py ROWS WIDTH PERMUTATIONS batched|loop reads `reference` and `current`, and prints seconds, distance and p-value.
Batched: all permutations are one product with the kernel matrix. In a loop: each permutes the matrix and sums its parts.
"""
import sys
import time

try:
    import numpy as np
except ImportError:
    sys.exit("mmd_numpy.py: no module numpy: ./dev bench peers numpy installs it")

MEDIAN_ROWS = 1024


def squared_distances(rows):
    lengths = np.einsum("ij,ij->i", rows, rows)
    squares = rows @ rows.T
    squares *= -2
    squares += lengths[:, None]
    squares += lengths[None, :]
    return np.maximum(squares, 0, out=squares)


def kernel_of(rows):
    """Gaussian, as wide as the median distance of some of the rows; 0 on the diagonal."""
    squares = squared_distances(rows)
    some = np.arange(MEDIAN_ROWS) * len(rows) // MEDIAN_ROWS if len(rows) > MEDIAN_ROWS else np.arange(len(rows))
    pairs = squares[np.ix_(some, some)][np.triu_indices(len(some), 1)]
    squares *= -1 / np.partition(pairs, (len(pairs) - 1) // 2)[(len(pairs) - 1) // 2]
    kernel = np.exp(squares, out=squares)
    np.fill_diagonal(kernel, 0)
    return kernel


def batched(kernel, count, permutations, draw):
    """Returns, for each column of `first`, the sums of the kernel inside and across the two groups."""
    rows = len(kernel)
    first = np.zeros((rows, permutations + 1), dtype=np.float32)
    first[:count, 0] = 1
    for p in range(1, permutations + 1):
        first[draw.permutation(rows)[:count], p] = 1
    of_rows = kernel.sum(axis=1, dtype=np.float64)
    within = np.einsum("ip,ip->p", first, kernel @ first, dtype=np.float64)
    touching = of_rows @ first
    across = touching - within
    return statistic(within, of_rows.sum() - within - 2 * across, across, count, rows - count)


def statistic(within, second, across, m, n):
    return within / (m * (m - 1)) + second / (n * (n - 1)) - 2 * across / (m * n)


def looped(kernel, count, permutations, draw):
    found = []
    order = np.arange(len(kernel))
    for _ in range(permutations + 1):
        first, second = order[:count], order[count:]
        found.append(statistic(kernel[np.ix_(first, first)].sum(dtype=np.float64),
                               kernel[np.ix_(second, second)].sum(dtype=np.float64),
                               kernel[np.ix_(first, second)].sum(dtype=np.float64),
                               count, len(second)))
        order = draw.permutation(len(kernel))
    return np.array(found)


def main():
    count, width, permutations = map(int, sys.argv[1:4])
    windows = [np.fromfile(name, dtype="<f4").reshape(count, width) for name in ("reference", "current")]
    draw = np.random.default_rng(1)
    started = time.perf_counter()
    kernel = kernel_of(np.concatenate(windows))
    found = {"batched": batched, "loop": looped}[sys.argv[4]](kernel, count, permutations, draw)
    p_value = np.mean(found >= found[0])
    print(time.perf_counter() - started, found[0], p_value)


main()
