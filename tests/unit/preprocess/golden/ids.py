#!/usr/bin/python3
"""Writes ids.txt: what Python's integers and counters make of the ids that golden_operators_test.c runs through the operators on
ids. Run by hand when a case is added:

    tests/unit/preprocess/golden/ids.py > tests/unit/preprocess/golden/ids.txt
"""
import math
import random
from collections import Counter

from tabular import payloads, run_hash

DRAW = random.Random(5)
BOTH = "{op: csv_fields, fields: [0, 1, 2, 3], as: a}, {op: cast, to: i64}, {op: csv_fields, fields: [4, 5, 6], as: b}, {op: cast, to: i32}"
SCORES = ", {op: csv_fields, fields: [7, 8, 9, 10], as: sa}, {op: csv_fields, fields: [11, 12, 13], as: sb}"
MEASURES = "has, count, max_count, jaccard, cosine, score_sum, score_min, score_max"


def case(operators, rows, expected, type_="f32", tensor=0):
    if tensor:
        print("tensor:", tensor)
    payloads(operators, [",".join(map(str, row)) for row in rows], expected, type_)


def sums(ids, scores):
    found = Counter()
    for number, score in zip(ids, scores):
        found[number] += score
    return found


def norm(found):
    return math.sqrt(sum(x * x for x in found.values()))


def overlap(a, b, sa, sb):
    """As the functions of torcharrow do, but 0 where they divide by 0."""
    counts, others = Counter(a), Counter(b)
    both = (counts & others).total()
    scores, matching = sums(a, sa), sums(b, sb)
    common = [(number, score) for number, score in zip(b, sb) if number in counts]
    length = norm(scores) * norm(matching)
    return [float(both > 0), both, sum(max(counts[x], others[x]) for x in counts.keys() & others.keys()),
            both / (len(a) + len(b) - both), sum(scores[x] * matching[x] for x in scores.keys() & matching.keys()) / length if length else 0,
            sum(score for _, score in common), min((score for _, score in common), default=0),
            max((score for _, score in common), default=0)]


def main():
    rows = [[DRAW.randrange(-3, 4) for _ in range(7)] for _ in range(20)]
    case(f"[{BOTH}, {{op: overlap, on: [a, b], measures: [{MEASURES}]}}]", rows,
         [overlap(row[:4], row[4:], [1] * 4, [1] * 3) for row in rows], tensor=2)
    rows = [row + [DRAW.randrange(-4, 9) / 4 for _ in range(7)] for row in rows]
    case(f"[{BOTH}{SCORES}, {{op: overlap, on: [a, b], scores: [sa, sb], measures: [{MEASURES}]}}]", rows,
         [overlap(row[:4], row[4:7], row[7:11], row[11:]) for row in rows], tensor=4)
    case(f"[{BOTH}, {{op: cartesian, on: [b, a], buckets: 1000, salt: 3}}]", [row[:7] for row in rows],
         [[run_hash([y, x], 3, 1000) for y in row[4:7] for x in row[:4]] for row in rows], "i32", tensor=2)
    ids = [[DRAW.randrange(-1 << 20, 1 << 20) for _ in range(4)] + [0, 7, -7] for _ in range(5)]
    operators = "{op: csv_fields, fields: [0, 1, 2, 3, 4, 5, 6]}, {op: cast, to: i64}"
    case(f"[{operators}, {{op: modulo, by: 7}}]", ids, [[x % 7 for x in row] for row in ids], "i64")
    table = {ids[0][0]: 5, ids[1][1]: -9, 7: 7000000000}
    words = f"from: [{', '.join(map(str, table))}], to: [{', '.join(map(str, table.values()))}]"
    case(f"[{operators}, {{op: map_ids, {words}}}]", ids, [[table.get(x, x) for x in row] for row in ids], "i64")
    case(f"[{operators}, {{op: map_ids, {words}, other: -1}}]", ids, [[table.get(x, -1) for x in row] for row in ids], "i64")


if __name__ == "__main__":
    main()
