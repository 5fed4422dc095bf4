"""Two runs of one figure: which difference is noise, and which is not. No file and no clock: all is handed in.

A run of a figure is the ratios of its pairs (harness.h). The change from one run to another is the median of all quotients of a later
and an earlier ratio (J. L. Hodges and E. L. Lehmann, "Estimates of location based on rank tests", Ann. Math. Statist. 34, 1963). Its
interval reaches from the k-th smallest to the k-th largest of these quotients, where k follows from the distribution of U under no
difference (H. B. Mann and D. R. Whitney, Ann. Math. Statist. 18, 1947; the interval: M. Hollander, D. A. Wolfe, E. Chicken,
"Nonparametric Statistical Methods", 3rd ed., section 4.3). Nothing is assumed about the form of the noise.

A figure that is measured once in a run has no noise within it. Its noise is the range of all that was kept of it.
"""
import dataclasses
import functools
import math
import statistics

LEVEL = 0.95
EXACT_MAX = 2500  # quotients; beyond that the normal approximation of U is right to the third digit


@dataclasses.dataclass(frozen=True)
class Change:
    """A factor from then to now, and its interval; no interval where there are too few pairs for one."""
    factor: float
    low: float | None = None
    high: float | None = None

    def is_beyond_noise(self):
        return self.low is not None and not self.low <= 1 <= self.high


@dataclasses.dataclass(frozen=True)
class Verdict:
    word: str  # better, same, worse, new
    change: Change | None = None
    note: str = ""


@functools.lru_cache
def arrangements(n, m):
    """For each value of U the number of orders of n and m values that have it: the coefficients of Gauss's binomial (n + m over n)."""
    counts = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        for at in range(n * m, m + i - 1, -1):
            counts[at] -= counts[at - m - i]
        for at in range(i, n * m + 1):
            counts[at] += counts[at - i]
    return counts


def quotients_outside(n, m, level=LEVEL):
    """How many quotients lie on each side outside of the interval, plus one: k. 0: too few values for an interval."""
    tail = (1 - level) / 2
    if n * m > EXACT_MAX:
        spread = math.sqrt(n * m * (n + m + 1) / 12)
        return max(0, math.floor(n * m / 2 + statistics.NormalDist().inv_cdf(tail) * spread))
    counts, below, k = arrangements(n, m), 0, 0
    while below + counts[k] <= tail * math.comb(n + m, n):
        below += counts[k]
        k += 1
    return k


def change_of(then, now, level=LEVEL):
    """The change from one list of positive values to another."""
    quotients = sorted(a / b for a in now for b in then)
    middle = len(quotients) // 2
    factor = math.sqrt(quotients[(len(quotients) - 1) // 2] * quotients[middle])
    k = quotients_outside(len(then), len(now), level)
    return Change(factor, quotients[k - 1], quotients[-k]) if k else Change(factor)


def ratios_of(figure):
    return [ours / theirs for ours, theirs in zip(figure["ours"], figure["theirs"])]


def once(figures, now):
    """The change of a figure that is measured once, from the newest of `figures` on, within the range of all of them."""
    then, value = [ratios_of(figure)[0] for figure in figures if len(figure["ours"]) == 1], ratios_of(now)[0]
    return Change(value / then[0], value / max(then), value / min(then))


def is_beyond(change, tolerance):
    return change.is_beyond_noise() and not 1 - tolerance <= change.factor <= 1 + tolerance


def sides(then, now, tolerance):
    """Words about each side that alone has changed: which one it was decides what to look at."""
    words = []
    for side, name in (("ours", "our side"), ("theirs", "the other side")):
        if len(then[side]) > 1:
            change = change_of(then[side], now[side])
            words += [f"{name} is {change.factor:.2f} times as fast"] if is_beyond(change, tolerance) else []
    return words


def judge(kept, now):
    """Compares a figure with its kept ones, newest first. Figures: {"ours": [...], "theirs": [...], "tolerance": x}."""
    if not kept:
        return Verdict("new")
    then, tolerance = kept[0], now["tolerance"]
    is_single = len(then["ours"]) == 1 == len(now["ours"])
    change = once(kept, now) if is_single else change_of(ratios_of(then), ratios_of(now))
    notes = ["measured once"] if is_single else sides(then, now, tolerance)
    if change.low is None:
        notes.insert(0, f"too few pairs to tell: {len(then['ours'])} and {len(now['ours'])}")
    elif change.is_beyond_noise() and not is_beyond(change, tolerance):
        notes.insert(0, f"beyond noise, but within the tolerance of {100 * tolerance:.0f} %")
    word = "same" if not is_beyond(change, tolerance) else "worse" if change.factor < 1 else "better"
    return Verdict(word, change, "; ".join(notes))
