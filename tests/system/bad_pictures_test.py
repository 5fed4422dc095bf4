"""Pictures that cannot be read, one in each batch: cut off, no picture at all, of 60 000 x 60 000 pixels, or gone and another
one since they were chosen. `skip` counts and lists them, `retry` reads them again first, `fail` ends the run with one
error that names sample and file, once and for all until somebody mends it."""

import json
import os
import re
import struct
import subprocess
import threading
import zlib

from weirlab import DEADLINE_S, Lab, assert_clean_audits, await_that, binaries, served, with_trainer

PICTURES, BATCH, EPOCHS, SIDE = 60, 10, 2, 60_000
TRIES = 5  # of preprocess.on_error: retry

PIPELINE = """\
pipeline: {{name: {name}, mode: replay}}
datasets:
  - name: {name}
    source: {{path: {folder}, format: files, include: "*.*", import: reference, on_erase: unlink}}
    time:   {{from: mtime}}
    label:  {{from: folder, classes: stream}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data, seed: 1}}
preprocess:
  operators: [{{op: {decode}}}, {{op: random_resized_crop, size: 8}}, {{op: normalize}}]
  batch: {{samples: %d, shuffle: none, order: {order}}}
  on_error: {on_error}
training: {{model: linear, loss: logistic, epochs: %d, seed: 1, optimizer: {{name: sgd, lr: 0.01}}}}
""" % (BATCH, EPOCHS)

# Waits with its first batch until it may go on, so that what happens to files happens before they are read.
TRAINER = """\
#!/bin/sh
case " $* " in
    *" --run "*) [ -e {folder}/wait ] && touch {folder}/waits ;;
    *) exec {real} "$@" ;;
esac
while [ -e {folder}/wait ]; do sleep 0.02; done
exec {real} "$@"
"""


def png_chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_header(width, height):
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))


def png(number, side=40):
    rows = (b"\0" + bytes([number % 2 * 200 + number % 7] * 3 * side)) * side
    return png_header(side, side) + png_chunk(b"IDAT", zlib.compress(rows)) + png_chunk(b"IEND", b"")


def write_png(folder):
    for number in range(PICTURES):
        path = folder / ("dark", "light")[number % 2] / f"{number:04}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(number))


def write_pictures(lab):
    subprocess.run([binaries().parent / "tests/bin/make_pictures", lab.folder / "jpg", str(PICTURES)], check=True)
    write_png(lab.folder / "png")


