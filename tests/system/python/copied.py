"""Every batch on the GPU against what lies in memory, while the GPU is kept busy with the steps before."""

import weir
import weir.torch

import torch

device = torch.device("cuda")
busy = torch.ones(4096, 4096, device=device)
seen = 0
with weir.Session() as session:
    for raw in session:
        there, here = weir.torch.as_batch(raw, device), weir.torch.as_batch(raw)
        for _ in range(5):
            busy = busy @ busy / 4096  # of ones: it stays as it is
        pairs = [(there.ids, here.ids), (there.labels, here.labels), (there.weights, here.weights)]
        pairs += [(there.tensors[name], tensor) for name, tensor in here.tensors.items()]
        pairs += [(there.offsets[name], offsets) for name, offsets in here.offsets.items()]
        for copy, original in pairs:
            assert copy.device.type == "cuda" and copy.dtype == original.dtype, (copy.device, copy.dtype)
        doubled = [copy.double().sum() for copy, _ in pairs]  # queued behind the copies
        for (copy, original), sum_there in zip(pairs, doubled):
            assert torch.equal(copy.cpu(), original) and float(sum_there) == float(original.double().sum()), raw.number
        seen += len(here.ids)
    assert float(busy.min()) == float(busy.max()) == 1
    print(f"{seen} samples as they lie in memory", flush=True)
    with open("model", "w") as file:
        file.write(str(seen))
    session.finish("model")
