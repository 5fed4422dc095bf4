#!/usr/bin/env python3
"""Facility location by lazy greedy in NumPy, as one would write it: the peer of selector.facility.

facility_numpy.py COUNT WIDTH TARGET MEMORY_BYTES reads `points`, and prints seconds of choosing, its objective, that of
the choice in `chosen`, and the bytes of memory used. Similarities are made again in blocks: all of them
together do not fit the memory.
"""
import heapq
import resource
import sys
import time

try:
    import numpy as np
except ImportError:
    sys.exit("facility_numpy.py: no module numpy: ./dev bench peers numpy installs it")

BLOCK = 64  # candidates whose first gains are computed together; more is not faster
AT_ONCE = 4  # candidates at the top whose gains are computed again together; fewer or more is slower


def gains_of(rows, best, candidates):
    """Returns the gain of each candidate: the sum over all rows of how much nearer it is."""
    similarity = rows @ rows[candidates].T
    similarity *= 0.5
    similarity += 0.5
    similarity -= best[:, None]
    np.maximum(similarity, 0, out=similarity)
    return similarity.sum(axis=0, dtype=np.float64)


def choose(rows, target):
    best = np.zeros(len(rows), dtype=np.float32)
    heap = []
    for first in range(0, len(rows), BLOCK):
        block = np.arange(first, min(first + BLOCK, len(rows)))
        heap += [(-gain, i, 0) for gain, i in zip(gains_of(rows, best, block), block)]
    heapq.heapify(heap)
    chosen = []
    while len(chosen) < target:
        while heap[0][2] < len(chosen):
            stale = []
            while len(stale) < AT_ONCE and heap and heap[0][2] < len(chosen):
                stale.append(heapq.heappop(heap)[1])
            for gain, i in zip(gains_of(rows, best, stale), stale):
                heapq.heappush(heap, (-gain, i, len(chosen)))
        chosen.append(int(heapq.heappop(heap)[1]))
        np.maximum(best, 0.5 + 0.5 * (rows @ rows[chosen[-1]]), out=best)
    return chosen


def objective(rows, chosen):
    rows = rows.astype(np.float64)
    best = np.zeros(len(rows))
    for one in chosen:
        np.maximum(best, 0.5 + 0.5 * (rows @ rows[one]), out=best)
    return best.sum()


def main():
    count, width, target, memory = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    rows = np.fromfile("points", dtype="<f4").reshape(count, width)
    started = time.perf_counter()
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    chosen = choose(rows, target)
    seconds = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    theirs = np.fromfile("chosen", dtype="<u8").astype(int)
    print(seconds, objective(rows, chosen), objective(rows, theirs), used)


main()
