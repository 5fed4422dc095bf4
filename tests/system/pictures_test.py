"""Pictures end to end, with the shipped pipeline: a linear model learns to tell light from dark, although one file is
cut off and another one crashes whatever process decodes it."""

import os
import subprocess
from pathlib import Path

from weirlab import Lab, assert_clean_audits, binaries, outcome

PICTURES, EVERY, EPOCHS = 100, 50, 5
CUT_OFF, FATAL = 10, 46  # FATAL is 66 pixels wide: see crashing_jpeg.c
SHIPPED = Path(__file__).resolve().parents[2] / "config/pipelines/images.yaml"


def tests():
    """Where programs for tests are."""
    return binaries().parent / "tests/bin"


def write_pictures(folder):
    subprocess.run([tests() / "make_pictures", folder, str(PICTURES)], check=True)
    paths = sorted(folder.glob("*/*.jpg"), key=lambda path: path.name)
    assert len(paths) == PICTURES
    os.truncate(paths[CUT_OFF], paths[CUT_OFF].stat().st_size // 2)
    for i, path in enumerate(paths):
        os.utime(path, (1_000_000_000 + i * 6 * 3600,) * 2)


def main():
    lab = Lab(samples=1)
    write_pictures(lab.folder / "pictures")
    text = SHIPPED.read_text()
    for before, after in [("data/pictures", str(lab.folder / "pictures")), ("samples: 1000", f"samples: {EVERY}")]:
        assert text.count(before) >= 1, before
        text = text.replace(before, after)
    lab.pipeline.write_text(text)
    os.environ["LD_PRELOAD"] = str(tests() / "libcrashing_jpeg.so")
    run = lab.run().finish()
    del os.environ["LD_PRELOAD"]

    assert_clean_audits(run.events)
    assert outcome(run.events), run.events
    audits = [event["audit"] for event in run.events if event["event"] == "training_finished"]
    assert [audit["set"] for audit in audits] == 2 * [EVERY * EPOCHS], audits
    assert [audit["failed"] for audit in audits] == [2 * EPOCHS, 0], audits
    assert [audit["delivered"] for audit in audits] == [(EVERY - 2) * EPOCHS, EVERY * EPOCHS], audits
    reasons = sorted(failure["reason"] for failure in audits[0]["failures"])
    assert len(reasons) == 2, reasons
    assert reasons[0].startswith("decode_jpeg: cut off"), reasons
    assert "has crashed workers (Segmentation fault)" in reasons[1], reasons
    accuracy = [event["value"] for event in run.events
                if event["event"] == "evaluation" and event["metric"] == "accuracy"]
    assert accuracy and accuracy[0] > 0.9, accuracy
    print(f"{PICTURES - 2} of {PICTURES} pictures, accuracy {accuracy[0]:.2f}; {reasons}")
    lab.remove()


main()
