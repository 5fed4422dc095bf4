"""Click records of benchmarks/slice/corpus.h as NumPy has them: a row of 160 bytes each. Every second one is in the set."""
import os
import pathlib

import numpy as np

STRIDE = 2
RECORD_BYTES, LABEL, DENSE, SPARSE = 160, slice(0, 4), slice(4, 56), slice(56, 160)


def files_of(folder):
    return sorted(pathlib.Path(folder).glob("day_*"))


def load(folder):
    """All records, in memory."""
    return np.concatenate([np.fromfile(name, np.uint8) for name in files_of(folder)]).reshape(-1, RECORD_BYTES)


def mapped(folder):
    """All records in one file beside the folder, which is made once: a batch is one gather then, not one a file."""
    path = pathlib.Path(f"{folder}.records")
    if not path.exists():
        part = path.with_suffix(f".{os.getpid()}")
        load(folder).tofile(part)
        part.rename(path)
    return np.memmap(path, np.uint8, "r").reshape(-1, RECORD_BYTES)
