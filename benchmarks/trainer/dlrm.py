"""The network of the figures: a small DLRM, light enough that input matters, and a step of it.

One thread, on either side: the other cores prepare. OpenBLAS has threads of its own, which wait for each other by turning in a
loop; it reads how many before it is loaded. And the allocator keeps the memory of a step for the next one, on either side, as it
does in programs that Weir starts: otherwise it depends on the sizes of the files that were read before.
"""

import ctypes
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import torch  # noqa: E402
from torch import nn  # noqa: E402

BUCKETS, WIDTH = 100_000, 8
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h
torch.set_num_threads(1)
ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 32 << 20)
ctypes.CDLL(None).mallopt(M_TRIM_THRESHOLD, 256 << 20)


class DLRM(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(BUCKETS, WIDTH, sparse=True)
        self.bottom = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, WIDTH), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(27 * WIDTH, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, dense, sparse):
        return self.top(torch.cat([self.bottom(dense), self.table(sparse).flatten(1)], 1)).squeeze(1)


class Trainer:
    def __init__(self):
        torch.manual_seed(1)
        self.model = DLRM()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.criterion = nn.BCEWithLogitsLoss(reduction="none")

    def step(self, dense, sparse, labels, weights):
        self.optimizer.zero_grad(set_to_none=True)
        losses = self.criterion(self.model(dense, sparse), labels.float())
        ((losses * weights).sum() / weights.sum()).backward()
        self.optimizer.step()
