"""Models as differences: the same models in less room, whoever is killed; exported and compared as if they were whole; dropped ones are trained again when an erasure
needs them; and no file of an erased past is left."""

import array
import json
import math
import struct

from weirlab import PIPELINE, Lab, Run, assert_clean_audits, await_that, outcome, query, read_set, served

ALL = "models: {{storage: delta, full_every: 3, keep: all}}\n"
WARNS = "budget: {{cpu_seconds: 0.001, then: warn}}\n"
LAST = "models: {{storage: delta, full_every: 2, keep: {{last: 1}}}}\n"


def stored(lab):
    return json.loads(lab.weir("models", "list", "--json"))["models"]


def files(lab):
    return {path.name for path in (lab.data_dir / "models").iterdir()}


def in_chains(models, full_every):
    """Every model's file is whole, or the difference from the model it started from; never too many in a row."""
    by_id, length = {m["model"]: m for m in models}, {}
    for model in models:
        base = by_id.get(model["base"])
        length[model["model"]] = length[base["model"]] + 1 if base else 0
        assert not base or model["base"] == model["parent"], model
        assert model["file"].endswith(".weirdelta" if base else ".weirmodel"), model
        assert model["stored_bytes"] < model["bytes"] if base else model["stored_bytes"] == model["bytes"], model
    assert max(length.values()) == full_every - 1, length


def timelines_survive(lab, run):
    """Each step was committed when it was taken: what the first orchestrator has told, the second one still knows."""
    steps = ("fired", "sealed", "first_batch", "trained", "stored", "evaluated")
    rows = json.loads(lab.weir("report", "--json"))["triggers"]
    assert len(rows) == len(run.of("model_stored")) == 4
    for row, event in zip(rows, run.of("model_stored")):
        taken = [row["timeline"][step].rstrip("Z") for step in steps[:5]]
        assert row["timeline"]["arrived"] is None and taken == sorted(taken) and row["timeline"]["seconds"] > 0, row
        assert {**event["timeline"], "evaluated": row["timeline"]["evaluated"]} == row["timeline"], (event, row)
    spent = sum(row["costs"][mode]["cpu_seconds"] for row in rows for mode in row["costs"])
    assert all({"train"} <= row["costs"].keys() <= {"train", "evaluate"} for row in rows), rows
    pipeline = json.loads(lab.weir("status", "--json"))["pipelines"][0]
    assert math.isclose(spent, pipeline["cost"]["cpu_seconds"], abs_tol=1e-4), "every run is some trigger's"
    newest = json.loads(lab.weir("status", "--json"))["pipelines"][0]["timeline"]
    assert newest == {**rows[-1]["timeline"], "trigger": 4}, newest
    assert "trigger 4 had its model" in lab.weir("status")


def the_same_models_in_less_room():
    whole = Lab(samples=800, every=200, epochs=1)
    expected = whole.run().finish()
    lab = Lab(samples=800, every=200, epochs=1, pipeline=PIPELINE + ALL)
    run = lab.run()
    run.wait_for(9)  # the second or third model is there
    run.kill("orchestrator")
    again = lab.run()
    again.finish()
    assert outcome(again.events) == outcome(expected.events), "models that are stored otherwise learn otherwise"
    assert_clean_audits(again.events)
    with served(lab):
        in_chains(stored(lab), 3)
        timelines_survive(lab, again)
        lab.weir("doctor", "--deep")
        predictions = [json.loads(one.weir("predict", "--limit", "20", "--json"))["predictions"] for one in (whole, lab)]
        assert predictions[0] == predictions[1]
    whole.remove()
    return lab


def read_safetensors(path):
    """By the published layout, with nothing of ours: u64 size, JSON, tensors end to end."""
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    metadata, tensors, end = header.pop("__metadata__"), {}, 0
    for name, one in header.items():
        first, last = one["data_offsets"]
        assert first == end, "a gap between tensors"
        tensors[name] = one["shape"], data[8 + size + first:8 + size + last]
        end = last
    assert 8 + size + end == len(data)
    assert all(isinstance(text, str) for text in metadata.values()), metadata
    return metadata, tensors


def floats(tensor):
    shape, data = tensor
    values = array.array("f", data)
    assert len(values) == shape[0] * shape[1]
    return values


