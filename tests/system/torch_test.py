"""weir.torch: serve() answers every mode, and a life that begins again draws the same random numbers; a DataLoader takes the
dataset."""

import importlib.util
import json
import os
import random
import re
import struct
import subprocess
import sys

import weirlab
from python_test import PACKAGE, VECTORS, PythonLab, said, write_points
from weirlab import PIPELINE, Run, assert_clean_audits, outcome, run_tests, served

ALL = "modes: [train, evaluate, predict, score, gradient, embed]"
SCORED = ("{{policy: coreset, presample: {{policy: random, ratio: 0.8}}, tail_triggers: all, seed: 7, limit: 100, score: "
          "[{{method: loss}}, {{method: k_center, from_trigger: 3}}, {{method: craig, from_trigger: 4}}]}}")
OURS = re.sub(r"training: .*?\n.*?\n", "training: {{program: loop, epochs: {epochs}, seed: 1}}\n", PIPELINE)

if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode != 0:
    print("torch_test.py: skipped: no PyTorch (apt-get install python3-torch)")
    sys.exit(weirlab.SKIPPED)

import numpy as np  # noqa: E402
import torch  # noqa: E402

choice = importlib.util.module_from_spec(spec := importlib.util.spec_from_file_location("choice", PACKAGE / "choice.py"))
spec.loader.exec_module(choice)


def test_every_mode_is_answered_and_deaths_change_nothing():
    lab = PythonLab(samples=1200, every=300, epochs=3, pipeline=OURS.replace("{{policy: random, ratio: 0.8, tail_triggers: all, seed: 7}}", SCORED))
    expected = Run(lab.pipeline, lab.folder / "undisturbed", lab.script("serve.py", modes=ALL)).finish()
    run = Run(lab.pipeline, lab.data_dir, lab.script("dies.py", "serve.py", modes=ALL)).finish()
    models = outcome(run.events)
    assert said(run).count("dies here") == len(models) == 4, said(run)
    assert models == outcome(expected.events), (models, outcome(expected.events))
    assert_clean_audits(run.events)
    assert [e["mode"] for e in run.of("scoring_finished")] == ["score", "embed", "gradient"]
    measured = [e["value"] for e in run.of("evaluation") if e["metric"] == "roc_auc" and e["value"] is not None]
    assert measured and max(measured) > 0.9, run.of("evaluation")
    lab.remove()


def test_a_data_loader_goes_on_from_the_position_in_a_checkpoint():
    text = re.sub(r"evaluation: .*\n", "", OURS)
    lab = PythonLab(samples=400, every=200, epochs=2, pipeline=text)
    expected = Run(lab.pipeline, lab.folder / "undisturbed", lab.script("loader.py", modes="modes: [train]")).finish()
    run = Run(lab.pipeline, lab.data_dir, lab.script("dies.py", "loader.py", modes="modes: [train]")).finish()
    models = outcome(run.events)
    assert said(run).count("dies here") == len(models) == 2 and models == outcome(expected.events), said(run)
    lab.remove()


def test_dense_numbers_and_labels_of_vectors_need_no_more_words():
    lab = PythonLab(samples=1, every=100, epochs=1, pipeline=VECTORS)
    write_points(lab, 100)
    system = lab.script("serve_dense.py", modes=ALL)
    run = Run(lab.pipeline, lab.data_dir, system).finish()
    assert_clean_audits(run.events)
    with served(lab, "--system", system):
        said_of = json.loads(lab.weir("predict", "--limit", "5", "--json"))["predictions"]
    assert [len(said["values"]) for said in said_of] == [2] * 5, said_of
    lab.remove()


def write_small_points(lab, count):
    """Records of VECTORS with numbers around 1; returns them by number."""
    draw = random.Random(3)
    points = [([draw.gauss(0, 1) for _ in range(3)], [draw.gauss(1, 2) for _ in range(2)]) for _ in range(count)]
    (lab.folder / "stream/points.bin").write_bytes(b"".join(
        struct.pack("<q3f2f", 1_000_000_000 + i, *x, *y) for i, (x, y) in enumerate(points)))
    return points


def by_hand(points, steps, wanted, seed):
    """The six weights after these steps, and what each has learnt from: by the formulas of docs/guides/choose-by-loss.md, without PyTorch."""
    weights, learnt = np.zeros((2, 3)), []
    for number, ids in steps:
        x, y = (np.array([points[one % 2**16][part] for one in ids]) for part in (0, 1))
        error = x @ weights.T - y  # the gradient of each one's loss at its outputs
        losses, norms = (error**2).mean(1), np.sqrt((error**2).sum(1))
        chosen, factors = choice.choose(wanted, (losses if wanted["score"] == "loss" else norms).tolist(), f"{seed}.{number}.0")
        weight = np.array(factors)[:, None]
        weights -= 0.05 * (weight * error[chosen]).T @ x[chosen] / weight.sum()
        learnt.append([ids[i] for i in chosen])
    return weights, learnt


