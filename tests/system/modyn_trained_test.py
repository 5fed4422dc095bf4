"""A pipeline of Modyn's, written here after its published keys, is imported and trained: nothing in the file that comes out is changed,
a program takes the place of the model, and every sample is accounted for."""

import random
import struct
import sys
from collections import Counter

import python_test
from import_modyn_test import OLD, SYSTEM, filled
from weirlab import Run, assert_clean_audits, run_tests

SAMPLES, EVERY = 900, 300


def clicks(count):
    """Records as Modyn's: a label of 8 bytes, five numbers, two categories. The first two numbers make the label, with some noise."""
    draw = random.Random(11)
    for i in range(count):
        numbers = [draw.gauss(0, 1) for _ in range(5)]
        label = int(numbers[0] - numbers[1] + draw.gauss(0, 0.3) > 0)
        yield struct.pack("<q5f2i", label, *numbers, i % 3, draw.randrange(9))


class ModynLab(python_test.PythonLab):
    """The files of a user of Modyn's, and what weir import modyn makes of them."""

    def __init__(self):
        super().__init__(samples=1)
        self.data = self.folder / "clicks"
        self.data.mkdir()
        (self.data / "part0.bin").write_bytes(b"".join(clicks(SAMPLES)))
        text = filled(OLD).replace('device: "cuda:0"', "device: cpu").replace("batch_size: 512", "batch_size: 30").replace("{lr: 3}", "{lr: 0.5}")
        text = text.replace("use_previous_model: False", "use_previous_model: True").replace("  amp: True\n", "")
        text = text.replace("{id: TimeTrigger, trigger_config: {trigger_every: 2w}}",
                            f"{{id: DataAmountTrigger, trigger_config: {{data_points_for_trigger: {EVERY}}}}}")
        before, rest = text.split("  selection_strategy:\n")
        text = before + "  selection_strategy: {name: NewDataStrategy, maximum_keys_in_memory: 1000, config: {limit: -1, reset_after_trigger: True}}\n"
        text += rest[rest.index("data:\n"):]
        (self.folder / "theirs.yml").write_text(text)
        (self.folder / "system.yml").write_text(SYSTEM.replace("CLICKS", str(self.data)).replace("PHOTOS", str(self.folder)))

    def imported(self):
        self.weir("import", "modyn", self.folder / "theirs.yml", self.folder / "system.yml", "-o", self.folder / "out")
        return self.folder / "out/theirs.yaml"


def test_what_is_imported_is_trained_to_models_with_clean_audits():
    lab = ModynLab()
    pipeline = lab.imported()
    system = lab.script("modyn_loop.py")
    system.write_text(system.read_text().replace("loop: ", "dlrm: "))
    run = Run(pipeline, lab.data_dir, system).finish()
    assert_clean_audits(run.events)
    trained = run.of("training_finished")
    assert [e["audit"]["delivered"] for e in trained] == (SAMPLES // EVERY) * [EVERY], trained
    assert len(run.of("model_stored")) == SAMPLES // EVERY
    quality = [e["value"] for e in run.of("evaluation") if e["metric"] == "roc_auc"]
    assert quality and max(quality) > 0.95, quality
    print("metrics:", Counter(e["metric"] for e in run.of("evaluation")), "roc_auc", max(quality))
    lab.remove()


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