def exported_and_compared(lab):
    """A model that is stored as a difference is exported whole, and compared float by float."""
    models = {m["model"]: m for m in stored(lab)}
    assert models["lab-2"]["base"] == "lab-1", models["lab-2"]
    read = {}
    for name in ("lab-1", "lab-2"):
        path = lab.folder / f"{name}.safetensors"
        lab.weir("models", "export", name, "--to", str(path))
        metadata, tensors = read_safetensors(path)
        assert metadata["model"] == name and metadata["checksum"] == models[name]["checksum"], metadata
        read[name] = floats(tensors["parameters"])
    whole = lab.folder / "lab-2.weirmodel"
    lab.weir("models", "export", "lab-2", "--format", "file", "--to", str(whole))
    assert whole.stat().st_size == models["lab-2"]["bytes"] and read["lab-2"].tobytes() in whole.read_bytes()
    lab.weir("models", "export", "lab-2", "--format", "onnx", expect=2)

    found = json.loads(lab.weir("models", "diff", "lab-1", "lab-2", "--json"))
    apart = [a - b for a, b in zip(read["lab-1"], read["lab-2"])]
    (tensor,) = [t for t in found["tensors"] if t["name"] == "parameters"]
    assert tensor["compared"] == len(apart) and tensor["changed"] == sum(map(bool, apart)) > 0, tensor
    assert math.isclose(tensor["max_abs"], max(map(abs, apart)), rel_tol=1e-12), tensor
    assert math.isclose(tensor["rms"], math.sqrt(sum(d * d for d in apart) / len(apart)), rel_tol=1e-9), tensor
    sets = [set(read_set(lab.data_dir / "sets" / f"{models[name]['set_digest']}.set")) for name in ("lab-1", "lab-2")]
    assert found["samples"] == {"both": len(sets[0] & sets[1]), "only_a": len(sets[0] - sets[1]),
                                "only_b": len(sets[1] - sets[0])}, found["samples"]
    assert found["lineage"] == {"ancestor": "lab-1", "steps_a": 0, "steps_b": 1} and not found["same"], found
    assert json.loads(lab.weir("models", "diff", "lab-4", "lab-4", "--json"))["same"]


def an_erasure_leaves_no_file_of_what_saw_a_sample(lab):
    newest = [str(p["id"]) for p in json.loads(lab.weir("predict", "--limit", "1000", "--json"))["predictions"]][-150:]
    before = files(lab)
    lab.weir("erase", "request", *(word for i in newest[:10] for word in ("--id", i)), "--wait")
    models = stored(lab)
    live = [m for m in models if m["state"] == "stored"]
    gone = [m for m in models if m["state"] == "replaced"]
    assert 0 < len(gone) < 4 and [m["trigger"] for m in live] == [1, 2, 3, 4], models
    assert files(lab) == {m["file"].split("/")[1] for m in live}, (before, files(lab))
    lab.weir("doctor", "--deep")
    lab.weir("erase", "verify", "--all")


def erased_and_newest(lab, person):
    """What is answered, and the checksum of the model of the last trigger behind it."""
    answer = json.loads(lab.weir("erase", "request", "--subject", person, "--wait", "--json"))
    return answer, next(m["checksum"] for m in stored(lab) if m["state"] == "stored" and m["trigger"] == 3)


def dropped_models_are_trained_again_when_an_erasure_needs_them():
    lab = Lab(samples=600, every=200, epochs=1, pipeline=PIPELINE + LAST + WARNS)
    run = lab.run().finish()
    assert len(run.of("budget_spent")) == 1 and len(run.of("model_stored")) == 3, run.events
    person = lab.records[10]["user"]  # seen by the first model, long dropped
    with served(lab):
        models = stored(lab)
        kept = [m for m in models if m["state"] == "stored"]
        assert {m["state"] for m in models} == {"stored", "dropped"}, models
        assert kept[-1]["active"] and len(run.of("model_dropped")) == 3 - len(kept), kept
        assert files(lab) == {m["file"].split("/")[1] for m in kept}, files(lab)
        lab.weir("doctor", "--deep")
        answer, newest = erased_and_newest(lab, person)
    assert [m["trigger"] for m in answer["models"]] == [1, 2, 3], answer
    fresh = Lab(samples=600, every=200, epochs=1)
    fresh.run().finish()
    with served(fresh):
        chain, of_chain = erased_and_newest(fresh, person)
    assert newest == of_chain and chain["samples"] == answer["samples"], "the same chain, dropped or not"
    lab.remove()
    fresh.remove()