def test_a_step_learns_from_the_part_of_its_batch_that_was_worked_out_by_hand():
    for wanted in ({"score": "loss", "ratio": 0.25}, {"score": "grad_norm", "ratio": 0.5}):
        said_so = ", ".join(f"{key}: {value}" for key, value in wanted.items())
        lab = PythonLab(samples=1, every=POINTS, epochs=3, pipeline=VECTORS.replace("seed: 7}}", f"seed: 7, batch_then_sample: {{{{{said_so}}}}}}}}}"))
        points = write_small_points(lab, POINTS)
        model, words = stepped(lab, "whole", 16, ("serve_in_batch.py",))
        steps = [re.fullmatch(r"step (\d+) (.*) learns (.*)", line).groups() for line in words.splitlines() if line.startswith("step ")]
        ids = [[int(one) for one in batch.split()] for _, batch, _ in steps]
        weights, learnt = by_hand(points, [(int(number), batch) for (number, _, _), batch in zip(steps, ids)], wanted, 1)
        assert len(steps) == 3 * POINTS // 16 and [" ".join(map(str, part)) for part in learnt] == [part for _, _, part in steps], steps
        assert all(len(part) == int(wanted["ratio"] * 16) for part in learnt), learnt
        assert np.abs(weights - model["weight"].numpy()).max() < 1e-5, (weights, model)
        killed, words = stepped(lab, "killed", 16, ("dies.py", "serve_in_batch.py"))
        assert words.count("dies here") == 1 and distance(model, killed) == 0, words
        lab.remove()


def test_the_least_sure_of_a_batch_are_learnt_from():
    text = OURS.replace("seed: 7}}", "seed: 7, batch_then_sample: {{score: uncertainty, ratio: 0.5, metric: entropy}}}}")
    lab = PythonLab(samples=900, every=300, epochs=3, pipeline=text)
    run = Run(lab.pipeline, lab.data_dir, lab.script("serve.py", modes=ALL)).finish()
    assert_clean_audits(run.events)
    measured = [e["value"] for e in run.of("evaluation") if e["metric"] == "roc_auc" and e["value"] not in (None, "undefined")]
    assert measured and max(measured) > 0.8, run.of("evaluation")
    lab.remove()


POINTS = 96  # a whole number of batches, whatever their size


def stepped(lab, name, samples=32, program=("serve_steps.py",), **options):
    """The weights that training.options lead to, and what was said."""
    text = lab.pipeline.read_text()
    lab.pipeline.write_text(re.sub(r"samples: 16", f"samples: {samples}", text).replace("seed: 1}", f"seed: 1, options: {json.dumps(options)}}}"))
    run = Run(lab.pipeline, lab.folder / name, lab.script(*program, modes="modes: [train]")).finish()
    lab.pipeline.write_text(text)
    assert_clean_audits(run.events)
    (model,) = run.of("model_stored")
    lab.newest = run
    return torch.load(run.data_dir / model["file"]), said(run)


def distance(one, other):
    return max(float((one[name] - other[name]).abs().max()) for name in one)


def test_steps_are_accumulated_clipped_and_grouped():
    lab = PythonLab(samples=1, every=POINTS, epochs=2, pipeline=VECTORS)
    write_points(lab, POINTS)
    whole, _ = stepped(lab, "whole")
    parts, _ = stepped(lab, "parts", samples=8, accumulate=4)
    assert distance(whole, parts) < 1e-5, "four batches of 8 make the step of one of 32"
    single, _ = stepped(lab, "single", samples=8)
    assert distance(whole, single) > 1e-3, "and twelve steps are not three"
    killed, words = stepped(lab, "killed", samples=8, program=("dies.py", "serve_steps.py"), accumulate=4)
    assert words.count("dies here") == 1 and distance(parts, killed) == 0, words
    odd, _ = stepped(lab, "odd", samples=8, accumulate=5)  # 24 batches: the last step has four
    assert distance(parts, odd) > 1e-5
    still, _ = stepped(lab, "still", lr_first=0.0)
    assert distance({"first": whole["first.weight"]}, {"first": still["first.weight"]}) > 1e-3
    clipped, _ = stepped(lab, "clipped", clip=1e-4)
    more, _ = stepped(lab, "more", clip=1e-4, lr_first=0.0)
    assert distance(clipped, more) < 1e-4 and distance(clipped, whole) > 1e-3, "six steps of 0.1 * 1e-4 lead nowhere"
    lab.remove()