def cut_off(picture):
    return picture[: len(picture) // 2]


def garbage(picture):
    return bytes((37 * i + 11) % 256 for i in range(len(picture)))


def bomb(picture):
    """All that it says of its size is too large; there are pixels for a small one."""
    if picture.startswith(b"\x89PNG"):
        return png_header(SIDE, SIDE) + picture[len(png_header(SIDE, SIDE)):]
    size = picture.index(b"\xff\xc0") + 5
    return picture[:size] + struct.pack(">HH", SIDE, SIDE) + picture[size + 4:]


def spoil(folder, ways):
    """One picture of each batch, from the first on; returns their paths in the order of their ids."""
    paths = sorted(folder.glob("*/*"))
    assert len(paths) == PICTURES
    for batch, way in enumerate(ways):
        path = paths[batch * BATCH + 3]
        path.write_bytes(way(path.read_bytes()))
    for i, path in enumerate(paths):
        os.utime(path, (1_000_000_000 + i,) * 2)
    return [paths[batch * BATCH + 3] for batch in range(PICTURES // BATCH)]


def submit(lab, name, folder, on_error, order="deterministic", every=PICTURES):
    decode = "decode_png" if folder.name == "png" else "decode_jpeg"
    file = lab.folder / f"{name}.yaml"
    file.write_text(PIPELINE.format(name=name, folder=folder, decode=decode, on_error=on_error, order=order, every=every))
    lab.weir("submit", str(file))


def events(lab, name, expect=0):
    return [json.loads(line) for line in lab.weir("watch", name, "--json", expect=expect).splitlines()]


def audit_of(told):
    assert_clean_audits(told)
    (trained,) = [event for event in told if event["event"] == "training_finished"]
    return trained["audit"]


def expect_listed(audit, reasons):
    """One sample for each reason, in the order of ids; every epoch counted."""
    found = sorted(audit["failures"], key=lambda failure: failure["sample"])
    assert audit["failed"] == EPOCHS * len(reasons), audit
    assert len(found) == len(reasons) and all(f["reason"].startswith(r) for f, r in zip(found, reasons)), found


TOO_LARGE = f"{SIDE} x {SIDE} pixels, expected at most 67108864 in all"
JPEG_REASONS = ["decode_jpeg: cut off", "decode_jpeg: Not a JPEG file", f"decode_jpeg: {TOO_LARGE}"]
PNG_REASONS = ["decode_png: the file is cut off", "decode_png: Not a PNG file", f"decode_png: {TOO_LARGE}"]
WAYS = [cut_off, garbage, bomb]


class Replacing:
    """Puts another file in the place of one, again and again."""

    def __init__(self, path):
        self.path, self.over, self.times = path, threading.Event(), 0
        self.thread = threading.Thread(target=self._replace, daemon=True)
        self.thread.start()

    def _replace(self):
        picture, other = self.path.read_bytes(), self.path.with_suffix(".other")
        while not self.over.wait(0.001):  # leaves the processors to those that read it
            other.write_bytes(picture + bytes(self.times % 3))
            other.rename(self.path)
            self.times += 1

    def end(self):
        self.over.set()
        self.thread.join(DEADLINE_S)
        return self.times


def check_skip(lab, gate):
    """Beside those that were spoilt before: since they were chosen one is cut off, one replaced, one gone, and one is
    replaced again and again while it is read."""
    folder = lab.folder / "jpg"
    spoilt = spoil(folder, WAYS)
    (gate / "wait").touch()
    submit(lab, "skips", folder, "skip", order="relaxed")
    await_that((gate / "waits").exists)
    os.truncate(spoilt[3], spoilt[3].stat().st_size // 2)
    other = spoilt[4].with_suffix(".other")
    other.write_bytes(spoilt[4].read_bytes())
    other.rename(spoilt[4])
    spoilt[5].unlink()
    replacing = Replacing(next(path for path in sorted(folder.glob("*/*")) if path not in spoilt))
    (gate / "wait").unlink()
    audit = audit_of(events(lab, "skips"))
    times = replacing.end()
    expect_listed(audit, JPEG_REASONS)
    logged = "".join(path.read_text() for path in lab.data_dir.glob("log/worker-*.log"))
    assert "samples cannot be read" in logged and not any(path.name in logged for path in spoilt), logged
    assert 3 * EPOCHS <= audit["gone"] <= 4 * EPOCHS and times > 0, (audit, times)
    report = lab.weir("report", "--pipeline", "skips")
    for failure in audit["failures"]:
        assert f"trigger 1: sample {failure['sample']}: {failure['reason']}" in report, report
    assert f"trigger 1: {audit['failed']} could not be read in all, every epoch counted" in report, report
    print(f"skip: {audit['failed']} failed, {audit['gone']} gone of {audit['set']}, one of them replaced {times} times")


def check_retry(lab):
    """What stays as it is has failed in the end, like what is skipped."""
    spoil(lab.folder / "png", WAYS)
    submit(lab, "retries", lab.folder / "png", "retry")
    audit = audit_of(events(lab, "retries"))
    expect_listed(audit, PNG_REASONS)
    assert audit["gone"] == 0, audit
    again = [line for path in lab.data_dir.glob("log/worker-*.log")
             for line in path.read_text().splitlines() if "reading samples again" in line]
    assert len(again) >= TRIES and not any(".png" in line for line in again), again
    print(f"retry: {audit['failed']} failed, after {len(again)} more tries: {again[0]}")


def check_fail(lab):
    """The first one that is met ends the run, for one trainer; when it is mended, the run goes on. It went bad after the
    file was submitted, which looks at the data, and before anybody served the platform."""
    folder = lab.folder / "failing" / "png"
    write_png(folder)
    submit(lab, "fails", folder, "fail")
    (bad, *_) = spoil(folder, [cut_off])
    with served(lab):
        assert_ends_and_goes_on(lab, bad)


def holds_no_lease(lab):
    workers = json.loads(lab.weir("workers", "--json"))["workers"]
    return workers and all(worker["leases"] == 0 for worker in workers)


def assert_ends_and_goes_on(lab, bad):
    told = events(lab, "fails", expect=1)
    (error,) = [event["error"] for event in told if event["event"] == "error"]
    expected = rf"job \d+: sample \d+ \(byte 0 of {re.escape(str(bad))}\) cannot be read: decode_png: the file is cut off"
    assert re.fullmatch(expected, error), error
    print("fail:", error)
    await_that(lambda: holds_no_lease(lab), pause_s=0.1)  # workers hear of the end with their next beat
    bad.write_bytes(png(3))  # is another file now: the one that was chosen is gone
    lab.weir("resume", "fails")
    audit = audit_of(events(lab, "fails"))
    assert audit["gone"] == EPOCHS and audit["failed"] == 0, audit
    print(f"mended: {audit['delivered']} delivered, {audit['gone']} gone")


def main():
    lab = Lab(samples=1)
    write_pictures(lab)
    gate = with_trainer(lab, TRAINER)
    with served(lab):
        check_skip(lab, gate)
        check_retry(lab)
    check_fail(lab)
    lab.remove()


main()
