#!/usr/bin/env python3
"""Steps of the optimizers against their formulas in NumPy, in doubles, and against PyTorch where it is installed.

optimizers_numpy_test.py OPTIMIZERS_TEST [golden]; exit 77 (skipped) where python3-numpy is not installed. `golden` prints
what PyTorch makes of the cases, as rows of optimizers_test.c.
"""
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    print("optimizers_numpy_test.py: skipped: no module numpy (apt-get install python3-numpy)")
    sys.exit(77)
try:
    import torch
except ImportError:
    torch = None

ROWS, WIDTH, RARE, STEPS = 3, 2, 2, 6  # those of optimizers_test.c
CASES = [
    dict(name="sgd", lr=0.1),
    dict(name="sgd", lr=0.05, momentum=0.9),
    dict(name="sgd", lr=0.05, momentum=0.5, weight_decay=0.25),
    dict(name="adagrad", lr=0.1, epsilon=1e-10),
    dict(name="adagrad", lr=0.1, epsilon=1e-3, weight_decay=0.25),
    dict(name="adam", lr=0.01),
    dict(name="adam", lr=0.1, beta1=0.5, beta2=0.75, epsilon=1e-3, weight_decay=0.25),
    dict(name="adamw", lr=0.01),
    dict(name="adamw", lr=0.1, beta1=0.5, beta2=0.75, weight_decay=0.5),
]
DEFAULTS = {
    "sgd": dict(momentum=0, weight_decay=0),
    "adagrad": dict(epsilon=1e-10, weight_decay=0),
    "adam": dict(beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0),
    "adamw": dict(beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.01),
}


def gradient(step):
    row, k = np.arange(ROWS)[:, None], np.arange(WIDTH)[None, :]
    return ((7 * step + 3 * row + 5 * k + step * row) % 11) / 4 - 1.25


def first():
    return np.arange(1, ROWS * WIDTH + 1).reshape(ROWS, WIDTH) / 4


def touched(step):
    return [row for row in range(ROWS) if row != RARE or step % 2 == 1]


def text_of(case):
    return "{" + ", ".join(f"{key}: {value}" for key, value in case.items()) + "}"


def weirs(program, case, steps=STEPS):
    printed = subprocess.run([program, text_of(case), str(steps)], check=True, capture_output=True, text=True).stdout
    return np.array([float(line) for line in printed.split()]).reshape(ROWS, WIDTH)


# --- the formulas of PyTorch's documentation, row by row ---

def formulas(case, steps=STEPS):
    o = {**DEFAULTS[case["name"]], **case}
    p, a, b = first(), np.zeros((ROWS, WIDTH)), np.zeros((ROWS, WIDTH))
    for step in range(steps):
        g, r, t = gradient(step), touched(step), step + 1
        if o["name"] == "adamw":
            p[r] -= o["lr"] * o["weight_decay"] * p[r]
        else:
            g = g + o["weight_decay"] * p
        if o["name"] == "sgd":
            a[r] = o["momentum"] * a[r] + g[r]
            p[r] -= o["lr"] * a[r]
        elif o["name"] == "adagrad":
            a[r] += g[r] ** 2
            p[r] -= o["lr"] * g[r] / (np.sqrt(a[r]) + o["epsilon"])
        else:
            a[r] = o["beta1"] * a[r] + (1 - o["beta1"]) * g[r]
            b[r] = o["beta2"] * b[r] + (1 - o["beta2"]) * g[r] ** 2
            mean, square = a[r] / (1 - o["beta1"] ** t), b[r] / (1 - o["beta2"] ** t)
            p[r] -= o["lr"] * mean / (np.sqrt(square) + o["epsilon"])
    return p


# --- PyTorch itself ---

def peer_of(case, parameters, sparse):
    o = dict(case)
    name = o.pop("name")
    if "epsilon" in o:
        o["eps"] = o.pop("epsilon")
    if "beta1" in o:
        o["betas"] = (o.pop("beta1"), o.pop("beta2"))
    kinds = dict(sgd=torch.optim.SGD, adagrad=torch.optim.Adagrad, adam=torch.optim.Adam, adamw=torch.optim.AdamW)
    return (torch.optim.SparseAdam if sparse and name == "adam" else kinds[name])(parameters, **o)


def pytorchs_dense(case):
    """Rows that every step touches."""
    parameters = torch.tensor(first(), dtype=torch.float32, requires_grad=True)
    optimizer = peer_of(case, [parameters], False)
    for step in range(STEPS):
        parameters.grad = torch.tensor(gradient(step), dtype=torch.float32)
        optimizer.step()
    return parameters.detach().numpy()


def pytorchs_sparse(case):
    """All rows, by sparse gradients; None where PyTorch has no such optimizer."""
    if case["name"] == "adamw" or case.get("weight_decay", 0) or case.get("momentum", 0):
        return None
    parameters = torch.tensor(first(), dtype=torch.float32, requires_grad=True)
    optimizer = peer_of(case, [parameters], True)
    for step in range(STEPS):
        rows = touched(step)
        values = torch.tensor(gradient(step)[rows], dtype=torch.float32)
        parameters.grad = torch.sparse_coo_tensor([rows], values, (ROWS, WIDTH)).coalesce()
        optimizer.step()
    return parameters.detach().numpy()


def pytorchs(case):
    found = pytorchs_dense(case).copy()
    sparse = pytorchs_sparse(case)
    found[RARE] = np.nan if sparse is None else sparse[RARE]
    return found


def golden():
    for case in CASES:
        numbers = ["NAN" if np.isnan(value) else f"{value:.9g}F" for value in pytorchs(case).ravel()]
        print(f'    {{"{text_of(case)}",\n     {{{", ".join(numbers)}}}}},')


def check(what, found, expected):
    if not np.allclose(found, expected, rtol=2e-6, atol=2e-6, equal_nan=False):
        raise SystemExit(f"{what}:\nexpected\n{expected}\nfound\n{found}")


def main():
    program = sys.argv[1]
    if sys.argv[2:] == ["golden"]:
        return golden()
    rng = np.random.default_rng(1)
    drawn = [{"name": name, "lr": float(rng.uniform(0.001, 0.2)),
              **{key: float(rng.uniform(0, 0.9)) for key in defaults if key != "epsilon"}}
             for name, defaults in DEFAULTS.items() for _ in range(10)]
    for case in CASES + drawn:
        check(text_of(case), weirs(program, case), formulas(case))
    for case in CASES if torch is not None else []:
        expected = pytorchs(case)
        known = ~np.isnan(expected)
        check(f"{text_of(case)}, PyTorch", weirs(program, case)[known], expected[known])
    print(f"{len(CASES) + len(drawn)} cases" + (", no module torch" if torch is None else ""))


main()
