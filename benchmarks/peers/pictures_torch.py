#!/usr/bin/env python3
"""PyTorch's way: Dataset, torchvision.io, DataLoader. Prints pictures a second.

Usage: pictures_torch.py FOLDER BATCH WORKERS

Every second picture of the folder, once as a warm-up and once measured, with workers that stay. Crops are
resized without antialias, which is torchvision's default for tensors and less work.
"""
import pathlib
import sys
import time

try:
    import torch
    from torchvision import io, transforms
except (ImportError, RuntimeError) as error:
    print(str(error).splitlines()[0])
    sys.exit(1)

STRIDE = 2


class Pictures(torch.utils.data.Dataset):
    def __init__(self, folder):
        self.paths = sorted(map(str, pathlib.Path(folder).glob("*.jpg")))[::STRIDE]
        self.transform = transforms.Compose([
            transforms.RandomResizedCrop(224),
            transforms.RandomHorizontalFlip(),
            transforms.ConvertImageDtype(torch.float32),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ])

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return self.transform(io.decode_jpeg(io.read_file(self.paths[index]), io.ImageReadMode.RGB))


def main():
    folder, batch, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    loader = torch.utils.data.DataLoader(
        Pictures(folder), batch_size=batch, shuffle=True, num_workers=workers,
        persistent_workers=workers > 0)
    for _ in range(2):
        started, pictures = time.monotonic(), 0
        for tensor in loader:
            pictures += len(tensor)
            float(tensor.sum())  # as Weir's loop: reads every number once
    print(pictures / (time.monotonic() - started))


if __name__ == "__main__":
    main()
