"""Dense numbers, labels of vectors, nothing but what has to be said."""

import torch
import weir.torch
from torch import nn

weir.torch.serve(
    model=lambda task: nn.Linear(3, 2),
    loss=nn.MSELoss(reduction="none"),
    optimizer=lambda parameters: torch.optim.Adam(parameters, lr=1e-3),
)