def test_a_schedule_is_told_how_many_steps_there_are():
    lab = PythonLab(samples=1, every=POINTS, epochs=2, pipeline=VECTORS)
    write_points(lab, POINTS)
    for accumulate, steps in ((1, 24), (5, 5)):
        whole, words = stepped(lab, f"whole-{accumulate}", samples=8, schedule_by="batch", accumulate=accumulate)
        assert f"steps: {steps}\n" in words, words
        killed, words = stepped(lab, f"killed-{accumulate}", 8, ("dies.py", "serve_steps.py"), schedule_by="batch", accumulate=accumulate)
        assert words.count("dies here") == 1 and distance(whole, killed) == 0, words
    lab.remove()


def test_mixed_precision_computes_in_it_and_deaths_change_nothing():
    lab = PythonLab(samples=1, every=POINTS, epochs=2, pipeline=VECTORS)
    write_points(lab, POINTS)
    whole, _ = stepped(lab, "whole")
    half, _ = stepped(lab, "half", autocast="bfloat16", dropout=0.1)
    assert all(tensor.dtype == torch.float32 for tensor in half.values()) and 0 < distance(whole, half) < 1
    killed, words = stepped(lab, "killed", program=("dies.py", "serve_steps.py"), autocast="bfloat16", dropout=0.1)
    assert words.count("dies here") == 1 and distance(half, killed) == 0, words
    lab.remove()


def held_back(said):
    """The ids that were learnt from, and those that were held back, by epoch."""
    found = {"train": {}, "eval": {}}
    for kind, epoch, *ids in map(str.split, re.findall(r"^(?:train|eval) .*", said, re.M)):
        found[kind].setdefault(int(epoch), []).extend(ids)
    return found["train"], found["eval"]


def validated(lab, name, program=("serve_validated.py",), **options):
    weights, words = stepped(lab, name, 8, program, **options)
    (event,) = [e for e in lab.newest.events if e["event"] == "training_finished"]
    return weights, words, event["metrics"]


def test_a_share_of_the_samples_is_held_back_in_every_epoch():
    lab = PythonLab(samples=1, every=POINTS, epochs=6, pipeline=VECTORS)
    write_points(lab, POINTS)
    weights, words, metrics = validated(lab, "whole", validation=0.25)
    learnt, held = held_back(words)
    assert len(learnt) == len(held) == 6 and 0.1 * POINTS < len(held[0]) < 0.4 * POINTS, held
    assert all(sorted(ids) == sorted(held[0]) for ids in held.values()), "the same ones each time"
    assert all(sorted(ids + held[0], key=int) == sorted({*ids, *held[0]}, key=int) for ids in learnt.values())
    assert len(learnt[0]) + len(held[0]) == POINTS and metrics["validation_loss"] > 0, metrics
    killed, words, again = validated(lab, "killed", ("dies.py", "serve_validated.py"), validation=0.25)
    assert words.count("dies here") == 1 and distance(weights, killed) == 0 and metrics == again, (metrics, again)
    lab.remove()


def test_what_does_not_get_better_is_stopped_and_the_best_is_kept():
    lab = PythonLab(samples=1, every=POINTS, epochs=8, pipeline=VECTORS)
    write_points(lab, POINTS)
    best, words, metrics = validated(lab, "stopped", validation=0.25, stop_after=2, worse_from=3)
    learnt, _ = held_back(words)
    assert metrics["best_epoch"] == 2 and sorted(learnt) == [0, 1, 2, 3, 4], (metrics, sorted(learnt))
    on, _, metrics = validated(lab, "on", validation=0.25, worse_from=3)
    assert metrics["best_epoch"] == 2 and distance(best, on) == 0, metrics
    lab.remove()


def test_rows_are_taken_out_of_ragged_tensors():
    sys.path.insert(0, str(PACKAGE.parent))
    import weir.torch
    from weir.torch_validation import rows_of

    values, offsets = torch.arange(6), torch.tensor([0, 2, 2, 6])
    batch = weir.torch.Batch(0, 0, torch.arange(3), torch.arange(3), torch.ones(3), {"words": values}, {"words": offsets})
    for chosen, left, where in (([1, 0, 1], [0, 1, 2, 3, 4, 5], [0, 2, 6]), ([0, 1, 1], [2, 3, 4, 5], [0, 0, 4]), ([0, 0, 0], [], [0])):
        part = rows_of(batch, torch.tensor(chosen, dtype=torch.bool))
        assert part.tensors["words"].tolist() == left and part.offsets["words"].tolist() == where, part
        assert part.ids.tolist() == part.labels.tolist() == [i for i in range(3) if chosen[i]], part


