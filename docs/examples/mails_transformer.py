"""A small transformer (Vaswani et al. 2017, arXiv:1706.03762) that reads mails word by word: ham or spam?

`text` is a row of word numbers per mail, of one length, filled up with zeros.
"""

import torch
import weir.torch
from torch import nn

WORDS, LENGTH, WIDTH = 20_001, 128, 32  # training.options and the operators of the pipeline say the same


class Reader(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH, padding_idx=0)
        self.places = nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.02)
        self.norm = nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 4, dropout=0.1, batch_first=True)
        self.think = nn.Sequential(nn.Linear(WIDTH, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, WIDTH))
        self.answer = nn.Linear(WIDTH, classes)

    def embed(self, text):
        text = text.long()
        is_empty = text == 0
        is_empty[:, 0] = False  # a mail without words still has a first place
        seen = self.words(text) + self.places
        normal = self.norm(seen)
        seen = seen + self.attention(normal, normal, normal, key_padding_mask=is_empty, need_weights=False)[0]
        seen = seen + self.think(seen)
        return seen.masked_fill(is_empty.unsqueeze(2), 0).sum(1) / (~is_empty).sum(1, keepdim=True)

    def forward(self, text):
        return self.answer(self.embed(text))


weir.torch.serve(
    model=lambda task: Reader(len(task.classes)),
    loss=nn.CrossEntropyLoss(reduction="none"),
    optimizer=lambda parameters: torch.optim.AdamW(parameters, lr=3e-3, weight_decay=0.01),
    schedule=lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.7),
    schedule_by="epoch",
    clip=1.0,
    embed=Reader.embed,
)
