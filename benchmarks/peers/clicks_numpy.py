#!/usr/bin/env python3
"""The least that NumPy can do for click records: map them, take a batch of rows, read it. Prints records a second.

Usage: clicks_numpy.py FOLDER BATCH THREADS

Every second record of the folder, in a new random order, once as a warm-up and once measured. No columns, no ids, no labels, no order
that anybody could repeat, no other process. take() releases the interpreter's lock; 0 threads are one, without a pool.
"""
import concurrent.futures
import sys
import time

try:
    import numpy as np
except ImportError as error:
    print(error)
    sys.exit(1)

import clicks


def take_all(records, batches):
    """Rows are copied into one buffer that stays in the cache; mode: no second buffer in between."""
    buffer = np.empty((max(map(len, batches)), clicks.RECORD_BYTES), np.uint8)
    total = 0
    for batch in batches:
        rows = np.take(records, batch, axis=0, out=buffer[:len(batch)], mode="clip")
        total += int(np.add.reduce(rows.view(np.int32), axis=None, dtype=np.int32))
    return total


def epoch(records, batch, threads):
    chosen = np.random.permutation(np.arange(0, len(records), clicks.STRIDE))
    batches = np.array_split(chosen, range(batch, len(chosen), batch))
    if threads == 0:
        return take_all(records, batches), len(chosen)
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        parts = [part for part in (batches[i::threads] for i in range(threads)) if part]
        return sum(pool.map(lambda part: take_all(records, part), parts)), len(chosen)


def main():
    folder, batch, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    records = clicks.mapped(folder)
    for _ in range(2):
        started = time.monotonic()
        _, count = epoch(records, batch, threads)
    print(count / (time.monotonic() - started))


if __name__ == "__main__":
    main()
