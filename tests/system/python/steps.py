"""Steps that need megabytes each, as a network's do: says how many pages the system had to give for one, in the mean."""

import resource

import weir

STEPS, TENSORS, BYTES = 20, 4, 3 << 20


def step():
    return [b"1" * BYTES for _ in range(TENSORS)]


def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


with weir.Session() as session:
    for batch in session:
        batch.release()
    step()
    before = faults()
    for _ in range(STEPS):
        step()
    session.metric("faults", (faults() - before) / STEPS)
    with open("model", "w") as model:
        model.write("none")
    session.finish("model")
