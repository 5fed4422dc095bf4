#!/usr/bin/env python3
"""Intervals of means against SciPy's Student's t, and their link to its paired test.

intervals_scipy_test.py COMPARING_TEST; exit 77 (skipped) where SciPy is not installed.
"""
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from scipy import stats
except ImportError as missing:
    print(f"intervals_scipy_test.py: skipped: {missing} (apt-get install python3-numpy python3-scipy)")
    sys.exit(77)

PROBLEMS = 500


def main():
    rng = np.random.default_rng(1)
    problems = [rng.normal(rng.normal(), rng.lognormal(), rng.integers(2, 40)) for _ in range(PROBLEMS)]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        for values in problems:
            file.write(f"{len(values)} " + " ".join(repr(value.item()) for value in values) + "\n")
        file.flush()
        out = subprocess.run([sys.argv[1], file.name], capture_output=True, text=True, check=True).stdout
    found = [tuple(map(float, line.split())) for line in out.splitlines()]
    assert len(found) == PROBLEMS, len(found)
    for values, (mean, low, high) in zip(problems, found):
        assert np.isclose(mean, values.mean()) and np.isclose(mean, (low + high) / 2), values
        beyond = 2 * stats.t.sf((high - low) / 2 / stats.sem(values), len(values) - 1)  # its quantiles are less exact
        assert np.isclose(beyond, 0.05, rtol=1e-9), (values, beyond)
        excludes_zero = low > 0 or high < 0
        assert excludes_zero == (stats.ttest_rel(values, np.zeros(len(values))).pvalue < 0.05), values


if __name__ == "__main__":
    main()
