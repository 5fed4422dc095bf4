#!/usr/bin/env python3
"""The detectors of change against another implementation of their papers, value by value.

drift_detectors_test.py DRIFT_DETECTORS_TEST. ADWIN is implemented over the values themselves: the same cuts, found with no
histogram, wherever its buckets have an end.
"""
import math
import random
import subprocess
import sys

STABLE, WARNING, CHANGE = 0, 1, 2


def ddm(values, least=30, warning=2, change=3):
    errors, lowest = [], None
    for value in values:
        errors.append(value)
        verdict = STABLE
        if len(errors) >= least:
            rate = sum(errors) / len(errors)
            deviation = math.sqrt(rate * (1 - rate) / len(errors))
            if lowest is None or rate + deviation <= sum(lowest):
                lowest = rate, deviation
            if rate + deviation > lowest[0] + change * lowest[1]:
                verdict, errors, lowest = CHANGE, [], None
            elif rate + deviation > lowest[0] + warning * lowest[1]:
                verdict = WARNING
        yield verdict


def eddm(values, least=30, warning=0.95, change=0.9):
    seen, distances, newest, most = 0, [], 0, 0
    for value in values:
        seen += 1
        verdict = STABLE
        if value:
            distances.append(seen - newest)
            newest = seen
            mean = sum(distances) / len(distances)
            reach = mean + 2 * math.sqrt(sum((d - mean) ** 2 for d in distances) / len(distances))
            most = max(most, reach)
            if len(distances) >= least and reach < change * most:
                verdict, seen, distances, newest, most = CHANGE, 0, [], 0, 0
            elif len(distances) >= least and reach < warning * most:
                verdict = WARNING
        yield verdict


def page_hinkley(values, least=30, tolerance=0.005, limit=50, keep=0.9999):
    seen, total, lowest = [], 0, 0
    for value in values:
        seen.append(value)
        total = keep * total + value - math.fsum(seen) / len(seen) - tolerance
        lowest = min(lowest, total)
        if len(seen) >= least and total - lowest > limit:
            yield CHANGE
            seen, total, lowest = [], 0, 0
        else:
            yield STABLE


def adwin(values, delta=0.002, every=32, most=5):
    """`buckets`: sizes, oldest first; two of a size that has more than `most` become one of the next."""
    window, buckets = [], []

    def insert():
        buckets.append(1)
        size = 1
        while buckets.count(size) > most:
            first = buckets.index(size)
            buckets[first:first + 2] = [2 * size]
            size *= 2

    def cut():
        older, n = 0, len(window)
        mean = math.fsum(window) / n
        variance = math.fsum((x - mean) ** 2 for x in window) / n
        for size in buckets:
            older += size
            newer = n - older
            if older < 5 or newer < 5:
                continue
            before, after = math.fsum(window[:older]) / older, math.fsum(window[older:]) / newer
            m = 1 / (1 / older + 1 / newer)
            doubt = math.log(2 * math.log(n) / delta)
            if abs(before - after) > math.sqrt(2 / m * variance * doubt) + 2 / (3 * m) * doubt:
                return after > before
        return None

    for tick, value in enumerate(values, 1):
        window.append(value)
        insert()
        rose, found = False, None
        while tick % every == 0 and (found := cut()) is not None:
            rose = rose or found
            del window[:buckets.pop(0)]
        yield CHANGE if rose else STABLE


MASK = 2 ** 64 - 1


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


class Xoshiro:
    """xoshiro256** seeded by SplitMix64 (Blackman & Vigna), bounded as by Lemire."""

    def __init__(self, seed):
        self.state = [mix(seed + 0x9E3779B97F4A7C15 * (i + 1) & MASK) for i in range(4)]

    def next(self):
        s = self.state
        turned = s[1] * 5 & MASK
        result = ((turned << 7 | turned >> 57) & MASK) * 9 & MASK
        t = s[1] << 17 & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = (s[3] << 45 | s[3] >> 19) & MASK
        return result

    def below(self, bound):
        while True:
            product = self.next() * bound
            if product & MASK >= (2 ** 64 - bound) % bound:
                return product >> 64


def smirnov(count, gap):
    """The share of lattice paths that are ever `gap` or more steps off the diagonal, counted as integers."""
    row = {0: 1}
    for i in range(count + 1):
        new = {}
        for j in range(count + 1):
            ways = 1 if i == j == 0 else (row.get(j, 0) if i else 0) + new.get(j - 1, 0)
            new[j] = ways if abs(i - j) < gap else 0
        row = new
    return 1 - row[count] / math.comb(2 * count, count)


TAILS = {}


def kswin(values, window=100, newest=30, alpha=0.005, seed=1):
    kept = []
    for taken, value in enumerate(values, 1):
        kept = kept[-window + 1:] + [value]
        verdict = STABLE
        if len(kept) == window:
            rest, draw = kept[:-newest], Xoshiro(mix(seed) ^ taken)
            drawn = []
            for i in range(newest):
                at = i + draw.below(len(rest) - i)
                drawn.append(rest[at])
                rest[at] = rest[i]
            gap = max(abs(sum(x <= at for x in drawn) - sum(x <= at for x in kept[-newest:]))
                      for at in drawn + kept[-newest:])
            if (newest, gap) not in TAILS:
                TAILS[newest, gap] = smirnov(newest, gap)
            if TAILS[newest, gap] < alpha:
                verdict, kept = CHANGE, kept[-newest:]
        yield verdict


CASES = [
    ("ddm", ddm, {}), ("ddm", ddm, {"least": 10, "warning": 1, "change": 1.5}),
    ("eddm", eddm, {}), ("eddm", eddm, {"least": 10, "warning": 0.99, "change": 0.8}),
    ("page_hinkley", page_hinkley, {}), ("page_hinkley", page_hinkley, {"limit": 5, "keep": 1, "tolerance": 0.05}),
    ("adwin", adwin, {}), ("adwin", adwin, {"delta": 0.3, "every": 1}),
    ("kswin", kswin, {}), ("kswin", kswin, {"window": 40, "newest": 12, "alpha": 0.05, "seed": 9}),
]


def streams(draw):
    yield "alike", [int(draw.random() < 0.2) for _ in range(800)]
    yield "jump", [int(draw.random() < (0.1 if i < 500 else 0.5)) for i in range(900)]
    yield "back and forth", [int(draw.random() < (0.6 if i // 250 % 2 else 0.1)) for i in range(1200)]
    yield "slow", [int(draw.random() < i / 1000) for i in range(900)]
    yield "never", [0] * 200
    yield "always", [1] * 200
    yield "numbers", [round(draw.gauss(0 if i < 400 else 1, 1), 6) for i in range(700)]


def main():
    changes = 0
    for name, values in streams(random.Random(4)):
        for policy, implemented, options in CASES:
            if name == "numbers" and policy in ("ddm", "eddm"):
                continue  # of errors alone
            yaml = "{" + ", ".join(f"{k}: {v}" for k, v in ({"policy": policy} | options).items()) + "}"
            found = subprocess.run([sys.argv[1], yaml], input=" ".join(map(str, values)), check=True,
                                   capture_output=True, text=True).stdout.strip()
            expected = "".join(str(verdict) for verdict in implemented(values, **options))
            if found != expected:
                at = next(i for i, (a, b) in enumerate(zip(found, expected)) if a != b)
                raise SystemExit(f"{name}: {yaml}: value {at}: expected {expected[at]}, found {found[at]}")
            changes += expected.count("2")
    assert changes > 50
    print(f"drift_detectors_test.py: {changes} changes, each at the same value")


main()