def promoted_only_when_better():
    """A bar that every second model misses: which ones become active is decided by the measures alone."""
    promote = "promote: {{when: {{metric: roc_auc, not_worse_by: 0.0}}, else: keep_previous}}\n"
    weekly = PIPELINE.replace("every: 1 month, metrics", "every: 1w, metrics") + promote
    lab = Lab(samples=800, every=200, epochs=1, pipeline=weekly)
    run = lab.run()
    run.wait_for(12)
    run.kill("orchestrator")
    run = lab.run().finish()
    values = {}
    for e in run.of("evaluation"):
        if e["metric"] == "roc_auc":
            values.setdefault(e["model"], {})[e["interval"]["from"]] = e["value"]
    decisions = [e for e in run.events if e["event"] in ("model_promoted", "model_kept_back")]
    assert [e["model"] for e in decisions] == [f"lab-{n}" for n in (1, 2, 3, 4)], decisions
    active = "lab-1"
    for e in decisions[1:]:
        assert e["previous" if e["event"] == "model_promoted" else "active"] == active, e
        if e["reason"] == "never measured":  # the stream ends with it
            assert e["model"] == "lab-4" and e["model"] not in values, e
            continue
        where = min(values[e["model"]])  # the week behind its newest sample
        mine, other = values[e["model"]][where], values[active][where]
        better = "undefined" not in (mine, other) and mine >= other
        assert (e["event"] == "model_promoted") == better, (e, mine, other)
        active = e["model"] if better else active
    with served(lab):
        assert [m["model"] for m in stored(lab) if m["active"]] == [active] == [run.of("pipeline_finished")[0]["active_model"]]

        back = "lab-1" if active != "lab-1" else "lab-4"
        assert json.loads(lab.weir("models", "promote", back, "--json")) == {"model": back, "previous": active}
        assert json.loads(lab.weir("predict", "--limit", "1", "--json"))["model"] == back
        lab.weir("models", "promote", "lab-4")
        earlier = json.loads(lab.weir("models", "rollback", "--json"))
        assert earlier["previous"] == "lab-4" and earlier["model"] < "lab-4", earlier
        lab.weir("erase", "request", "--subject", lab.records[10]["user"], "--wait")
        (now,) = [m["model"] for m in stored(lab) if m["active"]]
        assert now == f"{earlier['model']}-e1", "what replaces the active model is the active one"
        lab.weir("models", "promote", "nobody", expect=1)
    lab.remove()


def a_budget_that_is_spent_holds_back():
    """The first training spends it: nothing fires behind it, and that is told once, restarted or not. The other one only warns."""
    held = "budget: {{cpu_seconds: 0.001, per: total, then: hold}}\n"
    lab = Lab(samples=300, every=100, epochs=1, pipeline=PIPELINE + held)
    system = lab.folder / "system.yaml"
    system.write_text("budgets: {default: {gpu_seconds: 1}, all: {cpu_seconds: 0.001, then: warn}}\n")
    for _ in range(2):
        run = Run(lab.pipeline, lab.data_dir, system)
        run.finish(expect=None)
        told, of_all = run.of("budget_spent")
        assert (told["of"], of_all["of"], of_all["spent"]) == ("pipeline", "all", told["spent"]), run.events
        assert len(run.of("model_stored")) == len(run.of("trigger_fired")) == 1 and told["over"], run.events
    with served(lab):
        (status,) = json.loads(lab.weir("status", "--json"))["pipelines"]
        assert status["budgets"][0]["spent"]["cpu_seconds"] > 0.001 and status["budgets"][0]["over"], status
        assert status["state"] == "STOPPED" and "nothing fires any more" in lab.weir("status"), status
    with served(lab, "--system", str(system)):
        (status,) = json.loads(lab.weir("status", "--json"))["pipelines"]
        found = {b["of"]: (b["over"], b["then"]) for b in status["budgets"]}
        assert found == {"pipeline": (True, "hold"), "system": (False, "hold"), "all": (True, "warn")}, status
        assert status["cost"]["gpu_seconds"] == 0 and "0.0 of 1.0 GPU s" in lab.weir("status"), status
    with served(lab):
        (why,) = json.loads(lab.weir("resume", "lab", "--json"))["again"]
        assert why.startswith("the budget of its file is spent:") and "it stops before the next trigger" in why, why
        lab.weir("watch", "lab")
        lab.pipeline.write_text(lab.pipeline.read_text().replace("cpu_seconds: 0.001,", "cpu_seconds: 1000,"))
        lab.weir("apply", str(lab.pipeline))
        assert json.loads(lab.weir("resume", "lab", "--json"))["again"] == []
        lab.weir("watch", "lab")
        what_all_models_were_measured_as_is_asked_once(lab)
    lab.remove()


def asked(lab, words):
    """How often the platform's Postgres, which writes down its statements, was asked for what has these words."""
    return sum("execute " in line and words in line for line in (lab.data_dir / "log/postgres.log").read_text(errors="replace").splitlines())


def what_all_models_were_measured_as_is_asked_once(lab):
    """Of a running platform, with three models."""
    query(lab, "ALTER SYSTEM SET log_statement = 'all'")
    query(lab, "SELECT pg_reload_conf()")
    await_that(lambda: len(stored(lab)) == 3 and asked(lab, "evaluation_of_models/"))
    before = asked(lab, "evaluation_of_models/")
    models = stored(lab)
    assert sum(m["active"] for m in models) == 1 and any(m["evaluations"] for m in models), models
    assert asked(lab, "evaluation_of_models/") == before + 1, (before, asked(lab, "evaluation_of_models/"))
    query(lab, "ALTER SYSTEM RESET log_statement")
    query(lab, "SELECT pg_reload_conf()")


def main():
    a_budget_that_is_spent_holds_back()
    promoted_only_when_better()
    lab = the_same_models_in_less_room()
    with served(lab):
        exported_and_compared(lab)
        an_erasure_leaves_no_file_of_what_saw_a_sample(lab)
    lab.remove()
    dropped_models_are_trained_again_when_an_erasure_needs_them()


if __name__ == "__main__":
    main()
