#!/usr/bin/env python3
"""The network on PyTorch's own loader. Prints samples a second from the first step to the last.

Usage: dlrm_torch.py STYLE FOLDER BATCH WORKERS

STYLE is map (a sample at a time, the way every tutorial shows), vectorised (a batch at a time: a batch sampler and one NumPy
gather) or memory (no loader: the tensors of one batch, again and again). All records lie in memory before the clock starts.
"""
import pathlib
import sys
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "trainer"))
try:
    from dlrm import BUCKETS, Trainer  # before all that loads OpenBLAS

    import numpy as np
    import torch
    from torch.utils import data
except (ImportError, RuntimeError) as error:
    print(str(error).splitlines()[0])
    sys.exit(1)

from clicks import DENSE, LABEL, SPARSE, load
from records_torch import Records, column

warnings.filterwarnings("ignore", "This DataLoader will create")


def tensors(record):
    """What the operators of the pipeline make of it, and its label."""
    dense, sparse, label = column(record, DENSE, np.float32), column(record, SPARSE, np.int32), column(record, LABEL, np.int32)
    return torch.from_numpy(np.log1p(dense)), torch.from_numpy(sparse % BUCKETS), torch.from_numpy(label)[..., 0]


def batches_of(style, records, batch, workers):
    dataset, common = Records(records, tensors), {"num_workers": workers}
    if style == "map":
        return data.DataLoader(dataset, batch_size=batch, shuffle=True, **common)
    sampler = data.BatchSampler(data.RandomSampler(dataset), batch, drop_last=False)
    if style == "vectorised":
        return data.DataLoader(dataset, sampler=sampler, batch_size=None, **common)
    return [dataset[np.arange(min(batch, len(records)))]] * -(-len(records) // batch)


def main():
    style, folder, batch, workers = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    batches = batches_of(style, load(folder), batch, workers)
    trainer, samples, began = Trainer(), 0, 0.0
    for dense, sparse, labels in batches:
        began = began or time.monotonic()
        trainer.step(dense, sparse, labels, torch.ones(len(labels)))
        samples += len(labels)
    print(samples / (time.monotonic() - began))


if __name__ == "__main__":
    main()
