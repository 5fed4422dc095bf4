"""Samples are taken from below the system file's roots alone, whatever path leads elsewhere."""

import subprocess
import sys

from weirlab import PIPELINE, Lab, Run, binaries, make_clusters, run_tests


def lab_with_roots():
    lab = Lab(samples=100, every=100, epochs=1)
    (lab.folder / "roots").mkdir()
    (lab.folder / "stream").rename(lab.folder / "roots/stream")
    system = lab.folder / "system.yaml"
    system.write_text(f"roots: [{lab.folder / 'roots'}]\n")
    return lab, system


def pipeline_of(lab, path):
    lab.pipeline.write_text(PIPELINE.format(data=path, every=100, epochs=1))


def test_a_source_outside_of_the_roots_is_refused_with_its_place():
    lab, system = lab_with_roots()
    (lab.folder / "other").mkdir()
    (lab.folder / "roots/link").symlink_to(lab.folder / "other")
    for path in (lab.folder / "other", lab.folder / "roots/../other", lab.folder / "roots/link", lab.folder / "roots-too"):
        pipeline_of(lab, path)
        done = subprocess.run([binaries() / "orchestrator", "run", lab.pipeline, "--data-dir", lab.data_dir, "--system", system],
                              capture_output=True, text=True)
        assert done.returncode == 2 and "lab.yaml:4:" in done.stderr and "below one of `roots`" in done.stderr, (path, done)
    lab.remove()


def test_a_source_that_contains_the_data_directory_is_refused_with_its_place():
    for below in (".", "link", "stream/.."):
        lab = Lab(samples=100, every=100, epochs=1)
        (lab.folder / "link").symlink_to(lab.folder)
        pipeline_of(lab, f"{lab.folder}/{below}")
        done = subprocess.run([binaries() / "orchestrator", "run", lab.pipeline, "--data-dir", lab.data_dir], capture_output=True, text=True)
        said = f"found {lab.folder}/{below}, which contains {lab.data_dir}, a directory of Weir's own"
        assert done.returncode != 0 and "lab.yaml:4:" in done.stderr and said in done.stderr, done
        lab.remove()


def test_a_source_that_becomes_a_link_to_the_outside_is_not_scanned():
    lab, system = lab_with_roots()
    pipeline_of(lab, lab.folder / "roots/stream")
    Run(lab.pipeline, lab.data_dir, system).finish()
    (lab.folder / "roots/stream").rename(lab.folder / "stream")
    (lab.folder / "roots/stream").symlink_to(lab.folder / "stream")
    (lab.folder / "stream/late.jsonl").write_text((lab.folder / "stream/part0.jsonl").read_text())
    server = subprocess.Popen([binaries() / "orchestrator", "serve", "--data-dir", lab.data_dir, "--system", system],
                              stdout=subprocess.PIPE, text=True)
    try:
        assert "serving" in server.stdout.readline()
        log = lab.data_dir / "log/storage.log"
        for _ in range(200):
            if "in none of `roots`" in log.read_text():
                break
            lab.weir("datasets")
        assert "in none of `roots`" in log.read_text(), log.read_text()[-2000:]
    finally:
        server.terminate()
        server.communicate()
    lab.remove()


if __name__ == "__main__":
    make_clusters()
    run_tests(globals(), wanted=sys.argv[1:])
