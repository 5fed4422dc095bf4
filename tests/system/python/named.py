"""Trains nothing; an embedding is what the operators make of a sample, and has its names."""

import weir

for task in weir.tasks():
    with weir.Session(task=task) as session:
        for batch in session:
            air = memoryview(batch.tensors["air"])
            if task.mode == "embed":
                session.name_outputs(session.element_name("air", i) or "" for i in range(air.shape[1]))
                session.output(batch, "embeddings", air)
            session.step()
        assert session.element_name("air", 3) is session.element_name("sea", 0) is None
        if task.mode == "train":
            with open(f"{task.directory}/model", "w") as model:
                model.write("nothing")
            session.finish("model")
        else:
            session.finish()
