"""A group whose ranks say which GPUs they see."""

import os

import weir

print(f"rank {os.environ['RANK']} sees {os.environ['CUDA_VISIBLE_DEVICES']} as {os.environ['LOCAL_RANK']}", flush=True)
with weir.Session() as session:
    for batch in session:
        batch.release()
    with open(f"model-{os.environ['RANK']}", "w") as model:
        model.write("none")
    session.finish("model-0")
