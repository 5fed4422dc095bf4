#!/usr/bin/python3
"""Writes tabular.txt: what NumPy, or Python's own integers, make of the rows that
golden_operators_test.c runs through the operators. Run by hand when a case is added:

    tests/unit/preprocess/golden/tabular.py > tests/unit/preprocess/golden/tabular.txt
"""
import numpy as np

WORD = (1 << 64) - 1
RNG = np.random.default_rng(11)


def mix(key):
    """Thomas Wang's 64-bit mix."""
    key = (~key + (key << 21)) & WORD
    key ^= key >> 24
    key = key * 265 & WORD
    key ^= key >> 14
    key = key * 21 & WORD
    key ^= key >> 28
    return key + (key << 31) & WORD


def join(upper, lower):
    """CityHash's 128 to 64 bits."""
    prime = 0x9DDFEA08EB382D69
    a = (lower ^ upper) * prime & WORD
    a ^= a >> 47
    b = (upper ^ a) * prime & WORD
    b ^= b >> 47
    return b * prime & WORD


def signed(word):
    return word - (1 << 64) if word >> 63 else word


def sigrid(number, salt, buckets):
    return signed(join(salt, mix(number & WORD))) % buckets


def run_hash(run, salt, buckets):
    state = salt
    for number in run:
        state = join(state, mix(number & WORD))
    return signed(state) % buckets


def bucket(x, borders):
    """As torcharrow states it: lower bound, one more on a border that stands twice."""
    i = int(np.searchsorted(borders, x, side="left"))
    if i >= len(borders) - 1 or x < borders[i + 1]:
        return i
    return i + 1


def case(operators, rows, expected, type_="f32"):
    """Prints one case; every row is a line of comma-separated fields."""
    print("operators:", operators)
    for row in rows:
        print("row:", ",".join(repr(field) for field in row))
    numbers = np.asarray(expected).reshape(-1)
    print(type_ + ":", " ".join(repr(number.item()) for number in numbers))
    print()


def fields(count, fill=""):
    return "{op: csv_fields, fields: [%s]%s}" % (", ".join(map(str, range(count))), fill)


def main():
    wide = (10.0 ** RNG.uniform(-9, 9, (6, 4))).astype(np.float32)
    some = np.round(RNG.normal(0, 50, (5, 4)), 2)
    f32 = some.astype(np.float32)
    ids = [[int(x) for x in row] for row in RNG.integers(0, 1 << 20, (4, 5))]
    lists = [[float(x) for x in row] for row in some]

    case(f"[{fields(4)}, {{op: clamp, min: -20.5, max: 33}}]", lists,
         np.clip(f32, np.float32(-20.5), np.float32(33)))
    case(f"[{fields(4)}, {{op: cast, to: i32}}, {{op: clamp, min: -20.5, max: 33.9}}]", lists,
         np.clip(np.trunc(f32).astype(np.int32), -20, 33), "i32")
    case(f"[{fields(4)}, {{op: clamp, min: 0}}]", lists, np.maximum(f32, 0))
    gaps = [[3.5, "", 1.0], ["", "", -2.0]]
    filled = np.array([[3.5, -1, 1], [-1, -1, -2]], np.float32)
    case(f"[{fields(3, ', fill: nan')}, {{op: fill_missing, value: -1}}]",
         [[Bare(x) for x in row] for row in gaps], filled)
    case(f"[{fields(3)}, {{op: cast, to: i64}}, {{op: fill_missing, value: 7, missing: -1}}]",
         [[-1, 0, 5], [3, -1, -1]], [[7, 0, 5], [3, 7, 7]], "i64")
    case(f"[{fields(4)}, {{op: log1p}}]", [[float(x) for x in row] for row in wide],
         np.log1p(wide.astype(np.float64)))
    case(f"[{fields(4)}, {{op: log1p}}]", lists, np.log1p(np.maximum(f32.astype(float), 0)))
    for power in (0, 0.5, 1, -0.3, 2, 1e-9):
        x = np.maximum(f32.astype(np.float64), 1e-3)
        y = np.log(x) if power == 0 else np.expm1(power * np.log(x)) / power
        case(f"[{fields(4)}, {{op: boxcox, lambda: {power}, floor: 1e-3}}]", lists, y)
    deviation = f32.astype(float).std(axis=0)
    case(f"[{fields(4)}, {{op: standardize}}]", lists,
         (f32.astype(float) - f32.astype(float).mean(axis=0)) / deviation)
    for borders in ([2, 5, 10], [0.5], [-20, -20, 0, 0, 33.25], sorted(some.reshape(-1)[:9])):
        borders = [float(x) for x in borders]
        probes = [[x, float(np.nextafter(np.float32(x), np.float32(np.inf))),
                   float(np.nextafter(np.float32(x), np.float32(-np.inf)))] for x in borders]
        expected = [[bucket(float(np.float32(x)), borders) for x in row] for row in probes]
        case(f"[{fields(3)}, {{op: bucketize, borders: {borders}}}]", probes, expected, "i32")
    case(f"[{fields(7)}, {{op: bucketize, borders: [2, 5, 10]}}]", [[1, 2, 3, 5, 8, 10, 11]],
         [0, 0, 1, 1, 2, 2, 3], "i32")
    for buckets, salt in ((100, 0), (1, 5), (7, 2**63), (1 << 30, 99), (4096, 1)):
        case(f"[{fields(5)}, {{op: cast, to: i32}}, {{op: hash_mod, buckets: {buckets}, "
             f"salt: {salt}}}]", ids, [[sigrid(x, salt, buckets) for x in row] for row in ids],
             "i32")
    case(f"[{fields(17)}, {{op: cast, to: i64}}, {{op: sigrid_hash, max_value: 100}}]",
         [list(range(17))], [6, 60, 54, 54, 9, 4, 91, 11, 67, 79, 2, 25, 92, 98, 83, 66, 2], "i64")
    for most in (2**63 - 1, 3, 10**12):
        signs = [[-x for x in row] for row in ids]
        case(f"[{fields(5)}, {{op: cast, to: i64}}, {{op: sigrid_hash, max_value: {most}, "
             "salt: 3}]", signs, [[sigrid(x, 3, most) for x in row] for row in signs], "i64")
    case(f"[{fields(5)}, {{op: cast, to: i64}}, {{op: ngram, n: 3, buckets: 1000, salt: 8}}]", ids,
         [[run_hash(row[i:i + 3], 8, 1000) for i in range(3)] for row in ids], "i32")
    case(f"[{fields(2)}, {{op: cast, to: u8}}, {{op: one_hot, classes: 4}}]",
         [[0, 3], [2, 9]], [np.eye(4)[[0, 3]], [np.eye(4)[2], np.zeros(4)]])
    case(f"[{fields(5)}, {{op: first_x, count: 2}}]", ids, np.array(ids, np.float32)[:, :2])


class Bare:
    """A field that is written as it is, without quotes."""

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return str(self.value)


if __name__ == "__main__":
    main()