SCALED = re.sub("label: .*", "label: {{offset: 20, type: f32}}", VECTORS).replace("  operators:\n", "  operators:\n    - {{op: scale_label}}\n")


def test_labels_are_learnt_with_mean_0_and_deviation_1_and_predicted_in_their_own_units():
    lab = PythonLab(samples=1, every=320, epochs=60, pipeline=SCALED)
    draw = random.Random(3)
    points = [[draw.gauss(0, 1) for _ in range(3)] for _ in range(320)]
    labels = [5000 + 100 * x[0] - 50 * x[2] for x in points]
    (lab.folder / "stream/points.bin").write_bytes(b"".join(
        struct.pack("<q3fff", 1_000_000_000 + i, *x, y, 0) for i, (x, y) in enumerate(zip(points, labels))))
    (lab.programs / "scaled.py").write_text(
        "import torch, weir.torch\nfrom torch import nn\n"
        "def loss(outputs, labels):\n    assert labels.dtype == outputs.dtype and labels.abs().max() < 5\n    return (outputs - labels).square()\n"
        "weir.torch.serve(model=lambda task: nn.Sequential(nn.Linear(3, 1), nn.Flatten(0)), loss=loss,\n"
        "    optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.1))\n")
    system = lab.script("scaled.py", modes=ALL)
    Run(lab.pipeline, lab.data_dir, system).finish()
    with served(lab, "--system", system):
        said_of = json.loads(lab.weir("predict", "--limit", "320", "--json"))["predictions"]
    off = [abs(one["values"][0] - labels[one["id"] & 0xFFFF]) for one in said_of]
    assert len(off) == 320 and max(off) < 20, max(off)
    lab.remove()


TAKEN = {  # each is the same network
    "a tensor": ("x", "x", {"inputs": "lambda batch: batch.tensors['dense']"}),
    "a tuple": ("x, y", "x", {"inputs": "lambda batch: (batch.tensors['dense'], batch.ids)"}),
    "a dict": ("named", "named", {"inputs": "lambda batch: {'named': batch.tensors['dense']}"}),
    "a tuple of outputs": ("x", "x", {"returns": "made, x", "loss": "lambda outputs, labels: (outputs[0] - labels).abs() + 0 * outputs[1][:, :2]",
                                      "predictions": "lambda task, outputs: outputs[0]"}),
    "a dict of outputs": ("x", "x", {"returns": "{'made': made}", "loss": "lambda outputs, labels: (outputs['made'] - labels).abs()",
                                     "predictions": "lambda task, outputs: outputs['made']"}),
}


def test_a_model_takes_and_returns_what_it_likes():
    lab = PythonLab(samples=1, every=32, epochs=2, pipeline=VECTORS)
    write_small_points(lab, 32)
    found = {}
    for number, (name, (takes, x, options)) in enumerate(TAKEN.items()):
        options = {"loss": "nn.L1Loss(reduction='none')", **options}
        returns = options.pop("returns", "made")
        (lab.programs / f"taken{number}.py").write_text(
            "import torch, weir.torch\nfrom torch import nn\nclass Net(nn.Module):\n"
            "    def __init__(self):\n        super().__init__()\n        self.layer = nn.Linear(3, 2)\n"
            f"    def forward(self, {takes}):\n        made = self.layer({x})\n        return {returns}\n"
            "weir.torch.serve(model=lambda task: Net(), optimizer=lambda p: torch.optim.SGD(p, lr=0.1), autocast=torch.bfloat16, "
            + ", ".join(f"{key}={value}" for key, value in options.items()) + ")\n")
        system = lab.script(f"taken{number}.py", modes="modes: [train, predict]")
        run = Run(lab.pipeline, lab.folder / f"taken-{number}", system).finish()
        lab.data_dir = run.data_dir
        with served(lab, "--system", system):
            found[name] = [one["values"] for one in json.loads(lab.weir("predict", "--limit", "5", "--json"))["predictions"]]
    assert len({str(values) for values in found.values()}) == 1 and len(found["a dict"]) == 5, found
    lab.remove()


