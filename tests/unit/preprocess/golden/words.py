#!/usr/bin/python3
"""Writes words.txt: what operators on text and words, written down here once more as their documentation says, make of
rows that golden_operators_test.c runs through them; most of the rows are hostile. Needs the package python3-xxhash. Run by
hand when a case is added, in this folder:

    ./words.py > words.txt
"""
import json
import random
import re
import sys
from collections import Counter

import xxhash

from text import byte_pairs

WORD = (1 << 64) - 1


def normalized(row, lower=True):
    """Python, too, puts one U+FFFD for each maximal piece that begins no character."""
    out = ""
    for char in row.decode("utf-8", "replace"):
        code = ord(char)
        if code <= 0x20 or 0x7F <= code <= 0xA0:
            char = " "
        elif lower and (char.isascii() or (0xC0 <= code <= 0xDE and code != 0xD7)):
            char = char.lower()
        if char != " " or out[-1:] not in ("", " "):
            out += char
    return out.rstrip(" ")


def words(row, most=4096, marks=False):
    letters = rb"[A-Za-z0-9_\x80-\xff]+"
    return re.findall(letters + rb"|[!-~]" if marks else letters, row)[:most]


def mix(value):
    """The finaliser of SplitMix64."""
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & WORD
    value = (value ^ value >> 27) * 0x94D049BB133111EB & WORD
    return value ^ value >> 31


def hashed(found, ngrams, buckets, seed=0):
    hashes = [xxhash.xxh3_64_intdigest(word, seed) for word in found]
    numbers = []
    for n in range(1, ngrams + 1):
        for first in range(len(hashes) - n + 1):
            gram = hashes[first]
            for word in hashes[first + 1:first + n]:
                gram = mix(gram + n & WORD) ^ word
            numbers.append((mix(gram) >> 32) * buckets >> 32)
    return numbers


def padded(numbers, length, value=0, at_start=False):
    kept = numbers[:length]
    missing = [value] * (length - len(kept))
    return missing + kept if at_start else kept + missing


def packed(rows, length, value=0):
    """Each into the fullest of the open rows that has room for it."""
    out = []
    for row in rows:
        kept = row[:length]
        fitting = [other for other in out[-64:] if len(other) + len(kept) <= length]
        if fitting:
            max(fitting, key=len).extend(kept)
        else:
            out.append(list(kept))
    return [padded(row, length, value) for row in out]


def cut_text(row, length, last=False):
    """Whole characters alone."""
    kept = row[-length:] if last else row[:length]
    return kept.decode("utf-8", "ignore").encode()


def numbered(rows, size=65536, first_seen=False):
    """By how common they are; a word of more than 256 bytes has no number."""
    seen = Counter(word for row in rows for word in row if len(word) <= 256)
    kept = [word for word, _ in seen.most_common()][:size]
    if first_seen:
        kept = [word for word in seen if word in kept]
    numbers = {word: number for number, word in enumerate(kept, 1)}
    return [[numbers.get(word, 0) for word in row] for row in rows]


def hostile_rows(count):
    """Bytes of all kinds but the one that ends a line."""
    draw = random.Random(17)
    pieces = [b"Word", b"a_1", b"\xc3\x89", b"\xc3\x97", b"\xe2\x82\xac", b"\xf0\x9f\x98\x80", b"\xf0\x9f\x98", b"\xe2\x82",
              b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88", b"\xff", b"\x80", b" ", b"  ", b"\t\r", b"\x01", b"\x7f",
              b"\xc2\xa0", b"\xc2\x85", b".,!", b"x" * 20, b"LONG" * 70]
    yield b""
    for _ in range(count - 1):
        yield b"".join(draw.choice(pieces) for _ in range(draw.randrange(12))).rstrip(b"\r")


def case(operators, rows, numbers):
    print("operators:", operators)
    for row in rows:
        print("row:", row.decode("utf-8", "surrogateescape"))
    print("i32:", " ".join(str(number) for row in numbers for number in row), end="\n\n")


def word_cases(spell, spelled):
    """`spell` is an operator that makes numbers of the bytes of a text, `spelled` the same in Python."""
    rows = list(hostile_rows(30))
    for option, lower in [("", True), (", lower: false", False)]:
        case(f"[{{op: normalize_text{option}}}, {spell}]", rows,
                  [spelled(normalized(row, lower).encode()) for row in rows])
    for ngrams, buckets, seed, marks, most in [(1, 1 << 18, 0, False, 4096), (2, 1000, 7, True, 4096), (8, 1 << 30, 0, False, 5),
                                               (3, 2, 1 << 40, True, 2)]:
        case(f"[{{op: tokenize_words, marks: {str(marks).lower()}, max_tokens: {most}}}, "
                  f"{{op: tokenize_hash, ngrams: {ngrams}, buckets: {buckets}, seed: {seed}}}]", rows,
                  [hashed(words(row, most, marks), ngrams, buckets, seed) for row in rows])
    numbers = [hashed(words(row), 1, 1000) for row in rows]
    read = "{op: tokenize_words}, {op: tokenize_hash, buckets: 1000}"
    case(f"[{read}, {{op: pad, length: 4, value: 7}}]", rows, [padded(row, 4, 7) for row in numbers])
    case(f"[{read}, {{op: pad, length: 3, side: start}}]", rows, [padded(row, 3, 0, True) for row in numbers])
    case(f"[{read}, {{op: truncate, length: 2}}]", rows, [row[:2] for row in numbers])
    case(f"[{read}, {{op: truncate, length: 2, keep: last}}]", rows, [row[-2:] for row in numbers])
    case(f"[{read}, {{op: pack, length: 6, value: 9}}]", rows, packed(numbers, 6, 9))
    clean = [normalized(row).encode() for row in rows]
    for keep in ("first", "last"):
        case(f"[{{op: normalize_text}}, {{op: truncate, length: 5, keep: {keep}}}, {spell}]", rows,
                  [spelled(cut_text(row, 5, keep == "last")) for row in clean])
    found = [words(row) for row in rows]
    case("[{op: tokenize_words}, {op: vocab}]", rows, numbered(found))
    case("[{op: tokenize_words}, {op: vocab, size: 4, order: first_seen}]", rows, numbered(found, 4, True))


def main():
    folder = "tests/unit/preprocess/golden"
    with open("bpe.vocab") as tokens, open("bpe.merges") as lines:
        ids, merges = json.load(tokens), [tuple(line.split()) for line in list(lines)[1:]]
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    sys.stdout.reconfigure(errors="surrogateescape", newline="")
    word_cases(f"{{op: bpe, vocabulary: {folder}/bpe.vocab, merges: {folder}/bpe.merges}}",
               lambda text: byte_pairs(text.decode(), ids, ranks))


if __name__ == "__main__":
    main()
