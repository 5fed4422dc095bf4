"""A small DLRM (Naumov et al. 2019, arXiv:1906.00091) on click records: will this person click?

`dense` are 13 numbers of a click, `sparse` the numbers of its 26 categories. Each category is a vector of a table of its own;
the numbers become one more vector; what matters is how the vectors agree, pair by pair.
"""

import torch
import weir.torch
from torch import nn

DENSE, SPARSE, BUCKETS, WIDTH = 13, 26, 10_000, 16


class DLRM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.EmbeddingBag(SPARSE * BUCKETS, WIDTH, mode="sum")  # all tables, one behind the other
        nn.init.normal_(self.tables.weight, std=WIDTH**-0.5)
        self.bottom = nn.Sequential(nn.Linear(DENSE, 64), nn.ReLU(), nn.Linear(64, WIDTH), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(WIDTH + (SPARSE + 1) * SPARSE // 2, 64), nn.ReLU(), nn.Linear(64, 1))
        self.register_buffer("first", torch.arange(SPARSE) * BUCKETS)
        self.register_buffer("pairs", torch.triu_indices(SPARSE + 1, SPARSE + 1, 1))

    def embed(self, dense, sparse):
        numbers = self.bottom(dense)
        categories = nn.functional.embedding(sparse + self.first, self.tables.weight)
        vectors = torch.cat([numbers.unsqueeze(1), categories], 1)
        agreement = vectors @ vectors.transpose(1, 2)
        return torch.cat([numbers, agreement[:, self.pairs[0], self.pairs[1]]], 1)

    def forward(self, dense, sparse):
        return self.top(self.embed(dense, sparse)).squeeze(1)


def loss(outputs, labels):
    return nn.functional.binary_cross_entropy_with_logits(outputs, labels.float(), reduction="none")


def tables_and_layers(model):
    """Two groups of parameters: tables are rarely visited, and learn in longer steps."""
    layers = [*model.bottom.parameters(), *model.top.parameters()]
    return [{"params": [model.tables.weight], "lr": 0.02}, {"params": layers}]


weir.torch.serve(
    model=lambda task: DLRM(),
    loss=loss,
    parameters=tables_and_layers,
    optimizer=lambda groups: torch.optim.Adagrad(groups, lr=0.01),
    predictions=lambda task, outputs: torch.sigmoid(outputs).unsqueeze(1),
    embed=DLRM.embed,
)
