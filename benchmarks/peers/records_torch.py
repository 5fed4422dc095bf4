"""Click records as a data set of PyTorch."""
import numpy as np
from torch.utils import data


def column(record, part, kind):
    """The numbers of one record, or of several, in a part of its bytes."""
    return np.ascontiguousarray(record[..., part]).view(kind)


class Records(data.Dataset):
    """A sample, or all samples of a list, as `tensors` makes them of records."""

    def __init__(self, records, tensors):
        self.records, self.tensors = records, tensors

    def __len__(self):
        return len(self.records)

    def __getitem__(self, index):
        return self.tensors(self.records[index])

    __getitems__ = None
