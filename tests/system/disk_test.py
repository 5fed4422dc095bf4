"""A full disk: the file system of the data directory has no byte left, and workers die meanwhile. They come back and work on,
what cannot be written is said, and once there is room the run ends as if nothing had been.

Skips (exit code 77) where a small file system cannot be mounted."""

import subprocess
import sys

from weirlab import PIPELINE, SKIPPED, Lab, assert_clean_audits, await_that, make_clusters, peak_bytes

MB = 1 << 20
MEMORY_MAX = 256 * MB
WORDS = "No space left on device"


def mount(folder):
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=200m,mode=777"]
    done = subprocess.run(["mount", *options, "tmpfs", folder], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"skipped: {done.stderr.strip()}")
        sys.exit(SKIPPED)


def fill(path):
    """Until not even one byte more can be written."""
    with open(path, "ab", buffering=0) as filler:
        for size in (MB, 4096, 1):
            try:
                while filler.write(b"\0" * size) == size:
                    pass
            except OSError as error:
                assert WORDS in str(error), error


def poll(run, what):
    """Until `what` holds, which no event tells of."""
    await_that(lambda: run.process.poll() is not None or what(), lambda: run.stderr)
    assert run.process.poll() is None, run.stderr


def survive(lab):
    run = lab.run()
    poll(run, run.checkpoint)
    filler = lab.data_dir / "filler"
    fill(filler)
    before = {name: run.victims(name) for name in ("worker-1", "worker-2")}
    for name in before:
        run.kill(name)
    poll(run, lambda: all(set(run.victims(name)) - set(pids) for name, pids in before.items()))
    # A checkpoint that takes the place of another one makes room: it is filled, too.
    poll(run, lambda: any(WORDS in line for line in run.stderr) or fill(filler))
    peak = max(peak_bytes(pid) for name in ("worker-1", "worker-2", "dispatcher") for pid in run.victims(name))
    filler.unlink()
    run.finish()
    assert_clean_audits(run.events)
    assert 0 < peak < MEMORY_MAX, peak
    said = next(line for line in run.stderr if WORDS in line)
    print(f"{len(run.of('training_finished'))} trainings, at most {peak // MB} MB; {said.strip()}")


def main():
    make_clusters()
    text = PIPELINE.replace("training: {{", "training: {{retries: 100, ")
    lab = Lab(samples=500, every=400, epochs=200, pipeline=text)
    mount(lab.data_dir)
    try:
        survive(lab)
    finally:
        subprocess.run(["umount", "-l", lab.data_dir], check=True)
    lab.remove()


main()
