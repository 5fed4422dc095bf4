"""Messages that decode and make no sense, to every socket of every process of a platform that has trained: each is answered, refused or dropped,
and none ends or restarts a process. `nonsense_test.py [SEED [COUNT]]`; a seed reproduces what was sent."""

import os
import sys
from pathlib import Path

from weirlab import DEADLINE_S, Lab, child, logs, served, victims

SERVICES = ("storage", "selector", "dispatcher", "orchestrator", "worker-1")
PIPELINE_SAMPLES = 300


def sockets_of(lab, name):
    """The sockets that a process of this platform has bound: for the platform, for trainers, or both."""
    bound = {line.split()[-1] for line in Path("/proc/net/unix").read_text().splitlines()}
    found = sorted(path for path in bound if path.endswith(f"/{name}.sock") and Path(path).exists()
                   and lab.data_dir in Path(os.path.realpath(path)).parents)
    assert found, f"{name} has no socket in {lab.data_dir}"
    return found


def main(seed=1, count=400):
    lab = Lab(samples=PIPELINE_SAMPLES, every=150, epochs=1)
    lab.run().finish()
    with served(lab):
        for name, path in ((name, path) for name in SERVICES for path in sockets_of(lab, name)):
            before = victims(lab.data_dir, name)
            done = child.run([Path(os.environ["WEIR_TEST_BIN_DIR"]) / "nonsense", f"ipc://{path}", str(seed), str(count), lab.pipeline],
                             capture_output=True, text=True, timeout=DEADLINE_S + count / 10)
            print(done.stdout.strip(), flush=True)
            assert done.returncode == 0, f"{done.stderr}\n{logs(lab.data_dir)}"
            assert victims(lab.data_dir, name) == before, logs(lab.data_dir)
    lab.remove()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
