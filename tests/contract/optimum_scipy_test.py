#!/usr/bin/env python3
"""The optimum of a job against SciPy's solver of linear programmes.

optimum_scipy_test.py OPTIMUM_TEST; exit 77 (skipped) where SciPy is not installed.
"""
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from scipy.optimize import linprog
except ImportError as missing:
    print(f"optimum_scipy_test.py: skipped: {missing} (apt-get install python3-numpy python3-scipy)")
    sys.exit(77)

PROBLEMS = 500
UNBOUNDED = 3  # as linprog says


def draw_pieces(rng):
    """A concave bandwidth: slopes that fall, each piece beginning where the one before it ends."""
    slopes = np.sort(rng.exponential(100, size=rng.integers(1, 5)))[::-1]
    if rng.random() < 0.5:
        slopes = np.append(slopes, 0)
    base, at, pieces = 0, 0, []
    for before, slope in zip(np.append(slopes[0], slopes), slopes):
        base += (before - slope) * at
        pieces.append((base, slope))
        at += rng.exponential(2)
    return pieces


def draw_stage(rng):
    stage = {"seconds": rng.lognormal(-4, 1.5), "most": 0, "waits": False, "bytes": 0, "pieces": []}
    if rng.random() < 0.3:
        stage["most"] = rng.integers(1, 4)
    if rng.random() < 0.3:
        stage.update(bytes=rng.exponential(10), pieces=draw_pieces(rng), waits=rng.random() < 0.5)
    return stage


def line_of(cores, consumers, stages):
    numbers = [cores, consumers, len(stages)]
    for stage in stages:
        numbers += [stage["seconds"], stage["most"], int(stage["waits"]), stage["bytes"], len(stage["pieces"])]
        numbers += [number for piece in stage["pieces"] for number in piece]
    return " ".join(repr(number.item() if hasattr(number, "item") else number) for number in numbers)


def solve(cores, consumers, stages):
    """Variables: the rate, then the units of each stage."""
    rows, limits = [[0] + [0 if stage["waits"] else 1 for stage in stages]], [cores]
    for i, stage in enumerate(stages):
        row = [stage["seconds"]] + [0] * len(stages)
        row[1 + i] = -1
        rows.append(row)
        limits.append(0)
        for base, slope in stage["pieces"]:
            row = [stage["bytes"]] + [0] * len(stages)
            row[1 + i] = -slope
            rows.append(row)
            limits.append(base)
    bounds = [(0, consumers or None)] + [(0, stage["most"] or None) for stage in stages]
    found = linprog([-1] + [0] * len(stages), A_ub=rows, b_ub=limits, bounds=bounds, method="highs")
    assert found.status in (0, UNBOUNDED), found.message
    return np.inf if found.status == UNBOUNDED else -found.fun


def check(problem, printed):
    cores, _, stages = problem
    rate, limit, *units = printed.split()
    rate, units = float(rate), [float(unit) for unit in units]
    expected = solve(*problem)
    if np.isinf(expected) and np.isinf(rate):
        return limit
    if abs(rate - expected) > 1e-6 * max(1, expected):
        raise SystemExit(f"{line_of(*problem)}\nexpected {expected!r}, found {rate!r} ({limit})")
    held = sum(unit for unit, stage in zip(units, stages) if not stage["waits"])
    assert held <= cores * (1 + 1e-9), printed
    if limit == "cores":
        assert abs(held - cores) <= 1e-6 * cores, printed
    for unit, stage in zip(units, stages):
        assert unit >= rate * stage["seconds"] * (1 - 1e-9), printed
        assert not stage["most"] or unit <= stage["most"] * (1 + 1e-9), printed
    return limit


def main():
    rng = np.random.default_rng(7)
    problems = [(rng.integers(1, 65).item(), rng.exponential(300) if rng.random() < 0.3 else 0,
                 [draw_stage(rng) for _ in range(rng.integers(1, 12))]) for _ in range(PROBLEMS)]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(line_of(*problem) for problem in problems) + "\n")
        file.flush()
        printed = subprocess.run([sys.argv[1], file.name], check=True, capture_output=True,
                                 text=True).stdout.splitlines()
    assert len(printed) == PROBLEMS, f"{len(printed)} optima of {PROBLEMS} problems"
    limits = {check(problem, line) for problem, line in zip(problems, printed)}
    assert limits >= {"cores", "stage", "bandwidth", "consumers"}, limits
    print(f"optimum_scipy_test.py: {PROBLEMS} problems")


main()
