#!/usr/bin/env python3
"""PyTorch's way with lines of text: hashed 1- and 2-grams, in Python. Prints lines a second.

Usage: lines_torch.py FOLDER BATCH WORKERS

Every second line of the folder, in a new random order, once as a warm-up and once measured, with workers
that stay. All lines lie in memory before the clock starts.
"""
import pathlib
import sys
import time
import warnings

try:
    import torch
    from torch.utils import data
except (ImportError, RuntimeError) as error:
    print(str(error).splitlines()[0])
    sys.exit(1)

warnings.filterwarnings("ignore", "This DataLoader will create")
STRIDE, BUCKETS = 2, 262144


def ngrams(line):
    words = line.split()
    return ([hash(word) % BUCKETS for word in words] +
            [hash(pair) % BUCKETS for pair in zip(words, words[1:])])


class Lines(data.Dataset):
    def __init__(self, folder):
        files = sorted(pathlib.Path(folder).glob("day_*"))
        self.lines = [line for name in files for line in name.read_bytes().splitlines()][::STRIDE]

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        return ngrams(self.lines[index])


def collate(rows):
    offsets = torch.zeros(len(rows) + 1, dtype=torch.int32)
    torch.cumsum(torch.tensor([len(row) for row in rows]), 0, out=offsets[1:])
    return torch.tensor([number for row in rows for number in row], dtype=torch.int32), offsets


def main():
    folder, batch, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    batches = data.DataLoader(Lines(folder), batch_size=batch, shuffle=True, collate_fn=collate,
                              num_workers=workers, persistent_workers=workers > 0)
    for _ in range(2):
        started, count = time.monotonic(), 0
        for tokens, offsets in batches:
            count += len(offsets) - 1
            int(tokens.sum())  # as Weir's loop: reads every number once
    print(count / (time.monotonic() - started))


if __name__ == "__main__":
    main()
