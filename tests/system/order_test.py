"""The same file twice: the same triggers, sets and, in deterministic order, the same models to the byte, by any number of threads. In relaxed
order still every sample once."""

import json

from weirlab import Lab, Run, assert_clean_audits, outcome


def sets_alone(found):
    return {n: {k: v for k, v in of.items() if k != "checksum"} for n, of in found.items()}


def main():
    lab = Lab(samples=800, every=200, epochs=2)
    first = lab.run(lab.folder / "first").finish()
    second = lab.run(lab.folder / "second").finish()
    assert outcome(first.events) == outcome(second.events), (outcome(first.events), outcome(second.events))
    parents = [(e["model"], e["parent"]) for e in first.of("model_stored")]
    assert parents[0][1] is None and all(p == m for (m, _), (_, p) in zip(parents, parents[1:])), parents
    print(f"deterministic: {len(parents)} models, equal to the byte")

    remote = lab.folder / "tcp.yaml"
    remote.write_text('batches: {listen: "tcp://127.0.0.1:*", compress: zstd}\n')
    over_tcp = Run(lab.pipeline, lab.folder / "tcp", remote).finish()
    assert outcome(over_tcp.events) == outcome(first.events), (outcome(over_tcp.events), outcome(first.events))
    print("over TCP, compressed: the same models")

    for threads in (2, 4):
        shared = lab.folder / f"threads-{threads}.yaml"
        shared.write_text(lab.pipeline.read_text().replace("training: {", f"training: {{threads: {threads}, "))
        assert "threads" in shared.read_text()
        by_several = Run(shared, lab.folder / f"threads-{threads}").finish()
        assert outcome(by_several.events) == outcome(first.events), (threads, outcome(by_several.events), outcome(first.events))
    print("two threads, four threads: the same models")

    again = lab.run(lab.folder / "first").finish()
    assert outcome(again.events) in ({}, outcome(first.events)), outcome(again.events)
    models = json.loads(lab.weir("models", "list", "--json", data_dir=lab.folder / "first"))["models"]
    assert len(models) == len(parents), "a finished pipeline is not trained again"
    print("once finished, it stays finished")

    lab.pipeline.write_text(lab.pipeline.read_text().replace("order: deterministic", "order: relaxed"))
    relaxed = lab.run(lab.folder / "relaxed").finish()
    assert_clean_audits(relaxed.events)
    assert sets_alone(outcome(relaxed.events)) == sets_alone(outcome(first.events)), "order is no business of the sets"
    print("relaxed: the same sets, every sample once")

    lab.remove()


main()
