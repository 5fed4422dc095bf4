"""Pictures end to end, with the shipped pipeline: a linear model learns to tell light from dark, although one file of
each batch is cut off and another one crashes whatever process decodes it."""

import os
import subprocess
from pathlib import Path

from weirlab import Lab, assert_clean_audits, binaries, outcome

PICTURES, EVERY, EPOCHS, BATCH = 100, 50, 5, 10
FATAL = 46  # is 66 pixels wide: see crashing_jpeg.c
SHIPPED = Path(__file__).resolve().parents[2] / "config/pipelines/images.yaml"


def tests():
    """Returns the folder of programs for tests."""
    return binaries().parent / "tests/bin"


def write_pictures(folder):
    subprocess.run([tests() / "make_pictures", folder, str(PICTURES)], check=True)
    paths = sorted(folder.glob("*/*.jpg"), key=lambda path: path.name)
    assert len(paths) == PICTURES
    for first in range(0, PICTURES, EVERY):  # a set is in the order of its paths, and not shuffled
        for path in sorted(paths[first:first + EVERY])[4::BATCH]:
            os.truncate(path, path.stat().st_size // 2)
    for i, path in enumerate(paths):
        os.utime(path, (1_000_000_000 + i * 6 * 3600,) * 2)


def main():
    lab = Lab(samples=1)
    write_pictures(lab.folder / "pictures")
    text = SHIPPED.read_text()
    for before, after in [("data/pictures", str(lab.folder / "pictures")), ("samples: 1000", f"samples: {EVERY}"),
                          ("samples: 32", f"samples: {BATCH}"), ("shuffle: full", "shuffle: none")]:
        assert text.count(before) >= 1, before
        text = text.replace(before, after)
    lab.pipeline.write_text(text)
    os.environ["LD_PRELOAD"] = str(tests() / "libcrashing_jpeg.so")
    for options in ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS"):  # the crash is meant: nothing to report
        os.environ[options] = os.environ.get(options, "") + ":log_path=stderr"
    run = lab.run().finish()
    del os.environ["LD_PRELOAD"]

    assert_clean_audits(run.events)
    assert outcome(run.events), run.events
    audits = [event["audit"] for event in run.events if event["event"] == "training_finished"]
    assert [audit["set"] for audit in audits] == 2 * [EVERY * EPOCHS], audits
    cut_off = EVERY // BATCH  # one in each batch
    assert [audit["failed"] for audit in audits] == [(cut_off + 1) * EPOCHS, cut_off * EPOCHS], audits
    assert all(audit["delivered"] + audit["failed"] == audit["set"] for audit in audits), audits
    for audit in audits:
        assert len({failure["sample"] for failure in audit["failures"]}) * EPOCHS == audit["failed"], audit
    reasons = sorted(failure["reason"] for failure in audits[0]["failures"])
    assert all(reason.startswith("decode_jpeg: cut off") for reason in reasons[:cut_off]), reasons
    assert "has crashed workers (Segmentation fault)" in reasons[cut_off], reasons
    report = lab.weir("report", "--pipeline", "images")
    for trigger, audit in enumerate(audits, 1):
        for failure in audit["failures"]:
            assert f"trigger {trigger}: sample {failure['sample']}: {failure['reason']}" in report, report
        assert f"trigger {trigger}: {audit['failed']} could not be read in all, every epoch counted" in report, report
    accuracy = [event["value"] for event in run.events
                if event["event"] == "evaluation" and event["metric"] == "accuracy"]
    assert accuracy and accuracy[0] > 0.8, accuracy
    print(f"{cut_off} of {EVERY} pictures cut off, one in each batch of {BATCH}, accuracy {accuracy[0]:.2f}; {reasons[-2:]}")
    lab.remove()


main()
