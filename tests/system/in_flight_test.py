"""Batches in flight: how many there are is measured and told, within the memory of the system and of the pipeline; what is in
them, and who is trained on what, does not depend on it."""

from weirlab import Lab, Run, assert_clean_audits, await_that, outcome, run_tests, served

PIPELINE = """\
pipeline: {{name: flight, mode: replay}}
datasets:
  - name: flight
    source: {{path: {data}, format: jsonl, include: "*.jsonl", import: reference}}
    time:   {{from: field, field: ts}}
    label:  {{field: label, classes: [work, spam]}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data}}
preprocess:
  operators:
    - {{op: json_text, field: text}}
    - {{op: tokenize_words, max_tokens: 100}}
    - {{op: tokenize_hash, buckets: 4096}}
  batch: {{samples: 8, memory: MEMORY}}
training: {{model: {{name: text_bag, buckets: 4096}}, epochs: {epochs}, seed: 1, digests: true}}
"""


def lab_of(memory, epochs=4):
    return Lab(samples=1500, every=500, epochs=epochs, pipeline=PIPELINE.replace("MEMORY", memory))


def run_with(lab, system):
    file = lab.folder / "system.yaml"
    file.write_text(system)
    run = Run(lab.pipeline, lab.data_dir, file, "--explain").finish()
    assert_clean_audits(run.events)
    return run


def in_flight(run):
    """Of each training: the memory of all trainers, and what its own has decided."""
    told = [event["in_flight"] for event in run.of("plan")]
    assert len(told) == 3 and all(len(one["trainers"]) == 1 for one in told), told
    return [(one["memory"], one["trainers"][0]) for one in told]


def test_they_keep_within_the_memory_and_change_nothing():
    free, narrow, bound = lab_of("0"), lab_of("0"), lab_of("40KiB")
    plenty = run_with(free, "batches: {memory: 0}\n")
    scarce = run_with(narrow, "batches: {memory: 64KiB}\n")
    bounded = run_with(bound, "workers: 2\n")
    assert outcome(plenty.events) == outcome(scarce.events) == outcome(bounded.events)
    assert all(memory is None and one["state"] != "memory" for memory, one in in_flight(plenty))
    assert all(memory == 64 << 10 and one["bytes"] <= 64 << 10 for memory, one in in_flight(scarce))
    assert all(memory == 1 << 30 and one["bytes"] <= 40 << 10 for memory, one in in_flight(bounded))
    for _, one in in_flight(scarce) + in_flight(bounded):
        assert one["bytes"] == min(one["bytes"], one["needed_bytes"]), one
    for lab in (free, narrow, bound):
        lab.remove()


def test_they_are_on_the_page_of_a_plan_while_a_trainer_takes_batches():
    lab = lab_of("0", epochs=10000)
    with served(lab):
        lab.weir("submit", str(lab.pipeline))
        await_that(lambda: "needed for" in lab.ask("plan", "flight").stdout)
        lab.weir("stop", "flight")
    lab.remove()


def test_a_loop_that_is_refused_its_memory_is_told_where():
    lab = lab_of("lots")
    complaint = lab.ask("config", "check", lab.pipeline).stderr + lab.ask("config", "check", lab.pipeline).stdout
    assert "memory" in complaint and "lab.yaml:14" in complaint, complaint
    lab.remove()


if __name__ == "__main__":
    run_tests(globals())
