"""A small residual network (He et al. 2015, arXiv:1512.03385) on pictures of 32 x 32: which class is it?

The one tensor is pictures as planes: samples, 3, 32, 32.
"""

import torch
import weir.torch
from torch import nn


class Block(nn.Module):
    def __init__(self, of, to, stride):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(of, to, 3, stride, 1, bias=False), nn.BatchNorm2d(to), nn.ReLU(),
            nn.Conv2d(to, to, 3, 1, 1, bias=False), nn.BatchNorm2d(to),
        )  # fmt: skip
        self.short = nn.Sequential() if (of, stride) == (to, 1) else nn.Conv2d(of, to, 1, stride, bias=False)

    def forward(self, pictures):
        return torch.relu(self.main(pictures) + self.short(pictures))


class ResNet(nn.Module):
    def __init__(self, classes, width=16):
        super().__init__()
        self.see = nn.Sequential(
            nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            Block(width, width, 1), Block(width, 2 * width, 2), Block(2 * width, 4 * width, 2),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )  # fmt: skip
        self.answer = nn.Linear(4 * width, classes)

    def forward(self, pictures):
        return self.answer(self.see(pictures))


weir.torch.serve(
    model=lambda task: ResNet(len(task.classes)),
    loss=nn.CrossEntropyLoss(reduction="none", label_smoothing=0.05),
    optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9, weight_decay=5e-4),
    embed=lambda model, pictures: model.see(pictures),
)
