"""The folders of every format of exports, as NumPy, tarfile and readers of the published formats see them (tests/support/folders.py),
against the numbers that exports_test.c made them of."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from folders import READERS  # noqa: E402

ROWS = 35


def expected(n):
    words = 300 if n == 3 else n % 4
    return {
        "id": np.int64(n << 40 | 7), "label": np.int64(n - 10), "weight": np.float32(1 + n / 4), "double": np.float64(n / 8),
        "dense": (np.arange(n * 6, n * 6 + 6, dtype=np.float32) / 2).reshape(2, 3),
        "bytes": np.array([n * 37 & 255, n * 37 + 1 & 255], np.uint8),
        "words": np.arange(n * 1000 - 2000, n * 1000 - 2000 + words, dtype=np.int32),
        "pairs": -np.arange(n * 10, n * 10 + 2 * (n % 3), dtype=np.int64).reshape(n % 3, 2),
    }


def check(form, row, wanted):
    assert set(row) == set(wanted), (form, set(row))
    for name, value in wanted.items():
        found = np.asarray(row[name])
        if form == "tfrecord":  # flat, of three types
            assert np.array_equal(found.ravel(), value.ravel()), (form, name, found, value)
        else:
            assert np.array_equal(found, value) and found.shape == value.shape, (form, name, found, value)
            assert found.dtype == value.dtype, (form, name, found.dtype)


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.argv[1], folder], check=True)
    for form, read in READERS.items():
        rows = read(Path(folder) / form)
        assert len(rows) == ROWS, (form, len(rows))
        for n, row in enumerate(rows):
            check(form, row, expected(n))
        files = len(list((Path(folder) / form).iterdir()))
        assert files > 2, (form, files)
        print(f"ok {form}: {ROWS} rows in {files} files")
