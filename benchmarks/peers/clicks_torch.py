#!/usr/bin/env python3
"""PyTorch's way with click records: Subset, DataLoader. Prints records a second.

Usage: clicks_torch.py STYLE FOLDER BATCH WORKERS

STYLE is map (a sample at a time, the way every tutorial shows), vectorised (a batch at a time: a batch
sampler and one NumPy gather) or mapped (the same from a file that NumPy maps, so that workers share the page
cache and nothing is read before the clock starts). Every second record of the folder, in a new random order,
once as a warm-up and once measured, with workers that stay. But for `mapped`, all records lie in memory.
"""
import sys
import time
import warnings

try:
    import numpy as np
    import torch
    from torch.utils import data
except (ImportError, RuntimeError) as error:
    print(str(error).splitlines()[0])
    sys.exit(1)

import clicks
from clicks import DENSE, SPARSE
from records_torch import Records, column

warnings.filterwarnings("ignore", "This DataLoader will create")
warnings.filterwarnings("ignore", "The given NumPy array is not writ")  # of a single mapped record


def tensors(record):
    return tuple(torch.from_numpy(column(record, part, kind)) for part, kind in ((DENSE, np.float32), (SPARSE, np.int32)))


class Chosen(data.Subset):
    """A subset that hands lists on as a whole."""

    def __getitem__(self, index):
        return self.dataset[self.indices[np.asarray(index)]]

    __getitems__ = None


def loader(style, records, batch, workers):
    chosen = np.arange(0, len(records), clicks.STRIDE)
    common = {"num_workers": workers, "persistent_workers": workers > 0}
    if style == "map":
        subset = data.Subset(Records(records, tensors), chosen)
        return data.DataLoader(subset, batch_size=batch, shuffle=True, **common)
    subset = Chosen(Records(records, tensors), chosen)
    batches = data.BatchSampler(data.RandomSampler(subset), batch, drop_last=False)
    return data.DataLoader(subset, sampler=batches, batch_size=None, **common)


def main():
    style, folder, batch, workers = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    batches = loader(style, (clicks.mapped if style == "mapped" else clicks.load)(folder), batch, workers)
    for _ in range(2):
        started, count = time.monotonic(), 0
        for dense, sparse in batches:
            count += len(dense)
            float(dense.sum()), int(sparse.sum())  # as Weir's loop: reads every number once
    print(count / (time.monotonic() - started))


if __name__ == "__main__":
    main()