def test_what_is_drawn_goes_on_where_it_was():
    sys.path.insert(0, str(PACKAGE.parent))
    import weir.torch

    def drawn():
        return random.random(), float(np.random.rand()), float(torch.rand(1))

    weir.torch.seed(2**64 - 1)
    first = drawn()
    states = weir.torch.random_states()
    second = drawn()
    weir.torch.seed(2**64 - 1)
    assert drawn() == first and drawn() == second != first
    weir.torch.set_random_states(states)
    assert drawn() == second


def test_an_epoch_is_over_once_whatever_comes_late_in_relaxed_order():
    sys.path.insert(0, str(PACKAGE.parent))
    import weir.torch

    names = {name: None for name in weir.Task._fields}
    task = weir.Task(**{**names, "mode": "train", "seed": 1, "label_type": 1, "reports": False})
    options = {name: None for name in ("inputs", "predictions", "embed", "autocast", "parameters", "stop_after", "clip")}
    served = weir.torch._Served(task, {
        **options, "model": lambda task: torch.nn.Linear(1, 1), "loss": lambda outputs, labels: (outputs - labels).abs(),
        "optimizer": lambda parameters: torch.optim.SGD(parameters, lr=1.0), "device": "cpu", "save_every": 60.0, "validation": 0.0,
        "schedule": lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5), "schedule_by": "epoch", "accumulate": 1})  # fmt: skip
    served.steps.schedule_for(2, 4)
    for number, epoch in ((0, 0), (1, 0), (2, 0), (4, 1), (3, 0), (5, 1), (6, 1), (7, 1)):
        dense = torch.full((2, 1), float(number))
        served.learn_from(None, None, weir.torch.Batch(number, epoch, torch.arange(2), dense, torch.ones(2), {"dense": dense}, {}))
        served.steps.added(2.0)
    assert served.steps.optimizer.param_groups[0]["lr"] == 0.5 and served.epoch == 1


REFUSED = {
    "loss=lambda outputs, labels: (outputs - labels).abs().mean()": r"loss: expected one of each of 16 samples, found \(\): use reduction='none'",
    "loss=lambda outputs, labels: (outputs[:, :1] - labels[:, 0])": None,  # labels are vectors: what it makes of them is its affair
    "loss=lambda outputs, labels: nn.CrossEntropyLoss()(outputs, labels.long()[:, 0] % 2, 3, 4)": "the loss, given float32 .16, 2., float32 .16, 2.: TypeError",
    "inputs=lambda batch: batch.tensors['numbers']": r"inputs\(\), given dense float32 \(16, 3\): KeyError: 'no tensor numbers: the operators make dense'",
    "model=lambda task: nn.Linear(5, 2)": r"the model, given float32 \(16, 3\): RuntimeError: mat1 and mat2 shapes cannot be multiplied",
    "loss=lambda outputs, labels: (outputs - labels) * float('nan')": r"loss: found nan, expected a number: batch 0, epoch 0, float32 .16, 2.: a smaller",
    "accumulate=0": "serve: expected accumulate from 1",
}


def test_what_a_program_gets_wrong_is_said_with_shapes():
    lab = PythonLab(samples=1, every=32, epochs=1, pipeline=VECTORS.replace("seed: 1}}", "seed: 1, retries: 0}}"))
    write_points(lab, 32)
    for number, (change, words) in enumerate(REFUSED.items()):
        options = {"model": "model=lambda task: nn.Linear(3, 2)", "loss": "loss=nn.L1Loss(reduction='none')"}
        options[change.split("=")[0]] = change
        (lab.programs / "wrong.py").write_text(
            "import torch, weir.torch\nfrom torch import nn\nweir.torch.serve(optimizer=lambda p: torch.optim.SGD(p, lr=0.1), "
            + ", ".join(options.values()) + ")\n")
        run = Run(lab.pipeline, lab.folder / f"wrong-{number}", lab.script("wrong.py", modes="modes: [train]"))
        run.finish(expect=1 if words else 0)
        assert words is None or re.search(words, "".join(run.stderr)), (change, run.stderr)
    lab.remove()


def test_workers_of_a_data_loader_are_refused():
    lab = PythonLab(samples=1)
    program = ("import torch, weir.torch\n"
               "next(iter(torch.utils.data.DataLoader(weir.torch.Dataset(), batch_size=None, num_workers=1)))")
    paths = os.pathsep.join([str(lab.programs), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 1 and "weir.Unsupported" in done.stderr and "num_workers=0" in done.stderr, done.stderr
    lab.remove()


if __name__ == "__main__":
    run_tests(globals())
