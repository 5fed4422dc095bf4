"""The network of the figures: a small DLRM, light enough that input matters, and a step of it. One thread: the other cores prepare."""

import torch
from torch import nn

BUCKETS, WIDTH = 100_000, 8
torch.set_num_threads(1)


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
